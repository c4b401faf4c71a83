/* A graph to a model file of opset 17, or the first that has all of its operators. */
#include "frontend/onnx/onnx.h"

#include "frontend/names.h"
#include "frontend/onnx/write.h"

#include <inttypes.h>
#include <math.h>
#include <onnx.pb-c.h>
#include <stdlib.h>
#include <string.h>

enum {
  OPSET = 17,
  OPSET_WITH_AXES_OPERANDS = 18,
  OPSET_WITH_MISH = 18,
  OPSET_WITH_GELU = 20,
  IR = 8,
  IR_WITH_NODE_METADATA = 10
};

/* Messages live on a scratch arena; constants' data is pointed to, not copied. */
typedef struct export {
  const tg_graph *graph;
  tg_arena *arena;
  const char **names; /* by value->index, as the file calls it */
  tg_name_set *taken;
  Onnx__GraphProto *proto;
  size_t node_capacity, initializer_capacity;
  bool has_node_metadata;
  tg_diag *diag;
}
export;

#define MESSAGE(e, type, init) (*(type *)memcpy(TG_NEW((e)->arena, type), &(type)init, sizeof(type)))

static tg_status refuse(export *e, const tg_node *node, const char *why) {
  return tg_fail(e->diag, TG_INVALID, "node \"%s\" (%s): %s has no form in ONNX opset %d", node->name,
                 tg_op_get(node->op)->name, why, OPSET);
}

static int opset_of(const export *e) {
  int opset = OPSET;
  TG_FOR_NODES(e->graph, node) {
    int needed = OPSET;
    if (node->op == TG_OP_GELU) needed = OPSET_WITH_GELU;
    if (node->op == TG_OP_MISH) needed = OPSET_WITH_MISH;
    if (tg_op_is(node->op, TG_IS_REDUCE) && tg_attr_int(node, TG_ATTR_NOOP_WITH_EMPTY_AXES))
      needed = OPSET_WITH_AXES_OPERANDS;
    if (opset < needed) opset = needed;
  }
  return opset;
}

/* --- names */

/* Inputs and outputs are what the user sees, so they choose first. A result takes the name of its first
 * output. */
static tg_status choose_names(export *e) {
  const tg_graph *graph = e->graph;
  e->names = TG_NEW_ARRAY(e->arena, const char *, (size_t)graph->value_count);
  e->taken = tg_name_set_create(e->arena);
  for (int i = 0; i < graph->input_count; i++)
    e->names[graph->inputs[i]->index] =
        tg_name_set_add_fresh(e->taken, graph->inputs[i]->name, graph->inputs[i]);
  for (int i = 0; i < graph->output_count; i++) {
    tg_value *value = graph->outputs[i];
    const char *name = tg_name_set_add(e->taken, graph->output_names[i], value);
    if (!name)
      return tg_fail(e->diag, TG_INVALID, "output \"%s\" has the name of another", graph->output_names[i]);
    if (value->kind == TG_VALUE_RESULT && !e->names[value->index]) e->names[value->index] = name;
  }
  for (int i = 0; i < graph->value_count; i++)
    if (!e->names[i]) e->names[i] = tg_name_set_add_fresh(e->taken, graph->values[i]->name, graph->values[i]);
  return TG_OK;
}

/* --- tensors and types */

static tg_status add_initializer(export *e, const char *name, tg_dtype dtype, int rank, const tg_dim *dims,
                                 const void *data, size_t bytes) {
  Onnx__TensorProto *tensor = &MESSAGE(e, Onnx__TensorProto, ONNX__TENSOR_PROTO__INIT);
  tensor->name = (char *)name;
  tensor->has_data_type = tensor->has_raw_data = true;
  tensor->data_type = tg_dtype_to_onnx(dtype);
  tensor->n_dims = (size_t)rank;
  tensor->dims = TG_NEW_ARRAY(e->arena, int64_t, (size_t)rank);
  for (int i = 0; i < rank; i++) tensor->dims[i] = dims[i].size;
  tensor->raw_data = (ProtobufCBinaryData){bytes, (uint8_t *)data};
  if (!tensor->data_type)
    return tg_fail(e->diag, TG_INVALID, "tensor \"%s\": ONNX has no element type %s", name,
                   tg_dtype_name(dtype));
  TG_PUSH(e->arena, e->proto->initializer, e->proto->n_initializer, e->initializer_capacity, tensor);
  return TG_OK;
}

