/* A MatMul, a Conv or a gradient of one as matrix products on mx: what is multiplied, how it is tiled. */
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
/* Where members reduce in a ring, VOPs that add take so many rows at a time: one's loads go beside the
 * other's stores. */
enum { TG_ADDS_AT_ONCE = 2 };

/* An operand of the fused nodes that comes from DRAM. */
typedef struct tg_epilogue_operand {
  tg_value *value;
  int kind;          /* stream kind */
  bool row_vector;   /* the same for every row */
  int64_t stride[3]; /* elements per row digit of the output */
  int64_t element_stride;
  const int64_t *offsets; /* elements, for each product */
  const tg_value *shape;  /* that it broadcasts to, of as many elements as the result; NULL: the result's */
  int part;       /* of an operand of outer products (kernel/outer.h), that of k = part - 1; 0: all of it */
  tg_dtype dtype; /* ... as it is multiplied */
  int64_t first;  /* ... its first element */
  int64_t along[TG_MAX_RANK]; /* ... and strides per dimension of `shape` */
} tg_epilogue_operand;

/* Reductions of the result by blocks of rows, which the drain computes (column_sums_describe.c). */
typedef struct tg_gemm_column_sums {
  int count; /* 0: none */
  int64_t
      block; /* rows of a block; rows behind the last whole one are another section's (tg_emit_remainder) */
  tg_value *out[TG_GEMM_RESULTS]; /* FP32: a row for each block */
  int first;                      /* rows of a block that moments begin with; 0: there are none among them */
  int unroll;                     /* rows of an iteration of the microcode */
  int late;                       /* column sums that take an element a row later, at most */
  int words; /* of microcode before and after the rows of a block, or of a piece of one */
  bool
      whole; /* there are streams for whole blocks only, not for column sums that go on from piece to piece */
  struct {
    tg_value *value; /* as a node of their prologue names epilogue operand number `epilogue operand` */
    int epilogue_operand;
  } names[TG_EPILOGUE_OPERANDS];
  int name_count;
} tg_gemm_column_sums;

/* Elements of a row of `nt` that are loaded of it: of one number a row (splat32) that one. */
static inline uint32_t tg_epilogue_operand_take(const tg_epilogue_operand *epilogue_operand, uint32_t nt) {
  return epilogue_operand->kind == TG_STREAM_SPLAT32 ? 1 : nt;
}

/* The prologue of an operand, elementwise nodes, computed on the tiles that multiply it: of A, made of one
 * tensor of its elements, in whose place in DRAM A is loaded, and of vectors along k (prologue_emit.c); of B,
 * made of such tensors and numbers a row, three at most, and of vectors along n
 * (prologue_cooperative.c). What they make is stored, if others read it. */
