#include "frontend/training/separate.h"

static bool is_shared_initializer(const tg_value *x) {
  return tg_is_constant(x) && x->initializer && x->use_count + x->output_count > 1;
}

/* The Identity's result, as an initializer of that name. */
static void separate(tg_graph *graph, tg_node *node) {
  const tg_value *x = tg_in(node, 0);
  tg_value *y = tg_out(node);
  const char *name = tg_arena_strdup(graph->arena, y->name);
  int64_t sizes[TG_MAX_RANK];
  tg_value_sizes(x, sizes);
  tg_value_rename(graph, y, tg_arena_printf(graph->arena, "%s.shared", name));
  tg_value *own = tg_graph_add_constant(graph, name, x->dtype, x->rank, sizes, x->data, true);
  own->initializer = true;
  tg_value_replace(graph, y, own);
  tg_graph_remove_node(graph, node);
}

void tg_separate_parameters(tg_graph *graph) {
  TG_FOR_NODES_SAFE(graph, node) {
    if (node->op != TG_OP_IDENTITY) continue;
    if (is_shared_initializer(tg_in(node, 0))) {
      separate(graph, node);
    } else if (tg_is_constant(tg_in(node, 0))) {
      tg_value_replace(graph, tg_out(node), tg_in(node, 0));
      tg_graph_remove_node(graph, node);
    }
  }
}
