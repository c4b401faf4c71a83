/* How many sections elementwise nodes and reductions take: those that share a tensor run in one pass over
 * memory, those in front of a reduction run in its, and reductions by blocks in the product that they
 * read. */
#include "tests/harness.h"
#include "tests/mapper/graph_files.h"
#include "tests/mapper/run_graph.h"

#include <string.h>

static int sections_on(const char *setting, const char *text) {
  tg_arena arena = {0};
  tg_diag diag = {""};
  mapped m;
  run_case what = {.text = text, .arch = "edge", .settings = {setting}, .map = {.seed = 1}};
  tg_status status = map_text(&what, &m, &arena, &diag);
  if (status) tg_test_fail(__FILE__, __LINE__, "%s\n%s", diag.message, text);
  int sections = m.program ? (int)m.program->invocation_count : -1;
  release_mapped(&m);
  tg_arena_release(&arena);
  return sections;
}

static int sections_of(const char *text) { return sections_on(NULL, text); }

#define INPUTS "graph \"g\" next=9\ninput %x: f32[64,32]\ninput %y: f32[64,32]\ninput %z: f32[64,32]\n"

TG_TEST(merge, what_one_makes_and_another_reads_stays_in_registers) {
  EXPECT_EQ(sections_of(INPUTS "%a = Mul(%x, %x) @0\n%b = Mul(%y, %y) @1\n%c = Add(%a, %b) @2\n"
                               "output \"c\" %c: f32\n"),
            1);
}

TG_TEST(merge, what_is_needed_outside_is_stored_as_well) {
  EXPECT_EQ(sections_of(INPUTS "%a = Mul(%x, %y) @0\n%b = Relu(%a) @1\n%c = Sub(%a, %z) @2\n"
                               "output \"a\" %a: f32\noutput \"b\" %b: f32\noutput \"c\" %c: f32\n"),
            1);
}

TG_TEST(merge, a_common_operand_is_loaded_once) {
  EXPECT_EQ(sections_of(INPUTS "%a = Mul(%x, %y) @0\n%b = Add(%x, %z) @1\n"
                               "output \"a\" %a: f32\noutput \"b\" %b: f32\n"),
            1);
}

/* A VOP posts three results at most. */
TG_TEST(merge, four_results_take_two_passes) {
  EXPECT_EQ(sections_of(INPUTS "%a = Mul(%x, %x) @0\n%b = Relu(%x) @1\n%c = Neg(%x) @2\n%d = Add(%x, %x) @3\n"
                               "output \"a\" %a: f32\noutput \"b\" %b: f32\noutput \"c\" %c: f32\n"
                               "output \"d\" %d: f32\n"),
            2);
}

/* The product reads %a and makes what %c reads: between the two there is no one pass. */
TG_TEST(merge, nothing_moves_across_what_needs_it) {
  EXPECT_EQ(sections_of(INPUTS "input %w: f32[32,32]\n%a = Mul(%x, %y) @0\n%m = MatMul(%a, %w) @1\n"
                               "%r = Softmax(%m) axis=-1 @2\n%c = Add(%a, %r) @3\n"
                               "output \"a\" %a: f32\noutput \"c\" %c: f32\noutput \"r\" %r: f32\n"),
            4);
}

/* Another shape of the same elements stays in the register; a row of either shape is no walk of the other. */
TG_TEST(merge, reshaped_results_stay_in_registers) {
  EXPECT_EQ(sections_of(INPUTS "%a = Mul(%x, %y) @0\n%f = Reshape(%a) shape=[32,64] @1\n%b = Relu(%f) @2\n"
                               "output \"b\" %b: f32\n"),
            1);
  EXPECT_EQ(sections_of(INPUTS
                        "input %r: f32[32]\ninput %s: f32[64]\n%a = Mul(%x, %r) @0\n"
                        "%f = Reshape(%a) shape=[32,64] @1\n%b = Add(%f, %s) @2\noutput \"b\" %b: f32\n"),
            2);
}

/* What is rounded by a store is read from memory, and an instruction draws for one tensor only. */
TG_TEST(merge, stochastic_casts_end_a_pass) {
  EXPECT_EQ(sections_of(INPUTS "%a = Mul(%x, %y) @0\n%b = Cast(%a) to=bf16 stochastic=1 @1\n%c = Neg(%a) @2\n"
                               "output \"b\" %b: bf16\noutput \"c\" %c: f32\n"),
            1);
  EXPECT_EQ(sections_of(
                INPUTS "%b = Cast(%x) to=bf16 stochastic=1 @1\n%w = Cast(%b) to=f32 @2\n%c = Add(%w, %x) @3\n"
                       "output \"b\" %b: bf16\noutput \"c\" %c: f32\n"),
            2);
  EXPECT_EQ(sections_of(INPUTS
                        "%b = Cast(%x) to=bf16 stochastic=1 @1\n%c = Cast(%x) to=bf16 stochastic=1 @2\n"
                        "output \"b\" %b: bf16\noutput \"c\" %c: bf16\n"),
            2);
}

