/* Attention by blocks of keys: the same bits in one section and apart, on every array, with every tiling, on all engines;
 * close to whole rows' softmax, also where blocks are masked; and no scores in device memory. So are its gradients. */
#include "frontend/pipeline.h"
#include "tests/harness.h"
#include "tests/mapper/run_graph.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct model {
  const char *name, *text;
} model;

static const model models[] = {
    {"heads beside each other, 17 queries, 130 keys",
     "graph \"g\"\ninput %q: f32[2,17,15]\ninput %k: f32[2,130,15]\ninput %v: f32[2,130,15]\n"
     "const %scale: f32[] = [0.447213595]\n%q4 = Reshape(%q) shape=[2,17,3,5]\n"
     "%k4 = Reshape(%k) shape=[2,130,3,5]\n%v4 = Reshape(%v) shape=[2,130,3,5]\n"
     "%qt = Transpose(%q4) perm=[0,2,1,3]\n%kt = Transpose(%k4) perm=[0,2,3,1]\n"
     "%vt = Transpose(%v4) perm=[0,2,1,3]\n%s = MatMul(%qt, %kt) @0\n%scaled = Mul(%s, %scale) @1\n"
     "%p = Softmax(%scaled) axis=-1 @2\n%o = MatMul(%p, %vt) @3\n%y = Transpose(%o) perm=[0,2,1,3]\n"
     "output \"y\" %y: f32\n"},
    {"masks, a number and something behind, 300 keys",
     "graph \"g\"\ninput %q: f32[2,3,9,8]\ninput %k: f32[2,3,300,8]\ninput %v: f32[2,3,300,11]\n"
     "input %scale: f32[1]\ninput %padding: f32[2,1,1,300]\ninput %causal: f32[9,300]\n"
     "const %far: f32[] = [-10000.0]\nconst %zero: f32[] = [0.0]\n"
     "%visible = Greater(%padding, %zero) @2\n%kt = Transpose(%k) perm=[0,1,3,2]\n"
     "%s = MatMul(%q, %kt) @0\n%scaled = Mul(%s, %scale) @1\n%masked = Where(%visible, %scaled, %far) @3\n"
     "%later = Add(%masked, %causal) @4\n%p = Softmax(%later) axis=-1 @6\n"
     "%o = MatMul(%p, %v) @8\n%y = Tanh(%o) @9\noutput \"y\" %y: f32\n"},
    {"one product, values by columns, 192 keys",
     "graph \"g\"\ninput %q: f32[270,36]\ninput %k: f32[36,192]\ninput %v: f32[19,192]\n"
     "%vt = Transpose(%v) perm=[1,0]\n%s = MatMul(%q, %k) @0\n%p = Softmax(%s) axis=-1 @1\n"
     "%y = MatMul(%p, %vt) @2\noutput \"y\" %y: f32\n"},
    {"scores that are halved thrice, 150 keys",
     "graph \"g\"\ninput %q: f32[3,40,64]\ninput %k: f32[3,64,150]\ninput %v: f32[3,150,33]\n"
     "const %scale: f32[] = [0.125]\n%s = MatMul(%q, %k) @0\n%scaled = Mul(%s, %scale) @1\n"
     "%p = Softmax(%scaled) axis=-1 @2\n%y = MatMul(%p, %v) @3\noutput \"y\" %y: f32\n"},
    {"rows by two, 256 keys",
     "graph \"g\"\ninput %q: f32[4,130,32]\ninput %k: f32[4,32,256]\ninput %v: f32[4,256,32]\n"
     "const %scale: f32[] = [0.176776695]\n%s = MatMul(%q, %k) @0\n%scaled = Mul(%s, %scale) @1\n"
     "%p = Softmax(%scaled) axis=-1 @2\n%y = MatMul(%p, %v) @3\noutput \"y\" %y: f32\n"},
    {"rows by two, a mask, 128 keys",
     "graph \"g\"\ninput %q: f32[2,67,8]\ninput %k: f32[2,8,128]\ninput %v: f32[2,128,16]\n"
     "input %m: f32[67,128]\n%s = MatMul(%q, %k) @0\n%masked = Add(%s, %m) @1\n"
     "%p = Softmax(%masked) axis=-1 @2\n%y = MatMul(%p, %v) @3\noutput \"y\" %y: f32\n"},
    {"a key and a value for all, 70 keys",
     "graph \"g\"\ninput %q: f32[5,3,33,4]\ninput %k: f32[4,70]\ninput %v: f32[5,1,70,3]\n"
     "%s = MatMul(%q, %k) @3\n%n = Neg(%s) @4\n%p = Softmax(%n) axis=-1 @5\n"
     "%y = MatMul(%p, %v) @7\noutput \"y\" %y: f32\n"},
    {"scores that others read, 100 keys",
     "graph \"g\"\ninput %q: f32[2,7,6]\ninput %k: f32[2,100,6]\ninput %v: f32[2,100,6]\n"
     "%kt = Transpose(%k) perm=[0,2,1]\n%s = MatMul(%q, %kt) @0\n%p = Softmax(%s) axis=-1 @1\n"
     "%y = MatMul(%p, %v) @2\noutput \"y\" %y: f32\noutput \"s\" %s: f32\n"},
};
enum { SCORES_ARE_READ = 7 };

