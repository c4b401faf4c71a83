/* The definitions of docs/numerics.md in C: operations of the vector ALU here, conversions and stochastic
 * rounding in what it includes. Header-only: kernels inline them. */
#ifndef TEGULA_MACHINE_NUMERICS_H
#define TEGULA_MACHINE_NUMERICS_H

#include "frontend/base/float_formats.h"
#include "frontend/base/stochastic.h"

#include <math.h>

/* Operations of the vector ALU that plain C has no operator for (docs/machine.md, section 6); bits in, bits
 * out. */

/* Of the middle of the 2^-8 wide piece of [1, 2) that the significand lies in, rounded to 10 bits. */
static inline uint32_t tg_rcpseed(uint32_t a) {
  uint32_t sign = a & 0x80000000u, exponent = a & 0x7f800000u;
  if (tg_is_nan_bits(a)) return 0x7fc00000u;
  if (!exponent) return sign | 0x7f800000u;
  if (exponent >= 253u << 23) return sign;
  uint32_t y = tg_f32_bits(1.0f / tg_bits_f32((a & 0x007f8000u) | 0x3f804000u));
  return sign | (((y + 0x2000u) & ~0x3fffu) + 0x3f800000u - exponent);
}

/* The same on [1, 4), pieces of 2^-7 and 2^-6. */
static inline uint32_t tg_rsqseed(uint32_t a) {
  uint32_t exponent = a >> 23 & 255;
  if (tg_is_nan_bits(a)) return 0x7fc00000u;
  if (a << 1 == 0) return a | 0x7f800000u;
  if (a >> 31) return 0x7fc00000u;
  if (!exponent) return 0x7f800000u;
  if (exponent == 255) return 0;
  uint32_t y = tg_f32_bits(
      1.0f / sqrtf(tg_bits_f32((a & 0x007f0000u) | 0x8000u | (exponent & 1 ? 0x3f800000u : 0x40000000u))));
  return ((y + 0x2000u) & ~0x3fffu) - (((exponent + 1) / 2 - 64) << 23);
}

static inline uint32_t tg_scale(uint32_t a, uint32_t b) {
  if (tg_is_nan_bits(a) || tg_is_nan_bits(b)) return 0x7fc00000u;
  float n = floorf(tg_bits_f32(b));
  n = n < -512 ? -512 : n > 512 ? 512 : n;
  return tg_f32_bits((float)ldexp((double)tg_bits_f32(a), (int)n)); /* exact in double */
}

static inline uint32_t tg_exponent(uint32_t a) {
  uint32_t magnitude = a & 0x7fffffffu;
  if (magnitude > 0x7f800000u) return 0x7fc00000u;
  if (magnitude == 0x7f800000u) return magnitude;
  return magnitude ? tg_f32_bits((float)ilogbf(tg_bits_f32(magnitude))) : 0xff800000u;
}

static inline uint32_t tg_mantissa(uint32_t a) {
  uint32_t magnitude = a & 0x7fffffffu;
  if (magnitude > 0x7f800000u) return 0x7fc00000u;
  if (magnitude && magnitude < 0x00800000u) magnitude <<= __builtin_clz(magnitude) - 8;
  return (a & 0x80000000u) | 0x3f800000u | (magnitude & 0x007fffffu);
}

#endif
