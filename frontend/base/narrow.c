#include "frontend/base/narrow.h"

#include <math.h>

static const tg_narrow formats[TG_NARROW_FORMATS] = {
    [TG_NARROW_E4M3FN] = {8, 3, -6, 8, 448, false, true},
    [TG_NARROW_E4M3FNUZ] = {8, 3, -7, 7, 240, false, true},
    [TG_NARROW_E5M2] = {8, 2, -14, 15, 57344, true, true},
    [TG_NARROW_E5M2FNUZ] = {8, 2, -15, 15, 57344, false, true},
    [TG_NARROW_E2M1] = {4, 1, 0, 2, 6, false, false},
    [TG_NARROW_E8M0] = {8, 0, -127, 127, 0x1p127f, false, true},
};

enum { E8M0_BIAS = 127, ALL_ONES = 0xff };

const tg_narrow *tg_narrow_get(tg_narrow_format format) { return &formats[format]; }

static bool has_no_negative_zero(tg_narrow_format format) {
  return format == TG_NARROW_E4M3FNUZ || format == TG_NARROW_E5M2FNUZ;
}

static bool is_nan(tg_narrow_format format, uint8_t bits) {
  switch (format) {
  case TG_NARROW_E4M3FN: return (bits & 0x7f) == 0x7f;
  case TG_NARROW_E5M2: return (bits & 0x7f) > 0x7c;
  case TG_NARROW_E8M0: return bits == ALL_ONES;
  case TG_NARROW_E2M1: return false;
  default: return bits == 0x80;
  }
}

static uint8_t nan_of(tg_narrow_format format) {
  switch (format) {
  case TG_NARROW_E2M1: return 0x8; /* -0 */
  case TG_NARROW_E8M0: return ALL_ONES;
  case TG_NARROW_E5M2: return 0x7e;
  case TG_NARROW_E4M3FN: return 0x7f;
  default: return 0x80;
  }
}

float tg_narrow_decode(tg_narrow_format format, uint8_t bits) {
  const tg_narrow *f = &formats[format];
  if (is_nan(format, bits)) return NAN;
  if (format == TG_NARROW_E8M0) return ldexpf(1, bits - E8M0_BIAS);
  int sign = bits >> (f->bits - 1) & 1, fraction = bits & ((1 << f->fraction) - 1),
      exponent = (bits & ((1 << (f->bits - 1)) - 1)) >> f->fraction;
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

uint8_t tg_narrow_encode(tg_narrow_format format, float value) {
  const tg_narrow *f = &formats[format];
  if (format == TG_NARROW_E8M0) return encode_power(value);
  if (isnan(value)) return nan_of(format);
  int sign = signbit(value) != 0, top = f->bits - 1;
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
  if (!bits && has_no_negative_zero(format)) sign = 0;
  return (uint8_t)(bits | sign << top);
}
