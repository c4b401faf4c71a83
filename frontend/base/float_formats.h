/* The narrow float formats as bits: exact widening, rounding to nearest even (docs/numerics.md). The one
 * definition for frontend, engines and tests; header-only, since kernels inline it. */
#ifndef TEGULA_BASE_FLOAT_FORMATS_H
#define TEGULA_BASE_FLOAT_FORMATS_H

#include <stdint.h>
#include <string.h>

static inline uint32_t tg_f32_bits(float x) {
  uint32_t b;
  memcpy(&b, &x, 4);
  return b;
}
static inline float tg_bits_f32(uint32_t b) {
  float x;
  memcpy(&x, &b, 4);
  return x;
}
static inline int tg_is_nan_bits(uint32_t b) { return (b & 0x7fffffffu) > 0x7f800000u; }
static inline uint32_t tg_canonical(uint32_t b) { return tg_is_nan_bits(b) ? 0x7fc00000u : b; }

static inline uint16_t tg_bf16_from_f32(uint32_t b) {
  if (tg_is_nan_bits(b)) return 0x7fc0;
  return (uint16_t)((b + 0x7fffu + (b >> 16 & 1)) >> 16);
}
static inline uint32_t tg_bf16_to_f32(uint16_t h) { return (uint32_t)h << 16; }

static inline uint16_t tg_fp16_from_f32(uint32_t b) {
  uint32_t sign = b >> 16 & 0x8000u, mag = b & 0x7fffffffu;
  if (mag > 0x7f800000u) return 0x7e00;
  if (mag >= 0x477ff000u) return (uint16_t)(sign | 0x7c00u); /* 65520 and above round to infinity */
  if (mag >= 0x38800000u)                                    /* normal in FP16 */
    return (uint16_t)(sign | ((mag - 0x38000000u + 0xfffu + (mag >> 13 & 1)) >> 13));
  if (mag <= 0x33000000u) return (uint16_t)sign; /* 2^-25 is a tie with zero */
  uint32_t shift = 126u - (mag >> 23);           /* subnormal: 14..24 bits are dropped */
  uint32_t frac = (mag & 0x7fffffu) | 0x800000u;
  uint32_t kept = frac >> shift, rest = frac & ((1u << shift) - 1), half = 1u << (shift - 1);
  return (uint16_t)(sign | (kept + (rest > half || (rest == half && (kept & 1)))));
}
static inline uint32_t tg_fp16_to_f32(uint16_t h) {
  uint32_t sign = (uint32_t)(h & 0x8000u) << 16, exp = h >> 10 & 31, frac = h & 0x3ffu;
  if (exp == 31) return sign | 0x7f800000u | frac << 13;
  if (exp) return sign | ((exp + 112) << 23 | frac << 13);
  if (!frac) return sign;
  int up = __builtin_clz(frac) - 21; /* normalise: bring the leading one to bit 10 */
  return sign | (uint32_t)(113 - up) << 23 | ((frac << up) & 0x3ffu) << 13;
}

/* To TF32, stored in 32 bits with the low 13 fraction bits zero. */
static inline uint32_t tg_tf32_from_f32(uint32_t b) {
  if (tg_is_nan_bits(b)) return 0x7fc00000u;
  return (b + 0xfffu + (b >> 13 & 1)) & ~0x1fffu;
}

#endif
