#include "frontend/onnx/export_parts.h"

tg_status tg_export_refuse(tg_export *e, const tg_node *node, const char *why) {
  return tg_fail(e->diag, TG_INVALID, "node \"%s\" (%s): %s has no form in ONNX opset %d", node->name,
                 tg_op_get(node->op)->name, why, OPSET);
}

int tg_export_opset(const tg_export *e) {
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
