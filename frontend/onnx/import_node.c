#include "frontend/onnx/import.h"
#include "frontend/onnx/tensor.h"

#include <inttypes.h>
#include <string.h>

enum { MOST_OUTPUTS = 256 };

static bool is_microsoft(const Onnx__NodeProto *proto) {
  return proto->domain && !strcmp(proto->domain, "com.microsoft");
}

/* As ops.def has it: with the domain, if another one has an operator of that name. */
static const char *operator_name(const tg_import *import, const Onnx__NodeProto *proto) {
  const char *op = proto->op_type ? proto->op_type : "";
  const char *full = tg_arena_printf(import->graph->arena, "com.microsoft.%s", op);
  return is_microsoft(proto) && tg_op_from_name(full) != TG_OP_COUNT ? full : op;
}

/* "node \"fc1\" (Gemm)", or by position when it has no name; on the graph's arena. */
static const char *where(const tg_import *import, const Onnx__NodeProto *proto, int64_t position) {
  const char *op = operator_name(import, proto);
  if (proto->name && *proto->name)
    return tg_arena_printf(import->graph->arena, "node \"%s\" (%s)", proto->name, op);
  return tg_arena_printf(import->graph->arena, "node %" PRId64 " (%s)", position, op);
}

/* --- inputs and results --- */

static tg_status find_operand(tg_import *import, const char *name, tg_value **out_value) {
  *out_value = NULL;
  if (!*name) return TG_OK;
  tg_value *value = tg_import_find(import, name);
  if (value == &tg_import_none) return TG_OK;
  if (!value) return tg_fail(import->diag, TG_INVALID, "input \"%s\" is not defined before it", name);
  if (value == &tg_import_absent)
    return tg_fail(import->diag, TG_INVALID, "input \"%s\" is an optional result that is not supported",
                   name);
  *out_value = value;
  return TG_OK;
}

static tg_status find_operands(tg_import *import, const Onnx__NodeProto *proto, int most,
                               tg_value ***out_values) {
  if (proto->n_input > (size_t)most)
    return tg_fail(import->diag, TG_INVALID, "%zu inputs where at most %d are supported", proto->n_input,
                   most);
  *out_values = TG_NEW_ARRAY(import->graph->arena, tg_value *, proto->n_input);
  for (size_t i = 0; i < proto->n_input; i++)
    if (find_operand(import, proto->input[i], &(*out_values)[i])) return TG_INVALID;
  return TG_OK;
}

static tg_status check_present(tg_import *import, tg_op op, tg_value *const *values, size_t count) {
  const tg_op_info *info = tg_op_get(op);
  size_t needed = info->most_inputs == TG_ANY_COUNT ? count : (size_t)info->fewest_inputs;
  if (count < (size_t)info->fewest_inputs)
    return tg_fail(import->diag, TG_INVALID, "%zu inputs where %d are needed", count, info->fewest_inputs);
  for (size_t i = 0; i < needed; i++)
    if (!values[i]) return tg_fail(import->diag, TG_INVALID, "input %zu is missing", i);
  return TG_OK;
}

static tg_status define_results(tg_import *import, const Onnx__NodeProto *proto, const tg_node *node) {
  bool any = node->output_count > 1; /* then the first may be left out, too */
  if (!proto->n_output || (!any && !*proto->output[0]))
    return tg_fail(import->diag, TG_INVALID, "it has no output");
  if (proto->n_output > MOST_OUTPUTS)
    return tg_fail(import->diag, TG_INVALID, "%zu outputs", proto->n_output);
  for (size_t i = 0; i < proto->n_output; i++) {
    tg_value *value = i < (size_t)node->output_count ? node->outputs[i] : &tg_import_absent;
    if (tg_import_define(import, proto->output[i], value)) return TG_INVALID;
  }
  return TG_OK;
}

/* --- Gradient: attributes that name tensors --- */

