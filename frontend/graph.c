#include "frontend/graph.h"

#include "frontend/names.h"

#include <assert.h>
#include <math.h>
#include <string.h>

tg_graph *tg_graph_create(tg_arena *arena, const char *name) {
  tg_graph *graph = TG_NEW(arena, tg_graph);
  graph->arena = arena;
  graph->name = tg_arena_strdup(arena, name ? name : "");
  graph->undecided = -1;
  graph->names = tg_name_set_create(arena);
  return graph;
}

static tg_value *new_value(tg_graph *graph, tg_value_kind kind, const char *name) {
  tg_value *value = TG_NEW(graph->arena, tg_value);
  value->name = tg_name_set_add_fresh(graph->names, name && *name ? name : "value", value);
  value->kind = kind;
  value->index = graph->value_count;
  value->rank = -1;
  size_t count = (size_t)graph->value_count;
  TG_PUSH(graph->arena, graph->values, count, graph->values_capacity, value);
  graph->value_count++;
  return value;
}

static const char *intern_symbol(tg_graph *graph, const char *name) {
  for (int i = 0; i < graph->symbol_count; i++)
    if (!strcmp(graph->symbols[i].name, name)) return graph->symbols[i].name;
  tg_symbol symbol = {tg_arena_strdup(graph->arena, name), -1};
  size_t count = (size_t)graph->symbol_count;
  TG_PUSH(graph->arena, graph->symbols, count, graph->symbols_capacity, symbol);
  graph->symbol_count++;
  return symbol.name;
}

static void set_dims(tg_graph *graph, tg_value *value, tg_dtype dtype, int rank, const tg_dim *dims) {
  assert(rank <= TG_MAX_RANK);
  value->dtype = dtype;
  value->rank = rank;
  for (int i = 0; i < rank; i++) {
    value->dims[i] = dims[i];
    if (dims[i].symbol) value->dims[i].symbol = intern_symbol(graph, dims[i].symbol);
  }
}

tg_value *tg_graph_add_input(tg_graph *graph, const char *name, tg_dtype dtype, int rank,
                             const tg_dim *dims) {
  tg_value *value = new_value(graph, TG_VALUE_INPUT, name);
  set_dims(graph, value, dtype, rank, dims);
  size_t count = (size_t)graph->input_count;
  TG_PUSH(graph->arena, graph->inputs, count, graph->inputs_capacity, value);
  graph->input_count++;
  return value;
}

tg_value *tg_graph_add_constant(tg_graph *graph, const char *name, tg_dtype dtype, int rank,
                                const int64_t *sizes, const void *data, bool borrow) {
  tg_value *value = new_value(graph, TG_VALUE_CONSTANT, name);
  tg_value_set_type(value, dtype, rank, sizes);
  size_t count = (size_t)tg_value_elements(value), size = tg_dtype_size(dtype);
  if (data && borrow) {
    value->data = data;
    return value;
  }
  void *copy = tg_arena_alloc(graph->arena, count, size);
  if (data && count) memcpy(copy, data, count * size);
  value->data = copy;
  return value;
}

static void set_elements(tg_graph *graph, tg_value *value, const void *data) {
  size_t size = (size_t)tg_value_elements(value) * tg_dtype_size(value->dtype);
  void *copy = tg_arena_alloc(graph->arena, size ? size : 1, 1);
  memcpy(copy, data, size);
  value->data = copy;
}

tg_value *tg_graph_find_default(const tg_graph *graph, const char *name) {
  for (int i = 0; i < graph->value_count; i++)
    if (graph->values[i]->default_of && !strcmp(graph->values[i]->name, name)) return graph->values[i];
  return NULL;
}

void tg_graph_replace_default(tg_graph *graph, tg_value *value, int rank, const int64_t *sizes,
                              const void *data) {
  assert(value->default_of);
  tg_value_set_type(value, value->dtype, rank, sizes);
  set_elements(graph, value, data);
  value->default_of = NULL;
}

void tg_graph_fix_input(tg_graph *graph, int input, const void *data) {
  tg_value *value = graph->inputs[input];
  assert(!tg_graph_is_carried(graph, value));
  value->kind = TG_VALUE_CONSTANT;
  set_elements(graph, value, data);
  for (int i = input + 1; i < graph->input_count; i++) graph->inputs[i - 1] = graph->inputs[i];
  graph->input_count--;
  for (size_t i = 0; i < graph->carry_count; i++) graph->carries[i].input -= graph->carries[i].input > input;
}

