/* How a product is cut, and how long that takes. */
#ifndef TEGULA_MAPPER_GEMM_TILING_H
#define TEGULA_MAPPER_GEMM_TILING_H

#include "frontend/base/math.h"
#include "mapper/gemm/product.h"

/* What tiles differ in. */
typedef enum tg_split {
  TG_SPLIT_OUTPUT,  /* rows over tile rows, or over groups of them; columns over tile columns */
  TG_SPLIT_ROWS,    /* every tile has rows of its own and all columns of a pass; or `alike` tiles side by side
                       have the same rows, and each some columns */
  TG_SPLIT_COLUMNS, /* every tile has columns of its own and all rows of a pass: products of few rows */
  TG_SPLIT_PRODUCTS,    /* every tile has a product of its own (tg_gemm.spread) */
  TG_SPLIT_PRODUCT_ROWS /* so have `alike` rows of tiles, each of which has columns of it and all of its rows */
} tg_split;

/* Which operand stays while the blocks of the other one go by, where a chunk is all of K, or members finish
 * in turn: that of the outer loop over passes. Else both are loaded for each block. */
typedef enum tg_resident {
  TG_RESIDENT_NONE,
  TG_RESIDENT_A, /* passes over columns are the inner loop */
  TG_RESIDENT_B  /* passes over rows are */
} tg_resident;

/* What lies in the scratchpad of A of a convolution (patch.h). */
typedef enum tg_patch {
  TG_PATCH_NONE,   /* its rows */
  TG_PATCH_PIXELS, /* what a block of results reads of the image, pixel by pixel */
  TG_PATCH_RUNS    /* for each column of results, runs of a kernel row */
} tg_patch;

typedef struct tg_gemm_tiling {
  tg_split split;
  tg_patch patch;
  uint32_t patch_rows, patch_columns; /* of results: a block; mt of them */
  /* of results that blocks count for each image, of which those behind its last one are not stored; 0: as
   * many as it has. A patch of more rows has several images, one below the other */
  uint32_t image_rows;
  uint32_t pool_rows, pool_columns; /* windows of a pool that a block's results are; 0: there is none */
  uint32_t strips; /* of so many columns, one beside the other, a tile has the blocks of one; 0: of all */
  uint32_t
      joined; /* kernel rows whose runs lie behind each other in a position of a patch of runs, a chunk, where a LOAD's
                 rows are positions; 0: one, and they are rows of the patch */
  uint32_t patches; /* that there is room for */
  /* chunks of a kernel row, a position each, or a part of one; 0: one. Not in slabs, nor beside a pool */
  uint32_t cuts;
  /* blocks of a patch, one below the other, each of which begins when its slab of the image has come; 0:
   * one */
  uint32_t slabs;
  tg_egress egress;
  tg_resident resident;
  uint32_t mt, nt, kc; /* block of a tile in a pass; k of a chunk */
  uint32_t
      own; /* column split, one pass: columns of a tile, the others of its block are nobody's; 0: all of them */
  uint32_t mr;                         /* rows of the block that leave at once; divides mt */
  uint32_t passes_m, passes_n, chunks; /* chunks: of K, or of a part of it */
  uint32_t members; /* output split: rows of tiles in a group, among which K's parts are shared out */
  uint32_t alike; /* output split: rows of tiles side by side that have the same rows of C, each with columns
                     of its own; 1 if there are several members */
  bool paired;    /* row and column split: two tiles side by side load the blocks of both, of which each reads
                     its own, since rows of one block do not fill their atoms */
  uint32_t
      sent; /* rows of a drain tile that leave at once, where it does not leave as a whole: with a prologue,
                     there are as many drain tiles as chunks; or a drain tile is a block of column sums; else 0 */
  uint32_t prologue_sent;       /* and of a chunk of what they make */
  tg_egress prologue_egress;    /* how that leaves */
  tg_egress column_sums_egress; /* and column sums: as the results, or in a checkerboard */
  bool prefetch;      /* a third block of A and B is loaded while one is multiplied and the next one waits */
  uint32_t producers; /* tiles above each other that make chunks of B in turn, by its prologue; 0: it is
                      loaded. `prefetch`: of A blocks for a round of them, or two */
  uint32_t made;      /* chunks of each of them that there is room for */
  tg_egress prologue_inputs; /* by which AGCUs comes what they are made of */
  /* mx streams the columns of B past rows of A, which are stationary: C comes out transposed (swapped.c) */
  bool swapped;
  bool whole_b;   /* all chunks of B stay, while those of A come anew with each pass */
  bool kept;      /* and are there from the beginning (tg_gemm.keeps) */
  uint32_t parts; /* of K that a tile multiplies in turn: of D members, number i has parts i, i + D, i + 2D
                     ..;   the last ones may be empty */
  bool ring;      /* Members have one part each, and each runs the fused nodes of some rows: split_k.c */
  uint32_t ring_drain_tiles; /* of a step of the ring */
  bool one_out; /* in a ring, or behind producers: one drain tile on its way out has room, not two */
  bool epilogue_operands_west; /* blocks of epilogue operands come from the west to all tiles, or to half of
                                  them */
  struct {
    uint32_t kc, chunks;
    bool whole_b;
  } second; /* of a second product, whose blocks are the same, what it has of its own: tg_gemm_second_tiling */
  double cycles; /* estimate */
} tg_gemm_tiling;

