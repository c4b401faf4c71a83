/* Stochastic rounding from FP32 to BF16 and the hash that it draws from (docs/numerics.md). The one
 * definition for frontend, engines and tests; header-only, since kernels inline it. */
#ifndef TEGULA_BASE_STOCHASTIC_H
#define TEGULA_BASE_STOCHASTIC_H

#include <stdint.h>

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
static inline uint32_t tg_sr_col_key(uint32_t tile_key) { return tile_key ^ 0x85ebca6bu; }
static inline uint32_t tg_sr_col_hash(uint32_t tile_key, uint32_t col) {
  return tg_mix(tg_sr_col_key(tile_key) + col);
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
