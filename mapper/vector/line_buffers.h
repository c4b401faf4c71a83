/* Pools and depthwise convolutions from line buffers: what the windows of a block of results take of the image is
 * loaded once, with its padding, and the streams of the vector unit read shifted views of it, for each position of the
 * window and for several columns of results at a time. A streamed window (windows.h) loads each pixel as often as
 * there are windows that hold it.
 *
 * Blocks are rows x columns x channels; the tiles take them in turns, channels first. Chains of multiply-adds, and
 * maxima, go over a window's positions row by row, as in any other kernel: bits are the same. */
#ifndef TEGULA_MAPPER_VECTOR_LINE_BUFFERS_H
#define TEGULA_MAPPER_VECTOR_LINE_BUFFERS_H

#include "mapper/microcode/microcode.h"
#include "mapper/section/checkerboard.h"
#include "mapper/vector/windows.h"

enum { TG_LINE_DIMS = 3 }; /* rows, columns, channels */

/* How the results are cut, and how much of them the microcode makes at a time. */
typedef struct tg_line_tiling {
  uint32_t rows, columns; /* of results in a block; columns divide those of the image */
  uint32_t vectors;       /* of 2P channels */
  uint32_t unroll;        /* columns of results that an iteration makes */
  uint32_t depth,
      width; /* rows of a window, positions of a row that a pass takes (line_passes.h); 0: no passes */
  /* columns that a VOP behind the passes finishes at a time: it makes results of whole sums; 0: the last pass does */
  uint32_t apart;
  uint32_t run;  /* columns of results that follow each other in the scratchpad */
  uint32_t lead; /* columns in front of each run there */
  /* Of passes that are finished apart: rows of results that one run of sums goes through, from the columns of one row on
   * to those of the next, and from row to row so many columns of the image and of sums; through is 0 or 1: runs are
   * rows, or parts of them. */
  uint32_t through, pitch;
  uint32_t taps;                 /* columns of a window that it takes: one, or all of them */
  uint32_t blocks[TG_LINE_DIMS]; /* of rows, columns, channels */
  uint32_t rounds;               /* blocks of a tile; of each image, where rows are cut */
  /* Of a product in front (line_product.h): rows of tiles side by side that have the same rows of images, each with
   * channels of its own, and blocks of rows that the tiles of one row have side by side; buffers of what is loaded;
   * rows that are multiplied at a time, and how often; columns that are finished at a time, and parts of a row that
   * are so side by side; cycles for a block. */
  uint32_t alike, abreast, copies, made_rows, made_tiles, made_at_once, made_parts;
  double made_cycles;
  uint32_t drain_tiles, drain_flits; /* that a block leaves in */
  double cycles;                     /* estimate, without the section's configuration */
} tg_line_tiling;

/* Results of a transposed window: of each remainder modulo `step`, rows by columns, those of windows of its own, one VOP after
 * another from the same block. They lie between each other, those of a block as they leave; `windows` of the kernel are then all
 * that these read, an element apart, and a block has step[0] x step[1] results for each of theirs. */
typedef struct tg_line_transposed {
  const tg_windows
      *windows; /* [step[0] step[1]], of weights in the order in which they are loaded: the last one first */
  int64_t step[2], rows; /* the latter: of results */
  int64_t positions[2];  /* of the weights */
} tg_line_transposed;