typedef struct tg_prologue_input {
  tg_value *value; /* that owns the memory */
  int kind;        /* stream kind; splat32: a number a row, */
  int lane, each;  /* number `lane` of `each` that follow each other, and are loaded as lane 0 */
  int64_t first, radix[3], stride[3]; /* elements: of it the first; its row digits and their strides */
} tg_prologue_input;
typedef struct tg_gemm_vector {
  tg_value *value;
  int64_t first, stride; /* elements: of it the first, and from each to the next */
  int part;              /* as in tg_operand_stream */
  tg_dtype dtype;
} tg_gemm_vector;
enum { TG_PROLOGUE_VECTORS = 8, TG_PROLOGUE_NAMES = 14, TG_PROLOGUE_UNROLL = 2, TG_PROLOGUE_INPUTS = 3 };
typedef struct tg_gemm_prologue {
  tg_value *result; /* NULL: there are none */
  bool of_b;
  bool stored;
  int block_kind, result_kind;                  /* stream kinds: of the operand's blocks, of the result */
  tg_prologue_input inputs[TG_PROLOGUE_INPUTS]; /* what is loaded in place of the operand */
  int input_count;
  uint32_t unroll; /* rows that the microcode handles at once */
  tg_gemm_vector vectors[TG_PROLOGUE_VECTORS];
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

/* Products C[m, n] = A[m, k] B[k, n] of one shape, one for each batch element or group. */
typedef struct tg_gemm {
  const tg_node *node;
  int64_t m, n, k;
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
  int64_t b_k_radix[3], b_k_stride[3];            /* K digits of B; its N digits, of which it has one, */
  int64_t b_n_radix[3], b_n_stride[3];            /* or, if transposed and spread, product digits before it */
  int64_t out_radix[3], out_stride[3]; /* row digits of the output, as the epilogue operands walk it */
  int64_t products, *a_offsets, *b_offsets, *out_offsets; /* elements */
  int64_t sr_row, sr_row_step, sr_col_step; /* logical coordinates: first row, from product to product */
  int64_t spread; /* if not 0: so many products in one section, each on a tile of its own; `products` is 1 */
  tg_epilogue_operand epilogue_operands[TG_EPILOGUE_OPERANDS];
  int epilogue_operand_count;
  int drain_words[TG_GEMM_DRAINS]; /* microcode words of the drain's segments */
  int ring_words[TG_GEMM_DRAINS];  /* where members reduce in a ring, of TG_ADDS_AT_ONCE rows */
  int sum_kind;                    /* stream kind that stores running sums of partials: FP32 or BF16SR */
  tg_gemm_column_sums column_sums;
  tg_gemm_prologue prologue;
} tg_gemm;

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
static inline int tg_gemm_finish_result_stream(const tg_gemm *g, int k) {
  return 1 + g->epilogue_operand_count + (k ? k + (g->partials > 1) : 0);
}
static inline bool tg_gemm_rounds_sums(const tg_gemm *g) { return g->sum_kind == TG_STREAM_BF16SR; }

/* The drain's microcode, and its words into g->drain_words; no words of the last segment: it does not fit.
 * epilogue_code.c */
tg_status tg_gemm_write_drain(const tg_compile *c, const tg_kernel *kernel, const tg_gemm *g, bool ring,
                              uint32_t at_once, tg_mc *mc);
tg_status tg_gemm_measure_drain(const tg_compile *c, const tg_kernel *kernel, tg_gemm *g);

/* matmul.c: a MatMul, and the batch dimensions of its output as an operand walks them, two digits at most. */
void tg_describe_matmul(tg_compile *c, tg_gemm *g);
bool tg_matmul_lead_digits(const tg_gemm *g, const tg_value *value, const tg_operand *operand,
                           int64_t radix[2], int64_t stride[2]);

/* Convolutions (conv.c). Results of one phase are rows of the output's image: `first` + i * `step`. */
typedef struct tg_conv_rows {
  int64_t rows[2], first[2], step[2];
} tg_conv_rows;
/* Offsets of g->products products, all 0. */
void tg_gemm_allocate_products(tg_compile *c, tg_gemm *g);
void tg_describe_conv(tg_compile *c, int64_t phase, tg_gemm *g, tg_conv_rows *out);
/* epilogue_operands.c: operands of the fused nodes, bias first; false: they are more than there is room for.
 * And how they are walked along with the result; TG_INVALID: not by so few digits. */
bool tg_gemm_list_operands(tg_compile *c, const tg_kernel *kernel, tg_gemm *g);
tg_status tg_gemm_walk_operands(const tg_compile *c, const tg_kernel *kernel, const tg_conv_rows *image,
                                tg_gemm *g);
/* All products in one section; false if there is one only or if walks have too few digits for it. */
bool tg_spread_gemm(tg_compile *c, const tg_kernel *kernel, tg_gemm *out);

/* What tiles differ in. */
typedef enum tg_split {
  TG_SPLIT_OUTPUT,  /* rows over tile rows, or over groups of them; columns over tile columns */
  TG_SPLIT_ROWS,    /* every tile has rows of its own and all columns of a pass; with a prologue, `alike`
                       tiles side by side have the same rows, and each some columns */
  TG_SPLIT_COLUMNS, /* every tile has columns of its own and all rows of a pass: products of few rows */
  TG_SPLIT_PRODUCTS /* every tile has a product of its own (tg_gemm.spread) */
} tg_split;

/* Which operand stays while the blocks of the other one go by, where a chunk is all of K, or members finish
 * in turn: that of the outer loop over passes. Else both are loaded for each block. */
typedef enum tg_resident {
  TG_RESIDENT_NONE,
  TG_RESIDENT_A, /* passes over columns are the inner loop */
  TG_RESIDENT_B  /* passes over rows are */
} tg_resident;

typedef struct tg_gemm_tiling {
  tg_split split;
  tg_egress egress;
  tg_resident resident;
  uint32_t mt, nt, kc;                 /* block of a tile in a pass; k of a chunk */
  uint32_t mr;                         /* rows of the block that leave at once; divides mt */
  uint32_t passes_m, passes_n, chunks; /* chunks: of K, or of a part of it */
  uint32_t members; /* output split: rows of tiles in a group, among which K's parts are shared out */
  uint32_t alike; /* output split: rows of tiles side by side that have the same rows of C, each with columns
                     of its own; 1 if there are several members */
  bool paired;    /* row and column split: two tiles side by side load the blocks of both, of which each reads
                     its own, since rows of one block do not fill their atoms */
  uint32_t sent;  /* rows of a piece that leave at once, where it does not leave as a whole: with a prologue,
                     there are as many pieces as chunks; or a piece is a block of column sums; else 0 */
  uint32_t prologue_sent;       /* and of a chunk of what they make */
  tg_egress prologue_egress;    /* how that leaves */
  tg_egress column_sums_egress; /* and column sums: as the results, or in a checkerboard */
  bool prefetch;   /* a third block of A and B is loaded while one is multiplied and the next one waits */
  uint32_t makers; /* tiles above each other that make chunks of B in turn, by its prologue; 0: it is
                      loaded. `prefetch`: of A blocks for a round of them, or two */
  uint32_t made;   /* chunks of each of them that there is room for */
  tg_egress prologue_inputs; /* by which AGCUs comes what they are made of */
  bool whole_b;              /* all chunks of B stay, while those of A come anew with each pass */
  uint32_t parts; /* of K that a tile multiplies in turn: of D members, number i has parts i, i + D, i + 2D
                     ..;   the last ones may be empty */
  bool ring;      /* Members have one part each, and each runs the fused nodes of some rows: split_k.c */
  uint32_t ring_pieces;        /* of a step of the ring */
  bool one_out;                /* in a ring, or behind makers: one piece on its way out has room, not two */
  uint32_t sr_blocks;          /* k blocks of a K tile; 0: accumulation stays FP32 */
  bool epilogue_operands_west; /* blocks of epilogue operands come from the west to all tiles, or to half of
                                  them */
  double cycles;               /* estimate */
} tg_gemm_tiling;

/* Pieces of a block of rows that column sums are of: if there are several, each has instructions of
 * its own. */
static inline uint32_t tg_gemm_pieces_of_column_sum(const tg_gemm *gemm, const tg_gemm_tiling *t) {
  return gemm->column_sums.count && gemm->column_sums.block > t->mr
             ? (uint32_t)gemm->column_sums.block / t->mr
             : 1;
}
/* Column sums of a piece that has any. */
static inline uint32_t tg_gemm_column_sums_a_piece(const tg_gemm *gemm, const tg_gemm_tiling *t) {
  if (!gemm->column_sums.count) return 0;
  return gemm->column_sums.block > t->mr ? 1 : t->mr / (uint32_t)gemm->column_sums.block;
}

/* Where all tiles have all of A, half of its rows comes along the rows of tiles, and half down
 * the columns. */
static inline bool tg_gemm_a_both_ways(const tg_gemm *gemm, const tg_gemm_tiling *t) {
  return t->split == TG_SPLIT_COLUMNS && !gemm->a_transposed && t->mt % 2 == 0;
}

/* Tiles whose rows of A, or columns of B, one load brings. */
static inline uint32_t tg_gemm_a_mates(const tg_gemm_tiling *t) {
  return t->split == TG_SPLIT_ROWS && t->paired ? 2 : 1;
}
static inline uint32_t tg_gemm_b_mates(const tg_gemm_tiling *t) {
  return t->split == TG_SPLIT_COLUMNS && t->paired ? 2 : 1;
}

/* Does B lie in the order in which its blocks are loaded, block by block of columns? Each chunk is one run
 * then, where rows of a block would touch atoms that they do not fill. */
static inline bool tg_gemm_b_in_blocks(const tg_params *m, const tg_gemm *gemm, const tg_gemm_tiling *t) {
  return gemm->b_alone && t->split == TG_SPLIT_COLUMNS && !t->paired &&
         t->nt * tg_mx_element_bytes(gemm->format) % 64 && (int64_t)t->chunks * t->kc == gemm->k &&
         (int64_t)t->passes_n * t->nt * tg_tiles(m) == gemm->n && gemm->k * gemm->n < 1 << 24;
}
/* Puts it into this order. blocks.c */
void tg_gemm_order_b(const tg_compile *c, const tg_gemm *gemm, const tg_gemm_tiling *t);

/* Is the operand loaded once a pass, not with each piece? A VOP that waits for sums from another row has no
 * wait left for that. */
static inline bool tg_gemm_loads_once(const tg_gemm_tiling *t, const tg_epilogue_operand *epilogue_operand) {
  return epilogue_operand->row_vector && t->members == 1;
}

/* Do those stay for all passes? Each has the same columns then; a prologue of A has them for
 * itself, too. */
static inline bool tg_gemm_has_resident_vectors(const tg_gemm *gemm, const tg_gemm_tiling *t) {
  if (gemm->prologue.result && !gemm->prologue.of_b) return true;
  return t->passes_n == 1 && t->passes_m > 1 && t->members * t->parts == 1;
}

/* One number a row: tiles side by side that have the same rows have them in common. (A number that all rows
 * share is a flit, for which they need not wait for each other.) */
static inline bool tg_gemm_shares_numbers(const tg_gemm_tiling *t,
                                          const tg_epilogue_operand *epilogue_operand) {
  return epilogue_operand->kind == TG_STREAM_SPLAT32 && !epilogue_operand->row_vector &&
         (t->split == TG_SPLIT_OUTPUT || t->split == TG_SPLIT_COLUMNS);
}

/* Loops have three levels. Where a tile has several parts, all of K's, and no more chunks of each than these,
 * every chunk has an instruction of its own, and two levels remain for passes; and so beside an operand that
 * is kept. */
enum { TG_GEMM_UNROLLED = 8 };
static inline bool tg_gemm_unrolls(const tg_gemm_tiling *t) {
  return t->parts > 1 && t->members == 1 && t->chunks <= TG_GEMM_UNROLLED;
}
/* Loops over chunks in loops over parts, or over pieces of sums that come from other rows, leave one level,
 * and each pass over columns is a section. */
static inline bool tg_gemm_strips_columns(const tg_gemm_tiling *t) {
  return t->parts > 1 && !tg_gemm_unrolls(t);
}
static inline uint32_t tg_gemm_strips(const tg_gemm_tiling *t) {
  return tg_gemm_strips_columns(t) ? t->passes_n : 1;
}

/* Are a part's chunks instructions of their own beside an operand that is resident? */
static inline bool tg_gemm_has_resident_chunks(const tg_gemm_tiling *t) {
  return t->resident && t->chunks > 1;
}
/* Rows that a tile finishes in a step: what it loads for the fused nodes at once. */
static inline uint32_t tg_gemm_ring_rows(const tg_gemm_tiling *t) {
  return t->ring ? t->mr * t->ring_pieces : t->mr;
}
/* Groups of 2P columns that a VOP which adds handles at once. */
static inline uint32_t tg_gemm_at_once(const tg_params *m, const tg_gemm_tiling *t) {
  return t->ring && t->nt / tg_lanes(m) % TG_ADDS_AT_ONCE == 0 ? TG_ADDS_AT_ONCE : 1;
}
/* Where members reduce in a ring, a member adds so many steps ahead of the one that it finishes: the whole
 * sum is then there when it is wanted. */
static inline uint32_t tg_gemm_ring_lead(const tg_gemm_tiling *t, uint32_t member) {
  return t->members - member + 1;
}

/* Length of the K tiles at whose ends accumulation rounds; 0: it does not. */
int64_t tg_gemm_rounded_tile(const tg_compile *c, const tg_gemm *gemm);

/* Estimated cycles of all passes. cost.c */
double tg_gemm_cycles(const tg_compile *c, const tg_gemm *gemm, const tg_gemm_tiling *t);
/* At least so many, however the operands come and the results leave. */
double tg_gemm_least_cycles(const tg_compile *c, const tg_gemm *gemm, const tg_gemm_tiling *t);

/* Of the kind of DRAM ports that has more to do, for a block. */
double tg_gemm_port_cycles(const tg_compile *c, const tg_gemm *gemm, const tg_gemm_tiling *t);

/* The tiling of least estimated time that fits; TG_INVALID if none does. */
tg_status tg_tile_gemm(const tg_compile *c, const tg_gemm *gemm, tg_gemm_tiling *out); /* tiling.c */

/* Bank rows of A's and B's blocks of a tile, and how far their rows are apart. */
uint32_t tg_gemm_a_row(const tg_params *m, const tg_gemm *gemm, const tg_gemm_tiling *t);
uint32_t tg_gemm_b_row(const tg_params *m, const tg_gemm *gemm, const tg_gemm_tiling *t);
uint64_t tg_gemm_a_rows(const tg_params *m, const tg_gemm *gemm, const tg_gemm_tiling *t);
/* From one half of A's rows to the other, which has banks of its own: two lanes cannot write to one. */
uint64_t tg_gemm_a_half(const tg_params *m, const tg_gemm *gemm, const tg_gemm_tiling *t);
uint64_t tg_gemm_b_rows(const tg_params *m, const tg_gemm *gemm, const tg_gemm_tiling *t);
/* Of a piece of result number `result`, or of those before it together. */
uint64_t tg_gemm_result_rows(const tg_params *m, const tg_gemm *gemm, const tg_gemm_tiling *t, int result);
uint64_t tg_gemm_results_before(const tg_params *m, const tg_gemm *gemm, const tg_gemm_tiling *t, int result);
/* Is an operand that is resident loaded chunk by chunk, too? Its chunks must have banks of their own: one is
 * read while the next one comes. */
static inline bool tg_gemm_loads_resident_chunks(const tg_params *m, const tg_gemm *gemm,
                                                 const tg_gemm_tiling *t) {
  bool a = t->resident == TG_RESIDENT_A;
  uint32_t rows = t->kc * (a ? tg_gemm_a_row(m, gemm, t) : tg_gemm_b_row(m, gemm, t));
  return tg_gemm_has_resident_chunks(t) && (a ? gemm->a_transposed : !gemm->b_transposed) &&
         rows % tg_bank_rows(m) == 0;
}
/* Blocks of A and B that there is room for: two, or one of an operand that is loaded only once, or three
 * where the ports have as much to do as mx, so that they need not wait for a block to be read. */
static inline uint32_t tg_gemm_a_blocks(const tg_gemm_tiling *t) {
  if (t->resident == TG_RESIDENT_A) return t->passes_m == 1 ? 1 : 2;
  if (t->makers) return !t->prefetch ? 2 : t->makers > 2 ? t->makers : t->makers + 2;
  return 2 + t->prefetch;
}
static inline uint32_t tg_gemm_b_blocks(const tg_gemm_tiling *t) {
  if (t->resident == TG_RESIDENT_B) return t->passes_n == 1 ? 1 : 2;
  if (t->makers) return t->makers * t->made;
  return t->whole_b ? 1 : 2 + t->prefetch;
}
/* Of a row of column sums, of one of them; of all of a piece that have a buffer of their own, and of all that
 * go on from piece to piece. */
uint32_t tg_gemm_column_sum_flits(const tg_params *m, const tg_gemm_tiling *t);
uint64_t tg_gemm_column_sums_apart(const tg_params *m, const tg_gemm *gemm, const tg_gemm_tiling *t);
uint64_t tg_gemm_running_rows(const tg_params *m, const tg_gemm *gemm, const tg_gemm_tiling *t);
/* Of a piece on its way out, with its column sums, or to the next member, of one received, and of a block of
 * running sums. */
uint64_t tg_gemm_out_rows(const tg_params *m, const tg_gemm *gemm, const tg_gemm_tiling *t);
uint64_t tg_gemm_received_rows(const tg_params *m, const tg_gemm *gemm, const tg_gemm_tiling *t);
/* In a ring: of the whole sums of a step; and of what is sent: at most two steps of each member but the last,
 * or one of all. */
uint64_t tg_gemm_whole_rows(const tg_params *m, const tg_gemm *gemm, const tg_gemm_tiling *t);
uint64_t tg_gemm_sent_rows(const tg_params *m, const tg_gemm *gemm, const tg_gemm_tiling *t);
uint64_t tg_gemm_sum_rows(const tg_params *m, const tg_gemm *gemm, const tg_gemm_tiling *t);
/* Of what is loaded for the fused nodes, once a pass or not: of operand number `epilogue operand`, or of
 * those before it together. */
uint64_t tg_epilogue_operand_rows(const tg_params *m, const tg_gemm *gemm, const tg_gemm_tiling *t,
                                  int epilogue_operand);
uint64_t tg_epilogue_operands_before(const tg_params *m, const tg_gemm *gemm, const tg_gemm_tiling *t,
                                     bool once, int epilogue_operand);
/* A bank between running sums and rounded ones, which one VOP reads and writes in pieces: for each piece it
 * owns as many banks as the one that lies in most of them. */
uint32_t tg_gemm_spare(const tg_params *m, const tg_gemm *gemm, const tg_gemm_tiling *t);
/* Of a block of whole sums that were rounded stochastically on their way to the fused nodes. */
uint64_t tg_gemm_rounded_rows(const tg_params *m, const tg_gemm *gemm, const tg_gemm_tiling *t);

/* ---- layout (layout.c) ---- */

/* What a tile has in its scratchpad, in the order of its banks. */
typedef enum tg_gemm_role {
  TG_ROLE_A,
  TG_ROLE_PROLOGUE_INPUTS,
  TG_ROLE_NUMBERS,
  TG_ROLE_PROLOGUE_OUTPUT,
  TG_ROLE_PROLOGUE_VECTORS, /* of a prologue of A, with the epilogue operands that are loaded once */
  TG_ROLE_B,
  TG_ROLE_OUT,
  TG_ROLE_COLUMN_SUMS, /* that do not lie behind the results */
  TG_ROLE_RUNNING,
  TG_ROLE_RECEIVED,
  TG_ROLE_SENT,
  TG_ROLE_WHOLE,
  TG_ROLE_OPERANDS_ONCE,
  TG_ROLE_OPERANDS,
  TG_ROLE_SUMS,
  TG_ROLE_SPARE, /* a VOP may own a bank behind sums */
  TG_ROLE_ROUNDED,
  TG_GEMM_ROLES
} tg_gemm_role;

/* Rows of one of so many copies, each in banks of its own; 0 rows: there is none. */
typedef struct tg_gemm_room {
  uint64_t rows;
  uint32_t copies;
} tg_gemm_room;
typedef struct tg_gemm_layout {
  tg_gemm_room rooms[TG_GEMM_ROLES];
} tg_gemm_layout;

/* The one statement of it: what fits, and where buffers are, follow. */
void tg_gemm_lay_out(const tg_params *m, const tg_gemm *gemm, const tg_gemm_tiling *t, tg_gemm_layout *out);

/* ---- prologues (prologue_describe.c) ---- */

/* Can the product do with them? Sets g->prologue. */
tg_status tg_gemm_describe_prologue(const tg_compile *c, const tg_kernel *kernel, tg_gemm *g);
tg_status tg_gemm_write_prologue(const tg_compile *c, const tg_kernel *kernel, const tg_gemm *g, tg_mc *mc);
/* Words of it into g->prologue.words. TG_INVALID: it does not fit beside that of the drain. */
tg_status tg_gemm_measure_prologue(const tg_compile *c, const tg_kernel *kernel, tg_gemm *g);
/* Parts of a chunk's rows that pass the vector unit side by side, so that it has as many rows in flight as it
 * can; 0: none are possible. */
uint32_t tg_gemm_prologue_parts(const tg_params *m, const tg_gemm *gemm, const tg_gemm_tiling *t);
/* Cycles of the vector unit for a chunk. */
double tg_gemm_prologue_cycles(const tg_params *m, const tg_gemm *gemm, const tg_gemm_tiling *t);
/* Bank rows of a chunk as it is loaded, of what the nodes make of it, and of the vectors; of those and what
 * the drain reads for all rows, which a tile loads once. */
uint32_t tg_prologue_input_rows(const tg_params *m, const tg_gemm *gemm, const tg_gemm_tiling *t);
uint32_t tg_gemm_number_rows(const tg_params *m, const tg_gemm *gemm, const tg_gemm_tiling *t);
uint32_t tg_prologue_output_rows(const tg_params *m, const tg_gemm *gemm, const tg_gemm_tiling *t);
uint32_t tg_gemm_prologue_vector_rows(const tg_params *m, const tg_gemm *gemm, const tg_gemm_tiling *t);
uint64_t tg_gemm_prologue_once(const tg_params *m, const tg_gemm *gemm, const tg_gemm_tiling *t);
/* Chunks whose nodes are computed for each piece that is drained. */
static inline uint32_t tg_gemm_chunks_a_piece(const tg_gemm_tiling *t) { return t->chunks / (t->mt / t->mr); }
/* Can SENDs of what they make rotate between two buffers, and have slots enough? */
bool tg_gemm_prologue_sends_fit(const tg_params *m, const tg_gemm *gemm, const tg_gemm_tiling *t);
/* Of the tensors of a chunk, or of the vectors, before one; and elements of a vector that a tile needs: of
 * those along k all. */
static inline bool tg_gemm_prologue_is_number(const tg_gemm *gemm, int prologue_input) {
  return gemm->prologue.inputs[prologue_input].kind == TG_STREAM_SPLAT32;
}
int tg_gemm_prologue_numbers(const tg_gemm *gemm); /* how many there are */
uint32_t tg_prologue_inputs_before(const tg_params *m, const tg_gemm *gemm, const tg_gemm_tiling *t,
                                   bool numbers, int prologue_input);
uint32_t tg_gemm_prologue_vectors_before(const tg_params *m, const tg_gemm *gemm, const tg_gemm_tiling *t,
                                         int vector);
uint32_t tg_gemm_prologue_vector_length(const tg_gemm *gemm, const tg_gemm_tiling *t);
/* A chunk as the nodes see it: rows, and elements of one. */
static inline uint32_t tg_gemm_prologue_rows(const tg_gemm *gemm, const tg_gemm_tiling *t) {
  return gemm->prologue.of_b ? t->kc : t->mt;
}
static inline uint32_t tg_gemm_prologue_width(const tg_gemm *gemm, const tg_gemm_tiling *t) {
  return gemm->prologue.of_b ? t->nt : t->kc;
}
/* Elements and bank rows of a row of input number `input`: those of the chunk, or one. */
uint32_t tg_prologue_input_take(const tg_gemm *gemm, const tg_gemm_tiling *t, int prologue_input);
uint32_t tg_prologue_input_flits(const tg_params *m, const tg_gemm *gemm, const tg_gemm_tiling *t,
                                 int prologue_input);
/* Flits that leave at once of these results: all that leave so share half of an AGCU's memory. */
uint32_t tg_gemm_prologue_share(const tg_params *m, const tg_gemm_tiling *t);

#endif
