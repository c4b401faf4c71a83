/* The vector functions: numbers of operations, special values, and errors on samples of their inputs. All
 * inputs are for test_functions_long.c. */
#include "tests/functions/measure.h"
#include "tests/harness.h"

#include "sim/machine/numerics.h"

#include <float.h>
#include <math.h>

enum { RANDOM = 1000000, KINDS = 3 };
static const int kinds[KINDS] = {TG_STREAM_FP32, TG_STREAM_BF16, TG_STREAM_FP16};
static const char *const kind_names[KINDS] = {"fp32", "bf16", "fp16"};

static uint32_t draw(uint64_t *state) {
  uint64_t z = *state += 0x9e3779b97f4a7c15ull;
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
  z = (z ^ z >> 27) * 0x94d049bb133111ebull;
  return (uint32_t)(z >> 32);
}

/* Every sign and exponent with significands at and around what a shift or a rounding could treat apart. */
static uint32_t boundary(uint32_t i) {
  static const uint32_t fractions[] = {0,        1,        2,        0x3fffff, 0x400000, 0x400001,
                                       0x7ffffe, 0x7fffff, 0x3504f2, 0x3504f3, 0x3504f4, 0x317217,
                                       0x317218, 0x38aa3b, 0x007fff, 0x008000};
  return i / 16 << 23 | fractions[i % 16];
}
enum { BOUNDARIES = 512 * 16 };

static double bound_of(const measured_function *f, int k) { return k ? 1 : f->bound; }

static void within(const measured_function *f, int k, const measurement *m) {
  if (m->worst > bound_of(f, k))
    tg_test_fail(__FILE__, __LINE__, "%s, %s: %g ulp at %a (0x%08x): 0x%x", f->name, kind_names[k], m->worst,
                 (double)tg_bits_f32(m->at), m->at, m->result);
}

static void sample(const measured_function *f, int k) {
  runner *r = runner_open(f, kinds[k]);
  measurement m = {.worst = -1};
  uint64_t seed = 20261121;
  uint32_t inputs[BLOCK];
  for (uint32_t done = 0; done < BOUNDARIES; done += BLOCK) {
    for (uint32_t i = 0; i < BLOCK; i++) inputs[i] = boundary(done + i);
    measure_inputs(r, f, kinds[k], inputs, BLOCK, &m);
  }
  /* A half of any bits, a half of magnitudes at which functions do something: 2^-14 .. 2^8. */
  for (uint32_t done = 0; done < RANDOM; done += BLOCK) {
    for (uint32_t i = 0; i < BLOCK; i++) {
      uint32_t bits = draw(&seed);
      inputs[i] = i % 2 ? bits : (bits & 0x807fffffu) | (113 + (bits >> 23 & 255) % 22) << 23;
    }
    measure_inputs(r, f, kinds[k], inputs, BLOCK, &m);
  }
  if (k) /* all inputs that a narrow tensor can hold */
    for (uint32_t done = 0; done < 65536; done += BLOCK) {
      for (uint32_t i = 0; i < BLOCK; i++)
        inputs[i] = k == 1 ? tg_bf16_to_f32((uint16_t)(done + i)) : tg_fp16_to_f32((uint16_t)(done + i));
      measure_inputs(r, f, kinds[k], inputs, BLOCK, &m);
    }
  within(f, k, &m);
  runner_close(r);
}

TG_TEST(functions, errors_on_samples) {
  for (int i = 0; i < measured_function_count; i++)
    for (int k = 0; k < KINDS; k++) sample(&measured_functions[i], k);
}

