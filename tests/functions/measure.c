#include "tests/functions/measure.h"

#include "sim/machine/numerics.h"

#include <math.h>
#include <mpfr.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

/* How near to a bound the double result may be before MPFR decides, and its precision. */
static const double close_by = 1e-4;
enum { BITS = 200 };

/* ---- oracles ---- */

static double sigmoid(double x) {
  double e = exp(-fabs(x));
  return isnan(x) ? x : x < 0 ? e / (1 + e) : 1 / (1 + e);
}
static double gelu(double x) { return isinf(x) ? (x < 0 ? -0.0 : x) : x * 0.5 * erfc(-x * M_SQRT1_2); }
static double gelu_tanh(double x) {
  return isinf(x) ? (x < 0 ? -0.0 : x) : x / (1 + exp(-2 * 0.79788456080286536 * (x + 0.044715 * x * x * x)));
}
static double density(double x) { return 0.39894228040143268 * exp(-0.5 * x * x); }
static double gelu_gradient(double x) {
  return isinf(x) ? (x < 0 ? -0.0 : 1) : 0.5 * erfc(-x * M_SQRT1_2) + x * density(x);
}
static double elu(double x) { return x < 0 ? expm1(x) : x; }
static double softplus(double x) { return isnan(x) ? x : fmax(x, 0) + log1p(exp(-fabs(x))); }
static double softsign(double x) { return x / (1 + fabs(x)); }
static double mish(double x) {
  double e = exp(x), n = e * (e + 2);
  return isinf(x) ? (x < 0 ? -0.0 : x) : x > 30 ? x : x * (n / (n + 2));
}
static double sign(double x) { return isnan(x) ? x : (x > 0) - (x < 0); }
/* Powers by a few exponents; the microprogram takes the exponent as a number. */
#define POWER(name, exponent)                                                                                \
  static double pow_##name(double x) { return pow(x, (double)(exponent)); }                                  \
  static tg_mc_ref power_##name(tg_mc *mc, tg_mc_ref x, tg_mc_accuracy accuracy) {                           \
    return tg_mc_power(mc, x, exponent, accuracy);                                                           \
  }                                                                                                          \
  static void exact_pow_##name(void *to, const void *from) {                                                 \
    mpfr_t y;                                                                                                \
    mpfr_init2(y, BITS);                                                                                     \
    mpfr_set_flt(y, exponent, MPFR_RNDN);                                                                    \
    mpfr_pow(to, from, y, MPFR_RNDN);                                                                        \
    mpfr_clear(y);                                                                                           \
  }
POWER(third, 1.0f / 3)
POWER(minus_1_5, -1.5f)
POWER(5, 5.0f)
POWER(100_5, 100.5f)

static double reciprocal(double x) { return 1 / x; }
static double rsqrt(double x) { return 1 / sqrt(x); }

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
  mpfr_init2(root, BITS);
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
  mpfr_init2(part, BITS);
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
  mpfr_init2(scale, BITS);
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

