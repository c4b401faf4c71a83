/* Rows of banks of each buffer that a tiling of a product has in the scratchpad. */
#include "mapper/gemm/layout.h"
#include "mapper/gemm/patch.h"

/* Blocks are whole stationary blocks deep: their last rows may be masked, but are read. An operand that is
 * resident is there with all its chunks. */
static uint32_t depth(const tg_params *m, const tg_gemm *g, const tg_gemm_tiling *t, tg_resident operand) {
  uint32_t s = tg_mx_stationary(m, g->format);
  bool whole = t->resident == operand || (operand == TG_RESIDENT_B && t->whole_b);
  return (t->kc + s - 1) / s * s * (whole ? t->chunks : 1);
}

uint32_t tg_gemm_a_row(const tg_params *m, const tg_gemm *g, const tg_gemm_tiling *t) {
  uint32_t s = tg_mx_stationary(m, g->format);
  if (t->swapped && !g->a_transposed && tg_gemm_a_both_ways(m, g, t))
    return t->kc / 2 / tg_mx_elements(m, g->format);
  return (g->a_transposed ? (t->mt + s - 1) / s * s * tg_gemm_a_mates(t) : depth(m, g, t, TG_RESIDENT_A)) /
         tg_mx_elements(m, g->format);
}

uint32_t tg_gemm_b_row(const tg_params *m, const tg_gemm *g, const tg_gemm_tiling *t) {
  return (g->b_transposed ? depth(m, g, t, TG_RESIDENT_B) : t->nt * tg_gemm_b_mates(t)) /
         tg_mx_elements(m, g->format);
}

/* Rows of A that are read where they are stationary: whole blocks. */
static uint32_t stationary_rows(const tg_params *m, const tg_gemm *g, const tg_gemm_tiling *t) {
  return tg_mx_stationary(m, g->format) * tg_gemm_swapped_blocks(m, g, t);
}

uint64_t tg_gemm_a_half(const tg_params *m, const tg_gemm *g, const tg_gemm_tiling *t) {
  uint64_t rows = (uint64_t)(!t->swapped       ? t->mt / 2
                             : g->a_transposed ? t->kc / 2
                                               : stationary_rows(m, g, t)) *
                  tg_gemm_a_row(m, g, t),
           bank = tg_bank_rows(m);
  return (rows + bank - 1) / bank * bank;
}

uint64_t tg_gemm_a_rows(const tg_params *m, const tg_gemm *g, const tg_gemm_tiling *t) {
  if (t->patch) return tg_patch_rows(m, g, t);
  if (tg_gemm_a_both_ways(m, g, t)) return 2 * tg_gemm_a_half(m, g, t);
  uint32_t rows = t->swapped ? stationary_rows(m, g, t) : t->mt;
  return (uint64_t)(g->a_transposed ? depth(m, g, t, TG_RESIDENT_A) : rows) * tg_gemm_a_row(m, g, t);
}

uint64_t tg_gemm_b_rows(const tg_params *m, const tg_gemm *g, const tg_gemm_tiling *t) {
  return (uint64_t)(g->b_transposed ? t->nt : depth(m, g, t, TG_RESIDENT_B)) * tg_gemm_b_row(m, g, t);
}

uint64_t tg_gemm_result_rows(const tg_params *m, const tg_gemm *g, const tg_gemm_tiling *t, int result) {
  return (uint64_t)t->mr * tg_kind_flits(m, g->out_kind[result], t->nt);
}

uint64_t tg_gemm_results_before(const tg_params *m, const tg_gemm *g, const tg_gemm_tiling *t, int result) {
  uint64_t rows = 0;
  for (int k = 0; k < result; k++) rows += tg_gemm_result_rows(m, g, t, k);
  return rows;
}

uint32_t tg_gemm_column_sum_flits(const tg_params *m, const tg_gemm_tiling *t) {
  return tg_kind_flits(m, TG_STREAM_FP32, t->nt);
}

uint64_t tg_gemm_running_rows(const tg_params *m, const tg_gemm *g, const tg_gemm_tiling *t) {
  return tg_gemm_drain_tiles_of_column_sum(g, t) > 1
             ? (uint64_t)g->column_sums.count * tg_gemm_column_sum_flits(m, t)
             : 0;
}

