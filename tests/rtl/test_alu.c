/* Every operation of a vx lane against plain C: special values crossed, every exponent with the places where
 * rounding turns, and random operands, one a cycle and mixed, with stalls and resets. An operation of alu.def
 * without a line here does not build. */
#include "sim/machine/isa.h"
#include "sim/machine/numerics.h"
#include "tests/harness.h"
#include "tests/rtl/duts.h"
#include "tests/rtl/pipeline.h"
#include "tests/rtl/vectors.h"

#include <math.h>

enum { LATENCY = 4 };

typedef struct operands {
  uint32_t a, b, c, moved;
  float x, y, z; /* a, b, c as numbers */
  bool tail;
} operands;

static uint32_t canonical(float x) { return tg_canonical(tg_f32_bits(x)); }
static uint32_t truth(bool x) { return x ? ~0u : 0; }

/* IEEE 754-2019 minimum and maximum: NaN wins, -0 is below +0. */
static uint32_t lower(const operands *o) {
  if (isnan(o->x) || isnan(o->y)) return 0x7fc00000u;
  if (o->x == o->y) return signbit(o->x) ? o->a : o->b;
  return o->x < o->y ? o->a : o->b;
}
static uint32_t higher(const operands *o) {
  if (isnan(o->x) || isnan(o->y)) return 0x7fc00000u;
  if (o->x == o->y) return signbit(o->x) ? o->b : o->a;
  return o->x > o->y ? o->a : o->b;
}

static uint32_t to_integer(float a) {
  if (isnan(a)) return 0;
  double x = nearbyint(a);
  if (x > 2147483647.0) return 0x7fffffff;
  return x < -2147483648.0 ? 0x80000000u : (uint32_t)(int32_t)x;
}

static uint32_t rounded(uint32_t code, float x) {
  static const tg_rtl_format formats[] = {{"bf16", TG_FMT_BF16, 16, 8, 7, 0},
                                          {"fp16", TG_FMT_FP16, 16, 5, 10, 0},
                                          {"tf32", TG_FMT_TF32, 32, 8, 10, 13}};
  const tg_rtl_format *f = formats;
  while (f->code != code) f++;
  return tg_canonical(tg_widened(f, tg_rounded(f, x)));
}

/* Ten significant bits of y in [1/2, 1], times 2^k. */
static uint32_t ten_bits(double y, int k) {
  return tg_f32_bits((float)ldexp(nearbyint(ldexp(y, 10)), k - 10));
}

static uint32_t reciprocal_seed(uint32_t a) {
  int k;
  double x = (double)tg_bits_f32(a), m = 2 * frexp(fabs(x), &k);
  if (isnan(x)) return 0x7fc00000u;
  if (fabs(x) < 0x1p-126) return (a & 0x80000000u) | 0x7f800000u;
  if (fabs(x) >= 0x1p126) return a & 0x80000000u;
  return (a & 0x80000000u) | ten_bits(1 / ((floor(m * 256) + 0.5) / 256), 1 - k);
}

static uint32_t root_seed(uint32_t a) {
  int k;
  double x = (double)tg_bits_f32(a), m = 2 * frexp(fabs(x), &k);
  if (isnan(x)) return 0x7fc00000u;
  if (x == 0) return a | 0x7f800000u;
  if (x < 0) return 0x7fc00000u;
  if (x < 0x1p-126) return 0x7f800000u;
  if (isinf(x)) return 0;
  double middle = (floor(m * 128) + 0.5) / 128;
  return k & 1 ? ten_bits(1 / sqrt(middle), (1 - k) / 2) : ten_bits(1 / sqrt(2 * middle), (2 - k) / 2);
}

static uint32_t clamp(float x, float low, float high) {
  if (isnan(x) || isnan(low) || isnan(high)) return 0x7fc00000u;
  float raised = x > low || (x == low && signbit(low)) ? x : low;
  return tg_f32_bits(raised < high || (raised == high && signbit(raised)) ? raised : high);
}

static uint32_t scaled(float x, float by) {
  if (isnan(x) || isnan(by)) return 0x7fc00000u;
  float n = floorf(by);
  return tg_f32_bits((float)ldexp((double)x, n < -512 ? -512 : n > 512 ? 512 : (int)n));
}

static uint32_t significand_of(float x) {
  int k;
  if (isnan(x)) return 0x7fc00000u;
  if (x == 0 || isinf(x)) return tg_f32_bits(copysignf(1, x));
  return tg_f32_bits(2 * frexpf(x, &k));
}

#define EXPECTED(name, value)                                                                                \
  static uint32_t expect_##name(const operands *o) { return value; }
