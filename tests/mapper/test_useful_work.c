/* Multiply-adds that a program's invocations claim: those of the graph's products and convolutions, however
 * they are lowered, cut, padded, recomputed, or computed by the vector units; and none of products with ones
 * and zeros. */
#include "frontend/infer.h"
#include "frontend/multiply_adds.h"
#include "frontend/pipeline.h"
#include "frontend/text.h"
#include "tests/harness.h"
#include "tests/mapper/graph_files.h"
#include "tests/mapper/graph_tests.h"
#include "tests/mapper/run_graph.h"

static uint64_t claimed(const tg_program *program) {
  uint64_t sum = 0;
  for (uint32_t i = 0; i < program->invocation_count; i++)
    sum += tg_invocation_macs(&program->invocations[i]);
  return sum;
}

/* ---- counted by hand */

static const struct by_hand {
  const char *label, *text;
  uint64_t macs;
} by_hand[] = {
    {"MatMul",
     "graph \"g\"\ninput %a: f32[9,5]\ninput %b: f32[5,7]\n%y = MatMul(%a, %b) @0\noutput \"y\" %y: f32\n",
     9 * 7 * 5},
    {"batches that broadcast",
     "graph \"g\"\ninput %a: f32[3,9,5]\ninput %b: f32[5,7]\n%y = MatMul(%a, %b) @0\noutput \"y\" %y: f32\n",
     3 * 9 * 7 * 5},
    {"Gemm of a transposed A",
     "graph \"g\"\ninput %a: f32[5,9]\ninput %b: f32[5,7]\n%y = Gemm(%a, %b) transA=1 @0\noutput \"y\" %y: "
     "f32\n",
     9 * 7 * 5},
    {"a convolution with padding: its filter counts whole at the edges",
     "graph \"g\"\ninput %x: f32[2,3,8,8]\ninput %w: f32[6,3,3,3]\n%y = Conv(%x, %w) pads=[1,1,1,1] "
     "@0\noutput \"y\" %y: f32\n",
     2 * 6 * 8 * 8 * 3 * 3 * 3},
    {"strides",
     "graph \"g\"\ninput %x: f32[1,4,9,9]\ninput %w: f32[8,4,3,3]\n%y = Conv(%x, %w) strides=[2,2] "
     "@0\noutput \"y\" %y: f32\n",
     8 * 4 * 4 * 4 * 3 * 3},
    {"groups",
     "graph \"g\"\ninput %x: f32[1,4,6,6]\ninput %w: f32[8,2,3,3]\n%y = Conv(%x, %w) group=2 @0\noutput "
     "\"y\" %y: f32\n",
     8 * 4 * 4 * 2 * 3 * 3},
    {"a depthwise convolution, which no matrix unit computes",
     "graph \"g\"\ninput %x: f32[1,8,6,6]\ninput %w: f32[8,1,3,3]\n%y = Conv(%x, %w) group=8 @0\noutput "
     "\"y\" %y: f32\n",
     8 * 4 * 4 * 3 * 3},
    {"ConvTranspose: each element of the input with each of its filter",
     "graph \"g\"\ninput %x: f32[1,4,5,5]\ninput %w: f32[4,6,3,3]\n%y = ConvTranspose(%x, %w) strides=[2,2] "
     "@0\noutput \"y\" %y: f32\n",
     4 * 5 * 5 * 6 * 3 * 3},
    {"rows by number",
     "graph \"g\"\ninput %t: f32[40,12]\ninput %i: i64[7]\n%y = Gather(%t, %i) @0\noutput \"y\" %y: f32\n",
     0},
    {"a sum of rows",
     "graph \"g\"\ninput %x: f32[40,12]\n%y = ReduceSum(%x) axes=[1] @0\noutput \"y\" %y: f32\n", 0},
    {"a product read by two",
     "graph \"g\"\ninput %a: f32[9,1]\ninput %b: f32[1,70]\n%p = MatMul(%a, %b) @0\n"
     "%y = Relu(%p) @1\n%z = ReduceSum(%p) axes=[0] @2\noutput \"y\" %y: f32\noutput \"z\" %z: f32\n",
     9 * 70},
};

TG_TEST(useful_work, is_what_one_counts_by_hand) {
  static const char *const arrays[] = {"tiny", "edge"};
  for (size_t i = 0; i < sizeof by_hand / sizeof *by_hand; i++)
    for (int a = 0; a < 2; a++) {
      tg_arena arena = {0};
      tg_diag diag = {""};
      mapped m;
      run_case what = {.text = by_hand[i].text, .arch = arrays[a]};
      if (map_text(&what, &m, &arena, &diag))
        tg_test_fail(__FILE__, __LINE__, "%s: %s", by_hand[i].label, diag.message);
      else if (claimed(m.program) != by_hand[i].macs)
        tg_test_fail(__FILE__, __LINE__, "%s, %s: %llu multiply-adds, not %llu", by_hand[i].label, arrays[a],
                     (unsigned long long)claimed(m.program), (unsigned long long)by_hand[i].macs);
      release_mapped(&m);
      tg_arena_release(&arena);
    }
}

/* ---- graphs */

static uint64_t asked_for(const char *text, tg_arena *arena) {
  tg_graph *graph;
  tg_diag diag = {""};
  uint64_t sum = 0;
  if (tg_graph_parse(arena, text, &graph, &diag) || tg_graph_infer(graph, &diag)) return 0;
  TG_FOR_NODES(graph, node) sum += (uint64_t)tg_multiply_adds(node);
  return sum;
}

static void check_graph(const void *path) {
  static const struct {
    const char *arch;
    tg_precision_options precision;
    uint64_t any_tiling;
  } variants[] = {{"tiny", {.preset = TG_PRESET_MP0}, 0},
                  {"edge", {.preset = TG_PRESET_MP1}, 0},
                  {"edge", {.preset = TG_PRESET_MP0}, 1}};
  tg_arena arena = {0};
  double tolerance;
  const char *text = read_graph_file(path, &arena, &tolerance);
  ASSERT(text != NULL);
  uint64_t asked = asked_for(text, &arena);
  for (size_t v = 0; v < sizeof variants / sizeof *variants; v++) {
    tg_diag diag = {""};
    mapped m;
    run_case what = {.text = text,
                     .arch = variants[v].arch,
                     .precision = variants[v].precision,
                     .map = {.seed = 1, .any_tiling = variants[v].any_tiling}};
    if (map_text(&what, &m, &arena, &diag))
      tg_test_fail(path, 1, "%s", diag.message);
    else if (claimed(m.program) != asked)
      tg_test_fail(path, 1, "variant %zu: %llu multiply-adds, the graph has %llu", v,
                   (unsigned long long)claimed(m.program), (unsigned long long)asked);
    release_mapped(&m);
  }
  tg_arena_release(&arena);
}

__attribute__((constructor)) static void register_graphs(void) {
  register_graph_files("useful_work_of_graphs", check_graph);
}
