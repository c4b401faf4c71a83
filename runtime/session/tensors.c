/* Values of inputs and outputs. */
#include "frontend/base/float_formats.h"
#include "frontend/base/guard.h"
#include "runtime/session/indices.h"
#include "runtime/session/session.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

int tg_session_input_count(const tg_session *session) { return session ? session->input_count : 0; }
int tg_session_output_count(const tg_session *session) {
  if (!session) return 0;
  return session->host.outputs ? session->host.part.output_count : session->output_count;
}

static bool has_output(const tg_session *session, int index) {
  return index >= 0 && index < tg_session_output_count(session);
}

const tg_tensor_info *tg_session_input(const tg_session *session, int index) {
  return index >= 0 && index < tg_session_input_count(session) ? &session->inputs[index] : NULL;
}
const tg_tensor_info *tg_session_output(const tg_session *session, int index) {
  if (!has_output(session, index)) return NULL;
  return session->host.outputs ? &session->host.outputs[index] : &session->outputs[index];
}
const float *tg_session_output_data(const tg_session *session, int index) {
  if (!has_output(session, index)) return NULL;
  return session->host.outputs ? session->host.data[index] : session->output_data[index];
}
const void *tg_session_output_elements(const tg_session *session, int index) {
  if (!has_output(session, index)) return NULL;
  return session->host.outputs ? session->host.elements[index] : session->output_elements[index];
}
uint64_t tg_session_cycles(const tg_session *session) { return session ? session->result.cycles : 0; }

const char *tg_shape_text(char text[200], int rank, const int64_t *dims) {
  int used = snprintf(text, 200, "[");
  for (int d = 0; d < rank && d < TG_TENSOR_MAX_RANK; d++)
    used += snprintf(text + used, 200 - (size_t)used, "%s%" PRId64, d ? "," : "", dims[d]);
  snprintf(text + used, 200 - (size_t)used, "]");
  return text;
}

/* Equal numbers, integers in 64 bits; of floats the same bits. */
static bool same_element(const tg_value *fixed, tg_dtype dtype, const void *data, size_t e) {
  float own = tg_load_f32(fixed->data, fixed->dtype, e), given = tg_load_f32(data, dtype, e);
  if (fixed->dtype == TG_BOOL) return (given != 0) == (own != 0);
  if (!tg_dtype_is_integer(fixed->dtype) || !tg_dtype_is_integer(dtype))
    return tg_f32_bits(own) == tg_f32_bits(given);
  int64_t a = tg_load_i64(fixed->data, fixed->dtype, e), b = tg_load_i64(data, dtype, e);
  return a == b && (a >= 0 || (fixed->dtype == TG_U64) == (dtype == TG_U64));
}

/* An input that is a constant by now may be given again, as it is. */
static tg_status set_fixed(const tg_session *s, const char *name, int rank, const int64_t *dims,
                           tg_dtype dtype, const void *data, tg_diag *diag) {
  for (size_t i = 0; i < s->fixed_count; i++) {
    const tg_value *value = s->fixed[i];
    if (strcmp(value->name, name)) continue;
    bool same = value->rank == rank;
    for (int d = 0; same && d < rank; d++) same = dims[d] == value->dims[d].size;
    for (int64_t e = 0; same && e < tg_value_elements(value); e++)
      same = same_element(value, dtype, data, (size_t)e);
    return same ? TG_OK
                : tg_fail(diag, TG_INVALID,
                          "input \"%s\" was fixed when the model was compiled: it has other values", name);
  }
  if (s->model && tg_graph_find_default(s->model, name))
    return tg_fail(diag, TG_INVALID,
                   "input \"%s\" was compiled with its default: another value is given before, as a constant",
                   name);
  return tg_fail(diag, TG_INVALID, "%s: the model has no input \"%s\"", s->path, name);
}

static float as_held(tg_dtype dtype, float value) {
  uint8_t bits;
  tg_store_f32(&bits, dtype, 0, value);
  return tg_load_f32(&bits, dtype, 0);
}

/* Numbers that a float of 8 or 4 bits has, no others. */
static tg_status check_narrow(const tg_tensor_info *info, const float *data, tg_diag *diag) {
  for (int64_t e = 0; e < info->count; e++) {
    float held = as_held(info->dtype, data[e]);
    if (held != data[e] && !(isnan(held) && isnan(data[e])))
      return tg_fail(diag, TG_INVALID, "input \"%s\": element %" PRId64 " is %g, which %s does not hold",
                     info->name, e, (double)data[e], tg_dtype_name(info->dtype));
  }
  return TG_OK;
}

