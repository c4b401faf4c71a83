/* Parts of a section of attention that both kinds of it have: loads, products, VOPs, results, and their cycles. */
#ifndef TEGULA_MAPPER_ATTENTION_PARTS_H
#define TEGULA_MAPPER_ATTENTION_PARTS_H

#include "mapper/attention/attention.h"
#include "mapper/section/egress.h"

/* ---- scores ---- */

/* What becomes of products of queries and keys, if they are multiplied with, or divided by, one positive number, and that
 * is all. It keeps their order, rounding and all, so that the maximum may be scaled in their place. */
typedef struct tg_score_scale {
  bool keeps_order;
  /* Not 0: the factor, a power of two up to 1. The multiplication does not round nor overflow, and may go on into a
   * subtraction. (Of numbers so small that it does round, the exp of the difference is 1, or that of the other one.) */
  float exact;
} tg_score_scale;
/* `scores` may be NULL. */
tg_score_scale tg_attention_scale(const tg_kernel *scores);

/* ---- cycles ---- */

double tg_attention_vop_cycles(const tg_params *m, double rows, double words);
double tg_attention_gemm_cycles(const tg_params *m, const tg_gemm *g, const tg_gemm_tiling *t);
/* Of a port, for so many rows of so many elements. */
double tg_attention_port_cycles(const tg_params *m, const tg_matrices *x, double rows, int64_t columns);

/* Tiles at a port of a side that load what is theirs alone, and what a group shares. */
typedef struct tg_attention_loads {
  double own, shared;
} tg_attention_loads;
tg_attention_loads tg_attention_loads_of(const tg_params *m, const tg_attention_grid *x, tg_seat side);
/* STOREs of results at a side, which take `cycles` for each tile and round. */
tg_stage tg_attention_results_stage(const tg_params *m, tg_seat side, uint8_t kind, double cycles);

/* ---- instructions ---- */

typedef struct tg_attention_input {
  const tg_matrices *at;
  const tg_buffer *buffer;
  int entry; /* of the base table */
  int64_t residue;
} tg_attention_input;
void tg_attention_add_input(tg_build *b, const tg_compile *c, tg_attention_input *in, const tg_matrices *at,
                            const tg_buffer *buffer);

/* A LOAD for `tiles` tiles from (r, col) on of matrices with `radix` rows each; those beyond their own are not there. */
tg_instr *tg_attention_push_load(tg_build *b, const tg_attention_grid *x, tg_queue *queue, bool west,
                                 uint32_t r, uint32_t col, uint32_t tiles, const tg_attention_input *from,
                                 int64_t radix);
/* A LOAD of `take` elements of the rows that tile (r, col) has of each product; `one`: of the one row that all have. */
tg_instr *tg_attention_push_own_load(tg_build *b, const tg_attention_grid *x, tg_queue *queue, bool west,
                                     uint32_t r, uint32_t col, const tg_attention_input *from, bool one,
                                     int64_t take, int64_t convert);
/* A GEMM of one chunk of K, from its first instruction on, but for where its operands and its result are. */
tg_instr *tg_attention_push_gemm(tg_build *b, tg_queue *queue, const tg_gemm *g, const tg_gemm_tiling *t);
/* A VOP over `rows` rows, but for its streams. */
tg_instr *tg_attention_push_vop(tg_build *b, tg_queue *queue, const tg_vx_instr *microcode, uint32_t rows);

/* Results on their way to DRAM. The section's channels and stores know their tiles by it. */
typedef struct tg_attention_results {
  const tg_params *m;
  const tg_attention_grid *grid;
  tg_store_port port;
  tg_egress_plan egress;
  const tg_matrices *at;
  int kind; /* of their stream */
  int entry;
  int64_t residue;
  uint32_t take; /* elements of a row as they leave */
} tg_attention_results;
/* Of `columns` columns, in rows of `width` elements. */
void tg_attention_plan_results(tg_build *b, const tg_compile *c, const tg_attention_grid *x,
                               tg_attention_results *out, const tg_matrices *at, int kind, uint32_t width,
                               uint32_t columns, const tg_channel *from, const tg_channel *away);
/* Of what a tile has alone, and of what its group shares; a STORE's walk: all of tg_attention_results. */
tg_channel_source tg_attention_own_source, tg_attention_shared_source;
tg_store_fill tg_attention_fill_store;

#endif
