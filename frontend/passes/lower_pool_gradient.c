/* Gradients of pooling: windows that add to their elements what they have for them. */
#include "frontend/build/rewrite.h"
#include "frontend/passes/passes.h"

enum { BF16_INTEGERS = 256 }; /* up to here each is a bf16 */

static void copy_window(tg_graph *graph, const tg_node *from, tg_node *to) {
  static const tg_attr_key extents[] = {TG_ATTR_KERNEL_SHAPE, TG_ATTR_STRIDES, TG_ATTR_DILATIONS,
                                        TG_ATTR_PADS};
  for (int i = 0; i < 4; i++) {
    int count;
    const int64_t *values = tg_attr_ints(from, extents[i], &count);
    tg_attr_set_ints(graph, to, extents[i], values, count);
  }
  to->rule = from->rule;
  to->disable_graphamp = from->disable_graphamp;
}

/* Replaces the node by a WindowGradient of dY and positions (or NULL). */
static void replace(tg_graph *graph, tg_node *node, tg_value *dy, tg_value *positions) {
  tg_value *operands[] = {dy, positions};
  int64_t sizes[TG_MAX_RANK];
  tg_value_sizes(tg_out(node), sizes);
  tg_node *gradient = tg_graph_add_node(graph, TG_OP_WINDOW_GRADIENT, node->name, operands, positions ? 2 : 1,
                                        node, node->id);
  copy_window(graph, node, gradient);
  tg_attr_set_ints(graph, gradient, TG_ATTR_OUTPUT_SHAPE, sizes + 2, tg_out(node)->rank - 2);
  tg_out(gradient)->dtype = tg_out(node)->dtype;
  tg_rewrite_infer(graph, gradient);
  tg_rewrite_replace(graph, node, tg_out(gradient));
}

static void lower_maximum(tg_graph *graph, tg_node *node) {
  tg_value *x = tg_in(node, 0);
  int rank;
  const int64_t *kernel = tg_attr_ints(node, TG_ATTR_KERNEL_SHAPE, &rank);
  int64_t positions = kernel[0] * (rank > 1 ? kernel[1] : 1);
  tg_node *index = tg_graph_add_node(graph, TG_OP_MAX_POOL_INDEX, node->name, &x, 1, node, -1);
  copy_window(graph, node, index);
  tg_attr_set_int(index, TG_ATTR_CEIL_MODE, tg_attr_int(node, TG_ATTR_CEIL_MODE));
  tg_out(index)->dtype = positions <= BF16_INTEGERS ? TG_BF16 : TG_F32;
  tg_rewrite_infer(graph, index);
  replace(graph, node, tg_in(node, 1), tg_out(index));
}

/* Elements of window `out` that an average counts, in one dimension. */
static int64_t counted(const tg_node *node, int d, int64_t out) {
  int rank;
  int64_t kernel = tg_attr_ints(node, TG_ATTR_KERNEL_SHAPE, &rank)[d], count = 0;
  const int64_t *pads = tg_attr_ints(node, TG_ATTR_PADS, NULL);
  bool padding = tg_attr_int(node, TG_ATTR_COUNT_INCLUDE_PAD);
  int64_t size = tg_out(node)->dims[2 + d].size + (padding ? pads[rank + d] : 0);
  for (int64_t k = 0; k < kernel; k++) {
    int64_t at = out * tg_attr_ints(node, TG_ATTR_STRIDES, NULL)[d] - pads[d] +
                 k * tg_attr_ints(node, TG_ATTR_DILATIONS, NULL)[d];
    count += (padding || at >= 0) && at < size;
  }
  return count;
}

/* What each window has for each of its elements: dY times 1 / (elements that count). */
static tg_value *shares(tg_graph *graph, tg_node *node) {
  tg_value *dy = tg_in(node, 0);
  int rank = dy->rank - 2;
  const int64_t sizes[2] = {dy->dims[2].size, rank > 1 ? dy->dims[3].size : 1};
  tg_value *inverse = tg_graph_add_constant(graph, "inverse counts", TG_F32, rank, sizes, NULL, false);
  for (int64_t i = 0; i < sizes[0] * sizes[1]; i++) {
    int64_t count = counted(node, 0, i / sizes[1]) * (rank > 1 ? counted(node, 1, i % sizes[1]) : 1);
    tg_store_f32((void *)inverse->data, TG_F32, (size_t)i, 1.0f / (float)count);
  }
  tg_value *operands[] = {dy, inverse};
  return tg_out(tg_rewrite_node(graph, TG_OP_MUL, node->name, operands, 2, TG_F32, node, -1));
}

void tg_pass_lower_pool_gradient(tg_graph *graph) {
  TG_FOR_NODES_SAFE(graph, node) {
    if (node->op == TG_OP_MAX_POOL_GRADIENT)
      lower_maximum(graph, node);
    else if (node->op == TG_OP_AVERAGE_POOL_GRADIENT)
      replace(graph, node, shares(graph, node), NULL);
  }
}