const measured_function measured_functions[] = {
#define FUNCTION(name, emit, oracle, exact, operations, bound, narrow)                                       \
  {#name, emit, NULL, oracle, exact_##exact, operations, narrow, bound},
#include "tests/functions/functions.def"
#undef FUNCTION
};
const int measured_function_count = sizeof measured_functions / sizeof *measured_functions;
const measured_function measured_division = {"division", NULL, tg_mc_divide, NULL, NULL, 13, 11, 1};

/* ---- errors ---- */

typedef struct format {
  int fraction, lowest, highest; /* bits; exponents of normal numbers */
} format;

static format format_of(int kind) {
  return kind == TG_STREAM_FP32   ? (format){23, -126, 127}
         : kind == TG_STREAM_BF16 ? (format){7, -126, 127}
                                  : (format){10, -14, 15};
}

static double value_of(uint32_t bits, int kind) {
  uint32_t b = kind == TG_STREAM_FP32   ? bits
               : kind == TG_STREAM_BF16 ? tg_bf16_to_f32((uint16_t)bits)
                                        : tg_fp16_to_f32((uint16_t)bits);
  return (double)tg_bits_f32(b);
}

/* Exponent of the unit in the last place at a value of the format. */
static int ulp_exponent(format f, double truth) {
  int e = truth != 0 ? ilogb(truth) : f.lowest;
  return (e < f.lowest ? f.lowest : e > f.highest ? f.highest : e) - f.fraction;
}

/* Infinity stands for the number after the largest. */
static double as_finite(format f, double result) {
  return isinf(result) ? copysign(ldexp(1, f.highest + 1), result) : result;
}

static double error_in_unit(uint32_t bits, int kind, double truth, double unit) {
  format f = format_of(kind);
  double result = value_of(bits, kind);
  if (isnan(truth) || isnan(result)) return isnan(truth) && isnan(result) ? 0 : INFINITY;
  if (result == truth) return 0;
  if (isinf(truth) || (isinf(result) && signbit(result) != signbit(truth))) return INFINITY;
  if (isinf(result) && fabs(truth) >= ldexp(1, f.highest + 1)) return 0;
  return fabs(ldexp(as_finite(f, result) - truth, -ulp_exponent(f, unit)));
}

double error_in_ulp(uint32_t bits, int kind, double truth) { return error_in_unit(bits, kind, truth, truth); }

/* The gradient of gelu has a zero at -0.75, where two terms cancel: its error is in ulp of the larger of
 * them. */
static double unit_of(const measured_function *function, double x, double truth) {
  if (function->oracle != gelu_gradient || isinf(x)) return truth;
  return fmax(fabs(truth), fmax(0.5 * erfc(-x * M_SQRT1_2), fabs(x) * density(x)));
}

static double exact_error(const measured_function *function, uint32_t input, uint32_t bits, int kind,
                          double unit) {
  format f = format_of(kind);
  mpfr_t x, y;
  mpfr_init2(x, BITS);
  mpfr_init2(y, BITS);
  mpfr_set_d(x, (double)tg_bits_f32(input), MPFR_RNDN);
  function->exact(y, x);
  mpfr_d_sub(y, as_finite(f, value_of(bits, kind)), y, MPFR_RNDN);
  double error = fabs(ldexp(mpfr_get_d(y, MPFR_RNDN), -ulp_exponent(f, unit)));
  mpfr_clear(x);
  mpfr_clear(y);
  return error;
}

static void record(measurement *m, double error, uint32_t at, uint32_t result) {
  m->count++;
  if (error <= m->worst) return;
  m->worst = error;
  m->at = at;
  m->result = result;
}

void measurement_merge(measurement *into, const measurement *other) {
  into->count += other->count;
  into->close += other->close;
  if (other->worst <= into->worst) return;
  into->worst = other->worst;
  into->at = other->at;
  into->result = other->result;
}

void measure_inputs(runner *r, const measured_function *function, int kind, const uint32_t *inputs,
                    uint32_t count, measurement *m) {
  uint32_t out[BLOCK];
  runner_run(r, inputs, NULL, out, count);
  for (uint32_t i = 0; i < count; i++) {
    double x = (double)tg_bits_f32(inputs[i]), truth = function->oracle(x),
           unit = unit_of(function, x, truth);
    double error = error_in_unit(out[i], kind, truth, unit);
    if (kind == TG_STREAM_FP32 && fabs(error - function->bound) < close_by) {
      error = exact_error(function, inputs[i], out[i], kind, unit);
      m->close++;
    }
    record(m, error, inputs[i], out[i]);
  }
}

void measure_pairs(runner *r, int kind, const uint32_t *a, const uint32_t *b, uint32_t count,
                   measurement *m) {
  uint32_t out[BLOCK];
  runner_run(r, a, b, out, count);
  for (uint32_t i = 0; i < count; i++) {
    double truth = (double)tg_bits_f32(a[i]) / (double)tg_bits_f32(b[i]);
    record(m, error_in_ulp(out[i], kind, truth), a[i], b[i]);
  }
}

void measure_range(runner *r, const measured_function *function, int kind, uint64_t first, uint64_t count,
                   measurement *m) {
  uint32_t inputs[BLOCK];
  for (uint64_t done = 0; done < count; done += BLOCK) {
    uint32_t part = (uint32_t)(count - done < BLOCK ? count - done : BLOCK);
    for (uint32_t i = 0; i < part; i++) inputs[i] = (uint32_t)(first + done + i);
    measure_inputs(r, function, kind, inputs, part, m);
  }
}

/* ---- in parallel ---- */

typedef struct campaign {
  const measured_function *function;
  int kind;
  uint64_t stride;
  atomic_uint_least64_t next; /* block */
  pthread_mutex_t lock;
  measurement total;
} campaign;

static void *work(void *data) {
  campaign *c = data;
  measurement m = {.worst = -1};
  tg_exec_thread_init();
  runner *r = runner_open(c->function, c->kind);
  const uint64_t blocks = (1ull << 32) / BLOCK, portion = 64;
  for (;;) {
    uint64_t first = atomic_fetch_add(&c->next, portion * c->stride);
    if (first >= blocks) break;
    for (uint64_t i = 0; i < portion && first + i * c->stride < blocks; i++)
      measure_range(r, c->function, c->kind, (first + i * c->stride) * BLOCK, BLOCK, &m);
  }
  runner_close(r);
  pthread_mutex_lock(&c->lock);
  measurement_merge(&c->total, &m);
  pthread_mutex_unlock(&c->lock);
  mpfr_free_cache();
  return NULL;
}

measurement measure_all(const measured_function *function, int kind, uint64_t stride, unsigned threads) {
  campaign c = {.function = function, .kind = kind, .stride = stride, .total = {.worst = -1}};
  pthread_t others[64];
  pthread_mutex_init(&c.lock, NULL);
  atomic_init(&c.next, 0);
  if (threads > 64) threads = 64;
  for (unsigned t = 1; t < threads; t++)
    if (pthread_create(&others[t], NULL, work, &c)) tg_die("no thread");
  work(&c);
  for (unsigned t = 1; t < threads; t++) pthread_join(others[t], NULL);
  pthread_mutex_destroy(&c.lock);
  return c.total;
}
