/* A MatMul, a Conv or a gradient of one as matrix products on mx: what is multiplied, and with what around
 * it. */
#ifndef TEGULA_MAPPER_GEMM_PRODUCT_H
#define TEGULA_MAPPER_GEMM_PRODUCT_H

#include "mapper/expression/expression.h"
#include "mapper/kernel/operand.h"
#include "mapper/stream/stream.h"
#include "sim/machine/mx_shape.h"

enum {
  TG_EPILOGUE_OPERANDS = 8,
  TG_GEMM_RESULTS = 1 + TG_MORE_RESULTS,
};

/* What the vector unit does to a row of 2P results, by segment of its microcode. */
typedef enum tg_gemm_drain {
  TG_DRAIN_FINISH, /* sum + accumulator, or the rounded sum; bias, rounding to the node's dtype,
                       fused nodes */
  TG_DRAIN_BEGIN,  /* +0 + accumulator */
  TG_DRAIN_ADD,    /* sum + accumulator */
  TG_GEMM_DRAINS
} tg_gemm_drain;
/* Of a product with swapped operands: the same of rows in the scratchpad, where a VOP has transposed them to, which begins,
 * goes down the accumulator, and stores. */
typedef enum tg_swapped_segment {
  TG_SWAPPED_FINISH,
  TG_SWAPPED_BEGIN,
  TG_SWAPPED_ROWS,
  TG_SWAPPED_END,
  TG_SWAPPED_SEGMENTS
} tg_swapped_segment;
enum { TG_SWAPPED_MOST = 8 }; /* rows of C, each of which takes a stream */
/* Where members reduce in a ring, VOPs that add take so many rows at a time: one's loads go beside the
 * other's stores. */
enum { TG_ADDS_AT_ONCE = 2 };
/* The drain of an accumulator handles 1, 2 or 4 rows at a time. */
enum { TG_DRAIN_UNROLLS = 3, TG_DRAIN_MOST_ROWS = 1 << (TG_DRAIN_UNROLLS - 1) };

/* An operand of the fused nodes that comes from DRAM, and how it goes along with rows of the result. */
typedef struct tg_epilogue_operand {
  tg_access access; /* by the dimensions of the result */
  int kind;         /* stream kind */
  tg_along along;
  int64_t stride[3];                  /* elements per row digit of the output */
  int64_t element_stride, run_stride; /* and from run to run of columns (tg_gemm.run) */
  const int64_t *offsets;             /* elements, for each product */
} tg_epilogue_operand;

static inline bool tg_is_row_vector(const tg_epilogue_operand *x) {
  return x->along == TG_ALONG_ROW || x->along == TG_ALONG_SCALAR;
}

/* Reductions of the result by blocks of rows, which the drain computes (column_sums_describe.c). */
typedef struct tg_gemm_column_sums {
  int count; /* 0: none */
  /* rows of a block; rows behind the last whole one are another section's (tg_emit_remainder) */
  int64_t block;
  tg_value *out[TG_GEMM_RESULTS]; /* FP32: a row for each block */
  int first;                      /* rows of a block that moments begin with; 0: there are none among them */
  int unroll;                     /* rows of an iteration of the microcode */
  int late;                       /* column sums that take an element a row later, at most */
  int words; /* of microcode before and after the rows of a block, or of a drain tile of one */
  /* there are streams for whole blocks only, not for column sums that go on from drain tile to drain tile */
  bool whole;
  struct {
    tg_value *value; /* as a node of their prologue names epilogue operand number `epilogue_operand` */
    int epilogue_operand;
  } names[TG_EPILOGUE_OPERANDS];
  int name_count;
} tg_gemm_column_sums;

/* Elements of a row of `nt` that are loaded of it: of one scalar a row (splat32) that one. */
static inline uint32_t tg_epilogue_operand_take(const tg_epilogue_operand *epilogue_operand, uint32_t nt) {
  return tg_is_splat(epilogue_operand->along) ? 1 : nt;
}

