/* A graph to a model file of opset 17, or the first that has all of its operators. */
#include "frontend/onnx/onnx.h"

#include "frontend/base/guard.h"
#include "frontend/onnx/export_parts.h"
#include "frontend/onnx/tensor.h"
#include "frontend/onnx/write.h"

#include <string.h>

/* --- names */

/* Inputs and outputs are what the user sees, so they choose first. A result takes the name of its first
 * output. */
static tg_status choose_names(tg_export *e) {
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

static tg_status add_constants(tg_export *e) {
  for (int i = 0; i < e->graph->value_count; i++) {
    const tg_value *v = e->graph->values[i];
    bool read = v->use_count || v->output_count;
    if (v->kind != TG_VALUE_CONSTANT || !read) continue;
    size_t count = (size_t)tg_value_elements(v), bytes = tg_onnx_bytes(v->dtype, count);
    const void *data = v->data;
    if (tg_dtype_bits(v->dtype) < 8) {
      data = tg_arena_alloc(e->arena, bytes, 1);
      tg_onnx_pack(v->dtype, count, v->data, (void *)data);
    }
    if (tg_export_initializer(e, e->names[i], v->dtype, v->rank, v->dims, data, bytes)) return TG_INVALID;
  }
  return TG_OK;
}

static Onnx__ValueInfoProto *value_info(tg_export *e, const char *name, const tg_value *value) {
  Onnx__ValueInfoProto *info = &TG_MESSAGE(e, Onnx__ValueInfoProto, ONNX__VALUE_INFO_PROTO__INIT);
  Onnx__TypeProto__Tensor *tensor = &TG_MESSAGE(e, Onnx__TypeProto__Tensor, ONNX__TYPE_PROTO__TENSOR__INIT);
  info->name = (char *)name;
  info->type = &TG_MESSAGE(e, Onnx__TypeProto, ONNX__TYPE_PROTO__INIT);
  info->type->value_case = ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE;
  info->type->tensor_type = tensor;
  tensor->has_elem_type = true;
  tensor->elem_type = tg_dtype_to_onnx(value->dtype);
  if (value->rank < 0) return info;
  tensor->shape = &TG_MESSAGE(e, Onnx__TensorShapeProto, ONNX__TENSOR_SHAPE_PROTO__INIT);
  tensor->shape->n_dim = (size_t)value->rank;
  tensor->shape->dim = TG_NEW_ARRAY(e->arena, Onnx__TensorShapeProto__Dimension *, (size_t)value->rank);
  for (int i = 0; i < value->rank; i++) {
    Onnx__TensorShapeProto__Dimension *dim =
        &TG_MESSAGE(e, Onnx__TensorShapeProto__Dimension, ONNX__TENSOR_SHAPE_PROTO__DIMENSION__INIT);
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

static void add_interface(tg_export *e) {
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

static void add_node(tg_export *e, Onnx__NodeProto *proto) {
  TG_PUSH(e->arena, e->proto->node, e->proto->n_node, e->node_capacity, proto);
}

static void add_metadata(tg_export *e, Onnx__NodeProto *proto, const char *key, const char *value) {
  Onnx__StringStringEntryProto *entry =
      &TG_MESSAGE(e, Onnx__StringStringEntryProto, ONNX__STRING_STRING_ENTRY_PROTO__INIT);
  entry->key = (char *)key;
  entry->value = (char *)value;
  Onnx__StringStringEntryProto **entries =
      TG_NEW_ARRAY(e->arena, Onnx__StringStringEntryProto *, proto->n_metadata_props + 1);
  for (size_t i = 0; i < proto->n_metadata_props; i++) entries[i] = proto->metadata_props[i];
  entries[proto->n_metadata_props++] = entry;
  proto->metadata_props = entries;
  e->has_node_metadata = true;
}

static Onnx__NodeProto *new_node(tg_export *e, const char *op, const char *name, const char *output) {
  Onnx__NodeProto *proto = &TG_MESSAGE(e, Onnx__NodeProto, ONNX__NODE_PROTO__INIT);
  proto->op_type = (char *)op;
  proto->name = *name ? (char *)name : NULL;
  proto->n_output = 1;
  proto->output = TG_NEW(e->arena, char *);
  proto->output[0] = (char *)output;
  add_node(e, proto);
  return proto;
}

static void add_output(tg_export *e, Onnx__NodeProto *proto, const char *name) {
  char **outputs = TG_NEW_ARRAY(e->arena, char *, proto->n_output + 1);
  memcpy(outputs, proto->output, proto->n_output * sizeof *outputs);
  outputs[proto->n_output++] = (char *)name;
  proto->output = outputs;
}

static tg_status add_nodes(tg_export *e) {
  TG_FOR_NODES(e->graph, node) {
    Onnx__NodeProto *proto =
        new_node(e, tg_op_get(node->op)->name, node->name, e->names[tg_out(node)->index]);
    for (int i = 1; i < node->output_count; i++) add_output(e, proto, e->names[node->outputs[i]->index]);
    for (int i = 0; i < node->input_count; i++)
      tg_export_input(e, proto, tg_in(node, i) ? e->names[tg_in(node, i)->index] : "");
    if (tg_export_attributes(e, proto, node)) return TG_INVALID;
    if (node->disable_graphamp) add_metadata(e, proto, "tegula.disable_graphamp", "1");
    if (node->casts) add_metadata(e, proto, "tegula.casts", node->casts);
    if (node->rule) add_metadata(e, proto, "tegula.rule", node->rule);
    if (node->origin) add_metadata(e, proto, "tegula.origin", node->origin);
  }
  for (int i = 0; i < e->graph->output_count; i++) { /* outputs that are no result of that name */
    const char *from = e->names[e->graph->outputs[i]->index];
    if (strcmp(from, e->graph->output_names[i]))
      tg_export_input(e, new_node(e, "Identity", "", e->graph->output_names[i]), from);
  }
  return TG_OK;
}

/* --- the model */

static Onnx__ModelProto *new_model(tg_export *e) {
  Onnx__ModelProto *model = &TG_MESSAGE(e, Onnx__ModelProto, ONNX__MODEL_PROTO__INIT);
  Onnx__OperatorSetIdProto *opset =
      &TG_MESSAGE(e, Onnx__OperatorSetIdProto, ONNX__OPERATOR_SET_ID_PROTO__INIT);
  opset->domain = "";
  opset->has_version = true;
  opset->version = tg_export_opset(e);
  model->n_opset_import = 1;
  model->opset_import = TG_NEW(e->arena, Onnx__OperatorSetIdProto *);
  model->opset_import[0] = opset;
  model->has_ir_version = true;
  model->ir_version = tg_export_ir(e);
  model->producer_name = "tegula";
  model->graph = e->proto;
  if (!e->graph->disable_graphamp) return model;
  Onnx__StringStringEntryProto *entry =
      &TG_MESSAGE(e, Onnx__StringStringEntryProto, ONNX__STRING_STRING_ENTRY_PROTO__INIT);
  entry->key = "tegula.disable_graphamp";
  entry->value = (char *)e->graph->disable_graphamp;
  model->n_metadata_props = 1;
  model->metadata_props = TG_NEW(e->arena, Onnx__StringStringEntryProto *);
  model->metadata_props[0] = entry;
  return model;
}

static tg_status write_graph(const char *path, const tg_graph *graph, tg_diag *diag) {
  tg_arena arena = {0};
  tg_export e = {.graph = graph, .arena = &arena, .diag = diag};
  e.proto = &TG_MESSAGE(&e, Onnx__GraphProto, ONNX__GRAPH_PROTO__INIT);
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

tg_status tg_onnx_write(const char *path, const tg_graph *graph, tg_diag *diag) {
  TG_GUARDED(diag, write_graph(path, graph, diag));
}
