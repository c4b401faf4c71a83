/* Functions of the vector unit as fixed sequences of its operations. */
#include "mapper/microcode.h"

#include <math.h>

#define ALU3(op, a, b, c) tg_mc_alu(mc, TG_ALU_##op, (a), (b), (c))
#define ALU2(op, a, b)    tg_mc_alu(mc, TG_ALU_##op, (a), (b), TG_MC_NONE)
#define ALU1(op, a)       tg_mc_alu(mc, TG_ALU_##op, (a), TG_MC_NONE, TG_MC_NONE)

/* coefficient[0] + x*(coefficient[1] + x*(...)) by Horner's rule. */
static tg_mc_ref polynomial(tg_mc *mc, tg_mc_ref x, const float *coefficient, int count) {
  tg_mc_ref p = tg_mc_const(mc, coefficient[count - 1]);
  for (int i = count - 2; i >= 0; i--) p = ALU3(fma, p, x, tg_mc_const(mc, coefficient[i]));
  return p;
}

/* x * 2^k for k in [-252, 254], in two steps of which only the second can round. */
static tg_mc_ref scale(tg_mc *mc, tg_mc_ref x, tg_mc_ref k) {
  tg_mc_ref bias = tg_mc_bits(mc, 127), shift = tg_mc_bits(mc, 23);
  tg_mc_ref k1 = ALU2(sra, k, tg_mc_bits(mc, 1)), k2 = ALU2(isub, k, k1);
  tg_mc_ref s1 = ALU2(shl, ALU2(iadd, k1, bias), shift), s2 = ALU2(shl, ALU2(iadd, k2, bias), shift);
  return ALU2(mul, ALU2(mul, x, s1), s2);
}

/* e^x = 2^k * e^r with r = x - k ln 2 in [-ln2/2, ln2/2], ln 2 in two parts (Cody and Waite); e^r by its
 * Taylor polynomial of degree 7, whose remainder there is below 6e-9. Beyond the clamps the result is +0 or
 * infinity. */
tg_mc_ref tg_mc_exp(tg_mc *mc, tg_mc_ref x) {
  static const float taylor[] = {1.0f, 1.0f, 0.5f, 1.0f / 6, 1.0f / 24, 1.0f / 120, 1.0f / 720, 1.0f / 5040};
  x = ALU2(max, ALU2(min, x, tg_mc_const(mc, 89.0f)), tg_mc_const(mc, -104.0f));
  tg_mc_ref k = ALU1(f2i, ALU2(mul, x, tg_mc_const(mc, 1.44269504f)));
  tg_mc_ref kf = ALU1(i2f, k);
  tg_mc_ref r = ALU3(fma, kf, tg_mc_const(mc, -0.693359375f), x);
  r = ALU3(fma, kf, tg_mc_const(mc, 2.12194440e-4f), r);
  return scale(mc, polynomial(mc, r, taylor, 8), k);
}

/* Newton's iteration from the integer seed (12 % off): each step squares the error, so four reach the last
 * bit. */
tg_mc_ref tg_mc_reciprocal_normal(tg_mc *mc, tg_mc_ref x) {
  tg_mc_ref one = tg_mc_const(mc, 1.0f), y = ALU1(rcpseed, x),
            minus = ALU2(xor, x, tg_mc_bits(mc, 0x80000000u));
  for (int i = 0; i < 4; i++) y = ALU3(fma, ALU3(fma, minus, y, one), y, y);
  return y;
}

/* With e = exp(-|x|) in [0, 1]: 1/(1+e) for x >= 0 and e/(1+e) below, so nothing overflows or cancels. */
tg_mc_ref tg_mc_sigmoid(tg_mc *mc, tg_mc_ref x) {
  tg_mc_ref e = tg_mc_exp(mc, ALU2(or, x, tg_mc_bits(mc, 0x80000000u)));
  tg_mc_ref y = tg_mc_reciprocal_normal(mc, ALU2(add, e, tg_mc_const(mc, 1.0f)));
  return ALU3(select, x, ALU2(mul, e, y), ALU3(fma, x, tg_mc_const(mc, 0.0f), y)); /* x*0 keeps NaN */
}

/* |x| < 0.55: x + x^3 * (Taylor polynomial of degree 9 in x^2); above: 1 - 2e/(1+e) with e = exp(-2|x|), sign
 * of x. */
tg_mc_ref tg_mc_tanh(tg_mc *mc, tg_mc_ref x) {
  static const float series[] = {-1.0f / 3,
                                 2.0f / 15,
                                 -17.0f / 315,
                                 62.0f / 2835,
                                 -1382.0f / 155925,
                                 21844.0f / 6081075,
                                 -929569.0f / 638512875.0f};
  tg_mc_ref sign = tg_mc_bits(mc, 0x80000000u), one = tg_mc_const(mc, 1.0f);
  tg_mc_ref magnitude = ALU2(and, x, tg_mc_bits(mc, 0x7fffffffu)), square = ALU2(mul, x, x);
  tg_mc_ref small = ALU3(fma, ALU2(mul, x, square), polynomial(mc, square, series, 7), x);
  tg_mc_ref e = tg_mc_exp(mc, ALU2(mul, magnitude, tg_mc_const(mc, -2.0f)));
  tg_mc_ref ratio = ALU2(mul, e, tg_mc_reciprocal_normal(mc, ALU2(add, e, one)));
  tg_mc_ref large = ALU2(or, ALU3(fma, ratio, tg_mc_const(mc, -2.0f), one), ALU2(and, x, sign));
  return ALU3(select, ALU2(cmple, tg_mc_const(mc, 0.55f), magnitude), large, small);
}