typedef struct place {
  const char *name, *arch, *settings[4];
  tg_map_options map;
  bool systemc;
} place;
/* The products, and attention of scores that are loaded. */
static const place apart = {"apart", "edge", {NULL}, {.seed = 1, .opt = TG_OPT_LEVEL_NONE}, false};
static const place places[] = {
    {"edge", "edge", {NULL}, {.seed = 1}, false},
    {"tiny", "tiny", {NULL}, {.seed = 1}, false},
    {"rack", "rack", {"rows=5", "cols=3", NULL}, {.seed = 1}, false},
    {"1 x 3", "tiny", {"rows=1", "cols=3", "bank_bytes=8192", NULL}, {.seed = 1}, false},
    {"one tile, P = 2", "edge", {"rows=1", "cols=1", "p=2", NULL}, {.seed = 1}, false},
    {"any tiling", "edge", {"fma_latency=7", NULL}, {.seed = 1, .any_tiling = 5}, false},
    {"another tiling", "edge", {"acc_bytes=16384", NULL}, {.seed = 1, .any_tiling = 6}, false},
#ifdef TEGULA_WITH_SYSTEMC
    {"SystemC", "edge", {"rows=2", "cols=3", NULL}, {.seed = 1}, true},
#endif
};

/* Does a section compute the scores as well? */
static bool is_whole(const tg_program *program) {
  for (uint32_t s = 0; s < program->section_count; s++)
    if (strstr(program->sections[s].name, "BlockedAttention") && strstr(program->sections[s].name, "MatMul"))
      return true;
  return false;
}

/* The outputs' bytes, on the arena; and do they agree with the reference? */
static const void *run(const char *name, const char *text, const place *p, tg_precision_preset preset,
                       int block, tg_arena *arena, size_t *out_bytes, bool *out_whole) {
  tg_diag diag = {""};
  mapped run;
  run_case what = {.text = text,
                   .arch = p->arch,
                   .precision = {.preset = preset, .attention_block = block},
                   .map = p->map,
                   .run = {.threads = 1, .seed = 1}};
#ifdef TEGULA_WITH_SYSTEMC
  if (p->systemc) what.engine = &tg_engine_systemc;
#endif
  memcpy(what.settings, p->settings, sizeof p->settings);
  const void *copy = NULL;
  if (run_text(&what, &run, arena, &diag) ||
      !outputs_agree(&run, preset == TG_PRESET_MP0 ? 2e-6 : 0.02, &diag)) {
    tg_test_fail(__FILE__, __LINE__, "%s, mp%d on %s: %s", name, (int)preset, p->name, diag.message);
  } else {
    copy = copy_outputs(&run, arena, out_bytes);
    *out_whole = is_whole(run.program);
  }
  release_mapped(&run);
  return copy;
}

static void check(size_t index, tg_precision_preset preset, size_t count) {
  const model *m = &models[index];
  tg_arena arena = {0};
  size_t bytes, got_bytes;
  bool whole = true;
  const void *want = run(m->name, m->text, &apart, preset, 64, &arena, &bytes, &whole);
  EXPECT(!whole);
  for (size_t p = 0; p < count && want; p++) {
    const void *got = run(m->name, m->text, &places[p], preset, 64, &arena, &got_bytes, &whole);
    if (got && (got_bytes != bytes || memcmp(got, want, bytes) != 0))
      tg_test_fail(__FILE__, __LINE__, "%s, mp%d on %s: other bits than apart", m->name, (int)preset,
                   places[p].name);
    if (got && whole == (index == SCORES_ARE_READ))
      tg_test_fail(__FILE__, __LINE__, "%s, mp%d on %s: is %s section", m->name, (int)preset, places[p].name,
                   whole ? "one" : "not one");
  }
  tg_arena_release(&arena);
}

