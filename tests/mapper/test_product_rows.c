/* Few products of a batch in one section, each on rows of tiles of its own: the same bits as the reference's chains of
 * multiply-adds, however they are cut; proved in order. */
#include "tests/mapper/randomized_case.h"

#include "tests/harness.h"

#define PRODUCTS(a, b)                                                                                       \
  "graph \"g\"\ninput %a: f32[" a "]\ninput %b: f32[" b "]\n%y = MatMul(%a, %b) @2\noutput \"y\" %y: f32\n"

static const randomized_case of_rows_of_tiles[] = {
    {"two", PRODUCTS("2,5,24", "2,24,40"), TG_PRESET_MP0, "tiny", {NULL}},
    {"three_on_four_rows", PRODUCTS("3,9,32", "3,32,72"), TG_PRESET_MP1, "tiny", {"rows=4", "cols=3", NULL}},
    {"two_with_two_rows_each",
     PRODUCTS("2,3,16", "2,16,100"),
     TG_PRESET_MP1,
     "tiny",
     {"rows=4", "cols=2", NULL}},
    {"one_after_the_other", PRODUCTS("5,4,16", "5,16,24"), TG_PRESET_MP0, "tiny", {"rows=4", "cols=2", NULL}},
    {"long_chains", PRODUCTS("2,7,300", "2,300,24"), TG_PRESET_MP1, "tiny", {"rows=2", "cols=4", NULL}},
    {"of_a_device", PRODUCTS("3,17,48", "3,48,130"), TG_PRESET_MP0, "edge", {"rows=4", "cols=4", NULL}},
    {"of_a_device_in_bf16",
     PRODUCTS("2,17,64", "2,64,90"),
     TG_PRESET_MP4,
     "edge",
     {"rows=4", "cols=4", NULL}},
    {"by_columns",
     "graph \"g\"\ninput %a: f32[2,6,24]\ninput %b: f32[2,44,24]\n%t = Transpose(%b) perm=[0,2,1] @1\n"
     "%y = MatMul(%a, %t) @2\noutput \"y\" %y: f32\n",
     TG_PRESET_MP1,
     "tiny",
     {"rows=3", "cols=3", NULL}},
    {"with_a_tail",
     "graph \"g\"\ninput %a: f32[2,6,24]\ninput %b: f32[2,24,44]\ninput %z: f32[2,6,44]\nconst %c: "
     "f32[2,1,44] = "
     "seeded(1, 0.5)\n%p = MatMul(%a, %b) @2\n%q = Add(%p, %c) @3\n%r = Mul(%q, %z) @4\n%y = Relu(%r) @5\n"
     "output \"y\" %y: f32\n",
     TG_PRESET_MP0,
     "tiny",
     {"rows=4", "cols=2", NULL}},
    {"of_heads",
     "graph \"g\"\ninput %x: f32[1,7,64]\ninput %b: f32[1,2,32,40]\n%s = Reshape(%x) shape=[1,7,2,32] @0\n"
     "%a = Transpose(%s) perm=[0,2,1,3] @1\n%p = MatMul(%a, %b) @2\n%t = Transpose(%p) perm=[0,2,1,3] @3\n"
     "%y = Reshape(%t) shape=[1,7,80] @4\noutput \"y\" %y: f32\n",
     TG_PRESET_MP1,
     "tiny",
     {"rows=4", "cols=4", NULL}},
    {"of_a_broadcast", PRODUCTS("1,5,24", "3,24,40"), TG_PRESET_MP0, "tiny", {"rows=3", "cols=2", NULL}},
};

/* Rows of tiles whose rows of A differ, which all tiles of a row have in common, where each has columns of its own, of which
 * some come from the west, too. */
static bool has_rows_of_tiles(const tg_program *program) {
  const tg_params *m = &program->params;
  for (uint32_t s = 0; s < program->section_count; s++) {
    int64_t first = -1;
    bool differ = false, alone = false;
    for (uint32_t i = 0; i < m->rows * m->agcu_contexts; i++) {
      const tg_queue *queue =
          &program->sections[s].agcus[i / m->agcu_contexts].contexts[i % m->agcu_contexts];
      for (uint32_t n = 0; n < queue->count; n++) {
        const tg_agcu_instr *in = &queue->instrs[n].agcu;
        if (in->op != TG_OP_agcu_load) continue;
        int tiles = __builtin_popcount((uint32_t)in->dst_mask);
        alone |= tiles == 1;
        differ |= tiles > 1 && first >= 0 && in->m_first != first;
        if (tiles > 1) first = in->m_first;
      }
    }
    if (differ && alone) return true;
  }
  return false;
}

static const randomized_group groups[] = {
    {of_rows_of_tiles,
     sizeof of_rows_of_tiles / sizeof *of_rows_of_tiles,
     {.has = has_rows_of_tiles, .lacks = "no product has rows of tiles", .seeds = 400, .wanted = 4},
     16},
};

__attribute__((constructor)) static void register_groups(void) {
  register_randomized("product_rows", groups, sizeof groups / sizeof *groups);
}

/* What they are for: where there are fewer products than tiles, and each has few rows. */
TG_TEST(product_rows, are_taken_where_they_are_faster) {
  tg_arena arena = {0};
  tg_diag diag = {""};
  mapped m;
  run_case what = {.text = PRODUCTS("4,16,128", "4,128,256"), .arch = "rack", .run.threads = 1};
  if (map_text(&what, &m, &arena, &diag))
    tg_test_fail(__FILE__, __LINE__, "%s", diag.message);
  else if (!has_rows_of_tiles(m.program))
    tg_test_fail(__FILE__, __LINE__, "products of 16 rows have no rows of tiles of their own");
  release_mapped(&m);
  tg_arena_release(&arena);
}
