/* NumPy's .npy files: format versions 1 to 3, little-endian, C or Fortran order. */
#ifndef TEGULA_RUNTIME_NPY_H
#define TEGULA_RUNTIME_NPY_H

#include "frontend/base/arena.h"
#include "frontend/base/status.h"
#include "frontend/dtype.h"

#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { TG_NPY_MAX_RANK = 8 };

typedef struct tg_npy {
  tg_dtype dtype; /* f4 f8 f2, i1..i8, u1..u8, b1; V2 is bf16, V1 a byte */
  bool bits;      /* V1: of a type that NumPy has no name for, as ml_dtypes writes floats of 8 and 4 bits */
  int rank;
  int64_t dims[TG_NPY_MAX_RANK];
  int64_t count; /* elements */
  void *data;    /* row-major whatever the file's order, on the arena */
} tg_npy;

/* TG_INVALID, one line naming the file: it cannot be read, is no .npy file, or holds what is not supported.
 * Memory and time are bounded by the file's size. */
tg_status tg_npy_read(tg_arena *arena, const char *path, tg_npy *out_array, tg_diag *diag);

/* The same from a stream that holds `size` bytes; the line does not name a file. */
tg_status tg_npy_read_stream(tg_arena *arena, FILE *stream, uint64_t size, tg_npy *out_array, tg_diag *diag);

/* The elements as FP32, on `arena`. */
float *tg_npy_floats(tg_arena *arena, const tg_npy *array);

/* Bits become elements of `dtype`, as which they are read from here on. TG_INVALID: they are not as long as those. */
tg_status tg_npy_take_as(tg_npy *array, tg_dtype dtype, tg_diag *diag);

/* Writes a row-major array, beside `path` and then renamed. `dtype` has a NumPy name (bf16: V2, floats of 8 and 4 bits: V1,
 * as of ml_dtypes; integers of fewer than 8 bits: i1, u1; not tf32). */
tg_status tg_npy_write(const char *path, tg_dtype dtype, int rank, const int64_t *dims, const void *data,
                       tg_diag *diag);

#ifdef __cplusplus
}
#endif
#endif