static tg_status add_constants(export *e) {
  for (int i = 0; i < e->graph->value_count; i++) {
    const tg_value *v = e->graph->values[i];
    if (v->kind != TG_VALUE_CONSTANT || !(v->use_count || v->output_count)) continue;
    size_t bytes = (size_t)tg_value_elements(v) * tg_dtype_size(v->dtype);
    if (add_initializer(e, e->names[i], v->dtype, v->rank, v->dims, v->data, bytes)) return TG_INVALID;
  }
  return TG_OK;
}

static Onnx__ValueInfoProto *value_info(export *e, const char *name, const tg_value *value) {
  Onnx__ValueInfoProto *info = &MESSAGE(e, Onnx__ValueInfoProto, ONNX__VALUE_INFO_PROTO__INIT);
  Onnx__TypeProto__Tensor *tensor = &MESSAGE(e, Onnx__TypeProto__Tensor, ONNX__TYPE_PROTO__TENSOR__INIT);
  info->name = (char *)name;
  info->type = &MESSAGE(e, Onnx__TypeProto, ONNX__TYPE_PROTO__INIT);
  info->type->value_case = ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE;
  info->type->tensor_type = tensor;
  tensor->has_elem_type = true;
  tensor->elem_type = tg_dtype_to_onnx(value->dtype);
  if (value->rank < 0) return info;
  tensor->shape = &MESSAGE(e, Onnx__TensorShapeProto, ONNX__TENSOR_SHAPE_PROTO__INIT);
  tensor->shape->n_dim = (size_t)value->rank;
  tensor->shape->dim = TG_NEW_ARRAY(e->arena, Onnx__TensorShapeProto__Dimension *, (size_t)value->rank);
  for (int i = 0; i < value->rank; i++) {
    Onnx__TensorShapeProto__Dimension *dim =
        &MESSAGE(e, Onnx__TensorShapeProto__Dimension, ONNX__TENSOR_SHAPE_PROTO__DIMENSION__INIT);
    bool open = value->dims[i].symbol != NULL;
    dim->value_case = open ? ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_PARAM
                           : ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_VALUE;
    if (open)
      dim->dim_param = (char *)value->dims[i].symbol;
    else
      dim->dim_value = value->dims[i].size;
    tensor->shape->dim[i] = dim;
  }
  return info;
}

static void add_interface(export *e) {
  const tg_graph *graph = e->graph;
  e->proto->n_input = (size_t)graph->input_count;
  e->proto->input = TG_NEW_ARRAY(e->arena, Onnx__ValueInfoProto *, e->proto->n_input);
  for (int i = 0; i < graph->input_count; i++)
    e->proto->input[i] = value_info(e, e->names[graph->inputs[i]->index], graph->inputs[i]);
  bool open = false; /* sizes of results would be those of one binding of the symbols */
  for (int i = 0; i < graph->symbol_count; i++) open = true;
  e->proto->n_output = (size_t)graph->output_count;
  e->proto->output = TG_NEW_ARRAY(e->arena, Onnx__ValueInfoProto *, e->proto->n_output);
  for (int i = 0; i < graph->output_count; i++) {
    tg_value type = *graph->outputs[i];
    if (!type.dtype) type.dtype = graph->output_dtypes[i] ? graph->output_dtypes[i] : TG_F32;
    if (open) type.rank = -1;
    e->proto->output[i] = value_info(e, graph->output_names[i], &type);
  }
}

/* --- nodes */

static void add_node(export *e, Onnx__NodeProto *proto) {
  TG_PUSH(e->arena, e->proto->node, e->proto->n_node, e->node_capacity, proto);
}

static void add_input(export *e, Onnx__NodeProto *proto, const char *name) {
  char **inputs = TG_NEW_ARRAY(e->arena, char *, proto->n_input + 1);
  if (proto->n_input) memcpy(inputs, proto->input, proto->n_input * sizeof *inputs);
  inputs[proto->n_input++] = (char *)name;
  proto->input = inputs;
}

