/* Results that are exact, or rounded once, of operations that round: what a product loses is computed, too
 * (T. J. Dekker, "A floating-point technique for extending the available precision", 1971). */
#include "frontend/decompose/exact.h"

#include <math.h>
#include <stdlib.h>

/* --- quotients --- */

/* x as a sum of two numbers of 12 bits; NaN where 4097 x passes FP32. */
typedef struct halves {
  tg_value *high, *low;
} halves;

static halves halves_of(tg_build *b, tg_value *x) {
  tg_value *scaled = times(b, x, 4097), *high = sub(b, scaled, sub(b, scaled, x));
  return (halves){high, sub(b, x, high)};
}

/* n - q d, exactly where q is the quotient rounded. */
static tg_value *left_of(tg_build *b, tg_value *n, tg_value *q, tg_value *d) {
  halves x = halves_of(b, q), y = halves_of(b, d);
  tg_value *product = mul(b, q, d), *lost = sub(b, mul(b, x.high, y.high), product);
  lost = add(b, add(b, lost, mul(b, x.high, y.low)), mul(b, x.low, y.high));
  return sub(b, sub(b, n, product), add(b, lost, mul(b, x.low, y.low)));
}

tg_value *tg_exact_quotient(tg_build *b, tg_value *x, tg_value *y) {
  tg_value *q = divided(b, x, y);
  tg_value *step = mul(b, left_of(b, x, q, y), tg_build_unary(b, TG_OP_RECIPROCAL, y)),
           *nearest = add(b, q, step);
  return tg_build_where(b, tg_build_binary(b, TG_OP_EQUAL, nearest, nearest), nearest, q);
}

tg_value *tg_exact_remainder(tg_build *b, tg_value *x, tg_value *y) {
  tg_value *n = tg_build_unary(b, TG_OP_ABS, x), *d = tg_build_unary(b, TG_OP_ABS, y);
  tg_value *q = tg_build_unary(b, TG_OP_FLOOR, tg_exact_quotient(b, n, d)), *left = left_of(b, n, q, d);
  left = tg_build_where(b, with(b, TG_OP_LESS, left, 0), add(b, left, d),
                        left); /* the quotient was rounded up */
  left = tg_build_where(b, with(b, TG_OP_LESS, q, 0x1p24), left, tg_build_number(b, NAN));
  tg_value *smaller = tg_build_binary(b, TG_OP_LESS, n, d);
  left = tg_build_where(b, with(b, TG_OP_LESS, x, 0), tg_build_unary(b, TG_OP_NEG, left), left);
  return tg_build_where(b, smaller, x, left);
}

/* --- sums of products of integers --- */

/* The weight of term `t` in the sums of all columns, added to them: their largest one. */
static double add_term(const tg_terms *terms, int64_t t, double *sums) {
  const tg_value *w = terms->weights;
  double most = 0;
  for (int64_t o = 0; o < terms->outer; o++)
    for (int64_t i = 0; i < terms->inner; i++) {
      int64_t column = o * terms->inner + i, zero = 0;
      double *sum = &sums[column];
      if (terms->zero) {
        bool several = tg_value_elements(terms->zero) > 1;
        zero = tg_load_i64(terms->zero->data, terms->zero->dtype,
                           several ? (size_t)(terms->inner > 1 ? i : o) : 0);
      }
      int64_t at = (o * terms->count + t) * terms->inner + i;
      *sum += fabs((double)(tg_load_i64(w->data, w->dtype, (size_t)at) - zero));
      if (*sum > most) most = *sum;
    }
  return most;
}

static bool is_known(const tg_value *value) { return tg_is_constant(value) && !value->elided; }

/* Of weights of which no more is known than that each is at most `each`: as many steps in each part as in the next. */
static int even_parts(int64_t count, int64_t step, double most, double each, int64_t *out_ends) {
  double sum = (double)step * each * most; /* of one step */
  if (!(sum < 0x1p24)) return 0;
  int64_t part = sum > 0 ? ((int64_t)ceil(0x1p24 / sum) - 1) * step : count;
  int parts = 0;
  for (int64_t end = part; end < count; end += part) {
    if (parts == TG_MOST_PARTS - 1) return 0;
    out_ends[parts++] = end;
  }
  out_ends[parts] = count;
  return parts + 1;
}

int tg_exact_parts(const tg_terms *terms, int64_t step, double most, double each, int64_t *out_ends) {
  const tg_value *w = terms->weights;
  if (!terms->count) return out_ends[0] = 0, 1;
  bool empty = !tg_value_elements(w);
  if (empty || !is_known(w) || (terms->zero && !is_known(terms->zero)))
    return even_parts(terms->count, step, most, empty ? 0 : each, out_ends);
  size_t columns = (size_t)(terms->outer * terms->inner);
  double *sums = calloc(columns, sizeof *sums), sum = 0;
  int64_t begin = 0, t = 0;
  int parts = 0;
  if (!sums) tg_die("out of memory");
  while (t < terms->count && parts < TG_MOST_PARTS) {
    int64_t end = t + step;
    for (int64_t i = t; i < end; i++) sum = add_term(terms, i, sums);
    bool over = !(sum * most < 0x1p24);
    if (over && t == begin) break; /* one step is too much */
    if (over) {
      out_ends[parts++] = begin = t;
      for (size_t c = 0; c < columns; c++) sums[c] = 0;
      sum = 0;
      continue;
    }
    t = end;
  }
  free(sums);
  if (t < terms->count || parts == TG_MOST_PARTS) return 0;
  out_ends[parts] = terms->count;
  return parts + 1;
}

tg_value *tg_exact_sum(tg_build *b, tg_value *const *parts, int count) {
  tg_value *sum = parts[0], *lost = NULL;
  for (int i = 1; i < count; i++) {
    tg_value *next = add(b, sum, parts[i]), *taken = sub(b, next, sum);
    tg_value *error = add(b, sub(b, sum, sub(b, next, taken)), sub(b, parts[i], taken));
    lost = lost ? add(b, lost, error) : error;
    sum = next;
  }
  return lost ? add(b, sum, lost) : sum;
}