TG_TEST(blocked_attention, has_the_same_bits_everywhere) {
  for (size_t i = 0; i < sizeof models / sizeof *models; i++) {
    check(i, TG_PRESET_MP0, sizeof places / sizeof *places);
    check(i, TG_PRESET_MP1, sizeof places / sizeof *places);
    check(i, TG_PRESET_MP3, 2);
    check(i, TG_PRESET_MP4, 2);
  }
}

/* Queries, keys and a mask: 0, or `far` where hidden. */
typedef bool is_hidden(int query, int key);
enum { QUERIES = 10, KEYS = 270 };

static char *masked_model(is_hidden *hidden, const char *far) {
  char *text = NULL;
  size_t size;
  FILE *out = open_memstream(&text, &size);
  fprintf(out, "graph \"g\"\ninput %%q: f32[2,%d,8]\ninput %%k: f32[2,8,%d]\ninput %%v: f32[2,%d,6]\n",
          QUERIES, KEYS, KEYS);
  fprintf(out, "const %%m: f32[%d,%d] = [", QUERIES, KEYS);
  for (int i = 0; i < QUERIES * KEYS; i++)
    fprintf(out, "%s%s", i ? "," : "", hidden(i / KEYS, i % KEYS) ? far : "0.0");
  fputs(
      "]\n%s = MatMul(%q, %k) @0\n%a = Add(%s, %m) @1\n%p = Softmax(%a) axis=-1 @2\n%y = MatMul(%p, %v) @3\n"
      "output \"y\" %y: f32\n",
      out);
  fclose(out);
  return text;
}

/* The first blocks of some rows, the last ones of others, and single keys. */
static bool window(int query, int key) { return key < 64 * (query % 5) || key > 250 - 20 * query; }
static bool causal(int query, int key) { return key > query * 30; }
static bool all_of_row_3(int query, int key) { return query == 3 || key % 7 == 0; }

/* As whole rows of fp32 are, to the roundings that each does; NaN where that is NaN. */
static void expect_close(const float *blocked, const float *exact, size_t bytes, const char *name) {
  for (size_t i = 0; i < bytes / sizeof(float); i++) {
    bool close = isnan(exact[i]) ? isnan(blocked[i]) : fabsf(blocked[i] - exact[i]) <= 2e-6f;
    if (close) continue;
    tg_test_fail(__FILE__, __LINE__, "%s: element %zu is %g by blocks, %g by rows", name, i,
                 (double)blocked[i], (double)exact[i]);
    return;
  }
}

TG_TEST(blocked_attention, masks_hide_what_they_hide_from_rows) {
  static const struct {
    const char *name, *far;
    is_hidden *hidden;
  } masks[] = {{"a window, -inf", "-inf", window},
               {"a window, -1e9", "-1e9", window},
               {"a window, the least number", "-3.4028234663852886e38", window},
               {"causal", "-inf", causal},
               {"a row without keys", "-inf", all_of_row_3},
               {"a row of the least number", "-3.4028234663852886e38", all_of_row_3}};
  for (size_t i = 0; i < sizeof masks / sizeof *masks; i++) {
    tg_arena arena = {0};
    size_t bytes = 0, exact_bytes = 0;
    bool whole;
    char *text = masked_model(masks[i].hidden, masks[i].far);
    const void *exact = run(masks[i].name, text, &places[0], TG_PRESET_MP0, 0, &arena, &exact_bytes, &whole),
               *blocked = run(masks[i].name, text, &places[0], TG_PRESET_MP0, 64, &arena, &bytes, &whole);
    if (exact && blocked) {
      EXPECT_EQ(bytes, exact_bytes);
      EXPECT(whole);
      expect_close(blocked, exact, bytes, masks[i].name);
    }
    free(text);
    tg_arena_release(&arena);
  }
}

/* Attention and its gradients, as a training step has them: of scores that have a scale and perhaps masks; 300 keys are two
 * blocks of gradients, of which the second is shorter. */
