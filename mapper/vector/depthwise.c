/* Depthwise convolution: chains of multiply-adds over the positions of a window, a channel a lane. */
#include "mapper/expression/expression.h"
#include "mapper/kernel/class.h"
#include "mapper/kernel/operand.h"
#include "mapper/kernel/view.h"
#include "mapper/vector/line_buffers.h"

enum { IMAGE, WEIGHTS, BIAS }; /* inputs of a depthwise convolution */

/* Input `i` of the root as it lies in memory, before a Cast that happens on the way. */
static tg_value *source_of(const tg_kernel *kernel, int i) {
  return i == BIAS ? tg_in(kernel->root, i) : kernel->operands[i].source;
}

static tg_mc_ref load_operand(tg_mc *mc, const tg_kernel *kernel, int i, int stream) {
  const tg_value *source = source_of(kernel, i), *operand = tg_in(kernel->root, i);
  tg_mc_ref value = tg_mc_load(mc, stream, tg_stream_kind(source) == TG_STREAM_FP32);
  return source->dtype == operand->dtype ? value : tg_round_to(mc, operand->dtype, value, false);
}

/* What becomes of a sum; it is no more if the microcode has no room for it. */
static tg_mc_ref finish(tg_compile *c, const tg_kernel *kernel, tg_mc *mc, tg_mc_ref y) {
  y = tg_round_to(mc, tg_out(kernel->root)->dtype, y, !kernel->fused_count);
  return kernel->fused_count ? tg_emit_expression(mc, c, kernel, tg_out(kernel->root), y, NULL, 0) : y;
}

typedef struct chains {
  tg_compile *c;
  const tg_kernel *kernel;
  tg_mc *mc;
  tg_mc_ref sums[TG_STREAMS], weights[TG_STREAMS], x;
  int first_weights, loaded; /* streams */
} chains;

static void take(void *user, int stream, uint32_t u, uint32_t q) {
  chains *s = user;
  if (stream != s->loaded) s->x = load_operand(s->mc, s->kernel, IMAGE, stream);
  s->loaded = stream;
  if (s->weights[q] == TG_MC_NONE)
    s->weights[q] = load_operand(s->mc, s->kernel, WEIGHTS, s->first_weights + (int)q);
  tg_mc_assign(s->mc, s->sums[u], TG_ALU_fma, s->x, s->weights[q], s->sums[u]);
}

static void write_chains(const void *user, const tg_line_kernel *lines, const tg_line_tiling *t, tg_mc *mc) {
  chains s = *(const chains *)user;
  s.mc = mc;
  s.loaded = -1;
  s.first_weights = tg_line_weights_stream(lines, t, 0);
  tg_mc_begin(mc, s.c->arena);
  for (int i = 0; i < TG_STREAMS; i++) s.weights[i] = TG_MC_NONE;
  for (uint32_t u = 0; u < t->unroll; u++) {
    s.sums[u] = tg_mc_new(mc);
    tg_mc_assign(mc, s.sums[u], TG_ALU_mov, tg_mc_const(mc, 0.0f), TG_MC_NONE, TG_MC_NONE);
  }
  tg_mc_next_segment(mc);
  tg_line_each_tap(lines, t, take, &s);
  tg_mc_next_segment(mc);
  tg_mc_ref bias = lines->bias ? load_operand(mc, s.kernel, BIAS, tg_line_bias_stream(lines, t)) : TG_MC_NONE;
  for (uint32_t u = 0; u < t->unroll; u++) {
    tg_mc_ref y = s.sums[u];
    if (lines->rounds) y = tg_mc_alu_imm(mc, TG_ALU_rndsr, y, TG_MC_NONE, (int)u);
    if (lines->bias) y = tg_mc_alu(mc, TG_ALU_add, y, bias, TG_MC_NONE);
    y = finish(s.c, s.kernel, mc, y);
    if (y == TG_MC_NONE) {
      mc->overflow = true;
      return;
    }
    tg_mc_store(mc, tg_line_result_stream(lines, t, u), lines->result_kind == TG_STREAM_FP32, y);
  }
}

static tg_line_kernel line_kernel(const chains *s, const tg_windows *w) {
  const tg_kernel *kernel = s->kernel;
  const tg_value *image = source_of(kernel, IMAGE), *weights = source_of(kernel, WEIGHTS),
                 *bias = tg_in(kernel->root, BIAS);
  return (tg_line_kernel){.windows = w,
                          .image = tg_place_of(s->c, image),
                          .result = tg_place_of(s->c, kernel->output),
                          .weights = tg_place_of(s->c, weights),
                          .bias = bias ? tg_place_of(s->c, bias) : NULL,
                          .image_kind = tg_stream_kind(image),
                          .result_kind = tg_result_kind(kernel->output),
                          .weights_kind = tg_stream_kind(weights),
                          .bias_kind = bias ? tg_stream_kind(bias) : 0,
                          .rounds = s->c->options.accum_bf16sr ? kernel->root : NULL,
                          .write = write_chains,
                          .user = s};
}

