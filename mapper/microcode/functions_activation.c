/* Activation functions, and roundings to integers. */
#include "mapper/microcode/functions_internal.h"

/* x + x^2 p(x) above the limit, p of (e^x - 1 - x)/x^2; below it 2^k power - 1 is exact up to the table, and
 * what the power lacks is added last. */
tg_mc_ref tg_mc_expm1_below_zero(tg_mc *mc, tg_mc_ref x, tg_mc_accuracy accuracy) {
  /* on [-0.7, 0], below which the result is above 1/2: 2^-29 of e^x - 1; [-0.25, 0], 2^-20 */
  static const float series[] = {5.000000000e-01f, 1.666665524e-01f, 4.166471213e-02f,
                                 8.321282454e-03f, 1.354932087e-03f, 1.531850867e-04f};
  static const float narrow[] = {4.999961853e-01f, 1.663906574e-01f, 3.868298233e-02f};
  bool single = accuracy == TG_MC_SINGLE;
  tg_mc_ref p = single ? POLYNOMIAL(x, series) : POLYNOMIAL(x, narrow);
  tg_mc_ref low = ALU3(fma, ALU2(mul, x, x), p, x);
  tg_mc_parts e = tg_mc_exp_parts(mc, ALU2(max, x, CONST(-104.0f)), single ? 2 : 1);
  tg_mc_ref power = ALU2(scale, e.power, e.k);
  tg_mc_ref high = ALU3(fma, power, e.more, ALU2(sub, power, CONST(1.0f)));
  return ALU3(select, ALU2(cmplt, x, CONST(single ? -0.7f : -0.25f)), high, low);
}

tg_mc_ref tg_mc_elu(tg_mc *mc, tg_mc_ref x, tg_mc_accuracy accuracy) {
  tg_mc_ref below = tg_mc_expm1_below_zero(mc, x, accuracy);
  return ALU3(select, ALU2(cmplt, x, CONST(0.0f)), below, x);
}

/* max(x, 0) + log(1 + e), e = exp(-|x|): nothing overflows, and far below zero e itself is left. */
tg_mc_ref tg_mc_softplus(tg_mc *mc, tg_mc_ref x, tg_mc_accuracy accuracy) {
  tg_mc_ref e = tg_mc_exp_below_one(mc, ALU2(or, x, SIGN), accuracy);
  tg_mc_ref above = ALU2(cmplt, CONST(0x1.a8279ap-2f), e); /* sqrt 2 - 1 */
  tg_mc_ref f = ALU3(select, above, ALU3(fma, e, CONST(0.5f), CONST(-0.5f)), e);
  tg_mc_ref y = tg_mc_log_of_parts(mc, ALU2(and, above, CONST(1.0f)), f, accuracy);
  return ALU2(add, ALU2(max, x, CONST(0.0f)), y);
}

tg_mc_ref tg_mc_softsign(tg_mc *mc, tg_mc_ref x, tg_mc_accuracy accuracy) {
  tg_mc_ref magnitude = ALU2(and, x, BITS(0x7fffffffu));
  return tg_mc_divide(mc, x, ALU2(add, magnitude, CONST(1.0f)), accuracy);
}

/* tanh(log(1 + e^x)) is n/d, with e = exp(-|x|) below zero e (e + 2) / (e (e + 2) + 2), above it (1 + 2e) /
 * (1 + 2e + 2e^2). The power of two of the factor e is multiplied last: the result may be subnormal. Below
 * -120 it is -0, also where x times 0 would be NaN. */
tg_mc_ref tg_mc_mish(tg_mc *mc, tg_mc_ref x, tg_mc_accuracy accuracy) {
  tg_mc_ref minus = ALU2(max, ALU2(or, x, SIGN), CONST(-120.0f)), one = CONST(1.0f), two = CONST(2.0f);
  tg_mc_parts p = tg_mc_exp_parts(mc, minus, accuracy == TG_MC_SINGLE ? 2 : 1);
  tg_mc_ref whole = ALU3(fma, p.power, p.more, p.power), e = ALU2(scale, whole, p.k);
  tg_mc_ref plus_two = ALU2(add, e, two), twice = ALU2(add, e, e), rest = ALU2(add, twice, one);
  tg_mc_ref d = ALU3(select, x, ALU3(fma, e, plus_two, two), ALU3(fma, twice, e, rest));
  tg_mc_ref n = ALU2(mul, ALU3(select, x, whole, one), ALU3(select, x, plus_two, rest));
  tg_mc_ref y = ALU2(mul, ALU2(mul, n, tg_mc_reciprocal_normal(mc, d)), ALU2(max, x, CONST(-120.0f)));
  return ALU2(scale, y, ALU3(select, x, p.k, CONST(0.0f)));
}

tg_mc_ref tg_mc_hard_sigmoid(tg_mc *mc, tg_mc_ref x, float alpha, float beta) {
  return ALU3(clamp, ALU3(fma, x, CONST(alpha), CONST(beta)), CONST(0.0f), CONST(1.0f));
}

/* From 2^23 on every number is an integer. */
tg_mc_ref tg_mc_round(tg_mc *mc, tg_mc_ref x, tg_mc_accuracy accuracy) {
  (void)accuracy;
  tg_mc_ref small = ALU2(cmplt, ALU2(and, x, BITS(0x7fffffffu)), CONST(0x1p23f));
  tg_mc_ref near = ALU2(or, ALU1(i2f, ALU1(f2i, x)), ALU2(and, x, SIGN));
  return ALU3(select, small, near, x);
}

static tg_mc_ref one_where(tg_mc *mc, tg_mc_ref mask) { return ALU2(and, mask, CONST(1.0f)); }

tg_mc_ref tg_mc_floor(tg_mc *mc, tg_mc_ref x, tg_mc_accuracy accuracy) {
  tg_mc_ref near = tg_mc_round(mc, x, accuracy);
  return ALU2(sub, near, one_where(mc, ALU2(cmplt, x, near)));
}

/* Above -1 the result is -0. */
tg_mc_ref tg_mc_ceil(tg_mc *mc, tg_mc_ref x, tg_mc_accuracy accuracy) {
  tg_mc_ref near = tg_mc_round(mc, x, accuracy);
  tg_mc_ref y = ALU2(add, near, one_where(mc, ALU2(cmplt, near, x)));
  return ALU2(or, y, ALU2(and, x, SIGN));
}

tg_mc_ref tg_mc_sign(tg_mc *mc, tg_mc_ref x, tg_mc_accuracy accuracy) {
  (void)accuracy;
  tg_mc_ref above = one_where(mc, ALU2(cmplt, CONST(0.0f), x));
  tg_mc_ref y = ALU2(or, above, ALU2(and, ALU2(cmplt, x, CONST(0.0f)), CONST(-1.0f)));
  return ALU3(select, ALU2(cmpeq, x, x), y, x);
}
