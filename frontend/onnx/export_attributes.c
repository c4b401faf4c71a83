/* A node's attributes, as ONNX has them: as attributes, or as operands where the opset that is written takes them so. */
#include "frontend/names.h"
#include "frontend/onnx/export_parts.h"

#include <stdlib.h>
#include <string.h>

/* A list or bound that newer opsets take as an operand. */
static tg_status add_operand(tg_export *e, Onnx__NodeProto *proto, const tg_node *node, const tg_attr *attr) {
  const char *name = tg_name_set_add_fresh(
      e->taken, tg_arena_printf(e->arena, "%s.%s", tg_out(node)->name, tg_attr_get(attr->key)->name), e);
  tg_export_input(e, proto, name);
  if (tg_attr_get(attr->key)->kind == TG_KIND_INTS) {
    tg_dim dim = {attr->count, NULL};
    return tg_export_initializer(e, name, TG_I64, 1, &dim, attr->ints, (size_t)attr->count * sizeof(int64_t));
  }
  if (tg_attr_get(attr->key)->kind == TG_KIND_INT)
    return tg_export_initializer(e, name, TG_I64, 0, NULL, &attr->i, sizeof attr->i);
  tg_dtype dtype = tg_in(node, 0)->dtype ? tg_in(node, 0)->dtype : TG_F32;
  void *cell = tg_arena_alloc(e->arena, 1, 8);
  tg_store_f32(cell, dtype, 0, (float)attr->f);
  return tg_export_initializer(e, name, dtype, 0, NULL, cell, tg_dtype_size(dtype));
}

/* Whole factors as the scales they were: floats, the third operand of a Resize. */
static tg_status add_scales(tg_export *e, Onnx__NodeProto *proto, const tg_node *node, const tg_attr *attr) {
  const char *name =
      tg_name_set_add_fresh(e->taken, tg_arena_printf(e->arena, "%s.scales", tg_out(node)->name), e);
  float *scales = TG_NEW_ARRAY(e->arena, float, (size_t)attr->count);
  tg_dim dim = {attr->count, NULL};
  for (int i = 0; i < attr->count; i++) scales[i] = (float)attr->ints[i];
  tg_export_input(e, proto, "");
  tg_export_input(e, proto, name);
  return tg_export_initializer(e, name, TG_F32, 1, &dim, scales, (size_t)attr->count * sizeof *scales);
}

static void append_attribute(tg_export *e, Onnx__NodeProto *proto, Onnx__AttributeProto *a) {
  Onnx__AttributeProto **list = TG_NEW_ARRAY(e->arena, Onnx__AttributeProto *, proto->n_attribute + 1);
  if (proto->n_attribute) memcpy(list, proto->attribute, proto->n_attribute * sizeof *list);
  list[proto->n_attribute++] = a;
  proto->attribute = list;
}

/* A list of texts or numbers, which is one text here. */
static void add_activations(tg_export *e, Onnx__NodeProto *proto, const tg_attr *attr) {
  bool names = attr->key == TG_ATTR_ACTIVATIONS;
  Onnx__AttributeProto *a = &TG_MESSAGE(e, Onnx__AttributeProto, ONNX__ATTRIBUTE_PROTO__INIT);
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

static void add_attribute(tg_export *e, Onnx__NodeProto *proto, const tg_attr *attr) {
  Onnx__AttributeProto *a = &TG_MESSAGE(e, Onnx__AttributeProto, ONNX__ATTRIBUTE_PROTO__INIT);
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
  bool scalar = attr->key == TG_ATTR_SHAPE && attr->ints;
  switch (tg_attr_get(attr->key)->kind) {
  case TG_KIND_INT: return (double)attr->i == initial;
  case TG_KIND_FLOAT: return attr->f == initial;
  case TG_KIND_INTS: return !attr->count && !scalar;
  default: return !*attr->text;
  }
}

static bool all_ones(const tg_attr *attr) {
  for (int i = 0; i < attr->count; i++)
    if (attr->ints[i] != 1) return false;
  return true;
}

/* Axes are an operand in the opset that is written. */
static bool takes_axes(const tg_export *e, const tg_node *node, tg_attr_key key) {
  bool reduces = tg_op_is(node->op, TG_IS_REDUCE) && node->op != TG_OP_REDUCE_SUM;
  return key == TG_ATTR_AXES && (!reduces || tg_export_opset(e) >= OPSET_WITH_AXES_OPERANDS);
}

/* Does ONNX take the attribute as an operand? Those of an operator stand in the order of its operands. */
static bool is_operand(const tg_export *e, const tg_node *node, tg_attr_key key) {
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

tg_status tg_export_attributes(tg_export *e, Onnx__NodeProto *proto, const tg_node *node) {
  if (tg_op_is(node->op, TG_IS_INTERNAL)) return tg_export_refuse(e, node, "an operator of our own");
  if (tg_op_is(node->op, TG_IS_TRAINING))
    return tg_export_refuse(e, node, "an operator of the training domain");
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
    if (info->internal) return tg_export_refuse(e, node, info->name);
    if (node->op == TG_OP_AVERAGE_POOL && attr->key == TG_ATTR_DILATIONS) {
      if (!all_ones(attr)) return tg_export_refuse(e, node, "dilation");
      continue;
    }
    if (attr->key == TG_ATTR_TO && !tg_dtype_to_onnx((tg_dtype)attr->i))
      return tg_export_refuse(e, node, "its element type");
    if (!as_operand) {
      add_attribute(e, proto, attr);
    } else if (node->input_count == 1) {
      for (; absent; absent--) tg_export_input(e, proto, "");
      if (add_operand(e, proto, node, attr)) return TG_INVALID;
    }
  }
  return TG_OK;
}