/* A load for each position; `w` is the plan's. */
static tg_stream_kernel plan_streamed(const tg_compile *c, const tg_kernel *kernel, tg_windows *w) {
  int64_t channels = w->image->dims[3].size, columns = w->rows[1] * channels;
  w->weight_step[0] = w->taps[1] * channels;
  w->weight_step[1] = channels;
  tg_stream_kernel plan = {.inputs = tg_in(kernel->root, BIAS) ? 3 : 2,
                           .output_kind = tg_result_kind(kernel->output),
                           .rows = w->image->dims[0].size * w->rows[0] * w->rows[1],
                           .window_step = channels,
                           .rounds = c->options.accum_bf16sr ? kernel->root : NULL,
                           .adjust_load = tg_windows_adjust,
                           .user = w};
  for (int i = 0; i < plan.inputs; i++) {
    plan.input[i] = tg_windows_walk(w);
    for (int d = 0; d < 3 && i != IMAGE; d++) plan.input[i].stride[d] = 0; /* the same for all rows */
    plan.input[i].tensor = tg_place_of(c, source_of(kernel, i));
    plan.input_kind[i] = tg_stream_kind(source_of(kernel, i));
    plan.window[i] = i == BIAS ? 1 : (uint32_t)(w->taps[0] * w->taps[1]);
  }
  plan.output = tg_windows_walk(w);
  plan.output.tensor = tg_place_of(c, kernel->output);
  plan.output.stride[0] = w->rows[0] * columns;
  plan.output.stride[1] = columns;
  plan.output.stride[2] = channels;
  tg_choose_columns(c->m, &plan, channels);
  return plan;
}

/* Strides of image and result; the others must lie as they do. */
static bool set_strides(const tg_compile *c, const tg_kernel *kernel, tg_line_kernel *lines) {
  const tg_value *bias = tg_in(kernel->root, BIAS);
  return tg_is_contiguous(c, source_of(kernel, WEIGHTS)) && (!bias || tg_is_contiguous(c, bias)) &&
         tg_line_set_strides(c, source_of(kernel, IMAGE), kernel->output, lines);
}

static bool walks_views(tg_compile *c, const tg_kernel *kernel) {
  if (tg_stochastic_store(kernel)) return false; /* which is streamed */
  tg_windows w = tg_windows_forward(kernel->root);
  chains code = {.c = c, .kernel = kernel};
  tg_line_kernel lines = line_kernel(&code, &w);
  return set_strides(c, kernel, &lines) && tg_line_walks_views(c, &lines);
}

static tg_status emit_depthwise(tg_compile *c, const tg_kernel *kernel) {
  tg_windows w = tg_windows_forward(kernel->root);
  chains code = {.c = c, .kernel = kernel};
  tg_line_kernel lines = line_kernel(&code, &w);
  if (!set_strides(c, kernel, &lines))
    return tg_fail(c->diag, TG_INVALID, "node \"%s\": its image lies by no strides", kernel->root->name);
  tg_stream_kernel streamed = plan_streamed(c, kernel, &w);
  return tg_emit_windows(c, kernel, &lines, &streamed);
}

/* The vector unit accumulates in FP32, and multiplies as exactly as mx. It rounds a chain once, behind its end. */
static bool is_depthwise(const tg_compile *c, const tg_node *node) {
  if (node->op != TG_OP_CONV) return false;
  int64_t group = tg_attr_int(node, TG_ATTR_GROUP);
  const tg_dim *taps = tg_in(node, 1)->dims;
  return (!c->options.accum_bf16sr || taps[0].size * taps[1].size <= c->options.k_tile) && group > 1 &&
         group == tg_in(node, 0)->dims[3].size && group == tg_out(node)->dims[3].size &&
         tg_windows_have_room(node);
}

/* An instruction has one key to round by. */
static bool takes(const tg_compile *c, const tg_kernel *kernel, const tg_node *node, int waiting) {
  return (c->options.accum_bf16sr ? tg_takes_fused_out_of_order : tg_takes_fused)(c, kernel, node, waiting);
}

const tg_kernel_class tg_depthwise_class = {
    .name = "depthwise",
    .accepts = is_depthwise,
    .takes = takes,
    .walks_views = walks_views,
    .emit = emit_depthwise,
};
