/* Products that compute reductions of their result by blocks of rows run on the engine that knows time: no
 * bank has two owners, and the bits are those of the functional engine, and of reductions that are passes of
 * their own. */
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

/* A gradient in BF16 behind a relu, whose mask the drain computes: %x is stored, so that the relu is, too. */
#define GRADIENT(reduce)                                                                                     \
  "graph \"g\" next=20\ninput %a: bf16[2048,200]\ninput %b: bf16[200,96]\ninput %x: bf16[2048,96]\n"         \
  "input %m: f32[96]\nconst %o: bf16[] = [0]\n"                                                              \
  "%d = MatMul(%a, %b) @0\n%w = Cast(%d) to=bf16 @1\n%r = Relu(%x) @2\n%c = Greater(%r, %o) @3\n"            \
  "%y = Where(%c, %w, %o) @4\n%f = Cast(%y) to=f32 @5\n%g = Cast(%x) to=f32 @10\n%h = Sub(%g, %m) @6\n%k = " \
  "Mul(%f, %h) @7\n"                                                                                         \
  "%s = " reduce "(%f) axes=[0] keepdims=0 @8\n%t = " reduce "(%k) axes=[0] keepdims=0 @9\n"                 \
  "output \"s\" %s: f32\noutput \"t\" %t: f32\noutput \"y\" %y: bf16\n"

/* Moments of a relu of the result, and of a result that is stored in BF16. */
#define MOMENTS(rows, columns, type, nodes)                                                                  \
  "graph \"g\" next=20\ninput %a: " type "[" rows ",3]\ninput %b: " type "[3," columns "]\n"                 \
  "input %m: f32[" columns "]\n%d = MatMul(%a, %b) @0\n" nodes                                               \
  "%s = ReduceMoment(%f) axes=[0] order=1 keepdims=0 @1\n"                                                   \
  "%t = ReduceMoment(%f) axes=[0] order=2 keepdims=0 @2\n"                                                   \
  "output \"s\" %s: f32\noutput \"t\" %t: f32\noutput \"y\" %y: " type "\n"
#define OF_RELU "%y = Add(%d, %m) @3\n%f = Relu(%y) @4\n"
#define OF_BF16 "%y = Relu(%d) @3\n%f = Cast(%y) to=f32 @6\n"

/* Moments of a product that computes what it reads; `others` may read it, too. */
#define FRONT(rows, columns, others)                                                                         \
  "graph \"g\" next=20\ninput %x: f32[" rows ",64]\ninput %o: f32[64]\ninput %w: f32[64," columns "]\n"      \
  "input %m: f32[" columns "]\n%a = Mul(%x, %o) @0\n%r = Relu(%a) @1\n%d = MatMul(%r, %w) @2\n"              \
  "%y = Add(%d, %m) @3\n%s = ReduceMoment(%y) axes=[0] order=1 keepdims=0 @4\n"                              \
  "%t = ReduceMoment(%y) axes=[0] order=2 keepdims=0 @5\n"                                                   \
  "output \"s\" %s: f32\noutput \"t\" %t: f32\noutput \"y\" %y: f32\n" others
#define NOBODY              ""
#define GRADIENT_OF_WEIGHTS "%z = Transpose(%r) perm=[1,0] @6\n%g = MatMul(%z, %x) @7\noutput \"g\" %g: f32\n"

/* On both engines, and with AGCUs that have no context for column sums, so that reductions are passes of their
 * own. */
enum { FUNCTIONAL, TIMED, APART, WAYS };

static bool run_all(const char *text, const char *arch, const char *setting, mapped *m, tg_arena *arena) {
  for (int i = 0; i < WAYS; i++) {
    const char *contexts = i == APART ? "agcu_contexts=3" : "agcu_contexts=4";
    run_case what = {.text = text, .arch = arch, .settings = {contexts, setting}, .run = {.threads = 1}};
    tg_diag diag = {""};
    if (i == TIMED) what.engine = &tg_engine_systemc;
    if (run_text(&what, &m[i], arena, &diag)) {
      tg_test_fail(__FILE__, __LINE__, "%s: %s", arch, diag.message);
      return false;
    }
  }
  return true;
}

static void expect_same_output(const mapped *a, const mapped *b, const char *arch, int output) {
  size_t bytes[2];
  const void *want = output_of(a, output, &bytes[0]), *got = output_of(b, output, &bytes[1]);
  if (bytes[0] != bytes[1] || memcmp(want, got, bytes[0]))
    tg_test_fail(__FILE__, __LINE__, "%s: output %d differs", arch, output);
}

static void expect_same_bits(const char *text, const char *arch, const char *setting) {
  tg_arena arena = {0};
  mapped m[WAYS] = {{0}};
  if (!run_all(text, arch, setting, m, &arena)) return;
  for (int i = 0; i < WAYS; i++) {
    const char *name = m[i].program->invocations[0].name;
    bool joined = strstr(name, "MatMul") && strstr(name, "Reduce");
    if (joined != (i != APART)) tg_test_fail(__FILE__, __LINE__, "%s: %s", arch, name);
    for (int o = 0; o < 3; o++) expect_same_output(&m[FUNCTIONAL], &m[i], arch, o);
  }
  for (int i = 0; i < WAYS; i++) release_mapped(&m[i]);
  tg_arena_release(&arena);
}

/* Blocks of several pieces, of one, and pieces of several blocks; a shorter last block. */
TG_TEST(column_sums, run_with_time) {
  expect_same_bits(PRODUCT("4096", "96"), "edge", NULL);
  expect_same_bits(PRODUCT("256", "24"), "edge", NULL);
  expect_same_bits(PRODUCT("100", "640"), "edge", NULL);
  expect_same_bits(PRODUCT("2007", "96"), "edge", NULL);
  expect_same_bits(PRODUCT("36", "1024"), "edge", NULL);
  expect_same_bits(PRODUCT("256", "20"), "tiny", "p=2");
}

TG_TEST(column_sums, of_a_gradient) {
  expect_same_bits(GRADIENT("ReduceSum"), "edge", NULL);
  expect_same_bits(GRADIENT("ReduceMax"), "edge", NULL);
  expect_same_bits(GRADIENT("ReduceProd"), "edge", NULL);
}

/* Of blocks of a multiple of four, and a shorter last one; a single block of an even, and of an odd size. */
TG_TEST(column_sums, of_moments) {
  expect_same_bits(MOMENTS("4096", "96", "f32", OF_RELU), "edge", NULL);
  expect_same_bits(MOMENTS("2007", "96", "f32", OF_RELU), "edge", NULL);
  expect_same_bits(MOMENTS("4096", "256", "bf16", OF_BF16), "edge", NULL);
  expect_same_bits(MOMENTS("2007", "256", "bf16", OF_BF16), "edge", NULL);
  expect_same_bits(MOMENTS("50", "1024", "f32", OF_RELU), "edge", NULL);
  expect_same_bits(MOMENTS("63", "1024", "f32", OF_RELU), "edge", NULL);
  expect_same_bits(MOMENTS("256", "20", "f32", OF_RELU), "tiny", "p=2");
}

TG_TEST(column_sums, of_a_product_with_nodes_in_front) {
  expect_same_bits(FRONT("8192", "64", NOBODY), "edge", NULL);
  expect_same_bits(FRONT("9000", "64", GRADIENT_OF_WEIGHTS), "edge", NULL);
  expect_same_bits(FRONT("8192", "128", GRADIENT_OF_WEIGHTS), "edge", NULL);
  expect_same_bits(FRONT("4096", "32", GRADIENT_OF_WEIGHTS), "tiny", "queue_depth=64");
}
#endif
