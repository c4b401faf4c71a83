#include "frontend/training/recompute.h"

#include "frontend/build/rewrite.h"

#include <stdlib.h>

typedef struct pass {
  tg_graph *graph;
  bool *forward; /* by id: a node of forward */
  bool *kept;    /* by value->index: backward reads it */
  int64_t id_count;
  int value_count;
} pass;

static bool is_forward(const pass *p, const tg_node *node) {
  return node->id < p->id_count && p->forward[node->id];
}

/* Cheap, and of one large operand; what else it reads are parameters and statistics. */
static bool is_candidate(const tg_node *node) {
  if (node->op == TG_OP_BATCH_NORMALIZATION || node->op == TG_OP_LAYER_NORMALIZATION) return true;
  return tg_op_is(node->op, TG_IS_ELEMENTWISE) && tg_op_is(node->op, TG_IS_UNARY);
}

static bool read_by_backward(const pass *p, const tg_value *value) {
  for (const tg_use *use = value->uses; use; use = use->next)
    if (!is_forward(p, use->node)) return true;
  return false;
}

static tg_node *copy_before(tg_graph *graph, const tg_node *node, tg_node *before) {
  tg_value **inputs = TG_NEW_ARRAY(graph->arena, tg_value *, (size_t)node->input_count);
  for (int i = 0; i < node->input_count; i++) inputs[i] = tg_in(node, i);
  return tg_rewrite_copy(graph, node, inputs, before);
}

/* Uses behind forward take the copy, which stands before the first of them. */
static void compute_anew(const pass *p, tg_node *node, tg_node *first) {
  tg_value *y = tg_out(node), *copy = tg_out(copy_before(p->graph, node, first));
  for (tg_use *use = y->uses, *next; use; use = next) {
    next = use->next;
    if (!is_forward(p, use->node)) tg_node_set_input(use->node, use->input, copy);
  }
}

static tg_node *first_reader(const pass *p, const tg_value *value, tg_node *from) {
  for (tg_node *node = from; node; node = node->next)
    for (int i = 0; i < node->input_count && !is_forward(p, node); i++)
      if (tg_in(node, i) == value) return node;
  return NULL;
}

int tg_recompute(tg_graph *graph, const tg_node *last) {
  pass p = {.graph = graph, .id_count = graph->next_id, .value_count = graph->value_count};
  p.forward = calloc((size_t)p.id_count + 1, sizeof *p.forward);
  p.kept = calloc((size_t)p.value_count + 1, sizeof *p.kept);
  if (!p.forward || !p.kept) tg_die("out of memory");
  tg_node *behind = last->next;
  for (const tg_node *node = graph->first; node != behind; node = node->next) p.forward[node->id] = true;
  for (int i = 0; i < p.value_count; i++)
    p.kept[i] = graph->values[i]->kind != TG_VALUE_RESULT || read_by_backward(&p, graph->values[i]);
  int count = 0;
  /* From the last: a copy reads what was its operand's original, whose own copy then comes before it. */
  for (tg_node *node = behind ? behind->previous : graph->last; node; node = node->previous) {
    if (!is_candidate(node) || !p.kept[tg_in(node, 0)->index] || !p.kept[tg_out(node)->index]) continue;
    if (tg_out(node)->output_count) continue; /* it stays in memory */
    compute_anew(&p, node, first_reader(&p, tg_out(node), behind));
    count++;
  }
  free(p.forward);
  free(p.kept);
  return count;
}
