/* The dumb evaluator against cases small enough to do by hand, and the chain of numerics.md. */
#include "frontend/infer.h"
#include "frontend/reference.h"
#include "frontend/text.h"
#include "tests/frontend/support.h"
#include "tests/harness.h"

#include <math.h>

/* One output of a text graph over the given inputs, as fp32. */
static const float *evaluate(tg_arena *arena, const char *text, const float *const *inputs) {
  tg_graph *g;
  tg_diag diag = {""};
  tg_graph_parse(arena, text, &g, &diag);
  if (g) tg_graph_infer(g, &diag);
  EXPECT_STR(diag.message, "");
  if (diag.message[0]) return NULL;
  const void *in[4] = {NULL};
  for (int i = 0; i < g->input_count; i++) in[i] = inputs[i];
  const tg_value *y = g->outputs[0];
  void *out = tg_arena_alloc(arena, (size_t)tg_value_elements(y), 8);
  tg_reference_run(g, in, &out);
  float *wide = TG_NEW_ARRAY(arena, float, (size_t)tg_value_elements(y));
  for (int64_t i = 0; i < tg_value_elements(y); i++) wide[i] = tg_load_f32(out, y->dtype, (size_t)i);
  return wide;
}

typedef struct hand_case {
  const char *name, *text;
  float x[12];
  int count;
  float y[12];
} hand_case;

