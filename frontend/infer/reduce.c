/* Shapes of reductions. */
#include "frontend/base/math.h"
#include "frontend/infer/internal.h"

#include <inttypes.h>
#include <string.h>

tg_status tg_infer_axes(tg_graph *graph, tg_node *node, int rank, bool out_set[TG_MAX_RANK], tg_diag *diag) {
  int count, kept = 0;
  const int64_t *axes = tg_attr_ints(node, TG_ATTR_AXES, &count);
  int64_t sorted[TG_MAX_RANK];
  memset(out_set, 0, TG_MAX_RANK * sizeof *out_set);
  for (int i = 0; i < count; i++) {
    int64_t axis = axes[i];
    if (axis < -rank || axis >= rank)
      return tg_fail(diag, TG_INVALID, "axis %" PRId64 " is outside rank %d", axis, rank);
    if (axis < 0) axis += rank;
    if (out_set[axis]) return tg_fail(diag, TG_INVALID, "axis %" PRId64 " stands twice", axis);
    out_set[axis] = true;
  }
  for (int i = 0; i < rank; i++)
    if (out_set[i]) sorted[kept++] = i;
  tg_attr_set_ints(graph, node, TG_ATTR_AXES, sorted, kept);
  return TG_OK;
}

/* No axes mean all, unless they mean none. */
static void complete_axes(tg_graph *graph, tg_node *node, int rank) {
  int64_t all[TG_MAX_RANK];
  int count;
  tg_attr_ints(node, TG_ATTR_AXES, &count);
  if (count || tg_attr_int(node, TG_ATTR_NOOP_WITH_EMPTY_AXES)) return;
  for (int i = 0; i < rank; i++) all[i] = i;
  tg_attr_set_ints(graph, node, TG_ATTR_AXES, all, rank);
}

/* A maximum of nothing is no number; a sum of nothing is 0. */
static bool has_identity(tg_op op) {
  return op != TG_OP_REDUCE_MAX && op != TG_OP_REDUCE_MIN && op != TG_OP_REDUCE_MEAN;
}

tg_status tg_infer_reduce(tg_graph *graph, tg_node *node, tg_diag *diag) {
  const tg_value *x = tg_in(node, 0);
  const tg_attr *block = tg_attr_find(node, TG_ATTR_BLOCK);
  bool reduced[TG_MAX_RANK];
  complete_axes(graph, node, x->rank);
  if (tg_infer_axes(graph, node, x->rank, reduced, diag)) return TG_INVALID;
  int rank = 0;
  int64_t sizes[TG_MAX_RANK];
  for (int d = 0; d < x->rank; d++) {
    int64_t size = x->dims[d].size;
    if (!reduced[d]) {
      sizes[rank++] = size;
      continue;
    }
    if (!size && !has_identity(node->op)) return tg_fail(diag, TG_INVALID, "dimension %d is empty", d);
    if (tg_attr_int(node, TG_ATTR_KEEPDIMS))
      sizes[rank++] = block && block->i ? tg_div_up(size, block->i) : 1;
  }
  return tg_infer_result(node, x->dtype, rank, sizes, diag);
}