/* A list or bound that newer opsets take as an operand. */
static tg_status add_operand(export *e, Onnx__NodeProto *proto, const tg_node *node, const tg_attr *attr) {
  const char *name = tg_name_set_add_fresh(
      e->taken, tg_arena_printf(e->arena, "%s.%s", tg_out(node)->name, tg_attr_get(attr->key)->name), e);
  add_input(e, proto, name);
  if (tg_attr_get(attr->key)->kind == TG_KIND_INTS) {
    tg_dim dim = {attr->count, NULL};
    return add_initializer(e, name, TG_I64, 1, &dim, attr->ints, (size_t)attr->count * sizeof(int64_t));
  }
  if (tg_attr_get(attr->key)->kind == TG_KIND_INT)
    return add_initializer(e, name, TG_I64, 0, NULL, &attr->i, sizeof attr->i);
  tg_dtype dtype = tg_in(node, 0)->dtype ? tg_in(node, 0)->dtype : TG_F32;
  void *cell = tg_arena_alloc(e->arena, 1, 8);
  tg_store_f32(cell, dtype, 0, (float)attr->f);
  return add_initializer(e, name, dtype, 0, NULL, cell, tg_dtype_size(dtype));
}

/* Whole factors as the scales they were: floats, the third operand of a Resize. */
static tg_status add_scales(export *e, Onnx__NodeProto *proto, const tg_node *node, const tg_attr *attr) {
  const char *name =
      tg_name_set_add_fresh(e->taken, tg_arena_printf(e->arena, "%s.scales", tg_out(node)->name), e);
  float *scales = TG_NEW_ARRAY(e->arena, float, (size_t)attr->count);
  tg_dim dim = {attr->count, NULL};
  for (int i = 0; i < attr->count; i++) scales[i] = (float)attr->ints[i];
  add_input(e, proto, "");
  add_input(e, proto, name);
  return add_initializer(e, name, TG_F32, 1, &dim, scales, (size_t)attr->count * sizeof *scales);
}

static void append_attribute(export *e, Onnx__NodeProto *proto, Onnx__AttributeProto *a) {
  Onnx__AttributeProto **list = TG_NEW_ARRAY(e->arena, Onnx__AttributeProto *, proto->n_attribute + 1);
  if (proto->n_attribute) memcpy(list, proto->attribute, proto->n_attribute * sizeof *list);
  list[proto->n_attribute++] = a;
  proto->attribute = list;
}

/* A list of texts or numbers, which is one text here. */
static void add_activations(export *e, Onnx__NodeProto *proto, const tg_attr *attr) {
  bool names = attr->key == TG_ATTR_ACTIVATIONS;
  Onnx__AttributeProto *a = &MESSAGE(e, Onnx__AttributeProto, ONNX__ATTRIBUTE_PROTO__INIT);
  a->name = (char *)tg_attr_get(attr->key)->name;
  a->has_type = true;
  a->type =
      names ? ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__STRINGS : ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__FLOATS;
  size_t capacity = 0;
  for (const char *at = attr->text; *at; at += strspn(at, ",")) {
    size_t length = strcspn(at, ",");
    ProtobufCBinaryData text = {length, (uint8_t *)(uintptr_t)at};
    float number = strtof(at, NULL);
    if (names)
      TG_PUSH(e->arena, a->strings, a->n_strings, capacity, text);
    else
      TG_PUSH(e->arena, a->floats, a->n_floats, capacity, number);
    at += length;
  }
  append_attribute(e, proto, a);
}

static void add_attribute(export *e, Onnx__NodeProto *proto, const tg_attr *attr) {
  Onnx__AttributeProto *a = &MESSAGE(e, Onnx__AttributeProto, ONNX__ATTRIBUTE_PROTO__INIT);
  a->name = (char *)tg_attr_get(attr->key)->name;
  a->has_type = true;
  switch (tg_attr_get(attr->key)->kind) {
  case TG_KIND_INT:
    a->type = ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INT;
    a->has_i = true;
    a->i = attr->key == TG_ATTR_TO ? tg_dtype_to_onnx((tg_dtype)attr->i) : attr->i;
    break;
  case TG_KIND_FLOAT:
    a->type = ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__FLOAT;
    a->has_f = true;
    a->f = (float)attr->f;
    break;
  case TG_KIND_INTS:
    a->type = ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INTS;
    a->n_ints = (size_t)attr->count;
    a->ints = (int64_t *)attr->ints;
    break;
  case TG_KIND_TEXT:
    a->type = ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__STRING;
    a->has_s = true;
    a->s = (ProtobufCBinaryData){strlen(attr->text), (uint8_t *)attr->text};
    break;
  }
  append_attribute(e, proto, a);
}

