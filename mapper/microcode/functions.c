/* exp and what is made of it. Coefficients are minimax on the interval that their comment names. */
#include "mapper/microcode/functions_internal.h"

/* A sum with it is a multiple of 1/32; the multiple is in its low bits. */
static const float thirty_seconds = 0x1.8p18f;

/* 2^(j/32) to nearest: the table of the ALU for all functions. */
static const float powers[32] = {
    0x1.000000p+0f, 0x1.059b0ep+0f, 0x1.0b5586p+0f, 0x1.11301ep+0f, 0x1.172b84p+0f, 0x1.1d4874p+0f,
    0x1.2387a6p+0f, 0x1.29e9e0p+0f, 0x1.306fe0p+0f, 0x1.371a74p+0f, 0x1.3dea64p+0f, 0x1.44e086p+0f,
    0x1.4bfdaep+0f, 0x1.5342b6p+0f, 0x1.5ab07ep+0f, 0x1.6247ecp+0f, 0x1.6a09e6p+0f, 0x1.71f75ep+0f,
    0x1.7a1148p+0f, 0x1.82589ap+0f, 0x1.8ace54p+0f, 0x1.93737cp+0f, 0x1.9c4918p+0f, 0x1.a5503cp+0f,
    0x1.ae89fap+0f, 0x1.b7f770p+0f, 0x1.c199bep+0f, 0x1.cb720ep+0f, 0x1.d5818ep+0f, 0x1.dfc974p+0f,
    0x1.ea4afap+0f, 0x1.f50766p+0f};

const float *tg_mc_exp_table(void) { return powers; }

tg_mc_ref tg_mc_polynomial(tg_mc *mc, tg_mc_ref x, const float *coefficients, int count) {
  tg_mc_ref p = CONST(coefficients[count - 1]);
  for (int i = count - 2; i >= 0; i--) p = ALU3(fma, p, x, CONST(coefficients[i]));
  return p;
}

/* Coefficients of (e^r - 1)/r on +-ln2/64: one leaves 2^-14, two 2^-24.2, three 2^-33. */
static const float expm1_over_r[3][3] = {
    {1.0f}, {1.000014671f, 0.5000048923f}, {1.0f, 0.5000040533f, 0.1666680599f}};
enum { ONE_TERM = 1, TWO_TERMS, THREE_TERMS };

static int terms_for(tg_mc_accuracy accuracy) { return accuracy == TG_MC_SINGLE ? TWO_TERMS : ONE_TERM; }

/* e^r - 1 on +-ln2/64. */
static tg_mc_ref expm1_small(tg_mc *mc, tg_mc_ref r, int terms) {
  return terms == 1 ? r : ALU2(mul, tg_mc_polynomial(mc, r, expm1_over_r[terms - 1], terms), r);
}

tg_mc_parts tg_mc_exp_parts(tg_mc *mc, tg_mc_ref x, int terms) {
  tg_mc_ref sum = ALU3(fma, x, CONST(0x1.715476p+0f), CONST(thirty_seconds));
  tg_mc_ref k = ALU2(sub, sum, CONST(thirty_seconds)), r;
  if (terms > 1)
    r = ALU3(fma, k, CONST(-0x1.217f7ep-12f), ALU3(fma, k, CONST(-0x1.62cp-1f), x));
  else
    r = ALU3(fma, k, CONST(-0x1.62e430p-1f), x);
  return (tg_mc_parts){k, tg_mc_lookup(mc, powers, sum), expm1_small(mc, r, terms)};
}

static tg_mc_ref joined(tg_mc *mc, tg_mc_parts e) {
  return ALU2(scale, ALU3(fma, e.power, e.more, e.power), e.k);
}

static tg_mc_ref exp_clamped(tg_mc *mc, tg_mc_ref x, int terms) {
  return joined(mc, tg_mc_exp_parts(mc, x, terms));
}

/* Beyond the clamps the result is +0 or infinity. */
tg_mc_ref tg_mc_exp(tg_mc *mc, tg_mc_ref x, tg_mc_accuracy accuracy) {
  return exp_clamped(mc, ALU3(clamp, x, CONST(-104.0f), CONST(89.0f)), terms_for(accuracy));
}

tg_mc_ref tg_mc_exp_below_one(tg_mc *mc, tg_mc_ref x, tg_mc_accuracy accuracy) {
  return exp_clamped(mc, ALU2(max, x, CONST(-104.0f)), terms_for(accuracy));
}

/* 1/(1 + e) - 1 for e in [0, 1], within 2^-26: of a seed so short that y + y e - 1 is exact but for its last
 * rounding, and two powers of that; the constant has what the third one adds, as far as a constant can. */
static tg_mc_ref less_over_one_plus(tg_mc *mc, tg_mc_ref e) {
  tg_mc_ref y = ALU1(rcpseed, ALU2(add, e, CONST(1.0f))), less = ALU2(sub, y, CONST(1.0f));
  tg_mc_ref error = ALU3(fma, y, e, less);
  tg_mc_ref f = ALU2(mul, error, ALU2(sub, error, CONST(1.000005f)));
  return ALU3(fma, y, f, less);
}

/* The same quotient of one step: n/(1 + e). */
static tg_mc_ref narrow_over_one_plus(tg_mc *mc, tg_mc_ref n, tg_mc_ref e) {
  tg_mc_ref minus_y = ALU1(rcpseed, ALU2(sub, CONST(-1.0f), e));
  tg_mc_ref error = ALU3(fma, minus_y, e, ALU2(add, minus_y, CONST(1.0f)));
  tg_mc_ref q = ALU2(mul, n, ALU2(xor, minus_y, SIGN));
  return ALU3(fma, q, error, q);
}

