/* Conversions and stochastic rounding, the definitions of docs/numerics.md in C. Header-only: kernels inline
 * them. */
#ifndef TEGULA_MACHINE_NUMERICS_H
#define TEGULA_MACHINE_NUMERICS_H

#include "frontend/base/float_formats.h"

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

/* The mixer of stochastic rounding: shifts, xors and adds only. */
static inline uint32_t tg_mix(uint32_t x) {
  x ^= x >> 16;
  x += x << 14;
  x ^= x >> 4;
  x += x << 8;
  x ^= x >> 2;
  x += x << 7;
  x ^= x >> 15;
  return x;
}
/* Key of a graph node in one training step; computed on the host, carried in the key table. */
static inline uint32_t tg_sr_key(uint64_t seed, uint32_t step, uint32_t node) {
  uint32_t x = tg_mix((uint32_t)seed + 0x9e3779b9u);
  x = tg_mix(x + (uint32_t)(seed >> 32));
  x = tg_mix(x + step);
  return tg_mix(x + node);
}
static inline uint32_t tg_sr_tile_key(uint32_t key, uint32_t tile) {
  return tg_mix(key ^ tg_mix(tile + 0x9e3779b9u));
}
static inline uint32_t tg_sr_row_hash(uint32_t tile_key, uint32_t row) { return tg_mix(tile_key + row); }
static inline uint32_t tg_sr_col_hash(uint32_t tile_key, uint32_t col) {
  return tg_mix((tile_key ^ 0x85ebca6bu) + col);
}
static inline uint32_t tg_sr_r16(uint32_t row_hash, uint32_t col_hash) {
  return tg_mix(row_hash + col_hash) >> 16;
}
/* FP32 to BF16, up with probability of the dropped fraction. */
static inline uint16_t tg_bf16_stochastic(uint32_t b, uint32_t r16) {
  uint32_t mag = b & 0x7fffffffu;
  if (mag > 0x7f800000u) return 0x7fc0;
  if (mag == 0x7f800000u) return (uint16_t)(b >> 16);
  return (uint16_t)((b + r16) >> 16);
}

#endif
