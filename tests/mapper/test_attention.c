/* Attention as one section: the bits of the three kernels that it replaces, on every array, in every
 * precision; no scores and no weights in device memory; and when it is refused. */
#include "frontend/pipeline.h"
#include "runtime/zoo.h"
#include "tests/harness.h"
#include "tests/mapper/run_graph.h"

#include <stdio.h>
#include <string.h>

typedef struct model {
  const char *name, *text;
} model;

static const model models[] = {
    {"heads beside each other, 17 queries, 13 keys",
     "graph \"g\"\ninput %q: f32[2,17,15]\ninput %k: f32[2,13,15]\ninput %v: f32[2,13,15]\n"
     "const %scale: f32[] = [0.447213595]\n%q4 = Reshape(%q) shape=[2,17,3,5]\n"
     "%k4 = Reshape(%k) shape=[2,13,3,5]\n%v4 = Reshape(%v) shape=[2,13,3,5]\n"
     "%qt = Transpose(%q4) perm=[0,2,1,3]\n%kt = Transpose(%k4) perm=[0,2,3,1]\n"
     "%vt = Transpose(%v4) perm=[0,2,1,3]\n%s = MatMul(%qt, %kt) @0\n%scaled = Mul(%s, %scale) @1\n"
     "%p = Softmax(%scaled) axis=-1 @2\n%o = MatMul(%p, %vt) @3\n%y = Transpose(%o) perm=[0,2,1,3]\n"
     "output \"y\" %y: f32\n"},
    {"masks, a number and something behind each step",
     "graph \"g\"\ninput %q: f32[2,3,9,8]\ninput %k: f32[2,3,40,8]\ninput %v: f32[2,3,40,11]\n"
     "input %scale: f32[1]\ninput %padding: f32[2,1,1,40]\ninput %causal: f32[9,40]\n"
     "const %far: f32[] = [-10000.0]\nconst %zero: f32[] = [0.0]\nconst %half: f32[] = [0.5]\n"
     "%visible = Greater(%padding, %zero) @2\n%kt = Transpose(%k) perm=[0,1,3,2]\n"
     "%s = MatMul(%q, %kt) @0\n%scaled = Mul(%s, %scale) @1\n%masked = Where(%visible, %scaled, %far) @3\n"
     "%later = Add(%masked, %causal) @4\n%p = Softmax(%later) axis=-1 @6\n%d = Mul(%p, %half) @7\n"
     "%o = MatMul(%d, %v) @8\n%y = Tanh(%o) @9\noutput \"y\" %y: f32\n"},
    {"a scale that is a power of two",
     "graph \"g\"\ninput %q: f32[3,21,16]\ninput %k: f32[3,16,37]\ninput %v: f32[3,37,5]\n"
     "const %scale: f32[] = [0.25]\n%s = MatMul(%q, %k) @0\n%t = Mul(%scale, %s) @1\n"
     "%p = Softmax(%t) axis=-1 @2\n%y = MatMul(%p, %v) @3\noutput \"y\" %y: f32\n"},
    {"a scale that divides",
     "graph \"g\"\ninput %q: f32[2,21,16]\ninput %k: f32[2,16,64]\ninput %v: f32[2,64,5]\n"
     "const %scale: f32[] = [3.3]\n%s = MatMul(%q, %k) @0\n%t = Div(%s, %scale) @1\n"
     "%p = Softmax(%t) axis=-1 @2\n%y = MatMul(%p, %v) @3\noutput \"y\" %y: f32\n"},
    {"a scale that turns the order over",
     "graph \"g\"\ninput %q: f32[2,21,16]\ninput %k: f32[2,16,40]\ninput %v: f32[2,40,5]\n"
     "const %scale: f32[] = [-0.25]\n%s = MatMul(%q, %k) @0\n%t = Mul(%s, %scale) @1\n"
     "%p = Softmax(%t) axis=-1 @2\n%y = MatMul(%p, %v) @3\noutput \"y\" %y: f32\n"},
    {"one product, values by columns",
     "graph \"g\"\ninput %q: f32[270,36]\ninput %k: f32[36,32]\ninput %v: f32[19,32]\n"
     "%vt = Transpose(%v) perm=[1,0]\n%s = MatMul(%q, %k) @0\n%p = Softmax(%s) axis=-1 @1\n"
     "%y = MatMul(%p, %vt) @2\noutput \"y\" %y: f32\n"},
    {"a key and a value for all",
     "graph \"g\"\ninput %q: f32[5,3,33,4]\ninput %k: f32[4,7]\ninput %v: f32[5,1,7,3]\n"
     "%s = MatMul(%q, %k) @3\n%n = Neg(%s) @4\n%p = Softmax(%n) axis=-1 @5\n%d = Add(%p, %p) @6\n"
     "%y = MatMul(%d, %v) @7\noutput \"y\" %y: f32\n"},
    {"rows in blocks",
     "graph \"g\"\ninput %q: f32[2,150,16]\ninput %k: f32[2,130,16]\ninput %v: f32[2,130,16]\n"
     "%kt = Transpose(%k) perm=[0,2,1]\n%s = MatMul(%q, %kt) @0\n%p = Softmax(%s) axis=-1 @2\n"
     "%y = MatMul(%p, %v) @3\noutput \"y\" %y: f32\n"},
};