/* What the screen leaves out is no worse than what it keeps: the same largest error as of each result, at another input perhaps. */
TG_TEST(functions, screens_keep_the_worst) {
  for (int i = 0; i < measured_function_count; i++)
    for (int k = 0; k < KINDS; k++) {
      const measured_function *f = &measured_functions[i];
      runner *r = runner_open(f, kinds[k]);
      measurement all = {.worst = -1}, screened = {.worst = -1};
      uint64_t seed = 11;
      uint32_t inputs[BLOCK];
      for (int block = 0; block < 8; block++) {
        for (uint32_t e = 0; e < BLOCK; e++)
          inputs[e] = block < 2 ? boundary((uint32_t)block * BLOCK + e) : draw(&seed);
        measure_each(r, f, kinds[k], inputs, BLOCK, &all);
        measure_inputs(r, f, kinds[k], inputs, BLOCK, &screened);
      }
      EXPECT_EQ(screened.count, all.count);
      if (screened.worst != all.worst)
        tg_test_fail(__FILE__, __LINE__, "%s, %s: %g ulp, with each result %g", f->name, kind_names[k],
                     screened.worst, all.worst);
      runner_close(r);
    }
}

TG_TEST(functions, operations_within_the_budget) {
  for (int i = 0; i <= measured_function_count; i++) {
    const measured_function *f = i < measured_function_count ? &measured_functions[i] : &measured_division;
    for (int k = 0; k < KINDS; k++) {
      runner *r = runner_open(f, kinds[k]);
      int operations = runner_operations(r), most = k ? f->narrow_operations : f->operations;
      if (operations > most)
        tg_test_fail(__FILE__, __LINE__, "%s, %s: %d ALU operations of %d", f->name, kind_names[k],
                     operations, most);
      runner_close(r);
    }
  }
}

TG_TEST(functions, native_kernels_equal_the_reference) {
  uint64_t seed = 7;
  for (int i = 0; i <= measured_function_count; i++) {
    const measured_function *f = i < measured_function_count ? &measured_functions[i] : &measured_division;
    for (int k = 0; k < KINDS; k++) {
      runner *r = runner_open(f, kinds[k]);
      uint32_t a[BLOCK], b[BLOCK], native[BLOCK], plain[BLOCK], wrong = 0;
      for (uint32_t e = 0; e < BLOCK; e++) a[e] = e % 2 ? draw(&seed) : boundary(2 * e), b[e] = draw(&seed);
      runner_run(r, a, b, native, BLOCK);
      runner_run_reference(r, a, b, plain, BLOCK);
      for (uint32_t e = 0; e < BLOCK; e++) wrong += native[e] != plain[e];
      if (wrong) tg_test_fail(__FILE__, __LINE__, "%s, %s: %u results differ", f->name, kind_names[k], wrong);
      runner_close(r);
    }
  }
}

TG_TEST(functions, quotients_of_pairs) {
  for (int k = 0; k < KINDS; k++) {
    runner *r = runner_open(&measured_division, kinds[k]);
    measurement m = {.worst = -1};
    uint64_t seed = 99;
    uint32_t a[BLOCK], b[BLOCK];
    for (uint32_t done = 0; done < 4 * RANDOM; done += BLOCK) {
      for (uint32_t i = 0; i < BLOCK; i++) {
        a[i] = draw(&seed), b[i] = draw(&seed);
        if (i % 4 == 1) a[i] = boundary(a[i] % BOUNDARIES), b[i] = boundary(b[i] % BOUNDARIES);
        if (i % 4 == 2) b[i] = (b[i] & 0x807fffffu) | (a[i] & 0x7f800000u); /* quotients near 1 */
        if (i % 4 == 3) a[i] &= 0x80ffffffu; /* subnormal quotients and operands */
      }
      measure_pairs(r, kinds[k], a, b, BLOCK, &m);
    }
    if (m.worst > 1)
      tg_test_fail(__FILE__, __LINE__, "%s: %g ulp at 0x%08x / 0x%08x", kind_names[k], m.worst, m.at,
                   m.result);
    runner_close(r);
  }
}

/* ---- special values, C99 Annex F ---- */

