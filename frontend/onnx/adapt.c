/* Older meanings of operators, and values that need more than a copy. */
#include "frontend/onnx/import.h"
#include "frontend/onnx/tensor.h"

#include <math.h>
#include <string.h>

static const Onnx__AttributeProto *find(const Onnx__NodeProto *proto, const char *name) {
  return tg_import_find_attribute(proto, name);
}

/* Before opset 7 broadcasting was asked for, and could be aligned at an axis of the first operand. */
static tg_status adapt_binary(tg_import *import, const Onnx__NodeProto *proto, tg_node *node) {
  if (import->opset >= 7) return TG_OK;
  const Onnx__AttributeProto *broadcast = find(proto, "broadcast"), *axis = find(proto, "axis");
  if (!broadcast || !broadcast->i) {
    tg_attr_set_int(node, TG_ATTR_BROADCAST_AXIS, -2);
    return TG_OK;
  }
  if (!axis) return TG_OK;
  if (axis->i < 0 || axis->i >= TG_MAX_RANK)
    return tg_fail(import->diag, TG_INVALID, "attribute \"axis\" = %lld is not supported",
                   (long long)axis->i);
  tg_attr_set_int(node, TG_ATTR_BROADCAST_AXIS, axis->i);
  return TG_OK;
}

static tg_status adapt_cast(tg_import *import, const Onnx__NodeProto *proto, tg_node *node) {
  static const char *const names[] = {"",      "FLOAT",  "UINT8", "INT8",    "UINT16", "INT16",  "INT32",
                                      "INT64", "STRING", "BOOL",  "FLOAT16", "DOUBLE", "UINT32", "UINT64"};
  int64_t number = tg_attr_int(node, TG_ATTR_TO);
  if (import->opset < 6) {
    const Onnx__AttributeProto *to = find(proto, "to");
    if (!to || !to->has_s) return tg_fail(import->diag, TG_INVALID, "attribute \"to\" is missing");
    for (number = sizeof names / sizeof *names - 1; number > 0; number--)
      if (to->s.len == strlen(names[number]) && !memcmp(to->s.data, names[number], to->s.len)) break;
  }
  tg_dtype dtype = tg_dtype_from_onnx(number);
  if (!dtype)
    return tg_fail(import->diag, TG_INVALID, "attribute \"to\" = %lld is not a supported element type",
                   (long long)number);
  tg_attr_set_int(node, TG_ATTR_TO, dtype);
  return TG_OK;
}

/* Inputs ratio and training_mode came with opset 12: together they are our ratio. */
static tg_status adapt_dropout(tg_import *import, tg_node *node) {
  const tg_value *ratio = tg_in(node, 1), *training = tg_in(node, 2);
  bool decided = tg_is_constant(training) && training->dtype == TG_BOOL && tg_value_elements(training) == 1,
       given = tg_is_constant(ratio) && tg_dtype_is_float(ratio->dtype) && tg_value_elements(ratio) == 1;
  if (training && !decided) return tg_fail(import->diag, TG_INVALID, "training_mode must be a constant");
  if (training && *(const uint8_t *)training->data) {
    if (ratio && !given) return tg_fail(import->diag, TG_INVALID, "ratio must be a constant");
    double share = ratio ? (double)tg_load_f32(ratio->data, ratio->dtype, 0) : 0.5;
    if (!(share >= 0 && share <= 1))
      return tg_fail(import->diag, TG_INVALID, "ratio = %g is not from 0 to 1", share);
    tg_attr_set_float(node, TG_ATTR_RATIO, share);
  }
  tg_import_settle(tg_in(node, 1));
  tg_import_settle(tg_in(node, 2));
  tg_node_truncate_inputs(node, 1);
  return TG_OK;
}

static tg_status adapt_softmax(tg_import *import, const Onnx__NodeProto *proto, tg_node *node) {
  if (import->opset >= 13) return TG_OK;
  if (!find(proto, "axis")) tg_attr_set_int(node, TG_ATTR_AXIS, 1);
  tg_attr_set_int(node, TG_ATTR_FLATTEN, 1);
  return TG_OK;
}

static tg_status adapt_concat(tg_import *import, const Onnx__NodeProto *proto, tg_node *node) {
  const Onnx__AttributeProto *axis = find(proto, "axis");
  if (import->opset < 4) tg_attr_set_int(node, TG_ATTR_AXIS, axis ? axis->i : 1);
  return TG_OK;
}

