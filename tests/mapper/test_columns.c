/* Products whose columns are read apart: one section of all, or one for each part, whichever is faster; the same bits, proved in
 * order; and products of one tensor are one where they have the same behind them. */
#include "tests/harness.h"
#include "tests/mapper/randomized_case.h"

#define THREE                                                                                                \
  "graph \"g\"\ninput %x: f32[19,24]\nconst %w: f32[24,40] = seeded(1, 0.3)\nconst %b: f32[40] = seeded(2, " \
  "0.5)\n"                                                                                                   \
  "const %u: f32[16,8] = seeded(3, 0.3)\n%p = MatMul(%x, %w) @0\n%q = Add(%p, %b) @1\n"                      \
  "%k, %l, %m = Split(%q) axis=1 split=[16,8,16] @2\n%n = MatMul(%k, %u) @3\n%o = Neg(%l) @4\n"              \
  "%r = MatMul(%m, %u) @5\noutput \"n\" %n: f32\noutput \"o\" %o: f32\noutput \"r\" %r: f32\n"
#define PIXELS                                                                                               \
  "graph \"g\"\ninput %x: f32[2,16,7,6]\nconst %w: f32[24,16,3,3] = seeded(1, 0.2)\nconst %b: f32[24] = "    \
  "seeded(2, 0.5)\n"                                                                                         \
  "const %u: f32[8,16,1,1] = seeded(3, 0.3)\nconst %v: f32[8,8,3,3] = seeded(4, 0.3)\n"                      \
  "%p = Conv(%x, %w, %b) kernel_shape=[3,3] pads=[1,1,1,1] @0\n%q = Relu(%p) @1\n"                           \
  "%k, %l = Split(%q) axis=1 split=[16,8] @2\n%n = Conv(%k, %u) kernel_shape=[1,1] @3\n"                     \
  "%o = Conv(%l, %v) kernel_shape=[3,3] pads=[1,1,1,1] @4\noutput \"n\" %n: f32\noutput \"o\" %o: f32\n"

static const randomized_case cases[] = {
    {"of_a_matrix", THREE, TG_PRESET_MP0, "tiny", {NULL}},
    {"of_a_matrix_in_bf16", THREE, TG_PRESET_MP4, "tiny", {"rows=3", NULL}},
    {"of_a_matrix_of_a_device", THREE, TG_PRESET_MP1, "edge", {"rows=2", "cols=2", NULL}},
    {"of_pixels", PIXELS, TG_PRESET_MP1, "tiny", {NULL}},
    {"of_pixels_in_fp32", PIXELS, TG_PRESET_MP0, "edge", {"rows=2", "cols=2", NULL}},
};

static int products_of(const tg_program *program) {
  int count = 0;
  for (uint32_t s = 0; s < program->section_count; s++) {
    const tg_queue *mx = &program->sections[s].tiles[0].mx;
    uint32_t i = 0;
    while (i < mx->count && mx->instrs[i].common.op != TG_OP_mx_gemm) i++;
    count += i < mx->count;
  }
  return count;
}

/* Two products read what they make; a part that nobody multiplies has an own section, too. */
static bool has_parts(const tg_program *program) { return products_of(program) > 3; }

static void same_bits(const void *user) {
  static const randomized_search search = {
      .has = has_parts, .lacks = "no product is made in parts", .seeds = 400, .wanted = 2};
  check_randomized(user, &search);
  run_randomized(user, 0);
}

__attribute__((constructor)) static void register_columns(void) {
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
    tg_test_register_row("columns", cases[i].name, __FILE__, __LINE__, same_bits, &cases[i]);
}

static int products_in(const char *text) {
  tg_arena arena = {0};
  tg_diag diag = {""};
  mapped m;
  run_case what = {.text = text, .arch = "rack", .run.threads = 1};
  if (map_text(&what, &m, &arena, &diag)) tg_test_fail(__FILE__, __LINE__, "%s", diag.message);
  int count = m.program ? products_of(m.program) : -1;
  release_mapped(&m);
  tg_arena_release(&arena);
  return count;
}

#define HEADS(behind)                                                                                        \
  "graph \"g\"\ninput %x: f32[1,48,8,8]\nconst %v: f32[16,48,3,3] = seeded(1, 0.2)\n"                        \
  "const %w: f32[24,48,3,3] = seeded(2, 0.2)\n%p = Conv(%x, %v) kernel_shape=[3,3] pads=[1,1,1,1] @0\n"      \
  "%q = Conv(%x, %w) kernel_shape=[3,3] pads=[1,1,1,1] @1\n%r = Relu(%p) @2\n%s = " behind "(%q) @3\n"       \
  "output \"r\" %r: f32\noutput \"s\" %s: f32\n"

TG_TEST(columns, heads_are_one_product) { EXPECT_EQ(products_in(HEADS("Relu")), 1); }
TG_TEST(columns, heads_that_differ_are_two) { EXPECT_EQ(products_in(HEADS("Tanh")), 2); }

/* As vision transformers have it: queries, keys and values of one product, brought to the front together, and queries scaled
 * before they meet keys. */
TG_TEST(columns, attention_of_one_product_is_three_sections) {
  static const char text[] =
      "graph \"g\"\ninput %x: f32[1,48,64]\nconst %w: f32[64,192] = seeded(1, 0.2)\nconst %b: f32[192] = "
      "seeded(2, "
      "0.2)\n"
      "const %u: f32[64,64] = seeded(3, 0.2)\nconst %c: f32[] = [0.18]\n%p = MatMul(%x, %w) @0\n%a = Add(%p, "
      "%b) @1\n"
      "%r = Reshape(%a) shape=[1,48,3,4,16] @2\n%t = Transpose(%r) perm=[2,0,3,1,4] @3\n"
      "%q3, %k3, %v3 = Split(%t) axis=0 split=[1,1,1] @4\n%q = Reshape(%q3) shape=[1,4,48,16] @5\n"
      "%k = Reshape(%k3) shape=[1,4,48,16] @6\n%v = Reshape(%v3) shape=[1,4,48,16] @7\n%s = Mul(%q, %c) @8\n"
      "%kt = Transpose(%k) perm=[0,1,3,2] @9\n%d = MatMul(%s, %kt) @10\n%e = Softmax(%d) axis=3 @11\n"
      "%o = MatMul(%e, %v) @12\n%h = Transpose(%o) perm=[0,2,1,3] @13\n%f = Reshape(%h) shape=[1,48,64] @14\n"
      "%y = MatMul(%f, %u) @15\noutput \"y\" %y: f32\n";
  for (int preset = TG_PRESET_MP0; preset <= TG_PRESET_MP1; preset++) {
    tg_arena arena = {0};
    tg_diag diag = {""};
    mapped m;
    run_case what = {
        .text = text, .arch = "edge", .precision.preset = (tg_precision_preset)preset, .run.threads = 1};
    if (run_text(&what, &m, &arena, &diag) || !outputs_agree(&m, 2e-2, &diag))
      tg_test_fail(__FILE__, __LINE__, "%s", diag.message);
    else
      EXPECT_EQ(m.program->section_count, 3);
    release_mapped(&m);
    tg_arena_release(&arena);
  }
}