/* Adam reads a parameter, its gradient and two tensors of state, and writes three of them. */
#define ADAM                                                                                                 \
  "const %k: f32[] = [0.9]\nconst %l: f32[] = [0.1]\n"                                                       \
  "%a = Mul(%x, %k) @0\n%b = Mul(%z, %l) @1\n%m = Add(%a, %b) @2\n"                                          \
  "%c = Mul(%z, %z) @3\n%d = Mul(%c, %l) @4\n%e = Mul(%y, %k) @5\n"                                          \
  "%v = Add(%e, %d) @6\n%f = Sqrt(%v) @7\n%g = Mul(%f, %correction) @8\n"                                    \
  "%h = Add(%g, %l) @9\n%i = Mul(%m, %rate) @10\n%j = Div(%i, %h) @11\n"                                     \
  "%q = Sub(%p, %j) @12\n"                                                                                   \
  "output \"m\" %m: f32\noutput \"v\" %v: f32\noutput \"p\" %q: f32\n"
#define NUMBERS "input %rate: f32[1]\ninput %correction: f32[1]\n"

TG_TEST(merge, an_optimizer_is_one_pass) {
  EXPECT_EQ(sections_of(INPUTS "input %p: f32[64,32]\n" NUMBERS ADAM), 1);
}

/* It is done where the product's accumulator is drained, if the product has gone on before that is over. */
#define GRADIENT(k, partials)                                                                                \
  sections_of("graph \"g\" next=9\ninput %x: f32[256,512]\ninput %y: f32[256,512]\n"                         \
              "input %p: f32[256,512]\n" NUMBERS "input %w: f32[256," k "]\n"                                \
              "input %u: f32[" k ",512]\n%z = MatMul(%w, %u) partials=" partials " @13\n" ADAM)

TG_TEST(merge, an_optimizer_joins_the_product_before_it) { EXPECT_EQ(GRADIENT("512", "1"), 1); }

TG_TEST(merge, the_last_of_short_parts_has_no_time_for_an_optimizer) { EXPECT_EQ(GRADIENT("128", "16"), 2); }

#define PIXELS "graph \"g\" next=9\ninput %x: f32[2,64,32,48]\ninput %y: f32[2,64,32,48]\ninput %m: f32[48]\n"

/* [2,64,32,48] over all but the last dimension is [1,4096,48] by blocks of 64, twice. */
TG_TEST(front, a_reduction_computes_what_it_reads) {
  EXPECT_EQ(sections_of(PIXELS "%a = Sub(%x, %m) @0\n%b = Mul(%a, %a) @1\n"
                               "%s = ReduceSum(%b) axes=[0,1,2] keepdims=0 @2\noutput \"s\" %s: f32\n"),
            2);
}

/* The gradients of a batch normalisation: sum g and sum g * xhat, of 4096 elements a channel, and dx; g and
 * xhat are nowhere in memory. */
TG_TEST(front, reductions_that_share_a_tensor_are_one_pass) {
  EXPECT_EQ(sections_of(PIXELS "const %o: f32[] = [0]\n%c = Greater(%x, %o) @0\n%g = Where(%c, %y, %o) @1\n"
                               "%h = Sub(%x, %m) @2\n%k = Mul(%g, %h) @3\n"
                               "%s = ReduceSum(%g) axes=[0,1,2] keepdims=0 @4\n"
                               "%t = ReduceSum(%k) axes=[0,1,2] keepdims=0 @5\n"
                               "%u = Mul(%h, %t) @6\n%v = Sub(%g, %s) @7\n%d = Add(%u, %v) @8\n"
                               "output \"d\" %d: f32\n"),
            1 + 2 + 1);
}

/* A row of 4000 elements is cut in two; the row vector comes once for each part. */
TG_TEST(front, rows_that_are_cut_take_a_section_a_part) {
  EXPECT_EQ(sections_of("graph \"g\" next=9\ninput %x: f32[64,4000]\ninput %t: f32[64,1]\n"
                        "%a = Sub(%x, %t) @0\n%e = Exp(%a) @1\n%s = ReduceSum(%e) axes=[1] @2\n"
                        "output \"s\" %s: f32\n"),
            2 + 1);
}

