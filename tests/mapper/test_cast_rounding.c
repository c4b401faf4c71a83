/* Casts that round stochastically, behind every kind of kernel: what the machine leaves is what it leaves
 * without the cast, rounded by the definition of docs/numerics.md at each element's place in its tensor. That
 * knows no architecture, so equal bits on several show that results depend on none. Where the operators
 * before the cast are exact, the frontend's evaluator has the same bits. */
#include "frontend/base/float_formats.h"
#include "frontend/base/stochastic.h"
#include "frontend/reference.h"
#include "tests/harness.h"
#include "tests/mapper/run_graph.h"

#include <stdio.h>
#include <stdlib.h>

enum { SEED = 91, NODE = 40 };

typedef struct rounded {
  const char *name, *text; /* up to the value %r that is cast */
  bool exact;              /* the evaluator has the bits of %r */
} rounded;

static const rounded cases[] = {
    {"one_run", "input %x: f32[1001]\ninput %y: f32[1001]\n%r = Sub(%x, %y) @1\n", true},
    {"one", "input %x: f32[1]\n%r = Neg(%x) @1\n", true},
    {"rows_of_three", "input %x: f32[5,2,3,3]\ninput %y: f32[5,2,3,3]\n%r = Mul(%x, %y) @1\n", true},
    {"broadcast", "input %x: f32[3,5,2,37]\ninput %y: f32[5,1,37]\n%r = Add(%x, %y) @1\n", true},
    {"six_dimensions",
     "input %x: f32[2,3,2,3,2,5]\ninput %y: f32[3,1,3,1,5]\ninput %z: f32[2,1,2,1,2,1]\n"
     "%s = Add(%x, %y) @1\n%r = Mul(%s, %z) @2\n",
     true},
    {"cast_alone", "input %r: f32[9,300]\n", true},
    {"long_rows", "input %x: f32[3,5000]\ninput %y: f32[3,1]\n%r = Mul(%x, %y) @1\n", true},
    {"product", "input %a: f32[150,29]\ninput %b: f32[29,70]\n%r = MatMul(%a, %b) @1\n", true},
    {"products", "input %a: f32[3,5,40]\ninput %b: f32[3,40,6]\n%r = MatMul(%a, %b) @1\n", true},
    {"product_and_bias",
     "input %a: f32[17,13]\ninput %b: f32[13,17]\ninput %c: f32[17]\n%p = MatMul(%a, %b) @1\n"
     "%r = Add(%p, %c) @2\n",
     true},
    {"sum_of_partial_products",
     "input %a: f32[37,130]\ninput %b: f32[130,41]\n%r = MatMul(%a, %b) partials=5 @1\n", false},
    {"conv",
     "input %x: f32[1,6,6,6]\ninput %w: f32[8,3,3,3]\n"
     "%r = Conv(%x, %w) kernel_shape=[3,3] group=2 pads=[1,1,1,1] @1\n",
     true},
    {"conv_transpose",
     "input %x: f32[1,3,5,4]\ninput %w: f32[3,6,3,3]\n"
     "%r = ConvTranspose(%x, %w) kernel_shape=[3,3] strides=[2,2] @1\n",
     false},
    {"softmax", "input %x: f32[19,70]\n%r = Softmax(%x) axis=-1 @1\n", false},
    {"softmax_of_full_rows", "input %x: f32[33,64]\n%r = Softmax(%x) axis=-1 @1\n", false},
    {"layer_normalization", "input %x: f32[7,45]\ninput %s: f32[45]\n%r = LayerNormalization(%x, %s) @1\n",
     false},
    {"max_pool", "input %x: f32[1,5,7,6]\n%r = MaxPool(%x) kernel_shape=[2,2] strides=[2,2] @1\n", true},
    {"gelu", "input %x: f32[11,13]\n%r = Gelu(%x) @1\n", false},
};

typedef struct array {
  const char *name, *arch, *settings[4];
  const tg_engine *engine;
} array;

