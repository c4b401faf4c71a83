/* Chains of multiply-adds in passes, a VOP for some rows of a window (`depth` of the tiling), or for some positions of
 * a row (`width`). Within a pass each column of the image is loaded once: the sums of the results that it belongs to move
 * on by one register from column to column, as in a FIR filter of the transposed form. Passes hand on FP32 sums by the
 * scratchpad, so each chain goes over the positions of a window row by row, as all others do.
 *
 * A step makes `unroll` results of `phases` columns of the image each, of which `turns` meet a result. A result is
 * complete turns - 1 results behind its first column, and the next row of the pass begins there. What steps make
 * before the first result of a run, which is a row of results or a part of one, lies in front of it, and nobody reads
 * it. So a VOP of its own may make results of the sums (`apart`), where that takes more than sums in the scratchpad do.
 * Then a run may be several rows (`through`), where their rows lie in the scratchpad as those of the image do: what is
 * made between two of them is nobody's either, and is what lies in front of the second.
 * If a step has several results, the columns of the first are loaded in the step before, so that no multiply-add
 * waits for them. */
#ifndef TEGULA_MAPPER_VECTOR_LINE_PASSES_H
#define TEGULA_MAPPER_VECTOR_LINE_PASSES_H

#include "mapper/vector/line_buffers.h"

enum { TG_LINE_MOST_PARTS = 4 };

/* Rows row .. row + rows - 1 of the window, positions tap .. tap + taps - 1 of each. Passes of one part have the same
 * microcode: segments 2 * part, once a run, and 2 * part + 1, for each step. */
typedef struct tg_line_pass {
  uint32_t row, rows, tap, taps;
  bool begins, ends; /* chains begin here; results are made here */
  uint32_t part;
} tg_line_pass;

uint32_t tg_line_passes(const tg_line_kernel *kernel, const tg_line_tiling *t);
tg_line_pass tg_line_pass_of(const tg_line_kernel *kernel, const tg_line_tiling *t, uint32_t number);
/* How many parts there are, and a pass of each. */
uint32_t tg_line_parts(const tg_line_kernel *kernel, const tg_line_tiling *t);
tg_line_pass tg_line_pass_of_part(const tg_line_kernel *kernel, const tg_line_tiling *t, uint32_t part);

/* Columns of the image that a step takes for each of its results, and results that each of these columns meets. */
uint32_t tg_line_phases(const tg_line_kernel *kernel);
uint32_t tg_line_turns(const tg_line_kernel *kernel, const tg_line_pass *pass);
/* Results that the steps of a pass make in front of the first one of a run, and its steps. */
uint32_t tg_line_lead(const tg_line_kernel *kernel, const tg_line_tiling *t, const tg_line_pass *pass);
uint32_t tg_line_steps(const tg_line_kernel *kernel, const tg_line_tiling *t, const tg_line_pass *pass);
/* Is column u of a step loaded in the step before? */
static inline bool tg_line_is_carried(const tg_line_tiling *t, uint32_t u) { return t->unroll > 1 && u == 0; }

/* Streams of a pass by number: the image's column `phase` of result u, in row `row` of the pass; weights of position
 * number q of the pass; sums in, for u; sums or results out; the bias. And how many there are. */
int tg_line_pass_image(const tg_line_kernel *kernel, const tg_line_tiling *t, uint32_t row, uint32_t u,
                       uint32_t phase);
int tg_line_pass_weights(const tg_line_kernel *kernel, const tg_line_tiling *t, const tg_line_pass *pass,
                         uint32_t row, uint32_t q);
int tg_line_pass_sums(const tg_line_kernel *kernel, const tg_line_tiling *t, const tg_line_pass *pass,
                      uint32_t u);
int tg_line_pass_result(const tg_line_kernel *kernel, const tg_line_tiling *t, const tg_line_pass *pass,
                        uint32_t u);
int tg_line_pass_bias(const tg_line_kernel *kernel, const tg_line_tiling *t, const tg_line_pass *pass);
int tg_line_pass_streams(const tg_line_kernel *kernel, const tg_line_tiling *t, const tg_line_pass *pass);

/* Streams of the VOP that finishes them: sums, results, the bias. */
int tg_line_finished_sums(uint32_t u);
int tg_line_finished_result(const tg_line_tiling *t, uint32_t u);
int tg_line_finished_bias(const tg_line_tiling *t);

/* Sets `width`, `depth` and `lead` for rows of a window in so many equal parts: the most rows a pass that there are
 * streams for with this `unroll`. False: there are not enough, or passes gain nothing here. */
bool tg_line_choose_passes(const tg_line_kernel *kernel, uint32_t parts, tg_line_tiling *t);
/* Rows of results that it makes: with those behind the last one of a block, where its sums are made with others'. */
static inline uint32_t tg_line_finished_rows(const tg_line_tiling *t) {
  return t->through > 1 ? tg_line_row_runs(t) * t->through : t->rows;
}
/* Sets `run` to what takes the VOPs of a block least; words of each segment. */
void tg_line_choose_run(const tg_params *m, const tg_line_kernel *kernel, const int *words,
                        tg_line_tiling *t);
/* May sums go on from row to row? They may where rows of the image lie as those of results do. */
bool tg_line_goes_through_rows(const tg_line_kernel *kernel);
/* Sets `through` so, and `pitch`, of results that are finished apart. False: parts of rows take no longer, or the block has
 * not all columns. */
bool tg_line_choose_through(const tg_params *m, const tg_line_kernel *kernel, const int *words,
                            tg_line_tiling *t);

/* Positions of sums, of which there are so many copies: passes write them in turns. */
uint32_t tg_line_sums_copies(const tg_line_kernel *kernel, const tg_line_tiling *t);
uint64_t tg_line_sums_rows(const tg_params *m, const tg_line_kernel *kernel, const tg_line_tiling *t);
/* Cycles of the VOPs of a block; words of each segment. */
double tg_line_passes_cycles(const tg_params *m, const tg_line_kernel *kernel, const tg_line_tiling *t,
                             const int *words);

#endif