/* The second product as if it were cut by itself. second.c */
tg_gemm_tiling tg_gemm_second_tiling(const tg_gemm_tiling *t);
/* May a second product have the blocks of this tiling? */
bool tg_gemm_may_have_second(const tg_gemm *gemm, const tg_gemm_tiling *t);
/* Rows of the accumulator that a tile's block takes: of one product, and of all. */
static inline uint64_t tg_gemm_block_sums(const tg_params *m, const tg_gemm_tiling *t) {
  return t->swapped ? t->nt : (uint64_t)t->mt * (t->nt / tg_lanes(m));
}
static inline uint64_t tg_gemm_all_sums(const tg_params *m, const tg_gemm *gemm, const tg_gemm_tiling *t) {
  return tg_gemm_block_sums(m, t) * (gemm->second ? 2 : 1);
}

/* Has every tile columns of B that no other one has? Half of them come from the west. */
static inline bool tg_gemm_has_own_columns(const tg_gemm_tiling *t) {
  return t->split == TG_SPLIT_COLUMNS || t->split == TG_SPLIT_PRODUCT_ROWS;
}
/* Columns of C that a tile has of a block. */
static inline uint32_t tg_gemm_own_columns(const tg_gemm_tiling *t) { return t->own ? t->own : t->nt; }

/* Blocks of rows that a tile has in a pass, and in all passes over rows. */
static inline uint32_t tg_gemm_slabs(const tg_gemm_tiling *t) { return t->slabs > 1 ? t->slabs : 1; }
static inline uint32_t tg_gemm_row_blocks(const tg_gemm_tiling *t) { return t->passes_m * tg_gemm_slabs(t); }
static inline uint32_t tg_gemm_cuts(const tg_gemm_tiling *t) { return t->cuts > 1 ? t->cuts : 1; }
static inline uint32_t tg_gemm_joined(const tg_gemm_tiling *t) { return t->joined > 1 ? t->joined : 1; }
/* Are rows of LOADs positions of a patch? They take no more of each than it has of K. */
static inline bool tg_gemm_loads_positions(const tg_gemm_tiling *t) { return t->joined > 0; }
/* Beside all of B: has each chunk of a patch, a kernel row or several, an instruction of its own? */
static inline bool tg_gemm_has_rows_apart(const tg_gemm_tiling *t) {
  return t->slabs > 1 || tg_gemm_loads_positions(t);
}
/* Do tiles have strips of the columns of results, or of a pool's windows? strips.c */
static inline bool tg_gemm_counts_strips(const tg_gemm_tiling *t) { return t->pool_rows || t->strips > 1; }
/* Images that a patch has the whole of, where these are several. */
static inline uint32_t tg_gemm_patch_images(const tg_gemm_tiling *t) {
  return t->image_rows && t->patch_rows > t->image_rows ? t->patch_rows / t->image_rows : 1;
}

