/* Depthwise convolution: chains of multiply-adds over the positions of a window, a channel a lane. */
#include "mapper/vector/depthwise.h"
#include "mapper/expression/expression.h"
#include "mapper/kernel/class.h"
#include "mapper/kernel/operand.h"
#include "mapper/kernel/view.h"
#include "mapper/section/marks.h"
#include "mapper/section/rehearsal.h"
#include "mapper/vector/line_product.h"
#include "mapper/vector/line_totals.h"

static tg_line_kernel line_kernel(const tg_depthwise *s, const tg_depthwise_part *part,
                                  const tg_line_product *product) {
  const tg_kernel *kernel = s->kernel;
  const tg_value *image = tg_depthwise_source(kernel, TG_DEPTHWISE_IMAGE),
                 *weights = tg_depthwise_source(kernel, TG_DEPTHWISE_WEIGHTS),
                 *bias = tg_in(kernel->root, TG_DEPTHWISE_BIAS);
  return (tg_line_kernel){.windows = &part->windows,
                          .image = product ? NULL : tg_place_of(s->c, image),
                          .product = product,
                          .result = tg_place_of(s->c, kernel->output),
                          .weights = tg_place_of(s->c, weights),
                          .bias = bias ? tg_place_of(s->c, bias) : NULL,
                          .image_kind = tg_stream_kind(image),
                          .result_kind = tg_result_kind(kernel->output),
                          .weights_kind = tg_stream_kind(weights),
                          .bias_kind = bias ? tg_stream_kind(bias) : 0,
                          .rounds = tg_rounds_accumulation(s->c, kernel->root) ? kernel->root : NULL,
                          .first_row = (uint32_t)part->first_row,
                          .first_column = (uint32_t)part->first_column,
                          .write = tg_depthwise_write,
                          .write_passes = tg_depthwise_write_passes,
                          .user = s};
}

/* A load for each position. */
static tg_stream_kernel plan_streamed(const tg_compile *c, const tg_kernel *kernel,
                                      const tg_depthwise_part *part) {
  const tg_windows *w = &part->windows;
  const tg_value *out = tg_out(kernel->root);
  int64_t channels = w->image->dims[3].size, row = out->dims[2].size * channels;
  tg_stream_kernel plan = {.inputs = tg_in(kernel->root, TG_DEPTHWISE_BIAS) ? 3 : 2,
                           .output_kind = tg_result_kind(kernel->output),
                           .rows = w->image->dims[0].size * w->rows[0] * w->rows[1],
                           .window_step = channels,
                           .rounds = tg_rounds_accumulation(c, kernel->root) ? kernel->root : NULL,
                           .first_row = (uint32_t)part->first_row,
                           .first_column = (uint32_t)part->first_column,
                           .adjust_load = tg_windows_adjust,
                           .user = w};
  for (int i = 0; i < plan.inputs; i++) {
    plan.input[i] = tg_windows_walk(w);
    for (int d = 0; d < 3 && i != TG_DEPTHWISE_IMAGE; d++)
      plan.input[i].stride[d] = 0; /* the same for all rows */
    plan.input[i].tensor = tg_place_of(c, tg_depthwise_source(kernel, i));
    plan.input_kind[i] = tg_stream_kind(tg_depthwise_source(kernel, i));
    plan.window[i] = i == TG_DEPTHWISE_BIAS ? 1 : (uint32_t)(w->taps[0] * w->taps[1]);
  }
  plan.output = tg_windows_walk(w);
  plan.output.tensor = tg_place_of(c, kernel->output);
  plan.output.offset = part->first[0] * row + part->first[1] * channels;
  plan.output.stride[0] = out->dims[1].size * row;
  plan.output.stride[1] = part->step[0] * row;
  plan.output.stride[2] = part->step[1] * channels;
  tg_choose_columns(c->m, &plan, channels);
  return plan;
}

/* Strides of image and result, where the others lie as they must; and reductions. */
static bool set_places(const tg_compile *c, const tg_kernel *kernel, const tg_depthwise_part *part,
                       tg_line_kernel *lines) {
  const tg_value *bias = tg_in(kernel->root, TG_DEPTHWISE_BIAS);
  if (!tg_is_contiguous(c, tg_depthwise_source(kernel, TG_DEPTHWISE_WEIGHTS)) ||
      (bias && !tg_is_contiguous(c, bias)) ||
      !tg_line_set_strides(c, kernel->root, tg_depthwise_source(kernel, TG_DEPTHWISE_IMAGE), kernel->output,
                           lines))
    return false;
  lines->result_first = 0;
  for (int d = 0; d < 2; d++) {
    lines->result_first += part->first[d] * lines->result_stride[1 + d];
    lines->result_stride[1 + d] *= part->step[d];
  }
  return tg_line_set_totals(c, kernel, lines);
}