/* What takes many operations is rather stored than computed twice. */
TG_TEST(front, what_takes_long_is_computed_once) {
  EXPECT_EQ(sections_of(PIXELS "%e = Gelu(%x) @0\n%s = ReduceSum(%e) axes=[0,1,2] keepdims=0 @1\n"
                               "%d = Mul(%e, %y) @2\noutput \"s\" %s: f32\noutput \"d\" %d: f32\n"),
            1 + 2);
}

/* A sum and a maximum of one tensor; further passes over what is left are apart. */
TG_TEST(front, reductions_of_different_kinds_share_their_loads) {
  EXPECT_EQ(sections_of("graph \"g\" next=9\ninput %x: f32[64,300]\n%s = ReduceSum(%x) axes=[1] @0\n"
                        "%t = ReduceMax(%x) axes=[1] @1\noutput \"s\" %s: f32\noutput \"t\" %t: f32\n"),
            1);
}

/* Two sections for the sum of 4096, of which the first stores what it sums up. */
TG_TEST(front, what_is_reduced_is_stored_on_the_way) {
  EXPECT_EQ(sections_of(PIXELS "%a = Sub(%x, %m) @0\n%b = Mul(%a, %y) @1\n"
                               "%s = ReduceSum(%b) axes=[0,1,2] keepdims=0 @2\noutput \"b\" %b: f32\n"
                               "output \"s\" %s: f32\n"),
            2);
}

/* The gradient of a cross entropy, which a bias and two products read: numbers of rows go down the blocks,
 * and the store does the cast. */
TG_TEST(front, numbers_go_down_a_block) {
  EXPECT_EQ(sections_of("graph \"g\" next=9\ninput %x: f32[1024,640]\ninput %l: f32[1024,1]\n"
                        "input %g: f32[1024,1]\ninput %w: bf16[640,64]\ninput %h: bf16[1024,64]\n"
                        "%a = Sub(%x, %l) @0\n%e = Exp(%a) @1\n%d = Mul(%e, %g) @2\n"
                        "%b = ReduceSum(%d) axes=[0] keepdims=0 @3\n%c = Cast(%d) to=bf16 @4\n"
                        "%t = Transpose(%c) perm=[1,0] @5\n%p = MatMul(%c, %w) @6\n%q = MatMul(%t, %h) @7\n"
                        "output \"b\" %b: f32\noutput \"p\" %p: bf16\noutput \"q\" %q: bf16\n"),
            2 + 2);
}

/* ---- reductions of rows and what goes with them ---- */

#define ROWS                                                                                                 \
  "graph \"g\" next=99\ninput %y: f32[256,128]\ninput %d: f32[256,128]\ninput %m: f32[128]\n"                \
  "input %z: f32[256,1]\n"

TG_TEST(rowwise, a_softmax_s_gradient_is_one_kernel) {
  EXPECT_EQ(sections_of(ROWS "%a = Mul(%y, %d) @0\n%b = ReduceSum(%a) axes=[1] @1\n%c = Sub(%d, %b) @2\n"
                             "%e = Mul(%c, %y) @3\n%f = Mul(%e, %m) @4\noutput \"f\" %f: f32\n"),
            1);
}

/* The variance needs the mean, and the result both: two passes end by a reduction, a third stores. */
TG_TEST(rowwise, three_passes_take_a_row_once) {
  EXPECT_EQ(sections_of(ROWS "%a = ReduceSum(%y) axes=[1] @0\n%b = Sub(%y, %a) @1\n%c = Mul(%b, %b) @2\n"
                             "%e = ReduceSum(%c) axes=[1] @3\n%f = Mul(%b, %e) @4\noutput \"f\" %f: f32\n"),
            1);
}

/* A VOP has six segments: a third reduction that waits for the second, and a result, are one too many. */
TG_TEST(rowwise, four_passes_take_two_kernels) {
  EXPECT_EQ(sections_of(ROWS "%a = ReduceSum(%y) axes=[1] @0\n%b = Sub(%y, %a) @1\n%c = Mul(%b, %b) @2\n"
                             "%e = ReduceSum(%c) axes=[1] @3\n%f = Mul(%b, %e) @4\n%g = Abs(%f) @5\n"
                             "%h = ReduceMax(%g) axes=[1] @6\n%i = Div(%f, %h) @7\noutput \"i\" %i: f32\n"),
            2);
}

