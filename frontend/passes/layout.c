/* Convolution, its gradients and pooling to channels-last, each between transposes of its own; sink.c and
 * moves.c make them meet. */
#include "frontend/build/rewrite.h"
#include "frontend/passes/passes.h"

/* One spatial dimension becomes two, the first of extent 1. */
static void add_unit_height(tg_graph *graph, tg_node *node) {
  static const tg_attr_key extents[] = {TG_ATTR_KERNEL_SHAPE, TG_ATTR_STRIDES, TG_ATTR_DILATIONS,
                                        TG_ATTR_OUTPUT_SHAPE};
  for (int i = 0; i < 4; i++) {
    if (!tg_attr_find(node, extents[i])) continue;
    int64_t pair[2] = {1, tg_attr_ints(node, extents[i], NULL)[0]};
    tg_attr_set_ints(graph, node, extents[i], pair, 2);
  }
  const int64_t *pads = tg_attr_ints(node, TG_ATTR_PADS, NULL);
  int64_t both[4] = {0, pads[0], 0, pads[1]};
  tg_attr_set_ints(graph, node, TG_ATTR_PADS, both, 4);
}

/* [N,C,W] to [N,1,W,C], or [N,C,H,W] to [N,H,W,C]. */
static tg_value *data_in(tg_graph *graph, tg_value *x, tg_node *before) {
  static const int64_t line[] = {0, 2, 1}, image[] = {0, 2, 3, 1};
  if (x->rank == 4) return tg_rewrite_transpose(graph, x, image, before);
  int64_t sizes[4] = {x->dims[0].size, 1, x->dims[2].size, x->dims[1].size};
  return tg_rewrite_reshape(graph, tg_rewrite_transpose(graph, x, line, before), 4, sizes, before);
}

static tg_value *data_out(tg_graph *graph, tg_value *y, int rank, tg_node *before) {
  static const int64_t line[] = {0, 2, 1}, image[] = {0, 3, 1, 2};
  if (rank == 4) return tg_rewrite_transpose(graph, y, image, before);
  int64_t sizes[3] = {y->dims[0].size, y->dims[2].size, y->dims[3].size};
  return tg_rewrite_transpose(graph, tg_rewrite_reshape(graph, y, 3, sizes, before), line, before);
}

/* [Cout,Cin/group,KH,KW] to [KH,KW,Cin/group,Cout]. */
static tg_value *weights_in(tg_graph *graph, tg_value *w, tg_node *before) {
  static const int64_t perm[] = {2, 3, 1, 0};
  int64_t sizes[4] = {w->dims[0].size, w->dims[1].size, 1, w->dims[2].size};
  return tg_rewrite_transpose(graph, w->rank == 3 ? tg_rewrite_reshape(graph, w, 4, sizes, before) : w, perm,
                              before);
}

/* And back; of rank 3 without KH, which is 1. */
static tg_value *weights_out(tg_graph *graph, tg_value *w, int rank, tg_node *before) {
  static const int64_t perm[] = {3, 2, 0, 1};
  tg_value *moved = tg_rewrite_transpose(graph, w, perm, before);
  int64_t sizes[3] = {w->dims[3].size, w->dims[2].size, w->dims[1].size};
  return rank == 3 ? tg_rewrite_reshape(graph, moved, 3, sizes, before) : moved;
}

static void convert(tg_graph *graph, tg_node *node) {
  tg_value *y = tg_out(node);
  int rank = y->rank;
  tg_node *after = node->next;
  tg_node_set_input(node, 0, data_in(graph, tg_in(node, 0), node));
  if (node->op == TG_OP_CONV_WEIGHT_GRADIENT || (node->op == TG_OP_WINDOW_GRADIENT && tg_in(node, 1)))
    tg_node_set_input(node, 1, data_in(graph, tg_in(node, 1), node));
  else if (tg_op_is(node->op, TG_IS_GEMM))
    tg_node_set_input(node, 1, weights_in(graph, tg_in(node, 1), node));
  if (rank == 3) add_unit_height(graph, node);
  tg_attr_set_int(node, TG_ATTR_CHANNELS_LAST, 1);
  tg_rewrite_infer(graph, node);
  tg_value *result = node->op == TG_OP_CONV_WEIGHT_GRADIENT ? weights_out(graph, y, rank, after)
                                                            : data_out(graph, y, rank, after);
  tg_value_replace_except(graph, y, result, node->next); /* the first node after it reads y */
}

void tg_pass_channels_last(tg_graph *graph) {
  TG_FOR_NODES_SAFE(graph, node)
  if (tg_op_is(node->op, TG_IS_WINDOW) && !tg_attr_int(node, TG_ATTR_CHANNELS_LAST)) convert(graph, node);
}
