/* Results that are exact, or rounded once, of operations that round. */
#ifndef TEGULA_FRONTEND_DECOMPOSE_EXACT_H
#define TEGULA_FRONTEND_DECOMPOSE_EXACT_H

#include "frontend/decompose/compose.h"

/* x / y of FP32, rounded to nearest: what the array divides is within a unit of that. */
tg_value *tg_exact_quotient(tg_build *b, tg_value *x, tg_value *y);
/* fmod(x, y) of FP32; NaN where the quotient passes 2^24. */
tg_value *tg_exact_remainder(tg_build *b, tg_value *x, tg_value *y);

/* Weights [outer, count, inner] of integers, of which `count` products are a sum, and their zero points: NULL, one, or
 * one for each of inner (of outer where inner is 1). */
typedef struct tg_terms {
  const tg_value *weights, *zero;
  int64_t outer, count, inner;
} tg_terms;

enum { TG_MOST_PARTS = 256 };

/* Parts of the sums, of a multiple of `step` terms each, that stay below 2^24 where the other factor of each term is at
 * most `most` and, of weights that are not known, the weight at most `each`: their number, the places where they end.
 * 0: there are none, or more than TG_MOST_PARTS. */
int tg_exact_parts(const tg_terms *terms, int64_t step, double most, double each, int64_t *out_ends);
/* Of whole numbers below 2^24 each, rounded once. */
tg_value *tg_exact_sum(tg_build *b, tg_value *const *parts, int count);

#endif
