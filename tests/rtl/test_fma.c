/* The FP32 multiply-add lane of vx at its pins, a token a cycle with random stalls and resets, against the
 * host's FMA. Operands of narrow formats come widened. */
#include "tests/harness.h"
#include "tests/rtl/benches.h"

typedef struct run {
  tg_lane_bench bench;
  tg_random random;
  uint32_t history[TG_PIPELINE_MAX][3]; /* operands, by cycle */
  uint64_t valid;
  bool good;
} run;

static void cycle(run *t, bool reset, bool valid, uint32_t a, uint32_t b, uint32_t c) {
  uint64_t now = t->bench.sum.cycle;
  const uint32_t operands[3] = {a, b, c};
  memcpy(t->history[now % TG_PIPELINE_MAX], operands, sizeof operands);
  if (tg_lane_step(&t->bench, reset, valid, operands, tg_host_fma(a, b, c)) || !t->good) return;
  const tg_pipeline *sum = &t->bench.sum;
  const uint32_t *of = t->history[(now - sum->latency) % TG_PIPELINE_MAX];
  if (sum->fresh)
    tg_test_fail(__FILE__, __LINE__, "latency %u: fma(%08x, %08x, %08x) is %08x, expected %08x", sum->latency,
                 of[0], of[1], of[2], t->bench.got, sum->value);
  else
    tg_test_fail(__FILE__, __LINE__, "latency %u, cycle %llu: the output is %08x, and should still be %08x",
                 sum->latency, (unsigned long long)now, t->bench.got, sum->value);
  t->good = false;
}

/* Every fourth cycle or so has no token but garbage on the pins; now and then comes a reset. */
static void feed(run *t, uint32_t a, uint32_t b, uint32_t c) {
  while (tg_below(&t->random, 4) == 0)
    cycle(t, tg_below(&t->random, 64) == 0, tg_below(&t->random, 64) == 0, tg_draw(&t->random),
          tg_draw(&t->random), tg_draw(&t->random));
  cycle(t, false, true, a, b, c);
}

static void run_format(run *t, const tg_rtl_format *f, uint64_t directed, uint64_t random) {
  for (uint64_t i = 0; t->good && i < directed + random; i++) {
    tg_fma_vector v = i < directed ? tg_fma_directed(f, i) : tg_fma_random(f, &t->random);
    feed(t, tg_widened(f, v.a), tg_widened(f, v.b), v.c);
  }
}

static void run_lane(const tg_dut_ops *ops, uint32_t latency, bool directed, uint64_t random) {
  run t = {.random = {0x5eed + latency}, .good = true};
  tg_lane_open(&t.bench, ops, latency);
  for (int f = 0; f < TG_RTL_FORMATS; f++)
    run_format(&t, &tg_rtl_formats[f], directed ? tg_fma_directed_count(&tg_rtl_formats[f]) : 0, random);
  for (uint32_t i = 0; i < latency; i++) cycle(&t, false, false, 0, 0, 0);
  tg_lane_close(&t.bench);
}

TG_TEST(rtl_fma, directed) { run_lane(&tg_dut_lane3, 3, true, 0); }
TG_TEST(rtl_fma, random) { run_lane(&tg_dut_lane3, 3, false, tg_vector_count(1000000)); }
TG_TEST(rtl_fma, random_latency_5) { run_lane(&tg_dut_lane5, 5, false, tg_vector_count(100000)); }
