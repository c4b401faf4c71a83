/* Gradients of convolutions and pools. */
#include "frontend/gradients/rules.h"

static void copy_window(tg_graph *graph, const tg_node *from, tg_node *to) {
  static const tg_attr_key lists[] = {TG_ATTR_KERNEL_SHAPE, TG_ATTR_STRIDES, TG_ATTR_DILATIONS, TG_ATTR_PADS};
  for (int i = 0; i < 4; i++) {
    int count;
    const int64_t *values = tg_attr_ints(from, lists[i], &count);
    if (tg_attr_find(to, lists[i])) tg_attr_set_ints(graph, to, lists[i], values, count);
  }
}

static void set_output_shape(tg_graph *graph, tg_node *node, const tg_value *x) {
  int64_t sizes[TG_MAX_RANK];
  tg_value_sizes(x, sizes);
  tg_attr_set_ints(graph, node, TG_ATTR_OUTPUT_SHAPE, sizes + 2, x->rank - 2);
}

/* A node with the window of `like`, typed as a product with operands of one format is; `x`: whose spatial
 * sizes an input gradient has. */
static tg_value *conv_gradient(tg_backward *w, const tg_node *like, tg_op op, tg_value *a, tg_value *b,
                               const tg_value *x) {
  tg_graph *graph = w->build.graph;
  tg_dtype dtype = a->dtype == b->dtype ? a->dtype : TG_F32;
  tg_value *operands[] = {tg_build_cast(&w->build, a, dtype), tg_build_cast(&w->build, b, dtype)};
  tg_node *node = tg_graph_add_node(graph, op, w->build.name, operands, 2, w->build.before, -1);
  copy_window(graph, like, node);
  tg_attr_set_int(node, TG_ATTR_GROUP, tg_attr_int(like, TG_ATTR_GROUP));
  if (op == TG_OP_CONV_INPUT_GRADIENT) set_output_shape(graph, node, x);
  return tg_build_finish(&w->build, node);
}

static void give_bias(tg_backward *w, const tg_node *node, tg_value *dy) {
  if (!tg_backward_wants(w, 2)) return;
  tg_value *sum = tg_build_sum(&w->build, dy, ((1u << dy->rank) - 1) & ~2u);
  tg_backward_give(w, 2, tg_build_reshape_like(&w->build, sum, tg_in(node, 2)));
}

void tg_gradient_conv(tg_backward *w, const tg_node *node, tg_value *dy) {
  tg_value *x = tg_in(node, 0), *weights = tg_in(node, 1);
  if (tg_backward_wants(w, 0))
    tg_backward_give(w, 0, conv_gradient(w, node, TG_OP_CONV_INPUT_GRADIENT, dy, weights, x));
  if (tg_backward_wants(w, 1))
    tg_backward_give(w, 1, conv_gradient(w, node, TG_OP_CONV_WEIGHT_GRADIENT, x, dy, NULL));
  give_bias(w, node, dy);
}

/* Planes of zeros behind x that the convolution of g has elements for: with an output_padding of a stride or more it
 * reaches beyond x. False: none. */
static bool find_beyond(const tg_node *node, const tg_value *x, int64_t *out_pads, int64_t *out_sizes) {
  int count;
  const int64_t *added = tg_attr_ints(node, TG_ATTR_OUTPUT_PADDING, &count);
  const int64_t *strides = tg_attr_ints(node, TG_ATTR_STRIDES, NULL);
  bool any = false;
  tg_value_sizes(x, out_sizes);
  for (int i = 0; i < count; i++) {
    int64_t beyond = added[i] / strides[i];
    out_pads[x->rank + 2 + i] = beyond;
    any |= beyond > 0;
  }
  return any;
}

/* It is the input gradient of a convolution, so X is that convolution's g, and the other way round. */
void tg_gradient_conv_transpose(tg_backward *w, const tg_node *node, tg_value *dy) {
  tg_value *x = tg_in(node, 0), *weights = tg_in(node, 1);
  int64_t pads[2 * TG_MAX_RANK] = {0}, sizes[TG_MAX_RANK];
  bool beyond = find_beyond(node, x, pads, sizes);
  if (tg_backward_wants(w, 0)) {
    tg_value *dx = conv_gradient(w, node, TG_OP_CONV, dy, weights, NULL);
    for (int d = 2; beyond && d < x->rank; d++) dx = tg_build_slice(&w->build, dx, d, 0, sizes[d], 1);
    tg_backward_give(w, 0, dx);
  }
  if (tg_backward_wants(w, 1)) {
    tg_value *wide = beyond ? tg_build_pad(&w->build, x, pads) : x;
    tg_backward_give(w, 1, conv_gradient(w, node, TG_OP_CONV_WEIGHT_GRADIENT, dy, wide, NULL));
  }
  give_bias(w, node, dy);
}

/* --- pools */

void tg_gradient_max_pool(tg_backward *w, const tg_node *node, tg_value *dy) {
  tg_graph *graph = w->build.graph;
  tg_value *operands[] = {tg_in(node, 0), dy};
  tg_node *made =
      tg_graph_add_node(graph, TG_OP_MAX_POOL_GRADIENT, w->build.name, operands, 2, w->build.before, -1);
  copy_window(graph, node, made);
  tg_attr_set_int(made, TG_ATTR_CEIL_MODE, tg_attr_int(node, TG_ATTR_CEIL_MODE));
  tg_backward_give(w, 0, tg_build_finish(&w->build, made));
}

void tg_gradient_average_pool(tg_backward *w, const tg_node *node, tg_value *dy) {
  tg_graph *graph = w->build.graph;
  tg_node *made =
      tg_graph_add_node(graph, TG_OP_AVERAGE_POOL_GRADIENT, w->build.name, &dy, 1, w->build.before, -1);
  copy_window(graph, node, made);
  set_output_shape(graph, made, tg_in(node, 0));
  tg_attr_set_int(made, TG_ATTR_CEIL_MODE, tg_attr_int(node, TG_ATTR_CEIL_MODE));
  tg_attr_set_int(made, TG_ATTR_COUNT_INCLUDE_PAD, tg_attr_int(node, TG_ATTR_COUNT_INCLUDE_PAD));
  tg_backward_give(w, 0, tg_build_finish(&w->build, made));
}

static unsigned spatial_axes(const tg_value *x) { return ((1u << x->rank) - 1) & ~3u; }

void tg_gradient_global_average_pool(tg_backward *w, const tg_node *node, tg_value *dy) {
  const tg_value *x = tg_in(node, 0);
  int64_t sizes[TG_MAX_RANK];
  tg_value_sizes(x, sizes);
  double count = (double)tg_value_elements_between(x, 2, x->rank);
  tg_backward_give(w, 0, tg_build_expand(&w->build, tg_scaled(w, dy, 1 / count), x->rank, sizes));
}

void tg_gradient_global_max_pool(tg_backward *w, const tg_node *node, tg_value *dy) {
  tg_value *x = tg_in(node, 0);
  tg_backward_give(w, 0, tg_gradient_among_equals(w, x, tg_out(node), dy, spatial_axes(x)));
}
