/* Single elements: where they lie, what they are in FP32, which is the larger. */
#include "frontend/reference/internal.h"

#include <math.h>
#include <stdlib.h>

void *tg_reference_scratch(size_t count, size_t size) {
  void *p = calloc(count ? count : 1, size);
  if (!p) tg_die("out of memory (%zu x %zu bytes)", count, size);
  return p;
}

float *tg_reference_widen(const tg_value *value, const void *data) {
  size_t count = (size_t)tg_value_elements(value);
  float *wide = tg_reference_scratch(count, sizeof *wide);
  for (size_t i = 0; i < count; i++) wide[i] = tg_load_f32(data, value->dtype, i);
  return wide;
}

float tg_reference_maximum(float a, float b) {
  if (isnan(a) || isnan(b)) return NAN;
  if (a == b) return signbit(a) ? b : a;
  return a > b ? a : b;
}

float tg_reference_minimum(float a, float b) {
  if (isnan(a) || isnan(b)) return NAN;
  if (a == b) return signbit(a) ? a : b;
  return a < b ? a : b;
}