/* The product that makes its image; NULL: there is none. False: it is none that can do so. */
static bool set_product(const tg_compile *c, const tg_kernel *kernel, tg_line_product *product,
                        const tg_line_product **out) {
  *out = kernel->product ? product : NULL;
  return !kernel->product || tg_line_set_product(c, kernel, product);
}

bool tg_depthwise_walks_views(tg_compile *c, const tg_kernel *kernel, const tg_depthwise_part *part) {
  if (tg_stochastic_store(kernel) || kernel->column_sums) return false; /* which is streamed, or dense */
  tg_depthwise code = {.c = c, .kernel = kernel};
  tg_line_product own;
  const tg_line_product *product;
  if (!set_product(c, kernel, &own, &product)) return false;
  tg_line_kernel lines = line_kernel(&code, part, product);
  return set_places(c, kernel, part, &lines) && tg_line_walks_views(c, &lines);
}

tg_status tg_depthwise_emit(tg_compile *c, const tg_kernel *kernel, const tg_depthwise_part *part) {
  tg_depthwise code = {.c = c, .kernel = kernel};
  tg_line_product own;
  const tg_line_product *product;
  if (!set_product(c, kernel, &own, &product))
    return tg_fail(c->diag, TG_INVALID, "node \"%s\": what makes its image is no product of pixels",
                   kernel->root->name);
  if (product) tg_marks_add(c);
  tg_line_kernel lines = line_kernel(&code, part, product);
  if (!set_places(c, kernel, part, &lines))
    return tg_fail(c->diag, TG_INVALID, "node \"%s\": its image lies by no strides", kernel->root->name);
  tg_stream_kernel streamed = plan_streamed(c, kernel, part);
  return tg_emit_windows(c, kernel, &lines, &streamed);
}

bool tg_depthwise_emit_transposed(tg_compile *c, const tg_kernel *kernel, const tg_depthwise_part *part,
                                  const tg_line_transposed *transposed, tg_status *out_status) {
  tg_depthwise code = {.c = c, .kernel = kernel};
  tg_line_kernel lines = line_kernel(&code, part, NULL);
  lines.transposed = transposed;
  lines.write_passes = NULL;
  return !lines.rounds && set_places(c, kernel, part, &lines) &&
         tg_emit_fitting_lines(c, kernel, &lines, out_status);
}

/* ---- the class of convolutions ---- */

static tg_depthwise_part all_of(const tg_node *node) {
  tg_depthwise_part part = {.windows = tg_windows_forward(node), .step = {1, 1}};
  tg_windows *w = &part.windows;
  w->weight_step[1] = w->image->dims[3].size;
  w->weight_step[0] = w->taps[1] * w->weight_step[1];
  return part;
}

static bool walks_views(tg_compile *c, const tg_kernel *kernel) {
  tg_depthwise_part part = all_of(kernel->root);
  return tg_depthwise_walks_views(c, kernel, &part);
}

static tg_status emit_depthwise(tg_compile *c, const tg_kernel *kernel) {
  tg_depthwise_part part = all_of(kernel->root);
  return tg_depthwise_emit(c, kernel, &part);
}

/* The vector unit accumulates in FP32, and multiplies as exactly as mx. It rounds a chain once, behind its end:
 * the window is the K tile. */
static bool is_depthwise(const tg_compile *c, const tg_node *node) {
  (void)c;
  return tg_is_depthwise(node) && tg_windows_have_room(node);
}

/* An instruction has one key to round by. */
static bool takes(const tg_compile *c, const tg_kernel *kernel, const tg_node *node, int waiting) {
  bool rounds = tg_rounds_accumulation(c, kernel->root);
  return (rounds ? tg_takes_fused_out_of_order : tg_takes_fused)(c, kernel, node, waiting);
}

const tg_kernel_class tg_depthwise_class = {
    .name = "depthwise",
    .accepts = is_depthwise,
    .takes = takes,
    .rehearsed = tg_rehearse,
    .walks_views = walks_views,
    .emit = emit_depthwise,
};
