#include "runtime/report/graph.h"
#include "runtime/json_text.h"

typedef struct drawing {
  const tg_graph *graph;
  tg_arena arena;
  json_t *nodes, *edges;
} drawing;

/* A node is named by its first result; outputs of the model come behind all values. */
static int id_of(const tg_value *value) {
  return value->producer ? tg_out(value->producer)->index : value->index;
}

static json_t *node_json(drawing *d, int id, const char *kind, const char *op, const char *name,
                         const tg_value *value, tg_dtype format) {
  return json_pack("{s:i, s:s, s:s, s:o, s:s, s:o}", "id", id, "kind", kind, "op", op, "name",
                   tg_json_text(name), "format", tg_dtype_name(format), "type",
                   tg_json_text(tg_value_type_text(value, &d->arena)));
}

static void put_edge(drawing *d, const tg_value *from, int to) {
  if (from->kind == TG_VALUE_CONSTANT) return;
  json_array_append_new(d->edges, json_pack("[i, i, s]", id_of(from), to, tg_dtype_name(from->dtype)));
}

static void put_operator(drawing *d, const tg_node *node) {
  const tg_value *y = tg_out(node);
  json_t *operands = json_array();
  for (int i = 0; i < node->input_count; i++) {
    const tg_value *x = tg_in(node, i);
    if (!x) continue;
    json_array_append_new(operands,
                          json_pack("{s:o, s:s, s:b}", "name", tg_json_text(x->name), "format",
                                    tg_dtype_name(x->dtype), "constant", x->kind == TG_VALUE_CONSTANT));
    put_edge(d, x, y->index);
  }
  json_t *one = node_json(d, y->index, node->op == TG_OP_CAST ? "cast" : "operator",
                          tg_op_get(node->op)->name, *node->name ? node->name : y->name, y, y->dtype);
  json_object_set_new(one, "rule", node->rule ? tg_json_text(node->rule) : json_null());
  json_object_set_new(one, "operands", operands);
  json_array_append_new(d->nodes, one);
}

json_t *tg_report_graph(const tg_graph *graph) {
  if (!graph) return json_null();
  drawing d = {.graph = graph, .nodes = json_array(), .edges = json_array()};
  for (int i = 0; i < graph->value_count; i++)
    if (graph->values[i]->kind == TG_VALUE_INPUT)
      json_array_append_new(d.nodes, node_json(&d, i, "input", "input", graph->values[i]->name,
                                               graph->values[i], graph->values[i]->dtype));
  TG_FOR_NODES(graph, node) put_operator(&d, node);
  for (int i = 0; i < graph->output_count; i++) {
    int id = graph->value_count + i;
    json_array_append_new(d.nodes, node_json(&d, id, "output", "output", graph->output_names[i],
                                             graph->outputs[i], graph->output_dtypes[i]));
    put_edge(&d, graph->outputs[i], id);
  }
  tg_arena_release(&d.arena);
  return json_pack("{s:o, s:o}", "nodes", d.nodes, "edges", d.edges);
}
