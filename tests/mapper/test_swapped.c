/* Products of few rows with swapped operands: the same bits as the reference's chains of multiply-adds, whatever the
 * shape; proved in order; and DRAM is what they wait for. */
#include "tests/harness.h"
#include "tests/mapper/randomized_case.h"

#include <stdio.h>

typedef randomized_case product;

#define MATMUL(a, b)                                                                                         \
  "graph \"g\"\ninput %a: f32[" a "]\ninput %b: f32[" b "]\n%y = MatMul(%a, %b) @0\noutput \"y\" %y: f32\n"
#define WEIGHTS(a, b)                                                                                        \
  "graph \"g\"\ninput %a: f32[" a "]\nconst %b: f32[" b                                                      \
  "] = seeded(1, 0.3)\n%y = MatMul(%a, %b) @0\noutput \"y\" %y: f32\n"

static const product products[] = {
    {"one_row", MATMUL("1,37", "37,29"), TG_PRESET_MP0, "tiny", {NULL}},
    {"one_row_of_bf16", MATMUL("1,70", "70,45"), TG_PRESET_MP1, "tiny", {NULL}},
    {"more_rows_than_a_block_has", MATMUL("7,50", "50,61"), TG_PRESET_MP0, "tiny", {NULL}},
    {"eight_rows", MATMUL("8,100", "100,130"), TG_PRESET_MP4, "edge", {NULL}},
    {"five_rows", MATMUL("5,33", "33,300"), TG_PRESET_MP0, "edge", {NULL}},
    {"weights_of_odd_rows", WEIGHTS("3,40", "40,333"), TG_PRESET_MP0, "edge", {NULL}},
    {"weights_in_passes", WEIGHTS("2,24", "24,168"), TG_PRESET_MP4, "tiny", {NULL}},
    {"fewer_columns_than_tiles", WEIGHTS("1,90", "90,21"), TG_PRESET_MP1, "edge", {NULL}},
    {"weights_that_end_in_a_short_block", WEIGHTS("1,100", "100,33"), TG_PRESET_MP0, "edge", {NULL}},
    {"products", MATMUL("5,3,20", "5,20,24"), TG_PRESET_MP0, "tiny", {NULL}},
    {"a_tile", MATMUL("2,30", "30,40"), TG_PRESET_MP1, "tiny", {"rows=1", "cols=1", NULL}},
    {"odd_array", MATMUL("6,64", "64,200"), TG_PRESET_MP0, "edge", {"rows=3", "cols=5", NULL}},
    {"few_lanes", MATMUL("4,19", "19,23"), TG_PRESET_MP0, "tiny", {"p=2", NULL}},
    {"b_by_columns",
     "graph \"g\"\ninput %a: f32[4,48]\ninput %b: f32[75,48]\n%t = Transpose(%b) perm=[1,0] @0\n"
     "%y = MatMul(%a, %t) @1\noutput \"y\" %y: f32\n",
     TG_PRESET_MP0,
     "tiny",
     {NULL}},
    {"a_by_columns",
     "graph \"g\"\ninput %a: f32[48,6]\ninput %b: f32[48,75]\n%t = Transpose(%a) perm=[1,0] @0\n"
     "%y = MatMul(%t, %b) @1\noutput \"y\" %y: f32\n",
     TG_PRESET_MP1,
     "tiny",
     {NULL}},
    {"with_a_tail",
     "graph \"g\"\ninput %a: f32[6,40]\ninput %b: f32[40,90]\ninput %z: f32[6,90]\ninput %s: f32[6,1]\n"
     "const %c: f32[90] = seeded(2, 0.3)\n%m = MatMul(%a, %b) @1\n%p = Add(%m, %c) @2\n%q = Add(%p, %z) "
     "@3\n%r = Mul(%q, %s) "
     "@4\n%y = Relu(%r) @5\noutput \"y\" %y: f32\n",
     TG_PRESET_MP4,
     "tiny",
     {NULL}},
};

/* Only a VOP that transposes a block goes up the accumulator. */
static bool is_swapped(const tg_program *program) {
  for (uint32_t s = 0; s < program->section_count; s++) {
    const tg_queue *vx = &program->sections[s].tiles[0].vx;
    for (uint32_t i = 0; i < vx->count; i++) {
      const tg_stream *first = &vx->instrs[i].vx.stream[0];
      if (vx->instrs[i].common.op == TG_OP_vx_vop && first->kind == TG_STREAM_ACC && first->j[1] < 0)
        return true;
    }
  }
  return false;
}

static void same_bits(const void *user) {
  check_randomized(
      user, &(randomized_search){.has = is_swapped, .lacks = "no tiling swaps", .seeds = 4000, .wanted = 3});
}

__attribute__((constructor)) static void register_products(void) {
  for (size_t i = 0; i < sizeof products / sizeof *products; i++)
    tg_test_register_row("swapped", products[i].name, __FILE__, __LINE__, same_bits, &products[i]);
}

/* Columns shared out evenly, although blocks of 2P do not come out even. */
#define CONVOLUTION(image, weights, pads)                                                                    \
  "graph \"g\"\ninput %x: f32[" image "]\nconst %w: f32[" weights                                            \
  "] = seeded(3, 0.3)\n%y = Conv(%x, %w) @0 pads=[" pads "]\noutput \"y\" %y: f32\n"
