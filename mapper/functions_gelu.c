/* gelu(x) = x Phi(x), Phi the normal distribution: with a = |x| it is max(x, 0) - a Q(a), Q = Phi(-a), which
 * has no cancellation on either side. Q(a) = exp(-a^2/2) R(a), where R changes slowly: R(a) (a + c) is a
 * polynomial in t = 1/(a + c). */
#include "mapper/functions_internal.h"

static const float thirty_seconds = 0x1.8p18f;

/* 1.2446683 * 2^(j/32): with this factor no entry is further than 0.43 * 2^-24 from what it stands for. The
 * polynomial has its reciprocal. */
static const float powers[32] = {
    0x1.3ea296p+0f, 0x1.459cc0p+0f, 0x1.4cbe06p+0f, 0x1.540744p+0f, 0x1.5b795ap+0f, 0x1.63152ep+0f,
    0x1.6adba8p+0f, 0x1.72cdb8p+0f, 0x1.7aec52p+0f, 0x1.833870p+0f, 0x1.8bb312p+0f, 0x1.945d3ap+0f,
    0x1.9d37f6p+0f, 0x1.a64454p+0f, 0x1.af836ap+0f, 0x1.b8f656p+0f, 0x1.c29e3ap+0f, 0x1.cc7c3ep+0f,
    0x1.d69192p+0f, 0x1.e0df6cp+0f, 0x1.eb670ap+0f, 0x1.f629aep+0f, 0x1.009452p+1f, 0x1.06329ep+1f,
    0x1.0bf06ap+1f, 0x1.11ce64p+1f, 0x1.17cd42p+1f, 0x1.1dedbcp+1f, 0x1.24308ep+1f, 0x1.2a967ap+1f,
    0x1.312042p+1f, 0x1.37ceb2p+1f};

/* exp(-a^2/2) = 2^k power (1 + q), k a multiple of 1/32: rest = a^2 + 2 ln2 k is exact but for its last
 * rounding, since ln2's first part times k is exact and a^2 enters unrounded. */
typedef struct bell {
  tg_mc_ref k, power, rest;
} bell;

static bell bell_of(tg_mc *mc, tg_mc_ref a) {
  tg_mc_ref square = ALU2(mul, a, a);
  tg_mc_ref sum = ALU3(fma, square, CONST(-0x1.715476p-1f), CONST(thirty_seconds));
  tg_mc_ref k = ALU2(sub, sum, CONST(thirty_seconds));
  tg_mc_ref rest = ALU3(fma, a, a, ALU2(mul, k, CONST(0x1.62cp+0f)));
  rest = ALU3(fma, k, CONST(0x1.217f7ep-11f), rest);
  return (bell){k, tg_mc_lookup(mc, powers, sum), rest};
}

static tg_mc_ref minus_magnitude(tg_mc *mc, tg_mc_ref x) {
  return ALU2(max, ALU2(or, x, SIGN), CONST(-15.0f));
}

/* -0 stays, and is what underflows. */
static tg_mc_ref positive_part(tg_mc *mc, tg_mc_ref x) { return ALU2(max, x, BITS(0x80000000u)); }

static const float shift = 3.5f, center = 0.15625f; /* c, and what is subtracted from t */
/* R(a) (a + c) / 1.2446683 in t - center, a on [0, 14.5]: 2^-26 as rounded */
static const float series[] = {6.429879069e-01f, 3.530844688e+00f,  1.373647404e+01f,  3.360893250e+01f,
                               2.693455124e+01f, -1.103393173e+02f, -2.610931702e+02f, 5.181831055e+02f,
                               1.562697510e+03f, -3.858259033e+03f};

/* 1/(a + c) = y (1 + error): y a seed, so short that 1 - y c is exact. */
typedef struct quotient {
  tg_mc_ref y, y_n, error;
} quotient;

