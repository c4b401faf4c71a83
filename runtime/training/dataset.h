/* Data and labels of a training run: arrays whose first dimension counts the rows. */
#ifndef TEGULA_RUNTIME_TRAINING_DATASET_H
#define TEGULA_RUNTIME_TRAINING_DATASET_H

#include "runtime/npy.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tg_array {
  const char *path;
  tg_npy npy;
  int64_t rows, width; /* width: elements of a row */
} tg_array;

/* Reads FILE.npy, or FILE.npz, or FILE.npz:NAME. Of an archive without a name it takes the first of
 * `preferred` (NULL at the end) that it has, else its only array. TG_INVALID, one line naming the file: it
 * cannot be read, or has no rows. */
tg_status tg_array_load(tg_arena *arena, const char *file, const char *const *preferred, tg_array *out_array,
                        tg_diag *diag);

/* Rows as FP32: out[count][width]. */
void tg_array_gather(const tg_array *array, const int64_t *rows, int64_t count, float *out);

/* TG_INVALID, naming file and row: an element is no integer from 0 to classes - 1, nor `*ignored` (NULL:
 * none). */
tg_status tg_array_check_classes(const tg_array *array, int64_t classes, const double *ignored,
                                 tg_diag *diag);

/* A hash of type, shape and elements: are these the same data? */
uint64_t tg_array_digest(const tg_array *array);

#ifdef __cplusplus
}
#endif
#endif
