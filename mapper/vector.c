/* Kernels of the vector unit: softmax and pooling. */
#include "mapper/expression.h"
#include "mapper/functions.h"
#include "mapper/rows.h"
#include "mapper/stream.h"

#include <assert.h>
#include <stdlib.h>

static uint32_t round_up(int64_t value, uint32_t unit) {
  return (uint32_t)((value + unit - 1) / unit * unit);
}

/* ---- softmax ---- */

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
  bool halves = plan.input_kind[0] == TG_STREAM_FP32;
  tg_mc_accuracy accuracy = tg_out(kernel->root)->dtype == TG_F32 ? TG_MC_SINGLE : TG_MC_NARROW;
  tg_mc_ref partial[32] = {0}, zero = tg_mc_const(mc, 0.0f), lowest = tg_mc_bits(mc, 0xff800000u),
            top = tg_mc_new(mc);
  tg_mc_assign(mc, top, TG_ALU_mov, lowest, TG_MC_NONE, TG_MC_NONE);
  for (int i = 0; i < registers; i++) partial[i] = tg_mc_new(mc);
  tg_row_sum_begin(mc, partial, registers, zero);

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
  tg_row_sum_add(mc, partial, registers, tg_mc_alu_imm(mc, TG_ALU_tail, sum, partial[0], 0));

  tg_mc_next_segment(mc);
  tg_mc_ref inverse = tg_mc_reciprocal_normal(mc, tg_row_sum_end(mc, partial, registers, lanes));

  tg_mc_next_segment(mc); /* for each vector: the result */
  e = tg_mc_exp_below_one(mc, tg_mc_alu(mc, TG_ALU_sub, tg_mc_load(mc, 0, halves), top, TG_MC_NONE),
                          accuracy);
  tg_mc_ref y = tg_mc_alu(mc, TG_ALU_mul, e, inverse, TG_MC_NONE);
  y = tg_round_to(mc, tg_out(kernel->root)->dtype, y, !kernel->fused_count);
  if (kernel->fused_count) y = tg_emit_expression(mc, c, kernel, tg_out(kernel->root), y, NULL, 0);
  if (y == TG_MC_NONE) return TG_INVALID;
  tg_mc_store(mc, 1, plan.output_kind == TG_STREAM_FP32, y);
  return tg_emit_stream_kernel(c, kernel, &plan, mc, 1 << 1 | 1 << 3 | 1 << 5);
}

/* ---- pooling ---- */

typedef struct window {
  int64_t h, w, channels, kh, kw, sh, sw, dh, dw, top, left;
  int64_t fill;
  uint32_t bytes;
} window;

static window window_of(const tg_node *node) {
  const tg_value *in = tg_in(node, 0);
  const int64_t *kernel = tg_attr_ints(node, TG_ATTR_KERNEL_SHAPE, NULL),
                *strides = tg_attr_ints(node, TG_ATTR_STRIDES, NULL);
  const int64_t *dilations = tg_attr_ints(node, TG_ATTR_DILATIONS, NULL),
                *pads = tg_attr_ints(node, TG_ATTR_PADS, NULL);
  return (window){.h = in->dims[1].size,
                  .w = in->dims[2].size,
                  .channels = in->dims[3].size,
                  .kh = kernel[0],
                  .kw = kernel[1],
                  .sh = strides[0],
                  .sw = strides[1],
                  .dh = dilations[0],
                  .dw = dilations[1],
                  .top = pads[0],
                  .left = pads[1],
                  .bytes = tg_value_bytes_each(in)};
}

