/* A window over a volume is one over the planes of all volumes, whose result has the depth taken apart from the batch behind it. Such
 * Reshapes move below elementwise operators, which then are the convolution's epilogue. */
#include "frontend/build/rewrite.h"
#include "frontend/passes/passes.h"
#include "frontend/passes/window_results.h"

/* The planes [N D, ..] of which the value is [N, D, ..]; NULL: it is not made so. */
static tg_value *planes_of(const tg_value *value) {
  const tg_node *reshape = value->producer;
  tg_value *from = reshape && reshape->op == TG_OP_RESHAPE ? tg_in(reshape, 0) : NULL;
  bool is = from && from->rank + 1 == value->rank && from->rank >= 2;
  for (int d = 1; is && d < from->rank; d++) is = from->dims[d].size == value->dims[d + 1].size;
  return is && tg_is_made_by_window(from) ? from : NULL;
}

/* Has each plane the same elements of it? */
static bool is_of_any_plane(const tg_value *operand, int rank) {
  int more = rank - operand->rank;
  return more >= 2 || ((more > 0 || operand->dims[0].size == 1) && operand->dims[1 - more].size == 1);
}

/* The planes of an operand of which there is one that is made so; NULL: some operand does not have planes. */
static const tg_value *planes_of_operands(const tg_node *node) {
  const tg_value *y = tg_out(node), *planes = NULL;
  if (!tg_op_is(node->op, TG_IS_ELEMENTWISE) && !tg_is_plain_cast(node)) return NULL;
  for (int i = 0; i < node->input_count; i++) {
    const tg_value *operand = tg_in(node, i);
    if (!operand) return NULL;
    bool whole = tg_value_same_shape(operand, y);
    if (!whole && !is_of_any_plane(operand, y->rank)) return NULL;
    if (whole && !planes) planes = planes_of(operand);
  }
  return planes;
}

static tg_value *operand_of_planes(tg_graph *graph, tg_value *operand, const tg_value *y,
                                   const int64_t *sizes, tg_node *node) {
  int64_t own[TG_MAX_RANK];
  if (tg_value_same_shape(operand, y)) {
    tg_value *planes = planes_of(operand);
    return planes ? planes : tg_rewrite_reshape(graph, operand, y->rank - 1, sizes, node);
  }
  int dropped = operand->rank - (y->rank - 2); /* of size 1 */
  if (dropped <= 0) return operand;
  for (int d = dropped; d < operand->rank; d++) own[d - dropped] = operand->dims[d].size;
  return tg_rewrite_reshape(graph, operand, operand->rank - dropped, own, node);
}

static void sink(tg_graph *graph, tg_node *node, const tg_value *planes) {
  tg_value *y = tg_out(node);
  tg_value whole = *y;
  int64_t sizes[TG_MAX_RANK], apart[TG_MAX_RANK];
  tg_value_sizes(planes, sizes);
  tg_value_sizes(y, apart);
  for (int i = 0; i < node->input_count; i++)
    tg_node_set_input(node, i, operand_of_planes(graph, tg_in(node, i), &whole, sizes, node));
  tg_rewrite_infer(graph, node);
  tg_value *result = tg_rewrite_reshape(graph, y, whole.rank, apart, node->next);
  tg_value_replace_except(graph, y, result, result->producer);
}

void tg_pass_sink_planes(tg_graph *graph) {
  TG_FOR_NODES_SAFE(graph, node) {
    const tg_value *planes = planes_of_operands(node);
    if (planes) sink(graph, node, planes);
  }
  tg_pass_remove_dead(graph);
}
