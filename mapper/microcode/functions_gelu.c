/* gelu(x) = x Phi(x), Phi the normal distribution: with a = |x| it is max(x, 0) - a Q(a), Q = Phi(-a), which
 * has no cancellation on either side. Q(a) = exp(-a^2/2) R(a), where R changes slowly: R(a) (a + c) is a
 * polynomial in t = 1/(a + c). */
#include "mapper/microcode/functions_internal.h"

static const float thirty_seconds = 0x1.8p18f, sixteenths = 0x1.8p19f;

/* 0.73800320 * 2^(j/16), twice: with this factor no entry is further than 0.31 * 2^-24 from what it stands
 * for. The polynomial has its reciprocal. All numbers here are by tests/functions/fit_gelu.py. */
#define POWERS                                                                                               \
  0x1.79db8ep-1f, 0x1.8a963ap-1f, 0x1.9c0e82p-1f, 0x1.ae4cccp-1f, 0x1.c159dap-1f, 0x1.d53ed6p-1f,            \
      0x1.ea054ep-1f, 0x1.ffb73ep-1f, 0x1.0b2f8ap+0f, 0x1.1703d8p+0f, 0x1.235e3ap+0f, 0x1.30449ep+0f,        \
      0x1.3dbd38p+0f, 0x1.4bce80p+0f, 0x1.5a7f3ap+0f, 0x1.69d674p+0f
static const float powers[32] = {POWERS, POWERS};
#undef POWERS

/* exp(-a^2/2) = 2^k power (1 + q), k a multiple of 1/16: rest = a^2 + 2 ln2 k is exact but for its last
 * rounding, since ln2's first part times k is exact and a^2 enters unrounded. */
typedef struct bell {
  tg_mc_ref k, power, rest;
} bell;

static bell bell_of(tg_mc *mc, tg_mc_ref a) {
  tg_mc_ref square = ALU2(mul, a, a);
  tg_mc_ref sum = ALU3(fma, square, CONST(-0x1.715476p-1f), CONST(sixteenths));
  tg_mc_ref k = ALU2(sub, sum, CONST(sixteenths));
  tg_mc_ref rest = ALU3(fma, a, a, ALU2(mul, k, CONST(0x1.62cp+0f)));
  rest = ALU3(fma, k, CONST(0x1.217f7ep-11f), rest);
  return (bell){k, tg_mc_lookup(mc, powers, sum), rest};
}

static tg_mc_ref minus_magnitude(tg_mc *mc, tg_mc_ref x) {
  return ALU2(max, ALU2(or, x, SIGN), CONST(-15.0f));
}

/* -0 stays, and is what underflows. */
static tg_mc_ref positive_part(tg_mc *mc, tg_mc_ref x) { return ALU2(max, x, BITS(0x80000000u)); }

static const float shift = 2.5f, center = 0.16015625f; /* c, and what is subtracted from t */
/* R(a) (a + c) / 0.738 in t - center, a on [0, 14.3]: 2^-25.6 as rounded */
static const float series[] = {8.476145864e-01f,  2.578102827e+00f,  4.523757458e+00f, 6.819965839e-01f,
                               -1.383016396e+01f, -7.684387207e+00f, 6.414479828e+01f, 3.017360210e+00f,
                               -3.105079651e+02f, 4.116188660e+02f};

/* 1/(a + c) = y (1 + more): y a seed, so short that 1 - y c is exact; t less its center. */
typedef struct quotient {
  tg_mc_ref y, more, t;
} quotient;

static quotient quotient_of(tg_mc *mc, tg_mc_ref a_n) {
  tg_mc_ref y = ALU1(rcpseed, ALU2(sub, CONST(shift), a_n));
  tg_mc_ref e = ALU3(fma, a_n, y, ALU3(fma, y, CONST(-shift), CONST(1.0f)));
  tg_mc_ref more = ALU3(fma, ALU3(fma, e, e, e), e, e);
  return (quotient){y, more, ALU3(fma, y, more, ALU2(sub, y, CONST(center)))};
}

/* (exp(-rest/2) - 1) / rest. */
static tg_mc_ref expm1_of_half(tg_mc *mc, tg_mc_ref rest) {
  return tg_mc_polynomial(mc, rest, (const float[]){-0.5f, 1.250040472e-01f, -2.083402469e-02f}, 3);
}

/* a power y z, with what each of y, z and the power lacks in one sum. z is rounded to 11 bits, so that its
 * product with the seed is exact, and the last two steps of its polynomial give what that takes from it. The
 * power of two goes to a, so that the last operation is the only one that rounds a subnormal result. */
static tg_mc_ref gelu_single(tg_mc *mc, tg_mc_ref x) {
  tg_mc_ref a_n = minus_magnitude(mc, x);
  bell b = bell_of(mc, a_n);
  quotient d = quotient_of(mc, a_n);
  tg_mc_ref inner = tg_mc_polynomial(mc, d.t, series + 2, 8);
  tg_mc_ref p = ALU3(fma, inner, d.t, CONST(series[1]));
  tg_mc_ref p_low = ALU3(fma, inner, d.t, ALU2(sub, CONST(series[1]), p));
  tg_mc_ref z = ALU3(fma, p, d.t, CONST(series[0])), z_short = ALU1(rndtf32, z);
  tg_mc_ref z_low = ALU3(fma, p, d.t, ALU2(sub, CONST(series[0]), z_short));
  z_low = ALU3(fma, p_low, d.t, z_low);
  tg_mc_ref g = ALU3(fma, ALU3(fma, b.rest, d.more, b.rest), expm1_of_half(mc, b.rest), d.more);
  tg_mc_ref low = ALU2(mul, ALU2(mul, d.y, b.power), ALU3(fma, z, g, z_low));
  tg_mc_ref q = ALU3(fma, ALU2(mul, d.y, z_short), b.power, low);
  return ALU3(fma, ALU2(scale, a_n, b.k), q, positive_part(mc, x));
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
  tg_mc_ref z = POLYNOMIAL(d.t, series), t = ALU3(fma, d.y, d.more, d.y);
  /* 1 / sqrt(2 pi) / 0.738 */
  tg_mc_ref sum = ALU3(fma, a_n, CONST(5.405698570e-01f), ALU2(mul, z, t));
  tg_mc_ref v = ALU2(mul, sum, b.power), q = ALU2(mul, b.rest, expm1_of_half(mc, b.rest));
  return gradient_of(mc, x, ALU2(scale, ALU3(fma, v, q, v), b.k));
}

/* What narrow results share: power and k of exp(-a^2/2), 1 - rest/2 of what is left, and -R(a) / t, t_n =
 * -1/(a + c), of which one step behind the seed is enough. */
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
