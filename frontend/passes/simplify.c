/* Dead code, identities, constants. */
#include "frontend/build/rewrite.h"
#include "frontend/passes/passes.h"

#include "frontend/reference.h"

/* What one pass of folding may cost: some work for any model, and more where the model holds many constants, not where
 * some were made of nothing. A tensor much larger than what it is computed from is left to the array. */
enum { FREE_ELEMENTS = 1 << 22, FREE_COST = 1 << 28, SMALL = 4096 };

typedef struct fold_budget {
  int64_t elements, cost;
} fold_budget;

static fold_budget budget_of(const tg_graph *graph) {
  int64_t constants = 0;
  for (int i = 0; i < graph->value_count; i++)
    if (graph->values[i]->kind == TG_VALUE_CONSTANT) constants += tg_value_elements(graph->values[i]);
  if (constants > graph->held) constants = graph->held;
  return (fold_budget){FREE_ELEMENTS + 8 * constants, FREE_COST + 8 * constants};
}

static bool spend(fold_budget *budget, const tg_node *node) {
  int64_t out = tg_value_elements(tg_out(node)), in = 0, cost = tg_reference_cost(node);
  for (int i = 0; i < node->input_count; i++) in += tg_in(node, i) ? tg_value_elements(tg_in(node, i)) : 0;
  if ((out > SMALL && out > in) || out > budget->elements || cost > budget->cost) return false;
  budget->elements -= out;
  budget->cost -= cost;
  return true;
}

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

static bool starts_at_zero(const tg_node *node) {
  int rank;
  const int64_t *starts = tg_attr_ints(node, TG_ATTR_STARTS, &rank);
  for (int d = 0; d < rank; d++)
    if (starts[d]) return false; /* backwards */
  return true;
}

static bool pads_nothing(const tg_node *node) {
  int count;
  const int64_t *pads = tg_attr_ints(node, TG_ATTR_PADS, &count);
  for (int i = 0; i < count; i++)
    if (pads[i]) return false;
  return true;
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
  case TG_OP_MIN:
  case TG_OP_SUM:
  case TG_OP_MEAN: return node->input_count == 1;
  case TG_OP_RESHAPE:
  case TG_OP_FLATTEN:
  case TG_OP_SQUEEZE:
  case TG_OP_UNSQUEEZE: return tg_value_same_shape(x, y);
  case TG_OP_SLICE: return tg_value_same_shape(x, y) && starts_at_zero(node);
  case TG_OP_EXPAND: return tg_value_same_shape(x, y);
  case TG_OP_PAD: return pads_nothing(node);
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
  if (tg_attr_find(node, TG_ATTR_STOCHASTIC) && tg_attr_int(node, TG_ATTR_STOCHASTIC))
    return false; /* the run's seed */
  if (node->op == TG_OP_MATMUL &&
      (tg_attr_int(node, TG_ATTR_ACCUMULATION) == TG_ACCUMULATE_BF16SR_EACH || tg_rounds_sums(node)))
    return false;
  for (int i = 0; i < node->input_count; i++) {
    const tg_value *x = tg_in(node, i);
    if (x && (!tg_is_constant(x) || x->elided)) return false;
  }
  return true;
}

void tg_pass_fold_constants(tg_graph *graph) {
  fold_budget budget = budget_of(graph);
  TG_FOR_NODES_SAFE(graph, node) {
    if (node->output_count != 1 || !is_foldable(node) || !spend(&budget, node)) continue;
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