/* Are operands [first, first + n) the tensors that the attribute names? */
static bool are_named(const Onnx__NodeProto *proto, const Onnx__AttributeProto *list, size_t first) {
  for (size_t i = 0; list && i < list->n_strings; i++) {
    const char *name = first + i < proto->n_input ? proto->input[first + i] : "";
    const ProtobufCBinaryData *text = &list->strings[i];
    if (!text->len || strlen(name) != text->len || memcmp(name, text->data, text->len)) return false;
  }
  return true;
}

/* Operands xs and zs, then y. Other values for xs or zs than those that y was computed from would need y
 * anew. */
static tg_status find_gradient_operands(tg_import *import, const Onnx__NodeProto *proto, tg_value ***values) {
  const Onnx__AttributeProto *xs = tg_import_find_attribute(proto, "xs"),
                             *zs = tg_import_find_attribute(proto, "zs"),
                             *y = tg_import_find_attribute(proto, "y");
  size_t count = xs ? xs->n_strings : 0, others = zs ? zs->n_strings : 0;
  if (!count || !y || !y->has_s || !y->s.len)
    return tg_fail(import->diag, TG_INVALID, "attributes xs and y are needed");
  if (proto->n_input != count + others || !are_named(proto, xs, 0) || !are_named(proto, zs, count))
    return tg_fail(import->diag, TG_INVALID, "inputs other than the tensors xs and zs are not supported");
  if (proto->n_output != count)
    return tg_fail(import->diag, TG_INVALID, "%zu outputs for %zu tensors xs", proto->n_output, count);
  const char *name = tg_arena_strndup(import->graph->arena, (const char *)y->s.data, y->s.len);
  tg_value **list = TG_NEW_ARRAY(import->graph->arena, tg_value *, proto->n_input + 1);
  for (size_t i = 0; i < proto->n_input; i++) list[i] = (*values)[i];
  *values = list;
  return find_operand(import, name, &list[proto->n_input]);
}

/* Before opset 9 the scales of Upsample were an attribute: a constant operand, as they are since. */
static tg_status find_scales(tg_import *import, const Onnx__NodeProto *proto, tg_value ***values,
                             int *count) {
  const Onnx__AttributeProto *scales = tg_import_find_attribute(proto, "scales");
  if (!scales || *count != 1) return TG_OK;
  if (!scales->n_floats || scales->n_floats > TG_MAX_RANK)
    return tg_fail(import->diag, TG_INVALID, "attribute \"scales\" is no list of at most %d", TG_MAX_RANK);
  tg_graph *graph = import->graph;
  tg_value **list = TG_NEW_ARRAY(graph->arena, tg_value *, 2);
  const char *name = tg_arena_printf(graph->arena, "%s.scales", proto->n_output ? proto->output[0] : "");
  list[0] = (*values)[0];
  list[1] = tg_graph_add_constant(graph, name, TG_F32, 1, &(int64_t){(int64_t)scales->n_floats},
                                  scales->floats, false);
  *values = list;
  *count = 2;
  return TG_OK;
}

/* --- ConstantOfShape with an integer that its attribute, a double, does not hold: that integer expanded --- */

static tg_status find_wide_fill(tg_import *import, const Onnx__NodeProto *proto, tg_value ***values,
                                bool *out_found) {
  const Onnx__AttributeProto *a = tg_import_find_attribute(proto, "value");
  tg_value *fill;
  *out_found = false;
  if (!a || !a->t) return TG_OK;
  if (tg_onnx_tensor(import->graph, a->t, proto->name, import->path, &fill, import->diag)) return TG_INVALID;
  if (tg_value_elements(fill) != 1 || !tg_dtype_is_integer(fill->dtype) ||
      tg_is_double(tg_load_i64(fill->data, fill->dtype, 0)))
    return TG_OK;
  tg_graph *graph = import->graph;
  tg_value **list = TG_NEW_ARRAY(graph->arena, tg_value *, 2);
  list[0] = tg_graph_add_constant(graph, proto->name, fill->dtype, 0, NULL, fill->data, false);
  list[1] = (*values)[0];
  *values = list;
  *out_found = true;
  return TG_OK;
}

