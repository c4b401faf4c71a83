/* A model file to a graph: model, inputs, constants, nodes, outputs, in this order. */
#include "frontend/onnx/import.h"

#include "frontend/base/guard.h"
#include "frontend/onnx/file.h"
#include "frontend/onnx/onnx.h"
#include "frontend/onnx/tensor.h"
#include "frontend/onnx/wire.h"

#include <inttypes.h>
#include <string.h>

enum { NEWEST_IR = 13, NEWEST_OPSET = 28, MOST_IMPORTS = 1024 };

/* "" is a name of ai.onnx. */
static const char *domain_of(const Onnx__OperatorSetIdProto *set) {
  return set->domain && *set->domain ? set->domain : "ai.onnx";
}

/* A domain has one version in a model. */
static tg_status check_imports(const tg_import *import, const Onnx__ModelProto *model) {
  if (model->n_opset_import > MOST_IMPORTS)
    return tg_fail(import->diag, TG_INVALID, "%zu opset imports", model->n_opset_import);
  for (size_t i = 0; i < model->n_opset_import; i++)
    for (size_t j = 0; j < i; j++) {
      const Onnx__OperatorSetIdProto *a = model->opset_import[j], *b = model->opset_import[i];
      int64_t first = a->has_version ? a->version : 0, second = b->has_version ? b->version : 0;
      if (!strcmp(domain_of(a), domain_of(b)) && first != second)
        return tg_fail(import->diag, TG_INVALID,
                       "opsets %" PRId64 " and %" PRId64 " of domain \"%s\" are imported", first, second,
                       domain_of(a));
    }
  return TG_OK;
}

static tg_status check_versions(tg_import *import, const Onnx__ModelProto *model) {
  int64_t ir = model->has_ir_version ? model->ir_version : 0;
  if (ir < 1 || ir > NEWEST_IR)
    return tg_fail(import->diag, TG_INVALID, "IR version %" PRId64 " is not supported (1 to %d are)", ir,
                   NEWEST_IR);
  import->opset = ir < 3 ? 1 : 0; /* opset_import came with IR version 3 */
  if (check_imports(import, model)) return TG_INVALID;
  for (size_t i = 0; i < model->n_opset_import; i++) {
    const Onnx__OperatorSetIdProto *set = model->opset_import[i];
    if (set->domain && !strcmp(set->domain, "ai.onnx.preview.training") && !import->opset)
      import->opset = NEWEST_OPSET; /* of a model that has no other operators, or one that follows */
    if (set->domain && *set->domain && strcmp(set->domain, "ai.onnx"))
      continue; /* refused where it is used */
    import->opset = set->has_version ? set->version : 0;
  }
  if (import->opset < 1 || import->opset > NEWEST_OPSET)
    return tg_fail(import->diag, TG_INVALID, "opset %" PRId64 " is not supported (1 to %d are)",
                   import->opset, NEWEST_OPSET);
  if (!model->graph) return tg_fail(import->diag, TG_INVALID, "the model has no graph");
  if (model->graph->n_sparse_initializer)
    return tg_fail(import->diag, TG_INVALID, "sparse initializers are not supported");
  return TG_OK;
}

/* --- types --- */

static tg_status import_dim(tg_import *import, const Onnx__TensorShapeProto__Dimension *proto,
                            const char *name, size_t position, tg_dim *out_dim) {
  *out_dim = (tg_dim){-1, NULL};
  if (proto->value_case == ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_VALUE) {
    out_dim->size = proto->dim_value;
    if (proto->dim_value < 0 || proto->dim_value > TG_MAX_ELEMENTS)
      return tg_fail(import->diag, TG_INVALID, "dimension %zu is %" PRId64, position, proto->dim_value);
  } else if (proto->value_case == ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_PARAM && *proto->dim_param) {
    out_dim->symbol = proto->dim_param;
  } else {
    out_dim->symbol = tg_arena_printf(import->graph->arena, "%s.%zu", name, position);
  }
  return TG_OK;
}

