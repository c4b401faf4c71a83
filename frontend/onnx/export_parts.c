#include "frontend/onnx/export_parts.h"

tg_status tg_export_refuse(tg_export *e, const tg_node *node, const char *why) {
  return tg_fail(e->diag, TG_INVALID, "node \"%s\" (%s): %s has no form in ONNX opset %d", node->name,
                 tg_op_get(node->op)->name, why, OPSET);
}

/* The opset and the IR version that brought an element type; from onnx.proto and ONNX's list of versions. */
typedef struct brought {
  tg_dtype dtype;
  int opset, ir;
} brought;

static const brought newer[] = {
    {TG_F8E4M3FN, 19, 9}, {TG_F8E4M3FNUZ, 19, 9}, {TG_F8E5M2, 19, 9},  {TG_F8E5M2FNUZ, 19, 9},
    {TG_U4, 21, 10},      {TG_I4, 21, 10},        {TG_F4E2M1, 23, 11}, {TG_F8E8M0, 24, 12},
    {TG_U2, 25, 13},      {TG_I2, 25, 13},
};

static void raise_to(brought *newest, tg_dtype dtype) {
  for (size_t i = 0; i < sizeof newer / sizeof *newer; i++)
    if (newer[i].dtype == dtype && newer[i].opset > newest->opset) *newest = newer[i];
}

/* The newest of those that the graph has, in its values or, where types have not been inferred, in its casts; zeros: none. */
static brought newest_type(const tg_graph *graph) {
  brought newest = {0};
  for (int v = 0; v < graph->value_count; v++) raise_to(&newest, graph->values[v]->dtype);
  TG_FOR_NODES(graph, node) {
    if (node->op == TG_OP_CAST) raise_to(&newest, (tg_dtype)tg_attr_int(node, TG_ATTR_TO));
  }
  return newest;
}

int tg_export_ir(const tg_export *e) {
  int of_types = newest_type(e->graph).ir, ir = e->has_node_metadata ? IR_WITH_NODE_METADATA : IR;
  return ir < of_types ? of_types : ir;
}

int tg_export_opset(const tg_export *e) {
  int opset = newest_type(e->graph).opset;
  if (opset < OPSET) opset = OPSET;
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

tg_status tg_export_initializer(tg_export *e, const char *name, tg_dtype dtype, int rank, const tg_dim *dims,
                                const void *data, size_t bytes) {
  Onnx__TensorProto *tensor = &TG_MESSAGE(e, Onnx__TensorProto, ONNX__TENSOR_PROTO__INIT);
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

void tg_export_input(tg_export *e, Onnx__NodeProto *proto, const char *name) {
  char **inputs = TG_NEW_ARRAY(e->arena, char *, proto->n_input + 1);
  if (proto->n_input) memcpy(inputs, proto->input, proto->n_input * sizeof *inputs);
  inputs[proto->n_input++] = (char *)name;
  proto->input = inputs;
}