static bool is_default(const tg_node *node, int i) {
  const tg_attr *attr = &node->attrs[i];
  double initial = tg_op_get(node->op)->attrs[i].initial;
  switch (tg_attr_get(attr->key)->kind) {
  case TG_KIND_INT: return (double)attr->i == initial;
  case TG_KIND_FLOAT: return attr->f == initial;
  case TG_KIND_INTS: return !attr->count && !(attr->key == TG_ATTR_SHAPE && attr->ints);
  default: return !*attr->text;
  }
}

static bool all_ones(const tg_attr *attr) {
  for (int i = 0; i < attr->count; i++)
    if (attr->ints[i] != 1) return false;
  return true;
}

/* Axes are an operand in the opset that is written. */
static bool takes_axes(const export *e, const tg_node *node, tg_attr_key key) {
  bool reduces = tg_op_is(node->op, TG_IS_REDUCE) && node->op != TG_OP_REDUCE_SUM;
  return key == TG_ATTR_AXES && (!reduces || opset_of(e) >= OPSET_WITH_AXES_OPERANDS);
}

/* Does ONNX take the attribute as an operand? Those of an operator stand in the order of its operands. */
static bool is_operand(const export *e, const tg_node *node, tg_attr_key key) {
  switch (node->op) {
  case TG_OP_CLIP:
  case TG_OP_SLICE:
  case TG_OP_TILE: return true;
  case TG_OP_PAD: return key == TG_ATTR_PADS || key == TG_ATTR_VALUE;
  case TG_OP_SPLIT: return key == TG_ATTR_SPLIT;
  case TG_OP_TRILU: return key == TG_ATTR_K;
  default: return key == TG_ATTR_SHAPE || takes_axes(e, node, key);
  }
}

static tg_status add_attributes(export *e, Onnx__NodeProto *proto, const tg_node *node) {
  if (tg_op_is(node->op, TG_IS_INTERNAL)) return refuse(e, node, "an operator of our own");
  if (tg_op_is(node->op, TG_IS_TRAINING)) return refuse(e, node, "an operator of the training domain");
  int absent = 0; /* operands left out before one that is there */
  for (int i = 0; i < node->attr_count; i++) {
    const tg_attr *attr = &node->attrs[i];
    const tg_attr_info *info = tg_attr_get(attr->key);
    bool as_operand = is_operand(e, node, attr->key);
    bool skipped = node->op == TG_OP_CLIP ? false : is_default(node, i);
    if (skipped) {
      absent += as_operand;
      continue;
    }
    if (attr->key == TG_ATTR_ACTIVATIONS || attr->key == TG_ATTR_ACTIVATION_ALPHA ||
        attr->key == TG_ATTR_ACTIVATION_BETA) {
      add_activations(e, proto, attr);
      continue;
    }
    if (attr->key == TG_ATTR_FACTORS) {
      if (add_scales(e, proto, node, attr)) return TG_INVALID;
      continue;
    }
    if (info->internal) return refuse(e, node, info->name);
    if (node->op == TG_OP_AVERAGE_POOL && attr->key == TG_ATTR_DILATIONS) {
      if (!all_ones(attr)) return refuse(e, node, "dilation");
      continue;
    }
    if (attr->key == TG_ATTR_TO && !tg_dtype_to_onnx((tg_dtype)attr->i))
      return refuse(e, node, "its element type");
    if (!as_operand) {
      add_attribute(e, proto, attr);
    } else if (node->input_count == 1) {
      for (; absent; absent--) add_input(e, proto, "");
      if (add_operand(e, proto, node, attr)) return TG_INVALID;
    }
  }
  return TG_OK;
}

static void add_metadata(export *e, Onnx__NodeProto *proto, const char *key, const char *value) {
  Onnx__StringStringEntryProto *entry =
      &MESSAGE(e, Onnx__StringStringEntryProto, ONNX__STRING_STRING_ENTRY_PROTO__INIT);
  entry->key = (char *)key;
  entry->value = (char *)value;
  Onnx__StringStringEntryProto **entries =
      TG_NEW_ARRAY(e->arena, Onnx__StringStringEntryProto *, proto->n_metadata_props + 1);
  for (size_t i = 0; i < proto->n_metadata_props; i++) entries[i] = proto->metadata_props[i];
  entries[proto->n_metadata_props++] = entry;
  proto->metadata_props = entries;
  e->has_node_metadata = true;
}

