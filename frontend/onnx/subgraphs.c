/* Graphs inside nodes (If, Loop, Scan), and functions of the model, whose nodes take the place of their call. */
#include "frontend/onnx/import.h"

#include <inttypes.h>
#include <string.h>

enum { MOST_DEPTH = 32, MOST_NODES = 1 << 17, MOST_CALLS = 1 << 14 };

/* Functions that call functions twice, so many deep, are many calls of few bytes. */
static tg_status count_call(const tg_import *import) {
  return ++*import->calls > MOST_CALLS
             ? tg_fail(import->diag, TG_INVALID, "its functions and bodies are entered more than %d times",
                       MOST_CALLS)
             : TG_OK;
}

/* --- bodies --- */

/* The body, and what it reads of the graphs around it: its last inputs, in their order. */
typedef struct body {
  tg_graph *graph;
  tg_value **captured;
  size_t count;
} body;

static tg_status import_body(tg_import *import, const Onnx__GraphProto *proto, body *out) {
  tg_arena *arena = import->graph->arena;
  tg_import inner = *import;
  inner.graph = tg_graph_create(arena, proto->name ? proto->name : "");
  inner.names = tg_name_set_create(arena);
  inner.outer = import;
  inner.depth++;
  inner.captured = NULL;
  inner.captured_count = inner.captured_capacity = 0;
  if (inner.depth > MOST_DEPTH) return tg_fail(import->diag, TG_INVALID, "graphs are nested too deeply");
  if (count_call(import)) return TG_INVALID;
  if (proto->n_sparse_initializer)
    return tg_fail(import->diag, TG_INVALID, "sparse initializers are not supported");
  if (tg_import_constants(&inner, proto)) return TG_INVALID;
  for (size_t i = 0; i < proto->n_input; i++) {
    const char *name = proto->input[i]->name ? proto->input[i]->name : "";
    const Onnx__TypeProto *type = proto->input[i]->type;
    bool fits = !type || type->value_case == ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE ||
                type->value_case == ONNX__TYPE_PROTO__VALUE_SEQUENCE_TYPE;
    if (!fits)
      return tg_fail(import->diag, TG_INVALID, "input \"%s\" of its body is no tensor and no sequence", name);
    tg_value *value = tg_graph_add_input(inner.graph, name, TG_NONE, -1, NULL);
    if (!*name || !tg_name_set_add(inner.names, name, value))
      return tg_fail(import->diag, TG_INVALID, "input %zu of its body has no name or is defined twice", i);
  }
  inner.graph->next_id = (int64_t)proto->n_node;
  for (size_t i = 0; i < proto->n_node; i++)
    if (inner.import_node(&inner, proto->node[i], (int64_t)i)) return TG_INVALID;
  for (size_t i = 0; i < proto->n_output; i++) {
    const char *name = proto->output[i]->name ? proto->output[i]->name : "";
    tg_value *value = tg_import_find(&inner, name);
    if (!value || value == &tg_import_absent || value == &tg_import_none)
      return tg_fail(import->diag, TG_INVALID, "output \"%s\" of its body is not computed", name);
    tg_graph_add_output(inner.graph, value, name, TG_NONE);
  }
  import->graph->held += inner.graph->held;
  *out = (body){inner.graph, inner.captured, inner.captured_count};
  return TG_OK;
}

/* The attributes that hold the bodies of an operator. */
static const char *const *body_names(tg_op op) {
  static const char *const of_if[] = {"then_branch", "else_branch"}, *const of_steps[] = {"body", NULL},
                           *const of_attention[] = {"score_mod", "prob_mod"};
  return op == TG_OP_IF ? of_if : op == TG_OP_FLEX_ATTENTION ? of_attention : of_steps;
}

/* Operands: those of the node, then, for each body, what it reads of the graphs around it; an attention's bodies have one
 * input of their own, which stands before these, absent. */
tg_status tg_import_bodies(tg_import *import, const Onnx__NodeProto *proto, tg_op op, tg_value *const *inputs,
                           int64_t position, tg_node **out_node) {
  const char *const *names = body_names(op);
  body bodies[2] = {{0}};
  bool attends = op == TG_OP_FLEX_ATTENTION;
  size_t needed = attends ? 3 : op == TG_OP_LOOP ? 2 : 1;
  if (proto->n_input < needed || ((op == TG_OP_IF || attends) && proto->n_input > needed))
    return tg_fail(import->diag, TG_INVALID, "%zu inputs where %zu are needed", proto->n_input, needed);
  tg_value **operands = NULL;
  size_t count = 0, capacity = 0;
  for (size_t i = 0; i < proto->n_input; i++)
    TG_PUSH(import->graph->arena, operands, count, capacity, inputs[i]);
  for (int i = 0; i < 2 && names[i]; i++) {
    const Onnx__AttributeProto *a = tg_import_find_attribute(proto, names[i]);
    if (!a && attends) continue;
    if (!a || !a->g) return tg_fail(import->diag, TG_INVALID, "its body is missing");
    if (import_body(import, a->g, &bodies[i])) return TG_INVALID;
    if (attends && (a->g->n_input != 1 || a->g->n_output != 1))
      return tg_fail(import->diag, TG_INVALID, "%s has other than one input and one output", names[i]);
    if (attends) TG_PUSH(import->graph->arena, operands, count, capacity, NULL);
    for (size_t k = 0; k < bodies[i].count; k++)
      TG_PUSH(import->graph->arena, operands, count, capacity, bodies[i].captured[k]);
  }
  tg_node *node = tg_graph_add_node(import->graph, op, proto->name, operands, (int)count, NULL, position);
  for (int i = 0; i < 2; i++) node->bodies[i] = bodies[i].graph;
  if (op == TG_OP_LOOP) tg_attr_set_int(node, TG_ATTR_STATES, (int64_t)proto->n_input - 2);
  if (op == TG_OP_SCAN || op == TG_OP_SEQUENCE_MAP)
    tg_attr_set_int(node, TG_ATTR_CAPTURED, (int64_t)(count - proto->n_input));
  if (op == TG_OP_SCAN) tg_attr_set_int(node, TG_ATTR_BATCHED, import->opset < 9);
  *out_node = node;
  return TG_OK;
}