tg_value *tg_graph_add_scalar(tg_graph *graph, const char *name, tg_dtype dtype, double number) {
  char cell[8] = {0};
  if (tg_dtype_is_float(dtype) && dtype != TG_F64)
    tg_store_f32(cell, dtype, 0, (float)number);
  else if (dtype == TG_F64)
    memcpy(cell, &number, sizeof number);
  else
    tg_store_i64(cell, dtype, 0, (int64_t)number);
  return tg_graph_add_constant(graph, name, dtype, 0, NULL, cell, false);
}

tg_status tg_graph_count_made(tg_graph *graph, tg_dtype dtype, int rank, const int64_t *sizes,
                              tg_diag *diag) {
  double elements = 1, each = (double)tg_dtype_size(dtype),
         most = TG_MOST_MADE_BYTES + TG_MADE_FOR_EACH * (double)graph->held;
  for (int d = 0; d < rank; d++) elements *= (double)sizes[d];
  double bytes = elements * (each > 4 ? each : 4);
  if (bytes < 0 || (double)graph->made + bytes > most)
    return tg_fail(
        diag, TG_INVALID,
        "a constant of %.0f elements is made: with it those that the model has no data of take more "
        "than %.0f MB",
        elements, most / (1 << 20));
  graph->made += (int64_t)bytes;
  return TG_OK;
}

tg_value *tg_graph_add_seeded(tg_graph *graph, const char *name, tg_dtype dtype, int rank,
                              const int64_t *sizes, uint64_t seed, float scale) {
  assert(seed);
  tg_value *value = tg_graph_add_constant(graph, name, dtype, rank, sizes, NULL, false);
  tg_seeded_fill((void *)value->data, dtype, tg_value_elements(value), seed, scale);
  value->seed = seed;
  value->seed_scale = scale;
  return value;
}

static void link_before(tg_graph *graph, tg_node *node, tg_node *before) {
  node->next = before;
  node->previous = before ? before->previous : graph->last;
  *(node->previous ? &node->previous->next : &graph->first) = node;
  *(before ? &before->previous : &graph->last) = node;
}

static void unlink_node(tg_graph *graph, tg_node *node) {
  *(node->previous ? &node->previous->next : &graph->first) = node->next;
  *(node->next ? &node->next->previous : &graph->last) = node->previous;
}

static void add_use(tg_use *use, tg_value *value) {
  use->value = value;
  use->previous = NULL;
  use->next = NULL;
  if (!value) return;
  use->next = value->uses;
  if (use->next) use->next->previous = use;
  value->uses = use;
  value->use_count++;
}

static void drop_use(tg_use *use) {
  tg_value *value = use->value;
  if (!value) return;
  *(use->previous ? &use->previous->next : &value->uses) = use->next;
  if (use->next) use->next->previous = use->previous;
  value->use_count--;
  use->value = NULL;
}

static void set_inputs(tg_graph *graph, tg_node *node, tg_value *const *inputs, int count) {
  node->input_count = count;
  node->inputs = TG_NEW_ARRAY(graph->arena, tg_use, (size_t)count);
  for (int i = 0; i < count; i++) {
    node->inputs[i].node = node;
    node->inputs[i].input = i;
    add_use(&node->inputs[i], inputs[i]);
  }
}

static void set_default_attributes(tg_graph *graph, tg_node *node) {
  const tg_op_info *info = tg_op_get(node->op);
  node->attr_count = info->attr_count;
  node->attrs = TG_NEW_ARRAY(graph->arena, tg_attr, (size_t)info->attr_count);
  for (int i = 0; i < info->attr_count; i++) {
    double initial = info->attrs[i].initial;
    node->attrs[i] = (tg_attr){.key = info->attrs[i].key, .f = initial, .text = ""};
    if (fabs(initial) < 0x1p63) node->attrs[i].i = (int64_t)initial; /* not NaN, nor the largest float */
  }
}

void tg_node_set_outputs(tg_graph *graph, tg_node *node, int count) {
  assert(count >= node->output_count);
  tg_value **outputs = TG_NEW_ARRAY(graph->arena, tg_value *, (size_t)count);
  for (int i = 0; i < count; i++) {
    bool fresh = i >= node->output_count;
    const char *name = *node->name ? node->name : tg_op_get(node->op)->name;
    outputs[i] = fresh ? new_value(graph, TG_VALUE_RESULT, name) : node->outputs[i];
    outputs[i]->producer = node;
    outputs[i]->producer_output = i;
  }
  node->outputs = outputs;
  node->output_count = count;
}