/* --- Constant: no node, a constant --- */

static tg_status import_constant(tg_import *import, const Onnx__NodeProto *proto) {
  if (proto->n_input || proto->n_output != 1 || !*proto->output[0] || proto->n_attribute != 1)
    return tg_fail(import->diag, TG_INVALID, "it must have one attribute, one output and no input");
  const Onnx__AttributeProto *a = proto->attribute[0];
  const char *name = proto->output[0], *kind = a->name ? a->name : "";
  tg_value *value = NULL;
  int64_t length = 1;
  if (!strcmp(kind, "value") && a->t) {
    if (tg_onnx_tensor(import->graph, a->t, name, import->path, &value, import->diag)) return TG_INVALID;
  } else if (!strcmp(kind, "value_float") && a->has_f) {
    value = tg_graph_add_constant(import->graph, name, TG_F32, 0, NULL, &a->f, false);
  } else if (!strcmp(kind, "value_int") && a->has_i) {
    value = tg_graph_add_constant(import->graph, name, TG_I64, 0, NULL, &a->i, false);
  } else if (!strcmp(kind, "value_floats")) {
    length = (int64_t)a->n_floats;
    value = tg_graph_add_constant(import->graph, name, TG_F32, 1, &length, a->floats, false);
  } else if (!strcmp(kind, "value_ints")) {
    length = (int64_t)a->n_ints;
    value = tg_graph_add_constant(import->graph, name, TG_I64, 1, &length, a->ints, false);
  } else {
    return tg_fail(import->diag, TG_INVALID, "attribute \"%s\" is not supported", kind);
  }
  return tg_import_define(import, name, value);
}

/* --- Optional, OptionalGetElement, OptionalHasElement: an optional is its element, or an operand that is left out --- */

static bool is_optional(const Onnx__NodeProto *proto) {
  static const char *const names[] = {"Optional", "OptionalGetElement", "OptionalHasElement"};
  for (int i = 0; proto->op_type && i < 3; i++)
    if (!strcmp(proto->op_type, names[i])) return true;
  return false;
}

static tg_status import_optional(tg_import *import, const Onnx__NodeProto *proto) {
  tg_value *value = NULL;
  if (proto->n_output != 1 || !*proto->output[0] || proto->n_input > 1)
    return tg_fail(import->diag, TG_INVALID, "it must have one output and at most one input");
  if (proto->n_input && find_operand(import, proto->input[0], &value)) return TG_INVALID;
  const char *name = proto->output[0];
  if (!strcmp(proto->op_type, "OptionalHasElement")) {
    uint8_t has = value != NULL;
    return tg_import_define(import, name,
                            tg_graph_add_constant(import->graph, name, TG_BOOL, 0, NULL, &has, false));
  }
  if (!value && !strcmp(proto->op_type, "OptionalGetElement"))
    return tg_fail(import->diag, TG_INVALID, "its input has no element");
  if (!tg_name_set_add(import->names, name, value ? value : &tg_import_none))
    return tg_fail(import->diag, TG_INVALID, "output \"%s\" is defined twice", name);
  return TG_OK;
}

/* --- metadata --- */

static void read_metadata(const Onnx__NodeProto *proto, tg_graph *graph, tg_node *node) {
  for (size_t i = 0; i < proto->n_metadata_props; i++) {
    const Onnx__StringStringEntryProto *entry = proto->metadata_props[i];
    const char *key = entry->key ? entry->key : "", *value = entry->value ? entry->value : "";
    if (!strcmp(key, "tegula.disable_graphamp"))
      node->disable_graphamp = strcmp(value, "0") && strcmp(value, "false");
    if (!strcmp(key, "tegula.casts") && *value) node->casts = tg_arena_strdup(graph->arena, value);
    if (!strcmp(key, "tegula.origin") && *value) node->origin = tg_arena_strdup(graph->arena, value);
  }
}