/* What a block leaves: rows of the product, or windows of a pool. Of the latter a drain tile has whole rows, or a part
 * of one. */
static inline uint32_t tg_gemm_block_results(const tg_gemm_tiling *t) {
  return t->pool_rows ? t->pool_rows * t->pool_columns : t->mt;
}
static inline uint32_t tg_gemm_pool_parts(const tg_gemm_tiling *t) {
  return t->mr < t->pool_columns ? t->pool_columns / t->mr : 1;
}
/* Columns of the image that windows side by side take. */
static inline uint32_t tg_gemm_pool_width(const tg_gemm *gemm, uint32_t windows) {
  return (uint32_t)((windows - 1) * gemm->pool.step[1] + (gemm->pool.taps[1] - 1) * gemm->pool.tap_step[1] +
                    1);
}
/* Drain tiles, or rows of such, of a block. */
static inline uint32_t tg_gemm_pool_groups(const tg_gemm_tiling *t) {
  return tg_gemm_block_results(t) / (t->mr * tg_gemm_pool_parts(t));
}

/* Drain tiles of a block of rows that column sums are of: if there are several, each has instructions of
 * its own. */
static inline uint32_t tg_gemm_drain_tiles_of_column_sum(const tg_gemm *gemm, const tg_gemm_tiling *t) {
  return gemm->column_sums.count && gemm->column_sums.block > t->mr
             ? (uint32_t)gemm->column_sums.block / t->mr
             : 1;
}
/* Column sums of a drain tile that has any. */
static inline uint32_t tg_gemm_column_sums_a_drain_tile(const tg_gemm *gemm, const tg_gemm_tiling *t) {
  if (!gemm->column_sums.count) return 0;
  return gemm->column_sums.block > t->mr ? 1 : t->mr / (uint32_t)gemm->column_sums.block;
}

/* Where all tiles have all of A, half of its rows, or, if these are stationary, half of a chunk, comes along the rows of
 * tiles, and half down the columns. */
static inline bool tg_gemm_a_both_ways(const tg_params *m, const tg_gemm *gemm, const tg_gemm_tiling *t) {
  if (t->split != TG_SPLIT_COLUMNS || t->patch) return false;
  return t->swapped ? t->chunks > 1 && t->kc % (2 * tg_mx_stationary(m, gemm->format)) == 0
                    : !gemm->a_transposed && t->mt % 2 == 0;
}

/* Blocks of A and B that there is room for: two, or one of an operand that is loaded only once, or three
 * where the ports have as much to do as mx, so that they need not wait for a block to be read. */
static inline uint32_t tg_gemm_a_blocks(const tg_gemm_tiling *t) {
  if (t->patch) return t->patches;
  if (t->resident == TG_RESIDENT_A) return t->passes_m == 1 ? 1 : 2;
  if (t->producers) return !t->prefetch ? 2 : t->producers > 2 ? t->producers : t->producers + 2;
  return 2 + t->prefetch;
}
/* What may be on its way, or wait to be read: blocks, or slabs. patch.c */
uint32_t tg_gemm_a_credits(const tg_gemm *gemm, const tg_gemm_tiling *t);
static inline uint32_t tg_gemm_b_blocks(const tg_gemm_tiling *t) {
  if (t->resident == TG_RESIDENT_B) return t->passes_n == 1 ? 1 : 2;
  if (t->producers) return t->producers * t->made;
  return t->whole_b ? 1 : 2 + t->prefetch;
}

