/* The oracles: functions in double precision and with MPFR; and, by vectors of the first, which results need a closer look. */
#include "tests/functions/measure.h"

#include "sim/machine/numerics.h"

#include <math.h>
#include <mpfr.h>
#include <string.h>

/* Where glibc has them for vectors, within 4 ulp of double (libmvec), loops over oracles take those; <math.h> says so for
 * -ffast-math only, whose other liberties are not wanted. */
#if defined __x86_64__ && defined __GNUC__ && !defined __clang__ && defined __GLIBC_PREREQ
#if __GLIBC_PREREQ(2, 35)
#define ON_VECTORS __attribute__((simd("notinbranch")))
ON_VECTORS double exp(double);
ON_VECTORS double log(double);
ON_VECTORS double tanh(double);
ON_VECTORS double erf(double);
ON_VECTORS double erfc(double);
ON_VECTORS double expm1(double);
ON_VECTORS double log1p(double);
ON_VECTORS double pow(double, double);
#endif
#endif

/* ---- in double precision ---- */

/* x with a size of at most `most`; NaN is `most`, too. By whole numbers: of a choice between doubles GCC makes branches, and has
 * vectors take the function of x, which is slow there. */
static inline double within(double x, double most) {
  union {
    double value;
    int64_t bits;
  } size = {.value = fabs(x)}, limit = {.value = most};
  size.bits = size.bits < limit.bits ? size.bits : limit.bits;
  return copysign(size.value, x);
}
/* e^x; far beyond what FP32 holds, where exp takes long, what is as far beyond. */
static double bounded_exp(double x) {
  double y = exp(within(x, 200));
  return isnan(x) ? x : y;
}

static double sigmoid(double x) {
  double e = bounded_exp(-fabs(x));
  return isnan(x) ? x : x < 0 ? e / (1 + e) : 1 / (1 + e);
}
/* erfc(-x / sqrt(2)): twice the share of a normal distribution below x. */
static double twice_below(double x) {
  double y = erfc(within(-x * M_SQRT1_2, 26));
  return isnan(x) ? x : y;
}
static double gelu(double x) {
  double y = x * 0.5 * twice_below(x);
  return isinf(x) ? (x < 0 ? -0.0 : x) : y;
}
static double gelu_tanh(double x) {
  double y = x / (1 + bounded_exp(-2 * 0.79788456080286536 * (x + 0.044715 * x * x * x)));
  return isinf(x) ? (x < 0 ? -0.0 : x) : y;
}
static double density(double x) { return 0.39894228040143268 * bounded_exp(-0.5 * x * x); }
static double gelu_gradient(double x) {
  double y = 0.5 * twice_below(x) + x * density(x);
  return isinf(x) ? (x < 0 ? -0.0 : 1) : y;
}
static double elu(double x) {
  double y = expm1(within(x, 200));
  return x < 0 ? y : x;
}
static double softplus(double x) {
  double y = (x > 0 ? x : 0) + log1p(bounded_exp(-fabs(x)));
  return isnan(x) ? x : y;
}
static double softsign(double x) { return x / (1 + fabs(x)); }
static double mish(double x) {
  double e = bounded_exp(x), n = e * (e + 2), y = x * (n / (n + 2));
  return isinf(x) ? (x < 0 ? -0.0 : x) : x > 30 ? x : y;
}
static double sign(double x) { return isnan(x) ? x : (x > 0) - (x < 0); }

/* x^y, wrong by less than 2^-42: the product by 200 * 2^-50, which is then of the power. */
static inline double bounded_power(double x, double y) {
  double power = bounded_exp(y * log(fabs(x)));
  bool whole = y == floor(y), odd = whole && y / 2 != floor(y / 2);
  return x < 0 ? (odd ? -power : whole || isinf(x) ? power : NAN) : power;
}
/* Powers by a few exponents; the microprogram takes the exponent as a number. */
#define POWER(name, exponent)                                                                                \
  static double pow_##name(double x) { return bounded_power(x, (double)(exponent)); }                        \
  static tg_mc_ref power_##name(tg_mc *mc, tg_mc_ref x, tg_mc_accuracy accuracy) {                           \
    return tg_mc_power(mc, x, exponent, accuracy);                                                           \
  }                                                                                                          \
  static void exact_pow_##name(void *to, const void *from) {                                                 \
    mpfr_t y;                                                                                                \
    mpfr_init2(y, ORACLE_BITS);                                                                              \
    mpfr_set_flt(y, exponent, MPFR_RNDN);                                                                    \
    mpfr_pow(to, from, y, MPFR_RNDN);                                                                        \
    mpfr_clear(y);                                                                                           \
  }
POWER(third, 1.0f / 3)
POWER(minus_1_5, -1.5f)
POWER(5, 5.0f)
POWER(100_5, 100.5f)

