#include "frontend/training/separate.h"

#include "frontend/build/rewrite.h"

#include <string.h>

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

/* --- two that are one */

static bool is_matrix(const tg_value *x) {
  return x->kind == TG_VALUE_CONSTANT && x->initializer && x->dtype == TG_F32 && x->rank == 2 &&
         x->use_count && !x->output_count && x->dims[0].size > 1 && x->dims[1].size > 1;
}

static bool are_transposed(const tg_value *a, const tg_value *b) {
  const float *x = a->data, *y = b->data;
  int64_t rows = a->dims[0].size, columns = a->dims[1].size;
  if (b->dims[0].size != columns || b->dims[1].size != rows) return false;
  for (int64_t r = 0; r < rows; r++)
    for (int64_t c = 0; c < columns; c++)
      if (x[r * columns + c] != y[c * rows + r]) return false;
  return true;
}

static bool has_one_value(const tg_value *a) {
  const float *x = a->data;
  for (int64_t i = 1; i < tg_value_elements(a); i++)
    if (x[i] != *x) return false;
  return true;
}

/* PyTorch's names of folded constants; what it is the transpose of has the module's. */
static bool is_folded(const tg_value *x) { return !strncmp(x->name, "onnx::", 6); }

static void join(tg_graph *graph, tg_value *twin, tg_value *of) {
  static const int64_t swap[] = {1, 0};
  tg_value_replace(graph, twin, tg_rewrite_transpose(graph, of, swap, graph->first));
}

int tg_join_transposes(tg_graph *graph, tg_twin **out_twins) {
  size_t count = 0, capacity = 0;
  int values = graph->value_count;
  *out_twins = NULL;
  for (int i = 0; i < values; i++) {
    tg_value *a = graph->values[i];
    for (int k = i + 1; k < values && is_matrix(a); k++) {
      tg_value *b = graph->values[k];
      if (!is_matrix(b) || !are_transposed(a, b) || are_transposed(a, a) || has_one_value(a)) continue;
      bool first = is_folded(a) && !is_folded(b);
      tg_twin twin = {first ? a->name : b->name, first ? b->name : a->name};
      join(graph, first ? a : b, first ? b : a);
      TG_PUSH(graph->arena, *out_twins, count, capacity, twin);
    }
  }
  return (int)count;
}
