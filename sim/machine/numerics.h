/* Conversions and stochastic rounding, the definitions of docs/numerics.md in C. Header-only: kernels inline
 * them. */
#ifndef TEGULA_MACHINE_NUMERICS_H
#define TEGULA_MACHINE_NUMERICS_H

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

/* The mixer of stochastic rounding: shifts, xors and adds only. */
static inline uint32_t tg_mix(uint32_t x) {
  x ^= x >> 16;
  x += x << 10;
  x ^= x >> 11;
  x += x << 3;
  x ^= x >> 17;
  x += x << 13;
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
