#include "frontend/narrow.h"

#include <math.h>

static const tg_narrow formats[TG_DTYPE_COUNT] = {
    [TG_F8E4M3FN] = {3, -6, 8, 448, false, true},  [TG_F8E4M3FNUZ] = {3, -7, 7, 240, false, true},
    [TG_F8E5M2] = {2, -14, 15, 57344, true, true}, [TG_F8E5M2FNUZ] = {2, -15, 15, 57344, false, true},
    [TG_F4E2M1] = {1, 0, 2, 6, false, false},      [TG_F8E8M0] = {0, -127, 127, 0x1p127f, false, true},
};

enum { E8M0_BIAS = 127, ALL_ONES = 0xff };

const tg_narrow *tg_narrow_get(tg_dtype dtype) { return &formats[dtype]; }

static bool has_no_negative_zero(tg_dtype dtype) { return dtype == TG_F8E4M3FNUZ || dtype == TG_F8E5M2FNUZ; }

static bool is_nan(tg_dtype dtype, uint8_t bits) {
  switch (dtype) {
  case TG_F8E4M3FN: return (bits & 0x7f) == 0x7f;
  case TG_F8E5M2: return (bits & 0x7f) > 0x7c;
  case TG_F8E8M0: return bits == ALL_ONES;
  case TG_F4E2M1: return false;
  default: return bits == 0x80;
  }
}

static uint8_t nan_of(tg_dtype dtype) {
  return dtype == TG_F4E2M1 ? 0 : dtype == TG_F8E8M0 ? ALL_ONES : has_no_negative_zero(dtype) ? 0x80 : 0x7f;
}

float tg_narrow_decode(tg_dtype dtype, uint8_t bits) {
  const tg_narrow *f = &formats[dtype];
  if (is_nan(dtype, bits)) return NAN;
  if (dtype == TG_F8E8M0) return ldexpf(1, bits - E8M0_BIAS);
  int sign = bits >> (tg_dtype_bits(dtype) - 1) & 1, fraction = bits & ((1 << f->fraction) - 1),
      exponent = (bits & ((1 << (tg_dtype_bits(dtype) - 1)) - 1)) >> f->fraction;
  float value = exponent ? ldexpf((float)(fraction + (1 << f->fraction)), exponent - 1 + f->low - f->fraction)
                         : ldexpf((float)fraction, f->low - f->fraction);
  if (f->has_infinity && exponent == f->high + 1 - f->low + 1) value = INFINITY;
  return sign ? -value : value;
}

static uint8_t encode_power(float value) {
  int exponent;
  float half = frexpf(fabsf(value), &exponent); /* half 2^exponent, half in [1/2, 1) */
  if (!isfinite(value)) return ALL_ONES;
  int power = value == 0 ? -E8M0_BIAS : half == 0.5f ? exponent - 1 : exponent;
  return (uint8_t)(power < -E8M0_BIAS ? 0 : power > E8M0_BIAS ? 2 * E8M0_BIAS : power + E8M0_BIAS);
}

uint8_t tg_narrow_encode(tg_dtype dtype, float value) {
  const tg_narrow *f = &formats[dtype];
  if (dtype == TG_F8E8M0) return encode_power(value);
  if (isnan(value)) return nan_of(dtype);
  int sign = signbit(value) != 0, top = tg_dtype_bits(dtype) - 1;
  if (isinf(value) && f->has_infinity) return (uint8_t)(sign << top | (f->high - f->low + 2) << f->fraction);
  float x = fminf(fabsf(value), 2 * f->most);
  int exponent = x > 0 ? ilogbf(x) : f->low;
  if (exponent < f->low) exponent = f->low;
  int steps = (int)nearbyintf(ldexpf(x, f->fraction - exponent)); /* of 2^(exponent - fraction) */
  if (ldexpf((float)steps, exponent - f->fraction) > f->most) {
    exponent = ilogbf(f->most);
    steps = (int)ldexpf(f->most, f->fraction - exponent);
  }
  int bits = steps + ((exponent - f->low) << f->fraction); /* a carry adds to the exponent */
  if (!bits && has_no_negative_zero(dtype)) sign = 0;
  return (uint8_t)(bits | sign << top);
}