typedef struct place {
  const char *name, *arch, *settings[4];
  bool systemc;
} place;
/* Without the semaphores that attention needs: three kernels. */
static const place apart = {"apart", "tiny", {"rows=1", "cols=1", "semaphores=10", NULL}, false};
static const place places[] = {
    {"tiny", "tiny", {NULL}, false},
    {"edge", "edge", {NULL}, false},
    {"rack", "rack", {"rows=5", "cols=3", NULL}, false},
    {"1 x 3", "tiny", {"rows=1", "cols=3", NULL}, false},
    {"one tile, P = 2", "tiny", {"rows=1", "cols=1", "p=2", NULL}, false},
    {"small accumulator", "tiny", {"acc_bytes=2048", "fma_latency=7", "cols=4", NULL}, false},
#ifdef TEGULA_WITH_SYSTEMC
    {"SystemC", "tiny", {"rows=3", NULL}, true},
#endif
};

static bool is_fused(const tg_program *program) {
  for (uint32_t s = 0; s < program->section_count; s++)
    if (strstr(program->sections[s].name, "Softmax") && strstr(program->sections[s].name, "MatMul"))
      return true;
  return false;
}

/* The output's bytes, copied to the arena. */
static const void *run(const model *m, const place *p, tg_precision_preset preset, tg_map_options map,
                       tg_arena *arena, size_t *out_bytes, bool *out_fused) {
  tg_diag diag = {""};
  mapped run;
  run_case what = {.text = m->text,
                   .arch = p->arch,
                   .precision.preset = preset,
                   .map = map,
                   .run = {.threads = 1, .seed = map.seed}};
#ifdef TEGULA_WITH_SYSTEMC
  if (p->systemc) what.engine = &tg_engine_systemc;
#endif
  memcpy(what.settings, p->settings, sizeof p->settings);
  const void *copy = NULL;
  if (run_text(&what, &run, arena, &diag)) {
    tg_test_fail(__FILE__, __LINE__, "%s on %s: %s", m->name, p->name, diag.message);
  } else {
    copy = copy_outputs(&run, arena, out_bytes);
    *out_fused = is_fused(run.program);
  }
  release_mapped(&run);
  return copy;
}

/* Everywhere the bits of three kernels; fused at least on `edge`. */
static void check(const model *m, tg_precision_preset preset, tg_map_options map) {
  tg_arena arena = {0};
  size_t bytes, got_bytes;
  bool fused = true;
  const void *want = run(m, &apart, preset, map, &arena, &bytes, &fused);
  EXPECT(!fused);
  for (size_t p = 0; p < (map.accum_bf16sr ? 2 : sizeof places / sizeof *places) && want; p++) {
    const void *got = run(m, &places[p], preset, map, &arena, &got_bytes, &fused);
    if (got && (got_bytes != bytes || memcmp(got, want, bytes) != 0))
      tg_test_fail(__FILE__, __LINE__, "%s, mp%d on %s: other bits than three kernels give", m->name,
                   (int)preset, places[p].name);
    if (!fused && p == 1 && got && !map.accum_bf16sr)
      tg_test_fail(__FILE__, __LINE__, "%s, mp%d on %s: is not one section", m->name, (int)preset,
                   places[p].name);
  }
  tg_arena_release(&arena);
}

