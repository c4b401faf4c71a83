/* Bools become floats: 0 or 1 in BF16, which the vector unit computes with and the memory can hold
 * (docs/numerics.md). */
#include "frontend/build/rewrite.h"
#include "frontend/passes/passes.h"

/* What is not 0 is true, NaN too. */
static void lower_cast(tg_graph *graph, tg_node *node) {
  const tg_value *x = tg_in(node, 0);
  if (!tg_dtype_is_float(x->dtype)) return;
  tg_value *operands[] = {tg_in(node, 0), tg_graph_add_scalar(graph, "zero", x->dtype, 0)};
  tg_value *equal = tg_out(tg_rewrite_node(graph, TG_OP_EQUAL, node->name, operands, 2, TG_BF16, node, -1));
  tg_node *not = tg_rewrite_node(graph, TG_OP_NOT, node->name, &equal, 1, TG_BF16, node, node->id);
  not ->rule = node->rule;
  tg_rewrite_replace(graph, node, tg_out(not ));
}

/* Constants first: what reads them is typed by what they are then. */
static void convert_constants(tg_graph *graph) {
  int count = graph->value_count;
  for (int i = 0; i < count; i++) {
    tg_value *value = graph->values[i];
    if (value->kind != TG_VALUE_CONSTANT || value->dtype != TG_BOOL || value->elided || !value->use_count)
      continue;
    tg_value *made = tg_rewrite_numbers(graph, value, TG_BF16);
    for (tg_use *use = value->uses, *next; use; use = next) {
      next = use->next;
      tg_node_set_input(use->node, use->input, made);
    }
  }
}

void tg_pass_lower_logic(tg_graph *graph) {
  TG_FOR_NODES_SAFE(graph, node)
  if (node->op == TG_OP_CAST && tg_out(node)->dtype == TG_BOOL) lower_cast(graph, node);
  convert_constants(graph);
  for (int i = 0; i < graph->input_count; i++)
    if (graph->inputs[i]->dtype == TG_BOOL) graph->inputs[i]->dtype = TG_BF16;
  TG_FOR_NODES(graph, node) {
    if (tg_out(node)->dtype != TG_BOOL) continue;
    tg_out(node)->dtype = TG_BF16;
    if (node->op == TG_OP_CAST) tg_attr_set_int(node, TG_ATTR_TO, TG_BF16);
  }
  tg_pass_remove_dead(graph);
}