/* Quotients by a few numbers, which the microprogram takes as numbers. */
#define QUOTIENT(name, divisor)                                                                              \
  static double quotient_##name(double x) { return x / (double)(divisor); }                                  \
  static tg_mc_ref divide_by_##name(tg_mc *mc, tg_mc_ref x, tg_mc_accuracy accuracy) {                       \
    return tg_mc_divide_by(mc, x, divisor, accuracy);                                                        \
  }                                                                                                          \
  static void exact_by_##name(void *to, const void *from) {                                                  \
    mpfr_div_d(to, from, (double)(divisor), MPFR_RNDN);                                                      \
  }
QUOTIENT(root_2, 0x1.6a09e6p+0f)
QUOTIENT(minus_3, -3.0f)
QUOTIENT(8, 8.0f)
QUOTIENT(0_3, 0.3f)
QUOTIENT(large, 0x1.fffffep+99f)
QUOTIENT(small, -0x1.fffffep-100f)

static double reciprocal(double x) { return 1 / x; }
static double rsqrt(double x) { return 1 / sqrt(x); }

/* ---- with MPFR ---- */

#define UNARY(name, call)                                                                                    \
  static void exact_##name(void *to, const void *from) {                                                     \
    mpfr_ptr y = to;                                                                                         \
    mpfr_srcptr x = from;                                                                                    \
    call;                                                                                                    \
  }
UNARY(exp, mpfr_exp(y, x, MPFR_RNDN))
UNARY(log, mpfr_log(y, x, MPFR_RNDN))
UNARY(tanh, mpfr_tanh(y, x, MPFR_RNDN))
UNARY(erf, mpfr_erf(y, x, MPFR_RNDN))
UNARY(elu, mpfr_sgn(x) < 0 ? mpfr_expm1(y, x, MPFR_RNDN) : mpfr_set(y, x, MPFR_RNDN))
UNARY(softsign, (mpfr_abs(y, x, MPFR_RNDN), mpfr_add_ui(y, y, 1, MPFR_RNDN), mpfr_div(y, x, y, MPFR_RNDN)))
UNARY(softplus, (mpfr_exp(y, x, MPFR_RNDN), mpfr_log1p(y, y, MPFR_RNDN)))
UNARY(mish, (mpfr_exp(y, x, MPFR_RNDN), mpfr_log1p(y, y, MPFR_RNDN), mpfr_tanh(y, y, MPFR_RNDN),
             mpfr_mul(y, y, x, MPFR_RNDN)))
UNARY(sign, mpfr_set_si(y, mpfr_sgn(x), MPFR_RNDN))
UNARY(floor, mpfr_floor(y, x))
UNARY(ceil, mpfr_ceil(y, x))
UNARY(round, mpfr_roundeven(y, x))
static void exact_gelu(void *to, const void *from) {
  mpfr_ptr y = to;
  mpfr_srcptr x = from;
  mpfr_sqrt_ui(y, 2, MPFR_RNDN);
  mpfr_div(y, x, y, MPFR_RNDN);
  mpfr_neg(y, y, MPFR_RNDN);
  mpfr_erfc(y, y, MPFR_RNDN);
  mpfr_mul(y, y, x, MPFR_RNDN);
  mpfr_div_ui(y, y, 2, MPFR_RNDN);
}
static void exact_gelu_tanh(void *to, const void *from) {
  mpfr_ptr y = to;
  mpfr_srcptr x = from;
  mpfr_t root;
  mpfr_init2(root, ORACLE_BITS);
  mpfr_const_pi(root, MPFR_RNDN); /* sqrt(8/pi) */
  mpfr_ui_div(root, 8, root, MPFR_RNDN);
  mpfr_sqrt(root, root, MPFR_RNDN);
  mpfr_sqr(y, x, MPFR_RNDN);
  mpfr_mul_ui(y, y, 44715, MPFR_RNDN);
  mpfr_div_ui(y, y, 1000000, MPFR_RNDN);
  mpfr_add_ui(y, y, 1, MPFR_RNDN);
  mpfr_mul(y, y, x, MPFR_RNDN);
  mpfr_mul(y, y, root, MPFR_RNDN);
  mpfr_neg(y, y, MPFR_RNDN);
  mpfr_exp(y, y, MPFR_RNDN);
  mpfr_add_ui(y, y, 1, MPFR_RNDN);
  mpfr_div(y, x, y, MPFR_RNDN);
  mpfr_clear(root);
}
static void exact_gelu_gradient(void *to, const void *from) {
  mpfr_ptr y = to;
  mpfr_srcptr x = from;
  mpfr_t part;
  mpfr_init2(part, ORACLE_BITS);
  mpfr_sqrt_ui(part, 2, MPFR_RNDN);
  mpfr_div(part, x, part, MPFR_RNDN);
  mpfr_neg(y, part, MPFR_RNDN);
  mpfr_erfc(y, y, MPFR_RNDN);
  mpfr_sqr(part, part, MPFR_RNDN);
  mpfr_neg(part, part, MPFR_RNDN);
  mpfr_exp(part, part, MPFR_RNDN);
  mpfr_mul(part, part, x, MPFR_RNDN);
  mpfr_div_2ui(y, y, 1, MPFR_RNDN);
  mpfr_t scale;
  mpfr_init2(scale, ORACLE_BITS);
  mpfr_const_pi(scale, MPFR_RNDN);
  mpfr_mul_ui(scale, scale, 2, MPFR_RNDN);
  mpfr_rec_sqrt(scale, scale, MPFR_RNDN);
  mpfr_fma(y, part, scale, y, MPFR_RNDN);
  mpfr_clear(scale);
  mpfr_clear(part);
}
UNARY(sqrt, mpfr_sqrt(y, x, MPFR_RNDN))
UNARY(rsqrt, mpfr_rec_sqrt(y, x, MPFR_RNDN))
UNARY(reciprocal, mpfr_ui_div(y, 1, x, MPFR_RNDN))
UNARY(sigmoid, (mpfr_neg(y, x, MPFR_RNDN), mpfr_exp(y, y, MPFR_RNDN), mpfr_add_ui(y, y, 1, MPFR_RNDN),
                mpfr_ui_div(y, 1, y, MPFR_RNDN)))

