/* Gradients of pooling: what the windows that hold an element have for it. */
#include "mapper/expression/expression.h"
#include "mapper/kernel/class.h"
#include "mapper/kernel/window.h"
#include "mapper/vector/windows.h"

/* Kernel positions of the taps, last first, in the order of the walk: its number goes down by `step` from tap
 * to tap, and at the end of each row of `taps` by `row_step` more. */
typedef struct numbers {
  tg_mc_ref number, column;
  float step, row_step, taps;
} numbers;

static void begin_numbers(tg_mc *mc, const tg_reach reach[2], int64_t width, numbers *n) {
  n->step = (float)reach[1].step;
  n->taps = (float)reach[1].taps;
  n->row_step = (float)(reach[0].step * width - reach[1].step * reach[1].taps);
  n->number = tg_mc_new(mc);
  n->column = tg_mc_new(mc);
  float first = (float)(reach[0].last * width + reach[1].last);
  tg_mc_assign(mc, n->number, TG_ALU_mov, tg_mc_const(mc, first), TG_MC_NONE, TG_MC_NONE);
  tg_mc_assign(mc, n->column, TG_ALU_mov, tg_mc_const(mc, 0.0f), TG_MC_NONE, TG_MC_NONE);
}

static void next_number(tg_mc *mc, const numbers *n) {
  tg_mc_assign(mc, n->number, TG_ALU_sub, n->number, tg_mc_const(mc, n->step), TG_MC_NONE);
  tg_mc_assign(mc, n->column, TG_ALU_add, n->column, tg_mc_const(mc, 1.0f), TG_MC_NONE);
  tg_mc_ref end = tg_mc_alu(mc, TG_ALU_cmpeq, n->column, tg_mc_const(mc, n->taps), TG_MC_NONE);
  tg_mc_ref below = tg_mc_alu(mc, TG_ALU_sub, n->number, tg_mc_const(mc, n->row_step), TG_MC_NONE);
  tg_mc_assign(mc, n->number, TG_ALU_select, end, below, n->number);
  tg_mc_assign(mc, n->column, TG_ALU_select, end, tg_mc_const(mc, 0.0f), n->column);
}

static tg_mc_ref emit_sum(tg_mc *mc, const tg_stream_kernel *plan, const tg_reach reach[2], int64_t width) {
  tg_mc_ref sum = tg_mc_new(mc), zero = tg_mc_const(mc, 0.0f);
  bool positions = plan->inputs > 1, walks = plan->window[0] > 1;
  numbers n;
  tg_mc_assign(mc, sum, TG_ALU_mov, zero, TG_MC_NONE, TG_MC_NONE);
  if (positions) begin_numbers(mc, reach, width, &n);
  tg_mc_next_segment(mc);
  tg_mc_ref dy = tg_mc_load(mc, 0, plan->input_kind[0] == TG_STREAM_FP32);
  if (positions) {
    tg_mc_ref index = tg_mc_load(mc, 1, plan->input_kind[1] == TG_STREAM_FP32);
    dy = tg_mc_alu(mc, TG_ALU_select, tg_mc_alu(mc, TG_ALU_cmpeq, index, n.number, TG_MC_NONE), dy, zero);
  }
  tg_mc_assign(mc, sum, TG_ALU_add, sum, dy, TG_MC_NONE);
  if (positions && walks) next_number(mc, &n);
  tg_mc_next_segment(mc);
  return sum;
}

/* The elements of one remainder modulo the strides. */
static tg_status emit_phase(tg_compile *c, const tg_kernel *kernel, const tg_reach reach[2]) {
  const tg_node *node = kernel->root;
  const tg_value *out = tg_out(node);
  const int64_t *strides = tg_attr_ints(node, TG_ATTR_STRIDES, NULL);
  tg_windows w = {.image = tg_in(node, 0), .inputs = node->input_count};
  for (int d = 0; d < 2; d++) {
    w.rows[d] = reach[d].count;
    w.taps[d] = reach[d].taps;
    w.origin[d] = reach[d].origin;
    w.tap_step[d] = reach[d].tap_step;
    w.row_step[d] = 1;
  }
  tg_stream_kernel plan = {.output_kind = tg_result_kind(kernel->output)};
  tg_windows_plan(c, &w, node, &plan);
  int64_t channels = out->dims[3].size, row = out->dims[2].size * channels;
  plan.output = (tg_walk_plan){.tensor = tg_place_of(c, kernel->output),
                               .offset = reach[0].first * row + reach[1].first * channels,
                               .radix = {out->dims[0].size, w.rows[0], w.rows[1]},
                               .stride = {out->dims[1].size * row, strides[0] * row, strides[1] * channels},
                               .element_stride = 1,
                               .columns = channels};
  tg_choose_columns(c->m, &plan, channels);
  tg_mc code, *mc = &code;
  tg_mc_begin(mc, c->arena);
  tg_mc_ref y = emit_sum(mc, &plan, reach, tg_attr_ints(node, TG_ATTR_KERNEL_SHAPE, NULL)[1]);
  y = tg_emit_epilogue(mc, c, kernel, node, y);
  if (y == TG_MC_NONE) return TG_INVALID;
  tg_mc_store(mc, plan.inputs, plan.output_kind == TG_STREAM_FP32, y);
  return tg_emit_stream_kernel(c, kernel, &plan, mc, 1 << 1);
}

static tg_status emit_pool_gradient(tg_compile *c, const tg_kernel *kernel) {
  const tg_node *node = kernel->root;
  const int64_t *kernels = tg_attr_ints(node, TG_ATTR_KERNEL_SHAPE, NULL),
                *strides = tg_attr_ints(node, TG_ATTR_STRIDES, NULL),
                *dilations = tg_attr_ints(node, TG_ATTR_DILATIONS, NULL),
                *pads = tg_attr_ints(node, TG_ATTR_PADS, NULL);
  int64_t sizes[2] = {tg_out(node)->dims[1].size, tg_out(node)->dims[2].size};
  if (tg_windows_check(c, node)) return TG_INVALID;
  for (int64_t h = 0; h < tg_reach_phases(sizes[0], strides[0]); h++)
    for (int64_t w = 0; w < tg_reach_phases(sizes[1], strides[1]); w++) {
      tg_reach reach[2] = {tg_reach_of(h, sizes[0], kernels[0], strides[0], dilations[0], pads[0]),
                           tg_reach_of(w, sizes[1], kernels[1], strides[1], dilations[1], pads[1])};
      tg_status status = emit_phase(c, kernel, reach);
      if (status) return status;
    }
  return TG_OK;
}
static bool is_pool_gradient(const tg_compile *c, const tg_node *node) {
  (void)c;
  return node->op == TG_OP_WINDOW_GRADIENT;
}
const tg_kernel_class tg_pool_gradient_class = {
    .name = "pool_gradient",
    .accepts = is_pool_gradient,
    .takes = tg_takes_fused_out_of_order,
    .emit = emit_pool_gradient,
};