static const product uneven[] = {
    {"weights", WEIGHTS("3,44", "44,90"), TG_PRESET_MP0, "edge", {NULL}},
    {"inputs", MATMUL("6,50", "50,41"), TG_PRESET_MP0, "tiny", {NULL}},
    {"weights_of_bf16", WEIGHTS("1,72", "72,300"), TG_PRESET_MP4, "edge", {"rows=3", "cols=5", NULL}},
    {"squeeze_and_excitation",
     CONVOLUTION("1,88,1,1", "60,88,1,1", "0,0,0,0"),
     TG_PRESET_MP0,
     "edge",
     {NULL}},
    {"window", CONVOLUTION("1,12,2,3", "70,12,3,3", "1,1,1,1"), TG_PRESET_MP1, "edge", {NULL}},
    {"with_a_tail",
     "graph \"g\"\ninput %a: f32[2,40]\nconst %b: f32[40,90] = seeded(1, 0.3)\ninput %z: f32[2,90]\ninput "
     "%s: "
     "f32[2,1]\nconst %c: f32[90] = seeded(2, 0.3)\n%m = MatMul(%a, %b) @1\n%p = Add(%m, %c) @2\n%q = "
     "Add(%p, "
     "%z) @3\n%r = Mul(%q, %s) @4\n%y = Relu(%r) @5\noutput \"y\" %y: f32\n",
     TG_PRESET_MP0,
     "tiny",
     {NULL}},
    {"update_in_place",
     "graph \"g\"\ninput %a: f32[6,40]\ninput %b: f32[40,90]\ninput %w: f32[6,90]\n%m = MatMul(%a, "
     "%b) @0\n%v = Sub(%w, %m) @1\noutput \"v\" %v: f32\n",
     TG_PRESET_MP0,
     "edge",
     {NULL}},
};

/* Only then do tiles store columns that begin between blocks of 2P. */
static bool is_uneven(const tg_program *program) {
  const tg_params *m = &program->params;
  for (uint32_t s = 0; s < program->section_count; s++)
    for (uint32_t i = 0; i < (m->rows + m->cols) * m->agcu_contexts; i++) {
      const tg_queue *queue =
          &program->sections[s].agcus[i / m->agcu_contexts].contexts[i % m->agcu_contexts];
      for (uint32_t q = 0; q < queue->count; q++)
        if (queue->instrs[q].common.op == TG_OP_agcu_store && queue->instrs[q].agcu.k_first % tg_lanes(m))
          return true;
    }
  return false;
}

static void same_uneven_bits(const void *user) {
  check_randomized(
      user, &(randomized_search){
                .has = is_uneven, .lacks = "no tiling shares columns out evenly", .seeds = 200, .wanted = 3});
}

__attribute__((constructor)) static void register_uneven(void) {
  for (size_t i = 0; i < sizeof uneven / sizeof *uneven; i++)
    tg_test_register_row("uneven", uneven[i].name, __FILE__, __LINE__, same_uneven_bits, &uneven[i]);
}

#ifdef TEGULA_WITH_SYSTEMC
/* Weights of `bytes` that come at 128 bytes a cycle at most. */
typedef struct weights {
  const char *name, *text;
  tg_precision_preset preset;
  double bytes;
} weights;
static const weights few_rows[] = {
    {"fp32", MATMUL("1,2048", "2048,1024"), TG_PRESET_MP0, 2048.0 * 1024 * 4},
    {"bf16", WEIGHTS("1,2048", "2048,2048"), TG_PRESET_MP4, 2048.0 * 2048 * 2},
    {"eight_rows", MATMUL("8,2048", "2048,2048"), TG_PRESET_MP0, 2048.0 * 2048 * 4},
    {"rows_that_share_atoms", WEIGHTS("1,1024", "1024,1000"), TG_PRESET_MP0, 1024.0 * 1000 * 4},
    {"nine_blocks_for_four_tiles", WEIGHTS("1,2048", "2048,576"), TG_PRESET_MP0, 2048.0 * 576 * 4},
    {"convolution_of_a_pixel", CONVOLUTION("1,1536,1,1", "720,1536,1,1", "0,0,0,0"), TG_PRESET_MP0,
     1536.0 * 720 * 4},
};

static void waits_for_dram(const void *user) {
  const weights *own = user;
  tg_arena arena = {0};
  tg_diag diag = {""};
  mapped m;
  run_case what = {.text = own->text,
                   .arch = "edge",
                   .precision.preset = own->preset,
                   .run = {.threads = 1, .timing_only = true},
                   .engine = &tg_engine_systemc};
  if (run_text(&what, &m, &arena, &diag))
    tg_test_fail(__FILE__, __LINE__, "%s", diag.message);
  else if (own->bytes / 128 < 0.92 * (double)m.result.cycles)
    tg_test_fail(__FILE__, __LINE__, "%s: %llu cycles", own->name, (unsigned long long)m.result.cycles);
  release_mapped(&m);
  tg_arena_release(&arena);
}

__attribute__((constructor)) static void register_few_rows(void) {
  for (size_t i = 0; i < sizeof few_rows / sizeof *few_rows; i++)
    tg_test_register_row("few_rows", few_rows[i].name, __FILE__, __LINE__, waits_for_dram, &few_rows[i]);
}
#endif
