/* Floats of 8 and 4 bits, as ONNX stores them: the array computes with their numbers in FP32, which holds all of them. */
#ifndef TEGULA_BASE_NARROW_H
#define TEGULA_BASE_NARROW_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum tg_narrow_format {
  TG_NARROW_E4M3FN,
  TG_NARROW_E4M3FNUZ,
  TG_NARROW_E5M2,
  TG_NARROW_E5M2FNUZ,
  TG_NARROW_E2M1,
  TG_NARROW_E8M0,
  TG_NARROW_FORMATS
} tg_narrow_format;

/* A format: sign (but for e8m0, which has none and no zero), exponent, `fraction` bits.
 * e4m3fn, e5m2: OFP8 of the Open Compute Project; *fnuz: without infinity and negative zero (arXiv 2206.02915);
 * e2m1, e8m0: Microscaling Formats of the Open Compute Project. */
typedef struct tg_narrow {
  int bits, fraction;
  int low, high; /* exponents of normal numbers; e8m0: of all */
  float most;    /* the largest number */
  bool has_infinity, has_nan;
} tg_narrow;

const tg_narrow *tg_narrow_get(tg_narrow_format format);

float tg_narrow_decode(tg_narrow_format format, uint8_t bits);
/* Rounded to nearest even, saturating; infinity and NaN stay where the format has them, else NaN is 0. e8m0: the power of two
 * that is not below |value|. */
uint8_t tg_narrow_encode(tg_narrow_format format, float value);

#ifdef __cplusplus
}
#endif
#endif
