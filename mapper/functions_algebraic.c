/* Quotients, roots and the logarithm: the exponent apart from the significand, which the ALU separates also
 * for subnormals. Infinities, zeros and NaN take their way through the exponents: that of 0 is -infinity, and
 * scale turns what comes of it into 0, infinity or NaN. */
#include "mapper/functions_internal.h"

/* 1 + f + f^2 times the seed y, f = 1 - m y; the error of the seed cubed is 2^-26. */
static tg_mc_ref refine(tg_mc *mc, tg_mc_ref minus_m, tg_mc_ref y, tg_mc_accuracy accuracy) {
  tg_mc_ref f = ALU3(fma, minus_m, y, CONST(1.0f));
  if (accuracy == TG_MC_SINGLE) f = ALU3(fma, f, f, f);
  return ALU3(fma, y, f, y);
}

tg_mc_ref tg_mc_reciprocal_normal(tg_mc *mc, tg_mc_ref x) {
  return refine(mc, ALU2(xor, x, SIGN), ALU1(rcpseed, x), TG_MC_SINGLE);
}

tg_mc_ref tg_mc_reciprocal(tg_mc *mc, tg_mc_ref x, tg_mc_accuracy accuracy) {
  tg_mc_ref m = ALU1(mantissa, x), k = ALU2(sub, CONST(0.0f), ALU1(exponent, x));
  return ALU2(scale, refine(mc, ALU2(xor, m, SIGN), ALU1(rcpseed, m), accuracy), k);
}

/* The quotient of the significands by reciprocal, for single precision with its remainder. */
tg_mc_ref tg_mc_divide(tg_mc *mc, tg_mc_ref a, tg_mc_ref b, tg_mc_accuracy accuracy) {
  tg_mc_ref m = ALU1(mantissa, a), n = ALU2(xor, ALU1(mantissa, b), SIGN);
  tg_mc_ref k = ALU2(sub, ALU1(exponent, a), ALU1(exponent, b));
  tg_mc_ref y = refine(mc, n, ALU2(xor, ALU1(rcpseed, n), SIGN), accuracy), q = ALU2(mul, m, y);
  if (accuracy == TG_MC_SINGLE) q = ALU3(fma, ALU3(fma, n, q, m), y, q);
  return ALU2(scale, q, k);
}

/* What square root and reciprocal root share: x = m 4^h, m in [1/2, 4), y the seed of 1/sqrt m with f = 1 - m
 * y^2, and g with 1/sqrt m = y + y g. The square of the seed's ten bits is exact. */
typedef struct root {
  tg_mc_ref h, minus_h, m, y, g;
} root;

static root root_of(tg_mc *mc, tg_mc_ref x, tg_mc_accuracy accuracy) {
  root r;
  tg_mc_ref magic = CONST(0x1.8p23f), sum = ALU3(fma, ALU1(exponent, x), CONST(0.5f), magic);
  r.h = ALU2(sub, sum, magic);
  r.minus_h = ALU2(sub, magic, sum);
  r.m = ALU2(scale, x, ALU2(add, r.minus_h, r.minus_h));
  r.y = ALU1(rsqseed, r.m);
  tg_mc_ref f = ALU3(fma, ALU2(xor, ALU2(mul, r.y, r.y), SIGN), r.m, CONST(1.0f));
  if (accuracy == TG_MC_NARROW) {
    r.g = ALU2(mul, f, CONST(0.5f));
    return r;
  }
  tg_mc_ref p = ALU3(fma, f, CONST(0.3125f), CONST(0.375f)); /* (1 - f)^(-1/2) */
  r.g = ALU2(mul, ALU3(fma, p, f, CONST(0.5f)), f);
  return r;
}

/* The seed has the right answer wherever the way above gives NaN. */
tg_mc_ref tg_mc_rsqrt(tg_mc *mc, tg_mc_ref x, tg_mc_accuracy accuracy) {
  root r = root_of(mc, x, accuracy);
  tg_mc_ref y = ALU2(scale, ALU3(fma, r.y, r.g, r.y), r.minus_h);
  return ALU3(select, ALU2(cmpeq, y, y), y, ALU1(rsqseed, x));
}

tg_mc_ref tg_mc_sqrt(tg_mc *mc, tg_mc_ref x, tg_mc_accuracy accuracy) {
  root r = root_of(mc, x, accuracy);
  tg_mc_ref s = ALU2(mul, r.m, r.y), y = ALU3(fma, s, r.g, s);
  if (accuracy == TG_MC_SINGLE) {
    tg_mc_ref half = ALU2(mul, r.y, CONST(0.5f));
    y = ALU3(fma, ALU3(fma, ALU2(xor, y, SIGN), y, r.m), half, y);
  }
  y = ALU2(scale, y, r.h);
  tg_mc_ref special = ALU3(select, ALU2(cmplt, x, CONST(0.0f)), BITS(0x7fc00000u), x);
  return ALU3(select, ALU2(cmpeq, y, y), y, special);
}

/* k ln2 + f + f^2 p(f), ln2 in two parts, both positive, so that an infinite k stays. */
tg_mc_ref tg_mc_log_of_parts(tg_mc *mc, tg_mc_ref k, tg_mc_ref f, tg_mc_accuracy accuracy) {
  static const float series[] = {-4.999998835e-01f, 3.333332570e-01f,  -2.500158289e-01f,
                                 2.000197389e-01f,  -1.660908363e-01f, 1.418182452e-01f,
                                 -1.324297968e-01f, 1.290444247e-01f,  -7.621813048e-02f}; /* 2^-28 of log */
  static const float narrow[] = {-4.995359691e-01f, 3.357073160e-01f, -2.699139110e-01f, 1.784049859e-01f};
  tg_mc_ref p = accuracy == TG_MC_SINGLE ? POLYNOMIAL(f, series) : POLYNOMIAL(f, narrow);
  tg_mc_ref y = ALU3(fma, ALU2(mul, f, f), p, ALU2(mul, k, CONST(0x1.7f7d1cp-20f)));
  return ALU3(fma, k, CONST(0x1.62e4p-1f), ALU2(add, f, y));
}

/* x = 2^k (1 + f) */
tg_mc_ref tg_mc_log(tg_mc *mc, tg_mc_ref x, tg_mc_accuracy accuracy) {
  tg_mc_ref m = ALU1(mantissa, x), above = ALU2(cmplt, CONST(0x1.6a09e6p+0f), m);
  m = ALU2(mul, m, ALU3(select, above, CONST(0.5f), CONST(1.0f)));
  tg_mc_ref k = ALU2(add, ALU1(exponent, x), ALU2(and, above, CONST(1.0f)));
  tg_mc_ref y = tg_mc_log_of_parts(mc, k, ALU2(sub, m, CONST(1.0f)), accuracy);
  return ALU3(select, ALU2(cmplt, x, CONST(0.0f)), BITS(0x7fc00000u), y);
}