static const hand_case cases[] = {
    {"matmul_broadcasts_batches",
     "graph \"g\"\ninput %x: f32[2,1,2]\nconst %w: f32[2,2] = [1, 2, 3, 4]\n%y = MatMul(%x, %w) @0\noutput "
     "\"y\" %y: none",
     {1, 0, 0, 1},
     4,
     {1, 2, 3, 4}},
    {"empty_k_is_zero",
     "graph \"g\"\ninput %x: f32[2,0]\nconst %w: f32[0,2] = []\n%y = MatMul(%x, %w) @0\noutput \"y\" %y: "
     "none",
     {0},
     4,
     {0, 0, 0, 0}},
    {"gemm_scales",
     "graph \"g\"\ninput %x: f32[1,2]\nconst %w: f32[2,2] = [1, 2, 3, 4]\nconst %c: f32[1] = [10]\n"
     "%y = Gemm(%x, %w, %c) alpha=2 beta=0.5 transB=1 @0\noutput \"y\" %y: none",
     {1, 1},
     2,
     {11, 19}},
    {"scattered_rows_add_in_order", /* 2^24 + 1 + 1, not 1 + 1 + 2^24 */
     "graph \"g\"\ninput %x: f32[3,1]\nconst %i: i64[2,2] = [0, -1, 0, 0]\n"
     "const %u: f32[2,2,1] = [16777216, 5, 1, 1]\n%y = ScatterAdd(%x, %i, %u) @0\noutput \"y\" %y: none",
     {0, 7, 10},
     3,
     {16777216, 7, 15}},
    {"split_has_many_results",
     "graph \"g\"\ninput %x: f32[2,3]\n%a, %b = Split(%x) axis=1 split=[2,1] @0\n%y = Add(%a, %b) @1\n"
     "output \"y\" %y: none",
     {1, 2, 3, 4, 5, 6},
     4,
     {4, 5, 10, 11}},
    {"conv_pads_with_zero",
     "graph \"g\"\ninput %x: f32[1,1,2,2]\nconst %w: f32[1,1,2,2] = [1, 10, 100, 1000]\nconst %b: f32[1] = "
     "[0.5]\n"
     "%y = Conv(%x, %w, %b) pads=[1,0,0,1] @0\noutput \"y\" %y: none",
     {1, 2, 3, 4},
     4,
     {2100.5f, 200.5f, 4321.5f, 402.5f}},
    {"depthwise_dilated_conv",
     "graph \"g\"\ninput %x: f32[1,2,3]\nconst %w: f32[2,1,2] = [1, 10, 100, 1000]\n"
     "%y = Conv(%x, %w) group=2 dilations=[2] @0\noutput \"y\" %y: none",
     {1, 2, 3, 4, 5, 6},
     2,
     {31, 6400}},
    {"max_pool_ignores_padding",
     "graph \"g\"\ninput %x: f32[1,1,3]\n%y = MaxPool(%x) kernel_shape=[2] pads=[1,0] @0\noutput \"y\" %y: "
     "none",
     {-1, -2, -3},
     3,
     {-1, -1, -2}},
    {"average_pool_counts_or_not",
     "graph \"g\"\ninput %x: f32[1,1,3]\n%a = AveragePool(%x) kernel_shape=[2] pads=[1,0] @0\n"
     "%b = AveragePool(%x) kernel_shape=[2] pads=[1,0] count_include_pad=1 @1\n%y = Concat(%a, %b) axis=1 "
     "@2\n"
     "output \"y\" %y: none",
     {2, 4, 6},
     6,
     {2, 3, 5, 1, 3, 5}},
    {"softmax_of_equal_and_masked",
     "graph \"g\"\ninput %x: f32[2,2]\n%y = Softmax(%x) @0\noutput \"y\" %y: none",
     {3, 3, 0, -INFINITY},
     4,
     {0.5f, 0.5f, 1, 0}},
    {"layer_normalization_of_a_row_and_of_equals",
     "graph \"g\"\ninput %x: f32[2,4]\nconst %s: f32[4] = [1, 2, 1, 1]\nconst %b: f32[4] = [0, 0, 0, 5]\n"
     "%y = LayerNormalization(%x, %s, %b) epsilon=0.75 @0\noutput \"y\" %y: none",
     {1, 2, 3, 4, 7, 7, 7, 7}, /* of 1 to 4: mean 2.5, variance 1.25, so divided by sqrt 2 */
     8,
     {-1.06066017f, -0.707106781f, 0.353553391f, 6.06066017f, 0, 0, 0, 5}},
    {"transpose_moves",
     "graph \"g\"\ninput %x: f32[2,3]\n%y = Transpose(%x) @0\noutput \"y\" %y: none",
     {1, 2, 3, 4, 5, 6},
     6,
     {1, 4, 2, 5, 3, 6}},
    {"relu_and_its_kin",
     "graph \"g\"\ninput %x: f32[2]\n%a = Relu(%x) @0\n%b = LeakyRelu(%x) alpha=0.5 @1\n%c = Clip(%x) min=-1 "
     "max=1 @2\n"
     "%d = Abs(%x) @3\n%e = Neg(%x) @4\n%y = Concat(%a, %b, %c, %d, %e) axis=0 @5\noutput \"y\" %y: none",
     {-2, 4},
     10,
     {0, 4, -1, 4, -1, 1, 2, 4, 2, -4}},
    {"results_are_rounded_to_their_dtype",
     "graph \"g\"\ninput %x: f32[2]\nconst %c: f32[] = [1]\n%y: bf16[2] = Add(%x, %c) @0\noutput \"y\" %y: "
     "bf16",
     {0.00390625f, 0.01171875f}, /* a tie to even down, a tie to even up */
     2,
     {1, 1.015625f}},
    {"comparisons_are_false_of_nan",
     "graph \"g\"\ninput %x: f32[3]\nconst %k: f32[] = [1]\nconst %yes: f32[] = [1]\nconst %no: f32[] = [0]\n"
     "%l = Less(%x, %k) @0\n%g = GreaterOrEqual(%x, %k) @1\n%n = Not(%l) @2\n%o = Or(%l, %g) @3\n"
     "%a = Where(%l, %yes, %no) @4\n%b = Where(%n, %yes, %no) @5\n%c = Where(%o, %yes, %no) @6\n"
     "%y = Concat(%a, %b, %c) axis=0 @7\noutput \"y\" %y: none",
     {0, 1, NAN},
     9,
     {1, 0, 0, 0, 1, 1, 1, 1, 0}},
    {"reductions_over_axes",
     "graph \"g\"\ninput %x: f32[2,3]\n%a = ReduceSum(%x) axes=[0] keepdims=0 @0\n"
     "%b = ReduceMean(%x) axes=[-1] keepdims=0 @1\n%c = ReduceMax(%x) axes=[0,1] @2\n%d = Reshape(%c) "
     "shape=[1] @3\n"
     "%e = ReduceSumSquare(%x) keepdims=0 @4\n%f = Reshape(%e) shape=[1] @5\n"
     "%y = Concat(%a, %b, %d, %f) axis=0 @6\noutput \"y\" %y: none",
     {1, 2, 3, 4, 5, 9},
     7,
     {5, 7, 12, 2, 6, 9, 136}},
    {"sums_and_products_of_nothing",
     "graph \"g\"\ninput %x: f32[2,0]\n%a = ReduceSum(%x) axes=[1] @0\n%b = ReduceProd(%x) axes=[1] @1\n"
     "%y = Concat(%a, %b) axis=0 @2\noutput \"y\" %y: none",
     {0},
     4,
     {0, 0, 1, 1}},
    {"log_sum_exp_of_infinities",
     "graph \"g\"\ninput %x: f32[3,2]\n%y = ReduceLogSumExp(%x) axes=[1] @0\noutput \"y\" %y: none",
     {-INFINITY, -INFINITY, INFINITY, 0, 1000, -INFINITY},
     3,
     {-INFINITY, INFINITY, 1000}},
    {"roundings_to_integers",
     "graph \"g\"\ninput %x: f32[3]\n%a = Round(%x) @0\n%b = Floor(%x) @1\n%c = Ceil(%x) @2\n%d = Sign(%x) "
     "@3\n"
     "%y = Concat(%a, %b, %c, %d) axis=0 @4\noutput \"y\" %y: none",
     {2.5f, -1.25f, 0},
     12,
     {2, -1, 0, 2, -2, 0, 3, -1, 0, 1, -1, 0}},
    {"max_of_three_broadcasts",
     "graph \"g\"\ninput %x: f32[2,1]\nconst %a: f32[2] = [0, 5]\nconst %b: f32[] = [2]\n%y = Max(%x, %a, "
     "%b) @0\n"
     "output \"y\" %y: none",
     {1, 9},
     4,
     {2, 5, 9, 9}},
};