TG_TEST(rowwise, numbers_of_rows_are_stored_together) {
  EXPECT_EQ(sections_of(ROWS "%a = ReduceMax(%y) axes=[1] @0\n%b = Sub(%y, %a) @1\n%c = Exp(%b) @2\n"
                             "%e = ReduceSum(%c) axes=[1] @3\n%f = Log(%e) @4\noutput \"a\" %a: f32\n"
                             "output \"f\" %f: f32\n"),
            1);
}

/* Results of a kernel are of one size. */
TG_TEST(rowwise, rows_and_numbers_are_not_stored_together) {
  EXPECT_EQ(sections_of(ROWS "%a = ReduceMax(%y) axes=[1] @0\n%b = Sub(%y, %a) @1\noutput \"a\" %a: f32\n"
                             "output \"b\" %b: f32\n"),
            2);
}

/* Rows that the scratchpads have no room for are read again. */
TG_TEST(rowwise, long_rows_are_read_twice) {
  EXPECT_EQ(sections_of("graph \"g\" next=9\ninput %y: f32[64,30000]\n%a = ReduceMax(%y) axes=[1] @0\n"
                        "%b = Sub(%y, %a) @1\noutput \"b\" %b: f32\n") > 1,
            1);
}

/* ---- reductions that products compute ---- */

#define PRODUCT(rows, columns)                                                                               \
  "graph \"g\" next=20\ninput %a: f32[" rows ",64]\ninput %b: f32[64," columns "]\n"
#define SUM "%s = ReduceSum(%y) axes=[0] keepdims=0 @1\noutput \"s\" %s: f32\noutput \"y\" %y: f32\n"

/* 4096 rows are 64 blocks of 64, and those are one. */
TG_TEST(column_sums, the_first_pass_of_a_reduction_joins_the_product) {
  EXPECT_EQ(sections_of(PRODUCT("4096", "96") "%y = MatMul(%a, %b) @0\n" SUM), 1 + 1);
}

TG_TEST(column_sums, so_do_moments) {
  EXPECT_EQ(sections_of(PRODUCT("4096", "96") "%y = MatMul(%a, %b) @0\n"
                                              "%s = ReduceMoment(%y) axes=[0] order=1 keepdims=0 @1\n"
                                              "%t = ReduceMoment(%y) axes=[0] order=2 keepdims=0 @2\n"
                                              "output \"s\" %s: f32\noutput \"t\" %t: f32\n"
                                              "output \"y\" %y: f32\n"),
            1 + 3); /* the blocks' means, their sum and distances */
}

/* The product reduces whole blocks only. */
TG_TEST(column_sums, a_shorter_last_block_is_a_section) {
  EXPECT_EQ(sections_of(PRODUCT("4090", "96") "%y = MatMul(%a, %b) @0\n" SUM), 1 + 1 + 1);
}

TG_TEST(column_sums, sums_of_partial_products_are_reduced_apart) {
  EXPECT_EQ(sections_of(PRODUCT("4096", "96") "%y = MatMul(%a, %b) partials=2 @0\n" SUM), 1 + 2);
}

/* What a store rounds is in no register. */
TG_TEST(column_sums, what_is_rounded_stochastically_is_reduced_apart) {
  EXPECT_EQ(
      sections_of(PRODUCT("4096", "96") "%p = MatMul(%a, %b) @0\n%q = Cast(%p) to=bf16 stochastic=1 @2\n"
                                        "%y = Cast(%q) to=f32 @3\n" SUM),
      1 + 1 + 2);
}

/* sum g and sum g * xhat, g behind a relu, and each once more by a second pass. */
#define RELU_GRADIENT                                                                                        \
  PRODUCT("4096", "96")                                                                                      \
  "input %x: f32[4096,96]\ninput %m: f32[96]\nconst %o: f32[] = [0]\n"                                       \
  "%d = MatMul(%a, %b) @0\n%c = Greater(%x, %o) @2\n%y = Where(%c, %d, %o) @3\n"                             \
  "%h = Sub(%x, %m) @4\n%k = Mul(%y, %h) @5\n%t = ReduceSum(%k) axes=[0] keepdims=0 @6\n"                    \
  "output \"t\" %t: f32\n" SUM

TG_TEST(column_sums, sums_of_expressions_join_as_well) { EXPECT_EQ(sections_of(RELU_GRADIENT), 1 + 2); }

/* Products of many rows compute what they read on their tiles, and store it if others read it; the gradient
 * of the weights, which reads it by columns, does not. */
#define FRONT_PRODUCT                                                                                        \
  "graph \"g\" next=9\ninput %x: f32[9000,64]\ninput %s: f32[64]\ninput %w: f32[64,64]\n"                    \
  "input %g: f32[9000,64]\n%a = Mul(%x, %s) @0\n%r = Relu(%a) @1\n%y = MatMul(%r, %w) @2\n"                  \
  "output \"y\" %y: f32\n"