/* The kernel: windows of one image, weights of their positions or none, what each result is made of them. */
typedef struct tg_line_kernel {
  const tg_windows *windows;
  const tg_dram_tensor *image, *result;
  const tg_dram_tensor *weights, *bias; /* [positions, channels], [channels]; or NULL */
  bool by_window; /* in place of the bias a number for each window, [rows, columns]: by streams only */
  int image_kind, result_kind, weights_kind, bias_kind;
  const tg_line_transposed *transposed; /* or NULL; then nothing rounds, nor reduces, nor makes the image */
  const tg_node
      *rounds; /* whose key the microcode rounds results by, each with its pixel for row and its channel for
                            column (rndsr, with the number of the result for further rows); or NULL */
  const tg_kernel
      *totals; /* a reduction of the results over each image (line_totals.h): the kernel that it would be
                              alone; or NULL */
  const struct tg_line_product *product; /* whose result the image is: it is not loaded; or NULL */
  const tg_dram_tensor *total;           /* what it makes */
  int total_kind;
  /* Elements from image to image, row to row, pixel to pixel: of what may be views (kernel/view.h); and to the first
   * result. */
  int64_t image_stride[TG_LINE_DIMS], result_stride[TG_LINE_DIMS], result_first;
  bool dense; /* image and result, of which the results may be every so many pixels: streams walk them */
  uint32_t first_row, first_column; /* of the places that `rounds` counts */
  /* Begins and writes the microcode: three segments, the second one of which is repeated. */
  void (*write)(const void *user, const struct tg_line_kernel *kernel, const tg_line_tiling *t, tg_mc *mc);
  /* The same in passes, two segments for each part (line_passes.h); NULL: there are none. */
  void (*write_passes)(const void *user, const struct tg_line_kernel *kernel, const tg_line_tiling *t,
                       tg_mc *mc);
  const void *user;
} tg_line_kernel;

/* Streams by number: columns of the image, by the column's offset from that of the first result's first position;
 * weights by position; the bias; results. */
int tg_line_columns(const tg_line_kernel *kernel, const tg_line_tiling *t, int64_t *out_offsets);
int tg_line_weights_stream(const tg_line_kernel *kernel, const tg_line_tiling *t, uint32_t tap);
int tg_line_bias_stream(const tg_line_kernel *kernel, const tg_line_tiling *t);
int tg_line_result_stream(const tg_line_kernel *kernel, const tg_line_tiling *t, uint32_t u);

/* For each column that an iteration reads, in order, and each result u that has position q of its window there:
 * calls take(user, number of the column's stream, u, q). */
typedef void tg_line_take(void *user, int stream, uint32_t u, uint32_t q);
void tg_line_each_tap(const tg_line_kernel *kernel, const tg_line_tiling *t, tg_line_take *take, void *user);

/* Sets the strides of image and result by the dimensions that `root` has for them, whatever those of what it is
 * loaded from and stored to; false: they do not lie by such. */
bool tg_line_set_strides(const tg_compile *c, const tg_node *root, const tg_value *image,
                         const tg_value *result, tg_line_kernel *out);
/* Is there a tiling for image and result as they lie, also where pixels lie apart? */
bool tg_line_walks_views(tg_compile *c, const tg_line_kernel *kernel);
/* The fastest tilings by their estimates, each the best one of what an iteration makes, fastest first, and then the
 * fastest ones that are finished apart, without runs through rows and with them; or, where tilings are randomized, any
 * one. False: none fits. line_buffers_tiling.c */
enum { TG_LINE_TILINGS = 5 };
#define TG_LINE_WORTH_A_REPLAY 1.1 /* of the best estimate */
typedef struct tg_line_tilings {
  tg_line_tiling tiling[TG_LINE_TILINGS];
  int count;
} tg_line_tilings;
bool tg_line_tile(tg_compile *c, const tg_line_kernel *kernel, tg_line_tilings *out);
/* Emits the section: from line buffers or, where no block fits or that is faster, the stream kernel, whose microcode
 * is that of one column and one position at a time. line_buffers_choice.c */
tg_status tg_emit_windows(tg_compile *c, const tg_kernel *kernel, const tg_line_kernel *lines,
                          const tg_stream_kernel *streamed);

/* The same of a kernel that has no streams. False: no block fits, and nothing was emitted. */
bool tg_emit_fitting_lines(tg_compile *c, const tg_kernel *kernel, const tg_line_kernel *lines,
                           tg_status *out_status);

/* ---- shared by these files ---- */

/* Of a product in front: pixels; filters; sums; marks. Blocks of the image, with whose last part the weights come where
 * they are loaded and differ from block to block; else the weights, which come once; sums between passes; results, in
 * the order of their banks; and their way to the AGCU; what a reduction makes of these, and its way. */