/* The K walk goes over the window, channels innermost; positions outside the image load the fill. */
static void walk_window(const void *user, int input, tg_agcu_instr *load) {
  const window *p = user;
  if (input) return;
  load->k_radix[0] = p->kh;
  load->k_radix[1] = p->kw;
  load->stride[3] = p->dh * p->w * p->channels * p->bytes;
  load->stride[4] = p->dw * p->channels * p->bytes;
  load->offset[0] -= (p->top * p->w + p->left) * p->channels * p->bytes;
  load->y_org[0] = -p->top;
  load->y_inc[1] = p->sh;
  load->y_inc[3] = p->dh;
  load->y_size[0] = p->h;
  load->x_org[0] = -p->left;
  load->x_inc[2] = p->sw;
  load->x_inc[4] = p->dw;
  load->x_size[0] = p->w;
  load->fill[0] = p->fill;
}

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
static const tg_dram_tensor *inverse_counts(tg_compile *c, const tg_node *node, const window *p,
                                            float *out_uniform) {
  const tg_value *out = tg_out(node);
  int64_t oh = out->dims[1].size, ow = out->dims[2].size;
  const int64_t *pads = tg_attr_ints(node, TG_ATTR_PADS, NULL);
  bool include = tg_attr_int(node, TG_ATTR_COUNT_INCLUDE_PAD);
  float *inverse = TG_NEW_ARRAY(&c->program->arena, float, (size_t)(oh * ow));
  bool uniform = true;
  for (int64_t y = 0; y < oh; y++)
    for (int64_t x = 0; x < ow; x++) {
      int64_t rows = include ? valid_positions(y, p->sh, p->dh, p->kh, 0, p->h + pads[0] + pads[2])
                             : valid_positions(y, p->sh, p->dh, p->kh, p->top, p->h);
      int64_t columns = include ? valid_positions(x, p->sw, p->dw, p->kw, 0, p->w + pads[1] + pads[3])
                                : valid_positions(x, p->sw, p->dw, p->kw, p->left, p->w);
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

tg_status tg_emit_pool(tg_compile *c, const tg_kernel *kernel) {
  const tg_node *node = kernel->root;
  tg_value *in = tg_in(node, 0), *out = kernel->output;
  bool average = node->op == TG_OP_AVERAGE_POOL;
  window p = window_of(node);
  int64_t n = in->dims[0].size, oh = out->dims[1].size, ow = out->dims[2].size, positions = p.kh * p.kw;
  if (positions > 65535)
    return tg_fail(c->diag, TG_INVALID, "node \"%s\": a pooling window of %lld positions is not supported",
                   node->name, (long long)positions);
  tg_stream_kernel plan = {.inputs = 1,
                           .window = {(uint32_t)positions, 1},
                           .input_kind = {tg_stream_kind(in), TG_STREAM_FP32},
                           .output_kind = tg_result_kind(kernel->output),
                           .rows = n * oh * ow,
                           .window_step = p.channels,
                           .adjust_load = walk_window,
                           .user = &p};
  int64_t plane = p.w * p.channels;
  float uniform = 1.0f;
  const tg_dram_tensor *counts = average ? inverse_counts(c, node, &p, &uniform) : NULL;
  plan.input[0] = (tg_walk_plan){.tensor = tg_place_of(c, in),
                                 .radix = {n, oh, ow},
                                 .stride = {p.h * plane, p.sh * plane, p.sw * p.channels},
                                 .element_stride = 1,
                                 .columns = p.channels};
  plan.output = (tg_walk_plan){.tensor = tg_place_of(c, out),
                               .radix = {n, oh, ow},
                               .stride = {oh * ow * p.channels, ow * p.channels, p.channels},
                               .element_stride = 1,
                               .columns = p.channels};
  if (counts) {
    plan.input[plan.inputs++] = (tg_walk_plan){.tensor = counts,
                                               .radix = {n, oh, ow},
                                               .stride = {0, ow, 1},
                                               .element_stride = 0,
                                               .columns = p.channels};
    plan.output.tensor = tg_place_of(c, out); /* adding a tensor moved them */
    plan.input[0].tensor = tg_place_of(c, in);
  }
  uint32_t lowest = plan.input_kind[0] == TG_STREAM_FP32   ? 0xff800000u
                    : plan.input_kind[0] == TG_STREAM_BF16 ? 0xff80u
                                                           : 0xfc00u;
  p.fill = average ? 0 : lowest;
  tg_choose_columns(c->m, &plan, p.channels);

  tg_mc code, *mc = &code;
  tg_mc_begin(mc, c->arena);
  tg_mc_ref sum = tg_mc_new(mc);
  tg_mc_assign(mc, sum, TG_ALU_mov, average ? tg_mc_const(mc, 0.0f) : tg_mc_bits(mc, 0xff800000u), TG_MC_NONE,
               TG_MC_NONE);
  tg_mc_next_segment(mc);
  tg_mc_assign(mc, sum, average ? TG_ALU_add : TG_ALU_max, sum,
               tg_mc_load(mc, 0, plan.input_kind[0] == TG_STREAM_FP32), TG_MC_NONE);
  tg_mc_next_segment(mc);
  tg_mc_ref y = sum;
  if (average)
    y = tg_mc_alu(mc, TG_ALU_mul, sum, counts ? tg_mc_load(mc, 1, true) : tg_mc_const(mc, uniform),
                  TG_MC_NONE);
  if (average) y = tg_round_to(mc, tg_out(node)->dtype, y, !kernel->fused_count);
  if (kernel->fused_count) y = tg_emit_expression(mc, c, kernel, tg_out(node), y, NULL, 0);
  if (y == TG_MC_NONE) return TG_INVALID;
  tg_mc_store(mc, plan.inputs, plan.output_kind == TG_STREAM_FP32, y);
  return tg_emit_stream_kernel(c, kernel, &plan, mc, 1 << 1);
}
