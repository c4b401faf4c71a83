/* Quotients, roots and the logarithm: the exponent apart from the significand, which the ALU separates also
 * for subnormals. Infinities, zeros and NaN take their way through the exponents: that of 0 is -infinity, and
 * scale turns what comes of it into 0, infinity or NaN. */
#include "mapper/microcode/functions_internal.h"

#include <math.h>

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

/* The seed y of 1/n and e = n y - 1: m/n is m y (1 - e + e^2). The product m y, of which y has ten bits, is
 * rounded once, with all that is added to it. The constant beside -e is minimax for the errors of the seed:
 * 2^-28. */
tg_mc_ref tg_mc_divide(tg_mc *mc, tg_mc_ref a, tg_mc_ref b, tg_mc_accuracy accuracy) {
  tg_mc_ref m = ALU1(mantissa, a), n = ALU1(mantissa, b);
  tg_mc_ref k = ALU2(sub, ALU1(exponent, a), ALU1(exponent, b));
  tg_mc_ref y = ALU1(rcpseed, n), e = ALU3(fma, n, y, CONST(-1.0f)), q = ALU2(mul, m, y);
  if (accuracy == TG_MC_NARROW) return ALU2(scale, ALU2(mul, q, ALU2(sub, CONST(1.0f), e)), k);
  tg_mc_ref more = ALU2(mul, e, ALU2(sub, e, CONST(0x1.000044p+0f)));
  return ALU2(scale, ALU3(fma, m, y, ALU2(mul, q, more)), k);
}

/* The reciprocal as a sum of two numbers of one sign, so that an infinity times both is one. The sum's relative error
 * is below 2^-47, so a product that is rounded once is the nearest number but where two are about as near. Where the
 * smaller product is rounded to a subnormal, too, the result is within 1 ulp. */
tg_mc_ref tg_mc_divide_by(tg_mc *mc, tg_mc_ref a, float divisor, tg_mc_accuracy accuracy) {
  double inverse = 1 / (double)divisor;
  float nearest = (float)inverse, high = nearest;
  if (isfinite(nearest) && nearest != 0 && nearest == inverse) return ALU2(mul, a, CONST(nearest));
  if (!(fabsf(divisor) >= 0x1p-100f && fabsf(divisor) <= 0x1p+100f))
    return tg_mc_divide(mc, a, CONST(divisor), accuracy);
  if (accuracy == TG_MC_NARROW) return ALU2(mul, a, CONST(nearest));
  if (fabs((double)high) > fabs(inverse)) high = nextafterf(high, 0);
  return ALU3(fma, a, CONST(high), ALU2(mul, a, CONST((float)(inverse - high))));
}

/* What square root and reciprocal root share: t = x 2^h and m = x 4^h in [1, 4), so sqrt x = t / sqrt m and
 * 1/sqrt x = 2^h / sqrt m; the seed y of 1/sqrt m and n = m y^2 - 1. The square of y's ten bits is exact. */
typedef struct root {
  tg_mc_ref h, t, y, n;
} root;

/* `low` and `high` bound the seed, unless they are TG_MC_NONE. */
static root root_of(tg_mc *mc, tg_mc_ref x, tg_mc_ref low, tg_mc_ref high) {
  root r = {.h = ALU2(mul, ALU1(exponent, x), CONST(-0.5f))}; /* scale takes the floor of it */
  r.t = ALU2(scale, x, r.h);
  tg_mc_ref m = ALU2(scale, r.t, r.h);
  r.y = ALU1(rsqseed, m);
  if (low != TG_MC_NONE) r.y = ALU3(clamp, r.y, low, high);
  r.n = ALU3(fma, ALU2(mul, r.y, r.y), m, CONST(-1.0f));
  return r;
}

/* (1 + n)^(-1/2) - 1, minimax for the errors of the seed: 2^-26.7. */
static tg_mc_ref root_series(tg_mc *mc, tg_mc_ref n) {
  return ALU2(mul, ALU3(fma, n, CONST(0x1.8006b4p-2f), CONST(-0x1.0000b8p-1f)), n);
}

/* The seed has the right answer wherever the rest gives NaN. */
tg_mc_ref tg_mc_rsqrt(tg_mc *mc, tg_mc_ref x, tg_mc_accuracy accuracy) {
  root r = root_of(mc, x, TG_MC_NONE, TG_MC_NONE);
  tg_mc_ref g = accuracy == TG_MC_SINGLE ? root_series(mc, r.n) : ALU2(mul, r.n, CONST(-0.5f));
  tg_mc_ref y = ALU2(scale, ALU3(fma, r.y, g, r.y), r.h);
  return ALU3(select, ALU2(cmpeq, y, y), y, r.y);
}

/* With a bounded seed zero and infinity, of which the series is positive too, go through all of it. */
tg_mc_ref tg_mc_sqrt(tg_mc *mc, tg_mc_ref x, tg_mc_accuracy accuracy) {
  root r = root_of(mc, x, CONST(0x1p-32f), CONST(0x1p32f));
  tg_mc_ref s = ALU2(mul, r.t, r.y), g = root_series(mc, r.n);
  if (accuracy == TG_MC_NARROW) return ALU3(fma, s, g, s);
  return ALU3(fma, r.t, r.y, ALU2(mul, s, g));
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