tg_node *tg_graph_add_node(tg_graph *graph, tg_op op, const char *name, tg_value *const *inputs,
                           int input_count, tg_node *before, int64_t id) {
  const tg_op_info *info = tg_op_get(op);
  tg_node *node = TG_NEW(graph->arena, tg_node);
  node->op = op;
  node->id = id >= 0 ? id : graph->next_id;
  node->forward = node->forward_operand = -1;
  if (node->id >= graph->next_id) graph->next_id = node->id + 1;
  node->name = tg_arena_strdup(graph->arena, name ? name : "");
  set_inputs(graph, node, inputs, input_count);
  tg_node_set_outputs(graph, node, info->outputs == TG_ANY_COUNT ? 1 : info->outputs);
  set_default_attributes(graph, node);
  link_before(graph, node, before);
  graph->node_count++;
  return node;
}

void tg_graph_add_output(tg_graph *graph, tg_value *value, const char *name, tg_dtype declared) {
  size_t count = (size_t)graph->output_count;
  const char *copy = tg_arena_strdup(graph->arena, name);
  TG_PUSH(graph->arena, graph->outputs, count, graph->outputs_capacity, value);
  count--;
  TG_PUSH(graph->arena, graph->output_names, count, graph->names_capacity, copy);
  count--;
  TG_PUSH(graph->arena, graph->output_dtypes, count, graph->dtypes_capacity, declared);
  count--;
  tg_shape open = {.rank = -1};
  TG_PUSH(graph->arena, graph->output_shapes, count, graph->shapes_capacity, open);
  graph->output_count++;
  value->output_count++;
}

void tg_graph_forget_outputs(tg_graph *graph) {
  for (int i = 0; i < graph->output_count; i++) graph->outputs[i]->output_count--;
  graph->output_count = 0;
}

void tg_graph_declare_output(tg_graph *graph, int output, int rank, const tg_dim *dims) {
  assert(output >= 0 && output < graph->output_count && rank <= TG_MAX_RANK);
  graph->output_shapes[output].rank = rank;
  for (int d = 0; d < rank; d++) graph->output_shapes[output].sizes[d] = dims[d].size;
}

void tg_graph_set_output(tg_graph *graph, int output, tg_value *value) {
  assert(output >= 0 && output < graph->output_count);
  graph->outputs[output]->output_count--;
  graph->outputs[output] = value;
  value->output_count++;
}

void tg_graph_add_carry(tg_graph *graph, int input, int output) {
  assert(input >= 0 && input < graph->input_count && output >= 0 && output < graph->output_count);
  tg_carry carry = {input, output};
  TG_PUSH(graph->arena, graph->carries, graph->carry_count, graph->carry_capacity, carry);
}

void tg_node_set_input(tg_node *node, int input, tg_value *value) {
  assert(input < node->input_count);
  drop_use(&node->inputs[input]);
  add_use(&node->inputs[input], value);
}

void tg_node_truncate_inputs(tg_node *node, int count) {
  for (int i = count; i < node->input_count; i++) drop_use(&node->inputs[i]);
  if (count < node->input_count) node->input_count = count;
}

void tg_value_replace_except(tg_graph *graph, tg_value *from, tg_value *to, const tg_node *except) {
  assert(from != to);
  for (tg_use *use = from->uses, *next; use; use = next) {
    next = use->next;
    if (use->node == except) continue;
    drop_use(use);
    add_use(use, to);
  }
  for (int i = 0; from->output_count && i < graph->output_count; i++) {
    if (graph->outputs[i] != from) continue;
    graph->outputs[i] = to;
    from->output_count--;
    to->output_count++;
  }
}

void tg_value_replace(tg_graph *graph, tg_value *from, tg_value *to) {
  tg_value_replace_except(graph, from, to, NULL);
}

void tg_graph_remove_node(tg_graph *graph, tg_node *node) {
  for (int i = 0; i < node->output_count; i++)
    assert(!node->outputs[i]->use_count && !node->outputs[i]->output_count);
  tg_node_truncate_inputs(node, 0);
  for (int i = 0; i < node->output_count; i++) node->outputs[i]->producer = NULL;
  unlink_node(graph, node);
  graph->node_count--;
}

void tg_graph_move_node(tg_graph *graph, tg_node *node, tg_node *before) {
  if (node == before) return;
  unlink_node(graph, node);
  link_before(graph, node, before);
}

static bool is_alive(const tg_value *value) {
  if (value->kind == TG_VALUE_INPUT || value->output_count) return true;
  return value->kind == TG_VALUE_CONSTANT ? value->use_count > 0 : value->producer != NULL;
}

void tg_graph_compact(tg_graph *graph) {
  int kept = 0;
  for (int i = 0; i < graph->value_count; i++) {
    tg_value *value = graph->values[i];
    if (is_alive(value)) {
      value->index = kept;
      graph->values[kept++] = value;
    } else {
      tg_name_set_remove(graph->names, value->name);
    }
  }
  graph->value_count = kept;
}

