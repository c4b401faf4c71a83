/* Products that compute reductions of their result by blocks of rows run on the engine that knows time: no
 * bank has two owners, and the bits are those of the functional engine. */
#include "tests/harness.h"
#include "tests/mapper/run_graph.h"

#include <string.h>

#ifdef TEGULA_WITH_SYSTEMC
#define PRODUCT(rows, columns)                                                                               \
  "graph \"g\" next=20\ninput %a: f32[" rows ",200]\ninput %b: f32[200," columns "]\n"                       \
  "input %x: f32[" rows "," columns "]\ninput %m: f32[" columns "]\nconst %o: f32[] = [0]\n"                 \
  "%d = MatMul(%a, %b) @0\n%c = Greater(%x, %o) @2\n%y = Where(%c, %d, %o) @3\n"                             \
  "%h = Sub(%x, %m) @4\n%k = Mul(%y, %h) @5\n%t = ReduceSum(%k) axes=[0] keepdims=0 @6\n"                    \
  "%s = ReduceSum(%y) axes=[0] keepdims=0 @1\n"                                                              \
  "output \"s\" %s: f32\noutput \"t\" %t: f32\noutput \"y\" %y: f32\n"

static void expect_same_bits(const char *text, const char *arch, const char *setting) {
  tg_arena arena = {0};
  tg_diag diag = {""};
  mapped m[2];
  for (int i = 0; i < 2; i++) {
    run_case what = {.text = text, .arch = arch, .settings = {setting}, .run = {.threads = 1}};
    if (i) what.engine = &tg_engine_systemc;
    if (run_text(&what, &m[i], &arena, &diag)) {
      tg_test_fail(__FILE__, __LINE__, "%s: %s", arch, diag.message);
      return;
    }
  }
  if (!strstr(m[0].program->invocations[0].name, "ReduceSum+ReduceSum"))
    tg_test_fail(__FILE__, __LINE__, "%s: %s", arch, m[0].program->invocations[0].name);
  size_t bytes[2];
  for (int o = 0; o < 3; o++) {
    const void *want = output_of(&m[0], o, &bytes[0]), *got = output_of(&m[1], o, &bytes[1]);
    if (bytes[0] != bytes[1] || memcmp(want, got, bytes[0]))
      tg_test_fail(__FILE__, __LINE__, "%s: output %d differs", arch, o);
  }
  for (int i = 0; i < 2; i++) release_mapped(&m[i]);
  tg_arena_release(&arena);
}

/* Blocks of several pieces, of one, and pieces of several blocks; a shorter last block. */
TG_TEST(totals, run_with_time) {
  expect_same_bits(PRODUCT("4096", "96"), "edge", NULL);
  expect_same_bits(PRODUCT("256", "24"), "edge", NULL);
  expect_same_bits(PRODUCT("100", "640"), "edge", NULL);
  expect_same_bits(PRODUCT("2007", "96"), "edge", NULL);
  expect_same_bits(PRODUCT("36", "1024"), "edge", NULL);
  expect_same_bits(PRODUCT("256", "20"), "tiny", "p=2");
}
#endif
