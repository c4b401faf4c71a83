/* Errors of a tensor against a reference. */
#ifndef TEGULA_RUNTIME_SESSION_COMPARE_H
#define TEGULA_RUNTIME_SESSION_COMPARE_H

#include <stdint.h>

/* max_rel divides by |reference|, but by no less than 2^-20 of its largest element, so that zeros do not
 * decide. A NaN or infinity on one side only makes every measure infinite. cosine is 1 where both sides are
 * all zero. */
typedef struct tg_error_measure {
  double max_abs, max_rel, rms, cosine;
} tg_error_measure;

tg_error_measure tg_compare(const float *values, const float *reference, int64_t count);

#endif
