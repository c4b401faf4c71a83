/* Trigonometric functions and their inverses as polynomials of FP32 steps. The polynomials are those of Cephes (Moshier, netlib,
 * single precision); measured bounds: docs/numerics.md. Their gradients are those of these steps, so that what a Where
 * leaves out must have finite slopes: zero times infinity is NaN. */
#include "frontend/decompose/compose.h"

#include <math.h>

static const double HALF_PI = 1.57079632679489661923, LOG_2 = 0.69314718055994530942;

/* c[0] z^(n-1) + .. + c[n-1]. */
static tg_value *polynomial(tg_build *b, tg_value *z, const double *c, int n) {
  tg_value *y = plus(b, times(b, z, c[0]), c[1]);
  for (int i = 2; i < n; i++) y = plus(b, mul(b, y, z), c[i]);
  return y;
}

/* x + x z polynomial(z): odd functions near 0. */
static tg_value *odd(tg_build *b, tg_value *x, tg_value *z, const double *c, int n) {
  return add(b, mul(b, mul(b, polynomial(b, z, c, n), z), x), x);
}

static tg_status check(const tg_node *node, tg_diag *diag) {
  const tg_value *x = tg_in(node, 0);
  if (tg_dtype_is_float(x->dtype)) return TG_OK;
  return tg_fail(diag, TG_INVALID, "element type %s is not supported here", tg_dtype_name(x->dtype));
}

/* x itself where it is a zero, of either sign. */
static tg_value *keep_zero(tg_build *b, tg_value *x, tg_value *y) {
  return tg_build_where(b, with(b, TG_OP_EQUAL, x, 0), x, y);
}

/* y with the sign of x. */
static tg_value *signed_as(tg_build *b, tg_value *x, tg_value *y) {
  y = tg_build_where(b, with(b, TG_OP_LESS, x, 0), tg_build_unary(b, TG_OP_NEG, y), y);
  return keep_zero(b, x, y);
}

/* x = n pi/2 + r, |r| <= pi/4; out_n: n, but for a multiple of 4. n is 4096 high + low, integers of 12 bits, and pi/2 five
 * numbers of which the first four end at 2^-11, 2^-23, 2^-35 and 2^-47: products of both are exact, and so is each difference
 * while bits cancel, up to |x| = 2^24. Beyond r is NaN. */
static tg_value *reduced(tg_build *b, tg_value *x, tg_value **out_n) {
  static const double parts[] = {0x1.922p+0, -0x1.28p-18, -0x1.778p-25, 0x1.69p-39, -0x1.ee59dap-50};
  tg_value *high = tg_build_unary(b, TG_OP_ROUND, times(b, x, 1 / HALF_PI / 4096));
  tg_value *turns = times(b, high, 4096), *third = times(b, turns, parts[2]);
  tg_value *r = sub(b, sub(b, x, times(b, turns, parts[0])), times(b, turns, parts[1]));
  tg_value *low = tg_build_unary(b, TG_OP_ROUND, times(b, sub(b, r, third), 1 / HALF_PI));
  r = sub(b, sub(b, r, times(b, low, parts[0])), times(b, low, parts[1]));
  r = sub(b, r, third);
  r = sub(b, r, add(b, times(b, low, parts[2]), times(b, turns, parts[3])));
  r = sub(b, r, add(b, times(b, low, parts[3]), times(b, add(b, turns, low), parts[4])));
  tg_value *near = with(b, TG_OP_LESS_OR_EQUAL, tg_build_unary(b, TG_OP_ABS, x), 0x1p24);
  *out_n = low;
  return tg_build_where(b, near, r, tg_build_number(b, NAN));
}

