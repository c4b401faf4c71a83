/* Layer normalisation: three passes over a row that stays in the scratchpad. The mean, then the mean of
 * squared distances from it, then the result: no difference of large sums
 * (docs/decisions/010-two-pass-variance.md). */
#include "mapper/expression.h"
#include "mapper/functions.h"
#include "mapper/rows.h"
#include "mapper/stream.h"

void tg_row_begin(tg_mc *mc, const tg_mc_ref *partial, int registers, tg_mc_ref zero) {
  for (int i = 0; i < registers; i++) tg_mc_assign(mc, partial[i], TG_ALU_mov, zero, TG_MC_NONE, TG_MC_NONE);
}

void tg_row_next(tg_mc *mc, const tg_mc_ref *partial, int registers, tg_mc_ref sum) {
  for (int i = 0; i + 1 < registers; i++)
    tg_mc_assign(mc, partial[i], TG_ALU_mov, partial[i + 1], TG_MC_NONE, TG_MC_NONE);
  tg_mc_assign(mc, partial[registers - 1], TG_ALU_mov, sum, TG_MC_NONE, TG_MC_NONE);
}

tg_mc_ref tg_row_end(tg_mc *mc, tg_alu alu, tg_mc_ref *partial, int registers, int lanes) {
  for (int apart = registers / 2; apart >= 1; apart /= 2)
    for (int i = 0; i < apart; i++)
      partial[i] = tg_mc_alu(mc, alu, partial[i], partial[i + apart], TG_MC_NONE);
  tg_mc_ref sum = partial[0];
  for (int apart = lanes / 2; apart >= 1; apart /= 2)
    sum = tg_mc_alu(mc, alu, sum, tg_mc_alu_imm(mc, TG_ALU_rot, sum, TG_MC_NONE, apart), TG_MC_NONE);
  return sum;
}

static uint32_t round_up(int64_t value, int64_t unit) { return (uint32_t)((value + unit - 1) / unit * unit); }

static tg_walk_plan rows_of(const tg_compile *c, const tg_value *value, int64_t rows, int64_t columns) {
  return (tg_walk_plan){.tensor = tg_place_of(c, value),
                        .radix = {1, 1, rows},
                        .stride = {0, 0, columns},
                        .element_stride = 1,
                        .columns = columns};
}

static void add_vector(const tg_compile *c, tg_stream_kernel *plan, const tg_value *value, int64_t columns) {
  plan->vector[plan->vectors] = rows_of(c, value, 1, columns);
  plan->vector_kind[plan->vectors++] = tg_stream_kind(value);
}

/* The microcode, in segments of which every other one repeats over the vectors of the row. */
static tg_mc_ref normalise(tg_mc *mc, const tg_stream_kernel *plan, int lanes, float epsilon) {
  int registers = TG_ROW_PARTIALS / lanes;
  bool halves = plan->input_kind[0] == TG_STREAM_FP32;
  tg_mc_ref partial[TG_ROW_PARTIALS], tree[TG_ROW_PARTIALS],
      zero = tg_mc_const(mc, 0.0f), share = tg_mc_const(mc, 1.0f / (float)plan->tail_n), mean = tg_mc_new(mc),
      inverse = tg_mc_new(mc);
  for (int i = 0; i < registers; i++) partial[i] = tg_mc_new(mc);
  tg_row_begin(mc, partial, registers, zero);

  tg_mc_next_segment(mc);
  tg_mc_ref sum = tg_mc_alu(mc, TG_ALU_add, partial[0], tg_mc_load(mc, 0, halves), TG_MC_NONE);
  tg_row_next(mc, partial, registers, tg_mc_alu_imm(mc, TG_ALU_tail, sum, partial[0], 0));

  tg_mc_next_segment(mc);
  for (int i = 0; i < registers; i++) tree[i] = partial[i];
  tg_mc_assign(mc, mean, TG_ALU_mul, tg_row_end(mc, TG_ALU_add, tree, registers, lanes), share, TG_MC_NONE);
  tg_row_begin(mc, partial, registers, zero);

  tg_mc_next_segment(mc);
  tg_mc_ref distance = tg_mc_alu(mc, TG_ALU_sub, tg_mc_load(mc, 0, halves), mean, TG_MC_NONE);
  sum = tg_mc_alu(mc, TG_ALU_fma, distance, distance, partial[0]);
  tg_row_next(mc, partial, registers, tg_mc_alu_imm(mc, TG_ALU_tail, sum, partial[0], 0));

  tg_mc_next_segment(mc);
  for (int i = 0; i < registers; i++) tree[i] = partial[i];
  tg_mc_ref variance = tg_mc_alu(mc, TG_ALU_fma, tg_row_end(mc, TG_ALU_add, tree, registers, lanes), share,
                                 tg_mc_const(mc, epsilon));
  tg_mc_assign(mc, inverse, TG_ALU_mov, tg_mc_rsqrt(mc, variance, TG_MC_SINGLE), TG_MC_NONE, TG_MC_NONE);

  tg_mc_next_segment(mc);
  distance = tg_mc_alu(mc, TG_ALU_sub, tg_mc_load(mc, 0, halves), mean, TG_MC_NONE);
  tg_mc_ref y = tg_mc_alu(mc, TG_ALU_mul, distance, inverse, TG_MC_NONE);
  tg_mc_ref scale = tg_mc_load(mc, 2, plan->vector_kind[0] == TG_STREAM_FP32);
  if (plan->vectors == 1) return tg_mc_alu(mc, TG_ALU_mul, y, scale, TG_MC_NONE);
  return tg_mc_alu(mc, TG_ALU_fma, y, scale, tg_mc_load(mc, 3, plan->vector_kind[1] == TG_STREAM_FP32));
}

tg_status tg_emit_normalization(tg_compile *c, const tg_kernel *kernel) {
  const tg_node *node = kernel->root;
  tg_value *in = tg_in(node, 0), *out = kernel->output;
  int64_t columns = in->dims[in->rank - 1].size;
  if (columns > 1 << 20)
    return tg_fail(c->diag, TG_INVALID, "node \"%s\": a row of %lld elements does not fit on the array",
                   node->name, (long long)columns);
  tg_stream_kernel plan = {.inputs = 1,
                           .window = {1},
                           .input_kind = {tg_stream_kind(in)},
                           .output_kind = tg_result_kind(kernel->output),
                           .whole_rows = true,
                           .column_blocks = 1,
                           .rows = tg_value_elements(in) / columns,
                           .take = round_up(columns, TG_ROW_PARTIALS),
                           .tail_n = (uint32_t)columns};
  plan.input[0] = rows_of(c, in, plan.rows, columns);
  plan.output = rows_of(c, out, plan.rows, columns);
  add_vector(c, &plan, tg_in(node, 1), columns);
  if (tg_in(node, 2)) add_vector(c, &plan, tg_in(node, 2), columns);
  tg_mc mc;
  tg_mc_begin(&mc, c->arena);
  tg_mc_ref y = normalise(&mc, &plan, (int)tg_lanes(c->m), (float)tg_attr_float(node, TG_ATTR_EPSILON));
  y = tg_round_to(&mc, tg_out(node)->dtype, y, !kernel->fused_count);
  if (kernel->fused_count) y = tg_emit_expression(&mc, c, kernel, tg_out(kernel->root), y, NULL, 0);
  if (y == TG_MC_NONE) return TG_INVALID;
  tg_mc_store(&mc, 1, plan.output_kind == TG_STREAM_FP32, y);
  return tg_emit_stream_kernel(c, kernel, &plan, &mc, 1 << 1 | 1 << 3 | 1 << 5);
}
