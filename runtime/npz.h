/* NumPy's .npz files: zip archives of .npy arrays, stored or deflated (np.savez, np.savez_compressed). */
#ifndef TEGULA_RUNTIME_NPZ_H
#define TEGULA_RUNTIME_NPZ_H

#include "runtime/npy.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Whether a file begins as a zip archive does. */
bool tg_is_npz_file(const char *path);

/* Array `name` of an archive, without ".npy"; NULL: the only one. TG_INVALID, one line naming the file: it
 * cannot be read, has no such array (the line lists those it has), or holds what is not supported. Memory and
 * time are bounded by the file's size. */
tg_status tg_npz_read(tg_arena *arena, const char *path, const char *name, tg_npy *out_array, tg_diag *diag);

/* Whether a readable archive has an array of that name. */
bool tg_npz_has(const char *path, const char *name);

/* The names of an archive's arrays, without ".npy", on the arena. TG_INVALID as tg_npz_read. */
tg_status tg_npz_names(tg_arena *arena, const char *path, const char *const **out_names, size_t *out_count,
                       tg_diag *diag);

#ifdef __cplusplus
}
#endif
#endif