/* --- the node --- */

/* Operators that are those of ops.def by another name or in another domain too. */
static const struct {
  const char *name;
  bool microsoft;
  tg_op op;
} other_names[] = {
    {"Gelu", true, TG_OP_GELU},
    {"QuantizeLinear", true, TG_OP_QUANTIZE_LINEAR},
    {"DequantizeLinear", true, TG_OP_DEQUANTIZE_LINEAR},
    {"Trilu", true, TG_OP_TRILU},
    {"ExpandDims", true, TG_OP_UNSQUEEZE},          /* its axis is a single number */
    {"TransposeMatMul", true, TG_OP_FUSED_MAT_MUL}, /* as FusedMatMul was called */
    {"SimplifiedLayerNormalization", false,
     TG_OP_RMS_NORMALIZATION}, /* as ONNX Runtime called it, in the domain of ONNX */
};

/* Is the operator one of the domain by its own name, or by one of other_names? Then *op is which. */
static bool is_of_domain(const char *name, const char *domain, tg_op *op) {
  bool microsoft = !strcmp(domain, "com.microsoft"), onnx = !*domain || !strcmp(domain, "ai.onnx");
  for (size_t i = 0; i < sizeof other_names / sizeof *other_names; i++)
    if ((other_names[i].microsoft ? microsoft : onnx) && !strcmp(name, other_names[i].name)) {
      *op = other_names[i].op;
      return true;
    }
  bool known = *op != TG_OP_COUNT, of_microsoft = known && tg_op_is(*op, TG_IS_MICROSOFT);
  if (microsoft) return of_microsoft;
  if (known && tg_op_is(*op, TG_IS_TRAINING)) return !strcmp(domain, "ai.onnx.preview.training");
  if (known && tg_op_is(*op, TG_IS_PREVIEW)) return !strcmp(domain, "ai.onnx.preview");
  return onnx && !of_microsoft;
}

/* A Dropout outside of training whose mask is asked for, or whose mode arrives. */
static bool keeps_all(tg_import *import, const Onnx__NodeProto *proto) {
  tg_value *mode = proto->n_input > 2 && *proto->input[2] ? tg_import_find(import, proto->input[2]) : NULL;
  if (mode && !tg_is_constant(mode)) return true;
  tg_import_settle(mode);
  bool trains =
      mode && mode->dtype == TG_BOOL && tg_value_elements(mode) == 1 && *(const uint8_t *)mode->data;
  return !trains && proto->n_output > 1 && *proto->output[1];
}

/* Does a node of the model's graph read a tensor of this name, or is it an output of the model? */
static bool is_read(const tg_import *import, const char *name) {
  const Onnx__GraphProto *graph = import->model->graph;
  for (size_t i = 0; *name && i < graph->n_output; i++)
    if (graph->output[i]->name && !strcmp(graph->output[i]->name, name)) return true;
  for (size_t i = 0; *name && i < graph->n_node; i++)
    for (size_t k = 0; k < graph->node[i]->n_input; k++)
      if (!strcmp(graph->node[i]->input[k], name)) return true;
  return false;
}

/* What training graphs name as running statistics is theirs alone unless something reads it. */
static bool gives_statistics(const tg_import *import, const Onnx__NodeProto *proto) {
  if (import->opset < 14 || !import->model) return false;
  for (size_t i = 1; i < proto->n_output; i++)
    if (is_read(import, proto->output[i])) return true;
  return false;
}

