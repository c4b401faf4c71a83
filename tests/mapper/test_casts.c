/* No cast is a kernel of its own where a neighbour can take it, unless that is faster: graphs with casts in
 * every place, under every policy, and how many sections only cast. Where some must, the graph says why.
 * Their values are compared with the evaluator. */
#include "frontend/text.h"
#include "tests/harness.h"
#include "tests/mapper/run_graph.h"

#include <stdio.h>
#include <string.h>

/* A product with a residual: what is added back is cast for the product too. */
static const char residual[] = "graph \"residual\"\n"
                               "input %x: f32[9,16]\n"
                               "const %w: f32[16,16] = seeded(1, 0.25)\n"
                               "%h = MatMul(%x, %w) @0 \"fc\"\n"
                               "%r = Relu(%h) @1 \"relu\"\n"
                               "%a = Add(%r, %x) @2 \"add\"\n"
                               "%b = Mul(%a, %x) @3 \"mul\"\n"
                               "output \"b\" %b: none\n";

/* One value for three readers, which policies want in different formats. */
static const char shared[] = "graph \"shared\"\n"
                             "input %x: f32[7,12]\n"
                             "const %w: f32[12,5] = seeded(1, 0.25)\n"
                             "%t = Tanh(%x) @0 \"tanh\"\n"
                             "%h = MatMul(%t, %w) @1 \"fc\"\n"
                             "%r = Relu(%t) @2 \"relu\"\n"
                             "%m = Mul(%t, %t) @3 \"square\"\n"
                             "%d = Div(%r, %m) @4 \"div\"\n"
                             "output \"h\" %h: none\n"
                             "output \"d\" %d: none\n";

static const char attention[] = "graph \"attention\"\n"
                                "input %q: f32[2,5,8]\n"
                                "input %k: f32[2,8,5]\n"
                                "input %v: f32[2,5,8]\n"
                                "input %mask: f32[5,5]\n"
                                "const %root: f32[] = [2.8284271247]\n"
                                "%s = MatMul(%q, %k) @0 \"scores\"\n"
                                "%d = Div(%s, %root) @1 \"scaled\"\n"
                                "%m = Add(%d, %mask) @2 \"masked\"\n"
                                "%p = Softmax(%m) @3 \"softmax\"\n"
                                "%o = MatMul(%p, %v) @4 \"context\"\n"
                                "output \"o\" %o: none\n";

static const char convolution[] = "graph \"convolution\"\n"
                                  "input %x: f32[1,4,6,6]\n"
                                  "const %w: f32[4,4,3,3] = seeded(1, 0.25)\n"
                                  "const %scale: f32[4] = seeded(2, 1)\n"
                                  "const %bias: f32[4] = seeded(3, 1)\n"
                                  "const %mean: f32[4] = seeded(4, 0.5)\n"
                                  "const %variance: f32[4] = [1, 2, 0.5, 1]\n"
                                  "%h = Conv(%x, %w) pads=[1,1,1,1] @0 \"conv\"\n"
                                  "%n = BatchNormalization(%h, %scale, %bias, %mean, %variance) @1 \"norm\"\n"
                                  "%r = LeakyRelu(%n) @2 \"relu\"\n"
                                  "%a = Add(%r, %h) @3 \"add\"\n"
                                  "%p = AveragePool(%a) kernel_shape=[2,2] @4 \"pool\"\n"
                                  "output \"p\" %p: none\n";

static const struct policy {
  const char *name;
  tg_precision_options precision;
} policies[] = {
    {"mp1", {.preset = TG_PRESET_MP1}},
    {"mp2", {.preset = TG_PRESET_MP2}},
    {"mp3", {.preset = TG_PRESET_MP3}},
    {"mp4", {.preset = TG_PRESET_MP4}},
    {"hmp", {.family = TG_FAMILY_HMP, .hmp_level = TG_HMP_O1}},
    {"hmp_o2", {.family = TG_FAMILY_HMP, .hmp_level = TG_HMP_O2}},
    {"autocast_cuda", {.family = TG_FAMILY_AUTOCAST, .device = TG_AUTOCAST_CUDA}},
    {"autocast_cpu", {.family = TG_FAMILY_AUTOCAST, .device = TG_AUTOCAST_CPU}},
    {"autocast_hpu", {.family = TG_FAMILY_AUTOCAST, .device = TG_AUTOCAST_HPU}},
    {"raf", {.family = TG_FAMILY_RAF}},
    {"tf32", {.matmul = TG_MATMUL_HIGH}},
};

