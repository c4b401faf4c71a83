#include "mapper/stream/tiling.h"

#include "frontend/base/math.h"

bool tg_stream_source_moves(const tg_stream_kernel *plan, int source) {
  if (source >= plan->inputs)
    return plan->whole_rows && plan->vector_kind[source - plan->inputs] != TG_STREAM_SPLAT32;
  return plan->whole_rows ? plan->input_kind[source] != TG_STREAM_SPLAT32 : plan->window[source] > 1;
}

bool tg_stream_result_moves(const tg_stream_kernel *plan, int x) {
  if (plan->out_vectors > 1) return true;
  if (!plan->unrolled_result) return false;
  return plan->whole_rows || (x && plan->more_window[x - 1] > 1);
}

static int moving_sources(const tg_stream_kernel *plan, int before) {
  int count = 0;
  for (int i = 0; i < before; i++) count += tg_stream_source_moves(plan, i);
  return count;
}

static int moving_results(const tg_stream_kernel *plan, int before) {
  int count = 0;
  for (int x = 0; x < before; x++) count += tg_stream_result_moves(plan, x);
  return count;
}

int tg_source_stream(const tg_stream_kernel *plan, int source, int u) {
  if (!u || !tg_stream_source_moves(plan, source)) return source < plan->inputs ? source : source + 1;
  return tg_stream_walks(plan) + (u - 1) * moving_sources(plan, plan->inputs + plan->vectors) +
         moving_sources(plan, source);
}

int tg_result_stream(const tg_stream_kernel *plan, int x, int u) {
  if (!u || !tg_stream_result_moves(plan, x)) return x ? plan->inputs + plan->vectors + x : plan->inputs;
  return tg_stream_walks(plan) +
         (tg_stream_unroll(plan) - 1) * moving_sources(plan, plan->inputs + plan->vectors) +
         (u - 1) * moving_results(plan, 1 + plan->more) + moving_results(plan, x);
}

int tg_stream_count(const tg_stream_kernel *plan) {
  return tg_stream_walks(plan) +
         (tg_stream_unroll(plan) - 1) *
             (moving_sources(plan, plan->inputs + plan->vectors) + moving_results(plan, 1 + plan->more));
}

/* ---- sizes ---- */

uint32_t tg_stream_vector_elements(const tg_stream_kernel *plan, int v) {
  return plan->vector_kind[v] == TG_STREAM_SPLAT32 ? 1 : plan->take * plan->column_blocks;
}

uint32_t tg_stream_vector_flits(const tg_params *m, const tg_stream_kernel *plan, int v) {
  uint32_t flits = tg_kind_flits(m, plan->vector_kind[v], tg_stream_vector_elements(plan, v)),
           block = tg_kind_flits(m, TG_STREAM_FP32, plan->take);
  return plan->vectors_beside ? tg_round_up(flits, block) : flits;
}

uint32_t tg_stream_input_take(const tg_stream_kernel *plan, int input) {
  return plan->input_kind[input] == TG_STREAM_SPLAT32 ? 1 : plan->take;
}

uint32_t tg_stream_input_flits(const tg_params *m, const tg_stream_kernel *plan, int input) {
  return tg_kind_flits(m, plan->input_kind[input], tg_stream_input_take(plan, input));
}

uint64_t tg_stream_alone_flits(const tg_params *m, const tg_stream_kernel *plan, int i) {
  return plan->beside[i] ? 0 : (uint64_t)tg_stream_input_flits(m, plan, i) * plan->window[i];
}

uint64_t tg_stream_beside_flits(const tg_params *m, const tg_stream_kernel *plan) {
  uint64_t flits = 0;
  for (int i = 0; i < plan->inputs; i++)
    if (plan->beside[i]) flits += (uint64_t)tg_stream_input_flits(m, plan, i) * plan->window[i];
  return flits;
}

uint64_t tg_stream_result_flits(const tg_params *m, const tg_stream_kernel *plan, int x) {
  return (uint64_t)tg_kind_flits(m, tg_stream_result_kind(plan, x), tg_stream_out_take(plan)) *
         tg_stream_result_window(plan, x);
}
