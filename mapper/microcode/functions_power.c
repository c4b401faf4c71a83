/* x^y for a number y: products and roots where they do it, else 2^(y log2 x), the logarithm in two parts. */
#include "mapper/microcode/functions_internal.h"

#include <math.h>

/* Infinity of a negative infinity and +0 of -0, as powers that are no integers have it. */
static tg_mc_ref of_magnitude(tg_mc *mc, tg_mc_ref x) {
  tg_mc_ref below = ALU2(cmpeq, x, BITS(0xff800000u));
  return ALU3(select, below, BITS(0x7f800000u), ALU2(add, x, CONST(0.0f)));
}

bool tg_mc_has_power(float exponent) { return isfinite(exponent); }

static bool is_integer(float exponent) { return floorf(exponent) == exponent; }
static bool is_odd(float exponent) { return is_integer(exponent) && fmodf(fabsf(exponent), 2) == 1; }

/* A number as the sum of two: what `high` lacks is in `low`. */
typedef struct pair {
  tg_mc_ref high, low;
} pair;

/* log2 m of m = 1 + f in [sqrt 1/2, sqrt 2]: f - f^2/2 with what the roundings of square and sum lose, and
 * f^3 q(f), to 2^-28; times 1/ln 2, a pair itself. */
static pair log2_of(tg_mc *mc, tg_mc_ref f) {
  static const float series[] = {3.333333135e-01f,  -2.499999702e-01f, 2.000071555e-01f,
                                 -1.666780263e-01f, 1.424905807e-01f,  -1.242568716e-01f,
                                 1.168541983e-01f,  -1.147973388e-01f, 6.971611828e-02f};
  tg_mc_ref half = CONST(-0.5f), scale = CONST(0x1.715476p+0f);
  tg_mc_ref square = ALU2(mul, f, f), minus = ALU2(mul, square, half);
  tg_mc_ref lost = ALU2(mul, ALU3(fma, f, f, ALU2(xor, square, SIGN)), half);
  tg_mc_ref a = ALU2(add, f, minus);
  lost = ALU2(add, ALU2(sub, minus, ALU2(sub, a, f)), lost);
  tg_mc_ref rest = ALU3(fma, ALU2(mul, f, square), POLYNOMIAL(f, series), lost);
  tg_mc_ref high = ALU2(add, a, rest), low = ALU2(sub, rest, ALU2(sub, high, a));
  tg_mc_ref y = ALU2(mul, high, scale), y_low = ALU3(fma, high, scale, ALU2(xor, y, SIGN));
  y_low = ALU3(fma, high, CONST(0x1.4ae0c0p-26f), y_low);
  return (pair){y, ALU3(fma, low, scale, y_low)};
}

/* 2^(w.high + w.low). Beyond the clamps the result is +0 or infinity, and what the low part is there does not
 * matter: it may be NaN. */
static tg_mc_ref exp2_of(tg_mc *mc, pair w) {
  static const float series[] = {1.000014671f, 0.5000048923f}; /* (e^r - 1)/r on +-ln2/64 */
  tg_mc_ref bounded = ALU3(clamp, w.high, CONST(-160.0f), CONST(130.0f)), magic = CONST(0x1.8p18f);
  tg_mc_ref low = ALU2(and, w.low, ALU2(cmpeq, bounded, w.high));
  tg_mc_ref sum = ALU2(add, bounded, magic), k = ALU2(sub, sum, magic);
  tg_mc_ref r = ALU2(mul, ALU2(add, ALU2(sub, bounded, k), low), CONST(0x1.62e430p-1f));
  tg_mc_ref power = tg_mc_lookup(mc, tg_mc_exp_table(), sum), more = ALU2(mul, POLYNOMIAL(r, series), r);
  return ALU2(scale, ALU3(fma, power, more, power), k);
}

/* |x| = 2^k m. The exponent of 0 is -infinity, that of infinity +infinity: so is the product with y. */
static tg_mc_ref power_of_magnitude(tg_mc *mc, tg_mc_ref x, float exponent) {
  tg_mc_ref magnitude = ALU2(and, x, BITS(0x7fffffffu)), y = CONST(exponent);
  tg_mc_ref m = ALU1(mantissa, magnitude), above = ALU2(cmplt, CONST(0x1.6a09e6p+0f), m);
  m = ALU2(mul, m, ALU3(select, above, CONST(0.5f), CONST(1.0f)));
  tg_mc_ref k = ALU2(add, ALU1(exponent, magnitude), ALU2(and, above, CONST(1.0f)));
  pair part = log2_of(mc, ALU2(sub, m, CONST(1.0f)));
  tg_mc_ref z = ALU2(add, k, part.high);
  tg_mc_ref z_low = ALU2(add, ALU2(sub, part.high, ALU2(sub, z, k)), part.low);
  tg_mc_ref w = ALU2(mul, y, z), w_low = ALU3(fma, y, z, ALU2(xor, w, SIGN));
  return exp2_of(mc, (pair){w, ALU3(fma, y, z_low, w_low)});
}

static tg_mc_ref any_power(tg_mc *mc, tg_mc_ref x, float exponent) {
  tg_mc_ref value = power_of_magnitude(mc, x, exponent);
  if (is_odd(exponent)) return ALU2(or, value, ALU2(and, x, SIGN));
  if (is_integer(exponent)) return value;
  tg_mc_ref below = ALU2(and, ALU2(cmplt, x, CONST(0.0f)), ALU2(cmplt, BITS(0xff800000u), x));
  return ALU3(select, below, BITS(0x7fc00000u), value);
}

tg_mc_ref tg_mc_power(tg_mc *mc, tg_mc_ref x, float exponent, tg_mc_accuracy accuracy) {
  if (exponent == 0.5f) return tg_mc_sqrt(mc, of_magnitude(mc, x), accuracy);
  if (exponent == -0.5f) return tg_mc_rsqrt(mc, of_magnitude(mc, x), accuracy);
  if (exponent == 0) return ALU1(mov, CONST(1.0f));
  if (!is_integer(exponent) || exponent < -2 || exponent > 4) return any_power(mc, x, exponent);
  tg_mc_ref base = exponent < 0 ? tg_mc_reciprocal(mc, x, accuracy) : x;
  if (exponent == 1 || exponent == -1) return base;
  tg_mc_ref square = ALU2(mul, base, base);
  switch ((int)exponent) {
  case 3: return ALU2(mul, square, base);
  case 4: return ALU2(mul, square, square);
  default: return square;
  }
}