static const array arrays[] = {
    {"tiny", "tiny", {NULL}, NULL},
    {"edge", "edge", {NULL}, NULL},
    {"1x3", "tiny", {"rows=1", "cols=3", NULL}, NULL},
    {"3x1 of 2 x 2, latency 3", "tiny", {"rows=3", "cols=1", "p=2", "fma_latency=3"}, NULL},
#ifdef TEGULA_WITH_SYSTEMC
    {"tiny on SystemC", "tiny", {NULL}, &tg_engine_systemc},
#endif
};
enum { ARRAYS = sizeof arrays / sizeof *arrays };

/* The case on an array in one step; with the cast, or %r itself. */
static tg_status run_case_on(const rounded *c, const array *on, uint32_t step, bool cast, mapped *out,
                             tg_arena *arena, tg_diag *diag) {
  char text[800];
  snprintf(text, sizeof text, "graph \"g\"\n%s%s%soutput \"y\" %s: %s\n", c->text,
           cast ? "%rounded = Cast(%r) to=bf16 stochastic=1 @40\n" : "",
           !cast && !strcmp(c->name, "cast_alone") ? "%i = Neg(%r) @2\n%q = Neg(%i) @3\n" : "",
           cast                             ? "%rounded"
           : !strcmp(c->name, "cast_alone") ? "%q"
                                            : "%r",
           cast ? "bf16" : "f32");
  run_case what = {.text = text,
                   .arch = on->arch,
                   .map = {.seed = SEED},
                   .run = {.threads = 1, .seed = SEED, .step = step},
                   .engine = on->engine};
  memcpy(what.settings, on->settings, sizeof on->settings);
  return run_text(&what, out, arena, diag);
}

static uint16_t by_definition(uint32_t value, uint32_t step, size_t element) {
  uint32_t key = tg_sr_tile_key(tg_sr_key(SEED, step, NODE), 0);
  return tg_bf16_stochastic(value, tg_sr_r16(tg_sr_row_hash(key, 0), tg_sr_col_hash(key, (uint32_t)element)));
}

static void compare_with_definition(const uint16_t *got, const uint32_t *wide, size_t count, uint32_t step,
                                    tg_diag *diag) {
  size_t apart = 0;
  for (size_t i = 0; i < count; i++) {
    uint16_t want = by_definition(wide[i], step, i);
    apart += want != tg_bf16_from_f32(wide[i]);
    if (got[i] == want) continue;
    tg_fail(diag, TG_MISMATCH, "element %zu of %08x is %04x, the definition has %04x", i, wide[i], got[i],
            want);
    return;
  }
  if (count > 100 && apart < count / 8)
    tg_fail(diag, TG_MISMATCH, "only %zu of %zu differ from rounding to nearest", apart, count);
}

static void compare_with_evaluator(const mapped *m, const uint16_t *got, size_t count, uint32_t step,
                                   tg_arena *arena, tg_diag *diag) {
  uint16_t *want = TG_NEW_ARRAY(arena, uint16_t, count + 1);
  tg_reference_run_drawing(m->graph, &(tg_reference_draw){SEED, step}, m->inputs, (void *[]){want});
  for (size_t i = 0; i < count && !diag->message[0]; i++)
    if (got[i] != want[i])
      tg_fail(diag, TG_MISMATCH, "element %zu is %04x, the evaluator has %04x", i, got[i], want[i]);
}

static void check_on(const rounded *c, const array *on, uint32_t step) {
  tg_diag diag = {""};
  tg_arena arena = {0};
  mapped wide = {0}, narrow = {0};
  size_t bytes;
  if (!run_case_on(c, on, step, false, &wide, &arena, &diag) &&
      !run_case_on(c, on, step, true, &narrow, &arena, &diag)) {
    const uint16_t *got = output_of(&narrow, 0, &bytes);
    compare_with_definition(got, output_of(&wide, 0, NULL), bytes / 2, step, &diag);
    if (c->exact && !diag.message[0]) compare_with_evaluator(&narrow, got, bytes / 2, step, &arena, &diag);
  }
  if (diag.message[0]) tg_test_fail(__FILE__, __LINE__, "%s, step %u: %s", on->name, step, diag.message);
  release_mapped(&wide);
  release_mapped(&narrow);
  tg_arena_release(&arena);
}

static void check(const void *user) {
  for (int a = 0; a < ARRAYS; a++)
    for (uint32_t step = 0; step <= 7; step += 7) check_on(user, &arrays[a], step);
}

