/* Names of the file's tensors, here and in the graphs around. */
#include "frontend/onnx/import.h"
#include "frontend/onnx/tensor.h"

tg_value tg_import_absent;
tg_value tg_import_none;

static void capture(tg_import *import, const char *name, tg_value *outer, tg_value **out_value) {
  tg_value *inner = tg_graph_add_input(import->graph, name, TG_NONE, -1, NULL);
  TG_PUSH(import->graph->arena, import->captured, import->captured_count, import->captured_capacity, outer);
  tg_name_set_add(import->names, name, inner);
  *out_value = inner;
}

/* What a body reads of the graphs around it becomes an input of the body, in each of them. */
tg_value *tg_import_find(tg_import *import, const char *name) {
  tg_value *value = tg_name_set_find(import->names, name);
  if (value || !import->outer) return value;
  tg_value *outer = tg_import_find(import->outer, name);
  if (!outer || outer == &tg_import_absent || outer == &tg_import_none) return outer;
  capture(import, name, outer, &value);
  return value;
}

void tg_import_settle(tg_value *value) {
  if (value) value->default_of = NULL;
}

tg_status tg_import_define(tg_import *import, const char *name, tg_value *value) {
  if (!*name) return TG_OK;
  if (!tg_name_set_add(import->names, name, value))
    return tg_fail(import->diag, TG_INVALID, "output \"%s\" is defined twice", name);
  if (value != &tg_import_absent && value != &tg_import_none && import->function == NULL &&
      value->kind == TG_VALUE_RESULT) /* a function may return what it was given */
    tg_value_rename(import->graph, value, name);
  return TG_OK;
}

tg_status tg_import_constants(tg_import *import, const Onnx__GraphProto *proto) {
  for (size_t i = 0; i < proto->n_initializer; i++) {
    const char *name = proto->initializer[i]->name ? proto->initializer[i]->name : "";
    if (!*name) return tg_fail(import->diag, TG_INVALID, "initializer %zu has no name", i);
    tg_value *value;
    if (tg_onnx_tensor(import->graph, proto->initializer[i], name, import->path, &value, import->diag))
      return TG_INVALID;
    value->initializer = true;
    if (!tg_name_set_add(import->names, name, value))
      return tg_fail(import->diag, TG_INVALID, "tensor \"%s\" is defined twice", name);
  }
  return TG_OK;
}
