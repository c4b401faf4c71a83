/* A processing element at its pins, behind the unpackers of the array's edges, in every format, against the
 * host's FMA: directed and random vectors at every adder, a token a cycle with random stalls; and arbitrary
 * control. The same for the PE without sharing that its area is compared with. */
#include "sim/machine/isa.h"
#include "sim/machine/numerics.h"
#include "tests/harness.h"
#include "tests/rtl/benches.h"

enum { LATENCY = 4 };

/* What is planned for a sub-row in a cycle. A vector for the lower one travels with its addend as the partial
 * sum through the upper one, which is masked. */
typedef struct plan {
  bool valid, masked, carrier;
  tg_fma_vector vector;
} plan;

typedef struct run {
  tg_pe_bench bench;
  tg_random random;
  const tg_rtl_format *format;
  uint64_t next, directed, end;
  plan plans[TG_PIPELINE_MAX][2]; /* by cycle, sub-row */
  bool good;
} run;

static void cycle(run *t, const tg_pe_cycle *in) {
  uint64_t now = t->bench.sum[0][0].cycle;
  const char *wrong = tg_pe_step(&t->bench, in);
  if (!wrong || !t->good) return;
  const tg_pipeline *s[2] = {tg_pe_output(&t->bench, 0), tg_pe_output(&t->bench, 1)};
  const tg_fma_vector *v =
      &t->plans[(now - LATENCY) % TG_PIPELINE_MAX][t->format->code != TG_FMT_FP32].vector;
  tg_test_fail(__FILE__, __LINE__,
               "%s, cycle %llu: %s: sums %08x %08x, expected %08x %08x (perhaps of %08x * %08x + %08x)",
               t->format->name, (unsigned long long)now, wrong, t->bench.pins.out[0], t->bench.pins.out[1],
               s[0]->value, s[1]->value, v->a, v->b, v->c);
  t->good = false;
}

static tg_fma_vector next_vector(run *t) {
  uint64_t i = t->next++;
  return i < t->directed ? tg_fma_directed(t->format, i) : tg_fma_random(t->format, &t->random);
}

/* The plan of a cycle: its weights are loaded in the cycle before. */
static void make_plan(run *t, uint64_t at) {
  bool fp32 = t->format->code == TG_FMT_FP32;
  plan *upper = &t->plans[at % TG_PIPELINE_MAX][0], *lower = &t->plans[at % TG_PIPELINE_MAX][1];
  const plan *above = &t->plans[(at - LATENCY) % TG_PIPELINE_MAX][0];
  memset(upper, 0, sizeof *upper);
  memset(lower, 0, sizeof *lower);
  lower->valid = above->valid && !fp32;
  lower->masked = !above->carrier && tg_below(&t->random, 2);
  lower->vector = above->carrier ? above->vector : tg_fma_random(t->format, &t->random);
  upper->valid = tg_below(&t->random, 4) != 0 && t->next < t->end;
  upper->vector = upper->valid ? next_vector(t) : tg_fma_random(t->format, &t->random);
  upper->carrier = !fp32 && tg_below(&t->random, 2);
  upper->masked = upper->carrier || tg_below(&t->random, 16) == 0;
}

/* Weights for the next cycle's tokens go into the set that this cycle's do not use. Transposed, each sub-row
 * has a weight of its own; else each sub-column has. */
static void load_weights(run *t, tg_pe_cycle *in, uint64_t now) {
  const plan *next = t->plans[(now + 1) % TG_PIPELINE_MAX];
  in->w_set = (now + 1) & 1;
  in->w_row_en = in->w_col_en = 3;
  in->w_on = (uint8_t)((next[0].masked ? 0 : 1) | (next[1].masked ? 0 : 2));
  if (t->format->code == TG_FMT_FP32) in->w_on = next[0].masked ? 0 : 3;
  in->w_transposed = (next[1].valid && !next[1].masked) || tg_below(&t->random, 2);
  for (int k = 0; k < 2; k++) {
    uint32_t used =
        tg_pe_word(t->format, next[in->w_transposed && t->format->code != TG_FMT_FP32 ? k : 0].vector.b);
    uint32_t unused = tg_draw(&t->random);
    in->w_row[k] = in->w_transposed ? used : unused;
    in->w_col[k] = in->w_transposed ? unused : used;
  }
}