tg_status tg_make_sine(tg_build *b, tg_node *node, tg_value **results, tg_diag *diag) {
  static const double s[] = {-1.9515295891e-4, 8.3321608736e-3, -1.6666654611e-1},
                      c[] = {2.443315711809948e-5, -1.388731625493765e-3, 4.166664568298827e-2};
  if (check(node, diag)) return TG_INVALID;
  tg_value *x = f32(b, tg_in(node, 0)), *n, *r = reduced(b, x, &n), *z = mul(b, r, r);
  tg_value *sine = odd(b, r, z, s, 3);
  tg_value *cosine = add(b, plus(b, times(b, z, -0.5), 1), mul(b, mul(b, z, z), polynomial(b, z, c, 3)));
  if (node->op == TG_OP_COS) n = plus(b, n, 1);
  tg_value *half = times(b, n, 0.5), *whole = tg_build_unary(b, TG_OP_FLOOR, half);
  tg_value *is_odd = tg_build_binary(b, TG_OP_LESS, whole, half);
  tg_value *y;
  if (node->op == TG_OP_TAN) {
    y = divided(b, tg_build_where(b, is_odd, tg_build_unary(b, TG_OP_NEG, cosine), sine),
                tg_build_where(b, is_odd, sine, cosine));
  } else {
    tg_value *quarter = times(b, whole, 0.5);
    tg_value *negative = tg_build_binary(b, TG_OP_LESS, tg_build_unary(b, TG_OP_FLOOR, quarter), quarter);
    y = tg_build_where(b, is_odd, cosine, sine);
    y = tg_build_where(b, negative, tg_build_unary(b, TG_OP_NEG, y), y);
  }
  if (node->op != TG_OP_COS) y = keep_zero(b, x, y);
  results[0] = tg_build_cast(b, y, tg_in(node, 0)->dtype);
  return TG_OK;
}

static tg_value *arc_tangent(tg_build *b, tg_value *x) {
  static const double c[] = {8.05374449538e-2, -1.38776856032e-1, 1.99777106478e-1, -3.33329491539e-1};
  tg_value *a = tg_build_unary(b, TG_OP_ABS, x), *zero = tg_build_number(b, 0);
  tg_value *far = with(b, TG_OP_GREATER, a, 2.414213562373095),
           *middle = with(b, TG_OP_GREATER, a, 0.4142135623730950);
  tg_value *above = tg_build_where(b, middle, plus(b, a, -1), a),
           *below = tg_build_where(b, middle, plus(b, a, 1), tg_build_number(b, 1));
  above = tg_build_where(b, far, tg_build_number(b, -1), above);
  tg_value *t = divided(b, above, tg_build_where(b, far, a, below));
  tg_value *base = tg_build_where(b, middle, tg_build_number(b, HALF_PI / 2), zero);
  base = tg_build_where(b, far, tg_build_number(b, HALF_PI), base);
  return signed_as(b, x, add(b, base, odd(b, t, mul(b, t, t), c, 4)));
}

/* arcsin, or arccos: of a number beyond 1/2 by that of the root of half its distance from 1. */
static tg_value *arc_sine(tg_build *b, tg_value *x, bool cosine) {
  static const double c[] = {4.2163199048e-2, 2.4181311049e-2, 4.5470025998e-2, 7.4953002686e-2,
                             1.6666752422e-1};
  tg_value *a = tg_build_unary(b, TG_OP_ABS, x), *far = with(b, TG_OP_GREATER, a, 0.5);
  tg_value *z = tg_build_where(b, far, times(b, tg_build_from(b, TG_OP_SUB, 1, a), 0.5), mul(b, a, a));
  tg_value *root = tg_build_unary(b, TG_OP_SQRT, tg_build_where(b, far, z, tg_build_number(b, 1)));
  tg_value *s = tg_build_where(b, far, root, x);
  tg_value *p = odd(b, s, z, c, 5), *twice = times(b, p, 2);
  if (!cosine) return tg_build_where(b, far, signed_as(b, x, tg_build_from(b, TG_OP_SUB, HALF_PI, twice)), p);
  tg_value *negative = with(b, TG_OP_LESS, x, 0);
  tg_value *beyond = tg_build_where(b, negative, tg_build_from(b, TG_OP_SUB, 2 * HALF_PI, twice), twice);
  return tg_build_where(b, far, beyond, tg_build_from(b, TG_OP_SUB, HALF_PI, p));
}

tg_status tg_make_arc(tg_build *b, tg_node *node, tg_value **results, tg_diag *diag) {
  if (check(node, diag)) return TG_INVALID;
  tg_value *x = f32(b, tg_in(node, 0));
  tg_value *y = node->op == TG_OP_ATAN ? arc_tangent(b, x) : arc_sine(b, x, node->op == TG_OP_ACOS);
  results[0] = tg_build_cast(b, y, tg_in(node, 0)->dtype);
  return TG_OK;
}

