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

/* An input that is a constant by now may be given again, as it is. */
static tg_status set_fixed(const tg_session *s, const char *name, int rank, const int64_t *dims,
                           const float *data, tg_diag *diag) {
  for (size_t i = 0; i < s->fixed_count; i++) {
    const tg_value *value = s->fixed[i];
    if (strcmp(value->name, name)) continue;
    bool same = value->rank == rank;
    for (int d = 0; same && d < rank; d++) same = dims[d] == value->dims[d].size;
    for (int64_t e = 0; same && e < tg_value_elements(value); e++) {
      float fixed = tg_load_f32(value->data, value->dtype, (size_t)e);
      same = value->dtype == TG_BOOL ? (data[e] != 0) == (fixed != 0)
                                     : tg_f32_bits(fixed) == tg_f32_bits(data[e]);
    }
    return same ? TG_OK
                : tg_fail(diag, TG_INVALID,
                          "input \"%s\" was fixed when the model was compiled: it has other values", name);
  }
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

static tg_status set_input_guarded(tg_session *session, const char *name, int rank, const int64_t *dims,
                                   const float *data, tg_diag *diag) {
  char wanted[200], given[200];
  if (tg_session_needs(session, true, false, diag)) return TG_INVALID;
  if (!name || (rank > 0 && !dims) || !data)
    return tg_fail(diag, TG_INVALID, "%s: an input needs name, shape and data", session->path);
  for (int i = 0; i < session->input_count; i++) {
    const tg_tensor_info *info = &session->inputs[i];
    if (strcmp(info->name, name)) continue;
    if (info->rank != rank || (rank > 0 && memcmp(info->dims, dims, (size_t)rank * sizeof *dims)))
      return tg_fail(diag, TG_INVALID, "input \"%s\" has shape %s, given is %s", name,
                     tg_shape_text(wanted, info->rank, info->dims), tg_shape_text(given, rank, dims));
    if (info->integer && tg_indices_check(info, data, diag)) return TG_INVALID;
    if (tg_dtype_is_narrow(info->dtype) && check_narrow(info, data, diag)) return TG_INVALID;
    if (!session->input_data[i])
      session->input_data[i] = TG_NEW_ARRAY(&session->arena, float, (size_t)info->count);
    for (int64_t e = 0; e < info->count; e++)
      session->input_data[i][e] = info->dtype == TG_BOOL ? (float)(data[e] != 0) : data[e];
    return TG_OK;
  }
  return set_fixed(session, name, rank, dims, data, diag);
}

tg_status tg_session_set_input(tg_session *session, const char *name, int rank, const int64_t *dims,
                               const float *data, tg_diag *diag) {
  TG_GUARDED(diag, set_input_guarded(session, name, rank, dims, data, diag));
}

static void fill_inputs(tg_session *session, uint64_t seed) {
  if (!session) return;
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
  for (int64_t e = 0; e < info->count; e++) {
    float value = tg_load_f32(stored, tg_storage_dtype(storage), (size_t)e);
    s->output_data[i][e] = value;
    if (tg_dtype_is_integer(info->dtype) && isnan(value))
      return tg_fail(diag, TG_INVALID,
                     "output \"%s\": element %" PRId64 " is an integer that passes what the array computes "
                     "exactly",
                     info->name, e);
    tg_store_f32(elements, info->dtype, (size_t)e, value);
  }
  s->output_elements[i] = elements;
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
