/* Transpose(Reshape(Conv(x, W))) that takes channels apart and puts the parts into another order: a shuffle of pixels
 * whose channels have the position in the block last. A convolution of constant weights makes its channels in that
 * order, and runs of them are moved. */
#include "frontend/build/rewrite.h"
#include "frontend/passes/passes.h"

/* Elementwise, with numbers beside its one tensor: for all channels the same. */
static bool is_same_for_all(const tg_node *node) {
  if (tg_is_plain_cast(node)) return true;
  if (!tg_op_is(node->op, TG_IS_ELEMENTWISE)) return false;
  for (int i = 1; i < node->input_count; i++)
    if (!tg_in(node, i) || !tg_is_constant(tg_in(node, i)) || tg_value_elements(tg_in(node, i)) != 1)
      return false;
  return tg_value_same_shape(tg_in(node, 0), tg_out(node));
}

/* The convolution whose channels nobody sees but by way of `value`; or NULL. */
static tg_node *convolution_behind(const tg_value *value) {
  enum { MOST_HOPS = 4 };
  for (int hops = 0; hops <= MOST_HOPS; hops++) {
    tg_node *node = value->producer;
    if (!node || value->use_count != 1 || value->output_count) return NULL;
    if (node->op == TG_OP_CONV && tg_attr_int(node, TG_ATTR_GROUP) == 1 &&
        tg_attr_int(node, TG_ATTR_CHANNELS_LAST) && tg_is_constant(tg_in(node, 1)) &&
        (!tg_in(node, 2) || tg_is_constant(tg_in(node, 2))))
      return node;
    if (!is_same_for_all(node)) return NULL;
    value = tg_in(node, 0);
  }
  return NULL;
}

/* [.., channels] with channels, split into `count` parts of these sizes, in another order of the parts. */
static tg_value *permuted_channels(tg_graph *graph, tg_value *weights, const int64_t *parts,
                                   const int64_t *order, int count, tg_node *before) {
  int64_t before_sizes[TG_MAX_RANK], sizes[TG_MAX_RANK], perm[TG_MAX_RANK] = {0};
  int rank = weights->rank;
  tg_value_sizes(weights, before_sizes);
  sizes[0] = tg_value_elements(weights) / before_sizes[rank - 1];
  for (int i = 0; i < count; i++) sizes[1 + i] = parts[i], perm[1 + i] = 1 + order[i];
  tg_value *split = tg_rewrite_reshape(graph, weights, 1 + count, sizes, before);
  return tg_rewrite_reshape(graph, tg_rewrite_transpose(graph, split, perm, before), rank, before_sizes,
                            before);
}

static void permute_channels(tg_graph *graph, tg_node *transpose) {
  tg_node *reshape = tg_in(transpose, 0)->producer;
  if (!reshape || reshape->op != TG_OP_RESHAPE || tg_out(reshape)->use_count != 1 ||
      tg_out(reshape)->output_count)
    return;
  tg_value *x = tg_in(reshape, 0);
  const tg_value *split = tg_out(reshape);
  int kept = x->rank - 1, count = split->rank - kept;
  tg_node *conv = convolution_behind(x);
  if (!conv || count < 2 || count >= TG_MAX_RANK || !tg_value_elements(x)) return;
  for (int d = 0; d < kept; d++)
    if (split->dims[d].size != x->dims[d].size) return;
  const int64_t *perm = tg_attr_ints(transpose, TG_ATTR_PERM, NULL);
  int64_t sizes[TG_MAX_RANK], parts[TG_MAX_RANK], order[TG_MAX_RANK], moved[TG_MAX_RANK];
  int found = 0;
  bool ascends = true;
  tg_value_sizes(split, sizes);
  for (int i = 0; i < count; i++) parts[i] = sizes[kept + i];
  for (int i = 0; i < split->rank; i++) {
    moved[i] = perm[i] < kept ? perm[i] : kept + found;
    if (perm[i] < kept) continue;
    order[found] = perm[i] - kept;
    ascends = ascends && order[found] == found;
    found++;
  }
  if (ascends) return;
  for (int i = 1; i <= 2; i++)
    if (tg_in(conv, i))
      tg_node_set_input(conv, i, permuted_channels(graph, tg_in(conv, i), parts, order, count, conv));
  for (int i = 0; i < count; i++) sizes[kept + i] = parts[order[i]];
  tg_node_set_input(transpose, 0, tg_rewrite_reshape(graph, x, split->rank, sizes, transpose));
  tg_attr_set_ints(graph, transpose, TG_ATTR_PERM, moved, split->rank);
}

void tg_pass_permute_channels(tg_graph *graph) {
  TG_FOR_NODES(graph, node)
  if (node->op == TG_OP_TRANSPOSE) permute_channels(graph, node);
  tg_pass_remove_dead(graph);
}