/* Stationary blocks that the rows of A take, where the operands are swapped. */
static inline uint32_t tg_gemm_swapped_blocks(const tg_params *m, const tg_gemm *gemm,
                                              const tg_gemm_tiling *t) {
  return (uint32_t)tg_div_up(t->mt, tg_mx_stationary(m, gemm->format));
}

/* Tiles whose rows of A, or columns of B, one load brings. */
static inline uint32_t tg_gemm_a_mates(const tg_gemm_tiling *t) {
  return t->split == TG_SPLIT_ROWS && t->paired ? 2 : 1;
}
static inline uint32_t tg_gemm_b_mates(const tg_gemm_tiling *t) {
  return t->split == TG_SPLIT_COLUMNS && t->paired ? 2 : 1;
}

/* Does B lie in the order in which its blocks are loaded, block by block of columns, of which the last one may have
 * fewer? Each chunk is one run then: no row of a block touches an atom that it does not fill, and a port reads rows of
 * the device from end to end. */
static inline bool tg_gemm_b_in_blocks(const tg_gemm *gemm, const tg_gemm_tiling *t) {
  return gemm->b_alone && !gemm->b_transposed && t->split == TG_SPLIT_COLUMNS && !t->paired && !t->patch &&
         (t->passes_n == 1 || gemm->n % t->nt == 0) && gemm->k * t->nt < 1 << 24 &&
         gemm->k * gemm->n < INT64_C(1) << 31;
}
/* Stationary blocks of a group of 2P columns: in formats whose blocks are half as wide, the second half of an only
 * group may have no columns. */
static inline uint32_t tg_gemm_column_blocks(const tg_params *m, const tg_gemm *gemm,
                                             const tg_gemm_tiling *t) {
  uint32_t stationary = tg_mx_stationary(m, gemm->format), lanes = tg_lanes(m);
  return t->nt == lanes && tg_min(gemm->n, tg_gemm_own_columns(t)) <= stationary ? 1 : lanes / stationary;
}
/* In such a format, do tiles multiply the last group of columns by itself, since of each tile's it has no more than the first
 * half? Its instructions are those of a chunk that is there as a whole, and stand behind those of the other groups. */
bool tg_gemm_parts_columns(const tg_params *m, const tg_gemm *gemm, const tg_gemm_tiling *t);
/* Stationary blocks of all columns of a tile's block. blocks.c */
uint32_t tg_gemm_all_column_blocks(const tg_params *m, const tg_gemm *gemm, const tg_gemm_tiling *t);
/* Puts it into this order. blocks.c */
void tg_gemm_order_b(const tg_compile *c, const tg_gemm *gemm, const tg_gemm_tiling *t);

/* Is the operand loaded once a pass, not with each drain tile? A VOP that waits for sums from another row has no
 * wait left for that. */
static inline bool tg_gemm_loads_once(const tg_gemm_tiling *t, const tg_epilogue_operand *epilogue_operand) {
  return tg_is_row_vector(epilogue_operand) && t->members == 1;
}

/* Do those stay for all passes? Each has the same columns then; a prologue of A has them for
 * itself, too. */
static inline bool tg_gemm_has_resident_vectors(const tg_gemm *gemm, const tg_gemm_tiling *t) {
  if (gemm->prologue.result && !gemm->prologue.of_b) return true;
  return t->passes_n == 1 && tg_gemm_row_blocks(t) > 1 && t->members * t->parts == 1;
}

/* One scalar a row: tiles side by side that have the same rows have them in common. (A number that all rows
 * share is a flit, for which they need not wait for each other.) */
static inline bool tg_gemm_shares_scalars(const tg_gemm_tiling *t,
                                          const tg_epilogue_operand *epilogue_operand) {
  return epilogue_operand->along == TG_ALONG_COLUMN &&
         (t->split == TG_SPLIT_OUTPUT || t->split == TG_SPLIT_COLUMNS || t->split == TG_SPLIT_PRODUCT_ROWS);
}