/* A section's name begins with its operators, joined by plus signs. */
static bool only_casts(const char *name) {
  while (!strncmp(name, "Cast+", 5)) name += 5;
  return !strncmp(name, "Cast ", 5) || !strcmp(name, "Cast");
}

static int sections_that_cast(const tg_program *program) {
  int count = 0;
  for (uint32_t i = 0; i < program->invocation_count; i++) count += only_casts(program->invocations[i].name);
  return count;
}

/* `tolerance` 0: bit for bit. */
static void check(const char *text, double tolerance) {
  for (size_t p = 0; p < sizeof policies / sizeof *policies; p++) {
    tg_arena arena = {0};
    tg_diag diag = {""};
    mapped m;
    run_case what = {.text = text,
                     .arch = "tiny",
                     .precision = policies[p].precision,
                     .map = {.seed = 1},
                     .run = {.threads = 1, .seed = 1}};
    tg_status status = run_text(&what, &m, &arena, &diag);
    if (!status && sections_that_cast(m.program))
      tg_test_fail(__FILE__, __LINE__, "%s: %d sections only cast\n%s", policies[p].name,
                   sections_that_cast(m.program), tg_graph_print(m.graph, &arena));
    if (status || !outputs_agree(&m, tolerance, &diag))
      tg_test_fail(__FILE__, __LINE__, "%s: %s", policies[p].name, diag.message);
    release_mapped(&m);
    tg_arena_release(&arena);
  }
}

TG_TEST(casts, of_a_residual_have_no_kernel) { check(residual, 0); }
TG_TEST(casts, of_a_shared_value_have_no_kernel) { check(shared, 0.02); }
TG_TEST(casts, of_attention_have_no_kernel) { check(attention, 0.02); }
TG_TEST(casts, around_a_convolution_have_no_kernel) { check(convolution, 1e-6); }

/* Products of few rows read their operand on every row of tiles: there a cast is stored, once for all three.
 * The last one's operand is read too little. */
TG_TEST(casts, are_stored_where_products_read_them_much) {
  static const char text[] = "graph \"wide\"\n"
                             "input %x: f32[64,512]\n"
                             "input %z: f32[4,96]\n"
                             "const %a: f32[512,768] = seeded(1, 0.25)\n"
                             "const %b: f32[512,768] = seeded(2, 0.25)\n"
                             "const %c: f32[512,768] = seeded(3, 0.25)\n"
                             "const %d: f32[96,8] = seeded(4, 0.25)\n"
                             "%q = MatMul(%x, %a) @0\n"
                             "%k = MatMul(%x, %b) @1\n"
                             "%v = MatMul(%x, %c) @2\n"
                             "%y = MatMul(%z, %d) @3\n"
                             "output \"q\" %q: f32\noutput \"k\" %k: f32\noutput \"v\" %v: f32\n"
                             "output \"y\" %y: f32\n";
  tg_arena arena = {0};
  tg_diag diag = {""};
  mapped m;
  run_case what = {.text = text,
                   .arch = "edge",
                   .precision.preset = TG_PRESET_MP1,
                   .map = {.seed = 1},
                   .run = {.threads = 1, .seed = 1}};
  ASSERT(!run_text(&what, &m, &arena, &diag));
  const tg_program *program = m.program;
  EXPECT_EQ(sections_that_cast(program), 1);
  EXPECT(!strncmp(program->invocations[0].name, "Cast ", 5));
  EXPECT_EQ(program->invocation_count, 5);
  /* Weights whose rows of a block would leave atoms half empty lie in the order of the blocks: a run a
   * chunk. */
  const tg_section *section = &program->sections[program->invocations[1].section];
  EXPECT_EQ(section->agcus[0].contexts[0].instrs[1].agcu.rows, 1);
  EXPECT(outputs_agree(&m, 0, &diag));
  release_mapped(&m);
  tg_arena_release(&arena);
}

