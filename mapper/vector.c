/* Softmax on the vector unit. */
#include "mapper/expression.h"
#include "mapper/functions.h"
#include "mapper/rows.h"
#include "mapper/stream.h"

#include <assert.h>
#include <stdlib.h>

static uint32_t round_up(int64_t value, uint32_t unit) {
  return (uint32_t)((value + unit - 1) / unit * unit);
}

/* ---- softmax, and its logarithm ---- */

tg_status tg_emit_softmax(tg_compile *c, const tg_kernel *kernel) {
  tg_value *in = tg_in(kernel->root, 0), *out = kernel->output;
  int lanes = (int)tg_lanes(c->m), registers = 32 / lanes;
  int64_t columns = in->rank ? in->dims[in->rank - 1].size : 1;
  tg_stream_kernel plan = {.inputs = 1,
                           .window = {1},
                           .input_kind = {tg_stream_kind(in)},
                           .output_kind = tg_result_kind(kernel->output),
                           .whole_rows = true,
                           .column_blocks = 1,
                           .rows = tg_value_elements(in) / columns,
                           .tail_n = (uint32_t)columns};
  if (columns > 1 << 20)
    return tg_fail(c->diag, TG_INVALID,
                   "node \"%s\": a softmax row of %lld elements does not fit on the array",
                   kernel->root->name, (long long)columns);
  plan.take = round_up(columns, 32);
  plan.input[0] = (tg_walk_plan){.tensor = tg_place_of(c, in),
                                 .radix = {1, 1, plan.rows},
                                 .stride = {0, 0, columns},
                                 .element_stride = 1,
                                 .columns = columns};
  plan.output = plan.input[0];
  plan.output.tensor = tg_place_of(c, out);

  tg_mc code, *mc = &code;
  tg_mc_begin(mc, c->arena);
  bool halves = plan.input_kind[0] == TG_STREAM_FP32, logarithmic = kernel->root->op == TG_OP_LOG_SOFTMAX;
  tg_mc_accuracy accuracy = tg_out(kernel->root)->dtype == TG_F32 ? TG_MC_SINGLE : TG_MC_NARROW;
  tg_mc_ref partial[32] = {0}, zero = tg_mc_const(mc, 0.0f), lowest = tg_mc_bits(mc, 0xff800000u),
            top = tg_mc_new(mc);
  tg_mc_assign(mc, top, TG_ALU_mov, lowest, TG_MC_NONE, TG_MC_NONE);
  for (int i = 0; i < registers; i++) partial[i] = tg_mc_new(mc);
  tg_row_begin(mc, partial, registers, zero);

  tg_mc_next_segment(mc); /* for each vector: the maximum */
  tg_mc_ref x = tg_mc_load(mc, 0, halves);
  tg_mc_assign(mc, top, TG_ALU_max, top, tg_mc_alu_imm(mc, TG_ALU_tail, x, lowest, 0), TG_MC_NONE);

  tg_mc_next_segment(mc);
  for (int apart = lanes / 2; apart >= 1; apart /= 2)
    tg_mc_assign(mc, top, TG_ALU_max, top, tg_mc_alu_imm(mc, TG_ALU_rot, top, TG_MC_NONE, apart), TG_MC_NONE);

  tg_mc_next_segment(mc); /* for each vector: into the sum */
  tg_mc_ref e = tg_mc_exp_below_one(mc, tg_mc_alu(mc, TG_ALU_sub, tg_mc_load(mc, 0, halves), top, TG_MC_NONE),
                                    accuracy);
  tg_mc_ref sum = tg_mc_alu(mc, TG_ALU_add, partial[0], e, TG_MC_NONE);
  tg_row_next(mc, partial, registers, tg_mc_alu_imm(mc, TG_ALU_tail, sum, partial[0], 0));

  tg_mc_next_segment(mc);
  tg_mc_ref total = tg_row_end(mc, TG_ALU_add, partial, registers, lanes);
  tg_mc_ref scale = logarithmic ? tg_mc_log(mc, total, accuracy) : tg_mc_reciprocal_normal(mc, total);

  tg_mc_next_segment(mc); /* for each vector: the result */
  tg_mc_ref below = tg_mc_alu(mc, TG_ALU_sub, tg_mc_load(mc, 0, halves), top, TG_MC_NONE);
  tg_mc_ref y = logarithmic
                    ? tg_mc_alu(mc, TG_ALU_sub, below, scale, TG_MC_NONE)
                    : tg_mc_alu(mc, TG_ALU_mul, tg_mc_exp_below_one(mc, below, accuracy), scale, TG_MC_NONE);
  y = tg_round_to(mc, tg_out(kernel->root)->dtype, y, !kernel->fused_count);
  if (kernel->fused_count) y = tg_emit_expression(mc, c, kernel, tg_out(kernel->root), y, NULL, 0);
  if (y == TG_MC_NONE) return TG_INVALID;
  tg_mc_store(mc, 1, plan.output_kind == TG_STREAM_FP32, y);
  return tg_emit_stream_kernel(c, kernel, &plan, mc, 1 << 1 | 1 << 3 | 1 << 5);
}