enum {
  TG_LINE_PIXELS,
  TG_LINE_FILTERS,
  TG_LINE_MULTIPLIED,
  TG_LINE_MARKS,
  TG_LINE_IMAGE,
  TG_LINE_WEIGHTS,
  TG_LINE_SUMS,
  TG_LINE_RESULT,
  TG_LINE_AWAY,
  TG_LINE_TOTAL,
  TG_LINE_TOTAL_AWAY,
  TG_LINE_CHANNELS
};

/* Columns of a run of sums, of which those between rows are no results; how many such runs there are, in parts of rows and
 * in rows; groups of `unroll` of its columns, with those in front of it. */
uint32_t tg_line_run_columns(const tg_line_tiling *t);
static inline uint32_t tg_line_row_parts(const tg_line_tiling *t) { return t->columns / t->run; }
uint32_t tg_line_row_runs(const tg_line_tiling *t);
uint32_t tg_line_groups(const tg_line_tiling *t);
/* Columns of the image, as loaded, and as its rows lie; its rows. */
uint32_t tg_line_loaded_columns(const tg_line_kernel *kernel, const tg_line_tiling *t);
uint32_t tg_line_image_columns(const tg_line_kernel *kernel, const tg_line_tiling *t);
uint32_t tg_line_image_rows(const tg_line_kernel *kernel, const tg_line_tiling *t);
/* Results of a block; positions of weights; VOPs that make results, where there are no passes. */
static inline int64_t tg_line_result_rows(const tg_line_kernel *k, const tg_line_tiling *t) {
  return k->transposed ? t->rows * k->transposed->step[0] : t->rows;
}
static inline int64_t tg_line_result_columns(const tg_line_kernel *k, const tg_line_tiling *t) {
  return k->transposed ? t->columns * k->transposed->step[1] : t->columns;
}
static inline int64_t tg_line_weights_positions(const tg_line_kernel *k) {
  return k->transposed ? k->transposed->positions[0] * k->transposed->positions[1]
                       : k->windows->taps[0] * k->windows->taps[1];
}
static inline int64_t tg_line_window_sets(const tg_line_kernel *k) {
  return k->transposed ? k->transposed->step[0] * k->transposed->step[1] : 1;
}
/* Windows of VOP number `number` of these. */
static inline const tg_windows *tg_line_window_set(const tg_line_kernel *k, int64_t number) {
  return k->transposed ? &k->transposed->windows[number] : k->windows;
}
/* Channels of a block as they lie, in whole vectors, and flits of a position of a stream kind. */
uint32_t tg_line_take_of(const tg_params *m, const tg_line_tiling *t);
uint32_t tg_line_position(const tg_params *m, const tg_line_tiling *t, int kind);
/* Do results lie in the scratchpad as they leave, but for lanes behind the last channel? Those that are finished apart do. */
static inline bool tg_line_is_dense(const tg_line_tiling *t) {
  return t->apart || (t->lead == 0 && t->run % t->unroll == 0);
}
/* Columns in front of the results, and from run to run of them. */
static inline uint32_t tg_line_results_lead(const tg_line_tiling *t) { return t->apart ? 0 : t->lead; }
static inline uint32_t tg_line_results_apart(const tg_line_tiling *t) {
  return t->apart ? t->run : tg_line_groups(t) * t->unroll;
}
/* Of an image that is made: tiles of a row that have the same pixels; and blocks of rows, and of channels, that all tiles have
 * in a round. */