/* The gradient of gelu has a zero at -0.75, where two terms cancel: its error is in ulp of the larger of
 * them. */
double oracle_unit(const measured_function *function, double x, double truth) {
  if (function->oracle != gelu_gradient || isinf(x)) return truth;
  return fmax(fabs(truth), fmax(0.5 * twice_below(x), fabs(x) * density(x)));
}

/* ---- by vectors ---- */

/* Exponents have the place of binary64's, so that the unit in the last place comes from its bits. A truth below a power of two by
 * less than what the oracle may be wrong has the smaller unit. */
static inline double steps_per_unit(double truth, const number_format *f) {
  union {
    double value;
    int64_t bits;
  } t = {.value = fabs(truth) * (1 - 0x1p-30)};
  int64_t e = (t.bits >> 52) - 1023;
  e = e < f->lowest ? f->lowest : e > f->highest ? f->highest : e;
  t.bits = (1023 + f->fraction - e) << 52;
  return t.value;
}

/* See function_screen: a loop that compilers make vectors of, for a constant oracle. */
__attribute__((always_inline)) static inline void screen(double (*oracle)(double), const uint32_t *inputs,
                                                         const double *results, const number_format *f,
                                                         double worst, uint32_t count,
                                                         uint8_t *out_doubtful) {
  double beyond = ldexp(1, f->highest + 1), truths[BLOCK];
  float values[BLOCK];
  memcpy(values, inputs, count * sizeof *inputs);
  for (uint32_t i = 0; i < count; i++) truths[i] = oracle((double)values[i]);
  for (uint32_t i = 0; i < count; i++) {
    double truth = truths[i], result = results[i], finite = isinf(result) ? copysign(beyond, result) : result;
    double error = fabs(finite - truth) * steps_per_unit(truth, f) + oracle_close_by;
    bool equal = (result == truth) | ((result != result) & (truth != truth)) |
                 ((finite == beyond) & (truth >= beyond)) | ((finite == -beyond) & (truth <= -beyond));
    error = equal ? 0 : error;
    out_doubtful[i] = !(error <= worst);
  }
}

/* One for processors with wide vectors, one for all. */
#ifdef ON_VECTORS
#define FUNCTION(name, emit, oracle, exact, operations, bound, narrow)                                       \
  __attribute__((target("arch=x86-64-v4,prefer-vector-width=512"))) static void wide_##name(                 \
      const uint32_t *inputs, const double *results, const number_format *f, double worst, uint32_t count,   \
      uint8_t *out_doubtful) {                                                                               \
    screen(oracle, inputs, results, f, worst, count, out_doubtful);                                          \
  }
#include "tests/functions/functions.def"
#undef FUNCTION
#define WIDE(name)                                                                                           \
  if (__builtin_cpu_supports("x86-64-v4")) {                                                                 \
    wide_##name(inputs, results, f, worst, count, out_doubtful);                                             \
    return;                                                                                                  \
  }
#else
#define WIDE(name)
#endif
#define FUNCTION(name, emit, oracle, exact, operations, bound, narrow)                                       \
  static void screen_##name(const uint32_t *inputs, const double *results, const number_format *f,           \
                            double worst, uint32_t count, uint8_t *out_doubtful) {                           \
    WIDE(name)                                                                                               \
    screen(oracle, inputs, results, f, worst, count, out_doubtful);                                          \
  }
#include "tests/functions/functions.def"
#undef FUNCTION

const measured_function measured_functions[] = {
#define FUNCTION(name, emit, oracle, exact, operations, bound, narrow)                                       \
  {#name, emit, NULL, oracle, screen_##name, exact_##exact, operations, narrow, bound},
#include "tests/functions/functions.def"
#undef FUNCTION
};
const int measured_function_count = sizeof measured_functions / sizeof *measured_functions;
const measured_function measured_division = {
    .name = "division", .binary = tg_mc_divide, .operations = 13, .narrow_operations = 11, .bound = 1};
