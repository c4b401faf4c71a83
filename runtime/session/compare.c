#include "runtime/session/compare.h"

#include <math.h>

static double largest_finite(const float *values, int64_t count) {
  double largest = 0;
  for (int64_t i = 0; i < count; i++)
    if (isfinite(values[i])) largest = fmax(largest, fabs((double)values[i]));
  return largest;
}

tg_error_measure tg_compare(const float *values, const float *reference, int64_t count) {
  double floor = largest_finite(reference, count) * 0x1p-20, squares = 0, dot = 0, norm_v = 0, norm_r = 0;
  tg_error_measure e = {.cosine = 1};
  for (int64_t i = 0; i < count; i++) {
    double v = values[i], r = reference[i];
    if ((isnan(v) && isnan(r)) || (isinf(v) && v == r)) continue;
    if (!isfinite(v) || !isfinite(r)) return (tg_error_measure){INFINITY, INFINITY, INFINITY, INFINITY};
    double difference = fabs(v - r);
    if (difference > 0) {
      e.max_abs = fmax(e.max_abs, difference);
      e.max_rel = fmax(e.max_rel, difference / fmax(fabs(r), floor));
    }
    squares += difference * difference;
    dot += v * r;
    norm_v += v * v;
    norm_r += r * r;
  }
  if (count) e.rms = sqrt(squares / (double)count);
  if (norm_v > 0 || norm_r > 0) e.cosine = norm_v > 0 && norm_r > 0 ? dot / sqrt(norm_v * norm_r) : 0;
  return e;
}
