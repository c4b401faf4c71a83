/* What the frontend's tests share. */
#ifndef TEGULA_TESTS_FRONTEND_SUPPORT_H
#define TEGULA_TESTS_FRONTEND_SUPPORT_H

#include "frontend/graph.h"

/* "<shared>/<name>" on the arena, or NULL when the folder of shared data is not there. */
const char *shared_path(tg_arena *arena, const char *name);
/* A file of what we recorded (tests/data/README.md). */
const char *recorded_path(tg_arena *arena, const char *name);

/* The whole file, NUL-terminated, or NULL. */
char *read_text(tg_arena *arena, const char *path, size_t *out_size);
void write_bytes(const char *path, const void *data, size_t size);

/* Elements of a little-endian fp32 .npy in C order; NULL: not one. */
float *read_npy(tg_arena *arena, const char *path, int64_t *out_count);

/* Largest |a-b| / (atol + rtol*|b|): at most 1 when all are close. */
double worst_ratio(const float *a, const float *b, int64_t count, double rtol, double atol);

#endif
