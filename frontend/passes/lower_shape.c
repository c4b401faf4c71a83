/* Operators that are a reshape, a transpose, a pool or a gradient by another name. */
#include "frontend/build/rewrite.h"
#include "frontend/passes/passes.h"

void tg_pass_lower_shape(tg_graph *graph) {
  TG_FOR_NODES_SAFE(graph, node) {
    if (node->op != TG_OP_FLATTEN && node->op != TG_OP_SQUEEZE && node->op != TG_OP_UNSQUEEZE) continue;
    int64_t sizes[TG_MAX_RANK];
    tg_value_sizes(tg_out(node), sizes);
    tg_value *reshaped = tg_rewrite_reshape(graph, tg_in(node, 0), tg_out(node)->rank, sizes, node);
    tg_rewrite_replace(graph, node, reshaped);
  }
}

static void replace_result(tg_graph *graph, tg_node *node, tg_value *result) {
  tg_value_replace_except(graph, tg_out(node), result, result->producer);
}

/* Before opset 13: all dimensions from axis on are one row. */
static void lower_flattened(tg_graph *graph, tg_node *node) {
  tg_value *x = tg_in(node, 0), *y = tg_out(node);
  int axis = (int)tg_attr_int(node, TG_ATTR_AXIS), rank = x->rank;
  tg_attr_set_int(node, TG_ATTR_FLATTEN, 0);
  if (axis == rank - 1) return;
  int64_t sizes[TG_MAX_RANK], matrix[2];
  tg_value_sizes(x, sizes);
  matrix[0] = tg_value_elements_between(x, 0, axis);
  matrix[1] = tg_value_elements_between(x, axis, rank);
  tg_node_set_input(node, 0, tg_rewrite_reshape(graph, x, 2, matrix, node));
  tg_attr_set_int(node, TG_ATTR_AXIS, 1);
  tg_rewrite_infer(graph, node);
  tg_value *shaped = tg_rewrite_reshape(graph, y, rank, sizes, node->next);
  if (shaped != y) replace_result(graph, node, shaped);
}

/* The axis goes last, the others keep their order: for the channels of an image that is channels-last. */
static void lower_axis(tg_graph *graph, tg_node *node) {
  tg_value *x = tg_in(node, 0);
  int axis = (int)tg_attr_int(node, TG_ATTR_AXIS), rank = x->rank;
  if (axis == rank - 1) return;
  int64_t perm[TG_MAX_RANK], inverse[TG_MAX_RANK];
  for (int i = 0; i < rank; i++) perm[i] = i < axis ? i : i + 1;
  perm[rank - 1] = axis;
  tg_perm_invert(perm, rank, inverse);
  tg_node_set_input(node, 0, tg_rewrite_transpose(graph, x, perm, node));
  tg_attr_set_int(node, TG_ATTR_AXIS, rank - 1);
  tg_rewrite_infer(graph, node);
  replace_result(graph, node, tg_rewrite_transpose(graph, tg_out(node), inverse, node->next));
}

void tg_pass_lower_softmax(tg_graph *graph) {
  TG_FOR_NODES_SAFE(graph, node) {
    if (node->op != TG_OP_SOFTMAX && node->op != TG_OP_LOG_SOFTMAX) continue;
    if (tg_attr_int(node, TG_ATTR_FLATTEN))
      lower_flattened(graph, node);
    else
      lower_axis(graph, node);
  }
}

/* The dimensions from the axis on are one. */
static void lower_normalised(tg_graph *graph, tg_node *node) {
  tg_value *x = tg_in(node, 0), *y = tg_out(node);
  int axis = (int)tg_attr_int(node, TG_ATTR_AXIS), rank = x->rank;
  if (axis == rank - 1) return;
  int64_t sizes[TG_MAX_RANK], rows[TG_MAX_RANK];
  tg_value_sizes(x, sizes);
  tg_value_sizes(x, rows);
  rows[axis] = tg_value_elements_between(x, axis, rank);
  tg_node_set_input(node, 0, tg_rewrite_reshape(graph, x, axis + 1, rows, node));
  for (int i = 1; i < node->input_count; i++)
    if (tg_in(node, i))
      tg_node_set_input(node, i, tg_rewrite_reshape(graph, tg_in(node, i), 1, &rows[axis], node));
  tg_rewrite_infer(graph, node);
  tg_value *shaped = tg_rewrite_reshape(graph, y, rank, sizes, node->next);
  if (shaped != y) replace_result(graph, node, shaped);
}

