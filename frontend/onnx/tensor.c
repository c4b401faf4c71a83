#include "frontend/onnx/tensor.h"

#include "frontend/onnx/file.h"

#include <inttypes.h>
#include <string.h>

/* Rank, sizes and bytes as the proto claims them; nothing is allocated before they match the data present. */
static tg_status check_shape(const Onnx__TensorProto *proto, size_t *out_count, tg_diag *diag) {
  if (proto->n_dims > TG_MAX_RANK)
    return tg_fail(diag, TG_INVALID, "rank %zu is above %d", proto->n_dims, TG_MAX_RANK);
  int64_t count = 1;
  bool empty = false;
  for (size_t i = 0; i < proto->n_dims; i++) {
    if (proto->dims[i] < 0) return tg_fail(diag, TG_INVALID, "dimension %zu is %" PRId64, i, proto->dims[i]);
    empty |= proto->dims[i] == 0;
  }
  /* Also of one without elements, by which parts of it may be sized. */
  for (size_t i = 0; i < proto->n_dims; i++)
    if (proto->dims[i] && (__builtin_mul_overflow(count, proto->dims[i], &count) || count > TG_MAX_ELEMENTS))
      return tg_fail(diag, TG_INVALID, "its sizes ask for more than %" PRId64 " elements", TG_MAX_ELEMENTS);
  *out_count = empty ? 0 : (size_t)count;
  return TG_OK;
}

/* --- elements of fewer than 8 bits --- */

static size_t in_a_byte(tg_dtype dtype) { return 8 / (size_t)tg_dtype_bits(dtype); }

static bool is_packed(tg_dtype dtype) { return tg_dtype_bits(dtype) < 8; }

size_t tg_onnx_bytes(tg_dtype dtype, size_t count) {
  return is_packed(dtype) ? (count + in_a_byte(dtype) - 1) / in_a_byte(dtype) : count * tg_dtype_size(dtype);
}

void tg_onnx_pack(tg_dtype dtype, size_t count, const void *data, void *out) {
  size_t bytes = tg_onnx_bytes(dtype, count), bits = (size_t)tg_dtype_bits(dtype);
  const uint8_t *from = data;
  if (bytes && !is_packed(dtype)) memcpy(out, data, bytes);
  if (!bytes || !is_packed(dtype)) return;
  memset(out, 0, bytes);
  for (size_t i = 0; i < count; i++)
    ((uint8_t *)out)[i / in_a_byte(dtype)] |=
        (uint8_t)((from[i] & ((1u << bits) - 1)) << i % in_a_byte(dtype) * bits);
}

/* A byte each, the sign of integers extended. */
static void unpack(tg_dtype dtype, size_t count, const uint8_t *packed, uint8_t *out) {
  size_t bits = (size_t)tg_dtype_bits(dtype);
  for (size_t i = 0; i < count; i++) {
    uint8_t one = (uint8_t)(packed[i / in_a_byte(dtype)] >> i % in_a_byte(dtype) * bits & ((1u << bits) - 1));
    out[i] = one;
    if (tg_dtype_is_integer(dtype)) tg_store_i64(out, dtype, i, tg_load_i64(&one, dtype, 0));
  }
}

/* --- external data --- */

static bool parse_size(const char *text, uint64_t *out) {
  if (!*text) return false;
  uint64_t value = 0;
  for (; *text; text++) {
    if (*text < '0' || *text > '9') return false;
    if (__builtin_mul_overflow(value, 10u, &value) ||
        __builtin_add_overflow(value, (uint64_t)(*text - '0'), &value))
      return false;
  }
  *out = value;
  return true;
}

/* Notes that constants come from the file of that name in the model's folder. */
static void note_data_file(tg_graph *graph, const char *model_path, const char *location) {
  const char *slash = strrchr(model_path, '/');
  const char *path = tg_arena_printf(graph->arena, "%.*s%s", slash ? (int)(slash - model_path + 1) : 0,
                                     model_path, location);
  for (size_t i = 0; i < graph->data_file_count; i++)
    if (!strcmp(graph->data_files[i], path)) return;
  TG_PUSH(graph->arena, graph->data_files, graph->data_file_count, graph->data_files_capacity, path);
}