/* Splits |x|: *out_exponent so that |x| = mantissa * 2^exponent, mantissa in [1, 2); subnormals are scaled up
 * first. */
static tg_mc_ref split(tg_mc *mc, tg_mc_ref x, tg_mc_ref *out_exponent) {
  tg_mc_ref magnitude = ALU2(and, x, tg_mc_bits(mc, 0x7fffffffu));
  tg_mc_ref tiny = ALU2(cmplt, magnitude, tg_mc_bits(mc, 0x00800000u));
  tg_mc_ref normal = ALU3(select, tiny, ALU2(mul, magnitude, tg_mc_const(mc, 0x1p32f)), magnitude);
  tg_mc_ref exponent = ALU2(isub, ALU2(shr, normal, tg_mc_bits(mc, 23)), tg_mc_bits(mc, 127));
  *out_exponent = ALU2(isub, exponent, ALU2(and, tiny, tg_mc_bits(mc, 32)));
  return ALU2(or, ALU2(and, normal, tg_mc_bits(mc, 0x007fffffu)), tg_mc_bits(mc, 0x3f800000u));
}

static tg_mc_ref clamp_exponent(tg_mc *mc, tg_mc_ref k) {
  tg_mc_ref low = tg_mc_bits(mc, (uint32_t)-250), high = tg_mc_bits(mc, 250);
  k = ALU3(select, ALU2(icmplt, k, low), low, k);
  return ALU3(select, ALU2(icmplt, high, k), high, k);
}

/* Quotient of the mantissas by reciprocal, one residual step, scaled back; zeros, infinities and NaN by a
 * product that has the right answer for them: a * (b is 0 ? infinity : b is infinite ? 0 : 1), with the sign
 * of b. */
tg_mc_ref tg_mc_divide(tg_mc *mc, tg_mc_ref a, tg_mc_ref b) {
  tg_mc_ref infinity = tg_mc_bits(mc, 0x7f800000u), zero = tg_mc_bits(mc, 0), one = tg_mc_const(mc, 1.0f);
  tg_mc_ref sign = tg_mc_bits(mc, 0x80000000u), ea, eb;
  tg_mc_ref ma = split(mc, a, &ea), mb = split(mc, b, &eb);
  tg_mc_ref y = tg_mc_reciprocal_normal(mc, mb), q = ALU2(mul, ma, y);
  q = ALU3(fma, ALU3(fma, ALU2(xor, q, sign), mb, ma), y, q);
  q = scale(mc, q, clamp_exponent(mc, ALU2(isub, ea, eb)));
  q = ALU2(or, q, ALU2(and, ALU2(xor, a, b), sign));
  tg_mc_ref abs_a = ALU2(and, a, tg_mc_bits(mc, 0x7fffffffu)),
            abs_b = ALU2(and, b, tg_mc_bits(mc, 0x7fffffffu));
  tg_mc_ref zero_b = ALU2(cmpeq, abs_b, zero),
            factor = ALU3(select, zero_b, infinity, ALU3(select, ALU2(cmpeq, abs_b, infinity), zero, one));
  factor = ALU2(or, factor, ALU2(and, b, sign));
  tg_mc_ref special = ALU2(mul, a, factor);
  /* ordinary: 0 < |a| < inf and 0 < |b| < inf; comparisons with NaN are false. */
  tg_mc_ref ordinary = ALU2(and, ALU2(and, ALU2(cmplt, zero, abs_a), ALU2(cmplt, abs_a, infinity)),
                            ALU2(and, ALU2(cmplt, zero, abs_b), ALU2(cmplt, abs_b, infinity)));
  tg_mc_ref nan_b = ALU2(add, special, ALU2(sub, b, b)); /* NaN for NaN and infinite b */
  special = ALU3(select, ALU2(cmpeq, b, b), special, nan_b);
  return ALU3(select, ordinary, q, special);
}

/* Of the mantissa (times 2 for odd exponents) by Newton's iteration for 1/sqrt, one residual step; the
 * exponent is halved. */
tg_mc_ref tg_mc_sqrt(tg_mc *mc, tg_mc_ref x) {
  tg_mc_ref one = tg_mc_bits(mc, 1), half = tg_mc_const(mc, 0.5f), sign = tg_mc_bits(mc, 0x80000000u),
            zero = tg_mc_bits(mc, 0), e;
  tg_mc_ref m = split(mc, x, &e), odd = ALU2(and, e, one);
  m = ALU2(add, m, ALU2(mul, m, ALU1(i2f, odd)));
  tg_mc_ref y = ALU1(rsqseed, m), mh = ALU2(mul, m, half);
  for (int i = 0; i < 4; i++) {
    tg_mc_ref t = ALU2(xor, ALU2(mul, mh, y), sign);
    y = ALU3(fma, ALU3(fma, t, y, half), y, y); /* y + y*(1/2 - m/2*y*y) */
  }
  tg_mc_ref r = ALU2(mul, m, y);
  tg_mc_ref rest = ALU3(fma, ALU2(xor, r, sign), r, m);
  r = ALU3(fma, ALU2(mul, rest, half), y, r);
  r = scale(mc, r, ALU2(sra, ALU2(isub, e, odd), one));
  tg_mc_ref infinity = tg_mc_bits(mc, 0x7f800000u),
            ordinary = ALU2(and, ALU2(cmplt, zero, x), ALU2(cmplt, x, infinity));
  tg_mc_ref negative = ALU2(cmplt, x, zero);
  tg_mc_ref special =
      ALU3(select, negative, tg_mc_bits(mc, 0x7fc00000u), ALU2(add, x, zero)); /* +inf, NaN; zeros below */
  special = ALU3(select, ALU2(cmpeq, x, zero), x, special);
  return ALU3(select, ordinary, r, special);
}
