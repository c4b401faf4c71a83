/* Attributes, types and symbols of a graph (the second half of graph.h). */
#include "frontend/graph.h"

#include "frontend/names.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

const tg_attr *tg_attr_find(const tg_node *node, tg_attr_key key) {
  for (int i = 0; i < node->attr_count; i++)
    if (node->attrs[i].key == key) return &node->attrs[i];
  return NULL;
}

static tg_attr *attr_of(const tg_node *node, tg_attr_key key, tg_attr_kind kind) {
  tg_attr *attr = (tg_attr *)tg_attr_find(node, key);
  assert(attr && tg_attr_get(key)->kind == kind);
  (void)kind;
  return attr;
}

int64_t tg_attr_int(const tg_node *node, tg_attr_key key) { return attr_of(node, key, TG_KIND_INT)->i; }
double tg_attr_float(const tg_node *node, tg_attr_key key) { return attr_of(node, key, TG_KIND_FLOAT)->f; }
const char *tg_attr_text(const tg_node *node, tg_attr_key key) {
  return attr_of(node, key, TG_KIND_TEXT)->text;
}

const int64_t *tg_attr_ints(const tg_node *node, tg_attr_key key, int *out_count) {
  const tg_attr *attr = attr_of(node, key, TG_KIND_INTS);
  if (out_count) *out_count = attr->count;
  return attr->ints;
}

void tg_attr_set_int(tg_node *node, tg_attr_key key, int64_t value) {
  tg_attr *attr = attr_of(node, key, TG_KIND_INT);
  attr->i = value;
  attr->f = (double)value;
}

void tg_attr_set_float(tg_node *node, tg_attr_key key, double value) {
  attr_of(node, key, TG_KIND_FLOAT)->f = value;
}

void tg_attr_set_ints(tg_graph *graph, tg_node *node, tg_attr_key key, const int64_t *values, int count) {
  tg_attr *attr = attr_of(node, key, TG_KIND_INTS);
  int64_t *copy = TG_NEW_ARRAY(graph->arena, int64_t, (size_t)count);
  if (count) memcpy(copy, values, (size_t)count * sizeof *copy);
  attr->ints = copy;
  attr->count = count;
}

void tg_attr_set_text(tg_graph *graph, tg_node *node, tg_attr_key key, const char *text) {
  attr_of(node, key, TG_KIND_TEXT)->text = tg_arena_strdup(graph->arena, text);
}

int64_t tg_value_elements_between(const tg_value *value, int from, int to) {
  int64_t product = 1;
  for (int i = from; i < to; i++) product *= value->dims[i].size;
  return product;
}

int64_t tg_value_elements(const tg_value *value) { return tg_value_elements_between(value, 0, value->rank); }

bool tg_value_is_known(const tg_value *value) {
  if (value->dtype == TG_NONE || value->rank < 0) return false;
  for (int i = 0; i < value->rank; i++)
    if (value->dims[i].size < 0) return false;
  return true;
}

bool tg_value_same_shape(const tg_value *a, const tg_value *b) {
  if (a->rank != b->rank) return false;
  for (int i = 0; i < a->rank; i++)
    if (a->dims[i].size != b->dims[i].size) return false;
  return true;
}

void tg_value_sizes(const tg_value *value, int64_t out_sizes[TG_MAX_RANK]) {
  for (int i = 0; i < value->rank; i++) out_sizes[i] = value->dims[i].size;
}

void tg_value_set_type(tg_value *value, tg_dtype dtype, int rank, const int64_t *sizes) {
  assert(rank <= TG_MAX_RANK);
  value->dtype = dtype;
  value->rank = rank;
  for (int i = 0; i < rank; i++) value->dims[i] = (tg_dim){sizes[i], NULL};
}

const char *tg_value_type_text(const tg_value *value, tg_arena *arena) {
  const char *text = tg_dtype_name(value->dtype);
  if (value->rank < 0) return tg_arena_printf(arena, "%s[?]", text);
  text = tg_arena_printf(arena, "%s[", text);
  for (int i = 0; i < value->rank; i++) {
    const tg_dim *dim = &value->dims[i];
    const char *comma = i ? "," : "";
    if (dim->symbol && dim->size < 0)
      text = tg_arena_printf(arena, "%s%s%s", text, comma, dim->symbol);
    else
      text = tg_arena_printf(arena, "%s%s%" PRId64, text, comma, dim->size);
  }
  return tg_arena_printf(arena, "%s]", text);
}

tg_value *tg_graph_find_value(const tg_graph *graph, const char *name) {
  return tg_name_set_find(graph->names, name);
}

/* Symbols are interned: names are compared by address. Results do not carry them. */
static void assign(tg_graph *graph, tg_symbol *symbol, int64_t size) {
  symbol->size = size;
  for (int i = 0; i < graph->input_count; i++) {
    tg_value *value = graph->inputs[i];
    for (int k = 0; k < value->rank; k++)
      if (value->dims[k].symbol == symbol->name) value->dims[k].size = size;
  }
}

tg_status tg_graph_bind_symbol(tg_graph *graph, const char *name, int64_t size, tg_diag *diag) {
  if (size < 0) return tg_fail(diag, TG_INVALID, "dimension \"%s\" cannot have size %" PRId64, name, size);
  for (int i = 0; i < graph->symbol_count; i++) {
    tg_symbol *symbol = &graph->symbols[i];
    if (strcmp(symbol->name, name)) continue;
    if (symbol->size >= 0 && symbol->size != size)
      return tg_fail(diag, TG_INVALID, "dimension \"%s\" is already %" PRId64, name, symbol->size);
    assign(graph, symbol, size);
    return TG_OK;
  }
  return tg_fail(diag, TG_INVALID, "the model has no dimension named \"%s\"", name);
}

void tg_graph_bind_rest(tg_graph *graph, int64_t size) {
  for (int i = 0; i < graph->symbol_count; i++)
    if (graph->symbols[i].size < 0) assign(graph, &graph->symbols[i], size);
}

bool tg_graph_is_carried(const tg_graph *graph, const tg_value *input) {
  for (size_t i = 0; i < graph->carry_count; i++)
    if (graph->inputs[graph->carries[i].input] == input) return true;
  return false;
}
