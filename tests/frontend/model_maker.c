#include "tests/frontend/model_maker.h"

#include "frontend/onnx/onnx.h"
#include "tests/frontend/support.h"
#include "tests/harness.h"

#define MESSAGE(arena, type, initial) ((type *)memcpy(TG_NEW(arena, type), &(type)initial, sizeof(type)))

void add_opset(tg_arena *arena, Onnx__ModelProto *model, const char *domain, int64_t version) {
  Onnx__OperatorSetIdProto *set = MESSAGE(arena, Onnx__OperatorSetIdProto, ONNX__OPERATOR_SET_ID_PROTO__INIT);
  set->domain = (char *)domain;
  set->has_version = true, set->version = version;
  ADD(arena, model, opset_import, set);
}

Onnx__ModelProto *make_model(tg_arena *arena, int64_t opset) {
  Onnx__ModelProto *model = MESSAGE(arena, Onnx__ModelProto, ONNX__MODEL_PROTO__INIT);
  model->has_ir_version = true, model->ir_version = 8;
  model->graph = MESSAGE(arena, Onnx__GraphProto, ONNX__GRAPH_PROTO__INIT);
  add_opset(arena, model, "", opset);
  return model;
}

/* The next of names parted by spaces; NULL: there is none. */
static const char *next_name(tg_arena *arena, const char **names) {
  *names += strspn(*names, " ");
  size_t length = strcspn(*names, " ");
  if (!length) return NULL;
  const char *name = tg_arena_strndup(arena, *names, length);
  *names += length;
  return strcmp(name, "_") ? name : "";
}

Onnx__NodeProto *make_node(tg_arena *arena, const char *op, const char *inputs, const char *outputs) {
  Onnx__NodeProto *node = MESSAGE(arena, Onnx__NodeProto, ONNX__NODE_PROTO__INIT);
  node->op_type = (char *)op;
  for (const char *name; (name = next_name(arena, &inputs));) ADD(arena, node, input, name);
  for (const char *name; (name = next_name(arena, &outputs));) ADD(arena, node, output, name);
  return node;
}

Onnx__ValueInfoProto *make_value(tg_arena *arena, const char *name, int rank, const int64_t *sizes) {
  Onnx__ValueInfoProto *value = MESSAGE(arena, Onnx__ValueInfoProto, ONNX__VALUE_INFO_PROTO__INIT);
  value->name = (char *)name;
  if (rank < 0) return value;
  value->type = MESSAGE(arena, Onnx__TypeProto, ONNX__TYPE_PROTO__INIT);
  value->type->value_case = ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE;
  Onnx__TypeProto__Tensor *tensor = value->type->tensor_type =
      MESSAGE(arena, Onnx__TypeProto__Tensor, ONNX__TYPE_PROTO__TENSOR__INIT);
  tensor->has_elem_type = true, tensor->elem_type = 1;
  tensor->shape = MESSAGE(arena, Onnx__TensorShapeProto, ONNX__TENSOR_SHAPE_PROTO__INIT);
  for (int d = 0; d < rank; d++) {
    Onnx__TensorShapeProto__Dimension *dim =
        MESSAGE(arena, Onnx__TensorShapeProto__Dimension, ONNX__TENSOR_SHAPE_PROTO__DIMENSION__INIT);
    dim->value_case = ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_VALUE;
    dim->dim_value = sizes[d];
    ADD(arena, tensor->shape, dim, dim);
  }
  return value;
}

Onnx__TensorProto *make_tensor(tg_arena *arena, const char *name, int type, int rank, const int64_t *sizes,
                               const void *data, size_t bytes) {
  Onnx__TensorProto *tensor = MESSAGE(arena, Onnx__TensorProto, ONNX__TENSOR_PROTO__INIT);
  tensor->name = (char *)name;
  tensor->has_data_type = true, tensor->data_type = type;
  tensor->n_dims = (size_t)rank;
  tensor->dims = TG_NEW_ARRAY(arena, int64_t, (size_t)rank);
  for (int d = 0; d < rank; d++) tensor->dims[d] = sizes[d];
  if (!data) return tensor;
  tensor->has_raw_data = true;
  tensor->raw_data = (ProtobufCBinaryData){bytes, (uint8_t *)(uintptr_t)data};
  return tensor;
}

Onnx__AttributeProto *make_attribute(tg_arena *arena, Onnx__NodeProto *node, const char *name,
                                     Onnx__AttributeProto__AttributeType type) {
  Onnx__AttributeProto *a = MESSAGE(arena, Onnx__AttributeProto, ONNX__ATTRIBUTE_PROTO__INIT);
  a->name = (char *)name;
  a->has_type = true, a->type = type;
  ADD(arena, node, attribute, a);
  return a;
}

Onnx__ModelProto *model_of(tg_arena *arena, int64_t opset, Onnx__NodeProto *node) {
  Onnx__ModelProto *model = make_model(arena, opset);
  for (size_t i = 0; i < node->n_input; i++) {
    bool known = !*node->input[i];
    for (size_t k = 0; k < i; k++) known |= !strcmp(node->input[k], node->input[i]);
    if (!known) ADD(arena, model->graph, input, make_value(arena, node->input[i], 2, ((int64_t[]){2, 3})));
  }
  ADD(arena, model->graph, node, node);
  for (size_t i = 0; i < node->n_output; i++)
    if (*node->output[i]) ADD(arena, model->graph, output, make_value(arena, node->output[i], -1, NULL));
  return model;
}

static uint8_t *packed(tg_arena *arena, const Onnx__ModelProto *model, size_t *out_size) {
  *out_size = onnx__model_proto__get_packed_size(model);
  uint8_t *bytes = tg_arena_alloc(arena, *out_size, 1);
  onnx__model_proto__pack(model, bytes);
  return bytes;
}

tg_graph *read_model(tg_arena *arena, const Onnx__ModelProto *model, tg_diag *diag) {
  size_t size;
  tg_graph *graph;
  const uint8_t *bytes = packed(arena, model, &size);
  *diag = (tg_diag){""};
  return tg_onnx_read_memory(arena, "model", bytes, size, &graph, diag) ? NULL : graph;
}

const char *write_model_file(tg_arena *arena, const Onnx__ModelProto *model, const char *name) {
  size_t size;
  const uint8_t *bytes = packed(arena, model, &size);
  const char *path = tg_arena_printf(arena, "%s/%s", tg_test_dir(), name);
  write_bytes(path, bytes, size);
  return path;
}