/* Loops have three levels. Where a tile has several parts, all of K's, and no more chunks of each than these,
 * every chunk has an instruction of its own, and two levels remain for passes; and so beside an operand that
 * is kept. */
enum { TG_GEMM_UNROLLED = 8 };
static inline bool tg_gemm_unrolls(const tg_gemm_tiling *t) {
  return t->parts > 1 && t->members == 1 && t->chunks <= TG_GEMM_UNROLLED;
}
/* Loops over chunks in loops over parts, or over drain tiles of sums that come from other rows, leave one level,
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
/* Chunks of a part that have instructions of their own; 1: they are a loop, or there is one. */
static inline uint32_t tg_gemm_unrolled_chunks(const tg_gemm_tiling *t) {
  return tg_gemm_unrolls(t) || tg_gemm_has_resident_chunks(t) ? t->chunks : 1;
}
/* Rows that a tile finishes in a step: what it loads for the fused nodes at once. */
static inline uint32_t tg_gemm_ring_rows(const tg_gemm_tiling *t) {
  return t->ring ? t->mr * t->ring_drain_tiles : t->mr;
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

/* Estimated cycles of all passes, with what its stages take. cost.c */
struct tg_stages;
double tg_gemm_cycles(const tg_compile *c, const tg_gemm *gemm, const tg_gemm_tiling *t,
                      const struct tg_stages *stages);
/* Cycles of ports of both sides together. */
double tg_gemm_traffic(const tg_gemm_tiling *t, const struct tg_stages *stages);
/* What a memory device takes at its peak for all that the section moves, which ports may move faster; 0 without one. */
double tg_gemm_memory_cycles(const tg_compile *c, const tg_gemm *gemm, const tg_gemm_tiling *t);
/* At least so many, however the operands come and the results leave. */
double tg_gemm_least_cycles(const tg_compile *c, const tg_gemm *gemm, const tg_gemm_tiling *t);

/* Of the kind of DRAM ports that has more to do, for a block. */
double tg_gemm_port_cycles(const tg_compile *c, const tg_gemm *gemm, const tg_gemm_tiling *t);

static inline tg_drain_way tg_gemm_drain_way(const tg_gemm_tiling *t) {
  return t->ring        ? TG_DRAIN_OF_RING
         : t->swapped   ? TG_DRAIN_OF_TRANSPOSED
         : t->pool_rows ? TG_DRAIN_OF_WINDOWS
                        : TG_DRAIN_OF_ACCUMULATOR;
}

/* What the search found: tilings of different kinds or blocks that are estimated to take about the least, the best one first;
 * behind them the best one of those that join kernel rows or share columns out evenly, which must be clearly faster. */
enum { TG_GEMM_CANDIDATES = 4 };
typedef struct tg_gemm_candidates {
  int count;
  tg_gemm_tiling tiling[TG_GEMM_CANDIDATES + 1];
  double rank[TG_GEMM_CANDIDATES + 1]; /* what the search compares */
} tg_gemm_candidates;
/* Of a product that has a tiling. tiling_memo.c */
tg_gemm_candidates tg_gemm_candidates_of(const tg_compile *c, const tg_gemm *gemm);
/* Those that are to be replayed: the others are estimated to take clearly longer, or a memory device to. At least one. */
tg_gemm_candidates tg_gemm_candidates_worth_a_replay(const tg_compile *c, const tg_gemm *gemm);
/* From now on products like this one are tiled so. */
void tg_gemm_settle(const tg_compile *c, const tg_gemm *gemm, const tg_gemm_tiling *tiling);

/* The tiling of least estimated time that fits; TG_INVALID if none does. One that takes TG_NEVER has room, but
 * the array too few semaphores for it: its section says how many. */
tg_status tg_tile_gemm(const tg_compile *c, const tg_gemm *gemm, tg_gemm_tiling *out); /* tiling_memo.c */

#endif