/* rank -1 where the shape is left out. An optional tensor that arrives, or leaves, is there. */
static tg_status import_type(tg_import *import, const Onnx__ValueInfoProto *proto, tg_dtype *out_dtype,
                             int *out_rank, tg_dim out_dims[TG_MAX_RANK]) {
  *out_rank = -1;
  const Onnx__TypeProto *whole = proto->type;
  if (whole && whole->value_case == ONNX__TYPE_PROTO__VALUE_OPTIONAL_TYPE)
    whole = whole->optional_type->elem_type;
  if (whole && whole->value_case == ONNX__TYPE_PROTO__VALUE_SEQUENCE_TYPE)
    return tg_fail(import->diag, TG_INVALID, "it is a sequence: only tensors arrive and leave");
  if (!whole || whole->value_case != ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE)
    return tg_fail(import->diag, TG_INVALID, "it has no tensor type");
  const Onnx__TypeProto__Tensor *type = whole->tensor_type;
  *out_dtype = tg_dtype_from_onnx(type->elem_type);
  if (!*out_dtype)
    return tg_fail(import->diag, TG_INVALID, "element type %d is not supported", type->elem_type);
  if (!type->shape) return TG_OK;
  if (type->shape->n_dim > TG_MAX_RANK)
    return tg_fail(import->diag, TG_INVALID, "rank %zu is above %d", type->shape->n_dim, TG_MAX_RANK);
  for (size_t i = 0; i < type->shape->n_dim; i++)
    if (import_dim(import, type->shape->dim[i], proto->name, i, &out_dims[i])) return TG_INVALID;
  *out_rank = (int)type->shape->n_dim;
  return TG_OK;
}

static tg_status import_input(tg_import *import, const Onnx__ValueInfoProto *proto) {
  tg_dtype dtype;
  int rank;
  tg_dim dims[TG_MAX_RANK];
  if (import_type(import, proto, &dtype, &rank, dims)) return TG_INVALID;
  if (rank < 0) return tg_fail(import->diag, TG_INVALID, "its shape is not given");
  tg_value *value = tg_graph_add_input(import->graph, proto->name, dtype, rank, dims);
  if (!tg_name_set_add(import->names, proto->name, value))
    return tg_fail(import->diag, TG_INVALID, "it is defined twice");
  return TG_OK;
}

/* An initializer that is listed as an input too, as all are before IR version 4, is the default of that input. */
static tg_status import_default(tg_import *import, const Onnx__ValueInfoProto *proto, tg_value *value) {
  bool is_tensor = proto->type && proto->type->value_case == ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE;
  tg_dtype dtype;
  int rank;
  tg_dim dims[TG_MAX_RANK];
  if (!is_tensor) return TG_OK;
  if (import_type(import, proto, &dtype, &rank, dims)) return TG_INVALID;
  if (dtype != value->dtype || (rank >= 0 && rank != value->rank)) return TG_OK;
  tg_shape *shape = TG_NEW(import->graph->arena, tg_shape);
  shape->rank = rank;
  for (int d = 0; d < rank; d++) shape->sizes[d] = dims[d].size;
  value->default_of = shape;
  return TG_OK;
}

static tg_status import_inputs(tg_import *import, const Onnx__GraphProto *proto) {
  for (size_t i = 0; i < proto->n_input; i++) {
    const Onnx__ValueInfoProto *input = proto->input[i];
    if (!input->name || !*input->name) return tg_fail(import->diag, TG_INVALID, "input %zu has no name", i);
    tg_value *known = tg_name_set_find(import->names, input->name);
    bool has_default = tg_is_constant(known);
    if (has_default ? import_default(import, input, known) : import_input(import, input)) {
      tg_diag_prefix(import->diag, "input \"%s\"", input->name);
      return TG_INVALID;
    }
  }
  return TG_OK;
}