/* The prologue of an operand, elementwise nodes, computed on the tiles that multiply it: of A, made of one
 * tensor of its elements, in whose place in DRAM A is loaded, and of vectors along k (prologue_emit.c); of B,
 * made of such tensors and per-row scalars, three at most, and of vectors along n
 * (prologue_cooperative.c). What they make is stored, if others read it. */
typedef struct tg_prologue_operand {
  tg_operand_name name; /* of the value that owns the memory */
  tg_along along;
  int kind;       /* stream kind; splat32: a scalar a row, */
  int lane, each; /* number `lane` of `each` that follow each other, and are loaded as lane 0 */
  int64_t first, radix[3], stride[3]; /* elements: the first; row digits and their strides */
  int64_t element_stride;
} tg_prologue_operand;
enum { TG_PROLOGUE_VECTORS = 8, TG_PROLOGUE_NAMES = 14, TG_PROLOGUE_UNROLL = 2, TG_PROLOGUE_INPUTS = 3 };
typedef struct tg_gemm_prologue {
  tg_value *result; /* NULL: there are none */
  bool of_b;
  bool stored;
  int block_kind, result_kind;                    /* stream kinds: of the operand's blocks, of the result */
  tg_prologue_operand inputs[TG_PROLOGUE_INPUTS]; /* what is loaded in place of the operand */
  int input_count;
  uint32_t unroll; /* rows that the microcode handles at once */
  tg_prologue_operand vectors[TG_PROLOGUE_VECTORS];
  int vector_count;
  tg_operand_stream names[TG_PROLOGUE_NAMES]; /* operands as the nodes name them */
  int name_count;
  int words[2]; /* of microcode: before the rows, and for a vector of each of `unroll` rows */
} tg_gemm_prologue;

/* Streams: what is loaded, tensor by tensor, for each row that is handled at once; blocks; the result; then
 * vectors. */
static inline int tg_prologue_input_stream(const tg_gemm_prologue *f, int prologue_input, uint32_t u) {
  return prologue_input * (int)f->unroll + (int)u;
}
static inline int tg_prologue_block_stream(const tg_gemm_prologue *f, uint32_t u) {
  return tg_prologue_input_stream(f, f->input_count, u);
}
static inline int tg_prologue_result_stream(const tg_gemm_prologue *f, uint32_t u) {
  return tg_prologue_input_stream(f, f->input_count + 1, u);
}
static inline int tg_prologue_vector_stream(const tg_gemm_prologue *f, int vector) {
  return (f->stored ? tg_prologue_result_stream(f, f->unroll) : tg_prologue_result_stream(f, 0)) + vector;
}

/* The image of a convolution whose rows of A are what kernel positions read of it. Pairs: along rows and columns. */
typedef struct tg_gemm_image {
  int64_t images;             /* 0: A is no such matrix */
  int64_t size[2], channels;  /* of an image; of a group */
  int64_t groups, own;        /* side by side, whose channels a patch has; of these, those that there are:
                                              stationary blocks of a group are filled up with zeros */
  int64_t depth;              /* elements from one pixel to the next */
  int64_t pixels[2], taps[2]; /* of results; kernel positions */
  int64_t origin[2], step[2], tap_step[2]; /* where the first one reads, and from each to the next */
} tg_gemm_image;

/* The MaxPool of a convolution's results, in its drain (pool.c). Pairs: along rows and columns. */
enum {
  TG_POOL_BEGIN, /* segments of the microcode: of the VOP that goes down the windows' rows, */
  TG_POOL_ROW,
  TG_POOL_END,
  TG_POOL_ACROSS, /* of that which goes across their columns, */
  TG_POOL_COLUMN,
  TG_POOL_RESULT,
  TG_POOL_EDGES, /* and of that which fills up what lies beside the image */
  TG_POOL_SEGMENTS
};
typedef struct tg_gemm_pool {
  const tg_kernel *kernel; /* NULL: there is none */
  int64_t windows[2];      /* of an image: results */
  int64_t taps[2], step[2], tap_step[2],
      before[2];  /* before: positions of the first window in front of the image */
  bool leaves[2]; /* do windows reach over what is not of the image? */
  int kind;       /* stream kind of what the product stores, were it alone: maxima of columns have it */
  int words[TG_POOL_SEGMENTS];
} tg_gemm_pool;