TG_TEST(attention, has_the_bits_of_three_kernels) {
  static const tg_precision_preset presets[] = {TG_PRESET_MP0, TG_PRESET_MP1, TG_PRESET_MP3, TG_PRESET_MP4};
  for (size_t i = 0; i < sizeof models / sizeof *models; i++)
    for (int p = 0; p < 4; p++) check(&models[i], presets[p], (tg_map_options){.seed = 1});
}

TG_TEST(attention, rounds_at_k_tiles_as_three_kernels_do) {
  for (size_t i = 0; i < sizeof models / sizeof *models; i++) {
    check(&models[i], TG_PRESET_MP1, (tg_map_options){.seed = 7, .accum_bf16sr = true, .k_tile = 16});
    check(&models[i], TG_PRESET_MP0, (tg_map_options){.seed = 7, .accum_bf16sr = true, .k_tile = 12});
  }
}

/* A BERT layer's program for `edge`, with that memory device; NULL: it has failed. */
static tg_program *bert_layer(tg_precision_preset preset, int64_t batch, int64_t tokens, const char *device) {
  tg_arena arena = {0};
  tg_diag diag = {""};
  tg_graph *graph;
  tg_params params;
  tg_program *program = NULL;
  tg_frontend_options options;
  tg_frontend_defaults(&options);
  options.precision.preset = preset;
  if (tg_params_load("edge", &params, &diag) || tg_dram_device_load(device, NULL, &params.dram, &diag) ||
      tg_zoo_build(&arena, "bert-layer", &(tg_zoo_options){.batch = batch, .seq = tokens}, &graph, &diag) ||
      tg_frontend_lower(graph, &options, &diag) ||
      tg_map(graph, &params, &(tg_map_options){.seed = 1}, &program, &diag))
    tg_test_fail(__FILE__, __LINE__, "%s", diag.message);
  tg_arena_release(&arena);
  return program;
}

/* Tensors of a BERT layer's program that hold a number for each query and key. */
static int score_tensors(tg_precision_preset preset, int64_t batch) {
  tg_program *program = bert_layer(preset, batch, 128, "lpddr5-6400");
  int count = program ? 0 : -1;
  for (uint32_t t = 0; program && t < program->tensor_count; t++) {
    const tg_dram_tensor *tensor = &program->tensors[t];
    count += tensor->rank == 4 && tensor->dims[2] == 128 && tensor->dims[3] == 128;
  }
  tg_program_destroy(program);
  return count;
}

TG_TEST(attention, scores_of_a_bert_layer_stay_on_the_chip) {
  for (int preset = 0; preset < TG_PRESET_COUNT; preset++) {
    EXPECT_EQ(score_tensors((tg_precision_preset)preset, 1), 0);
    EXPECT_EQ(score_tensors((tg_precision_preset)preset, 8), 0);
  }
}

/* Estimated cycles of the section that makes the values of all heads. */
static double attention_cycles(const char *device) {
  tg_program *program = bert_layer(TG_PRESET_MP1, 8, 512, device);
  double cycles = 0;
  for (uint32_t i = 0; program && i < program->invocation_count; i++)
    if (strstr(program->invocations[i].name, "context"))
      cycles += (double)program->invocations[i].estimated_cycles;
  tg_program_destroy(program);
  return cycles;
}

/* Of 512 tokens the fastest tiling without a device reads twelve times what it has to, which a device has no time for. */
TG_TEST(attention, tilings_know_a_memory_device) {
  double ports = attention_cycles("simple"), device = attention_cycles("lpddr5-6400");
  EXPECT(ports > 0 && device > ports && device < 1.2 * ports);
}
