/* Two products of the same rows and columns in one section: the same bits as the reference's chains of multiply-adds,
 * however they are cut; proved in order; the same bits as each by itself where accumulation rounds. */
#include "sim/machine/ordering.h"
#include "tests/harness.h"
#include "tests/mapper/randomized_case.h"

#include <string.h>

typedef randomized_case pair;

static const pair pairs[] = {
    {"cell",
     "graph \"g\"\ninput %x: f32[19,37]\ninput %h: f32[19,50]\nconst %w: f32[37,45] = seeded(1, 0.3)\n"
     "const %u: f32[50,45] = seeded(2, 0.3)\nconst %b: f32[45] = seeded(3, 0.3)\n%p = MatMul(%x, %w) @0\n"
     "%q = MatMul(%h, %u) @1\n%s = Add(%p, %q) @2\n%y = Add(%s, %b) @3\noutput \"y\" %y: f32\n",
     TG_PRESET_MP0,
     "tiny",
     {NULL}},
    {"operands_by_columns",
     "graph \"g\"\ninput %x: f32[40,70]\ninput %h: f32[90,70]\ninput %w: f32[64,40]\ninput %u: f32[90,64]\n"
     "%xt = Transpose(%x) perm=[1,0]\n%wt = Transpose(%w) perm=[1,0]\n%ht = Transpose(%h) perm=[1,0]\n"
     "%p = MatMul(%xt, %wt) @0\n%q = MatMul(%ht, %u) @1\n%y = Sub(%p, %q) @2\noutput \"y\" %y: f32\n",
     TG_PRESET_MP1,
     "edge",
     {NULL}},
    {"gate_with_two_results",
     "graph \"g\"\ninput %x: f32[33,48]\nconst %w: f32[48,100] = seeded(1, 0.3)\n"
     "const %u: f32[48,100] = seeded(2, 0.3)\nconst %d: f32[100,20] = seeded(4, 0.3)\ninput %z: f32[33,100]\n"
     "%p = MatMul(%x, %w) @0\n%r = Relu(%p) @1\n%q = MatMul(%x, %u) @2\n%m = Mul(%r, %q) @3\n%n = Add(%m, "
     "%z) @4\n"
     "%o = MatMul(%n, %d) @5\noutput \"o\" %o: f32\noutput \"n\" %n: f32\n",
     TG_PRESET_MP4,
     "edge",
     {NULL}},
    {"residual_of_images",
     "graph \"g\"\ninput %x: f32[5,16,9,9]\nconst %v: f32[16,16,3,3] = seeded(1, 0.2)\n"
     "const %w: f32[40,16,1,1] = seeded(2, 0.3)\nconst %u: f32[40,16,3,3] = seeded(3, 0.2)\n"
     "const %b: f32[40] = seeded(4, 0.3)\n%c = Conv(%x, %v) @0 pads=[1,1,1,1] strides=[2,2]\n%r = Relu(%c) "
     "@1\n"
     "%d = Conv(%r, %u, %b) @2 pads=[1,1,1,1]\n%e = Conv(%x, %w) @3 strides=[2,2]\n%s = Add(%d, %e) @4\n"
     "%y = Relu(%s) @5\noutput \"y\" %y: f32\n",
     TG_PRESET_MP1,
     "edge",
     {NULL}},
    {"residual_of_an_image",
     "graph \"g\"\ninput %x: f32[1,8,10,14]\nconst %w: f32[12,8,1,1] = seeded(2, 0.3)\n"
     "const %u: f32[12,8,3,3] = seeded(3, 0.2)\nconst %b: f32[12] = seeded(4, 0.3)\n"
     "%d = Conv(%x, %u) @2 pads=[1,1,1,1]\n%e = Conv(%x, %w, %b) @3\n%y = Add(%e, %d) @4\noutput \"y\" %y: "
     "f32\n",
     TG_PRESET_MP0,
     "tiny",
     {NULL}},
    {"odd_array",
     "graph \"g\"\ninput %x: f32[2,24,7,7]\nconst %w: f32[60,24,1,1] = seeded(2, 0.3)\n"
     "const %u: f32[60,24,3,3] = seeded(3, 0.2)\n%d = Conv(%x, %u) @2 pads=[1,1,1,1]\n%e = Conv(%x, %w) @3\n"
     "%y = Add(%e, %d) @4\noutput \"y\" %y: f32\n",
     TG_PRESET_MP3,
     "edge",
     {"rows=3", "cols=5", NULL}},
};

