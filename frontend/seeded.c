#include "frontend/graph.h"

/* SplitMix64 of (seed, index): element i needs no other element. */
static uint64_t mix(uint64_t x) {
  x += 0x9e3779b97f4a7c15u;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

float tg_seeded_number(uint64_t seed, int64_t index) {
  return (float)(int64_t)(mix(mix(seed) + (uint64_t)index) >> 40) * 0x1p-23f - 1; /* exact */
}

void tg_seeded_fill(void *data, tg_dtype dtype, int64_t count, uint64_t seed, float scale) {
  for (int64_t i = 0; i < count; i++) tg_store_f32(data, dtype, (size_t)i, tg_seeded_number(seed, i) * scale);
}
