/* Gradient of ai.onnx.preview.training: reverse mode over the nodes before it. Its last operand is the tensor
 * y. */
#include "frontend/decompose/decompose.h"
#include "frontend/gradients/gradients.h"

tg_status tg_infer_gradient(tg_node *node, tg_diag *diag) {
  const tg_value *y = tg_in(node, node->input_count - 1);
  int64_t sizes[TG_MAX_RANK];
  for (int i = 0; i < node->input_count; i++)
    if (!tg_in(node, i)) return tg_fail(diag, TG_INVALID, "tensor %d has no name", i);
  if (node->output_count >= node->input_count)
    return tg_fail(diag, TG_INVALID, "%d outputs for %d tensors", node->output_count, node->input_count - 1);
  if (!tg_dtype_is_float(y->dtype)) return tg_fail(diag, TG_INVALID, "y is not computed in floats");
  for (int i = 0; i < node->output_count; i++) {
    const tg_value *x = tg_in(node, i);
    tg_value_sizes(x, sizes);
    if (tg_infer_result_at(node, i, x->dtype, x->rank, sizes, diag)) return TG_INVALID;
  }
  return TG_OK;
}

static tg_value *filled(tg_build *b, const tg_value *like, double number) {
  int64_t sizes[TG_MAX_RANK];
  tg_value_sizes(like, sizes);
  tg_value *one = tg_graph_add_scalar(b->graph, "number", like->dtype, number);
  return tg_build_expand(b, one, like->rank, sizes);
}

tg_status tg_expand_gradient(tg_graph *graph, tg_node *node, tg_diag *diag) {
  int count = graph->value_count;
  bool *wanted = TG_NEW_ARRAY(graph->arena, bool, (size_t)count);
  tg_value **gradients = TG_NEW_ARRAY(graph->arena, tg_value *, (size_t)count);
  tg_value *y = tg_in(node, node->input_count - 1);
  tg_node *last = node->previous;
  tg_build b = {.graph = graph,
                .before = node,
                .name = tg_arena_printf(graph->arena, "%s.grad", y->name),
                .forward = -1};
  tg_value *dy = filled(&b, y, 1);
  for (int i = 0; i < node->output_count; i++) wanted[tg_in(node, i)->index] = true;
  if (last && tg_backward_run(graph, wanted, count, last, node, y, dy, 1, TG_REDUCE_FP32, gradients, diag))
    return TG_INVALID;
  if (!last) gradients[y->index] = dy;
  for (int i = 0; i < node->output_count; i++) {
    const tg_value *x = tg_in(node, i);
    tg_value *gradient = gradients[x->index];
    tg_build_result(graph, node->outputs[i], gradient ? gradient : filled(&b, x, 0));
  }
  tg_graph_remove_node(graph, node);
  return TG_OK;
}
