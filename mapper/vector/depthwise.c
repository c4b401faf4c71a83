/* Depthwise convolution: chains of multiply-adds over the positions of a window, a channel a lane. */
#include "mapper/expression/expression.h"
#include "mapper/kernel/class.h"
#include "mapper/kernel/operand.h"
#include "mapper/vector/windows.h"

enum { IMAGE, WEIGHTS, BIAS }; /* inputs of a depthwise convolution */

/* Input `i` of the root as it lies in memory, before a Cast that happens on the way. */
static tg_value *source_of(const tg_kernel *kernel, int i) {
  return i == BIAS ? tg_in(kernel->root, i) : kernel->operands[i].source;
}

static tg_mc_ref load_operand(tg_mc *mc, const tg_kernel *kernel, int i) {
  const tg_value *source = source_of(kernel, i), *operand = tg_in(kernel->root, i);
  tg_mc_ref value = tg_mc_load(mc, i, tg_stream_kind(source) == TG_STREAM_FP32);
  return source->dtype == operand->dtype ? value : tg_round_to(mc, operand->dtype, value, false);
}

static tg_mc_ref emit_chain(tg_mc *mc, const tg_kernel *kernel) {
  tg_mc_ref sum = tg_mc_new(mc);
  tg_mc_assign(mc, sum, TG_ALU_mov, tg_mc_const(mc, 0.0f), TG_MC_NONE, TG_MC_NONE);
  tg_mc_next_segment(mc);
  tg_mc_ref x = load_operand(mc, kernel, IMAGE), w = load_operand(mc, kernel, WEIGHTS);
  tg_mc_assign(mc, sum, TG_ALU_fma, x, w, sum);
  tg_mc_next_segment(mc);
  return tg_in(kernel->root, BIAS)
             ? tg_mc_alu(mc, TG_ALU_add, sum, load_operand(mc, kernel, BIAS), TG_MC_NONE)
             : sum;
}

static tg_status emit_depthwise(tg_compile *c, const tg_kernel *kernel) {
  const tg_node *node = kernel->root;
  tg_windows w = tg_windows_forward(node);
  int64_t channels = w.image->dims[3].size, columns = w.rows[1] * channels;
  w.weight_step[0] = w.taps[1] * channels;
  w.weight_step[1] = channels;
  tg_stream_kernel plan = {.inputs = tg_in(node, BIAS) ? 3 : 2,
                           .output_kind = tg_result_kind(kernel->output),
                           .rows = w.image->dims[0].size * w.rows[0] * w.rows[1],
                           .window_step = channels,
                           .adjust_load = tg_windows_adjust,
                           .user = &w};
  for (int i = 0; i < plan.inputs; i++) {
    plan.input[i] = tg_windows_walk(&w);
    for (int d = 0; d < 3 && i != IMAGE; d++) plan.input[i].stride[d] = 0; /* the same for all rows */
    plan.input[i].tensor = tg_place_of(c, source_of(kernel, i));
    plan.input_kind[i] = tg_stream_kind(source_of(kernel, i));
    plan.window[i] = i == BIAS ? 1 : (uint32_t)(w.taps[0] * w.taps[1]);
  }
  plan.output = tg_windows_walk(&w);
  plan.output.tensor = tg_place_of(c, kernel->output);
  plan.output.stride[0] = w.rows[0] * columns;
  plan.output.stride[1] = columns;
  plan.output.stride[2] = channels;
  tg_choose_columns(c->m, &plan, channels);
  tg_mc code, *mc = &code;
  tg_mc_begin(mc, c->arena);
  tg_mc_ref y = emit_chain(mc, kernel);
  y = tg_round_to(mc, tg_out(node)->dtype, y, !kernel->fused_count);
  if (kernel->fused_count) y = tg_emit_expression(mc, c, kernel, tg_out(node), y, NULL, 0);
  if (y == TG_MC_NONE) return TG_INVALID;
  tg_mc_store(mc, plan.inputs, plan.output_kind == TG_STREAM_FP32, y);
  return tg_emit_stream_kernel(c, kernel, &plan, mc, 1 << 1);
}

/* The vector unit accumulates in FP32, and multiplies as exactly as mx. */
static bool is_depthwise(const tg_compile *c, const tg_node *node) {
  if (node->op != TG_OP_CONV) return false;
  int64_t group = tg_attr_int(node, TG_ATTR_GROUP);
  return !c->options.accum_bf16sr && group > 1 && group == tg_in(node, 0)->dims[3].size &&
         group == tg_out(node)->dims[3].size && tg_windows_have_room(node);
}
const tg_kernel_class tg_depthwise_class = {
    .name = "depthwise",
    .accepts = is_depthwise,
    .takes = tg_takes_fused,
    .emit = emit_depthwise,
};