static inline uint32_t tg_line_columns_alike(const tg_params *m, const tg_line_tiling *t) {
  return m->cols / t->abreast;
}
static inline uint32_t tg_line_row_blocks(const tg_params *m, const tg_line_tiling *t) {
  return m->rows / t->alike * t->abreast;
}
static inline uint32_t tg_line_channel_blocks(const tg_params *m, const tg_line_tiling *t) {
  return tg_line_columns_alike(m, t) * t->alike;
}
/* Is a row of positions, of all channels in whole flits, one run? */
bool tg_line_is_joined(const tg_params *m, const tg_line_kernel *kernel, const tg_line_tiling *t);
/* Flits of a position as it is loaded, or leaves. */
uint32_t tg_line_moved(const tg_params *m, const tg_line_kernel *kernel, const tg_line_tiling *t, int kind);
/* Do all blocks of a tile have the same channels, whose weights are loaded once? */
static inline bool tg_line_keeps_weights(const tg_params *m, const tg_line_tiling *t) {
  return tg_tiles(m) % t->blocks[2] == 0;
}
/* Images that the section loops over; where rows are whole, blocks are counted through all of them instead. */
static inline uint32_t tg_line_image_loops(const tg_line_kernel *kernel, const tg_line_tiling *t) {
  return t->blocks[1] > 1 ? (uint32_t)kernel->windows->image->dims[0].size : 1;
}
/* Weights, or a bias, that all blocks of a tile read, are loaded once. */
static inline bool tg_line_loads_once(const tg_params *m, const tg_line_kernel *kernel,
                                      const tg_line_tiling *t) {
  return tg_line_keeps_weights(m, t) && (kernel->weights || kernel->bias);
}

/* Its section, so tiled. line_buffers_emit.c */
tg_status tg_emit_lines(tg_compile *c, const tg_kernel *kernel, const tg_line_kernel *lines,
                        const tg_line_tiling *t);

/* ---- line_cycles.c ---- */

/* Segments of the microcode that makes the results, behind which those of a reduction come. */
int tg_line_segments(const tg_line_kernel *kernel, const tg_line_tiling *t);
/* What its VOPs have to do with results and totals, in slots 1 and 2. */
void tg_line_join_results(const tg_line_kernel *kernel, tg_stage *vop);
/* Cycles of the VOPs, of those of a product, too; and of ports for results, and for totals. */
double tg_line_vop_cycles(const tg_params *m, const tg_line_kernel *kernel, const tg_line_tiling *t,
                          const int *words);
double tg_line_store_cycles(const tg_params *m, const tg_line_kernel *kernel, const tg_line_tiling *t);
double tg_line_totals_store_cycles(const tg_params *m, const tg_line_kernel *kernel, const tg_line_tiling *t);
/* Of a block of a tensor's positions; and of a port for runs of so many elements, of which the flits of `kind` are pieces. */
double tg_line_positions_cycles(const tg_params *m, const tg_line_kernel *kernel, const tg_line_tiling *t,
                                const tg_dram_tensor *tensor, int kind, uint32_t rows, uint32_t columns);
double tg_line_port_cycles(const tg_params *m, const tg_dram_tensor *tensor, int kind, double runs,
                           double elements);

/* ---- line_buffers_stages.c ---- */

void tg_line_plan_channels(const tg_params *m, const tg_line_kernel *kernel, const tg_line_tiling *t,
                           tg_channel_plan plans[TG_LINE_CHANNELS]);
/* Its stages, in the order of each queue; cycles are of a block. `words` of each segment of the microcode, NULL: cycles
 * of VOPs are not known. */
typedef enum tg_line_stage {
  TG_STAGE_BLOCKS,  /* of the image, with what is not loaded once */
  TG_STAGE_WEIGHTS, /* what is; and the wait for it */
  TG_STAGE_PIXELS,  /* of a product in front, with marks; and the wait for them where they stay */
  TG_STAGE_FILTERS, /* with the weights of the windows behind it */
  TG_STAGE_EDGES,   /* of the image that it makes */
  TG_STAGE_MULTIPLY,
  TG_STAGE_VOP,
  TG_STAGE_RESULTS
} tg_line_stage;
/* Blocks; of a product in front, rounds of channels, and rounds of rows inside of them. */
enum { TG_NEST_BLOCKS, TG_NEST_CHANNELS, TG_LINE_NESTS };
void tg_line_list_stages(const tg_params *m, const tg_line_kernel *kernel, const tg_line_tiling *t,
                         const int *words, tg_stages *out);

#endif