TG_TEST(front, what_a_product_reads_is_computed_on_its_tiles) {
  EXPECT_EQ(sections_of(FRONT_PRODUCT), 1);
  EXPECT_EQ(sections_of(FRONT_PRODUCT
                        "%t = Transpose(%r) perm=[1,0] @3\n%d = MatMul(%t, %g) @4\noutput \"d\" %d: f32\n"),
            1 + 1);
}

#define FRONT_MOMENTS                                                                                        \
  FRONT_PRODUCT "%m = ReduceMoment(%y) axes=[0] order=1 keepdims=0 @3\n"                                     \
                "%v = ReduceMoment(%y) axes=[0] order=2 keepdims=0 @4\n"                                     \
                "output \"m\" %m: f32\noutput \"v\" %v: f32\n"
TG_TEST(front, such_a_product_reduces_its_rows) {
  EXPECT_EQ(sections_of(FRONT_MOMENTS), sections_on("agcu_contexts=3", FRONT_MOMENTS) - 2);
}

/* The gradient of weights of a tensor that two are made into, and what another product makes of it. */
#define WEIGHTS                                                                                              \
  "graph \"g\" next=9\ninput %x: f32[8192,64]\ninput %h: f32[8192,64]\ninput %d: f32[8192,64]\n"             \
  "input %s: f32[64]\ninput %w: f32[64,64]\n%a = Mul(%h, %s) @0\n%g = Sub(%d, %a) @1\n"                      \
  "%z = Transpose(%x) perm=[1,0] @2\n%v = MatMul(%z, %g) @3\noutput \"v\" %v: f32\n"
#define WEIGHTS_AND_INPUT WEIGHTS "%u = MatMul(%g, %w) @4\noutput \"u\" %u: f32\n"
TG_TEST(front, gradients_of_weights_compute_what_they_read) {
  EXPECT_EQ(sections_of(WEIGHTS), 1);
  EXPECT_EQ(sections_of(WEIGHTS_AND_INPUT), 2);
  EXPECT_EQ(sections_on("agcu_contexts=3", WEIGHTS_AND_INPUT), 3);
  EXPECT_EQ(sections_on("banks=10", WEIGHTS_AND_INPUT), 3);
  EXPECT_EQ(sections_on("semaphores=34", WEIGHTS_AND_INPUT), 3);
  EXPECT_EQ(sections_on("queue_depth=8", WEIGHTS_AND_INPUT), 3);
}

TG_TEST(front, arrays_with_little_room_keep_nodes_and_product_apart) {
  EXPECT_EQ(sections_on("semaphores=28", FRONT_PRODUCT), 2);
  EXPECT_EQ(sections_on("agcu_contexts=3", FRONT_PRODUCT), 2);
}

/* Sections on `edge` under mp1 of which the name has `part` in it, of a larger image than the file has. */
static int sections_with(const char *path, const char *part) {
  tg_arena arena = {0};
  tg_diag diag = {""};
  mapped m;
  double tolerance;
  char *text = read_graph_file(path, &arena, &tolerance);
  for (char *size; (size = strstr(text, "32,32"));) size[0] = size[3] = '6', size[1] = size[4] = '4';
  run_case what = {.text = text, .arch = "edge", .precision = {.preset = TG_PRESET_MP1}, .map = {.seed = 1}};
  tg_status status = map_text(&what, &m, &arena, &diag);
  if (status) tg_test_fail(__FILE__, __LINE__, "%s\n%s", diag.message, path);
  int count = 0;
  for (uint32_t i = 0; m.program && i < m.program->section_count; i++)
    count += strstr(m.program->sections[i].name, part) != NULL;
  release_mapped(&m);
  tg_arena_release(&arena);
  return count;
}

/* In a drain, in front of a gradient of weights, of sums; the Transpose brings two channels together. */
TG_TEST(recompute, products_of_few_k_are_computed_where_they_are_read) {
  static const char path[] = "tests/mapper/graphs/small_products.txt";
  EXPECT_EQ(sections_with(path, "ConvInputGradient+Conv+Mul+Add+Relu+Greater+Where+Sub+Mul+ReduceSum"), 1);
  EXPECT_EQ(sections_with(path, "Conv+Sub+Mul+Add+Sub+Mul+ConvWeightGradient"), 1);
  EXPECT_EQ(sections_with(path, "ConvInputGradient+Where+Sub+Mul+Add+Sub+Mul+ConvWeightGradient"), 1);
  EXPECT_EQ(sections_with(path, "Transpose \"img"), 1);
}