/* From opset 11 on a bound that is not given is the type's, which inference knows; before, by default FP32's. */
static void adapt_clip(const tg_import *import, tg_node *node) {
  if (import->opset < 11) return;
  if (!tg_in(node, 1)) tg_attr_set_float(node, TG_ATTR_MIN, -INFINITY);
  if (!tg_in(node, 2)) tg_attr_set_float(node, TG_ATTR_MAX, INFINITY);
}

/* Its default constants had fewer digits before opset 6. */
static void adapt_selu(tg_import *import, const Onnx__NodeProto *proto, tg_node *node) {
  if (import->opset >= 6) return;
  if (!find(proto, "alpha")) tg_attr_set_float(node, TG_ATTR_ALPHA, 1.6732);
  if (!find(proto, "gamma")) tg_attr_set_float(node, TG_ATTR_GAMMA, 1.0507);
}

/* Before opset 7 a slope of several elements was one for each channel, dimension 1. */
static void adapt_prelu(const tg_import *import, tg_node *node) {
  tg_value *slope = tg_in(node, 1);
  bool one = tg_is_constant(slope) && tg_value_elements(slope) == 1;
  if (import->opset < 7) tg_import_settle(slope);
  if (import->opset < 7 && !one) tg_attr_set_int(node, TG_ATTR_BROADCAST_AXIS, 1);
}

/* Its value is a tensor of one element. */
static tg_status adapt_constant_of_shape(tg_import *import, const Onnx__NodeProto *proto, tg_node *node) {
  const Onnx__AttributeProto *a = find(proto, "value");
  tg_value *value;
  if (!a) return TG_OK;
  if (!a->t) return tg_fail(import->diag, TG_INVALID, "attribute \"value\" has the wrong type");
  if (tg_onnx_tensor(import->graph, a->t, node->name, import->path, &value, import->diag)) return TG_INVALID;
  if (tg_value_elements(value) != 1)
    return tg_fail(import->diag, TG_INVALID, "attribute \"value\" does not have one element");
  tg_attr_set_int(node, TG_ATTR_DTYPE, value->dtype);
  tg_attr_set_float(node, TG_ATTR_VALUE,
                    tg_dtype_is_float(value->dtype) ? (double)tg_load_f32(value->data, value->dtype, 0)
                                                    : (double)tg_load_i64(value->data, value->dtype, 0));
  return TG_OK;
}

static tg_status adapt_dtype(tg_import *import, const Onnx__NodeProto *proto, tg_node *node) {
  const Onnx__AttributeProto *a = find(proto, "dtype");
  if (!a) return TG_OK;
  if (!tg_dtype_from_onnx(a->i))
    return tg_fail(import->diag, TG_INVALID, "attribute \"dtype\" = %lld is not a supported element type",
                   (long long)a->i);
  tg_attr_set_int(node, TG_ATTR_DTYPE, tg_dtype_from_onnx(a->i));
  return TG_OK;
}

/* Opset 1 had a float as order of a norm. */
static tg_status adapt_order(tg_import *import, const Onnx__NodeProto *proto, tg_node *node) {
  const Onnx__AttributeProto *p = find(proto, "p");
  if (import->opset > 1 || !p) return TG_OK;
  bool in_range = p->f >= 1 && p->f <= 1 << 20;
  if (!p->has_f || !in_range || p->f != (float)(int64_t)p->f)
    return tg_fail(import->diag, TG_INVALID, "attribute \"p\" is no whole number");
  tg_attr_set_int(node, TG_ATTR_P, (int64_t)p->f);
  return TG_OK;
}

/* Opset 1 called pads paddings. */
static tg_status adapt_pad(tg_import *import, const Onnx__NodeProto *proto, tg_node *node) {
  const Onnx__AttributeProto *pads = find(proto, import->opset < 2 ? "paddings" : "pads");
  if (import->opset < 11 && !pads) return tg_fail(import->diag, TG_INVALID, "attribute \"pads\" is missing");
  if (import->opset < 2 && pads->n_ints <= (size_t)2 * TG_MAX_RANK)
    tg_attr_set_ints(import->graph, node, TG_ATTR_PADS, pads->ints, (int)pads->n_ints);
  return TG_OK;
}

/* Upsample, and Resize of opset 10, have one way to count, which needed no attribute. */
static void adapt_resize(const tg_import *import, tg_node *node) {
  if (import->opset > 10) return;
  tg_attr_set_text(import->graph, node, TG_ATTR_COORDINATE_MODE, "asymmetric");
  tg_attr_set_text(import->graph, node, TG_ATTR_NEAREST_MODE, "floor");
}