void tg_value_rename(tg_graph *graph, tg_value *value, const char *name) {
  if (!strcmp(value->name, name)) return;
  const char *added = tg_name_set_add(graph->names, name, value);
  if (!added) return;
  tg_name_set_remove(graph->names, value->name);
  value->name = added;
}

/* --- copies */

static tg_value *clone_value(tg_graph *copy, const tg_value *value) {
  tg_value *fresh = TG_NEW(copy->arena, tg_value);
  *fresh = *value;
  const char *name = tg_name_set_add(copy->names, value->name, fresh);
  fresh->name =
      name ? name : tg_arena_strdup(copy->arena, value->name); /* dead values may have lost theirs */
  fresh->producer = NULL;
  fresh->uses = NULL;
  fresh->use_count = fresh->output_count = 0;
  if (value->default_of) {
    tg_shape *shape = TG_NEW(copy->arena, tg_shape);
    *shape = *value->default_of;
    fresh->default_of = shape;
  }
  for (int i = 0; i < value->rank; i++)
    if (value->dims[i].symbol) fresh->dims[i].symbol = intern_symbol(copy, value->dims[i].symbol);
  return fresh;
}

static void clone_node(tg_graph *copy, const tg_node *node) {
  tg_arena *arena = copy->arena;
  tg_value **inputs = TG_NEW_ARRAY(arena, tg_value *, (size_t)node->input_count);
  for (int i = 0; i < node->input_count; i++)
    inputs[i] = tg_in(node, i) ? copy->values[tg_in(node, i)->index] : NULL;
  tg_node *fresh = TG_NEW(arena, tg_node);
  *fresh = *node;
  fresh->name = tg_arena_strdup(arena, node->name);
  fresh->rule = node->rule ? tg_arena_strdup(arena, node->rule) : NULL;
  fresh->casts = node->casts ? tg_arena_strdup(arena, node->casts) : NULL;
  fresh->origin = node->origin ? tg_arena_strdup(arena, node->origin) : NULL;
  set_inputs(copy, fresh, inputs, node->input_count);
  fresh->outputs = TG_NEW_ARRAY(arena, tg_value *, (size_t)node->output_count);
  for (int i = 0; i < node->output_count; i++) {
    fresh->outputs[i] = copy->values[node->outputs[i]->index];
    fresh->outputs[i]->producer = fresh;
  }
  fresh->attrs = TG_NEW_ARRAY(arena, tg_attr, (size_t)node->attr_count);
  for (int i = 0; i < node->attr_count; i++) {
    fresh->attrs[i] = node->attrs[i];
    fresh->attrs[i].text = tg_arena_strdup(arena, node->attrs[i].text);
    if (node->attrs[i].ints)
      tg_attr_set_ints(copy, fresh, node->attrs[i].key, node->attrs[i].ints, node->attrs[i].count);
  }
  link_before(copy, fresh, NULL);
  copy->node_count++;
}

tg_graph *tg_graph_clone(const tg_graph *graph, tg_arena *arena) {
  tg_graph *copy = tg_graph_create(arena, graph->name);
  copy->next_id = graph->next_id;
  copy->held = graph->held;
  copy->made = graph->made;
  if (graph->disable_graphamp) copy->disable_graphamp = tg_arena_strdup(arena, graph->disable_graphamp);
  for (int i = 0; i < graph->symbol_count; i++) {
    intern_symbol(copy, graph->symbols[i].name);
    copy->symbols[i].size = graph->symbols[i].size;
  }
  copy->value_count = graph->value_count;
  copy->values_capacity = (size_t)graph->value_count;
  copy->values = TG_NEW_ARRAY(arena, tg_value *, (size_t)graph->value_count);
  for (int i = 0; i < graph->value_count; i++) copy->values[i] = clone_value(copy, graph->values[i]);
  copy->input_count = graph->input_count;
  copy->inputs_capacity = (size_t)graph->input_count;
  copy->inputs = TG_NEW_ARRAY(arena, tg_value *, (size_t)graph->input_count);
  for (int i = 0; i < graph->input_count; i++) copy->inputs[i] = copy->values[graph->inputs[i]->index];
  TG_FOR_NODES(graph, node) clone_node(copy, node);
  for (int i = 0; i < graph->output_count; i++)
    tg_graph_add_output(copy, copy->values[graph->outputs[i]->index], graph->output_names[i],
                        graph->output_dtypes[i]);
  for (int i = 0; i < graph->output_count; i++) copy->output_shapes[i] = graph->output_shapes[i];
  for (size_t i = 0; i < graph->carry_count; i++)
    tg_graph_add_carry(copy, graph->carries[i].input, graph->carries[i].output);
  return copy;
}