static tg_status load_external(tg_graph *graph, const Onnx__TensorProto *proto, const char *model_path,
                               size_t bytes, const void **out_data, tg_diag *diag) {
  const char *location = NULL;
  uint64_t offset = 0, length = bytes;
  for (size_t i = 0; i < proto->n_external_data; i++) {
    const char *key = proto->external_data[i]->key, *value = proto->external_data[i]->value;
    if (!key || !value) return tg_fail(diag, TG_INVALID, "an entry of its external data lacks key or value");
    bool ok = true;
    if (!strcmp(key, "location"))
      location = value;
    else if (!strcmp(key, "offset"))
      ok = parse_size(value, &offset);
    else if (!strcmp(key, "length"))
      ok = parse_size(value, &length);
    else if (strcmp(key, "checksum"))
      ok = false;
    if (!ok) return tg_fail(diag, TG_INVALID, "external data %s=\"%s\" is not supported", key, value);
  }
  if (!location) return tg_fail(diag, TG_INVALID, "its external data has no location");
  if (length != bytes)
    return tg_fail(diag, TG_INVALID, "external data of %" PRIu64 " bytes where the shape needs %zu", length,
                   bytes);
  tg_file file;
  if (tg_file_map_external(model_path, location, &file, diag)) return TG_INVALID;
  note_data_file(graph, model_path, location);
  tg_status status = TG_OK;
  if (offset > file.size || length > file.size - offset)
    status = tg_fail(diag, TG_INVALID, "external data \"%s\" ends before offset %" PRIu64 " + %" PRIu64,
                     location, offset, length);
  else
    *out_data =
        memcpy(tg_arena_alloc(graph->arena, bytes, 1), bytes ? file.data + offset : (const void *)"", bytes);
  tg_file_unmap(&file);
  return status;
}

/* --- typed fields --- */

/* Where the proto stores elements of the dtype when they are not raw. */
static size_t typed_count(const Onnx__TensorProto *proto, tg_dtype dtype) {
  switch (dtype) {
  case TG_F32: return proto->n_float_data;
  case TG_F64: return proto->n_double_data;
  case TG_I64: return proto->n_int64_data;
  case TG_U64:
  case TG_U32: return proto->n_uint64_data;
  default: return proto->n_int32_data;
  }
}

/* How many of the fields for elements have some. */
static size_t typed_fields(const Onnx__TensorProto *proto) {
  return (size_t)(proto->n_float_data > 0) + (proto->n_double_data > 0) + (proto->n_int64_data > 0) +
         (proto->n_uint64_data > 0) + (proto->n_int32_data > 0) + (proto->n_string_data > 0);
}

/* Elements as graphs have them: raw ones, but for bools and packed ones, and those in fields of their own width. NULL: they
 * have to be made. */
static const void *elements_of(const Onnx__TensorProto *proto, tg_dtype dtype) {
  if (is_packed(dtype) || dtype == TG_BOOL) return NULL;
  if (proto->has_raw_data) return proto->raw_data.data;
  switch (dtype) {
  case TG_F32: return proto->float_data;
  case TG_F64: return proto->double_data;
  case TG_I64: return proto->int64_data;
  case TG_U64: return proto->uint64_data;
  default: return NULL;
  }
}

/* Bool is one byte, 0 or 1, whatever the file says. */
static void normalise_bool(uint8_t *data, size_t count) {
  for (size_t i = 0; i < count; i++) data[i] = data[i] != 0;
}

static void fill(const Onnx__TensorProto *proto, tg_dtype dtype, size_t count, void *data) {
  size_t size = tg_dtype_size(dtype), bytes = tg_onnx_bytes(dtype, count), cells = bytes / size;
  if (proto->has_raw_data && bytes) memcpy(data, proto->raw_data.data, bytes);
  for (size_t i = 0; i < cells && !proto->has_raw_data;
       i++) { /* the low bytes, little-endian, as the format defines */
    uint64_t cell = dtype == TG_U32 ? proto->uint64_data[i] : (uint64_t)(int64_t)proto->int32_data[i];
    memcpy((char *)data + i * size, &cell, size);
  }
  if (dtype == TG_BOOL) normalise_bool(data, count);
}

static void fill_constant(tg_graph *graph, const Onnx__TensorProto *proto, tg_dtype dtype, size_t count,
                          void *data) {
  if (!is_packed(dtype)) {
    fill(proto, dtype, count, data);
    return;
  }
  uint8_t *packed = tg_arena_alloc(graph->arena, tg_onnx_bytes(dtype, count), 1);
  fill(proto, dtype, count, packed);
  unpack(dtype, count, packed, data);
}