/* Where the drain finds a product: in the accumulator; where members of a ring, a VOP that transposed it, or one that went down
 * windows, put it. */
typedef enum tg_drain_way {
  TG_DRAIN_OF_ACCUMULATOR,
  TG_DRAIN_OF_RING,
  TG_DRAIN_OF_TRANSPOSED,
  TG_DRAIN_OF_WINDOWS,
  TG_DRAIN_WAYS
} tg_drain_way;

/* Does B stay in scratchpads? It is looked for which columns of it tiles would have, by kept.split; or it is there when
 * the section begins. */
typedef enum tg_keeps { TG_KEEPS_NOTHING, TG_KEEPS_B_ANYWHERE, TG_KEEPS_B } tg_keeps;

/* Products C[m, n] = A[m, k] B[k, n] of one shape, one for each batch element, or for each so many groups of a convolution. Of
 * several groups in a product (image.groups) each has as many columns, and A that of its own channels. */
typedef struct tg_gemm {
  const tg_node *node;
  int64_t m, n, k;
  int64_t k_tile;         /* k between the places at which accumulation rounds, 0: it does not */
  int64_t partials, part; /* chains whose sum is the product, 1: it is one; k of each, at least 1 */
  int format;             /* TG_FMT_* */
  tg_value *a, *b;        /* as they lie in DRAM */
  tg_value *out[TG_GEMM_RESULTS];
  int out_kind[TG_GEMM_RESULTS], outs; /* kinds of streams; how many results there are */
  int a_convert, b_convert;
  tg_operand a_operand, b_operand;
  bool a_transposed, b_transposed;     /* stored by k (A), by n (B) */
  bool b_alone;                        /* B is a constant that nobody else reads: it may lie in any order */
  int64_t a_m_radix[3], a_m_stride[3]; /* row digits of A and their strides, elements */
  int64_t a_k_radix[3], a_k_stride[3]; /* K digits */
  int64_t y_m[3], y_k[3], x_m[3], x_k[3];         /* spatial coordinates of the digits, for padding */
  int64_t y_org, x_org, y_size, x_size, a_origin; /* a_origin: elements from the product's A to digit 0 */
  tg_gemm_image image;
  int64_t b_k_radix[3], b_k_stride[3]; /* K digits of B; its N digits, of which it has one, */
  int64_t b_n_radix[3], b_n_stride[3]; /* or, if transposed and spread, product digits before it */
  int64_t out_radix[3], out_stride[3]; /* row digits of the output, as the epilogue operands walk it */
  int64_t run,
      out_run_stride; /* columns of a pixel, where N is those of several pixels side by side, and elements from
                                  one pixel to the next; 0: it is not */
  int64_t run_own; /* or of a group, of which so many are, and what fills its blocks of columns; 0: all are */
  int64_t products, *a_offsets, *b_offsets, *out_offsets; /* elements */
  int64_t first_column; /* of the result, where this is the product of some of its columns */
  int64_t sr_row, sr_col, sr_row_step,
      sr_col_step; /* logical coordinates: the first, from product to product */
  tg_keeps keeps;
  tg_kept kept;
  int64_t spread; /* if not 0: so many products in one section, each on tiles of its own; `products` is 1 */
  tg_epilogue_operand epilogue_operands[TG_EPILOGUE_OPERANDS];
  int epilogue_operand_count;
  int drain_words[TG_GEMM_DRAINS]; /* microcode words of the drain's segments */
  int finish_words
      [TG_DRAIN_UNROLLS];         /* of the last segment, for 1 << i rows at a time; 0: it handles none so */
  int ring_words[TG_GEMM_DRAINS]; /* where members reduce in a ring, of TG_ADDS_AT_ONCE rows */
  int swapped_words[TG_SWAPPED_SEGMENTS]; /* with swapped operands; none of the first: it cannot */
  /* of the section's microcode, with that of a prologue; 0: not measured */
  uint32_t words_in_all[TG_DRAIN_WAYS];
  int sum_kind; /* stream kind that stores running sums of partials: FP32 or BF16SR */
  tg_gemm_column_sums column_sums;
  tg_gemm_prologue prologue;
  tg_gemm_pool pool;
  /* Another product of as many rows and columns, whose results the drain finds in the accumulator beside these; of it
   * all that is loaded and multiplied, and nothing of an epilogue. NULL: there is none. second.c */
  const struct tg_gemm *second;
} tg_gemm;