/* exp |x| / 2 as a product of roots, which overflows only where sinh and cosh do. */
tg_status tg_make_hyperbolic(tg_build *b, tg_node *node, tg_value **results, tg_diag *diag) {
  static const double c[] = {2.03721912945e-4, 8.33028376239e-3, 1.66667160211e-1};
  if (check(node, diag)) return TG_INVALID;
  tg_value *x = f32(b, tg_in(node, 0)), *a = tg_build_unary(b, TG_OP_ABS, x);
  tg_value *root = tg_build_unary(b, TG_OP_EXP, times(b, a, 0.5)), *up = mul(b, times(b, root, 0.5), root);
  tg_value *down = tg_build_from(b, TG_OP_DIV, 0.25, up), *y;
  if (node->op == TG_OP_COSH)
    y = add(b, up, down);
  else
    y = tg_build_where(b, with(b, TG_OP_LESS, a, 1), odd(b, x, mul(b, x, x), c, 3),
                       signed_as(b, x, sub(b, up, down)));
  results[0] = tg_build_cast(b, y, tg_in(node, 0)->dtype);
  return TG_OK;
}

/* log(a + root), and of large numbers log(a) + log(2), which a^2 does not overflow. */
static tg_value *logarithm(tg_build *b, tg_value *a, tg_value *root) {
  tg_value *large = plus(b, tg_build_unary(b, TG_OP_LOG, a), LOG_2);
  return tg_build_where(b, with(b, TG_OP_GREATER, a, 1500), large,
                        tg_build_unary(b, TG_OP_LOG, add(b, a, root)));
}

tg_status tg_make_area(tg_build *b, tg_node *node, tg_value **results, tg_diag *diag) {
  static const double sine[] = {2.0122003309e-2, -4.2699340972e-2, 7.4847586088e-2, -1.6666288134e-1},
                      cosine[] = {1.7596881071e-3, -7.5272886713e-3, 2.6454905019e-2, -1.1784741703e-1,
                                  1.4142135263},
                      tangent[] = {1.81740078349e-1, 8.24370301058e-2, 1.46691431730e-1, 1.99782164500e-1,
                                   3.33337300303e-1};
  if (check(node, diag)) return TG_INVALID;
  tg_value *x = f32(b, tg_in(node, 0)), *a = tg_build_unary(b, TG_OP_ABS, x), *z, *y;
  if (node->op == TG_OP_ACOSH) {
    z = plus(b, x, -1);
    tg_value *beyond = with(b, TG_OP_MAX, z, 0.25), *within = with(b, TG_OP_MIN, z, 1);
    tg_value *root = tg_build_unary(b, TG_OP_SQRT, mul(b, beyond, plus(b, x, 1)));
    tg_value *near = mul(b, tg_build_unary(b, TG_OP_SQRT, within), polynomial(b, within, cosine, 5));
    y = tg_build_where(b, with(b, TG_OP_LESS, z, 0.5), near, logarithm(b, x, root));
  } else {
    bool is_sine = node->op == TG_OP_ASINH;
    z = mul(b, x, x);
    tg_value *is_near = with(b, TG_OP_LESS, a, 0.5);
    tg_value *u = tg_build_where(b, is_near, x, tg_build_number(b, 0));
    tg_value *near = odd(b, u, mul(b, u, u), is_sine ? sine : tangent, is_sine ? 4 : 5), *far;
    if (is_sine)
      far = logarithm(b, with(b, TG_OP_MAX, a, 0.25), tg_build_unary(b, TG_OP_SQRT, plus(b, z, 1)));
    else
      far = times(
          b, tg_build_unary(b, TG_OP_LOG, divided(b, plus(b, a, 1), tg_build_from(b, TG_OP_SUB, 1, a))), 0.5);
    y = tg_build_where(b, is_near, keep_zero(b, x, near), signed_as(b, x, far));
  }
  results[0] = tg_build_cast(b, y, tg_in(node, 0)->dtype);
  return TG_OK;
}