/* Two casts of one value are two, and what reads them gets what they stored. */
TG_TEST(cast_rounding, casts_stay_apart_and_are_read_as_stored) {
  static const char text[] =
      "graph \"g\"\ninput %x: f32[33,19]\ninput %y: f32[33,19]\n%s = Mul(%x, %y) @1\n"
      "%a = Cast(%s) to=bf16 stochastic=1 @40\n%b = Cast(%s) to=bf16 stochastic=1 @41\n"
      "%t = Transpose(%a) perm=[1,0] @2\n%c = Cast(%t) to=f32 @3\n%d = Sigmoid(%c) @4\n"
      "%e = Cast(%d) to=bf16 stochastic=1 @42\n%f = Reshape(%b) shape=[627] @5\n"
      "output \"a\" %a: bf16\noutput \"f\" %f: bf16\noutput \"e\" %e: bf16\n";
  enum { COUNT = 33 * 19 };
  tg_diag diag = {""};
  tg_arena arena = {0};
  mapped m;
  run_case what = {.text = text, .arch = "tiny", .map = {.seed = SEED}, .run = {.threads = 1, .seed = SEED}};
  EXPECT(!run_text(&what, &m, &arena, &diag));
  EXPECT_STR(diag.message, "");
  if (!diag.message[0]) {
    uint16_t want[3][COUNT];
    tg_reference_run_drawing(m.graph, &(tg_reference_draw){SEED, 0}, m.inputs,
                             (void *[]){want[0], want[1], want[2]});
    for (int o = 0; o < 2; o++) EXPECT(!memcmp(output_of(&m, o, NULL), want[o], sizeof want[o]));
    EXPECT(memcmp(want[0], want[1], sizeof want[0]));
    int differ = 0; /* where the evaluator's sigmoid has other bits, a few round another way */
    for (int i = 0; i < COUNT; i++) differ += ((const uint16_t *)output_of(&m, 2, NULL))[i] != want[2][i];
    EXPECT(differ <= 2);
  }
  release_mapped(&m);
  tg_arena_release(&arena);
}

/* A parameter in BF16 and its momentum in FP32, updated in one pass: one of two results is rounded. */
TG_TEST(cast_rounding, one_of_two_results) {
  static const char text[] =
      "graph \"g\"\ninput %p: bf16[21,3,3]\ninput %g: f32[21,3,3]\ninput %m: f32[21,3,3]\n"
      "const %b: f32[] = [0.9]\nconst %r: f32[] = [0.01]\n%s = Mul(%m, %b) @1\n%n = Add(%s, %g) @2\n"
      "%d = Mul(%n, %r) @3\n%w = Cast(%p) to=f32 @4\n%q = Sub(%w, %d) @5\n"
      "%o = Cast(%q) to=bf16 stochastic=1 @40\noutput \"m\" %n: f32\noutput \"p\" %o: bf16\n";
  enum { COUNT = 21 * 9 };
  for (int a = 0; a < ARRAYS; a++) {
    tg_diag diag = {""};
    tg_arena arena = {0};
    mapped m;
    run_case what = {.text = text,
                     .arch = arrays[a].arch,
                     .map = {.seed = SEED},
                     .run = {.threads = 1, .seed = SEED, .step = 2},
                     .engine = arrays[a].engine};
    memcpy(what.settings, arrays[a].settings, sizeof arrays[a].settings);
    EXPECT(!run_text(&what, &m, &arena, &diag));
    EXPECT_STR(diag.message, "");
    if (!diag.message[0]) {
      float n[COUNT];
      uint16_t o[COUNT];
      tg_reference_run_drawing(m.graph, &(tg_reference_draw){SEED, 2}, m.inputs, (void *[]){n, o});
      EXPECT_EQ(m.program->invocation_count, 1);
      EXPECT(!memcmp(output_of(&m, 0, NULL), n, sizeof n));
      EXPECT(!memcmp(output_of(&m, 1, NULL), o, sizeof o));
    }
    release_mapped(&m);
    tg_arena_release(&arena);
  }
}

__attribute__((constructor)) static void register_cases(void) {
  for (size_t c = 0; c < sizeof cases / sizeof *cases; c++)
    tg_test_register_row("cast_rounding", cases[c].name, __FILE__, __LINE__, check, &cases[c]);
}