/* Behind a prologue of A every other tile's results are stored by the context that would load blocks for the drain, where
 * there are none. */
static inline bool tg_gemm_stores_together(const tg_gemm *gemm) {
  for (int x = 0; x < gemm->epilogue_operand_count; x++)
    if (!tg_is_row_vector(&gemm->epilogue_operands[x])) return false;
  return gemm->prologue.result && !gemm->prologue.of_b;
}

/* Are channels, or columns, of groups filled up to whole blocks? */
static inline bool tg_gemm_pads_channels(const tg_gemm *gemm) {
  return gemm->image.own < gemm->image.channels;
}
static inline bool tg_gemm_pads(const tg_gemm *gemm) { return tg_gemm_pads_channels(gemm) || gemm->run_own; }
/* Columns and k without what fills groups up. */
static inline int64_t tg_gemm_useful_columns(const tg_gemm *gemm) {
  return gemm->run_own ? gemm->n / gemm->run * gemm->run_own : gemm->n;
}
static inline int64_t tg_gemm_useful_k(const tg_gemm *gemm) {
  return tg_gemm_pads_channels(gemm) ? gemm->k / gemm->image.channels * gemm->image.own : gemm->k;
}

/* Is one of the results rounded stochastically? */
static inline bool tg_gemm_rounds_results(const tg_gemm *gemm) {
  for (int k = 0; k < gemm->outs; k++)
    if (gemm->out_kind[k] == TG_STREAM_BF16SR) return true;
  return false;
}

/* Adds the reductions of kernel->column_sums and what their prologue reads. TG_INVALID: a drain cannot
 * compute them. */
tg_status tg_gemm_describe_column_sums(tg_compile *c, const tg_kernel *kernel, tg_gemm *g);
/* Decides on whole blocks and rows of an iteration, where so many streams are left; returns how many it
 * takes. */
int tg_gemm_fit_column_sums(tg_gemm *g, int left);
/* The drain's microcode with them, and its words into g->drain_words and g->column_sums.words. */
tg_status tg_gemm_write_column_sums(const tg_compile *c, const tg_kernel *kernel, const tg_gemm *g,
                                    tg_mc *mc);
tg_status tg_gemm_measure_column_sums(const tg_compile *c, const tg_kernel *kernel, tg_gemm *g);
/* The operands of the drain's nodes; returns their number, 2 * TG_EPILOGUE_OPERANDS at most. */
int tg_gemm_operand_streams(const tg_gemm *g, tg_operand_stream *out);
/* The result of the chain of multiply-adds in `y`, with bias, rounded to its dtype. `stored`: nothing else
 * happens to it. */
tg_mc_ref tg_gemm_add_bias(tg_mc *mc, const tg_kernel *kernel, const tg_operand_stream *streams, int count,
                           tg_mc_ref y, bool stored);

/* A node's products differ in shape from phase to phase; `out->m` 0: the phase is empty. describe.c */
tg_status tg_describe_gemm(tg_compile *c, const tg_kernel *kernel, int64_t phase, tg_gemm *out);

/* Streams of the last drain: accumulator; then operands from DRAM, the result, and the sum so far. Of the
 * others, for each row that is handled at once, these. (epilogue_code.c) */
