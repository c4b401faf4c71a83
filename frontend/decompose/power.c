/* Pow beyond one finite exponent: whole exponents that are known by products, others by exponential and logarithm. */
#include "frontend/decompose/compose.h"

#include <math.h>

enum { MOST_EXPONENT = 64 };

/* Whole numbers from 0 on; their largest, or -1. */
static int whole_exponents(const tg_value *y) {
  int most = 0;
  int64_t count = tg_is_constant(y) && !y->elided ? tg_value_elements(y) : 0;
  for (int64_t i = 0; i < count; i++) {
    float e = tg_load_f32(y->data, y->dtype, (size_t)i);
    if (!(e >= 0 && e <= MOST_EXPONENT) || floorf(e) != e) return -1;
    if (e > (float)most) most = (int)e;
  }
  return count ? most : -1;
}

/* Which exponents have that bit. */
static tg_value *have_bit(tg_build *b, const tg_value *y, int bit) {
  int64_t sizes[TG_MAX_RANK], count = tg_value_elements(y);
  tg_value_sizes(y, sizes);
  tg_value *has = tg_build_made(b, TG_BOOL, y->rank, sizes);
  if (b->failed) return has;
  for (int64_t i = 0; i < count; i++)
    ((uint8_t *)has->data)[i] = (int)tg_load_f32(y->data, y->dtype, (size_t)i) >> bit & 1;
  return has;
}

static tg_value *by_products(tg_build *b, tg_value *x, const tg_value *y, int most) {
  tg_value *power = x, *product = tg_build_number_like(b, x, 1);
  for (int bit = 0; !bit || most >> bit; bit++) {
    if (bit) power = mul(b, power, power);
    product = tg_build_where(b, have_bit(b, y, bit), mul(b, product, power), product);
  }
  return product;
}

static tg_value *either(tg_build *b, tg_value *x, tg_value *y) { return tg_build_binary(b, TG_OP_OR, x, y); }

static tg_value *is_whole(tg_build *b, tg_value *x) {
  return tg_build_binary(b, TG_OP_EQUAL, x, tg_build_unary(b, TG_OP_FLOOR, x));
}

/* 0 to the power y, its sign aside. */
static tg_value *power_of_zero(tg_build *b, tg_value *y) {
  tg_value *rest = tg_build_where(b, with(b, TG_OP_LESS, y, 0), tg_build_number(b, INFINITY), y); /* NaN */
  rest = tg_build_where(b, with(b, TG_OP_EQUAL, y, 0), tg_build_number(b, 1), rest);
  return tg_build_where(b, with(b, TG_OP_GREATER, y, 0), tg_build_number(b, 0), rest);
}

/* exp(y log |x|) with the sign and the special values of C's pow, put where the exponential has none: elsewhere they
 * would stop the gradient. That of a base of 0 is 1 where y = 1, else 0: the logarithm has none there. */
static tg_value *by_logarithm(tg_build *b, tg_value *x, tg_value *y) {
  tg_value *one = tg_build_number(b, 1), *zero = with(b, TG_OP_EQUAL, x, 0);
  tg_value *size = tg_build_where(b, zero, one, tg_build_unary(b, TG_OP_ABS, x));
  tg_value *exponent = mul(b, y, tg_build_unary(b, TG_OP_LOG, size)),
           *e = tg_build_unary(b, TG_OP_EXP, exponent);
  tg_value *undecided = not(b, tg_build_binary(b, TG_OP_EQUAL, exponent, exponent)); /* infinity times 0 */
  tg_value *unit = both(b, with(b, TG_OP_EQUAL, size, 1), tg_build_binary(b, TG_OP_EQUAL, y, y));
  e = tg_build_where(b, both(b, unit, undecided), one, e);
  e = tg_build_where(b, zero, power_of_zero(b, y), e);
  tg_value *below = with(b, TG_OP_LESS, tg_build_unary(b, TG_OP_RECIPROCAL, x), 0); /* -0, too */
  tg_value *negative = either(b, with(b, TG_OP_LESS, x, 0), both(b, zero, below));
  tg_value *whole = is_whole(b, y), *odd = both(b, whole, not(b, is_whole(b, times(b, y, 0.5))));
  e = tg_build_where(b, both(b, negative, odd), tg_build_unary(b, TG_OP_NEG, e), e);
  tg_value *none =
      both(b, both(b, with(b, TG_OP_LESS, x, 0), with(b, TG_OP_GREATER, x, -INFINITY)), not(b, whole));
  e = tg_build_where(b, none, tg_build_number(b, NAN), e);
  tg_value *is_one = either(b, with(b, TG_OP_EQUAL, x, 1), with(b, TG_OP_EQUAL, y, 0));
  e = tg_build_where(b, both(b, is_one, undecided), one, e);
  return tg_build_where(b, both(b, zero, with(b, TG_OP_EQUAL, y, 1)), x, e);
}

tg_status tg_make_power(tg_build *b, tg_node *node, tg_value **results, tg_diag *diag) {
  tg_value *x = tg_in(node, 0), *y = tg_in(node, 1);
  bool whole = tg_dtype_is_integer(x->dtype);
  int most = whole_exponents(y);
  if ((!whole && !tg_dtype_is_float(x->dtype)) || y->dtype == TG_BOOL)
    return tg_fail(diag, TG_INVALID, "element types %s and %s are not supported", tg_dtype_name(x->dtype),
                   tg_dtype_name(y->dtype));
  if (whole && most < 0)
    return tg_fail(diag, TG_INVALID, "exponents of integers must be constant, whole and from 0 to %d",
                   MOST_EXPONENT);
  tg_value *wide = whole ? x : f32(b, x);
  results[0] = tg_build_cast(b, most >= 0 ? by_products(b, wide, y, most) : by_logarithm(b, wide, f32(b, y)),
                             x->dtype);
  return TG_OK;
}