/* In a training step only what gains much: the operand of a wide weight gradient, which stays for no pass. */
static int stored_in_training(int columns) {
  char text[800];
  snprintf(
      text, sizeof text,
      "graph \"step\"\ninput %%x: f32[1024,768]\ninput %%y: f32[1024,%d]\ninput %%p: f32[768,%d]\n"
      "input %%m: f32[768,%d]\ninput %%v: f32[768,%d]\n%%n = Tanh(%%x) @0\n"
      "%%t = Transpose(%%n) perm=[1,0] @1\n%%g = MatMul(%%t, %%y) partials=4 @2\n%%s = Mul(%%g, %%g) @3\n"
      "%%w = Add(%%v, %%s) @4\n%%z = Add(%%m, %%g) @5\n%%u = Mul(%%w, %%z) @6\n%%q = Sub(%%p, %%u) @7\n"
      "output \"p\" %%q: f32 -> %%p\noutput \"m\" %%z: f32 -> %%m\noutput \"v\" %%w: f32 -> %%v\n"
      "output \"n\" %%n: f32\n",
      columns, columns, columns, columns);
  tg_arena arena = {0};
  tg_diag diag = {""};
  mapped m;
  run_case what = {.text = text, .arch = "edge", .precision.preset = TG_PRESET_MP1, .map = {.seed = 1}};
  int count = map_text(&what, &m, &arena, &diag) ? -1 : sections_that_cast(m.program);
  release_mapped(&m);
  tg_arena_release(&arena);
  return count;
}

TG_TEST(casts, are_stored_in_training_for_much) {
  EXPECT_EQ(stored_in_training(30522), 1);
  EXPECT_EQ(stored_in_training(768), 0);
}

/* An activation that both products load through a cast, and of which the third one computes the mask anew:
 * bytes of what is neither input nor output. */
static uint64_t bytes_between(tg_precision_preset preset) {
  static const char text[] = "graph \"step\"\n"
                             "input %dy: f32[4096,192]\ninput %w: f32[192,64]\ninput %c: f32[4096,64]\n"
                             "input %scale: f32[64]\ninput %offset: f32[64]\ninput %v: f32[64,48]\n"
                             "input %z: f32[4096,48]\nconst %zero: f32[] = [0]\n"
                             "%m = Mul(%c, %scale) @0\n%n = Add(%m, %offset) @1\n%x = Relu(%n) @2\n"
                             "%p = MatMul(%x, %v) @3\n%t = Transpose(%x) perm=[1,0] @4\n"
                             "%dv = MatMul(%t, %z) @5\n%d = MatMul(%dy, %w) @6\n%k = Greater(%x, %zero) @7\n"
                             "%g = Where(%k, %d, %zero) @8\n%u = Mul(%g, %c) @9\n"
                             "output \"p\" %p: f32\noutput \"dv\" %dv: f32\noutput \"u\" %u: f32\n";
  tg_arena arena = {0};
  tg_diag diag = {""};
  mapped m;
  uint64_t bytes = 0;
  run_case what = {.text = text,
                   .arch = "edge",
                   .precision.preset = preset,
                   .map = {.seed = 1},
                   .run = {.threads = 1, .seed = 1}};
  if (run_text(&what, &m, &arena, &diag) || !outputs_agree(&m, 0, &diag))
    tg_test_fail(__FILE__, __LINE__, "%s", diag.message);
  for (uint32_t t = 0; m.program && t < m.program->tensor_count; t++) {
    const tg_dram_tensor *tensor = &m.program->tensors[t];
    if (tensor->role == TG_ROLE_TEMPORARY) bytes += tensor->bytes;
  }
  release_mapped(&m);
  tg_arena_release(&arena);
  return bytes;
}

TG_TEST(casts, are_stored_in_place_of_what_is_loaded_through_them_only) {
  EXPECT_EQ(bytes_between(TG_PRESET_MP0), 4096 * 64 * 4);
  EXPECT(bytes_between(TG_PRESET_MP1) < 4096 * 64 * 3); /* and a cast of weights */
}