/* --- functions --- */

static bool same_text(const char *a, const char *b) { return !strcmp(a ? a : "", b ? b : ""); }

const Onnx__FunctionProto *tg_import_find_function(const tg_import *import, const Onnx__NodeProto *proto) {
  for (size_t i = 0; i < import->model->n_functions; i++) {
    const Onnx__FunctionProto *f = import->model->functions[i];
    if (same_text(f->name, proto->op_type) && same_text(f->domain, proto->domain) &&
        same_text(f->overload, proto->overload))
      return f;
  }
  return NULL;
}

/* The opset of ai.onnx that the function is written in. */
static int64_t opset_of(const Onnx__FunctionProto *function, int64_t otherwise) {
  for (size_t i = 0; i < function->n_opset_import; i++) {
    const Onnx__OperatorSetIdProto *set = function->opset_import[i];
    if (set->has_version && (!set->domain || !*set->domain || !strcmp(set->domain, "ai.onnx")))
      return set->version;
  }
  return otherwise;
}

/* The attribute that the caller gives, or the function's own. */
static const Onnx__AttributeProto *argument(const tg_import *import, const char *name) {
  const Onnx__AttributeProto *given = tg_import_find_attribute(import->caller, name);
  for (size_t i = 0; !given && i < import->function->n_attribute_proto; i++)
    if (same_text(import->function->attribute_proto[i]->name, name))
      given = import->function->attribute_proto[i];
  return given;
}

/* The node with the caller's attributes where it names them; one that is not given is left out. */
const Onnx__NodeProto *tg_import_resolve(tg_import *import, const Onnx__NodeProto *proto) {
  bool any = false;
  for (size_t i = 0; i < proto->n_attribute; i++)
    any |= proto->attribute[i]->ref_attr_name && *proto->attribute[i]->ref_attr_name;
  if (!any || !import->function) return proto;
  Onnx__NodeProto *copy = TG_NEW(import->graph->arena, Onnx__NodeProto);
  *copy = *proto;
  copy->attribute = TG_NEW_ARRAY(import->graph->arena, Onnx__AttributeProto *, proto->n_attribute);
  copy->n_attribute = 0;
  for (size_t i = 0; i < proto->n_attribute; i++) {
    Onnx__AttributeProto *a = proto->attribute[i];
    if (a->ref_attr_name && *a->ref_attr_name) {
      const Onnx__AttributeProto *given = argument(import, a->ref_attr_name);
      if (!given) continue;
      Onnx__AttributeProto *named = TG_NEW(import->graph->arena, Onnx__AttributeProto);
      *named = *given;
      named->name = a->name;
      a = named;
    }
    copy->attribute[copy->n_attribute++] = a;
  }
  return copy;
}

tg_status tg_import_call(tg_import *import, const Onnx__NodeProto *proto,
                         const Onnx__FunctionProto *function) {
  tg_import inner = *import;
  inner.names = tg_name_set_create(import->graph->arena);
  inner.outer = NULL;
  inner.function = function;
  inner.caller = proto;
  inner.opset = opset_of(function, import->opset);
  inner.depth++;
  if (inner.depth > MOST_DEPTH) return tg_fail(import->diag, TG_INVALID, "functions are nested too deeply");
  if (count_call(import)) return TG_INVALID;
  if (import->graph->node_count > MOST_NODES)
    return tg_fail(import->diag, TG_INVALID, "functions make more than %d nodes", MOST_NODES);
  if (proto->n_input > function->n_input || proto->n_output > function->n_output)
    return tg_fail(import->diag, TG_INVALID, "%zu inputs and %zu outputs, the function has %zu and %zu",
                   proto->n_input, proto->n_output, function->n_input, function->n_output);
  for (size_t i = 0; i < function->n_input; i++) {
    const char *given = i < proto->n_input ? proto->input[i] : "";
    tg_value *value = *given ? tg_import_find(import, given) : &tg_import_none;
    if (!value) return tg_fail(import->diag, TG_INVALID, "input \"%s\" is not defined before it", given);
    if (!tg_name_set_add(inner.names, function->input[i], value))
      return tg_fail(import->diag, TG_INVALID, "input \"%s\" of the function is defined twice",
                     function->input[i]);
  }
  for (size_t i = 0; i < function->n_node; i++)
    if (inner.import_node(&inner, function->node[i], -1)) return TG_INVALID;
  for (size_t i = 0; i < proto->n_output; i++) {
    tg_value *value = tg_name_set_find(inner.names, function->output[i]);
    if (!*proto->output[i]) continue;
    if (!value)
      return tg_fail(import->diag, TG_INVALID, "output \"%s\" is not computed", function->output[i]);
    if (tg_import_define(import, proto->output[i], value)) return TG_INVALID;
  }
  return TG_OK;
}
