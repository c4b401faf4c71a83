/* Windows on the vector units: pooling, depthwise convolution, and the gradients of pooling. The walk that
 * loads goes over the positions of windows, a load each. */
#include "mapper/expression/expression.h"
#include "mapper/kernel/class.h"
#include "mapper/kernel/operand.h"
#include "mapper/kernel/window.h"
#include "mapper/stream/stream.h"
#include "mapper/vector/vector.h"

enum { POSITIONS = 65535 }; /* of a window: repeats of a segment */

/* What loads go over: `taps` positions of `image`, from `origin`, `tap_step` apart; the windows of
 * neighbouring rows of the kernel are `row_step` apart. Positions outside the image load the fill. */
typedef struct windows {
  const tg_value *image;
  int64_t rows[2]; /* of the kernel's output, by image row and column */
  int64_t taps[2], origin[2], tap_step[2], row_step[2];
  int64_t fill[TG_STREAMS];
  int64_t weight_step[2]; /* elements from position to position of a depthwise convolution's weights */
  int inputs;             /* the first ones that are images of this kind */
} windows;

enum { IMAGE, WEIGHTS, BIAS }; /* inputs of a depthwise convolution */

static void walk_window(const void *user, int input, tg_agcu_instr *load) {
  const windows *w = user;
  for (int d = 0; d < 2 && w->weight_step[1] && input == WEIGHTS; d++) {
    load->k_radix[d] = w->taps[d];
    load->stride[3 + d] = w->weight_step[d] * load->stride[5];
  }
  if (input >= w->inputs) return;
  int64_t channels = w->image->dims[3].size, row = w->image->dims[2].size * channels,
          bytes = load->stride[5]; /* of an element */
  bool any = w->taps[0] && w->taps[1];
  load->k_radix[0] = any ? w->taps[0] : 1;
  load->k_radix[1] = any ? w->taps[1] : 1;
  load->stride[3] = w->tap_step[0] * row * bytes;
  load->stride[4] = w->tap_step[1] * channels * bytes;
  load->offset[0] += (w->origin[0] * row + w->origin[1] * channels) * bytes;
  load->y_org[0] = w->origin[0];
  load->y_inc[1] = w->row_step[0];
  load->y_inc[3] = w->tap_step[0];
  load->y_size[0] = any ? w->image->dims[1].size : 0;
  load->x_org[0] = w->origin[1];
  load->x_inc[2] = w->row_step[1];
  load->x_inc[4] = w->tap_step[1];
  load->x_size[0] = w->image->dims[2].size;
  load->fill[0] = w->fill[input];
}

/* Of an input that windows go over; its tensor is left open. */
static tg_walk_plan window_walk(const windows *w) {
  int64_t channels = w->image->dims[3].size, row = w->image->dims[2].size * channels;
  return (tg_walk_plan){
      .radix = {w->image->dims[0].size, w->rows[0], w->rows[1]},
      .stride = {w->image->dims[1].size * row, w->row_step[0] * row, w->row_step[1] * channels},
      .element_stride = 1,
      .columns = channels};
}

static void plan_windows(const tg_compile *c, const windows *w, const tg_node *node, tg_stream_kernel *plan) {
  int64_t positions = w->taps[0] * w->taps[1];
  plan->inputs = w->inputs;
  plan->window_step = w->image->dims[3].size;
  plan->adjust_load = walk_window;
  plan->user = w;
  for (int i = 0; i < w->inputs; i++) {
    plan->window[i] = positions ? (uint32_t)positions : 1;
    plan->input_kind[i] = tg_stream_kind(tg_in(node, i));
    plan->input[i] = window_walk(w);
    plan->input[i].tensor = tg_place_of(c, tg_in(node, i));
  }
  plan->rows = w->image->dims[0].size * w->rows[0] * w->rows[1];
}

static windows forward_windows(const tg_node *node) {
  const tg_value *out = tg_out(node);
  const int64_t *kernel = tg_attr_ints(node, TG_ATTR_KERNEL_SHAPE, NULL),
                *strides = tg_attr_ints(node, TG_ATTR_STRIDES, NULL),
                *dilations = tg_attr_ints(node, TG_ATTR_DILATIONS, NULL),
                *pads = tg_attr_ints(node, TG_ATTR_PADS, NULL);
  windows w = {.image = tg_in(node, 0), .inputs = 1};
  for (int d = 0; d < 2; d++) {
    w.rows[d] = out->dims[1 + d].size;
    w.taps[d] = kernel[d];
    w.origin[d] = -pads[d];
    w.tap_step[d] = dilations[d];
    w.row_step[d] = strides[d];
  }
  return w;
}

static tg_status check_positions(const tg_compile *c, const tg_node *node) {
  const int64_t *kernel = tg_attr_ints(node, TG_ATTR_KERNEL_SHAPE, NULL);
  if (kernel[0] <= POSITIONS && kernel[0] * kernel[1] <= POSITIONS) return TG_OK;
  return tg_fail(c->diag, TG_INVALID,
                 "node \"%s\": a pooling window of %lld x %lld positions is not supported", node->name,
                 (long long)kernel[0], (long long)kernel[1]);
}