enum { TG_DRAIN_ACCUMULATOR, TG_DRAIN_SUM_IN, TG_DRAIN_SUM_OUT, TG_DRAIN_SUM_STREAMS };
static inline int tg_gemm_finish_sum_stream(const tg_gemm *g) { return 2 + g->epilogue_operand_count; }
/* The accumulator of a second product has the place of the sum, of which there is none then. */
static inline int tg_gemm_second_stream(const tg_gemm *g) { return tg_gemm_finish_sum_stream(g); }
static inline int tg_gemm_finish_result_stream(const tg_gemm *g, int k) {
  return 1 + g->epilogue_operand_count + (k ? k + (g->partials > 1 || g->second) : 0);
}
/* Of row number `row` of those that it handles at a time, in place of a stream of row 0: the accumulator, operands that
 * rows do not share, and results have one each, behind all of row 0. -1: a row vector, which all rows share. */
int tg_gemm_finish_stream(const tg_gemm *g, int stream, uint32_t row);
static inline bool tg_gemm_rounds_sums(const tg_gemm *g) { return g->sum_kind == TG_STREAM_BF16SR; }

/* The drain's microcode, and its words into g->drain_words; no words of the last segment: it does not fit. `at_once`: rows
 * that segments which add handle at a time; of a drain of the accumulator without sums, those that it does. epilogue_code.c */
tg_status tg_gemm_write_drain(const tg_compile *c, const tg_kernel *kernel, const tg_gemm *g,
                              tg_drain_way way, uint32_t at_once, tg_mc *mc);
/* May its operands be swapped? And the segments that transpose it, behind that of the drain. swapped.c */
bool tg_gemm_may_swap(const tg_compile *c, const tg_gemm *g);
void tg_gemm_write_transposition(const tg_gemm *g, tg_mc *mc);
tg_status tg_gemm_measure_drain(const tg_compile *c, const tg_kernel *kernel, tg_gemm *g);

/* Is B a constant as the graph has it, which the product alone reads? product.c */
bool tg_gemm_alone_reads_b(const tg_gemm *g);

/* matmul.c: a MatMul, and the batch dimensions of its output as an operand walks them, two digits at most. */
void tg_describe_matmul(tg_compile *c, tg_gemm *g);
bool tg_matmul_lead_digits(const tg_gemm *g, const tg_value *value, const tg_operand *operand,
                           int64_t radix[2], int64_t stride[2]);

/* Convolutions (conv.c). Results of one phase are rows of the output's image: `first` + i * `step`. */
typedef struct tg_conv_rows {
  int64_t rows[2], first[2], step[2];
  /* asked for: phases whose results are pixels side by side as columns of one product, where they can be */
  bool joins;
  int64_t packs;  /* asked for: groups in a product; 0: one */
  int64_t joined; /* so many are, 0: none; */
  bool elsewhere; /* and they are those of a phase before this one */
} tg_conv_rows;
/* Offsets of g->products products, all 0. */
void tg_gemm_allocate_products(tg_compile *c, tg_gemm *g);
void tg_describe_conv(tg_compile *c, int64_t phase, tg_gemm *g, tg_conv_rows *out);
/* Parts of tg_describe_gemm, for other ways to describe the same. describe.c */
tg_status tg_gemm_set_formats(tg_compile *c, const tg_kernel *kernel, tg_gemm *out);
void tg_gemm_set_kept(const tg_kernel *kernel, tg_gemm *out);
tg_status tg_gemm_describe_root(tg_compile *c, const tg_kernel *kernel, int64_t phase, tg_conv_rows *image,
                                tg_gemm *out);
tg_status tg_gemm_describe_fused(tg_compile *c, const tg_kernel *kernel, const tg_conv_rows *image,
                                 tg_gemm *out);
/* epilogue_operands.c: operands of the fused nodes, bias first; false: they are more than there is room for.
 * And how they are walked along with the result; TG_INVALID: not by so few digits. */
bool tg_gemm_list_operands(tg_compile *c, const tg_kernel *kernel, tg_gemm *g);
tg_status tg_gemm_walk_operands(const tg_compile *c, const tg_kernel *kernel, const tg_conv_rows *image,
                                tg_gemm *g);
/* groups.c: the product of tg_describe_gemm, of a convolution of one group or of a phase of its input gradient, with channels filled up to
 * whole stationary blocks, so that patches have them pixel by pixel. False: it has no filling, or cannot have. */
