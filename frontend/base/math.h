/* Small arithmetic that everything needs. */
#ifndef TEGULA_FRONTEND_BASE_MATH_H
#define TEGULA_FRONTEND_BASE_MATH_H

#include <stdint.h>

static inline int64_t tg_min(int64_t a, int64_t b) { return a < b ? a : b; }
static inline double tg_max_double(double a, double b) { return a > b ? a : b; }
/* The quotient, and the multiple of `unit`, that is not less; `value` >= 0, `unit` > 0. */
static inline int64_t tg_div_up(int64_t value, int64_t unit) { return (value + unit - 1) / unit; }
static inline int64_t tg_round_up(int64_t value, int64_t unit) { return tg_div_up(value, unit) * unit; }

#endif