/* Data inside the proto must be exactly what the shape asks for, so that a claim cannot make us allocate. */
static tg_status check_present(const Onnx__TensorProto *proto, tg_dtype dtype, size_t count, tg_diag *diag) {
  size_t bytes = tg_onnx_bytes(dtype, count), cells = is_packed(dtype) ? bytes : count;
  if (proto->segment) return tg_fail(diag, TG_INVALID, "segments are not supported");
  size_t fields = typed_fields(proto), own = typed_count(proto, dtype) > 0;
  if (proto->has_raw_data ? proto->raw_data.len && fields : fields > own)
    return tg_fail(diag, TG_INVALID, "it has data of several kinds: which is meant?");
  if (proto->has_raw_data && proto->raw_data.len != bytes)
    return tg_fail(diag, TG_INVALID, "%zu bytes of data where the shape needs %zu", proto->raw_data.len,
                   bytes);
  if (!proto->has_raw_data && typed_count(proto, dtype) != cells)
    return tg_fail(diag, TG_INVALID, "%zu elements of data where the shape needs %zu",
                   typed_count(proto, dtype), cells);
  return TG_OK;
}

/* Elements of at most 16 bits stand in cells of 32. What is no integer but its bits may have been widened with or without a
 * sign. */
static tg_status check_cells(const Onnx__TensorProto *proto, tg_dtype dtype, size_t count, tg_diag *diag) {
  int bits = is_packed(dtype) ? 8 : tg_dtype_bits(dtype);
  bool integer = !is_packed(dtype) && tg_dtype_is_integer(dtype);
  bool below = !integer || tg_dtype_is_signed(dtype), above = !integer || !tg_dtype_is_signed(dtype);
  size_t cells = is_packed(dtype) ? tg_onnx_bytes(dtype, count) : count;
  if (proto->has_raw_data || !proto->n_int32_data || dtype == TG_BOOL || bits >= 32) return TG_OK;
  for (size_t i = 0; i < cells; i++) {
    int32_t cell = proto->int32_data[i];
    if (cell >= (below ? -(1 << (bits - 1)) : 0) && cell < 1 << (above ? bits : bits - 1)) continue;
    return tg_fail(diag, TG_INVALID, "element %zu of its int32_data is %" PRId32 ", more than %d bits of %s",
                   i, cell, bits, tg_dtype_name(dtype));
  }
  return TG_OK;
}

static tg_status build(tg_graph *graph, const Onnx__TensorProto *proto, const char *name,
                       const char *model_path, tg_value **out_value, tg_diag *diag) {
  tg_dtype dtype = tg_dtype_from_onnx(proto->data_type);
  size_t count = 0;
  if (!dtype) return tg_fail(diag, TG_INVALID, "element type %d is not supported", proto->data_type);
  if (check_shape(proto, &count, diag)) return TG_INVALID;
  bool external = proto->data_location == ONNX__TENSOR_PROTO__DATA_LOCATION__EXTERNAL;
  if (external && (proto->raw_data.len || typed_fields(proto)))
    return tg_fail(diag, TG_INVALID, "it has data of its own and external data: which is meant?");
  if (!external && (check_present(proto, dtype, count, diag) || check_cells(proto, dtype, count, diag)))
    return TG_INVALID;
  if (!external) {
    const void *elements = elements_of(proto, dtype);
    *out_value = tg_graph_add_constant(graph, name, dtype, (int)proto->n_dims, proto->dims, elements,
                                       elements != NULL);
    if (!elements) fill_constant(graph, proto, dtype, count, (void *)(*out_value)->data);
    return TG_OK;
  }
  const void *data = NULL;
  if (load_external(graph, proto, model_path, tg_onnx_bytes(dtype, count), &data, diag)) return TG_INVALID;
  if (is_packed(dtype)) {
    uint8_t *each = tg_arena_alloc(graph->arena, count, 1);
    unpack(dtype, count, data, each);
    data = each;
  }
  *out_value = tg_graph_add_constant(graph, name, dtype, (int)proto->n_dims, proto->dims, data, true);
  return TG_OK;
}

tg_status tg_onnx_tensor(tg_graph *graph, const Onnx__TensorProto *proto, const char *name,
                         const char *model_path, tg_value **out_value, tg_diag *diag) {
  tg_status status = build(graph, proto, name, model_path, out_value, diag);
  if (status) return tg_diag_prefix(diag, "tensor \"%s\"", name), status;
  graph->held += tg_value_elements(*out_value) * (int64_t)tg_dtype_size((*out_value)->dtype);
  return TG_OK;
}