EXPECTED(nop, o->a) /* vx does not write it */
EXPECTED(mov, o->a)
EXPECTED(fma, tg_host_fma(o->a, o->b, o->c))
EXPECTED(add, canonical(o->x + o->y))
EXPECTED(sub, canonical(o->x - o->y))
EXPECTED(mul, canonical(o->x * o->y))
EXPECTED(min, lower(o))
EXPECTED(max, higher(o))
EXPECTED(cmplt, truth(isless(o->x, o->y)))
EXPECTED(cmple, truth(islessequal(o->x, o->y)))
EXPECTED(cmpeq, truth(o->x == o->y))
EXPECTED(icmplt, truth((int32_t)o->a < (int32_t)o->b))
EXPECTED(select, (int32_t)o->a < 0 ? o->b : o->c)
EXPECTED(and, o->a & o->b)
EXPECTED(or, o->a | o->b)
EXPECTED(xor, o->a ^ o->b)
EXPECTED(shl, (uint32_t)((uint64_t)o->a << o->b % 32))
EXPECTED(shr, o->a >> o->b % 32)
EXPECTED(sra, (uint32_t)((int64_t)(int32_t)o->a >> o->b % 32))
EXPECTED(iadd, (uint32_t)((uint64_t)o->a + o->b))
EXPECTED(isub, (uint32_t)((uint64_t)o->a - o->b))
EXPECTED(f2i, to_integer(o->x))
EXPECTED(i2f, tg_f32_bits((float)(int32_t)o->a))
EXPECTED(rcpseed, reciprocal_seed(o->a))
EXPECTED(rsqseed, root_seed(o->a))
EXPECTED(rot, o->moved)
EXPECTED(bcast, o->moved)
EXPECTED(lut, o->moved)
EXPECTED(tail, o->tail ? o->a : o->b)
EXPECTED(rndbf16, rounded(TG_FMT_BF16, o->x))
EXPECTED(rndfp16, rounded(TG_FMT_FP16, o->x))
EXPECTED(rndtf32, rounded(TG_FMT_TF32, o->x))
EXPECTED(clamp, clamp(o->x, o->y, o->z))
EXPECTED(scale, scaled(o->x, o->y))
EXPECTED(exponent, canonical(logbf(o->x)))
EXPECTED(mantissa, significand_of(o->x))
EXPECTED(rndsr, o->a) /* which the lane rounds beside its ALU */

static const struct {
  const char *name;
  uint32_t operands;
  uint32_t (*expect)(const operands *);
} operations[TG_ALU_COUNT] = {
#define ALU(name, code, operands, doc) [code] = {#name, operands, expect_##name},
#include "sim/machine/alu.def"
#undef ALU
};

typedef struct run {
  void *dut;
  tg_random random;
  tg_pipeline sum, simple; /* multiply-adds hold their result; others pass in their cycle only */
  tg_alu_pins history[TG_PIPELINE_MAX];
  bool good;
} run;

static bool multiplies(uint32_t op) {
  return op == TG_ALU_fma || op == TG_ALU_add || op == TG_ALU_sub || op == TG_ALU_mul;
}

static void cycle(run *t, tg_alu_pins *p) {
  uint64_t now = t->sum.cycle;
  operands o = {p->a, p->b, p->c, p->moved, tg_bits_f32(p->a), tg_bits_f32(p->b), tg_bits_f32(p->c), p->tail};
  uint32_t expected = operations[p->op].expect(&o);
  bool valid = p->valid, sum = multiplies(p->op);
  if (p->reset) /* drops all that is not a sum */
    for (int i = 0; i < TG_PIPELINE_MAX; i++) t->simple.stage[i].issued = false;
  tg_dut_alu.eval(t->dut, p);
  tg_pipeline_output(&t->sum);
  tg_pipeline_output(&t->simple);
  const tg_pipeline *shown = t->simple.fresh ? &t->simple : &t->sum;
  if (t->good && shown->known && p->result != shown->value) {
    const tg_alu_pins *then = &t->history[(now - LATENCY) % TG_PIPELINE_MAX];
    tg_test_fail(__FILE__, __LINE__, "%s of %08x %08x %08x (%s) is %08x, expected %08x",
                 operations[then->op].name, then->a, then->b, then->c,
                 then->valid ? "valid" : "not valid: nothing may change", p->result, shown->value);
    t->good = false;
  }
  t->history[now % TG_PIPELINE_MAX] = *p;
  tg_pipeline_input(&t->sum, p->reset, valid && sum, true, expected);
  tg_pipeline_input(&t->simple, p->reset, valid && !sum, true, expected);
  tg_dut_alu.clock(t->dut);
}

static tg_alu_pins garbage(run *t) {
  return (tg_alu_pins){.op = (uint8_t)(1 + tg_below(&t->random, TG_ALU_COUNT - 1)),
                       .tail = (uint8_t)(tg_draw(&t->random) & 1),
                       .a = tg_draw_f32(&t->random),
                       .b = tg_draw_f32(&t->random),
                       .c = tg_draw_f32(&t->random),
                       .moved = tg_draw(&t->random)};
}