static Onnx__NodeProto *new_node(export *e, const char *op, const char *name, const char *output) {
  Onnx__NodeProto *proto = &MESSAGE(e, Onnx__NodeProto, ONNX__NODE_PROTO__INIT);
  proto->op_type = (char *)op;
  proto->name = *name ? (char *)name : NULL;
  proto->n_output = 1;
  proto->output = TG_NEW(e->arena, char *);
  proto->output[0] = (char *)output;
  add_node(e, proto);
  return proto;
}

static void add_output(export *e, Onnx__NodeProto *proto, const char *name) {
  char **outputs = TG_NEW_ARRAY(e->arena, char *, proto->n_output + 1);
  memcpy(outputs, proto->output, proto->n_output * sizeof *outputs);
  outputs[proto->n_output++] = (char *)name;
  proto->output = outputs;
}

static tg_status add_nodes(export *e) {
  TG_FOR_NODES(e->graph, node) {
    Onnx__NodeProto *proto =
        new_node(e, tg_op_get(node->op)->name, node->name, e->names[tg_out(node)->index]);
    for (int i = 1; i < node->output_count; i++) add_output(e, proto, e->names[node->outputs[i]->index]);
    for (int i = 0; i < node->input_count; i++)
      add_input(e, proto, tg_in(node, i) ? e->names[tg_in(node, i)->index] : "");
    if (add_attributes(e, proto, node)) return TG_INVALID;
    if (node->disable_graphamp) add_metadata(e, proto, "tegula.disable_graphamp", "1");
    if (node->casts) add_metadata(e, proto, "tegula.casts", node->casts);
    if (node->rule) add_metadata(e, proto, "tegula.rule", node->rule);
    if (node->origin) add_metadata(e, proto, "tegula.origin", node->origin);
  }
  for (int i = 0; i < e->graph->output_count; i++) { /* outputs that are no result of that name */
    const char *from = e->names[e->graph->outputs[i]->index];
    if (strcmp(from, e->graph->output_names[i]))
      add_input(e, new_node(e, "Identity", "", e->graph->output_names[i]), from);
  }
  return TG_OK;
}

/* --- the model */

static Onnx__ModelProto *new_model(export *e) {
  Onnx__ModelProto *model = &MESSAGE(e, Onnx__ModelProto, ONNX__MODEL_PROTO__INIT);
  Onnx__OperatorSetIdProto *opset = &MESSAGE(e, Onnx__OperatorSetIdProto, ONNX__OPERATOR_SET_ID_PROTO__INIT);
  opset->domain = "";
  opset->has_version = true;
  opset->version = opset_of(e);
  model->n_opset_import = 1;
  model->opset_import = TG_NEW(e->arena, Onnx__OperatorSetIdProto *);
  model->opset_import[0] = opset;
  model->has_ir_version = true;
  model->ir_version = e->has_node_metadata ? IR_WITH_NODE_METADATA : IR;
  model->producer_name = "tegula";
  model->graph = e->proto;
  if (!e->graph->disable_graphamp) return model;
  Onnx__StringStringEntryProto *entry =
      &MESSAGE(e, Onnx__StringStringEntryProto, ONNX__STRING_STRING_ENTRY_PROTO__INIT);
  entry->key = "tegula.disable_graphamp";
  entry->value = (char *)e->graph->disable_graphamp;
  model->n_metadata_props = 1;
  model->metadata_props = TG_NEW(e->arena, Onnx__StringStringEntryProto *);
  model->metadata_props[0] = entry;
  return model;
}

tg_status tg_onnx_write(const char *path, const tg_graph *graph, tg_diag *diag) {
  tg_arena arena = {0};
  export e = {.graph = graph, .arena = &arena, .diag = diag};
  e.proto = &MESSAGE(&e, Onnx__GraphProto, ONNX__GRAPH_PROTO__INIT);
  e.proto->name = *graph->name ? (char *)graph->name : "graph";
  tg_status status = choose_names(&e);
  if (!status) status = add_constants(&e);
  if (!status) status = add_nodes(&e);
  if (status) {
    tg_diag_prefix(diag, "%s", path);
  } else {
    add_interface(&e);
    status = tg_onnx_write_model(path, new_model(&e), diag);
  }
  tg_arena_release(&arena);
  return status;
}