static void by_hand(const void *data) {
  const hand_case *row = data;
  tg_arena arena = {0};
  const float *inputs[] = {row->x};
  const float *y = evaluate(&arena, row->text, inputs);
  ASSERT(y);
  for (int i = 0; i < row->count; i++)
    if (y[i] != row->y[i])
      tg_test_fail(__FILE__, __LINE__, "%s[%d] is %g, not %g", row->name, i, (double)y[i], (double)row->y[i]);
  tg_arena_release(&arena);
}

__attribute__((constructor)) static void register_cases(void) {
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
    tg_test_register_row("reference", cases[i].name, __FILE__, __LINE__, by_hand, &cases[i]);
}

/* 2^24 + 1 + 1 ...: only the ascending chain, rounded at each step, loses every 1 and keeps the last 2. */
TG_TEST(reference, products_are_added_in_ascending_k) {
  tg_arena arena = {0};
  static const float x[] = {16777216, 1, 1, 2};
  const float *inputs[] = {x};
  const float *y = evaluate(&arena,
                            "graph \"g\"\ninput %x: f32[1,4]\nconst %w: f32[4,1] = [1, 1, 1, 1]\n"
                            "%y = MatMul(%x, %w) @0\noutput \"y\" %y: none",
                            inputs);
  ASSERT(y);
  EXPECT(y[0] == 16777218);
  tg_arena_release(&arena);
}

/* (kh, kw, cin): channel 1 of the first tap comes before the second tap. */
TG_TEST(reference, a_convolution_adds_channels_innermost) {
  tg_arena arena = {0};
  static const float x[] = {16777216, -16777216, 1,
                            0}; /* [1,2,2]: channel 0 is {2^24, -2^24}, channel 1 is {1, 0} */
  const float *inputs[] = {x};
  const float *y = evaluate(&arena,
                            "graph \"g\"\ninput %x: f32[1,2,2]\nconst %w: f32[1,2,2] = [1, 1, 1, 1]\n"
                            "%y = Conv(%x, %w) @0\noutput \"y\" %y: none",
                            inputs);
  ASSERT(y);
  EXPECT(y[0] == 0); /* 2^24 + 1 is lost before -2^24; channel-major would give 1 */
  tg_arena_release(&arena);
}

TG_TEST(reference, special_values_follow_ieee_754_2019) {
  tg_arena arena = {0};
  static const float x[] = {NAN, -0.0f, 0.0f};
  const float *inputs[] = {x};
  const float *y =
      evaluate(&arena,
               "graph \"g\"\ninput %x: f32[3]\nconst %z: f32[3] = [1, 0, -0]\n%a = Max(%x, %z) @0\n"
               "%b = Min(%x, %z) @1\n%c = Relu(%x) @2\n%y = Concat(%a, %b, %c) axis=0 @3\n"
               "output \"y\" %y: none",
               inputs);
  ASSERT(y);
  EXPECT(isnan(y[0]) && isnan(y[3]) && isnan(y[6]));
  EXPECT(!signbit(y[1]) && !signbit(y[2]));
  EXPECT(signbit(y[4]) && signbit(y[5]));
  EXPECT(!signbit(y[7]));
  tg_arena_release(&arena);
}

