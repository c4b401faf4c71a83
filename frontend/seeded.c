#include "frontend/graph.h"

/* SplitMix64 of (seed, index): element i needs no other element. */
static uint64_t mix(uint64_t x) {
  x += 0x9e3779b97f4a7c15u;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

void tg_seeded_fill(void *data, tg_dtype dtype, int64_t count, uint64_t seed, float scale) {
  uint64_t key = mix(seed);
  for (int64_t i = 0; i < count; i++) {
    float unit =
        (float)(int64_t)(mix(key + (uint64_t)i) >> 40) * 0x1p-23f - 1; /* exact: 24 bits in [-1, 1) */
    tg_store_f32(data, dtype, (size_t)i, unit * scale);
  }
}