static const char gradients[] =
    "graph \"g\"\ninput %q: f32[2,20,8]\ninput %k: f32[2,300,8]\ninput %v: f32[2,300,5]\ninput %g: "
    "f32[2,20,5]\n"
    "input %m: f32[20,300]\nconst %scale: f32[] = [0.35355339]\n"
    "%kt = Transpose(%k) perm=[0,2,1]\n%s = MatMul(%q, %kt) @0\n%scaled = Mul(%s, %scale) @1\n"
    "%masked = Add(%scaled, %m) @2\n%p = Softmax(%masked) axis=-1 @3\n%y = MatMul(%p, %v) @4\n"
    "%vt = Transpose(%v) perm=[0,2,1] @5 forward=4:-1\n%dp = MatMul(%g, %vt) @6 forward=4:0\n"
    "%pt = Transpose(%p) perm=[0,2,1] @7 forward=4:-1\n%dv = MatMul(%pt, %g) @8 forward=4:1\n"
    "%w = Mul(%dp, %p) @9 forward=3:-1\n%r = ReduceSum(%w) axes=[2] keepdims=1 @10 forward=3:-1\n"
    "%u = Sub(%dp, %r) @11 forward=3:-1\n%ds = Mul(%p, %u) @12 forward=3:0\n"
    "%dx = Mul(%ds, %scale) @13 forward=1:0\n%kk = Transpose(%kt) perm=[0,2,1] @14 forward=0:-1\n"
    "%dq = MatMul(%dx, %kk) @15 forward=0:0\n%qt = Transpose(%q) perm=[0,2,1] @16 forward=0:-1\n"
    "%dk = MatMul(%qt, %dx) @17 forward=0:1\n"
    "output \"y\" %y: f32\noutput \"dq\" %dq: f32\noutput \"dk\" %dk: f32\noutput \"dv\" %dv: f32\n";

/* The largest tensor that is neither an input nor an output, in elements, and all useful multiply-adds. */
static void count(const char *text, int block, uint64_t *out_largest, uint64_t *out_macs) {
  tg_arena arena = {0};
  tg_diag diag = {""};
  mapped run;
  *out_largest = *out_macs = 0;
  run_case what = {.text = text,
                   .arch = "edge",
                   .precision = {.preset = TG_PRESET_MP1, .attention_block = block},
                   .map = {.seed = 1}};
  if (map_text(&what, &run, &arena, &diag)) tg_test_fail(__FILE__, __LINE__, "%s", diag.message);
  for (uint32_t t = 0; run.program && t < run.program->tensor_count; t++) {
    const tg_dram_tensor *tensor = &run.program->tensors[t];
    uint64_t elements = 1;
    for (uint32_t d = 0; d < tensor->rank; d++) elements *= (uint64_t)tensor->dims[d];
    if (tensor->role != TG_ROLE_INPUT && tensor->role != TG_ROLE_OUTPUT && elements > *out_largest)
      *out_largest = elements;
  }
  for (uint32_t i = 0; run.program && i < run.program->invocation_count; i++)
    for (int f = 0; f < TG_FMT_COUNT; f++) *out_macs += run.program->invocations[i].macs[f];
  release_mapped(&run);
  tg_arena_release(&arena);
}

TG_TEST(blocked_attention, gradients_have_the_same_bits_everywhere) {
  for (int preset = TG_PRESET_MP0; preset <= TG_PRESET_MP4; preset++) {
    tg_arena arena = {0};
    size_t bytes, got_bytes;
    bool whole;
    const void *want =
        run("gradients", gradients, &apart, (tg_precision_preset)preset, 64, &arena, &bytes, &whole);
    for (size_t p = 0; p < (preset < TG_PRESET_MP2 ? sizeof places / sizeof *places : 2) && want; p++) {
      const void *got = run("gradients", gradients, &places[p], (tg_precision_preset)preset, 64, &arena,
                            &got_bytes, &whole);
      if (got && (!whole || got_bytes != bytes || memcmp(got, want, bytes) != 0))
        tg_test_fail(__FILE__, __LINE__, "mp%d on %s: %s", preset, places[p].name,
                     whole ? "other bits than apart" : "not one section");
    }
    tg_arena_release(&arena);
  }
}

TG_TEST(blocked_attention, gradients_are_those_of_whole_rows) {
  tg_arena arena = {0};
  size_t bytes, exact_bytes;
  bool whole;
  const void *exact = run("gradients", gradients, &places[0], TG_PRESET_MP0, 0, &arena, &exact_bytes, &whole),
             *blocked = run("gradients", gradients, &places[0], TG_PRESET_MP0, 64, &arena, &bytes, &whole);
  ASSERT(exact && blocked);
  EXPECT(whole);
  EXPECT_EQ(bytes, exact_bytes);
  expect_close(blocked, exact, bytes, "gradients");
  tg_arena_release(&arena);
}

