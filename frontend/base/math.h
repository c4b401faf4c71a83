/* Small arithmetic that everything needs. */
#ifndef TEGULA_FRONTEND_BASE_MATH_H
#define TEGULA_FRONTEND_BASE_MATH_H

#include <stdint.h>

static inline int64_t tg_min(int64_t a, int64_t b) { return a < b ? a : b; }
static inline int64_t tg_max(int64_t a, int64_t b) { return a > b ? a : b; }
static inline int64_t tg_clamp(int64_t value, int64_t lowest, int64_t highest) {
  return value < lowest ? lowest : value > highest ? highest : value;
}
/* Of cycles, UINT64_MAX among them, which is never. */
static inline uint64_t tg_later(uint64_t a, uint64_t b) { return a > b ? a : b; }
static inline double tg_min_double(double a, double b) { return a < b ? a : b; }
static inline double tg_max_double(double a, double b) { return a > b ? a : b; }
/* The quotient, and the multiple of `unit`, that is not less; `value` >= 0, `unit` > 0. */
static inline int64_t tg_div_up(int64_t value, int64_t unit) { return (value + unit - 1) / unit; }
static inline int64_t tg_round_up(int64_t value, int64_t unit) { return tg_div_up(value, unit) * unit; }
/* The greatest common divisor, >= 0; 0 of two zeros. */
static inline int64_t tg_gcd(int64_t a, int64_t b) {
  while (b) {
    int64_t remainder = a % b;
    a = b;
    b = remainder;
  }
  return a < 0 ? -a : a;
}

#endif
