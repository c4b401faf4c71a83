/* Before compiling: sizes that a model leaves open, and inputs that are constants. */
#include "frontend/base/float_formats.h"
#include "frontend/base/guard.h"
#include "frontend/infer.h"
#include "runtime/session/session.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/* --- open sizes */

static tg_status bind_dim_guarded(tg_session *session, const char *symbol, int64_t size, tg_diag *diag) {
  tg_status status = tg_session_needs_model(session, diag);
  if (!status && !symbol) status = tg_fail(diag, TG_INVALID, "%s: no size is named", session->path);
  return status ? status : tg_graph_bind_symbol(session->model, symbol, size, diag);
}

tg_status tg_session_bind_dim(tg_session *session, const char *symbol, int64_t size, tg_diag *diag) {
  TG_GUARDED(diag, bind_dim_guarded(session, symbol, size, diag));
}

static tg_status bind_batch_guarded(tg_session *session, int64_t size, tg_diag *diag) {
  tg_status status = tg_session_needs_model(session, diag);
  bool any = false;
  for (int i = 0; !status && i < session->model->input_count; i++) {
    const tg_value *input = session->model->inputs[i];
    if (input->rank < 1 || !input->dims[0].symbol) continue;
    any = true;
    status = tg_graph_bind_symbol(session->model, input->dims[0].symbol, size, diag);
  }
  if (!status && !any) return tg_fail(diag, TG_INVALID, "%s: the model fixes its batch size", session->path);
  return status;
}

tg_status tg_session_bind_batch(tg_session *session, int64_t size, tg_diag *diag) {
  TG_GUARDED(diag, bind_batch_guarded(session, size, diag));
}

static tg_status bind_shape_guarded(tg_session *session, const char *input, int rank, const int64_t *dims,
                                    tg_diag *diag) {
  if (tg_session_needs(session, false, false, diag)) return TG_INVALID;
  if (!input || (rank > 0 && !dims)) return tg_fail(diag, TG_INVALID, "%s: no shape is given", session->path);
  bool possible = rank >= 0 && rank <= TG_TENSOR_MAX_RANK;
  for (int d = 0; possible && d < rank; d++) possible = dims[d] >= 0;
  if (!possible)
    return tg_fail(diag, TG_INVALID, "%s: input \"%s\" cannot have that shape", session->path, input);
  if (!session->model || session->program) return TG_OK; /* set_input compares with what was compiled */
  for (int i = 0; i < session->model->input_count; i++) {
    const tg_value *value = session->model->inputs[i];
    if (strcmp(value->name, input) || value->rank != rank) continue;
    for (int d = 0; d < rank; d++) {
      if (value->dims[d].size >= 0 || !value->dims[d].symbol) continue;
      tg_status status = tg_graph_bind_symbol(session->model, value->dims[d].symbol, dims[d], diag);
      if (status) return status;
    }
  }
  return TG_OK;
}

tg_status tg_session_bind_shape(tg_session *session, const char *input, int rank, const int64_t *dims,
                                tg_diag *diag) {
  TG_GUARDED(diag, bind_shape_guarded(session, input, rank, dims, diag));
}

/* --- inputs that are constants */

int tg_session_find_input(const tg_session *session, const char *name) {
  for (int i = 0; session->model && i < session->model->input_count; i++)
    if (!strcmp(session->model->inputs[i]->name, name)) return i;
  return -1;
}

static void convert_element(const tg_npy *array, int64_t e, tg_dtype dtype, void *to) {
  bool integers = tg_dtype_is_integer(array->dtype) && tg_dtype_is_integer(dtype);
  if (integers)
    tg_store_i64(to, dtype, (size_t)e, tg_load_i64(array->data, array->dtype, (size_t)e));
  else
    tg_store_f32(to, dtype, (size_t)e, tg_load_f32(array->data, array->dtype, (size_t)e));
}

/* Is what was made of an element that number? A float may be rounded, but in FP32 not to infinity. */
static bool holds_element(const tg_npy *array, int64_t e, tg_dtype dtype, const void *made) {
  if (dtype == TG_BOOL) return true;
  if (!tg_dtype_is_integer(array->dtype)) {
    bool wide = array->dtype == TG_F64;
    double x = wide ? ((const double *)array->data)[e] : tg_load_f32(array->data, array->dtype, (size_t)e);
    if (tg_dtype_is_integer(dtype))
      return x == (dtype == TG_U64 ? tg_load_f32(made, dtype, (size_t)e)
                                   : (double)tg_load_i64(made, dtype, (size_t)e));
    return !isfinite(x) || isfinite((float)x);
  }
  int64_t given = tg_load_i64(array->data, array->dtype, (size_t)e);
  bool wide = array->dtype == TG_U64 && given < 0; /* 2^63 and more */
  if (tg_dtype_is_integer(dtype))
    return tg_load_i64(made, dtype, (size_t)e) == given && (given >= 0 || wide == (dtype == TG_U64));
  float held = tg_load_f32(array->data, array->dtype, (size_t)e);
  return wide ? held < 0x1p64f && (uint64_t)held == (uint64_t)given
              : held < 0x1p63f && (int64_t)held == given;
}