static tg_status find_operator(tg_import *import, const Onnx__NodeProto *proto, tg_op *out_op) {
  const char *domain = proto->domain ? proto->domain : "";
  *out_op = proto->op_type && !strchr(proto->op_type, '.') ? tg_op_from_name(operator_name(import, proto))
                                                           : TG_OP_COUNT;
  if (proto->op_type && !strcmp(proto->op_type, "Upsample") && import->opset >= 7 && import->opset <= 9)
    *out_op = TG_OP_RESIZE;
  if (!is_of_domain(proto->op_type ? proto->op_type : "", domain, out_op))
    return tg_fail(import->diag, TG_INVALID, "the operator is not supported in domain \"%s\"", domain);
  if (*out_op == TG_OP_COUNT || tg_op_is(*out_op, TG_IS_INTERNAL))
    return tg_fail(import->diag, TG_INVALID, "the operator is not supported");
  if (*out_op == TG_OP_LAYER_NORMALIZATION && proto->n_output > 1)
    *out_op = TG_OP_LAYER_NORMALIZATION_STATISTICS;
  if (*out_op == TG_OP_BATCH_NORMALIZATION && gives_statistics(import, proto))
    *out_op = TG_OP_BATCH_NORMALIZATION_STATISTICS;
  if (*out_op == TG_OP_MAX_POOL && proto->n_output > 1 && *proto->output[1]) *out_op = TG_OP_MAX_POOL_PLACES;
  if (*out_op == TG_OP_DROPOUT && keeps_all(import, proto)) *out_op = TG_OP_DROPOUT_MASK;
  return TG_OK;
}

static tg_status import_node(tg_import *import, const Onnx__NodeProto *proto, int64_t position) {
  const char *domain = proto->domain ? proto->domain : "";
  bool of_onnx = !*domain || !strcmp(domain, "ai.onnx");
  if (of_onnx && proto->op_type && !strcmp(proto->op_type, "Constant")) return import_constant(import, proto);
  if (of_onnx && is_optional(proto)) return import_optional(import, proto);
  const Onnx__FunctionProto *function = tg_import_find_function(import, proto);
  if (function) return tg_import_call(import, proto, function);
  tg_op op;
  if (find_operator(import, proto, &op)) return TG_INVALID;
  int most = op == TG_OP_DROPOUT ? 3 : tg_op_get(op)->most_inputs; /* adapt.c drops two of a dropout's */
  tg_value **inputs = NULL;
  bool control = tg_op_is(op, TG_IS_CONTROL) != 0;
  if (find_operands(import, proto, most, &inputs) ||
      (!control && check_present(import, op, inputs, proto->n_input)))
    return TG_INVALID;
  if (op == TG_OP_GRADIENT && find_gradient_operands(import, proto, &inputs)) return TG_INVALID;
  int count = (int)proto->n_input + (op == TG_OP_GRADIENT);
  if (op == TG_OP_RESIZE && import->opset < 9 && find_scales(import, proto, &inputs, &count))
    return TG_INVALID;
  if (op == TG_OP_CONSTANT_OF_SHAPE) {
    bool expands;
    if (find_wide_fill(import, proto, &inputs, &expands)) return TG_INVALID;
    if (expands) {
      tg_node *expand =
          tg_graph_add_node(import->graph, TG_OP_EXPAND, proto->name, inputs, 2, NULL, position);
      read_metadata(proto, import->graph, expand);
      return define_results(import, proto, expand);
    }
  }
  tg_node *node;
  if (!control)
    node = tg_graph_add_node(import->graph, op, proto->name, inputs, count, NULL, position);
  else if (tg_import_bodies(import, proto, op, inputs, position, &node))
    return TG_INVALID;
  if (tg_op_get(op)->outputs == TG_ANY_COUNT && proto->n_output > 1 && proto->n_output <= MOST_OUTPUTS)
    tg_node_set_outputs(import->graph, node, (int)proto->n_output);
  read_metadata(proto, import->graph, node);
  if (tg_import_attributes(import, proto, node) || tg_import_adapt(import, proto, node)) return TG_INVALID;
  return define_results(import, proto, node);
}

tg_status tg_import_node(tg_import *import, const Onnx__NodeProto *proto, int64_t position) {
  proto = tg_import_resolve(import, proto);
  tg_status status = import_node(import, proto, position);
  if (status) tg_diag_prefix(import->diag, "%s", where(import, proto, position));
  return status;
}
