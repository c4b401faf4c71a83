/* Pooling on the vector units. */
#include "mapper/expression/expression.h"
#include "mapper/kernel/class.h"
#include "mapper/vector/windows.h"

/* ---- averages ---- */

static int64_t valid_positions(int64_t out, int64_t stride, int64_t dilation, int64_t kernel, int64_t pad,
                               int64_t size) {
  int64_t count = 0;
  for (int64_t k = 0; k < kernel; k++) {
    int64_t at = out * stride - pad + k * dilation;
    count += at >= 0 && at < size;
  }
  return count;
}

/* 1 / (positions that count) for each output position, [OH, OW], as a constant of the program; NULL if it is
 * `*out_uniform` everywhere. */
static const tg_dram_tensor *inverse_counts(tg_compile *c, const tg_node *node, float *out_uniform) {
  const tg_value *out = tg_out(node);
  tg_windows w = tg_windows_forward(node);
  const int64_t size[2] = {w.image->dims[1].size, w.image->dims[2].size};
  int64_t oh = out->dims[1].size, ow = out->dims[2].size;
  const int64_t *pads = tg_attr_ints(node, TG_ATTR_PADS, NULL);
  bool include = tg_attr_int(node, TG_ATTR_COUNT_INCLUDE_PAD);
  float *inverse = TG_NEW_ARRAY(&c->program->arena, float, (size_t)(oh * ow));
  bool uniform = true;
  for (int64_t y = 0; y < oh; y++)
    for (int64_t x = 0; x < ow; x++) {
      int64_t rows = include ? valid_positions(y, w.row_step[0], w.tap_step[0], w.taps[0], 0,
                                               size[0] + pads[0] + pads[2])
                             : valid_positions(y, w.row_step[0], w.tap_step[0], w.taps[0], pads[0], size[0]);
      int64_t columns =
          include
              ? valid_positions(x, w.row_step[1], w.tap_step[1], w.taps[1], 0, size[1] + pads[1] + pads[3])
              : valid_positions(x, w.row_step[1], w.tap_step[1], w.taps[1], pads[1], size[1]);
      inverse[y * ow + x] = 1.0f / (float)(rows * columns); /* no position: 0 * inf is NaN, as 0/0 */
      uniform = uniform && inverse[y * ow + x] == inverse[0];
    }
  *out_uniform = inverse[0];
  if (uniform) return NULL;
  tg_dram_tensor *tensor = tg_program_add_tensor(c->program);
  *tensor = (tg_dram_tensor){.name = "inverse counts",
                             .role = TG_ROLE_CONSTANT,
                             .storage = TG_STORE_FP32,
                             .rank = 2,
                             .dims = {oh, ow},
                             .bytes = 4 * (uint64_t)(oh * ow),
                             .address = c->program->dram_bytes,
                             .data = (const uint8_t *)inverse};
  c->program->dram_bytes += (tensor->bytes + 63) & ~63ull;
  return tensor;
}

/* ---- kernels ---- */

/* The sum, the maximum, or the position of the first maximum of the window's elements. */
static tg_mc_ref emit_window(tg_mc *mc, tg_op op, bool halves) {
  tg_mc_ref best = tg_mc_new(mc), at = TG_MC_NONE, found = TG_MC_NONE, zero = tg_mc_const(mc, 0.0f);
  bool index = op == TG_OP_MAX_POOL_INDEX;
  tg_mc_assign(mc, best, TG_ALU_mov, op == TG_OP_AVERAGE_POOL ? zero : tg_mc_bits(mc, 0xff800000u),
               TG_MC_NONE, TG_MC_NONE);
  if (index) {
    at = tg_mc_new(mc);
    found = tg_mc_new(mc);
    tg_mc_assign(mc, at, TG_ALU_mov, zero, TG_MC_NONE, TG_MC_NONE);
    tg_mc_assign(mc, found, TG_ALU_mov, zero, TG_MC_NONE, TG_MC_NONE);
  }
  tg_mc_next_segment(mc);
  tg_mc_ref x = tg_mc_load(mc, 0, halves);
  if (index) {
    tg_mc_ref above = tg_mc_alu(mc, TG_ALU_cmplt, best, x, TG_MC_NONE);
    tg_mc_assign(mc, found, TG_ALU_select, above, at, found);
    tg_mc_assign(mc, best, TG_ALU_select, above, x, best);
    tg_mc_assign(mc, at, TG_ALU_add, at, tg_mc_const(mc, 1.0f), TG_MC_NONE);
  } else
    tg_mc_assign(mc, best, op == TG_OP_AVERAGE_POOL ? TG_ALU_add : TG_ALU_max, best, x, TG_MC_NONE);
  tg_mc_next_segment(mc);
  return index ? found : best;
}

static tg_status emit_pool(tg_compile *c, const tg_kernel *kernel) {
  const tg_node *node = kernel->root;
  bool average = node->op == TG_OP_AVERAGE_POOL;
  if (tg_windows_check(c, node)) return TG_INVALID;
  tg_windows w = tg_windows_forward(node);
  tg_stream_kernel plan = {.output_kind = tg_result_kind(kernel->output)};
  float uniform = 1.0f;
  const tg_dram_tensor *counts = average ? inverse_counts(c, node, &uniform) : NULL; /* moves the others */
  tg_windows_plan(c, &w, node, &plan);
  w.fill[0] = average ? 0 : tg_windows_lowest(plan.input_kind[0]);
  int64_t n = w.image->dims[0].size, channels = w.image->dims[3].size, columns = w.rows[1] * channels;
  plan.output = (tg_walk_plan){.tensor = tg_place_of(c, kernel->output),
                               .radix = {n, w.rows[0], w.rows[1]},
                               .stride = {w.rows[0] * columns, columns, channels},
                               .element_stride = 1,
                               .columns = channels};
  if (counts) {
    plan.input[1] = (tg_walk_plan){.tensor = counts,
                                   .radix = {n, w.rows[0], w.rows[1]},
                                   .stride = {0, w.rows[1], 1},
                                   .element_stride = 0,
                                   .columns = channels};
    plan.window[1] = 1;
    plan.input_kind[1] = TG_STREAM_FP32;
    plan.inputs = 2;
  }
  tg_choose_columns(c->m, &plan, channels);
  tg_mc code, *mc = &code;
  tg_mc_begin(mc, c->arena);
  tg_mc_ref y = emit_window(mc, node->op, plan.input_kind[0] == TG_STREAM_FP32);
  if (average) {
    y = tg_mc_alu(mc, TG_ALU_mul, y, counts ? tg_mc_load(mc, 1, true) : tg_mc_const(mc, uniform), TG_MC_NONE);
    y = tg_round_to(mc, tg_out(node)->dtype, y, !kernel->fused_count);
  }
  if (kernel->fused_count) y = tg_emit_expression(mc, c, kernel, tg_out(node), y, NULL, 0);
  if (y == TG_MC_NONE) return TG_INVALID;
  tg_mc_store(mc, plan.inputs, plan.output_kind == TG_STREAM_FP32, y);
  return tg_emit_stream_kernel(c, kernel, &plan, mc, 1 << 1);
}
static bool is_pool(const tg_compile *c, const tg_node *node) {
  (void)c;
  return node->op == TG_OP_MAX_POOL || node->op == TG_OP_MAX_POOL_INDEX || node->op == TG_OP_AVERAGE_POOL;
}
const tg_kernel_class tg_pool_class = {
    .name = "pool",
    .accepts = is_pool,
    .takes = tg_takes_fused,
    .emit = emit_pool,
};