static quotient quotient_of(tg_mc *mc, tg_mc_ref a_n) {
  tg_mc_ref y_n = ALU1(rcpseed, ALU2(sub, a_n, CONST(shift))), y = ALU2(xor, y_n, SIGN);
  tg_mc_ref e = ALU3(fma, a_n, y, ALU3(fma, y_n, CONST(shift), CONST(1.0f)));
  return (quotient){y, y_n, ALU3(fma, ALU3(fma, e, e, e), e, e)};
}

static tg_mc_ref shifted(tg_mc *mc, quotient d) {
  return ALU3(fma, d.y, d.error, ALU2(sub, d.y, CONST(center)));
}

/* (exp(-rest/2) - 1) / rest. */
static tg_mc_ref expm1_of_half(tg_mc *mc, tg_mc_ref rest) {
  return tg_mc_polynomial(mc, rest, (const float[]){-0.5f, 0.1250010133f, -0.02083350749f}, 3);
}

/* The product a power (R (a+c)) / (a+c) carries the low part of each of its roundings, so that what is left
 * is the table's error and the last steps of the polynomial. Names with _n are negative. */
static tg_mc_ref gelu_single(tg_mc *mc, tg_mc_ref x) {
  tg_mc_ref a_n = minus_magnitude(mc, x);
  bell b = bell_of(mc, a_n);
  quotient d = quotient_of(mc, a_n);
  /* the last two steps of Horner's rule with what their roundings lose */
  tg_mc_ref t = shifted(mc, d), inner = tg_mc_polynomial(mc, t, series + 2, 8), one = CONST(series[1]);
  tg_mc_ref p = ALU3(fma, inner, t, one), p_low = ALU3(fma, inner, t, ALU2(sub, one, p));
  tg_mc_ref z = ALU3(fma, p, t, CONST(series[0])), z_low = ALU3(fma, p, t, ALU2(sub, CONST(series[0]), z));
  z_low = ALU3(fma, p_low, t, z_low);
  tg_mc_ref g = ALU3(fma, ALU3(fma, d.error, b.rest, b.rest), expm1_of_half(mc, b.rest), d.error);
  /* y times the power, times z; a last, for it may be subnormal */
  tg_mc_ref v = ALU2(mul, d.y, b.power), v_n = ALU2(mul, d.y_n, b.power), low = ALU3(fma, d.y, b.power, v_n);
  tg_mc_ref w = ALU2(mul, v, z), w_low = ALU3(fma, v, z_low, ALU3(fma, v, z, ALU2(mul, v_n, z)));
  low = ALU3(fma, w, g, ALU3(fma, low, z, w_low));
  tg_mc_ref tail = ALU3(fma, a_n, w, ALU2(mul, a_n, low));
  return ALU2(add, positive_part(mc, x), ALU2(scale, tail, b.k));
}

/* Phi(x) + x phi(x), phi the density: with W = exp(-a^2/2) (R(a) - a / sqrt(2 pi)) it is W below zero, 1 - W
 * above. */
static tg_mc_ref gradient_of(tg_mc *mc, tg_mc_ref x, tg_mc_ref w) {
  return ALU3(select, x, w, ALU2(sub, CONST(1.0f), w));
}

static tg_mc_ref gradient_single(tg_mc *mc, tg_mc_ref x) {
  tg_mc_ref a_n = minus_magnitude(mc, x);
  bell b = bell_of(mc, a_n);
  quotient d = quotient_of(mc, a_n);
  tg_mc_ref z = POLYNOMIAL(shifted(mc, d), series), t = ALU3(fma, d.y, d.error, d.y);
  tg_mc_ref sum = ALU3(fma, a_n, CONST(3.205209496e-01f), ALU2(mul, z, t)); /* 1 / sqrt(2 pi) / 1.2446683 */
  tg_mc_ref v = ALU2(mul, sum, b.power), q = ALU2(mul, b.rest, expm1_of_half(mc, b.rest));
  return gradient_of(mc, x, ALU2(scale, ALU3(fma, v, q, v), b.k));
}

