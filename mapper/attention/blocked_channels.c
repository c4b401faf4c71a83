/* What attention by blocks keeps in a tile's scratchpad, and the channels between its stages. */
#include "mapper/attention/blocked.h"
#include "mapper/gemm/layout.h"

#include <string.h>

tg_gemm_tiling tg_blocked_scores(const tg_blocked *a) {
  return (tg_gemm_tiling){.mt = a->grid.rows, .nt = tg_blocked_chunk(a), .kc = (uint32_t)a->scores.k};
}

tg_gemm_tiling tg_blocked_context(const tg_params *m, const tg_blocked *a) {
  return (tg_gemm_tiling){.mt = a->grid.rows, .nt = tg_blocked_width(m, a), .kc = tg_blocked_chunk(a)};
}

uint32_t tg_blocked_weight_row(const tg_params *m, const tg_blocked *a) {
  return a->block / tg_mx_elements(m, a->context.format);
}

uint32_t tg_blocked_sum_row(const tg_params *m, const tg_blocked *a) {
  return tg_kind_flits(m, TG_STREAM_FP32, tg_blocked_width(m, a));
}

uint32_t tg_blocked_out_row(const tg_params *m, const tg_blocked *a) {
  return tg_kind_flits(m, a->out_kind, tg_blocked_out_width(m, a));
}

uint32_t tg_blocked_operand_take(const tg_blocked *a, int operand) {
  return a->operand_kind[operand] == TG_STREAM_SPLAT32 ? 1 : a->block;
}

uint32_t tg_blocked_operand_row(const tg_params *m, const tg_blocked *a, int operand) {
  return tg_kind_flits(m, a->operand_kind[operand], tg_blocked_operand_take(a, operand));
}

/* From AGCUs of both kinds, so many buffers of each tile. */
static void plan_load(tg_channel_plan *plan, uint64_t rows, uint32_t copies) {
  *plan = (tg_channel_plan){
      .room = {rows, copies}, .full = 1, .west = true, .north = true, .credits = (uint8_t)copies};
}

/* From one unit of a tile to another one. */
static void plan_between(tg_channel_plan *plan, uint64_t rows, uint32_t copies) {
  *plan = (tg_channel_plan){.room = {rows, copies}, .full = 1, .free = 1, .initial = (uint8_t)copies};
}

void tg_blocked_plan_channels(const tg_params *m, const tg_blocked *a,
                              tg_channel_plan plans[TG_BLOCKED_ROLES]) {
  tg_gemm_tiling first = tg_blocked_scores(a), second = tg_blocked_context(m, a);
  memset(plans, 0, TG_BLOCKED_ROLES * sizeof *plans);
  if (tg_blocked_multiplies(a)) {
    plan_load(&plans[TG_BLOCKED_QUERIES], tg_gemm_a_rows(m, &a->scores, &first), 1);
    plan_load(&plans[TG_BLOCKED_KEYS], tg_gemm_b_rows(m, &a->scores, &first), 2);
    plans[TG_BLOCKED_SCORES].full = 1; /* the halves of the accumulator are free when they are written */
  }
  plan_load(&plans[TG_BLOCKED_VALUES], tg_gemm_b_rows(m, &a->context, &second), 2);
  plan_between(&plans[TG_BLOCKED_PROBABILITIES], (uint64_t)a->grid.rows * tg_blocked_weight_row(m, a), 2);
  plans[TG_BLOCKED_STATE].room = (tg_room){(uint64_t)TG_STATE_ROWS * a->grid.rows + TG_STATE_NO_KEYS +
                                               (uint64_t)a->grid.rows * tg_blocked_sum_row(m, a),
                                           2};
  plan_between(&plans[TG_BLOCKED_OUT], (uint64_t)a->grid.rows * tg_blocked_out_row(m, a), a->copies);
  if (a->operand_count) plan_load(&plans[TG_BLOCKED_OPERANDS_ALL], 0, a->operand_copies);
  for (int x = 0; x < a->operand_count; x++) {
    uint32_t rows = a->operand[x].rows == 1 ? 1 : a->grid.rows;
    plans[TG_BLOCKED_OPERAND + x].room =
        (tg_room){(uint64_t)rows * tg_blocked_operand_row(m, a, x), a->operand_copies};
  }
  plans[TG_BLOCKED_PRODUCT].full = 1;
  plans[TG_BLOCKED_AWAY] =
      (tg_channel_plan){.free = 1, .initial = 2, .west = true, .north = true, .bases = 1};
  plans[TG_BLOCKED_QUERIES].bases = plans[TG_BLOCKED_KEYS].bases = tg_blocked_multiplies(a);
  plans[TG_BLOCKED_VALUES].bases = 1;
  plans[TG_BLOCKED_OPERANDS_ALL].bases = (uint8_t)a->operand_count;
}