/* Their parameters, of those that have some. */
static void adapt_numbers(tg_import *import, const Onnx__NodeProto *proto, tg_node *node, const char *name,
                          tg_attr_key key) {
  const Onnx__AttributeProto *a = find(proto, name);
  const char *list = "";
  for (size_t i = 0; a && i < a->n_floats && i < 6; i++)
    list = tg_arena_printf(import->graph->arena, "%s%s%.9g", list, i ? "," : "", (double)a->floats[i]);
  tg_attr_set_text(import->graph, node, key, list);
}

/* One, in the same form. */
static void adapt_number(tg_import *import, const Onnx__NodeProto *proto, tg_node *node) {
  const Onnx__AttributeProto *a = find(proto, "activation_alpha");
  if (!a || !a->has_f) return;
  const char *text = tg_arena_printf(import->graph->arena, "%.9g", (double)a->f);
  tg_attr_set_text(import->graph, node, TG_ATTR_ACTIVATION_ALPHA, text);
}

/* Names of functions, one for each gate and direction; inference knows which it takes. */
static tg_status adapt_recurrent(tg_import *import, const Onnx__NodeProto *proto, tg_node *node) {
  const Onnx__AttributeProto *a = find(proto, "activations");
  const char *list = "";
  for (size_t i = 0; a && i < a->n_strings && i < 6; i++)
    list = tg_arena_printf(import->graph->arena, "%s%s%.*s", list, i ? "," : "",
                           (int)(a->strings[i].len < 32 ? a->strings[i].len : 32),
                           (const char *)a->strings[i].data);
  tg_attr_set_text(import->graph, node, TG_ATTR_ACTIVATIONS, list);
  adapt_numbers(import, proto, node, "activation_alpha", TG_ATTR_ACTIVATION_ALPHA);
  adapt_numbers(import, proto, node, "activation_beta", TG_ATTR_ACTIVATION_BETA);
  return TG_OK;
}

tg_status tg_import_adapt(tg_import *import, const Onnx__NodeProto *proto, tg_node *node) {
  if (node->op == TG_OP_PRELU) return adapt_prelu(import, node), TG_OK;
  if (tg_attr_find(node, TG_ATTR_BROADCAST_AXIS)) return adapt_binary(import, proto, node);
  if (tg_op_is(node->op, TG_IS_RECURRENT)) return adapt_recurrent(import, proto, node);
  switch (node->op) {
  case TG_OP_FUSED_CONV:
    adapt_numbers(import, proto, node, "activation_params", TG_ATTR_ACTIVATION_ALPHA);
    return TG_OK;
  case TG_OP_FUSED_GEMM: adapt_number(import, proto, node); return TG_OK;
  case TG_OP_CONCAT: return adapt_concat(import, proto, node);
  case TG_OP_CAST: return adapt_cast(import, proto, node);
  case TG_OP_DROPOUT: return adapt_dropout(import, node);
  case TG_OP_HARDMAX:
  case TG_OP_SOFTMAX:
  case TG_OP_LOG_SOFTMAX: return adapt_softmax(import, proto, node);
  case TG_OP_DFT:
    if (import->opset >= 20) tg_attr_set_int(node, TG_ATTR_AXIS, -2);
    return TG_OK;
  case TG_OP_ROI_ALIGN:
    if (import->opset < 16)
      tg_attr_set_text(import->graph, node, TG_ATTR_COORDINATE_MODE, "output_half_pixel");
    return TG_OK;
  case TG_OP_RANDOM_NORMAL:
  case TG_OP_RANDOM_NORMAL_LIKE:
  case TG_OP_RANDOM_UNIFORM:
  case TG_OP_RANDOM_UNIFORM_LIKE:
  case TG_OP_BERNOULLI:
  case TG_OP_MULTINOMIAL:
  case TG_OP_EYE_LIKE: return adapt_dtype(import, proto, node);
  case TG_OP_SELU: adapt_selu(import, proto, node); return TG_OK;
  case TG_OP_CLIP: adapt_clip(import, node); return TG_OK;
  case TG_OP_CONSTANT_OF_SHAPE: return adapt_constant_of_shape(import, proto, node);
  case TG_OP_LP_POOL:
  case TG_OP_GLOBAL_LP_POOL: return adapt_order(import, proto, node);
  case TG_OP_PAD: return adapt_pad(import, proto, node);
  case TG_OP_RESIZE: adapt_resize(import, node); return TG_OK;
  case TG_OP_BATCH_NORMALIZATION:
    if (import->opset < 7 && !find(proto, "is_test"))
      return tg_fail(import->diag, TG_INVALID, "training form (is_test = 0) is not supported");
    return TG_OK;
  default: return TG_OK;
  }
}
