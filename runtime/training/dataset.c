#include "runtime/training/dataset.h"
#include "frontend/base/hash.h"
#include "runtime/npz.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

/* "FILE.npz:NAME" where FILE.npz is an archive. */
static bool split(tg_arena *arena, const char *text, const char **out_path, const char **out_name) {
  const char *colon = strrchr(text, ':');
  if (!colon || colon == text || !colon[1] || !access(text, F_OK)) return false;
  const char *path = tg_arena_strndup(arena, text, (size_t)(colon - text));
  if (!tg_is_npz_file(path)) return false;
  *out_path = path;
  *out_name = colon + 1;
  return true;
}

tg_status tg_array_load(tg_arena *arena, const char *file, const char *const *preferred, tg_array *out_array,
                        tg_diag *diag) {
  const char *path = file, *name = NULL;
  bool named = split(arena, file, &path, &name), archive = named || tg_is_npz_file(path);
  for (int i = 0; archive && !named && preferred[i] && !name; i++)
    if (tg_npz_has(path, preferred[i])) name = preferred[i];
  tg_array array = {.path = file};
  tg_status status =
      archive ? tg_npz_read(arena, path, name, &array.npy, diag) : tg_npy_read(arena, path, &array.npy, diag);
  if (!status) status = tg_npy_take_as(&array.npy, TG_F32, diag);
  if (status) return status;
  if (array.npy.rank < 1 || !array.npy.count) return tg_fail(diag, TG_INVALID, "%s: holds no rows", file);
  array.rows = array.npy.dims[0];
  array.width = array.npy.count / array.rows;
  *out_array = array;
  return TG_OK;
}

void tg_array_gather(const tg_array *a, const int64_t *rows, int64_t count, float *out) {
  for (int64_t i = 0; i < count; i++) {
    size_t first = (size_t)(rows[i] * a->width);
    if (a->npy.dtype == TG_F32)
      memcpy(out + i * a->width, (const float *)a->npy.data + first, (size_t)a->width * sizeof *out);
    else
      for (int64_t e = 0; e < a->width; e++)
        out[i * a->width + e] = tg_load_f32(a->npy.data, a->npy.dtype, first + (size_t)e);
  }
}

static bool is_class(const tg_array *a, int64_t element, int64_t classes, const double *ignored) {
  if (ignored && (double)tg_load_f32(a->npy.data, a->npy.dtype, (size_t)element) == *ignored) return true;
  if (tg_dtype_is_float(a->npy.dtype)) {
    float value = tg_load_f32(a->npy.data, a->npy.dtype, (size_t)element);
    return value >= 0 && value < (float)classes && value == floorf(value);
  }
  int64_t value = tg_load_i64(a->npy.data, a->npy.dtype, (size_t)element);
  return value >= 0 && value < classes;
}

tg_status tg_array_check_classes(const tg_array *a, int64_t classes, const double *ignored, tg_diag *diag) {
  for (int64_t i = 0; i < a->npy.count; i++)
    if (!is_class(a, i, classes, ignored))
      return tg_fail(diag, TG_INVALID,
                     "%s: row %" PRId64 " has label %g, which is none of the classes 0 to %" PRId64, a->path,
                     i / a->width, (double)tg_load_f32(a->npy.data, a->npy.dtype, (size_t)i), classes - 1);
  return TG_OK;
}

uint64_t tg_array_digest(const tg_array *a) {
  tg_hasher hasher;
  tg_hasher_start(&hasher);
  tg_hasher_add(&hasher, &a->npy.dtype, sizeof a->npy.dtype);
  tg_hasher_add(&hasher, a->npy.dims, (size_t)a->npy.rank * sizeof *a->npy.dims);
  tg_hasher_add(&hasher, a->npy.data, (size_t)a->npy.count * tg_dtype_size(a->npy.dtype));
  return tg_hasher_sum(&hasher);
}
