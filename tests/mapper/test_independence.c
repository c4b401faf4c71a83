/* What results depend on. FP32 accumulation: on nothing but the model and its inputs, so not on the array,
 * the tiling, the K tile or the number of host threads. bf16sr: on the K tile, seed, step and node besides,
 * and on nothing else. */
#include "tests/harness.h"
#include "tests/mapper/run_graph.h"

#include <stdio.h>
#include <string.h>

typedef struct model {
  const char *name, *text;
  tg_precision_preset preset;
} model;

static const model models[] = {
    {"two_products_and_a_softmax",
     "graph \"g\"\ninput %x: f32[9,70]\nconst %w1: f32[70,37] = seeded(1, 0.3)\nconst %b1: f32[37] = "
     "seeded(2, 0.3)\nconst %w2: f32[37,41] = seeded(3, 0.3)\n%h = Gemm(%x, %w1, %b1) @0\n%r = Tanh(%h) @1\n"
     "%o = MatMul(%r, %w2) @2\n%y = Softmax(%o) axis=-1 @3\noutput \"y\" %y: f32\n",
     TG_PRESET_MP0},
    {"a_softmax_of_long_rows",
     "graph \"g\"\ninput %x: f32[2,70]\ninput %w: f32[70,1800]\n%m = MatMul(%x, %w) @4\n"
     "%y = Softmax(%m) axis=-1 @3\noutput \"y\" %y: f32\n",
     TG_PRESET_MP0},
    {"a_long_k",
     "graph \"g\"\ninput %x: f32[5,600]\ninput %w: f32[600,19]\n%y = MatMul(%x, %w) @4\noutput \"y\" %y: "
     "f32\n",
     TG_PRESET_MP1},
    {"convolutions",
     "graph \"g\"\ninput %x: f32[2,5,9,7]\nconst %w: f32[12,5,3,3] = seeded(1, 0.3)\nconst %v: f32[7,12,3,3] "
     "= seeded(2, 0.3)\n%a = Conv(%x, %w) kernel_shape=[3,3] strides=[2,2] pads=[1,1,1,1] @2\n%b = Relu(%a) "
     "@3\n%y = Conv(%b, %v) kernel_shape=[3,3] pads=[1,1,1,1] @4\noutput \"y\" %y: f32\n",
     TG_PRESET_MP4},
    {"an_input_gradient",
     "graph \"g\"\ninput %d: f32[2,12,5,4]\ninput %w: f32[12,5,3,3]\n%y = ConvInputGradient(%d, %w) "
     "strides=[2,2] pads=[1,1,1,1] output_shape=[9,7] @4\noutput \"y\" %y: f32\n",
     TG_PRESET_MP1},
    {"a_weight_gradient",
     "graph \"g\"\ninput %x: f32[2,5,9,7]\ninput %d: f32[2,12,5,4]\n%y = ConvWeightGradient(%x, %d) "
     "kernel_shape=[3,3] strides=[2,2] pads=[1,1,1,1] @4\noutput \"y\" %y: f32\n",
     TG_PRESET_MP1},
};

/* Arrays that differ in what could matter: number of tiles, P, memory, latency, host threads, engine. */
typedef struct place {
  const char *name, *arch, *settings[4];
  uint32_t threads;
  bool systemc;
} place;
static const place places[] = {
    {"tiny", "tiny", {NULL}, 1, false},
    {"tiny, 3 threads", "tiny", {NULL}, 3, false},
    {"edge", "edge", {NULL}, 2, false},
    {"rack", "rack", {"rows=5", "cols=3", NULL}, 1, false},
    {"1 x 3", "tiny", {"rows=1", "cols=3", NULL}, 1, false},
    {"one tile, P = 2", "tiny", {"rows=1", "cols=1", "p=2", NULL}, 1, false},
    {"small accumulator", "tiny", {"acc_bytes=512", "fma_latency=7", "port_bytes=1", NULL}, 1, false},
#ifdef TEGULA_WITH_SYSTEMC
    {"SystemC", "tiny", {"rows=3", NULL}, 1, true},
#endif
};

