/* Rounding to narrow floats with operators of the array: each step is exact but for the one Round. */
#include "frontend/decompose/narrow.h"

#include <math.h>
#include <string.h>

/* The power of two at or below x, of 2^low to 2^(high + 1), and 1 / it. NaN counts as 2^low. */
typedef struct power {
  tg_value *up, *down;
} power;

static power power_below(tg_build *b, tg_value *x, int low, int high) {
  power p = {tg_build_number(b, ldexp(1, low)), tg_build_number(b, ldexp(1, -low))};
  enum { MOST = 64 }; /* so that FP32 holds each factor */
  for (int left = high + 1 - low, step; left > 0; left -= step) {
    step = (left + 1) / 2 < MOST ? (left + 1) / 2 : MOST;
    tg_value *more = mul(b, p.up, tg_build_number(b, ldexp(1, step)));
    tg_value *has = tg_build_binary(b, TG_OP_GREATER_OR_EQUAL, x, more);
    p.up = tg_build_where(b, has, more, p.up);
    p.down = tg_build_where(b, has, times(b, p.down, ldexp(1, -step)), p.down);
  }
  return p;
}

/* f8e8m0: powers of two. Below 2^-126 FP32 has fewer bits than the factors here need: such numbers count as 2^-127, or
 * 2^-126 where they are rounded up to it. */
static tg_value *powers(tg_build *b, tg_value *x, bool saturate, tg_round_mode mode) {
  const double least = 0x1p-127, normal = 0x1p-126;
  tg_value *a = tg_build_unary(b, TG_OP_ABS, x), *p = power_below(b, a, -126, 126).up;
  double half = mode == TG_ROUND_NEAREST ? 1.5 : 1;
  if (mode != TG_ROUND_DOWN) {
    tg_op above = mode == TG_ROUND_UP ? TG_OP_GREATER : TG_OP_GREATER_OR_EQUAL;
    tg_value *more = tg_build_binary(b, above, a, times(b, p, half));
    if (saturate) more = both(b, more, with(b, TG_OP_LESS, p, 0x1p127));
    p = tg_build_where(b, more, times(b, p, 2), p);
  }
  tg_value *few = tg_build_number(b, least);
  if (mode != TG_ROUND_DOWN)
    few = tg_build_where(
        b, with(b, mode == TG_ROUND_UP ? TG_OP_GREATER : TG_OP_GREATER_OR_EQUAL, a, least * half),
        tg_build_number(b, normal), few);
  p = tg_build_where(b, with(b, TG_OP_LESS, a, normal), few, p);
  return tg_build_where(b, with(b, TG_OP_LESS, a, INFINITY), p, tg_build_number(b, NAN));
}

static tg_value *rounded(tg_build *b, tg_value *x, const tg_narrow *f, bool saturate) {
  tg_value *a = with(b, TG_OP_MIN, tg_build_unary(b, TG_OP_ABS, x), ldexp(1, f->high + 1));
  power p = power_below(b, a, f->low, f->high);
  tg_value *steps = tg_build_unary(b, TG_OP_ROUND, mul(b, a, times(b, p.down, ldexp(1, f->fraction))));
  tg_value *y = mul(b, steps, times(b, p.up, ldexp(1, -f->fraction)));
  if (saturate || !f->has_nan)
    y = with(b, TG_OP_MIN, y, (double)f->most);
  else
    y = tg_build_where(b, with(b, TG_OP_GREATER, y, (double)f->most),
                       tg_build_number(b, f->has_infinity ? INFINITY : NAN), y);
  if (!f->has_nan) y = tg_build_where(b, tg_build_binary(b, TG_OP_EQUAL, x, x), y, tg_build_number(b, -0.0));
  y = tg_build_where(b, with(b, TG_OP_LESS, x, 0), tg_build_unary(b, TG_OP_NEG, y), y);
  return tg_build_where(b, with(b, TG_OP_EQUAL, x, 0), x, y); /* a zero keeps its sign */
}

tg_value *tg_converted(tg_build *b, tg_value *x, tg_dtype dtype, bool saturate, tg_round_mode mode) {
  if (x->dtype == dtype) return x;
  if (tg_dtype_is_narrow(x->dtype)) x = f32(b, x);
  if (!tg_dtype_is_narrow(dtype)) return tg_build_cast(b, x, dtype);
  const tg_narrow *f = tg_narrow_get(tg_dtype_narrow(dtype));
  x = f32(b, x);
  return tg_build_cast(b, dtype == TG_F8E8M0 ? powers(b, x, saturate, mode) : rounded(b, x, f, saturate),
                       dtype);
}

static tg_status converted(tg_build *b, const tg_node *node, tg_dtype dtype, tg_value **results,
                           tg_diag *diag) {
  static const char *const names[] = {"up", "down", "nearest"};
  const char *text = tg_attr_text(node, TG_ATTR_ROUND_MODE);
  int mode = 0;
  while (*text && mode < 3 && strcmp(text, names[mode])) mode++;
  if (mode == 3) return tg_fail(diag, TG_INVALID, "round_mode \"%s\" is not known", text);
  results[0] =
      tg_converted(b, tg_in(node, 0), dtype, tg_attr_int(node, TG_ATTR_SATURATE) != 0, (tg_round_mode)mode);
  if (results[0] == tg_in(node, 0)) results[0] = tg_build_unary(b, TG_OP_IDENTITY, results[0]);
  return TG_OK;
}

tg_status tg_make_cast(tg_build *b, tg_node *node, tg_value **results, tg_diag *diag) {
  return converted(b, node, (tg_dtype)tg_attr_int(node, TG_ATTR_TO), results, diag);
}

tg_status tg_make_cast_like(tg_build *b, tg_node *node, tg_value **results, tg_diag *diag) {
  return converted(b, node, tg_in(node, 1)->dtype, results, diag);
}