/* Does the matrix unit write to rows of the accumulator that are not the first ones of its half? `beside_patch`: and find A
 * in a patch, whose blocks go along kernel columns and channels? */
static bool multiplies_two(const tg_program *program, bool beside_patch) {
  uint32_t half = (uint32_t)tg_acc_rows(&program->params);
  for (uint32_t s = 0; s < program->section_count; s++) {
    const tg_queue *mx = &program->sections[s].tiles[0].mx;
    bool second = false, patch = false;
    for (uint32_t i = 0; i < mx->count; i++) {
      if (mx->instrs[i].common.op != TG_OP_mx_gemm) continue;
      second |= mx->instrs[i].mx.c_base % half > 0;
      patch |= mx->instrs[i].mx.k_loops == 3;
    }
    if (second && (patch || !beside_patch)) return true;
  }
  return false;
}
static bool has_second(const tg_program *program) { return multiplies_two(program, false); }
static bool has_second_beside_patch(const tg_program *program) { return multiplies_two(program, true); }

static void same_bits(const void *user) {
  check_randomized(user, &(randomized_search){
                             .has = has_second, .lacks = "no two products meet", .seeds = 400, .wanted = 3});
}

static void same_bits_beside_patch(const void *user) {
  check_randomized(user, &(randomized_search){.has = has_second_beside_patch,
                                              .lacks = "no product of a patch meets another one",
                                              .seeds = 1500,
                                              .wanted = 2});
}

__attribute__((constructor)) static void register_pairs(void) {
  for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
    tg_test_register_row("second_products", pairs[i].name, __FILE__, __LINE__, same_bits, &pairs[i]);
    if (strstr(pairs[i].text, "Conv"))
      tg_test_register_row("second_products_beside_patches", pairs[i].name, __FILE__, __LINE__,
                           same_bits_beside_patch, &pairs[i]);
  }
}

/* Each product rounds by numbers of its own, wherever it is multiplied. */
TG_TEST(second_products, round_as_each_by_itself) {
  int together = 0;
  for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
    tg_arena arena = {0};
    tg_diag diag = {""};
    mapped apart, m;
    run_case what = {.text = pairs[i].text,
                     .arch = pairs[i].arch,
                     .precision.preset = pairs[i].preset,
                     .map = {.seed = 7, .accum_bf16sr = true, .k_tile = 24},
                     .run = {.threads = 1, .seed = 7}};
    memcpy(what.settings, pairs[i].settings, sizeof what.settings);
    size_t bytes, others;
    if (run_text(&what, &m, &arena, &diag) || tg_check_ordering(m.program, &diag))
      tg_test_fail(__FILE__, __LINE__, "%s: %s", pairs[i].name, diag.message);
    together += has_second(m.program);
    what.map.opt = TG_OPT_LEVEL_NONE;
    if (run_text(&what, &apart, &arena, &diag))
      tg_test_fail(__FILE__, __LINE__, "%s: %s", pairs[i].name, diag.message);
    EXPECT(!has_second(apart.program));
    const void *own = copy_outputs(&m, &arena, &bytes), *other = copy_outputs(&apart, &arena, &others);
    EXPECT(bytes == others && !memcmp(own, other, bytes));
    release_mapped(&apart);
    release_mapped(&m);
    tg_arena_release(&arena);
  }
  EXPECT(together > 3);
}