static void stream(run *t, tg_pe_cycle *in, uint64_t now) {
  bool fp32 = t->format->code == TG_FMT_FP32;
  const plan *here = t->plans[now % TG_PIPELINE_MAX];
  in->a_valid = (uint8_t)(here[0].valid | (fp32 ? here[0] : here[1]).valid << 1);
  in->a_set = (uint8_t)(3 * (now & 1));
  in->a[0] = tg_pe_word(t->format, here[0].vector.a);
  in->a[1] = fp32 ? in->a[0] : tg_pe_word(t->format, here[1].vector.a);
  in->psum[0] = here[0].vector.c;
  in->psum[1] = here[0].vector.c ^ (tg_draw(&t->random) & 1) << 31;
}

static void vectors(run *t, uint64_t directed, uint64_t random) {
  t->directed = directed;
  t->next = 0;
  t->end = directed + random;
  memset(t->plans, 0, sizeof t->plans);
  for (int drain = 0; t->good && drain < 3 * LATENCY; drain += t->next == t->end) {
    uint64_t now = t->bench.sum[0][0].cycle;
    tg_pe_cycle in = {.reset = false};
    make_plan(t, now + 1);
    load_weights(t, &in, now);
    stream(t, &in, now);
    cycle(t, &in);
  }
}

/* Arbitrary enables, sets, edges, masks, stalls, resets. */
static void arbitrary(run *t, uint64_t cycles) {
  bool fp32 = t->format->code == TG_FMT_FP32;
  for (uint64_t n = 0; t->good && n < cycles; n++) {
    uint32_t x = tg_draw(&t->random);
    tg_fma_vector v[2] = {tg_fma_random(t->format, &t->random), tg_fma_random(t->format, &t->random)};
    tg_pe_cycle in = {.reset = tg_below(&t->random, 100) == 0,
                      .w_transposed = x & 1,
                      .w_set = x >> 1 & 1,
                      .w_row_en = x >> 2 & 3,
                      .w_col_en = x >> 4 & 3,
                      .w_on = x >> 6 & 3,
                      .a_valid = x >> 8 & 3,
                      .a_set = x >> 10 & 3};
    if (fp32 && x >> 12 & 1) in.w_row_en = in.w_col_en = 3;
    if (fp32) in.a_valid = (uint8_t)(3 * (in.a_valid & 1));
    if (fp32) in.a_set = (uint8_t)(3 * (in.a_set & 1));
    for (int k = 0; k < 2; k++) {
      const tg_fma_vector *u = &v[fp32 ? 0 : k];
      in.a[k] = t->format->bits == 32 ? u->a : v[0].a | v[1].a << 16;
      in.w_row[k] = t->format->bits == 32 ? u->b : v[k].b | v[!k].a << 16;
      in.w_col[k] = t->format->bits == 32 ? u->b ^ 1u << 31 : v[!k].b | v[k].b << 16;
      in.psum[k] = v[k].c;
    }
    cycle(t, &in);
  }
}

static void run_format(const tg_dut_ops *ops, const tg_rtl_format *f, uint64_t directed, uint64_t random) {
  run t = {.random = {0x9e + f->code}, .format = f, .good = true};
  tg_pe_open(&t.bench, ops, LATENCY, f);
  vectors(&t, directed, random);
  arbitrary(&t, random / 4);
  tg_pe_close(&t.bench);
}

static void all_formats(const tg_dut_ops *ops, bool directed, uint64_t random) {
  for (int f = 0; f < TG_RTL_FORMATS; f++)
    run_format(ops, &tg_rtl_formats[f], directed ? tg_fma_directed_count(&tg_rtl_formats[f]) : 0, random);
}

TG_TEST(rtl_pe, directed) { all_formats(&tg_dut_pe, true, 1000); }
TG_TEST(rtl_pe, random) { all_formats(&tg_dut_pe, false, tg_vector_count(1000000)); }
TG_TEST(rtl_pe, without_sharing) { all_formats(&tg_dut_pe_apart, false, tg_vector_count(100000)); }
