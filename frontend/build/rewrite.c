#include "frontend/build/rewrite.h"

#include "frontend/base/math.h"
#include "frontend/infer.h"

#include <assert.h>
#include <string.h>

void tg_rewrite_infer(tg_graph *graph, tg_node *node) {
  tg_diag diag = {""};
  tg_status status = tg_node_infer(graph, node, &diag);
  assert(!status); /* the pass built something illegal */
  (void)status;
}

tg_node *tg_rewrite_node(tg_graph *graph, tg_op op, const char *name, tg_value *const *inputs, int count,
                         tg_dtype dtype, tg_node *before, int64_t id) {
  tg_node *node = tg_graph_add_node(graph, op, name, inputs, count, before, id);
  tg_out(node)->dtype = dtype ? dtype : inputs[0]->dtype;
  tg_rewrite_infer(graph, node);
  return node;
}

tg_node *tg_rewrite_copy(tg_graph *graph, const tg_node *node, tg_value *const *inputs, tg_node *before) {
  tg_node *copy = tg_graph_add_node(graph, node->op, node->name, inputs, node->input_count, before, -1);
  for (int i = 0; i < node->attr_count; i++) copy->attrs[i] = node->attrs[i];
  copy->disable_graphamp = node->disable_graphamp;
  copy->origin = node->origin;
  copy->casts = node->casts;
  copy->rule = node->rule;
  int64_t sizes[TG_MAX_RANK];
  tg_value_sizes(tg_out(node), sizes);
  tg_value_set_type(tg_out(copy), tg_out(node)->dtype, tg_out(node)->rank, sizes);
  return copy;
}

tg_value *tg_rewrite_reshape(tg_graph *graph, tg_value *value, int rank, const int64_t *sizes,
                             tg_node *before) {
  bool same = rank == value->rank;
  for (int i = 0; same && i < rank; i++) same = sizes[i] == value->dims[i].size;
  if (same) return value;
  tg_node *node = tg_graph_add_node(graph, TG_OP_RESHAPE, value->name, &value, 1, before, -1);
  tg_attr_set_ints(graph, node, TG_ATTR_SHAPE, sizes, rank);
  tg_attr_set_int(node, TG_ATTR_ALLOWZERO, 1);
  tg_rewrite_infer(graph, node);
  return tg_out(node);
}

tg_value *tg_rewrite_transpose(tg_graph *graph, tg_value *value, const int64_t *perm, tg_node *before) {
  if (tg_perm_is_identity(perm, value->rank)) return value;
  tg_node *node = tg_graph_add_node(graph, TG_OP_TRANSPOSE, value->name, &value, 1, before, -1);
  tg_attr_set_ints(graph, node, TG_ATTR_PERM, perm, value->rank);
  tg_rewrite_infer(graph, node);
  return tg_out(node);
}

tg_value *tg_rewrite_cast(tg_graph *graph, tg_value *value, tg_dtype dtype, tg_node *before) {
  if (value->dtype == dtype) return value;
  tg_node *node = tg_graph_add_node(graph, TG_OP_CAST, value->name, &value, 1, before, -1);
  tg_attr_set_int(node, TG_ATTR_TO, dtype);
  tg_rewrite_infer(graph, node);
  return tg_out(node);
}

tg_value *tg_rewrite_slice(tg_graph *graph, tg_value *value, int64_t axis, int64_t start, int64_t count,
                           int64_t step, tg_node *before) {
  if (start == 0 && step == 1 && count == value->dims[axis].size) return value;
  int64_t end = start + (count - 1) * step + (step > 0 ? 1 : -1);
  if (end < 0) end = -value->dims[axis].size - 1;
  tg_node *node = tg_graph_add_node(graph, TG_OP_SLICE, value->name, &value, 1, before, -1);
  tg_attr_set_ints(graph, node, TG_ATTR_STARTS, &start, 1);
  tg_attr_set_ints(graph, node, TG_ATTR_ENDS, &end, 1);
  tg_attr_set_ints(graph, node, TG_ATTR_AXES, &axis, 1);
  tg_attr_set_ints(graph, node, TG_ATTR_STEPS, &step, 1);
  tg_rewrite_infer(graph, node);
  return tg_out(node);
}