static int64_t lowest(int kind) {
  return kind == TG_STREAM_FP32 ? 0xff800000u : kind == TG_STREAM_BF16 ? 0xff80u : 0xfc00u;
}

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
  windows w = forward_windows(node);
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
  if (check_positions(c, node)) return TG_INVALID;
  windows w = forward_windows(node);
  tg_stream_kernel plan = {.output_kind = tg_result_kind(kernel->output)};
  float uniform = 1.0f;
  const tg_dram_tensor *counts = average ? inverse_counts(c, node, &uniform) : NULL; /* moves the others */
  plan_windows(c, &w, node, &plan);
  w.fill[0] = average ? 0 : lowest(plan.input_kind[0]);
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

/* ---- gradients: what the windows that hold an element have for it ---- */

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
  windows w = {.image = tg_in(node, 0), .inputs = node->input_count};
  for (int d = 0; d < 2; d++) {
    w.rows[d] = reach[d].count;
    w.taps[d] = reach[d].taps;
    w.origin[d] = reach[d].origin;
    w.tap_step[d] = reach[d].tap_step;
    w.row_step[d] = 1;
  }
  tg_stream_kernel plan = {.output_kind = tg_result_kind(kernel->output)};
  plan_windows(c, &w, node, &plan);
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
  y = tg_round_to(mc, out->dtype, y, !kernel->fused_count);
  if (kernel->fused_count) y = tg_emit_expression(mc, c, kernel, tg_out(node), y, NULL, 0);
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
  if (check_positions(c, node)) return TG_INVALID;
  for (int64_t h = 0; h < tg_reach_phases(sizes[0], strides[0]); h++)
    for (int64_t w = 0; w < tg_reach_phases(sizes[1], strides[1]); w++) {
      tg_reach reach[2] = {tg_reach_of(h, sizes[0], kernels[0], strides[0], dilations[0], pads[0]),
                           tg_reach_of(w, sizes[1], kernels[1], strides[1], dilations[1], pads[1])};
      tg_status status = emit_phase(c, kernel, reach);
      if (status) return status;
    }
  return TG_OK;
}

/* ---- depthwise convolution: chains of multiply-adds over the positions, a channel a lane ---- */

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
  windows w = forward_windows(node);
  int64_t channels = w.image->dims[3].size, columns = w.rows[1] * channels;
  w.weight_step[0] = w.taps[1] * channels;
  w.weight_step[1] = channels;
  tg_stream_kernel plan = {.inputs = tg_in(node, BIAS) ? 3 : 2,
                           .output_kind = tg_result_kind(kernel->output),
                           .rows = w.image->dims[0].size * w.rows[0] * w.rows[1],
                           .window_step = channels,
                           .adjust_load = walk_window,
                           .user = &w};
  for (int i = 0; i < plan.inputs; i++) {
    plan.input[i] = window_walk(&w);
    for (int d = 0; d < 3 && i != IMAGE; d++) plan.input[i].stride[d] = 0; /* the same for all rows */
    plan.input[i].tensor = tg_place_of(c, source_of(kernel, i));
    plan.input_kind[i] = tg_stream_kind(source_of(kernel, i));
    plan.window[i] = i == BIAS ? 1 : (uint32_t)(w.taps[0] * w.taps[1]);
  }
  plan.output = window_walk(&w);
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
  const int64_t *kernel = tg_attr_ints(node, TG_ATTR_KERNEL_SHAPE, NULL);
  return !c->options.accum_bf16sr && group > 1 && group == tg_in(node, 0)->dims[3].size &&
         group == tg_out(node)->dims[3].size && kernel[0] <= POSITIONS && kernel[0] * kernel[1] <= POSITIONS;
}

static bool is_pool(const tg_compile *c, const tg_node *node) {
  (void)c;
  return node->op == TG_OP_MAX_POOL || node->op == TG_OP_MAX_POOL_INDEX || node->op == TG_OP_AVERAGE_POOL;
}

static bool is_pool_gradient(const tg_compile *c, const tg_node *node) {
  (void)c;
  return node->op == TG_OP_WINDOW_GRADIENT;
}

const tg_kernel_class tg_pool_class = {
    .name = "pool",
    .accepts = is_pool,
    .takes = tg_takes_fused,
    .emit = emit_pool,
};

const tg_kernel_class tg_pool_gradient_class = {
    .name = "pool_gradient",
    .accepts = is_pool_gradient,
    .takes = tg_takes_fused_out_of_order,
    .emit = emit_pool_gradient,
};

const tg_kernel_class tg_depthwise_class = {
    .name = "depthwise",
    .accepts = is_depthwise,
    .takes = tg_takes_fused,
    .emit = emit_depthwise,
};
