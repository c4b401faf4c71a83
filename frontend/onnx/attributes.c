#include "frontend/onnx/import.h"

#include <math.h>
#include <string.h>

typedef enum rule_kind { RULE_OURS, RULE_IGNORED, RULE_ADAPTED, RULE_ONLY } rule_kind;

typedef struct legacy_rule {
  tg_op op;
  const char *attribute;
  int first, last;
  rule_kind kind;
  int64_t only;
} legacy_rule;

static const legacy_rule legacy[] = {
#define OURS                                        RULE_OURS, 0
#define IGNORED                                     RULE_IGNORED, 0
#define ADAPTED                                     RULE_ADAPTED, 0
#define ONLY(v)                                     RULE_ONLY, v
#define TG_LEGACY(op, attribute, first, last, rule) {TG_OP_##op, #attribute, first, last, rule},
#include "frontend/onnx/legacy.def"
#undef TG_LEGACY
#undef OURS
#undef IGNORED
#undef ADAPTED
#undef ONLY
};
enum { LEGACY_COUNT = sizeof legacy / sizeof *legacy };

const Onnx__AttributeProto *tg_import_find_attribute(const Onnx__NodeProto *proto, const char *name) {
  for (size_t i = 0; i < proto->n_attribute; i++)
    if (!strcmp(proto->attribute[i]->name ? proto->attribute[i]->name : "", name)) return proto->attribute[i];
  return NULL;
}

/* The type that counts: files before IR version 2 do not name it, then the field present tells. */
static Onnx__AttributeProto__AttributeType type_of(const Onnx__AttributeProto *a) {
  if (a->has_type && a->type != ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__UNDEFINED) return a->type;
  if (a->has_f) return ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__FLOAT;
  if (a->has_i) return ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INT;
  if (a->has_s) return ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__STRING;
  if (a->n_ints) return ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INTS;
  return ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__UNDEFINED;
}

static tg_status set_attribute(tg_import *import, tg_node *node, const tg_attr *ours,
                               const Onnx__AttributeProto *a) {
  const tg_attr_info *info = tg_attr_get(ours->key);
  static const Onnx__AttributeProto__AttributeType wanted[] = {
      [TG_KIND_INT] = ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INT,
      [TG_KIND_FLOAT] = ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__FLOAT,
      [TG_KIND_INTS] = ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INTS,
      [TG_KIND_TEXT] = ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__STRING,
  };
  if (type_of(a) != wanted[info->kind])
    return tg_fail(import->diag, TG_INVALID, "attribute \"%s\" has the wrong type", a->name);
  switch (info->kind) {
  case TG_KIND_INT: tg_attr_set_int(node, ours->key, a->i); break;
  case TG_KIND_FLOAT:
    if (isnan(a->f)) return tg_fail(import->diag, TG_INVALID, "attribute \"%s\" is no number", a->name);
    tg_attr_set_float(node, ours->key, (double)a->f);
    break;
  case TG_KIND_INTS:
    if (a->n_ints > 64) return tg_fail(import->diag, TG_INVALID, "attribute \"%s\" is too long", a->name);
    tg_attr_set_ints(import->graph, node, ours->key, a->ints, (int)a->n_ints);
    break;
  case TG_KIND_TEXT:
    tg_attr_set_text(import->graph, node, ours->key,
                     tg_arena_strndup(import->graph->arena, (const char *)a->s.data, a->s.len));
    break;
  }
  return TG_OK;
}

static const legacy_rule *find_rule(const tg_import *import, tg_op op, const char *name,
                                    bool *out_other_opsets) {
  *out_other_opsets = false;
  for (int i = 0; i < LEGACY_COUNT; i++) {
    if (legacy[i].op != op || strcmp(legacy[i].attribute, name)) continue;
    if (import->opset >= legacy[i].first && import->opset <= legacy[i].last) return &legacy[i];
    *out_other_opsets = true;
  }
  return NULL;
}

static const tg_attr *find_ours(const tg_node *node, const char *name) {
  tg_attr_key key = tg_attr_from_name(name);
  if (key == TG_ATTR_KEY_COUNT || tg_attr_get(key)->internal) return NULL;
  return tg_attr_find(node, key);
}

static tg_status import_attribute(tg_import *import, tg_node *node, const Onnx__AttributeProto *a) {
  if (!a->name || !*a->name) return tg_fail(import->diag, TG_INVALID, "an attribute without a name");
  if (a->ref_attr_name && *a->ref_attr_name)
    return tg_fail(import->diag, TG_INVALID, "attribute \"%s\" refers to a function's attribute", a->name);
  bool other_opsets;
  const legacy_rule *rule = find_rule(import, node->op, a->name, &other_opsets);
  const tg_attr *ours = find_ours(node, a->name);
  if (rule ? rule->kind == RULE_OURS : ours && !other_opsets) return set_attribute(import, node, ours, a);
  if (!rule)
    return tg_fail(import->diag, TG_INVALID, "attribute \"%s\" is not supported in opset %lld", a->name,
                   (long long)import->opset);
  if (rule->kind == RULE_ONLY &&
      (type_of(a) != ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INT || a->i != rule->only))
    return tg_fail(import->diag, TG_INVALID, "attribute \"%s\" = %lld is not supported, only %lld is",
                   a->name, (long long)a->i, (long long)rule->only);
  return TG_OK;
}

static tg_status check_required(tg_import *import, const tg_node *node, const Onnx__NodeProto *proto) {
  const tg_op_info *info = tg_op_get(node->op);
  for (int i = 0; i < info->attr_count; i++) {
    const char *name = tg_attr_get(info->attrs[i].key)->name;
    bool other_opsets;
    const legacy_rule *rule = find_rule(import, node->op, name, &other_opsets);
    if (rule && rule->kind == RULE_ADAPTED) continue;
    if (isnan(info->attrs[i].initial) && !tg_import_find_attribute(proto, name))
      return tg_fail(import->diag, TG_INVALID, "attribute \"%s\" is missing", name);
  }
  return TG_OK;
}

tg_status tg_import_attributes(tg_import *import, const Onnx__NodeProto *proto, tg_node *node) {
  if (proto->n_attribute > 64) return tg_fail(import->diag, TG_INVALID, "%zu attributes", proto->n_attribute);
  for (size_t i = 0; i < proto->n_attribute; i++) {
    if (import_attribute(import, node, proto->attribute[i])) return TG_INVALID;
    for (size_t k = 0; k < i; k++)
      if (!strcmp(proto->attribute[k]->name, proto->attribute[i]->name))
        return tg_fail(import->diag, TG_INVALID, "attribute \"%s\" stands twice", proto->attribute[i]->name);
  }
  return check_required(import, node, proto);
}
