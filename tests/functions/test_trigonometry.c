/* Errors of sine, cosine and tangent, which are graphs of FP32 steps (frontend/decompose/trigonometry.c): the evaluator, whose
 * steps are those of all engines, against MPFR. */
#include "frontend/pipeline.h"
#include "frontend/reference.h"
#include "frontend/text.h"
#include "sim/machine/numerics.h"
#include "tests/harness.h"

#include <math.h>
#include <mpfr.h>
#include <stdlib.h>
#include <string.h>

#ifndef EVERY
#define EVERY 9973
#endif

enum { COUNT = 4096, BITS = 160 };

typedef struct trigonometric {
  const char *name;
  int (*exact)(mpfr_t y, const mpfr_t x, mpfr_rnd_t mode);
  double bound; /* ulp, where |x| <= 2^24 */
} trigonometric;

static const trigonometric functions[] = {
    {"Sin", mpfr_sin, 2.5}, {"Cos", mpfr_cos, 2.5}, {"Tan", mpfr_tan, 4}};

static tg_graph *lowered(tg_arena *arena, const char *name) {
  tg_diag diag = {""};
  tg_graph *graph = NULL;
  const char *text = tg_arena_printf(
      arena, "graph \"g\"\ninput %%x: f32[4096]\n%%y = %s(%%x) @0 \"f\"\noutput \"y\" %%y: f32\n", name);
  tg_frontend_options options;
  tg_frontend_defaults(&options);
  if (tg_graph_parse(arena, text, &graph, &diag) || tg_frontend_lower(graph, &options, &diag))
    tg_test_fail(__FILE__, __LINE__, "%s", diag.message);
  return graph;
}

static double error_of(const trigonometric *f, float x, float y) {
  static _Thread_local mpfr_t a, b;
  static _Thread_local bool begun;
  if (!begun) mpfr_init2(a, BITS), mpfr_init2(b, BITS), begun = true;
  mpfr_set_flt(a, x, MPFR_RNDN);
  f->exact(b, a, MPFR_RNDN);
  int exponent;
  double truth = mpfr_get_d(b, MPFR_RNDN);
  frexp(truth, &exponent);
  mpfr_sub_d(b, b, (double)y, MPFR_RNDN);
  return fabs(mpfr_get_d(b, MPFR_RNDN)) / ldexp(1, (exponent < -125 ? -125 : exponent) - 24);
}

/* Every `step`-th number up to 2^24, of one sign: sine and tangent are odd, cosine even, bit by bit. */
static void measured(const trigonometric *f, uint32_t step) {
  tg_arena arena = {0};
  tg_graph *graph = lowered(&arena, f->name);
  static float x[COUNT], y[COUNT], mirrored[COUNT];
  double worst = 0;
  float at = 0;
  for (uint64_t first = 0; first <= 0x4b800000; first += (uint64_t)COUNT * step) {
    for (uint32_t i = 0; i < COUNT; i++) {
      uint64_t bits = first + (uint64_t)i * step;
      x[i] = tg_bits_f32(bits > 0x4b800000 ? 0x4b800000 : (uint32_t)bits);
    }
    tg_reference_run(graph, (const void *const[]){x}, (void *const[]){y});
    for (int i = 0; i < COUNT; i++) {
      double error = error_of(f, x[i], y[i]);
      if (!(error <= worst)) worst = error, at = x[i];
      x[i] = -x[i];
    }
    tg_reference_run(graph, (const void *const[]){x}, (void *const[]){mirrored});
    for (int i = 0; i < COUNT; i++) {
      float expected = f->exact == mpfr_cos ? y[i] : -y[i];
      if (memcmp(&mirrored[i], &expected, sizeof expected) != 0)
        tg_test_fail(__FILE__, __LINE__, "%s(%a) is %a, of the other sign %a", f->name, (double)x[i],
                     (double)mirrored[i], (double)y[i]);
    }
  }
  if (getenv("TEGULA_SHOW")) printf("%s: %.3f ulp at %a\n", f->name, worst, (double)at);
  if (!(worst <= f->bound)) tg_test_fail(__FILE__, __LINE__, "%s: %g ulp at %a", f->name, worst, (double)at);
  tg_arena_release(&arena);
}

TG_TEST(trigonometry, errors_are_bounded) {
  for (int i = 0; i < 3; i++) measured(&functions[i], EVERY);
}

/* Floats near multiples of pi/2, where what is left of the argument is least: 2^-27 and less. */
TG_TEST(trigonometry, zeros_are_found) {
  tg_arena arena = {0};
  double worst[3] = {0};
  static float x[COUNT], y[COUNT];
  tg_graph *graphs[3];
  for (int i = 0; i < 3; i++) graphs[i] = lowered(&arena, functions[i].name);
  for (uint32_t n = 1; n < 10680000; n += COUNT * 37) {
    for (uint32_t i = 0; i < COUNT; i++)
      x[i] = fminf((float)((double)(n + i * 37) * 1.5707963267948966), 0x1p24f);
    for (int k = 0; k < 3; k++) {
      tg_reference_run(graphs[k], (const void *const[]){x}, (void *const[]){y});
      for (int i = 0; i < COUNT; i++) worst[k] = fmax(worst[k], error_of(&functions[k], x[i], y[i]));
    }
  }
  for (int k = 0; k < 3; k++)
    if (worst[k] > functions[k].bound)
      tg_test_fail(__FILE__, __LINE__, "%s: %g ulp", functions[k].name, worst[k]);
  tg_arena_release(&arena);
}

TG_TEST(trigonometry, beyond_is_nan) {
  tg_arena arena = {0};
  static float x[COUNT], y[COUNT];
  for (int i = 0; i < COUNT; i++) x[i] = 0;
  x[0] = INFINITY, x[1] = -INFINITY, x[2] = NAN, x[3] = 0x1.000002p24f, x[4] = 3e38f;
  x[5] = -0.0f;
  for (int k = 0; k < 3; k++) {
    tg_reference_run(lowered(&arena, functions[k].name), (const void *const[]){x}, (void *const[]){y});
    for (int i = 0; i < 5; i++) EXPECT(isnan(y[i]));
    EXPECT(k == 1 ? y[5] == 1 : y[5] == 0 && signbit(y[5]));
  }
  tg_arena_release(&arena);
}
