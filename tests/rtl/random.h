/* Random operands for the tests of the RTL: xorshift, and FP32 patterns where adders go wrong. */
#ifndef TEGULA_TESTS_RTL_RANDOM_H
#define TEGULA_TESTS_RTL_RANDOM_H

#include <stdint.h>
#include <stdlib.h>

typedef struct tg_random {
  uint64_t state;
} tg_random;

static inline uint32_t tg_draw(tg_random *r) {
  r->state ^= r->state << 13;
  r->state ^= r->state >> 7;
  r->state ^= r->state << 17;
  return (uint32_t)(r->state * 0x9e3779b97f4a7c15ull >> 32);
}
static inline uint32_t tg_below(tg_random *r, uint32_t n) {
  return (uint32_t)((uint64_t)tg_draw(r) * n >> 32);
}

/* Significand fields: all zeros, all ones, single bits at the ends, runs, random. */
static inline uint32_t tg_draw_fraction(tg_random *r) {
  switch (tg_below(r, 8)) {
  case 0: return 0;
  case 1: return 0x7fffff;
  case 2: return 1u << tg_below(r, 23);
  case 3: return 0x7fffff ^ 1u << tg_below(r, 23);
  case 4: return 0x7fffff >> tg_below(r, 23);
  case 5: return 0x7fffff << tg_below(r, 23) & 0x7fffff;
  default: return tg_draw(r) & 0x7fffff;
  }
}

/* Any FP32 pattern, with the boundaries of every kind far more often than in uniform bits. */
static inline uint32_t tg_draw_f32(tg_random *r) {
  static const uint8_t edges[] = {0,   0,   1,   2,   23,  24,  25,  103, 113, 126,
                                  127, 128, 142, 150, 157, 158, 253, 254, 255};
  uint32_t exponent;
  switch (tg_below(r, 4)) {
  case 0: exponent = edges[tg_below(r, sizeof edges)]; break;
  case 1: exponent = 120 + tg_below(r, 16); break;
  default: exponent = tg_below(r, 256); break;
  }
  return tg_draw(r) << 31 | exponent << 23 | tg_draw_fraction(r);
}

/* Operands of a test: TEGULA_RTL_VECTORS if it is set. */
static inline uint64_t tg_vector_count(uint64_t usual) {
  const char *text = getenv("TEGULA_RTL_VECTORS");
  return text && *text ? strtoull(text, NULL, 10) : usual;
}

#endif
