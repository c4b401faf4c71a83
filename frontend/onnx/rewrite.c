#include "frontend/onnx/rewrite.h"

#include "frontend/graph.h"
#include "frontend/onnx/file.h"
#include "frontend/onnx/tensor.h"
#include "frontend/onnx/wire.h"
#include "frontend/onnx/write.h"

#include <string.h>

/* The data, raw, in place of what the proto had; they live as long as it. */
static void set_raw(Onnx__TensorProto *proto, void *data, size_t bytes) {
  proto->float_data = NULL, proto->n_float_data = 0;
  proto->int32_data = NULL, proto->n_int32_data = 0;
  proto->int64_data = NULL, proto->n_int64_data = 0;
  proto->double_data = NULL, proto->n_double_data = 0;
  proto->uint64_data = NULL, proto->n_uint64_data = 0;
  proto->external_data = NULL, proto->n_external_data = 0;
  proto->has_data_location = false;
  proto->data_location = ONNX__TENSOR_PROTO__DATA_LOCATION__DEFAULT;
  proto->raw_data.data = data;
  proto->raw_data.len = bytes;
  proto->has_raw_data = true;
}

static tg_status replace(tg_arena *arena, Onnx__TensorProto *proto, const tg_onnx_values *values,
                         tg_diag *diag) {
  tg_dtype dtype = tg_dtype_from_onnx(proto->data_type);
  int64_t count = 1;
  for (size_t d = 0; d < proto->n_dims; d++) count *= proto->dims[d];
  if (!tg_dtype_is_float(dtype) || count != values->count)
    return tg_fail(diag, TG_INVALID, "constant \"%s\" is no float tensor of %lld elements", values->name,
                   (long long)values->count);
  void *data = tg_arena_alloc(arena, (size_t)count, tg_dtype_size(dtype));
  for (int64_t i = 0; i < count; i++) tg_store_f32(data, dtype, (size_t)i, values->data[i]);
  set_raw(proto, data, (size_t)count * tg_dtype_size(dtype));
  return TG_OK;
}

/* A tensor whose data lies in a file beside `path`. */
static tg_status take_in(tg_arena *arena, Onnx__TensorProto *proto, const char *path, tg_diag *diag) {
  if (proto->data_location != ONNX__TENSOR_PROTO__DATA_LOCATION__EXTERNAL) return TG_OK;
  tg_value *value;
  tg_status status =
      tg_onnx_tensor(tg_graph_create(arena, ""), proto, proto->name ? proto->name : "", path, &value, diag);
  if (status) return status;
  size_t count = (size_t)tg_value_elements(value), bytes = tg_onnx_bytes(value->dtype, count);
  void *packed = tg_arena_alloc(arena, bytes, 1);
  tg_onnx_pack(value->dtype, count, value->data, packed);
  set_raw(proto, packed, bytes);
  return TG_OK;
}

static Onnx__TensorProto *find_initializer(const Onnx__GraphProto *graph, const char *name) {
  for (size_t i = 0; i < graph->n_initializer; i++)
    if (graph->initializer[i]->name && !strcmp(graph->initializer[i]->name, name))
      return graph->initializer[i];
  return NULL;
}

static Onnx__TensorProto *find_constant(const Onnx__GraphProto *graph, const char *name) {
  for (size_t n = 0; n < graph->n_node; n++) {
    const Onnx__NodeProto *node = graph->node[n];
    if (!node->op_type || strcmp(node->op_type, "Constant") || node->n_output != 1 ||
        strcmp(node->output[0], name))
      continue;
    for (size_t a = 0; a < node->n_attribute; a++)
      if (node->attribute[a]->t) return node->attribute[a]->t;
  }
  return NULL;
}

static void remove_node(Onnx__GraphProto *graph, size_t position) {
  graph->n_node--;
  memmove(&graph->node[position], &graph->node[position + 1],
          (graph->n_node - position) * sizeof *graph->node);
}

/* An initializer like `like`, without data. */
static Onnx__TensorProto *add_initializer(tg_arena *arena, Onnx__GraphProto *graph, const char *name,
                                          const Onnx__TensorProto *like) {
  Onnx__TensorProto **list = TG_NEW_ARRAY(arena, Onnx__TensorProto *, graph->n_initializer + 1),
                    *proto = TG_NEW(arena, Onnx__TensorProto);
  onnx__tensor_proto__init(proto);
  proto->name = tg_arena_strdup(arena, name);
  proto->dims = like->dims;
  proto->n_dims = like->n_dims;
  proto->has_data_type = true;
  proto->data_type = like->data_type;
  if (graph->n_initializer) memcpy(list, graph->initializer, graph->n_initializer * sizeof *list);
  graph->initializer = list;
  return list[graph->n_initializer++] = proto;
}

/* Where an Identity of an initializer makes `name`, an initializer takes its place. */
static Onnx__TensorProto *separate(tg_arena *arena, Onnx__GraphProto *graph, const char *name) {
  for (size_t n = 0; n < graph->n_node; n++) {
    const Onnx__NodeProto *node = graph->node[n];
    if (!node->op_type || strcmp(node->op_type, "Identity") || node->n_input != 1 || node->n_output != 1 ||
        strcmp(node->output[0], name))
      continue;
    const Onnx__TensorProto *shared = find_initializer(graph, node->input[0]);
    if (!shared) return NULL;
    remove_node(graph, n);
    return add_initializer(arena, graph, name, shared);
  }
  return NULL;
}

static tg_status change(tg_arena *arena, Onnx__GraphProto *graph, const char *path,
                        const tg_onnx_values *values, size_t count, tg_diag *diag) {
  for (size_t i = 0; i < count; i++) {
    Onnx__TensorProto *proto = find_initializer(graph, values[i].name);
    if (!proto) proto = find_constant(graph, values[i].name);
    if (!proto) proto = separate(arena, graph, values[i].name);
    if (!proto) return tg_fail(diag, TG_INVALID, "%s: has no constant \"%s\"", path, values[i].name);
    if (replace(arena, proto, &values[i], diag)) {
      tg_diag_prefix(diag, "%s", path);
      return TG_INVALID;
    }
  }
  for (size_t i = 0; i < graph->n_initializer; i++)
    if (take_in(arena, graph->initializer[i], path, diag)) {
      tg_diag_prefix(diag, "%s", path);
      return TG_INVALID;
    }
  return TG_OK;
}

static tg_status read_messages(tg_arena *arena, const char *path, Onnx__ModelProto **out_model,
                               tg_diag *diag) {
  tg_file file;
  if (tg_file_map(path, &file, diag)) return TG_INVALID;
  tg_status status = tg_wire_parse_model(arena, file.data, file.size, out_model, diag);
  tg_file_unmap(&file);
  if (!status && (*out_model)->graph) return TG_OK;
  tg_diag_prefix(diag, "%s", path);
  return TG_INVALID;
}

tg_status tg_onnx_rewrite(const char *from, const char *to, const tg_onnx_values *values, size_t count,
                          tg_diag *diag) {
  tg_arena arena = {0};
  Onnx__ModelProto *model = NULL;
  tg_status status = read_messages(&arena, from, &model, diag);
  if (!status) status = change(&arena, model->graph, from, values, count, diag);
  if (!status) status = tg_onnx_write_model(to, model, diag);
  tg_arena_release(&arena);
  return status;
}
