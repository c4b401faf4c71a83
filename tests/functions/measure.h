/* Errors of the vector functions as the engines compute them: a microprogram is compiled by the engines'
 * native kernels and run on bit patterns; results are held to double precision, and to MPFR where double does
 * not decide. */
#ifndef TEGULA_TESTS_FUNCTIONS_MEASURE_H
#define TEGULA_TESTS_FUNCTIONS_MEASURE_H

#include "mapper/microcode/functions.h"
#include "sim/functional/exec.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { BLOCK = 4096 }; /* elements of a call */

typedef struct number_format {
  int fraction, lowest, highest; /* bits; exponents of normal numbers */
} number_format;

/* Marks, of `count` <= BLOCK results, those whose error may be above `worst` ulp: all others surely are not, because the oracle in
 * double precision, by vectors, is within oracle_close_by. Equal results, and NaN where NaN is due, have no error. */
typedef void function_screen(const uint32_t *inputs, const double *results, const number_format *format,
                             double worst, uint32_t count, uint8_t *out_doubtful);

/* How near to a bound the double result may be before MPFR decides, in ulp, and its precision in bits. */
static const double oracle_close_by = 1e-4;
enum { ORACLE_BITS = 200 };

typedef struct measured_function {
  const char *name;
  tg_mc_function *unary; /* or */
  tg_mc_ref (*binary)(tg_mc *mc, tg_mc_ref a, tg_mc_ref b, tg_mc_accuracy accuracy);
  double (*oracle)(double x);
  function_screen *screen;
  void (*exact)(void *y, const void *x); /* the same of two mpfr_t; NULL: double always decides */
  int operations, narrow_operations;
  double bound; /* ulp of fp32 */
} measured_function;

extern const measured_function measured_functions[];
extern const int measured_function_count;
extern const measured_function measured_division; /* oracle: NULL, see measure_pairs */

/* The number in whose ulp the error at `x` is: `truth`, but where terms cancel. */
double oracle_unit(const measured_function *function, double x, double truth);

/* A compiled function with a machine of its own: for one thread. `format`: TG_STREAM_FP32, BF16 or FP16 of
 * the result, which also chooses the variant. */
typedef struct runner runner;
runner *runner_open(const measured_function *function, int format);
void runner_close(runner *r);
int runner_operations(const runner *r);
/* FP32 bits in (`b` only for binary ones), bits of the format out, count <= BLOCK. */
void runner_run(runner *r, const uint32_t *a, const uint32_t *b, uint32_t *out, uint32_t count);
/* The same on the reference kernels. */
void runner_run_reference(runner *r, const uint32_t *a, const uint32_t *b, uint32_t *out, uint32_t count);

/* Error of `bits` of a format in its ulp against the true value, given in double; infinite where a special
 * value is not the right one. */
double error_in_ulp(uint32_t bits, int format, double truth);

typedef struct measurement {
  double worst;          /* ulp */
  uint32_t at, result;   /* input and result there */
  uint64_t count, close; /* inputs; those that MPFR decided */
} measurement;
void measurement_merge(measurement *into, const measurement *other);

/* Adds inputs [first, first + count), bit patterns; count a multiple of BLOCK or below it. */
void measure_range(runner *r, const measured_function *function, int format, uint64_t first, uint64_t count,
                   measurement *m);
void measure_inputs(runner *r, const measured_function *function, int format, const uint32_t *inputs,
                    uint32_t count, measurement *m);
/* The same without a screen: each result is looked at. */
void measure_each(runner *r, const measured_function *function, int format, const uint32_t *inputs,
                  uint32_t count, measurement *m);
/* Quotients of pairs. */
void measure_pairs(runner *r, int format, const uint32_t *a, const uint32_t *b, uint32_t count,
                   measurement *m);
/* All 2^32 inputs, every `stride`-th block, on `threads` threads. */
measurement measure_all(const measured_function *function, int format, uint64_t stride, unsigned threads);

#ifdef __cplusplus
}
#endif
#endif
