/* Dead code, identities, constants. */
#include "frontend/passes/passes.h"
#include "frontend/passes/rewrite.h"

#include "frontend/reference.h"

enum { FOLD_COST = 1 << 28, FOLD_ELEMENTS = 1 << 27 }; /* beyond, folding would cost more than it saves */

void tg_pass_remove_dead(tg_graph *graph) {
  for (tg_node *node = graph->last, *previous; node; node = previous) {
    previous = node->previous;
    bool used = false;
    for (int i = 0; i < node->output_count; i++)
      used |= node->outputs[i]->use_count || node->outputs[i]->output_count;
    if (!used) tg_graph_remove_node(graph, node);
  }
  tg_graph_compact(graph);
}

static bool is_identity(const tg_node *node) {
  const tg_value *x = tg_in(node, 0), *y = tg_out(node);
  if (x->dtype != y->dtype) return false;
  switch (node->op) {
  case TG_OP_IDENTITY:
  case TG_OP_DROPOUT:
  case TG_OP_CAST: return true;
  case TG_OP_CONCAT:
  case TG_OP_MAX:
  case TG_OP_MIN: return node->input_count == 1;
  case TG_OP_RESHAPE:
  case TG_OP_FLATTEN:
  case TG_OP_SQUEEZE:
  case TG_OP_UNSQUEEZE: return tg_value_same_shape(x, y);
  case TG_OP_TRANSPOSE: return tg_perm_is_identity(tg_attr_ints(node, TG_ATTR_PERM, NULL), x->rank);
  default: return false;
  }
}

void tg_pass_remove_identity(tg_graph *graph) {
  TG_FOR_NODES_SAFE(graph, node) {
    if (!is_identity(node)) continue;
    tg_value_replace(graph, tg_out(node), tg_in(node, 0));
    tg_graph_remove_node(graph, node);
  }
}

static bool is_foldable(const tg_node *node) {
  for (int i = 0; i < node->input_count; i++) {
    const tg_value *x = tg_in(node, i);
    if (x && (!tg_is_constant(x) || x->elided)) return false;
  }
  return tg_value_elements(tg_out(node)) <= FOLD_ELEMENTS && tg_reference_cost(node) <= FOLD_COST;
}

void tg_pass_fold_constants(tg_graph *graph) {
  TG_FOR_NODES_SAFE(graph, node) {
    if (!is_foldable(node)) continue;
    const void **inputs = TG_NEW_ARRAY(graph->arena, const void *, (size_t)node->input_count);
    for (int i = 0; i < node->input_count; i++) inputs[i] = tg_in(node, i) ? tg_in(node, i)->data : NULL;
    tg_value *result = tg_out(node);
    int64_t sizes[TG_MAX_RANK];
    tg_value_sizes(result, sizes);
    tg_value *folded =
        tg_graph_add_constant(graph, result->name, result->dtype, result->rank, sizes, NULL, false);
    void *data = (void *)folded->data;
    tg_reference_node(node, inputs, &data);
    tg_rewrite_replace(graph, node, folded);
  }
}
