/* A Concat among whose inputs are all of another one's, side by side, takes that in their place: where it lies in the larger one it is a
 * part of it, and what each layer of a dense block adds to what all layers before have made is stored once. */
#include "frontend/build/rewrite.h"
#include "frontend/passes/passes.h"

/* Are its inputs those of `node` from number `first` on? */
static bool is_run(const tg_node *inner, const tg_node *node, int first) {
  if (inner->input_count > node->input_count - first) return false;
  for (int i = 0; i < inner->input_count; i++)
    if (tg_in(inner, i) != tg_in(node, first + i)) return false;
  return tg_attr_int(inner, TG_ATTR_AXIS) == tg_attr_int(node, TG_ATTR_AXIS);
}

static bool stands_before(const tg_node *node, const tg_node *other) {
  for (node = node->next; node; node = node->next)
    if (node == other) return true;
  return false;
}

/* The longest Concat of a run of inputs that begins with number `first`; NULL: there is none but the node. */
static tg_node *longest_run(const tg_node *node, int first) {
  tg_node *longest = NULL;
  for (const tg_use *use = tg_in(node, first)->uses; use; use = use->next) {
    tg_node *inner = use->node;
    if (inner == node || inner->op != TG_OP_CONCAT || use->input || inner->input_count < 2) continue;
    if (longest && inner->input_count <= longest->input_count) continue;
    if (is_run(inner, node, first) && stands_before(inner, node)) longest = inner;
  }
  return longest;
}

/* Again, since that Concat may itself be among the first inputs of another one. */
static void nest(tg_graph *graph, tg_node *node) {
  tg_value **parts = TG_NEW_ARRAY(graph->arena, tg_value *, (size_t)node->input_count);
  int count = 0;
  for (int i = 0; i < node->input_count;) {
    const tg_node *inner = longest_run(node, i);
    parts[count++] = inner ? tg_out(inner) : tg_in(node, i);
    i += inner ? inner->input_count : 1;
  }
  if (count == node->input_count) return;
  tg_value *y =
      tg_rewrite_concat(graph, tg_out(node)->name, parts, count, tg_attr_int(node, TG_ATTR_AXIS), node);
  tg_rewrite_replace(graph, node, y);
  if (count > 1) nest(graph, y->producer);
}

void tg_pass_nest_concats(tg_graph *graph) {
  TG_FOR_NODES_SAFE(graph, node)
  if (node->op == TG_OP_CONCAT) nest(graph, node);
}
