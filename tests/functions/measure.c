#include "tests/functions/measure.h"

#include "sim/machine/numerics.h"

#include <math.h>
#include <mpfr.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

/* ---- errors ---- */

static number_format format_of(int kind) {
  return kind == TG_STREAM_FP32   ? (number_format){23, -126, 127}
         : kind == TG_STREAM_BF16 ? (number_format){7, -126, 127}
                                  : (number_format){10, -14, 15};
}

static double value_of(uint32_t bits, int kind) {
  uint32_t b = kind == TG_STREAM_FP32   ? bits
               : kind == TG_STREAM_BF16 ? tg_bf16_to_f32((uint16_t)bits)
                                        : tg_fp16_to_f32((uint16_t)bits);
  return (double)tg_bits_f32(b);
}

static void values_of(const uint32_t *bits, int kind, uint32_t count, double *out_values) {
  if (kind == TG_STREAM_FP32)
    for (uint32_t i = 0; i < count; i++) out_values[i] = (double)tg_bits_f32(bits[i]);
  else
    for (uint32_t i = 0; i < count; i++) out_values[i] = value_of(bits[i], kind);
}

/* Exponent of the unit in the last place at a value of the format. */
static int ulp_exponent(number_format f, double truth) {
  int e = truth != 0 ? ilogb(truth) : f.lowest;
  return (e < f.lowest ? f.lowest : e > f.highest ? f.highest : e) - f.fraction;
}

/* Infinity stands for the number after the largest. */
static double as_finite(number_format f, double result) {
  return isinf(result) ? copysign(ldexp(1, f.highest + 1), result) : result;
}

static double error_in_unit(uint32_t bits, int kind, double truth, double unit) {
  number_format f = format_of(kind);
  double result = value_of(bits, kind);
  if (isnan(truth) || isnan(result)) return isnan(truth) && isnan(result) ? 0 : INFINITY;
  if (result == truth) return 0;
  if (isinf(truth) || (isinf(result) && signbit(result) != signbit(truth))) return INFINITY;
  if (isinf(result) && fabs(truth) >= ldexp(1, f.highest + 1)) return 0;
  return fabs(ldexp(as_finite(f, result) - truth, -ulp_exponent(f, unit)));
}

double error_in_ulp(uint32_t bits, int kind, double truth) { return error_in_unit(bits, kind, truth, truth); }

static double exact_error(const measured_function *function, uint32_t input, uint32_t bits, int kind,
                          double unit) {
  number_format f = format_of(kind);
  mpfr_t x, y;
  mpfr_init2(x, ORACLE_BITS);
  mpfr_init2(y, ORACLE_BITS);
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

static void measure_one(const measured_function *function, int kind, uint32_t input, uint32_t result,
                        measurement *m) {
  double x = (double)tg_bits_f32(input), truth = function->oracle(x), unit = oracle_unit(function, x, truth);
  double error = error_in_unit(result, kind, truth, unit);
  if (kind == TG_STREAM_FP32 && fabs(error - function->bound) < oracle_close_by) {
    error = exact_error(function, input, result, kind, unit);
    m->close++;
  }
  record(m, error, input, result);
}

void measure_each(runner *r, const measured_function *function, int kind, const uint32_t *inputs,
                  uint32_t count, measurement *m) {
  uint32_t out[BLOCK];
  runner_run(r, inputs, NULL, out, count);
  for (uint32_t i = 0; i < count; i++) measure_one(function, kind, inputs[i], out[i], m);
}

void measure_inputs(runner *r, const measured_function *function, int kind, const uint32_t *inputs,
                    uint32_t count, measurement *m) {
  uint32_t out[BLOCK];
  double results[BLOCK];
  uint8_t doubtful[BLOCK];
  number_format f = format_of(kind);
  runner_run(r, inputs, NULL, out, count);
  values_of(out, kind, count, results);
  function->screen(inputs, results, &f, m->worst, count, doubtful);
  for (uint32_t i = 0; i < count; i++)
    if (doubtful[i])
      measure_one(function, kind, inputs[i], out[i], m);
    else
      m->count++;
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
