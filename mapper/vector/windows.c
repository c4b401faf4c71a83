#include "mapper/vector/windows.h"

#include "mapper/expression/expression.h"

void tg_windows_adjust(const void *user, int input, tg_agcu_instr *load) {
  const tg_windows *w = user;
  for (int d = 0; d < 2 && w->weight_step[1] && input == 1; d++) {
    load->k_radix[d] = w->taps[d];
    load->stride[3 + d] = w->weight_step[d] * load->stride[5];
  }
  if (input == 1) load->offset += w->weight_first * load->stride[5];
  if (input >= w->inputs) return;
  int64_t channels = w->image->dims[3].size, row = w->image->dims[2].size * channels,
          bytes = load->stride[5]; /* of an element */
  bool any = w->taps[0] && w->taps[1];
  load->k_radix[0] = any ? w->taps[0] : 1;
  load->k_radix[1] = any ? w->taps[1] : 1;
  load->stride[3] = w->tap_step[0] * row * bytes;
  load->stride[4] = w->tap_step[1] * channels * bytes;
  load->offset += (w->origin[0] * row + w->origin[1] * channels) * bytes;
  load->y_org = w->origin[0];
  load->y_inc[1] = w->row_step[0];
  load->y_inc[3] = w->tap_step[0];
  load->y_size = any ? w->image->dims[1].size : 0;
  load->x_org = w->origin[1];
  load->x_inc[2] = w->row_step[1];
  load->x_inc[4] = w->tap_step[1];
  load->x_size = w->image->dims[2].size;
  load->fill = w->fill[input];
}

tg_walk_plan tg_windows_walk(const tg_windows *w) {
  int64_t channels = w->image->dims[3].size, row = w->image->dims[2].size * channels;
  return (tg_walk_plan){
      .radix = {w->image->dims[0].size, w->rows[0], w->rows[1]},
      .stride = {w->image->dims[1].size * row, w->row_step[0] * row, w->row_step[1] * channels},
      .element_stride = 1,
      .columns = channels};
}

void tg_windows_plan(const tg_compile *c, const tg_windows *w, const tg_node *node, tg_stream_kernel *plan) {
  int64_t positions = w->taps[0] * w->taps[1];
  plan->inputs = w->inputs;
  plan->window_step = w->image->dims[3].size;
  plan->adjust_load = tg_windows_adjust;
  plan->user = w;
  for (int i = 0; i < w->inputs; i++) {
    plan->window[i] = positions ? (uint32_t)positions : 1;
    plan->input_kind[i] = tg_stream_kind(tg_in(node, i));
    plan->input[i] = tg_windows_walk(w);
    plan->input[i].tensor = tg_place_of(c, tg_in(node, i));
  }
  plan->rows = w->image->dims[0].size * w->rows[0] * w->rows[1];
}

tg_windows tg_windows_forward(const tg_node *node) {
  const tg_value *out = tg_out(node);
  const int64_t *kernel = tg_attr_ints(node, TG_ATTR_KERNEL_SHAPE, NULL),
                *strides = tg_attr_ints(node, TG_ATTR_STRIDES, NULL),
                *dilations = tg_attr_ints(node, TG_ATTR_DILATIONS, NULL),
                *pads = tg_attr_ints(node, TG_ATTR_PADS, NULL);
  tg_windows w = {.image = tg_in(node, 0), .inputs = 1};
  for (int d = 0; d < 2; d++) {
    w.rows[d] = out->dims[1 + d].size;
    w.taps[d] = kernel[d];
    w.origin[d] = -pads[d];
    w.tap_step[d] = dilations[d];
    w.row_step[d] = strides[d];
  }
  return w;
}

bool tg_windows_have_room(const tg_node *node) {
  const int64_t *kernel = tg_attr_ints(node, TG_ATTR_KERNEL_SHAPE, NULL);
  return kernel[0] <= TG_WINDOW_POSITIONS && kernel[0] * kernel[1] <= TG_WINDOW_POSITIONS;
}

tg_status tg_windows_check(const tg_compile *c, const tg_node *node) {
  const int64_t *kernel = tg_attr_ints(node, TG_ATTR_KERNEL_SHAPE, NULL);
  if (tg_windows_have_room(node)) return TG_OK;
  return tg_fail(
      c->diag, TG_INVALID,
      "node \"%s\": a pooling window of %lld x %lld positions is not supported, which has at most %d",
      node->name, (long long)kernel[0], (long long)kernel[1], TG_WINDOW_POSITIONS);
}

int64_t tg_windows_lowest(int kind) {
  return kind == TG_STREAM_FP32 ? 0xff800000u : kind == TG_STREAM_BF16 ? 0xff80u : 0xfc00u;
}
