/* Sums of partial results (ReducePartials) against plain C: s_0 = SR(p_0), s_i = SR(widen(s_(i-1)) + p_i),
 * the random number of the i-th drawn at reduction index i, row 0 and the element's column; in FP32 the same
 * without SR. */
#include "sim/machine/numerics.h"
#include "tests/harness.h"
#include "tests/mapper/run_graph.h"

#include <stdio.h>

enum { SEED = 31, STEP = 2, NODE = 6 };

static float reduced(const float *partials, int64_t count, int64_t elements, int64_t element,
                     bool stochastic) {
  uint32_t key = tg_sr_key(SEED, STEP, NODE);
  float sum = 0; /* so that a sum of nothing but -0 is +0 */
  for (int64_t i = 0; i < count; i++) {
    sum += partials[i * elements + element];
    if (!stochastic) continue;
    uint32_t tile = tg_sr_tile_key(key, (uint32_t)i);
    uint32_t r = tg_sr_r16(tg_sr_row_hash(tile, 0), tg_sr_col_hash(tile, (uint32_t)element));
    sum = tg_bits_f32(tg_bf16_to_f32(tg_bf16_stochastic(tg_f32_bits(sum), r)));
  }
  return sum;
}

typedef struct sum {
  const char *name, *shape;
  int64_t partials, elements;
} sum;
static const sum sums[] = {{"one", "1,5", 1, 5},      {"two_of_a_matrix", "2,7,5", 2, 35},
                           {"scalars", "9", 9, 1},    {"ragged", "17,3,13", 17, 39},
                           {"long", "4,301", 4, 301}, {"many", "70,6", 70, 6}};

static const struct {
  const char *name, *arch, *settings[3];
  bool systemc;
} places[] = {
    {"tiny", "tiny", {NULL}, false},
    {"edge", "edge", {NULL}, false},
    {"1 x 3", "tiny", {"rows=1", "cols=3", NULL}, false},
#ifdef TEGULA_WITH_SYSTEMC
    {"SystemC", "tiny", {"p=2", NULL}, true},
#endif
};

static void check_run(const sum *s, size_t p, bool stochastic, tg_precision_preset preset) {
  char text[256];
  tg_arena arena = {0};
  tg_diag diag = {""};
  mapped m;
  snprintf(text, sizeof text,
           "graph \"g\"\ninput %%p: f32[%s]\n%%y = ReducePartials(%%p)%s @%d\noutput \"y\" %%y: f32\n",
           s->shape, stochastic ? " stochastic=1" : "", NODE);
  run_case what = {.text = text,
                   .arch = places[p].arch,
                   .precision.preset = preset,
                   /* must not matter: the reduction has a precision of its own */
                   .map = {.accum_bf16sr = !stochastic, .k_tile = 3, .seed = SEED},
                   .run = {.threads = 1, .seed = SEED, .step = STEP},
#ifdef TEGULA_WITH_SYSTEMC
                   .engine = places[p].systemc ? &tg_engine_systemc : NULL
#endif
  };
  memcpy(what.settings, places[p].settings, sizeof places[p].settings);
  if (run_text(&what, &m, &arena, &diag)) {
    tg_test_fail(__FILE__, __LINE__, "%s on %s: %s", s->name, places[p].name, diag.message);
  } else {
    const float *got = output_of(&m, 0, NULL);
    for (int64_t e = 0; e < s->elements; e++) {
      float want = reduced(m.inputs[0], s->partials, s->elements, e, stochastic);
      if (tg_f32_bits(got[e]) == tg_f32_bits(want)) continue;
      tg_test_fail(__FILE__, __LINE__, "%s on %s, element %lld is %.9g, expected %.9g", s->name,
                   places[p].name, (long long)e, got[e], want);
      break;
    }
  }
  release_mapped(&m);
  tg_arena_release(&arena);
}

static void fp32(const void *user) {
  for (size_t p = 0; p < sizeof places / sizeof *places; p++) check_run(user, p, false, TG_PRESET_MP0);
}
static void bf16sr(const void *user) {
  for (size_t p = 0; p < sizeof places / sizeof *places; p++) check_run(user, p, true, TG_PRESET_MP0);
  check_run(user, 0, true, TG_PRESET_MP1); /* partial sums are no operands of the model's */
}

__attribute__((constructor)) static void register_sums(void) {
  for (size_t i = 0; i < sizeof sums / sizeof *sums; i++) {
    char name[64];
    snprintf(name, sizeof name, "fp32_%s", sums[i].name);
    tg_test_register_row("reduce", name, __FILE__, __LINE__, fp32, &sums[i]);
    snprintf(name, sizeof name, "bf16sr_%s", sums[i].name);
    tg_test_register_row("reduce", name, __FILE__, __LINE__, bf16sr, &sums[i]);
  }
}