static void feed(run *t, uint32_t op, uint32_t a, uint32_t b, uint32_t c) {
  tg_alu_pins p;
  while (tg_below(&t->random, 4) == 0) {
    p = garbage(t);
    p.reset = tg_below(&t->random, 64) == 0;
    p.valid = p.reset;
    cycle(t, &p);
  }
  p = garbage(t);
  p.valid = 1;
  p.op = (uint8_t)op;
  p.a = a;
  p.b = b;
  p.c = c;
  cycle(t, &p);
}

static run open_run(uint64_t seed) {
  run t = {.dut = tg_dut_alu.create(), .random = {seed}, .good = true};
  t.sum.latency = t.simple.latency = LATENCY;
  t.sum.before = LATENCY > 3;
  return t;
}
static void close_run(run *t) {
  for (int i = 0; i < LATENCY; i++) {
    tg_alu_pins p = garbage(t);
    cycle(t, &p);
  }
  tg_dut_alu.destroy(t->dut);
}

static const uint32_t specials[] = {
    0,          1,          2,          3,          31,         32,         33,         0x007fffff,
    0x00800000, 0x00800001, 0x33800000, 0x3effffff, 0x3f000000, 0x3f000001, 0x3f7fffff, 0x3f800000,
    0x3f800001, 0x3fc00000, 0x40200000, 0x4affffff, 0x4b000000, 0x4b7fffff, 0x4b800001, 0x4e7fffff,
    0x4effffff, 0x4f000000, 0x4f000001, 0x5f3759df, 0x7ef311c7, 0x7f000000, 0x7f7ffffe, 0x7f7fffff,
    0x7f800000, 0x7f800001, 0x7fbfffff, 0x7fc00000, 0x7fc12345, 0x7ffffffe, 0x7fffffff, 0x00010000};
enum { SPECIALS = sizeof specials / sizeof *specials };

static uint32_t special(uint32_t i) { return specials[i / 2] | i % 2 << 31; }

TG_TEST(rtl_alu, special_values_crossed) {
  run t = open_run(11);
  for (uint32_t op = 1; op < TG_ALU_COUNT; op++)
    for (uint32_t a = 0; t.good && a < 2 * SPECIALS; a++)
      for (uint32_t b = 0; b < 2 * SPECIALS; b++) {
        uint32_t step = operations[op].operands > 2 ? 1 : 2 * SPECIALS;
        for (uint32_t c = (a + b) % step; c < 2 * SPECIALS; c += step)
          feed(&t, op, special(a), special(b), special(c));
      }
  close_run(&t);
}

/* Operations of one operand: every exponent with runs of ones and single bits, as numbers and as integers. */
TG_TEST(rtl_alu, every_exponent_and_place) {
  run t = open_run(12);
  for (uint32_t op = 1; op < TG_ALU_COUNT; op++) {
    if (operations[op].operands > 1) continue;
    for (uint32_t exponent = 0; t.good && exponent < 512; exponent++)
      for (uint32_t place = 0; place < 24; place++) {
        uint32_t one = 1u << place & 0x7fffff, high = 0x7fffff << place & 0x7fffff;
        const uint32_t fractions[] = {one, one >> 1 | one, high, 0x7fffff ^ high, one | 1, high ^ 1};
        for (int f = 0; f < 6; f++) feed(&t, op, exponent << 23 | fractions[f], 0, 0);
        feed(&t, op, exponent << 23 >> place, 0, 0);
        feed(&t, op, 0u - (exponent << 23 >> place), 0, 0);
      }
    for (uint32_t top = 0; t.good && top < 32; top++) /* i2f: ties below every leading one */
      for (uint32_t place = 0; place <= top; place++) {
        uint32_t one = 1u << top, tie = 1u << place;
        const uint32_t sums[] = {one | tie,     one | tie | 1,   one | tie * 3, (one | tie) - 1,
                                 one | tie * 2, one | (tie - 1), one * 2 - tie, one * 2 - tie - 1};
        for (int s = 0; s < 8; s++) {
          feed(&t, op, sums[s], 0, 0);
          feed(&t, op, 0u - sums[s], 0, 0);
        }
      }
  }
  close_run(&t);
}

static uint32_t random_operand(tg_random *r, uint32_t other) {
  switch (tg_below(r, 9)) {
  case 0: return other;
  case 1: return other ^ 0x80000000u;
  case 2: return other + tg_below(r, 5) - 2;
  case 3: return tg_draw(r) >> tg_below(r, 32);
  case 4: return other ^ 1u << tg_below(r, 32);
  case 5: return tg_draw(r);
  case 6: return tg_f32_bits(ldexpf((float)(int32_t)tg_draw(r), -(int)tg_below(r, 30) - 16)); /* for scale */
  default: return tg_draw_f32(r);
  }
}

TG_TEST(rtl_alu, random_operands) {
  run t = open_run(13);
  for (uint64_t i = tg_vector_count(2000000); t.good && i > 0; i--) {
    uint32_t a = random_operand(&t.random, tg_draw(&t.random)), b = random_operand(&t.random, a);
    feed(&t, 1 + tg_below(&t.random, TG_ALU_COUNT - 1), a, b, random_operand(&t.random, b));
  }
  close_run(&t);
}