static tg_status import_output(tg_import *import, const Onnx__ValueInfoProto *proto) {
  tg_value *value = tg_name_set_find(import->names, proto->name);
  if (!value || value == &tg_import_absent || value == &tg_import_none)
    return tg_fail(import->diag, TG_INVALID, "no node computes it");
  tg_dtype dtype = TG_NONE;
  int rank;
  tg_dim dims[TG_MAX_RANK];
  if (proto->type && import_type(import, proto, &dtype, &rank, dims)) return TG_INVALID;
  tg_graph_add_output(import->graph, value, proto->name, dtype);
  if (proto->type) tg_graph_declare_output(import->graph, import->graph->output_count - 1, rank, dims);
  return TG_OK;
}

static tg_status import_outputs(tg_import *import, const Onnx__GraphProto *proto) {
  if (!proto->n_output) return tg_fail(import->diag, TG_INVALID, "the graph has no output");
  for (size_t i = 0; i < proto->n_output; i++) {
    if (!proto->output[i]->name) return tg_fail(import->diag, TG_INVALID, "output %zu has no name", i);
    if (import_output(import, proto->output[i])) {
      tg_diag_prefix(import->diag, "output \"%s\"", proto->output[i]->name);
      return TG_INVALID;
    }
  }
  return TG_OK;
}

static tg_status import_graph(tg_import *import, const Onnx__ModelProto *model) {
  const Onnx__GraphProto *proto = model->graph;
  if (check_versions(import, model) || tg_import_constants(import, proto) || import_inputs(import, proto))
    return TG_INVALID;
  import->graph->next_id = (int64_t)proto->n_node;
  for (size_t i = 0; i < proto->n_node; i++)
    if (import->import_node(import, proto->node[i], (int64_t)i)) return TG_INVALID;
  for (size_t i = 0; i < model->n_metadata_props; i++) {
    const Onnx__StringStringEntryProto *entry = model->metadata_props[i];
    if (entry->key && entry->value && !strcmp(entry->key, "tegula.disable_graphamp"))
      import->graph->disable_graphamp = tg_arena_strdup(import->graph->arena, entry->value);
  }
  return import_outputs(import, proto);
}

/* `path`: NULL of a model that is no file. The messages stay in the arena: most of them are the elements of constants. */
static tg_status read_model(tg_arena *arena, const tg_file *file, const char *path, tg_graph **out_graph,
                            tg_diag *diag) {
  Onnx__ModelProto *model = NULL;
  tg_status status = tg_wire_parse_model(arena, file->data, file->size, &model, diag);
  if (!status) {
    const char *name = model->graph && model->graph->name ? model->graph->name : "";
    size_t calls = 0;
    tg_import import = {tg_graph_create(arena, name),
                        0,
                        path,
                        tg_name_set_create(arena),
                        diag,
                        .import_node = tg_import_node,
                        .model = model,
                        .calls = &calls};
    status = import_graph(&import, model);
    *out_graph = status ? NULL : import.graph;
  }
  return status;
}

static tg_status read_file(tg_arena *arena, const char *path, tg_graph **out_graph, tg_diag *diag) {
  tg_file file;
  if (tg_file_map(path, &file, diag)) return TG_INVALID;
  tg_status status = read_model(arena, &file, path, out_graph, diag);
  tg_file_unmap(&file);
  if (status) tg_diag_prefix(diag, "%s", path);
  return status;
}

tg_status tg_onnx_read(tg_arena *arena, const char *path, tg_graph **out_graph, tg_diag *diag) {
  *out_graph = NULL;
  TG_GUARDED(diag, read_file(arena, path, out_graph, diag));
}

static tg_status read_memory(tg_arena *arena, const char *name, const void *data, size_t size,
                             tg_graph **out_graph, tg_diag *diag) {
  tg_status status = read_model(arena, &(tg_file){.data = data, .size = size}, NULL, out_graph, diag);
  if (status) tg_diag_prefix(diag, "%s", name);
  return status;
}

tg_status tg_onnx_read_memory(tg_arena *arena, const char *name, const void *data, size_t size,
                              tg_graph **out_graph, tg_diag *diag) {
  *out_graph = NULL;
  TG_GUARDED(diag, read_memory(arena, name, data, size, out_graph, diag));
}