tg_value *tg_rewrite_expand(tg_graph *graph, tg_value *value, int rank, const int64_t *sizes,
                            tg_node *before) {
  tg_node *node = tg_graph_add_node(graph, TG_OP_EXPAND, value->name, &value, 1, before, -1);
  tg_attr_set_ints(graph, node, TG_ATTR_SHAPE, sizes, rank);
  tg_rewrite_infer(graph, node);
  return tg_out(node);
}

tg_value *tg_rewrite_concat(tg_graph *graph, const char *name, tg_value *const *parts, int count,
                            int64_t axis, tg_node *before) {
  if (count == 1) return parts[0];
  tg_node *node = tg_graph_add_node(graph, TG_OP_CONCAT, name, parts, count, before, -1);
  tg_attr_set_int(node, TG_ATTR_AXIS, axis);
  tg_rewrite_infer(graph, node);
  return tg_out(node);
}

tg_value *tg_rewrite_numbers(tg_graph *graph, const tg_value *constant, tg_dtype dtype) {
  int64_t sizes[TG_MAX_RANK], count = tg_value_elements(constant);
  tg_value_sizes(constant, sizes);
  tg_value *made = tg_graph_add_constant(graph, constant->name, dtype, constant->rank, sizes, NULL, false);
  for (int64_t i = 0; i < count; i++)
    tg_store_f32((void *)made->data, dtype, (size_t)i,
                 tg_load_f32(constant->data, constant->dtype, (size_t)i));
  return made;
}

void tg_rewrite_replace(tg_graph *graph, tg_node *node, tg_value *value) {
  tg_value *old = tg_out(node);
  const char *name = old->name;
  tg_value_replace(graph, old, value);
  tg_graph_remove_node(graph, node);
  if (value->kind == TG_VALUE_INPUT) return;
  tg_value_rename(graph, old, tg_arena_printf(graph->arena, "%s.old", name));
  tg_value_rename(graph, value, name);
}

bool tg_perm_is_identity(const int64_t *perm, int rank) {
  for (int i = 0; i < rank; i++)
    if (perm[i] != i) return false;
  return true;
}

void tg_perm_invert(const int64_t *perm, int rank, int64_t *out) {
  for (int i = 0; i < rank; i++) out[perm[i]] = i;
}

bool tg_perm_keeps_order(const int64_t *perm, const tg_value *value) {
  int64_t last = -1;
  for (int i = 0; i < value->rank; i++) {
    if (value->dims[perm[i]].size == 1) continue;
    if (perm[i] < last) return false;
    last = perm[i];
  }
  return true;
}

bool tg_is_crop(const tg_node *slice, int64_t begin[TG_MAX_RANK]) {
  int count, steps;
  const int64_t *starts = tg_attr_ints(slice, TG_ATTR_STARTS, &count),
                *axes = tg_attr_ints(slice, TG_ATTR_AXES, NULL),
                *step = tg_attr_ints(slice, TG_ATTR_STEPS, &steps);
  memset(begin, 0, TG_MAX_RANK * sizeof *begin);
  for (int i = 0; i < count; i++) {
    int64_t size = tg_in(slice, 0)->dims[axes[i]].size;
    if (i < steps && step[i] != 1) return false;
    begin[axes[i]] = tg_clamp(starts[i] < 0 ? starts[i] + size : starts[i], 0, size);
  }
  return tg_value_elements(tg_out(slice)) > 0;
}

bool tg_dims_are_groups(const tg_value *value, const tg_value *fine, int out_first[TG_MAX_RANK + 1]) {
  int at = 0;
  if (!tg_value_elements(value) || !tg_value_elements(fine)) return false;
  for (int d = 0; d < value->rank; d++) {
    int64_t size = value->dims[d].size, product = 1;
    out_first[d] = at;
    if (at < fine->rank && size == 1 && fine->dims[at].size == 1) at++; /* one for one */
    while (at < fine->rank && product < size) product *= fine->dims[at++].size;
    while (at < fine->rank && d + 1 == value->rank && fine->dims[at].size == 1) at++;
    if (product != size) return false;
  }
  out_first[value->rank] = at;
  return at == fine->rank;
}

void tg_perm_of_groups(const int64_t *perm, int rank, const int *first, int64_t *out) {
  int count = 0;
  for (int i = 0; i < rank; i++)
    for (int k = first[perm[i]]; k < first[perm[i] + 1]; k++) out[count++] = k;
}