/* Numbers that are none of FP32, and would become others. */
static tg_status check_held(const tg_tensor_info *info, tg_dtype dtype, const void *data, tg_diag *diag) {
  for (int64_t e = 0; dtype == TG_F64 && e < info->count; e++) {
    double x = ((const double *)data)[e];
    if (isfinite(x) && !isfinite((float)x))
      return tg_fail(diag, TG_INVALID, "input \"%s\": element %" PRId64 " is %g, which FP32 does not hold",
                     info->name, e, x);
  }
  bool rounds =
      tg_dtype_is_integer(dtype) && !info->integer && info->dtype != TG_BOOL; /* integers have limits */
  for (int64_t e = 0; rounds && e < info->count; e++) {
    int64_t x = tg_load_i64(data, dtype, (size_t)e);
    float held = tg_load_f32(data, dtype, (size_t)e);
    bool wide = dtype == TG_U64 && x < 0;
    if (wide ? held >= 0x1p64f || (uint64_t)held != (uint64_t)x : held >= 0x1p63f || (int64_t)held != x)
      return tg_fail(diag, TG_INVALID,
                     "input \"%s\": element %" PRId64 " is an integer that FP32 does not hold", info->name,
                     e);
  }
  return TG_OK;
}

static tg_status set_elements(tg_session *session, const tg_tensor_info *info, tg_dtype dtype,
                              const void *data, tg_diag *diag) {
  tg_arena scratch = {0};
  float *values = TG_NEW_ARRAY(&scratch, float, (size_t)info->count + 1);
  float **kept = &session->input_data[info - session->inputs];
  tg_status status = check_held(info, dtype, data, diag);
  for (int64_t e = 0; e < info->count; e++) values[e] = tg_load_f32(data, dtype, (size_t)e);
  if (!status && info->integer) status = tg_indices_check(info, values, diag);
  if (!status && tg_dtype_is_narrow(info->dtype)) status = check_narrow(info, values, diag);
  if (!status && !*kept) *kept = TG_NEW_ARRAY(&session->arena, float, (size_t)info->count);
  for (int64_t e = 0; !status && e < info->count; e++)
    (*kept)[e] = info->dtype == TG_BOOL ? (float)(values[e] != 0) : values[e];
  tg_arena_release(&scratch);
  return status;
}

static tg_status set_elements_guarded(tg_session *session, const char *name, int rank, const int64_t *dims,
                                      tg_dtype dtype, const void *data, tg_diag *diag) {
  char wanted[200], given[200];
  if (tg_session_needs(session, true, false, diag)) return TG_INVALID;
  if (!name || (rank > 0 && !dims) || !data || dtype <= TG_NONE || dtype >= TG_DTYPE_COUNT)
    return tg_fail(diag, TG_INVALID, "%s: an input needs name, shape, element type and data", session->path);
  for (int i = 0; i < session->input_count; i++) {
    const tg_tensor_info *info = &session->inputs[i];
    if (strcmp(info->name, name)) continue;
    if (info->rank != rank || (rank > 0 && memcmp(info->dims, dims, (size_t)rank * sizeof *dims)))
      return tg_fail(diag, TG_INVALID, "input \"%s\" has shape %s, given is %s", name,
                     tg_shape_text(wanted, info->rank, info->dims), tg_shape_text(given, rank, dims));
    return set_elements(session, info, dtype, data, diag);
  }
  return set_fixed(session, name, rank, dims, dtype, data, diag);
}

tg_status tg_session_set_elements(tg_session *session, const char *name, int rank, const int64_t *dims,
                                  tg_dtype dtype, const void *data, tg_diag *diag) {
  TG_GUARDED(diag, set_elements_guarded(session, name, rank, dims, dtype, data, diag));
}

tg_status tg_session_set_input(tg_session *session, const char *name, int rank, const int64_t *dims,
                               const float *data, tg_diag *diag) {
  return tg_session_set_elements(session, name, rank, dims, TG_F32, data, diag);
}