/* Indices that arrive with a run are checked by those who set them; here they must do no harm. */
TG_TEST(reference, rows_outside_read_zeros_and_write_nothing) {
  tg_arena arena = {0};
  const char *text = "graph \"g\"\ninput %x: f32[2,2]\ninput %i: i32[4]\n%y = Gather(%x, %i) @0\n"
                     "%z = ScatterAdd(%x, %i, %y) @1\n%o = Concat(%y, %z) axis=0 @2\noutput \"o\" %o: none";
  const float x[] = {1, 2, 3, 4}, want[] = {3, 4, 0, 0, 1, 2, 0, 0, 2, 4, 6, 8};
  const int32_t i[] = {1, 2, -2, -3};
  const float *got = evaluate(&arena, text, (const float *const[]){x, (const float *)i});
  ASSERT(got);
  for (int e = 0; e < 12; e++) EXPECT(got[e] == want[e]);
  tg_arena_release(&arena);
}

/* [batch, steps] instead of [steps, batch], which ONNX Runtime does not have. */
TG_TEST(reference, recurrent_layers_of_either_layout_agree) {
  static const char *const ops[] = {"LSTM", "GRU", "RNN"};
  static const int gates[] = {4, 3, 1};
  for (int i = 0; i < 3; i++) {
    tg_arena arena = {0};
    const char *weights =
        tg_arena_printf(&arena,
                        "const %%w: f32[2,%d,3] = seeded(1, 1)\nconst %%r: f32[2,%d,2] = seeded(2, 1)\n"
                        "const %%b: f32[2,%d] = seeded(3, 1)\nconst %%h: f32[2,5,2] = seeded(4, 1)\n"
                        "%%k = Transpose(%%h) perm=[1,0,2] @0\n",
                        gates[i] * 2, gates[i] * 2, gates[i] * 4);
    const char *text = tg_arena_printf(
        &arena,
        "graph \"g\"\ninput %%x: f32[4,5,3]\n%s%%t = Transpose(%%x) perm=[1,0,2] @1\n"
        "%%y, %%yh%s = %s(%%x, %%w, %%r, %%b, _, %%h) direction=\"bidirectional\" @2\n"
        "%%z, %%zh%s = %s(%%t, %%w, %%r, %%b, _, %%k) direction=\"bidirectional\" layout=1 @3\n"
        "%%q = Transpose(%%z) perm=[1,2,0,3] @4\n%%d = Sub(%%y, %%q) @5\n%%e = Transpose(%%zh) perm=[1,0,2] "
        "@6\n"
        "%%f = Sub(%%yh, %%e) @7\n%%p = Flatten(%%d) axis=0 @8\n%%n = Flatten(%%f) axis=0 @9\n"
        "%%o = Concat(%%p, %%n) axis=1 @10\noutput \"o\" %%o: none",
        weights, i ? "" : ", %yc", ops[i], i ? "" : ", %zc", ops[i]);
    float x[60];
    tg_seeded_fill(x, TG_F32, 60, 7, 1);
    const float *got = evaluate(&arena, text, (const float *const[]){x});
    ASSERT(got);
    for (int e = 0; e < 100; e++) EXPECT(got[e] == 0);
    tg_arena_release(&arena);
  }
}

/* Partial i mod 32 takes element i: 2^24 in partial 0 loses each 1 that partial 0 is given, and no other. */
TG_TEST(reference, rows_are_summed_by_32_partials) {
  tg_arena arena = {0};
  float x[64];
  for (int i = 0; i < 64; i++) x[i] = 1;
  x[0] = 16777216;
  const float *inputs[] = {x};
  const float *y = evaluate(&arena,
                            "graph \"g\"\ninput %x: f32[1,64]\n%y = ReduceSum(%x) axes=[1] @0\n"
                            "output \"y\" %y: none",
                            inputs);
  ASSERT(y);
  EXPECT_EQ(y[0], 16777216.0f + 62);
  tg_arena_release(&arena);
}

/* In ascending order every 1 is lost; blocks of two lose those of the first block only. */
TG_TEST(reference, blocks_are_summed_in_ascending_order) {
  tg_arena arena = {0};
  static const float x[] = {16777216, 1, 1, 1, 1};
  const float *inputs[] = {x};
  for (int block = 2; block <= 8; block += 6) {
    const char *text = tg_arena_printf(&arena,
                                       "graph \"g\"\ninput %%x: f32[1,5,1]\n%%y = ReduceSum(%%x) axes=[1] "
                                       "block=%d @0\noutput \"y\" %%y: none",
                                       block);
    const float *y = evaluate(&arena, text, inputs);
    ASSERT(y);
    EXPECT_EQ(y[0], 16777216.0f);
    if (block == 2) EXPECT_EQ(y[1], 2.0f);
    if (block == 2) EXPECT_EQ(y[2], 1.0f);
  }
  tg_arena_release(&arena);
}