bool tg_gemm_describe_filled(tg_compile *c, const tg_kernel *kernel, int64_t phase, tg_gemm *out);
/* groups.c: a convolution, or a phase of its input gradient, with several groups in each product: with fewer than `groups`, the
 * most that are equally many in all products. Returns how many; 0: it cannot, or not with fewer. */
int64_t tg_gemm_describe_groups(tg_compile *c, const tg_kernel *kernel, int64_t phase, int64_t groups,
                                tg_gemm *out);

enum { TG_MOST_COLUMN_PARTS = 16 };
typedef struct tg_columns {
  int64_t first, count;
} tg_columns;
/* columns.c: columns that other kernels read apart, in order; returns how many parts there are, 0: it is read otherwise. And the
 * product of some of them, TG_INVALID: they are not multiplied apart. */
int tg_gemm_column_parts(const tg_kernel *kernel, tg_columns out[TG_MOST_COLUMN_PARTS]);
tg_status tg_gemm_describe_columns(tg_compile *c, const tg_kernel *kernel, const tg_columns *columns,
                                   tg_gemm *out);
/* Does B lie part by part then, whose rows are those of its columns? And puts it so, of the product of all; blocks.c. */
static inline bool tg_gemm_b_in_parts(const tg_gemm *gemm) { return gemm->b_alone && !gemm->b_transposed; }
void tg_gemm_order_columns(const tg_compile *c, const tg_gemm *gemm, const tg_columns *parts, int count);

/* ways.c: how the products of a phase may be described, of which the fastest way is emitted. The first has product after
 * product, whether it has a tiling or not; all others have one. */
enum {
  TG_GEMM_PACKINGS = 3 /* numbers of groups that are tried: the most that have room, and fewer */,
  TG_GEMM_WAYS = 3 + TG_GEMM_PACKINGS
};
typedef struct tg_gemm_ways {
  tg_gemm way[TG_GEMM_WAYS];
  int count; /* 0: the phase is empty */
} tg_gemm_ways;
/* All products in one section (tg_gemm.spread). TG_INVALID: there is one only, or walks have too few digits for it. */
tg_status tg_gemm_describe_spread(tg_compile *c, const tg_kernel *kernel, tg_gemm *out);
/* Fails where the first way does. */
tg_status tg_gemm_list_ways(tg_compile *c, const tg_kernel *kernel, int64_t phase, tg_gemm_ways *out);

/* The MaxPool of kernel->pool: what it takes of the results, which are its own from here on, and its microcode. TG_INVALID: not in
 * this drain. pool.c */
tg_status tg_gemm_describe_pool(const tg_compile *c, const tg_kernel *kernel, tg_gemm *g);
static inline int tg_gemm_marks_stream(const tg_gemm *g) { return 1 + g->epilogue_operand_count; }
static inline int tg_gemm_columns_stream(const tg_gemm *g) { return 2 + g->epilogue_operand_count; }
tg_status tg_gemm_write_pool(const tg_compile *c, const tg_kernel *kernel, const tg_gemm *g, tg_mc *mc);

/* ---- prologues (prologue_describe.c, prologue_code.c) ---- */

/* Can the product do with them? Sets g->prologue. */
tg_status tg_gemm_describe_prologue(const tg_compile *c, const tg_kernel *kernel, tg_gemm *g);
tg_status tg_gemm_write_prologue(const tg_compile *c, const tg_kernel *kernel, const tg_gemm *g, tg_mc *mc);
/* Words of it into g->prologue.words. TG_INVALID: it does not fit beside that of the drain. */
tg_status tg_gemm_measure_prologue(const tg_compile *c, const tg_kernel *kernel, tg_gemm *g);
/* Is an input a scalar a row; and how many of them are there? */
static inline bool tg_gemm_prologue_is_scalar(const tg_gemm *gemm, int prologue_input) {
  return gemm->prologue.inputs[prologue_input].kind == TG_STREAM_SPLAT32;
}
int tg_gemm_prologue_scalars(const tg_gemm *gemm);

#endif