/* What narrow results share: power and k of exp(-a^2/2), 1 - rest/2 of what is left, and -R(a) / t, t_n =
 * -1/(a
 * + c), of which one step behind the seed is enough. */
typedef struct narrow {
  tg_mc_ref k, power, more, t_n, series;
} narrow;

static narrow narrow_of(tg_mc *mc, tg_mc_ref a_n) {
  /* -R(a) (a + 4) in -t on [0, 14.3], 2^-14.4; by fit_gelu.py */
  static const float series[] = {-4.054855704e-01f, 1.285831928e+00f, -1.157323551e+01f, -2.672175598e+01f,
                                 -2.476135101e+02f};
  tg_mc_ref square = ALU2(mul, a_n, a_n), magic = CONST(thirty_seconds);
  tg_mc_ref sum = ALU3(fma, square, CONST(-0x1.715476p-1f), magic), k = ALU2(sub, sum, magic);
  tg_mc_ref rest = ALU3(fma, k, CONST(0x1.62e430p+0f), square);
  tg_mc_ref d = ALU2(sub, CONST(4.0f), a_n), y = ALU1(rcpseed, d);
  tg_mc_ref t_n = ALU2(mul, y, ALU3(fma, d, y, CONST(-2.0f)));
  tg_mc_ref more = ALU3(fma, rest, CONST(-0.5f), CONST(1.0f));
  return (narrow){k, tg_mc_lookup(mc, tg_mc_exp_table(), sum), more, t_n, POLYNOMIAL(t_n, series)};
}

/* The power of two goes to a, so that the sum is the only rounding of a subnormal result. */
static tg_mc_ref gelu_narrow(tg_mc *mc, tg_mc_ref x) {
  tg_mc_ref a_n = minus_magnitude(mc, x);
  narrow b = narrow_of(mc, a_n);
  tg_mc_ref q = ALU2(mul, ALU2(mul, ALU2(mul, b.t_n, b.series), b.power), b.more);
  return ALU3(fma, ALU2(scale, a_n, b.k), q, positive_part(mc, x));
}

static tg_mc_ref gradient_narrow(tg_mc *mc, tg_mc_ref x) {
  tg_mc_ref a_n = minus_magnitude(mc, x);
  narrow b = narrow_of(mc, a_n);
  tg_mc_ref sum = ALU3(fma, b.t_n, b.series, ALU2(mul, a_n, CONST(3.98953961e-01f)));
  return gradient_of(mc, x, ALU2(scale, ALU2(mul, ALU2(mul, sum, b.power), b.more), b.k));
}

tg_mc_ref tg_mc_gelu_gradient(tg_mc *mc, tg_mc_ref x, tg_mc_accuracy accuracy) {
  return accuracy == TG_MC_SINGLE ? gradient_single(mc, x) : gradient_narrow(mc, x);
}

tg_mc_ref tg_mc_gelu(tg_mc *mc, tg_mc_ref x, tg_mc_accuracy accuracy) {
  return accuracy == TG_MC_SINGLE ? gelu_single(mc, x) : gelu_narrow(mc, x);
}

/* x / (1 + exp(-2 sqrt(2/pi) (x + 0.044715 x^3))). Below -12 it is -0, also where x times 0 would be NaN. */
tg_mc_ref tg_mc_gelu_tanh(tg_mc *mc, tg_mc_ref x, tg_mc_accuracy accuracy) {
  tg_mc_ref bounded = ALU2(max, x, CONST(-12.0f));
  tg_mc_ref factor = ALU3(fma, ALU2(mul, bounded, bounded), CONST(0.07135481283f), CONST(1.595769122f));
  return ALU2(mul, bounded, tg_mc_sigmoid(mc, ALU2(mul, bounded, factor), accuracy));
}
