/* Several rows of the accumulator at a time in the drain of a product: the same bits as the reference's, whatever the tiling;
 * proved in order; and a VOP takes the words that it should. */
#include "tests/harness.h"
#include "tests/mapper/randomized_case.h"

typedef randomized_case product;

#define CONV(image, weights, behind)                                                                         \
  "graph \"g\"\ninput %x: f32[" image "]\nconst %w: f32[" weights                                            \
  "] = seeded(3, 0.2)\nconst %b: f32[16] = seeded(4, 0.5)\n%c = Conv(%x, %w, %b) kernel_shape=[3,3] "        \
  "pads=[1,1,1,1] @0\n" behind "output \"y\" %y: f32\n"
#define RELU CONV("1,8,16,16", "16,8,3,3", "%y = Relu(%c) @1\n")

static const product products[] = {
    {"relu", RELU, TG_PRESET_MP0, "tiny", {NULL}},
    {"relu_of_bf16", RELU, TG_PRESET_MP4, "edge", {NULL}},
    {"residual",
     CONV("1,16,12,8", "16,16,3,3", "%s = Add(%c, %x) @1\n%y = Relu(%s) @2\n"),
     TG_PRESET_MP1,
     "tiny",
     {NULL}},
    {"several_operations",
     CONV("1,8,8,8", "16,8,3,3", "%s = Mul(%c, %c) @1\n%t = Add(%s, %c) @2\n%y = Mul(%t, %s) @3\n"),
     TG_PRESET_MP0,
     "edge",
     {NULL}},
    {"numbers_and_vectors",
     "graph \"g\"\ninput %a: f32[96,40]\ninput %b: f32[40,50]\ninput %z: f32[96,50]\ninput %s: f32[96,1]\n"
     "const %c: f32[50] = seeded(2, 0.3)\n%m = MatMul(%a, %b) @1\n%p = Add(%m, %c) @2\n%q = Add(%p, %z) @3\n"
     "%r = Mul(%q, %s) @4\n%y = Relu(%r) @5\noutput \"y\" %y: f32\n",
     TG_PRESET_MP1,
     "tiny",
     {NULL}},
    {"two_results",
     "graph \"g\"\ninput %a: f32[64,24]\ninput %b: f32[24,32]\n%m = MatMul(%a, %b) @1\n%r = Relu(%m) @2\n"
     "output \"m\" %m: f32\noutput \"r\" %r: f32\n",
     TG_PRESET_MP0,
     "tiny",
     {NULL}},
    {"odd_array", RELU, TG_PRESET_MP0, "tiny", {"rows=3", "cols=2", NULL}},
};

/* Streams of the first tile that load from the accumulator, of the VOP that has most of them. */
static int rows_at_once(const tg_program *program) {
  int most = 0;
  for (uint32_t s = 0; s < program->section_count; s++) {
    const tg_queue *vx = &program->sections[s].tiles[0].vx;
    for (uint32_t i = 0; i < vx->count; i++) {
      int rows = 0;
      for (int t = 0; vx->instrs[i].common.op == TG_OP_vx_vop && t < TG_STREAMS; t++)
        rows += vx->instrs[i].vx.stream[t].kind == TG_STREAM_ACC;
      if (rows > most) most = rows;
    }
  }
  return most;
}

static bool takes_several(const tg_program *program) { return rows_at_once(program) > 1; }

static void same_bits(const void *user) {
  check_randomized(
      user, &(randomized_search){
                .has = takes_several, .lacks = "no tiling takes several rows", .seeds = 60, .wanted = 4});
}

__attribute__((constructor)) static void register_products(void) {
  for (size_t i = 0; i < sizeof products / sizeof *products; i++)
    tg_test_register_row("drain_rows", products[i].name, __FILE__, __LINE__, same_bits, &products[i]);
}

/* Of four rows of a convolution, its bias and a relu the first one waits for three loads; then each has two operations, and
 * two stores end the last one. A row alone takes seven words. */
TG_TEST(drain_rows, four_rows_take_thirteen_words) {
  tg_arena arena = {0};
  tg_diag diag = {""};
  mapped m;
  run_case what = {.text = CONV("1,32,64,64", "16,32,3,3", "%y = Relu(%c) @1\n"),
                   .arch = "edge",
                   .precision.preset = TG_PRESET_MP1};
  if (map_text(&what, &m, &arena, &diag)) {
    tg_test_fail(__FILE__, __LINE__, "%s", diag.message);
  } else {
    const tg_queue *vx = NULL;
    for (uint32_t s = 0; s < m.program->section_count; s++)
      if (m.program->sections[s].tiles[0].mx.count) vx = &m.program->sections[s].tiles[0].vx;
    int words = 0;
    for (uint32_t i = 0; vx && i < vx->count; i++)
      if (vx->instrs[i].common.op == TG_OP_vx_vop) words = vx->instrs[i].vx.seg_len[0];
    EXPECT_EQ(rows_at_once(m.program), 4);
    EXPECT_EQ(words, 3 + 4 * 2 + 2);
  }
  release_mapped(&m);
  tg_arena_release(&arena);
}