static void fill_inputs(tg_session *session, uint64_t seed) {
  if (tg_session_needs(session, true, false, NULL)) return;
  for (int i = 0; i < session->input_count; i++) {
    if (session->input_data[i]) continue;
    session->input_data[i] = TG_NEW_ARRAY(&session->arena, float, (size_t)session->inputs[i].count);
    const tg_tensor_info *info = &session->inputs[i];
    if (info->integer || info->dtype == TG_BOOL)
      tg_indices_random(session->input_data[i], info->count, info->rows, seed + (uint64_t)i);
    else
      tg_seeded_fill(session->input_data[i], TG_F32, info->count, seed + (uint64_t)i, 1);
    for (int64_t e = 0; tg_dtype_is_narrow(info->dtype) && e < info->count; e++)
      session->input_data[i][e] = as_held(info->dtype, session->input_data[i][e]);
  }
}

void tg_session_random_inputs(tg_session *session, uint64_t seed) {
  tg_guard guard;
  tg_guard_enter(&guard);
  if (setjmp(guard.place)) {
    (void)tg_guard_caught(&guard, NULL); /* inputs without values: to run says so */
    return;
  }
  fill_inputs(session, seed);
  tg_guard_leave(&guard);
}

tg_status tg_session_memory(const tg_session *session, tg_dram **out_dram, tg_diag *diag) {
  for (int i = 0; i < session->input_count; i++)
    if (!session->input_data[i])
      return tg_fail(diag, TG_INVALID, "input \"%s\" has no values", session->inputs[i].name);
  tg_status status = tg_dram_create(session->program, out_dram, diag);
  if (status) return status;
  for (int i = 0; i < session->input_count; i++) {
    const tg_dram_tensor *tensor =
        tg_find_dram_tensor(session->program, tg_role_is_input, session->inputs[i].name);
    if (!tensor) continue; /* nothing reads it */
    uint8_t *target = (*out_dram)->bytes + tensor->address;
    for (int64_t e = 0; e < session->inputs[i].count; e++)
      tg_store_f32(target, tg_storage_dtype(tensor->storage), (size_t)e, session->input_data[i][e]);
  }
  return TG_OK;
}

/* Output `i` in the model's type. NaN stands for an integer that the array did not compute exactly. */
static tg_status convert_output(tg_session *s, int i, const uint8_t *stored, tg_storage storage,
                                tg_diag *diag) {
  const tg_tensor_info *info = &s->outputs[i];
  if (!s->room.elements[i])
    s->room.elements[i] = tg_arena_alloc(&s->arena, (size_t)info->count, tg_dtype_size(info->dtype));
  void *elements = s->room.elements[i];
  bool is_float = tg_dtype_is_float(info->dtype) || tg_dtype_is_narrow(info->dtype),
       marked = is_float && info->limit && info->count;
  float mark = tg_inexact_mark(tg_storage_dtype(storage));
  for (int64_t e = 0; e < info->count; e++) {
    float value = tg_load_f32(stored, tg_storage_dtype(storage), (size_t)e);
    s->output_data[i][e] = value;
    marked &= value == mark;
    if (!is_float && (info->integer || info->limit) && isnan(value))
      return tg_fail(diag, TG_INVALID,
                     "output \"%s\": element %" PRId64 " is %s integer that passes what the array computes "
                     "exactly",
                     info->name, e, info->integer ? "an" : "NaN, computed of an");
    tg_store_f32(elements, info->dtype, (size_t)e, value);
  }
  s->output_elements[i] = elements;
  if (marked)
    return tg_fail(diag, TG_INVALID,
                   "output \"%s\" is computed of an integer that passes what the array computes exactly",
                   info->name);
  return TG_OK;
}

tg_status tg_session_read_outputs(tg_session *s, const tg_dram *dram, tg_diag *diag) {
  tg_status status = TG_OK;
  for (int i = 0; i < s->output_count && !status; i++) {
    const tg_dram_tensor *tensor = tg_find_dram_tensor(s->program, tg_role_is_output, s->outputs[i].name);
    if (!tensor) continue;
    if (!s->room.data[i]) s->room.data[i] = TG_NEW_ARRAY(&s->arena, float, (size_t)s->outputs[i].count);
    s->output_data[i] = s->room.data[i];
    if (!tensor->known) {
      status = convert_output(s, i, dram->bytes + tensor->address, tensor->storage, diag);
      continue;
    }
    s->output_elements[i] = tensor->known;
    for (int64_t e = 0; e < s->outputs[i].count; e++)
      s->output_data[i][e] = tg_load_f32(tensor->known, tensor->type, (size_t)e);
  }
  return status;
}