/* With e = exp(-|x|) and h = 1/(1+e) - 1: 1 + h for x >= 0, and e (1 + h) below, so nothing overflows or
 * cancels. The quotient just below a power of two has ulps half those of e, so e goes into it in its parts:
 * power (1 + more) (1 + h) is power (1 + g), whose last operation is all that rounds where e is small. */
tg_mc_ref tg_mc_sigmoid(tg_mc *mc, tg_mc_ref x, tg_mc_accuracy accuracy) {
  tg_mc_ref minus = ALU2(max, ALU2(or, x, SIGN), CONST(-104.0f));
  tg_mc_parts e = tg_mc_exp_parts(mc, minus, accuracy == TG_MC_SINGLE ? THREE_TERMS : ONE_TERM);
  if (accuracy == TG_MC_NARROW) {
    tg_mc_ref whole = joined(mc, e);
    return narrow_over_one_plus(mc, ALU3(select, x, whole, CONST(1.0f)), whole);
  }
  tg_mc_ref power = ALU2(scale, e.power, e.k);
  tg_mc_ref h = less_over_one_plus(mc, ALU3(fma, power, e.more, power)), above = ALU2(add, h, CONST(1.0f));
  tg_mc_ref g = ALU3(fma, e.more, above, h);
  return ALU3(select, x, ALU3(fma, power, g, power), above);
}

/* x + x^3 p(x^2) below the limit, p of (tanh x - x)/x^3; above, 1 - 2e/(1+e) with e = exp(-2|x|), and the
 * sign of x. */
tg_mc_ref tg_mc_tanh(tg_mc *mc, tg_mc_ref x, tg_mc_accuracy accuracy) {
  /* on [0, 0.55], 2^-30 of tanh */
  static const float series[] = {-3.333331756e-01f, 1.333258615e-01f, -5.385231101e-02f, 2.107168242e-02f,
                                 -6.274243149e-03f};
  static const float narrow[] = {-0.3333f, 0.1306f}; /* on [0, 0.25], 2^-15 */
  bool single = accuracy == TG_MC_SINGLE;
  tg_mc_ref square = ALU2(mul, x, x), p = single ? POLYNOMIAL(square, series) : POLYNOMIAL(square, narrow);
  tg_mc_ref low = ALU3(fma, ALU2(mul, x, square), p, x), minus = ALU2(or, x, SIGN);
  tg_mc_ref e = tg_mc_exp_below_one(mc, ALU2(add, minus, minus), accuracy);
  tg_mc_ref high = single ? ALU3(fma, less_over_one_plus(mc, e), CONST(2.0f), CONST(1.0f))
                          : ALU3(fma, narrow_over_one_plus(mc, e, e), CONST(-2.0f), CONST(1.0f));
  tg_mc_ref y = ALU3(select, ALU2(cmplt, minus, CONST(single ? -0.55f : -0.25f)), high, low);
  return ALU2(or, y, ALU2(and, x, SIGN)); /* also for -0, of which the polynomial makes +0 */
}

/* x + x p(x^2) below the limit; above, 1 - 2^q(|x|), q of log2 erfc, which needs the fewer bits the smaller
 * erfc is. */
tg_mc_ref tg_mc_erf(tg_mc *mc, tg_mc_ref x, tg_mc_accuracy accuracy) {
  /* on [0, 0.9], 2^-26; [0.9, 3.95], 2^-29 of erf */
  static const float low_single[] = {1.283791538e-01f,  -3.761252328e-01f, 1.128214082e-01f,
                                     -2.677890951e-02f, 5.011964138e-03f,  -6.090368333e-04f};
  static const float high_single[] = {-2.401828421e-04f, -1.627067259e+00f, -9.189626689e-01f,
                                      -1.502038654e-01f, 3.219382097e-02f,  -4.422504685e-03f,
                                      2.859633873e-04f};
  /* on [0, 0.6], 2^-15; [0.6, 3.2], 2^-16 */
  static const float low_narrow[] = {1.283430493e-01f, -3.743363534e-01f, 9.936010990e-02f};
  static const float high_narrow[] = {-1.628277266e-02f, -1.554428117e+00f, -1.040771111e+00f,
                                      -5.704987555e-02f};
  bool single = accuracy == TG_MC_SINGLE;
  tg_mc_ref square = ALU2(mul, x, x), magnitude = ALU2(min, ALU2(and, x, BITS(0x7fffffffu)), CONST(4.0f));
  tg_mc_ref p = single ? POLYNOMIAL(square, low_single) : POLYNOMIAL(square, low_narrow);
  tg_mc_ref q = single ? POLYNOMIAL(magnitude, high_single) : POLYNOMIAL(magnitude, high_narrow);
  tg_mc_ref sum = ALU2(add, q, CONST(thirty_seconds)), k = ALU2(sub, sum, CONST(thirty_seconds));
  tg_mc_ref r = ALU2(mul, ALU2(sub, q, k), CONST(0x1.62e430p-1f));
  tg_mc_parts e = {k, tg_mc_lookup(mc, powers, sum), expm1_small(mc, r, terms_for(accuracy))};
  tg_mc_ref high = ALU2(sub, CONST(1.0f), joined(mc, e));
  high = ALU2(or, high, ALU2(and, x, SIGN));
  tg_mc_ref is_low = ALU2(cmplt, magnitude, CONST(single ? 0.9f : 0.6f));
  return ALU3(select, is_low, ALU3(fma, x, p, x), high);
}
