#include "tests/frontend/support.h"

#include "tests/harness.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *shared_path(tg_arena *arena, const char *name) {
  const char *root = tg_test_shared();
  return root ? tg_arena_printf(arena, "%s/%s", root, name) : NULL;
}

const char *recorded_path(tg_arena *arena, const char *name) {
  return tg_arena_printf(arena, "%s/%s", tg_test_data(), name);
}

char *read_text(tg_arena *arena, const char *path, size_t *out_size) {
  FILE *file = fopen(path, "rb");
  if (!file) return NULL;
  fseek(file, 0, SEEK_END);
  long size = ftell(file);
  rewind(file);
  char *text = tg_arena_alloc(arena, (size_t)size + 1, 1);
  size_t got = fread(text, 1, (size_t)size, file);
  fclose(file);
  if (out_size) *out_size = got;
  return text;
}

void write_bytes(const char *path, const void *data, size_t size) {
  FILE *file = fopen(path, "wb");
  if (!file) abort();
  if (fwrite(data, 1, size, file) != size) abort();
  fclose(file);
}

float *read_npy(tg_arena *arena, const char *path, int64_t *out_count) {
  size_t size;
  char *bytes = read_text(arena, path, &size);
  if (!bytes || size < 10 || memcmp(bytes, "\x93NUMPY", 6)) return NULL;
  size_t header = (unsigned char)bytes[8] | (size_t)(unsigned char)bytes[9] << 8;
  if (!strstr(bytes + 10, "'<f4'") || !strstr(bytes + 10, "False")) return NULL;
  *out_count = (int64_t)((size - 10 - header) / sizeof(float));
  float *data = TG_NEW_ARRAY(arena, float, (size_t)*out_count);
  memcpy(data, bytes + 10 + header, (size_t)*out_count * sizeof *data);
  return data;
}

double worst_ratio(const float *a, const float *b, int64_t count, double rtol, double atol) {
  double worst = 0;
  for (int64_t i = 0; i < count; i++) {
    if (isnan(a[i]) != isnan(b[i])) return INFINITY;
    if (isnan(a[i]) || a[i] == b[i]) continue;
    double ratio = fabs((double)a[i] - (double)b[i]) / (atol + rtol * fabs((double)b[i]));
    if (!(ratio <= worst)) worst = ratio;
  }
  return worst;
}