/* Six products of queries and keys, three of them over 8 numbers, three over 5: scores that are computed anew are of no
 * use. */
TG_TEST(blocked_attention, gradients_need_no_whole_rows_in_memory) {
  uint64_t exact, blocked, exact_macs, blocked_macs, pairs = 2 * 20 * 300;
  count(gradients, 0, &exact, &exact_macs);
  count(gradients, 64, &blocked, &blocked_macs);
  EXPECT(exact >= pairs);
  EXPECT(blocked <= 2 * 20 * 256);
  EXPECT_EQ(exact_macs, pairs * (3 * 8 + 3 * 5));
  EXPECT_EQ(blocked_macs, exact_macs);
}

static void hear(void *user, bool warning, const char *line) {
  EXPECT(warning);
  snprintf(user, 512, "%s", line);
}

/* What asking for blocks does not change is told, with the reason: nothing where it changes all there is. */
TG_TEST(blocked_attention, what_stays_whole_is_told) {
  static const struct {
    int block;
    tg_tiling_accum accum;
    const char *columns, *middle, *behind, *want;
  } cases[] = {
      {64, TG_ACCUM_FP32, "19", "Mul(%p, %p)", "", "something stands between the softmax and the product"},
      {64, TG_ACCUM_FP32, "19", "Identity(%p)", "output \"p\" %p: f32\n", "something else reads the weights"},
      {64, TG_ACCUM_FP32, "300", "Identity(%p)", "", "values have more columns than a block can"},
      {192, TG_ACCUM_FP32, "19", "Identity(%p)", "", "rows have no more keys than a block"},
      {64, TG_ACCUM_BF16SR, "19", "Identity(%p)", "", "has no effect with --tiling-accum bf16sr"},
      {64, TG_ACCUM_FP32, "19", "Identity(%p)", "", ""},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    tg_arena arena = {0};
    tg_diag diag = {""};
    mapped run;
    char text[512], heard[512] = "";
    snprintf(text, sizeof text,
             "graph \"g\"\ninput %%x: f32[7,192]\ninput %%v: f32[192,%s]\n%%p = Softmax(%%x) axis=-1 @0\n"
             "%%w = %s @1\n%%y = MatMul(%%w, %%v) @2\noutput \"y\" %%y: f32\n%s",
             cases[i].columns, cases[i].middle, cases[i].behind);
    run_case what = {.text = text,
                     .arch = "edge",
                     .precision = {.attention_block = cases[i].block,
                                   .tiling_accum = cases[i].accum,
                                   .k_tile = 128,
                                   .log = hear,
                                   .log_user = heard},
                     .map = {.seed = 1}};
    if (map_text(&what, &run, &arena, &diag)) tg_test_fail(__FILE__, __LINE__, "%s", diag.message);
    EXPECT_HAS(heard, cases[i].want);
    EXPECT_EQ(!*heard, !*cases[i].want);
    release_mapped(&run);
    tg_arena_release(&arena);
  }
}

/* Long rows, whose scores exact attention has in memory. */
TG_TEST(blocked_attention, scores_stay_on_the_chip) {
  static const char text[] =
      "graph \"g\"\ninput %q: f32[16,2048,64]\ninput %k: f32[16,64,2048]\ninput %v: f32[16,2048,64]\n"
      "%s = MatMul(%q, %k) @0\n%p = Softmax(%s) axis=-1 @2\n%y = MatMul(%p, %v) @3\noutput \"y\" %y: f32\n";
  for (int preset = TG_PRESET_MP0; preset <= TG_PRESET_MP1; preset++) {
    tg_arena arena = {0};
    tg_diag diag = {""};
    mapped run;
    run_case what = {
        .text = text,
        .arch = "edge",
        .precision = {.preset = (tg_precision_preset)preset, .attention_block = TG_ATTENTION_BLOCK},
        .map = {.seed = 1}};
    if (map_text(&what, &run, &arena, &diag)) {
      tg_test_fail(__FILE__, __LINE__, "%s", diag.message);
    } else {
      for (uint32_t t = 0; t < run.program->tensor_count; t++) {
        const tg_dram_tensor *tensor = &run.program->tensors[t];
        EXPECT(tensor->rank != 3 || tensor->dims[1] * tensor->dims[2] < 2048 * 2048);
      }
    }
    release_mapped(&run);
    tg_arena_release(&arena);
  }
}
