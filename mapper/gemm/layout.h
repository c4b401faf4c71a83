/* What a tile keeps in its scratchpad: rows of each buffer, and all of them in the order of banks. */
#ifndef TEGULA_MAPPER_GEMM_LAYOUT_H
#define TEGULA_MAPPER_GEMM_LAYOUT_H

#include "mapper/gemm/tiling.h"
#include "mapper/section/layout.h"

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

/* What a tile has in its scratchpad, in the order of its banks. */
typedef enum tg_gemm_role {
  TG_ROLE_A,
  TG_ROLE_PROLOGUE_INPUTS,
  TG_ROLE_SCALARS,
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

/* The one statement of it: what fits, and where buffers are, follow. */
void tg_gemm_lay_out(const tg_params *m, const tg_gemm *gemm, const tg_gemm_tiling *t,
                     tg_room rooms[TG_GEMM_ROLES]);

#endif