/* The outputs' bytes of a run, copied to the arena. */
static const void *outputs(const model *m, const place *p, tg_map_options map, uint32_t step,
                           const char *text, tg_arena *arena, size_t *out_bytes) {
  tg_diag diag = {""};
  mapped run;
  run_case what = {.text = text,
                   .arch = p->arch,
                   .precision.preset = m->preset,
                   .map = map,
                   .run = {.threads = p->threads, .seed = map.seed, .step = step},
#ifdef TEGULA_WITH_SYSTEMC
                   .engine = p->systemc ? &tg_engine_systemc : NULL
#endif
  };
  memcpy(what.settings, p->settings, sizeof p->settings);
  const void *copy = NULL;
  if (run_text(&what, &run, arena, &diag)) {
    tg_test_fail(__FILE__, __LINE__, "%s on %s: %s", m->name, p->name, diag.message);
  } else {
    copy = copy_outputs(&run, arena, out_bytes);
  }
  release_mapped(&run);
  return copy;
}

static bool equal(const model *m, const void *first, size_t bytes, const place *p, tg_map_options map,
                  uint32_t step, const char *text, tg_arena *arena) {
  size_t got = 0;
  const void *other = outputs(m, p, map, step, text, arena, &got);
  return first && other && got == bytes && !memcmp(first, other, bytes);
}

static void fp32_depends_on_nothing(const void *user) {
  const model *m = user;
  tg_arena arena = {0};
  size_t bytes = 0;
  tg_map_options map = {.k_tile = 128, .seed = 1};
  const void *first = outputs(m, &places[0], map, 0, m->text, &arena, &bytes);
  static const int k_tiles[] = {128, 1, 33, 4096};
  for (size_t p = 1; p < sizeof places / sizeof *places; p++) {
    map.k_tile = k_tiles[p % 4];
    map.seed = p;
    if (!equal(m, first, bytes, &places[p], map, (uint32_t)p, m->text, &arena))
      tg_test_fail(__FILE__, __LINE__, "other bits on %s with K tile %d", places[p].name, map.k_tile);
  }
  tg_arena_release(&arena);
}

/* The text with every node's id moved by ten: "@4" becomes "@14". */
static const char *other_nodes(const char *text, tg_arena *arena) {
  size_t length = strlen(text), at = 0;
  char *copy = tg_arena_alloc(arena, 2 * length + 1, 1);
  for (const char *c = text; *c; c++) {
    copy[at++] = *c;
    if (*c == '@') copy[at++] = '1';
  }
  copy[at] = 0;
  return copy;
}

static void bf16sr_depends_on_coordinates_only(const void *user) {
  const model *m = user;
  tg_arena arena = {0};
  size_t bytes = 0;
  const tg_map_options map = {.accum_bf16sr = true, .k_tile = 24, .seed = 1};
  const void *first = outputs(m, &places[0], map, 3, m->text, &arena, &bytes);
  for (size_t p = 1; p < sizeof places / sizeof *places; p++)
    if (!equal(m, first, bytes, &places[p], map, 3, m->text, &arena))
      tg_test_fail(__FILE__, __LINE__, "other bits on %s", places[p].name);
  tg_map_options other = map;
  EXPECT(!equal(m, first, bytes, &places[0], map, 4, m->text, &arena)); /* a step */
  EXPECT(!equal(m, first, bytes, &places[0], map, 3, other_nodes(m->text, &arena), &arena));
  other.seed = 2;
  EXPECT(!equal(m, first, bytes, &places[0], other, 3, m->text, &arena));
  other = map;
  other.k_tile = 23;
  EXPECT(!equal(m, first, bytes, &places[0], other, 3, m->text, &arena));
  tg_arena_release(&arena);
}

__attribute__((constructor)) static void register_models(void) {
  for (size_t i = 0; i < sizeof models / sizeof *models; i++) {
    char name[80];
    snprintf(name, sizeof name, "fp32_of_%s_depends_on_nothing", models[i].name);
    tg_test_register_row("independence", name, __FILE__, __LINE__, fp32_depends_on_nothing, &models[i]);
    snprintf(name, sizeof name, "bf16sr_of_%s_depends_on_coordinates_only", models[i].name);
    tg_test_register_row("independence", name, __FILE__, __LINE__, bf16sr_depends_on_coordinates_only,
                         &models[i]);
  }
}
