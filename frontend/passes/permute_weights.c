/* MatMul(Reshape(Transpose(x)), W): the classifier after a channels-last body. The reshape can take the
 * elements of a row as they lie, if the rows of a constant W are put into the same order. */
#include "frontend/build/rewrite.h"
#include "frontend/passes/passes.h"

/* Reshape that keeps the first `rank - 1` dimensions, which the transpose must keep too, and joins the
 * rest. */
static tg_node *transpose_before(const tg_node *reshape) {
  const tg_value *y = tg_out(reshape);
  tg_node *transpose = tg_in(reshape, 0)->producer;
  if (!transpose || transpose->op != TG_OP_TRANSPOSE || y->rank < 2 || y->rank >= tg_in(reshape, 0)->rank)
    return NULL;
  const int64_t *perm = tg_attr_ints(transpose, TG_ATTR_PERM, NULL);
  for (int i = 0; i < y->rank - 1; i++)
    if (perm[i] != i || y->dims[i].size != tg_in(transpose, 0)->dims[i].size) return NULL;
  return transpose;
}

/* [K,N] as [sizes of the joined dimensions, N], put into the order of x, as [K,N] again. */
static tg_value *permuted_rows(tg_graph *graph, tg_value *weights, const tg_node *transpose, int kept,
                               tg_node *before) {
  const tg_value *moved = tg_out(transpose);
  const int64_t *perm = tg_attr_ints(transpose, TG_ATTR_PERM, NULL);
  int joined = moved->rank - kept;
  int64_t sizes[TG_MAX_RANK], forward[TG_MAX_RANK], inverse[TG_MAX_RANK];
  int64_t matrix[2] = {weights->dims[0].size, weights->dims[1].size};
  for (int i = 0; i < joined; i++) {
    sizes[i] = moved->dims[kept + i].size;
    forward[i] = perm[kept + i] - kept;
  }
  sizes[joined] = matrix[1];
  forward[joined] = joined;
  tg_perm_invert(forward, joined + 1, inverse);
  tg_value *split = tg_rewrite_reshape(graph, weights, joined + 1, sizes, before);
  return tg_rewrite_reshape(graph, tg_rewrite_transpose(graph, split, inverse, before), 2, matrix, before);
}

static void permute(tg_graph *graph, tg_node *matmul) {
  tg_value *a = tg_in(matmul, 0), *weights = tg_in(matmul, 1);
  if (!tg_is_constant(weights) || weights->rank != 2 || !a->producer || a->producer->op != TG_OP_RESHAPE)
    return;
  tg_node *transpose = transpose_before(a->producer);
  if (!transpose) return;
  int64_t sizes[TG_MAX_RANK];
  tg_value_sizes(a, sizes);
  tg_node_set_input(matmul, 1, permuted_rows(graph, weights, transpose, a->rank - 1, matmul));
  tg_node_set_input(matmul, 0, tg_rewrite_reshape(graph, tg_in(transpose, 0), a->rank, sizes, matmul));
}

void tg_pass_permute_weights(tg_graph *graph) {
  TG_FOR_NODES(graph, node)
  if (node->op == TG_OP_MATMUL) permute(graph, node);
  tg_pass_remove_dead(graph);
}
