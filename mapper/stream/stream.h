/* Kernels that stream rows through the vector units: each tile takes every T-th chunk of rows, computed by
 * one VOP a chunk. Every other tile loads from the west and stores to the north, those between the other way
 * round, so that all DRAM ports have the same work, whatever a kernel reads and writes. */
#ifndef TEGULA_MAPPER_STREAM_STREAM_H
#define TEGULA_MAPPER_STREAM_STREAM_H

#include "mapper/microcode/microcode.h"
#include "mapper/section/section.h"
#include "mapper/section/walk.h"

enum { TG_ROW_ELEMENTS = 1 << 20 }; /* of rows that are worked on as a whole, at most */

typedef struct tg_stream_kernel {
  int inputs;
  tg_walk_plan input[TG_STREAMS];
  tg_walk_plan output;
  int input_kind[TG_STREAMS], output_kind; /* stream kinds; an input of splat32 has one scalar a row */
  int more; /* further results, of the same shape as the first: streams after the vectors' */
  tg_walk_plan more_output[TG_MORE_RESULTS];
  int more_kind[TG_MORE_RESULTS];
  uint32_t more_window[TG_MORE_RESULTS]; /* > 1: of the last one, a row for each position of a window, stored
                                            one by one */
  int vectors; /* read by every row, loaded once and whole: streams after the output's */
  tg_walk_plan vector[TG_STREAMS];
  bool vectors_beside;         /* they lie side by side */
  int vector_kind[TG_STREAMS]; /* splat32: the vector is one number, for all elements */
  int64_t rows;                /* of the kernel */
  uint32_t take;               /* elements of a row block as loaded, a multiple of 2P */
  uint32_t out_take; /* elements of a row as stored where they are not `take`; one block a row, one result */
  uint32_t column_blocks; /* row blocks of a row: 1, or columns / take rounded up */
  /* Loads of an input a chunk: 1, or positions of a pooling window, repeated by j */
  uint32_t window[TG_STREAMS];
  int64_t window_step; /* linear K index from one position to the next; of numbers, 1 */
  bool single; /* one buffer of each will do, where banks do not suffice for two and tiles have one chunk */
  bool beside[TG_STREAMS]; /* inputs that lie side by side in one pair of banks: those of few flits */
  bool whole_rows; /* the VOP needs a row in one piece (softmax): columns repeat by j, else each vector is a
                      row of the VOP */
  bool across; /* not whole_rows: vectors of a row are rows of the VOP, and the chunk's rows repeat by j */
  uint32_t tail_n;    /* elements of a row for TAIL */
  int first_segments; /* > 0: a VOP before runs so many segments of the microcode. It reads the input, as
                         `unroll` streams of every unroll-th vector, and leaves an FP32 row of the same size,
                         as many streams, and an FP32 vector for each row: the last stream. The other VOP
                         reads these instead of the input: streams after the output's. One input,
                         whole rows. */
  int first_repeat, first_unroll; /* of the VOP before: seg_repeat; 1 or 2 */
  int unroll; /* of the VOP, which takes so many vectors of a row, or positions of a window, at a time; 0
                 counts as 1. Without one before, what j changes has a stream for each: tg_source_stream,
                 tg_result_stream. TAIL counts from the first vector. */
  /* > 1: the VOP makes so many vectors of the one result of one of each input, whole rows; u = 1 .. are
   * streams after the output's. */
  int out_vectors;
  const tg_node *rounds; /* whose key the microcode rounds by, each element by its row and column; or NULL */
  uint32_t first_row, first_column; /* of the places that this counts */
  bool unrolled_result;             /* without a VOP before: of results, too */
  void (*adjust_load)(const void *user, int input, tg_agcu_instr *load);  /* or NULL */
  void (*adjust_store)(const void *user, int more, tg_agcu_instr *store); /* of more_window > 1 */
  const void *user;
} tg_stream_kernel;

/* Emits a section: loads, the VOP with microcode `mc` (streams 0..inputs-1 read, stream `inputs` is written),
 * stores, and one invocation. `repeat` is the VOP's seg_repeat. */
tg_status tg_emit_stream_kernel(tg_compile *c, const tg_kernel *kernel, const tg_stream_kernel *plan,
                                tg_mc *mc, int repeat);

/* Do the vectors fit, whole, beside one row of all others? The plan needs no walks yet. */
bool tg_stream_vectors_fit(const tg_params *m, const tg_stream_kernel *plan);
/* Do the plan's blocks fit the scratchpads and the egress? */
bool tg_stream_kernel_fits(const tg_compile *c, const tg_stream_kernel *plan);

/* About what the section takes, INFINITY if it does not fit; `words` of each segment of its microcode, of
 * which those of `repeat` run for each j. */
double tg_stream_cycles(const tg_compile *c, const tg_stream_kernel *plan, const int *words, int repeat);

/* The stream of vector, or position, `u` of an iteration: of input number `source`, or behind them of what is
 * loaded once; of result `x`. What does not change along a row, or down a window, has one stream. */
int tg_source_stream(const tg_stream_kernel *plan, int source, int u);
int tg_result_stream(const tg_stream_kernel *plan, int x, int u);
/* All streams of the VOP. */
int tg_stream_count(const tg_stream_kernel *plan);

/* Columns of a block: the whole row if its flits fit the egress and a few buffers, else a part. Sets take
 * and column_blocks from the plan's inputs and outputs. */
void tg_choose_columns(const tg_params *m, tg_stream_kernel *plan, int64_t columns);
/* Columns of a row of a space: of one dimension a few atoms, so that runs stay long, else the last one. */
int64_t tg_space_block(const tg_params *m, const tg_space *space);
/* Cuts the last of two or three merged dimensions into equal parts, rows of their own, where the tiles cannot share out
 * the rows that there are: two long runs of a Concat are two tiles' work. */
void tg_space_spread(const tg_params *m, tg_space *space);

#endif
