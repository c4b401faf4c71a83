/* Sizes of what attention keeps in a tile's scratchpad, and the channels between its stages. */
#include "frontend/base/math.h"
#include "mapper/attention/attention.h"
#include "mapper/gemm/layout.h"

#include <string.h>

uint32_t tg_attention_keys(const tg_attention *a) {
  return (uint32_t)tg_div_up(a->keys, TG_ROW_PARTIALS) * TG_ROW_PARTIALS;
}

uint32_t tg_attention_width(const tg_params *m, const tg_attention *a) {
  return (uint32_t)tg_div_up(a->context.n, tg_lanes(m)) * tg_lanes(m);
}

tg_gemm_tiling tg_attention_scores(const tg_attention *a) {
  return (tg_gemm_tiling){.mt = a->grid.rows, .nt = tg_attention_keys(a), .kc = (uint32_t)a->scores.k};
}

tg_gemm_tiling tg_attention_context(const tg_params *m, const tg_attention *a) {
  return (tg_gemm_tiling){.mt = a->grid.rows, .nt = tg_attention_width(m, a), .kc = (uint32_t)a->keys};
}

uint32_t tg_attention_exp_rows(const tg_params *m, const tg_attention *a) {
  return a->grid.rows * tg_kind_flits(m, TG_STREAM_FP32, tg_attention_keys(a));
}

static uint32_t kept_rows(const tg_params *m, const tg_attention *a) {
  return tg_attention_exp_rows(m, a) + a->grid.rows * tg_kind_flits(m, TG_STREAM_FP32, tg_lanes(m));
}

uint32_t tg_attention_weight_rows(const tg_params *m, const tg_attention *a) {
  return a->grid.rows * (tg_attention_keys(a) / tg_mx_elements(m, a->context.format));
}

uint32_t tg_attention_out_rows(const tg_params *m, const tg_attention *a) {
  return a->grid.rows * tg_kind_flits(m, a->out_kind, tg_attention_width(m, a));
}

uint32_t tg_attention_epilogue_operand_take(const tg_attention *a, int epilogue_operand) {
  return a->epilogue_operand_kind[epilogue_operand] == TG_STREAM_SPLAT32 ? 1 : tg_attention_keys(a);
}

uint32_t tg_attention_epilogue_operand_rows(const tg_params *m, const tg_attention *a, int epilogue_operand) {
  uint32_t rows = a->epilogue_operand[epilogue_operand].rows == 1 ? 1 : a->grid.rows;
  return rows * tg_kind_flits(m, a->epilogue_operand_kind[epilogue_operand],
                              tg_attention_epilogue_operand_take(a, epilogue_operand));
}

/* ---- channels ---- */

/* From AGCUs of both kinds, a unit at a time. */
static void plan_load(const tg_attention *a, tg_channel_plan *plan) {
  plan->full = 1;
  plan->west = plan->north = true;
  plan->credits = (uint8_t)a->copies;
}

void tg_attention_plan_channels(const tg_params *m, const tg_attention *a,
                                tg_channel_plan plans[TG_ATTENTION_ROLES]) {
  tg_gemm_tiling first = tg_attention_scores(a), second = tg_attention_context(m, a);
  memset(plans, 0, TG_ATTENTION_ROLES * sizeof *plans);
  plans[TG_ROLE_QUERIES].room = (tg_room){tg_gemm_a_rows(m, &a->scores, &first), a->copies};
  plans[TG_ROLE_KEYS].room = (tg_room){tg_gemm_b_rows(m, &a->scores, &first), a->copies};
  plans[TG_ROLE_VALUES].room = (tg_room){tg_gemm_b_rows(m, &a->context, &second), a->copies};
  plans[TG_ROLE_KEPT].room = (tg_room){kept_rows(m, a), 1};
  plans[TG_ROLE_WEIGHTS].room = (tg_room){tg_attention_weight_rows(m, a), 1};
  plans[TG_ROLE_CONTEXT].room = (tg_room){tg_attention_out_rows(m, a), 2};
  for (int x = 0; x < a->scores.epilogue_operand_count; x++)
    plans[TG_ROLE_SCORED + x].room = (tg_room){tg_attention_epilogue_operand_rows(m, a, x), a->copies};
  plan_load(a, &plans[TG_ROLE_QUERIES]);
  plan_load(a, &plans[TG_ROLE_KEYS]);
  plan_load(a, &plans[TG_ROLE_VALUES]);
  plan_load(a, &plans[TG_ROLE_SCORED_ALL]);
  /* The halves of the accumulator are free when they are written (emit.c). */
  plans[TG_ROLE_SCORES].full = plans[TG_ROLE_PRODUCT].full = 1;
  plans[TG_ROLE_WEIGHTS].full = plans[TG_ROLE_WEIGHTS].free = plans[TG_ROLE_WEIGHTS].initial = 1;
  plans[TG_ROLE_CONTEXT].full = plans[TG_ROLE_CONTEXT].free = 1;
  plans[TG_ROLE_CONTEXT].initial = 2;
  plans[TG_ROLE_CONTEXT_AWAY] =
      (tg_channel_plan){.free = 1, .initial = 2, .west = true, .north = true, .bases = 1};
  plans[TG_ROLE_QUERIES].bases = plans[TG_ROLE_KEYS].bases = plans[TG_ROLE_VALUES].bases = 1;
  plans[TG_ROLE_SCORED_ALL].bases = (uint8_t)a->scores.epilogue_operand_count;
}