void tg_pass_lower_layer_normalization(tg_graph *graph) {
  TG_FOR_NODES_SAFE(graph, node)
  if (node->op == TG_OP_LAYER_NORMALIZATION) lower_normalised(graph, node);
}

static bool is_global(const tg_node *node) {
  return node->op == TG_OP_GLOBAL_AVERAGE_POOL || node->op == TG_OP_GLOBAL_MAX_POOL;
}

/* Is the window all of the image, and nothing else? */
static bool is_one_window(const tg_node *node) {
  if (node->op != TG_OP_AVERAGE_POOL && node->op != TG_OP_MAX_POOL) return false;
  const tg_value *x = tg_in(node, 0), *y = tg_out(node);
  int count;
  const int64_t *kernel = tg_attr_ints(node, TG_ATTR_KERNEL_SHAPE, &count);
  for (int i = 0; i < count; i++)
    if (kernel[i] != x->dims[2 + i].size || y->dims[2 + i].size != 1) return false;
  const int64_t *pads = tg_attr_ints(node, TG_ATTR_PADS, &count);
  for (int i = 0; i < count; i++)
    if (pads[i]) return false;
  return node->output_count == 1;
}

/* A reduction, which takes a large window in parts, and moves no element twice. */
static void lower_to_reduction(tg_graph *graph, tg_node *node) {
  tg_value *x = tg_in(node, 0);
  int64_t axes[TG_MAX_RANK];
  bool mean = node->op == TG_OP_GLOBAL_AVERAGE_POOL || node->op == TG_OP_AVERAGE_POOL;
  for (int d = 2; d < x->rank; d++) axes[d - 2] = d;
  tg_node *made = tg_graph_add_node(graph, mean ? TG_OP_REDUCE_MEAN : TG_OP_REDUCE_MAX, node->name, &x, 1,
                                    node, node->id);
  tg_attr_set_ints(graph, made, TG_ATTR_AXES, axes, x->rank - 2);
  tg_out(made)->dtype = tg_out(node)->dtype;
  tg_rewrite_infer(graph, made);
  made->rule = node->rule;
  made->disable_graphamp = node->disable_graphamp;
  tg_rewrite_replace(graph, node, tg_out(made));
}

void tg_pass_lower_global_pool(tg_graph *graph) {
  TG_FOR_NODES_SAFE(graph, node)
  if (is_global(node) || is_one_window(node)) lower_to_reduction(graph, node);
}

void tg_pass_lower_conv_transpose(tg_graph *graph) {
  static const tg_attr_key extents[] = {TG_ATTR_KERNEL_SHAPE, TG_ATTR_STRIDES, TG_ATTR_DILATIONS,
                                        TG_ATTR_PADS};
  TG_FOR_NODES_SAFE(graph, node) {
    if (node->op != TG_OP_CONV_TRANSPOSE) continue;
    tg_value *operands[] = {tg_in(node, 0), tg_in(node, 1), tg_in(node, 2)};
    tg_node *gradient = tg_graph_add_node(graph, TG_OP_CONV_INPUT_GRADIENT, node->name, operands,
                                          node->input_count, node, node->id);
    for (size_t i = 0; i < sizeof extents / sizeof *extents; i++) {
      int count;
      const int64_t *values = tg_attr_ints(node, extents[i], &count);
      tg_attr_set_ints(graph, gradient, extents[i], values, count);
    }
    int64_t sizes[TG_MAX_RANK];
    tg_value_sizes(tg_out(node), sizes);
    tg_attr_set_ints(graph, gradient, TG_ATTR_OUTPUT_SHAPE, sizes + 2, tg_out(node)->rank - 2);
    tg_attr_set_int(gradient, TG_ATTR_GROUP, tg_attr_int(node, TG_ATTR_GROUP));
    tg_out(gradient)->dtype = tg_out(node)->dtype;
    tg_rewrite_infer(graph, gradient);
    gradient->rule = node->rule;
    gradient->disable_graphamp = node->disable_graphamp;
    tg_rewrite_replace(graph, node, tg_out(gradient));
  }
}