#define INF   0x7f800000u
#define MINF  0xff800000u
#define QNAN  0x7fc00000u
#define ZERO  0u
#define MZERO 0x80000000u
#define ONE   0x3f800000u
#define MONE  0xbf800000u

static const struct {
  const char *name;
  uint32_t in, out;
} specials[] = {
#define SPECIAL(name, in, out) {#name, in, out},
#include "tests/functions/specials.def"
#undef SPECIAL
};

static const measured_function *find(const char *name) {
  for (int i = 0; i < measured_function_count; i++)
    if (!strcmp(measured_functions[i].name, name)) return &measured_functions[i];
  return NULL;
}

static uint32_t in_format(uint32_t bits, int k) {
  return k == 0 ? bits : k == 1 ? tg_bf16_from_f32(bits) : tg_fp16_from_f32(bits);
}

TG_TEST(functions, special_values) {
  for (size_t i = 0; i < sizeof specials / sizeof *specials; i++) {
    const measured_function *f = find(specials[i].name);
    ASSERT(f);
    for (int k = 0; k < KINDS; k++) {
      runner *r = runner_open(f, kinds[k]);
      uint32_t in[1] = {specials[i].in}, out[1];
      runner_run(r, in, NULL, out, 1);
      if (out[0] != in_format(specials[i].out, k))
        tg_test_fail(__FILE__, __LINE__, "%s, %s: 0x%08x gives 0x%x, expected 0x%x", f->name, kind_names[k],
                     in[0], out[0], in_format(specials[i].out, k));
      runner_close(r);
    }
  }
}

/* NaN in, NaN out; every function has its NaN row by this. */
TG_TEST(functions, nan_stays) {
  static const uint32_t nans[] = {QNAN, 0xffc00000u, 0x7f800001u, 0xff812345u, 0x7fffffffu, 0xffffffffu};
  for (int i = 0; i <= measured_function_count; i++) {
    const measured_function *f = i < measured_function_count ? &measured_functions[i] : &measured_division;
    for (int k = 0; k < KINDS; k++) {
      runner *r = runner_open(f, kinds[k]);
      uint32_t a[24], b[24], out[24];
      for (int e = 0; e < 24; e++) {
        a[e] = nans[e % 6];
        b[e] = (uint32_t[]){ONE, ZERO, INF, QNAN}[e / 6];
      }
      runner_run(r, a, b, out, 24);
      for (int e = 0; e < 24; e++) EXPECT_BITS(out[e], in_format(QNAN, k));
      if (f->binary) {
        runner_run(r, b, a, out, 24);
        for (int e = 0; e < 24; e++) EXPECT_BITS(out[e], in_format(QNAN, k));
      }
      runner_close(r);
    }
  }
}

/* Division: the specials crossed, as the host's division has them. */
TG_TEST(functions, quotients_of_special_values) {
  static const uint32_t values[] = {
      ZERO,        MZERO,      INF,        MINF,        QNAN,        ONE,         MONE,        1,
      0x80000001u, 0x007fffff, 0x00800000, 0x7f7fffffu, 0xff7fffffu, 0x40400000u, 0x3f7fffffu, 0x01000000u};
  uint32_t a[256], b[256], out[256];
  for (uint32_t i = 0; i < 256; i++) a[i] = values[i / 16], b[i] = values[i % 16];
  runner *r = runner_open(&measured_division, TG_STREAM_FP32);
  runner_run(r, a, b, out, 256);
  for (uint32_t i = 0; i < 256; i++) {
    float q = tg_bits_f32(a[i]) / tg_bits_f32(b[i]);
    if (isnan(q) || isinf(q) || q == 0)
      EXPECT_BITS(out[i], tg_canonical(tg_f32_bits(q)));
    else
      EXPECT(fabs((double)tg_bits_f32(out[i]) - (double)q) <= fmax(ldexp(fabs((double)q), -23), 0x1p-149));
  }
  runner_close(r);
}
