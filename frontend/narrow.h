/* Floats of 8 and 4 bits, as ONNX stores them: the array computes with their numbers in FP32, which holds all of them. */
#ifndef TEGULA_FRONTEND_NARROW_H
#define TEGULA_FRONTEND_NARROW_H

#include "frontend/dtype.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A format: sign (but for f8e8m0, which has none and no zero), exponent, `fraction` bits.
 * f8e4m3fn, f8e5m2: OFP8 of the Open Compute Project; *fnuz: without infinity and negative zero (arXiv 2206.02915);
 * f4e2m1, f8e8m0: Microscaling Formats of the Open Compute Project. */
typedef struct tg_narrow {
  int fraction;
  int low, high; /* exponents of normal numbers; f8e8m0: of all */
  float most;    /* the largest number */
  bool has_infinity, has_nan;
} tg_narrow;

/* The format of a type for which tg_dtype_is_narrow. */
const tg_narrow *tg_narrow_get(tg_dtype dtype);

float tg_narrow_decode(tg_dtype dtype, uint8_t bits);
/* Rounded to nearest even, saturating; infinity and NaN stay where the format has them, else NaN is 0. f8e8m0: the power of two
 * that is not below |value|. */
uint8_t tg_narrow_encode(tg_dtype dtype, float value);

#ifdef __cplusplus
}
#endif
#endif