uint64_t tg_gemm_out_rows(const tg_params *m, const tg_gemm *g, const tg_gemm_tiling *t) {
  uint64_t column_sums = (uint64_t)g->column_sums.count * tg_gemm_column_sums_a_drain_tile(g, t) *
                         tg_gemm_column_sum_flits(m, t),
           results = tg_gemm_results_before(m, g, t, g->outs) + column_sums,
           sum = tg_gemm_received_rows(m, g, t);
  results -= tg_gemm_column_sums_apart(m, g, t);
  return results > sum || t->ring ? results : sum;
}

uint64_t tg_gemm_column_sums_apart(const tg_params *m, const tg_gemm *g, const tg_gemm_tiling *t) {
  if (!g->prologue.result) return 0;
  return (uint64_t)g->column_sums.count * tg_gemm_column_sums_a_drain_tile(g, t) *
         tg_gemm_column_sum_flits(m, t);
}

uint64_t tg_gemm_received_rows(const tg_params *m, const tg_gemm *g, const tg_gemm_tiling *t) {
  return t->ring          ? t->members * tg_gemm_whole_rows(m, g, t)
         : t->members > 1 ? (uint64_t)t->mr * tg_kind_flits(m, g->sum_kind, t->nt)
                          : 0;
}

uint64_t tg_gemm_whole_rows(const tg_params *m, const tg_gemm *g, const tg_gemm_tiling *t) {
  return t->ring ? (uint64_t)tg_gemm_ring_rows(t) * tg_kind_flits(m, g->sum_kind, t->nt) : 0;
}

uint64_t tg_gemm_sent_rows(const tg_params *m, const tg_gemm *g, const tg_gemm_tiling *t) {
  return 2 * (t->members - 1) * tg_gemm_whole_rows(m, g, t);
}

uint64_t tg_gemm_sum_rows(const tg_params *m, const tg_gemm *g, const tg_gemm_tiling *t) {
  return t->parts > 1 ? (uint64_t)t->mt * tg_kind_flits(m, g->sum_kind, t->nt) : 0;
}

uint32_t tg_gemm_pool_position(const tg_params *m, const tg_gemm *g, const tg_gemm_tiling *t) {
  return tg_kind_flits(m, g->pool.kind, t->nt);
}

uint32_t tg_gemm_pool_row(const tg_params *m, const tg_gemm *g, const tg_gemm_tiling *t) {
  return t->patch_columns * tg_gemm_pool_position(m, g, t);
}

uint64_t tg_gemm_pool_marks(const tg_gemm *g, const tg_gemm_tiling *t) {
  return t->pool_rows && g->pool.leaves[0] ? t->patch_rows : 0;
}

uint64_t tg_gemm_rounded_rows(const tg_params *m, const tg_gemm *g, const tg_gemm_tiling *t) {
  if (t->pool_rows) return (uint64_t)t->pool_rows * tg_gemm_pool_row(m, g, t);
  return t->swapped || g->sum_kind == TG_STREAM_BF16SR
             ? (uint64_t)t->mt * tg_kind_flits(m, g->sum_kind, t->nt) * (g->second ? 2 : 1)
             : 0;
}

uint64_t tg_epilogue_operand_rows(const tg_params *m, const tg_gemm *g, const tg_gemm_tiling *t,
                                  int epilogue_operand) {
  const tg_epilogue_operand *x = &g->epilogue_operands[epilogue_operand];
  return (uint64_t)tg_kind_flits(m, x->kind, tg_epilogue_operand_take(x, t->nt)) *
         (tg_gemm_loads_once(t, x) || (t->ring && tg_is_row_vector(x)) ? 1 : tg_gemm_ring_rows(t));
}

uint64_t tg_epilogue_operands_before(const tg_params *m, const tg_gemm *g, const tg_gemm_tiling *t, bool once,
                                     int epilogue_operand) {
  uint64_t rows = 0;
  for (int x = 0; x < epilogue_operand; x++)
    if (tg_gemm_loads_once(t, &g->epilogue_operands[x]) == once) rows += tg_epilogue_operand_rows(m, g, t, x);
  return rows;
}

uint32_t tg_gemm_spare(const tg_params *m, const tg_gemm *g, const tg_gemm_tiling *t) {
  return t->parts > 1 && g->sum_kind == TG_STREAM_BF16SR &&
         tg_banks_for(m, (uint32_t)tg_gemm_sum_rows(m, g, t)) > 1;
}