tg_value *tg_session_find_fixable(const tg_session *session, const char *name) {
  int input = tg_session_find_input(session, name);
  if (!session->model) return NULL;
  return input >= 0 ? session->model->inputs[input] : tg_graph_find_default(session->model, name);
}

static bool fits(const tg_value *value, const tg_npy *array) {
  const tg_shape *open = value->default_of;
  if (open && open->rank < 0) return true;
  bool all = value->rank == array->rank;
  for (int d = 0; all && d < array->rank; d++)
    all =
        open ? open->sizes[d] < 0 || open->sizes[d] == array->dims[d] : value->dims[d].size == array->dims[d];
  return all;
}

tg_status tg_session_fix_input(tg_session *session, const char *name, const tg_npy *given, tg_diag *diag) {
  tg_npy copy = *given, *array = &copy;
  if (tg_session_needs_model(session, diag) ||
      tg_session_bind_shape(session, name, array->rank, array->dims, diag))
    return TG_INVALID;
  tg_value *value = tg_session_find_fixable(session, name);
  if (!value) return tg_fail(diag, TG_INVALID, "%s: the model has no input \"%s\"", session->path, name);
  if (tg_npy_take_as(array, value->dtype, diag))
    return tg_diag_prefix(diag, "input \"%s\"", name), TG_INVALID;
  if (!fits(value, array))
    return tg_fail(diag, TG_INVALID, "input \"%s\" is %s, which what is given does not fit", name,
                   tg_value_type_text(value, &session->arena));
  void *data = tg_arena_alloc(&session->arena, (size_t)array->count * tg_dtype_size(value->dtype) + 1, 1);
  for (int64_t e = 0; e < array->count; e++) {
    convert_element(array, e, value->dtype, data);
    if (!holds_element(array, e, value->dtype, data))
      return tg_fail(diag, TG_INVALID, "input \"%s\": element %" PRId64 " is no number of %s", name, e,
                     tg_dtype_name(value->dtype));
  }
  if (value->default_of)
    tg_graph_replace_default(session->model, value, array->rank, array->dims, data);
  else
    tg_graph_fix_input(session->model, tg_session_find_input(session, name), data);
  TG_PUSH(&session->arena, session->fixed, session->fixed_count, session->fixed_capacity, value);
  return TG_OK;
}

static tg_status bind_constant_guarded(tg_session *session, const char *name, int rank, const int64_t *dims,
                                       tg_dtype dtype, const void *data, tg_diag *diag) {
  if (tg_session_needs_model(session, diag)) return TG_INVALID;
  if (!name || rank < 0 || rank > TG_TENSOR_MAX_RANK || (rank && !dims) || !data || dtype <= TG_NONE ||
      dtype >= TG_DTYPE_COUNT)
    return tg_fail(diag, TG_INVALID, "%s: a constant needs name, shape, element type and data",
                   session->path);
  tg_npy array = {.dtype = dtype, .rank = rank, .count = 1, .data = (void *)data};
  for (int d = 0; d < rank; d++) {
    array.dims[d] = dims[d];
    if (dims[d] < 0 || __builtin_mul_overflow(array.count, dims[d], &array.count))
      return tg_fail(diag, TG_INVALID, "%s: input \"%s\" cannot have that shape", session->path, name);
  }
  return tg_session_fix_input(session, name, &array, diag);
}

tg_status tg_session_bind_constant(tg_session *session, const char *name, int rank, const int64_t *dims,
                                   tg_dtype dtype, const void *data, tg_diag *diag) {
  TG_GUARDED(diag, bind_constant_guarded(session, name, rank, dims, dtype, data, diag));
}

enum { MOST_FIXED = 1024 }; /* elements of an input that is a constant without being called one */

void tg_session_note_integers(tg_session *session, const tg_npy *array) {
  for (int64_t e = 0; array->count <= MOST_FIXED && tg_dtype_is_integer(array->dtype) && e < array->count;
       e++) {
    int64_t number = tg_load_i64(array->data, array->dtype, (size_t)e);
    session->fixes_integers |= number <= -(1 << 24) || number >= 1 << 24;
  }
}

tg_status tg_session_fix_deciding(tg_session *session, const char *name, const tg_npy *array, tg_diag *diag) {
  int input = session->program ? -1 : tg_session_find_input(session, name);
  if (input < 0 && !session->program && tg_session_find_fixable(session, name))
    return tg_session_fix_input(session, name, array, diag);
  if (input < 0 || array->count > MOST_FIXED) return TG_OK;
  bool *decides = TG_NEW_ARRAY(&session->arena, bool, (size_t)session->model->input_count);
  tg_graph_deciding_inputs(session->model, decides);
  bool exact = session->fixes_integers && tg_dtype_is_integer(session->model->inputs[input]->dtype);
  return decides[input] || exact ? tg_session_fix_input(session, name, array, diag) : TG_OK;
}
