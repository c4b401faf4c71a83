/* Products with fewer columns than a row of tiles has blocks for: some tiles side by side share the columns out, and others
 * of the row have other rows. The same bits as the reference's chains of multiply-adds; proved in order. */
#include "tests/harness.h"
#include "tests/mapper/randomized_case.h"

#include <string.h>

#define MATMUL(a, b)                                                                                         \
  "graph \"g\"\ninput %a: f32[" a "]\nconst %b: f32[" b "] = seeded(1, 0.3)\n%y = MatMul(%a, %b) @2\n"       \
  "output \"y\" %y: f32\n"

static const randomized_case products[] = {
    {"two_groups", MATMUL("90,24", "24,13"), TG_PRESET_MP0, "tiny", {"cols=4", NULL}},
    {"three_groups", MATMUL("67,40", "40,16"), TG_PRESET_MP1, "tiny", {"rows=3", "cols=6", NULL}},
    {"several_blocks", MATMUL("200,16", "16,48"), TG_PRESET_MP4, "tiny", {"rows=5", "cols=4", NULL}},
    {"transposed_rows",
     "graph \"g\"\ninput %a: f32[24,77]\nconst %b: f32[24,11] = seeded(1, 0.3)\n%t = Transpose(%a) "
     "perm=[1,0] @1\n"
     "%y = MatMul(%t, %b) @2\noutput \"y\" %y: f32\n",
     TG_PRESET_MP1,
     "tiny",
     {"cols=6", NULL}},
    {"with_a_tail",
     "graph \"g\"\ninput %a: f32[93,32]\ninput %z: f32[93,16]\ninput %s: f32[93,1]\nconst %w: f32[32,16] = "
     "seeded(1, "
     "0.3)\nconst %b: f32[16] = seeded(2, 0.3)\n%p = MatMul(%a, %w) @2\n%q = Add(%p, %b) @3\n%r = Mul(%q, "
     "%s) @4\n"
     "%u = Add(%r, %z) @5\n%y = Relu(%u) @6\noutput \"y\" %y: f32\n",
     TG_PRESET_MP1,
     "tiny",
     {"rows=3", "cols=4", NULL}},
    {"convolution",
     "graph \"g\"\ninput %x: f32[3,16,9,7]\nconst %w: f32[24,16,3,3] = seeded(1, 0.3)\n%y = Conv(%x, %w) "
     "kernel_shape=[3,3] pads=[1,1,1,1] @2\noutput \"y\" %y: f32\n",
     TG_PRESET_MP1,
     "tiny",
     {"cols=4", NULL}},
};

static bool is_some_side_by_side(uint32_t mask, uint32_t cols) {
  uint32_t tiles = (uint32_t)__builtin_popcount(mask);
  return tiles > 1 && tiles < cols && ((mask / (mask & -mask)) & (mask / (mask & -mask) + 1)) == 0;
}

static bool shares_out_a_row(const tg_program *program) {
  const tg_params *m = &program->params;
  for (uint32_t s = 0; s < program->section_count; s++)
    for (uint32_t i = 0; i < m->rows * m->agcu_contexts; i++) {
      const tg_queue *queue =
          &program->sections[s].agcus[i / m->agcu_contexts].contexts[i % m->agcu_contexts];
      for (uint32_t n = 0; n < queue->count; n++)
        if (queue->instrs[n].common.op == TG_OP_agcu_load &&
            is_some_side_by_side((uint32_t)queue->instrs[n].agcu.dst_mask, m->cols))
          return true;
    }
  return false;
}

static void same_bits(const void *user) {
  check_randomized(user, &(randomized_search){.has = shares_out_a_row,
                                              .lacks = "no tiling shares out a row of tiles",
                                              .seeds = 400,
                                              .wanted = 3});
}

/* A gate in front of a convolution: rows of tiles may have the same pixels, and each of them columns of its own. */
#define GATE(x, gate, w)                                                                                     \
  "graph \"g\"\ninput %i: f32[" x "]\ninput %s: f32[" gate "]\nconst %w: f32[" w                             \
  "] = seeded(1, 0.3)\n%x = Transpose(%i) perm=[0,3,1,2] @1\n%t = Mul(%x, %s) @2\n%y = Conv(%t, %w) "        \
  "kernel_shape=[1,1] @3\noutput \"y\" %y: f32\n"

static const randomized_case gates[] = {
    {"few_pixels",
     GATE("1,4,2,64", "1,64,1,1", "24,64,1,1"),
     TG_PRESET_MP1,
     "edge",
     {"rows=6", "cols=1", NULL}},
    {"square", GATE("1,7,7,32", "1,32,1,1", "40,32,1,1"), TG_PRESET_MP0, "tiny", {"rows=4", NULL}},
    {"wide", GATE("1,6,5,48", "1,48,1,1", "96,48,1,1"), TG_PRESET_MP1, "edge", {NULL}},
};

static bool has_gate(const tg_program *program) {
  for (uint32_t i = 0; i < program->invocation_count; i++)
    if (!strncmp(program->invocations[i].name, "Mul+Conv", 8)) return true;
  return false;
}

static void gates_have_the_same_bits(const void *user) {
  check_randomized(user, &(randomized_search){
                             .has = has_gate, .lacks = "no gate is in front", .seeds = 300, .wanted = 20});
}

__attribute__((constructor)) static void register_products(void) {
  for (size_t i = 0; i < sizeof products / sizeof *products; i++)
    tg_test_register_row("grids", products[i].name, __FILE__, __LINE__, same_bits, &products[i]);
  for (size_t i = 0; i < sizeof gates / sizeof *gates; i++)
    tg_test_register_row("gates", gates[i].name, __FILE__, __LINE__, gates_have_the_same_bits, &gates[i]);
}
