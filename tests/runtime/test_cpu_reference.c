/* The CPU reference against outputs of ONNX Runtime and against the dumb evaluator. */
#include "frontend/infer.h"
#include "frontend/onnx/onnx.h"
#include "frontend/reference.h"
#include "runtime/cpu_reference/cpu_reference.h"
#include "runtime/npy.h"
#include "tests/harness.h"

#include <math.h>

/* --- real models */

typedef struct model_case {
  const char *model, *input, *output;
} model_case;

static const model_case models[] = {{"mnist_8", "in_Input3", "out_Plus214_Output_0"},
                                    {"mnist_atmega", "in_network_input", "out_network_output"},
                                    {"tfl_helloworld", "in_dense_2_input", "out_dense_4"}};

static const char *shared(tg_arena *arena, const char *folder, const char *model, const char *rest) {
  return tg_arena_printf(arena, "%s/corpus/%s/%s%s", tg_test_shared(), folder, model, rest);
}

static bool close_to(const float *a, const float *b, int64_t count, float relative) {
  float largest = 0;
  for (int64_t i = 0; i < count; i++) largest = fmaxf(largest, fabsf(b[i]));
  for (int64_t i = 0; i < count; i++)
    if (!(fabsf(a[i] - b[i]) <= relative * largest)) return false;
  return true;
}

static void matches_onnx_runtime(const void *row) {
  const model_case *m = row;
  tg_arena arena = {0};
  tg_diag diag = {""};
  if (!tg_test_shared()) SKIP("models of others are not here (TEGULA_SHARED)");
  const char *path = shared(&arena, "models", m->model, ".onnx");
  tg_npy in, out;
  tg_graph *graph;
  ASSERT(!tg_npy_read(
      &arena, shared(&arena, "golden", m->model, tg_arena_printf(&arena, "/%s.npy", m->input)), &in, &diag));
  ASSERT(!tg_npy_read(&arena,
                      shared(&arena, "golden", m->model, tg_arena_printf(&arena, "/%s.npy", m->output)), &out,
                      &diag));
  ASSERT(!tg_onnx_read(&arena, path, &graph, &diag));
  tg_graph_bind_rest(graph, in.dims[0]);
  ASSERT(!tg_graph_infer(graph, &diag));
  static const struct {
    tg_dtype dtype;
    float tolerance;
  } formats[] = {{TG_F32, 1e-5f}, {TG_BF16, 0.05f}};
  for (int f = 0; f < 2; f++)
    for (int threads = 1; threads <= 2; threads++) {
      tg_cpu_reference *reference;
      ASSERT(!tg_cpu_reference_create(graph, formats[f].dtype, threads, &reference, &diag));
      tg_cpu_reference_set_input(reference, 0, in.data);
      tg_cpu_time time;
      EXPECT_EQ(tg_cpu_reference_time(reference, (tg_cpu_effort){0}, &time, &diag),
                TG_OK); /* repeated runs must not disturb each other */
      EXPECT(time.seconds > 0 && time.threads == threads && time.runs >= 3);
      EXPECT(0 < time.low && time.low <= time.seconds && time.seconds <= time.high);
      float *got = TG_NEW_ARRAY(&arena, float, (size_t)out.count);
      tg_cpu_reference_get_output(reference, 0, got);
      EXPECT(close_to(got, out.data, out.count, formats[f].tolerance));
      tg_cpu_reference_destroy(reference);
    }
  tg_arena_release(&arena);
}

__attribute__((constructor)) static void register_models(void) {
  for (size_t i = 0; i < sizeof models / sizeof *models; i++)
    tg_test_register_row("cpu_reference_model", models[i].model, __FILE__, __LINE__, matches_onnx_runtime,
                         &models[i]);
}

/* --- operators, against the dumb evaluator */

typedef struct builder {
  tg_arena arena;
  tg_graph *graph;
} builder;

static tg_value *input(builder *b, const char *name, int rank, const int64_t *sizes) {
  tg_dim dims[TG_MAX_RANK] = {0};
  for (int d = 0; d < rank; d++) dims[d].size = sizes[d];
  return tg_graph_add_input(b->graph, name, TG_F32, rank, dims);
}

static tg_node *node(builder *b, tg_op op, tg_value *first, tg_value *second, tg_value *third) {
  tg_value *inputs[] = {first, second, third};
  return tg_graph_add_node(b->graph, op, "", inputs, third ? 3 : second ? 2 : 1, NULL, -1);
}

/* Runs both and compares every output; returns how many nodes ran in plain C. */
static int compare(builder *b, float tolerance) {
  tg_diag diag = {""};
  tg_graph *graph = b->graph;
  if (tg_graph_infer(graph, &diag)) {
    tg_test_fail(__FILE__, __LINE__, "%s", diag.message);
    return -1;
  }
  const void *inputs[8];
  void *outputs[8];
  tg_cpu_reference *reference;
  EXPECT_EQ(tg_cpu_reference_create(graph, TG_F32, 2, &reference, &diag), TG_OK);
  for (int i = 0; i < graph->input_count; i++) {
    int64_t count = tg_value_elements(graph->inputs[i]);
    float *data = TG_NEW_ARRAY(&b->arena, float, (size_t)count);
    tg_seeded_fill(data, TG_F32, count, 7 + (uint64_t)i, 1);
    inputs[i] = data;
    tg_cpu_reference_set_input(reference, i, data);
  }
  for (int i = 0; i < graph->output_count; i++)
    outputs[i] = TG_NEW_ARRAY(&b->arena, float, (size_t)tg_value_elements(graph->outputs[i]));
  tg_reference_run(graph, inputs, outputs);
  tg_cpu_time time = {0};
  EXPECT_EQ(tg_cpu_reference_time(reference, (tg_cpu_effort){.warmup = 2, .repeats = 5}, &time, &diag),
            TG_OK);
  EXPECT_EQ(time.runs, 5);
  EXPECT_EQ(time.warmup, 2);
  EXPECT_EQ(tg_cpu_reference_time(reference, (tg_cpu_effort){0}, &time, &diag), TG_OK);
  EXPECT_EQ(time.runs, 3);
  EXPECT_EQ(time.warmup, 1);
  for (int i = 0; i < graph->output_count; i++) {
    int64_t count = tg_value_elements(graph->outputs[i]);
    float *got = TG_NEW_ARRAY(&b->arena, float, (size_t)count);
    tg_cpu_reference_get_output(reference, i, got);
    if (!close_to(got, outputs[i], count, tolerance))
      tg_test_fail(__FILE__, __LINE__, "output %d (%s) differs", i, graph->output_names[i]);
  }
  tg_cpu_reference_destroy(reference);
  tg_arena_release(&b->arena);
  return time.plain_nodes;
}

static builder begin(void) {
  builder b = {0};
  return b;
}
#define BEGIN(name)                                                                                          \
  builder name = begin();                                                                                    \
  name.graph = tg_graph_create(&name.arena, "test")

TG_TEST(cpu_reference, elementwise_chain_keeps_its_inputs) {
  BEGIN(b);
  tg_value *x = input(&b, "x", 3, (int64_t[]){3, 5, 7}), *row = input(&b, "row", 1, (int64_t[]){7});
  tg_value *flat = tg_out(node(&b, TG_OP_FLATTEN, x, NULL, NULL)); /* shares the input's storage */
  tg_value *y = tg_out(node(&b, TG_OP_EXP, flat, NULL, NULL));
  tg_value *z = tg_out(node(&b, TG_OP_SIGMOID, y, NULL, NULL));
  tg_graph_add_output(b.graph, z, "z", TG_F32);
  static const tg_op ops[] = {TG_OP_ADD, TG_OP_SUB, TG_OP_MUL, TG_OP_MAX, TG_OP_MIN};
  for (int i = 0; i < 5; i++)
    tg_graph_add_output(b.graph, tg_out(node(&b, ops[i], x, row, NULL)), "binary", TG_F32);
  tg_graph_add_output(b.graph, tg_out(node(&b, TG_OP_ADD, row, x, NULL)), "swapped", TG_F32);
  EXPECT_EQ(compare(&b, 1e-5f), 0);
}

/* Twenty blocks of a product, its activation and what leads around them, reshaped on the way, of which early ones are
 * read once more at the end. */
TG_TEST(cpu_reference, results_make_room_when_they_have_been_read) {
  enum { ROWS = 64, COLUMNS = 48, BLOCKS = 20 };
  BEGIN(b);
  tg_value *x = input(&b, "x", 2, (int64_t[]){ROWS, COLUMNS}), *early = NULL;
  tg_value *w = tg_graph_add_seeded(b.graph, "w", TG_F32, 2, (int64_t[]){COLUMNS, COLUMNS}, 3, 0.1f);
  for (int i = 0; i < BLOCKS; i++) {
    tg_value *y = tg_out(node(&b, TG_OP_MATMUL, x, w, NULL));
    tg_value *turned = tg_out(node(&b, TG_OP_TRANSPOSE, y, NULL, NULL));
    tg_value *flat = tg_out(node(&b, TG_OP_FLATTEN, tg_out(node(&b, TG_OP_TANH, y, NULL, NULL)), NULL, NULL));
    tg_value *sum = tg_out(node(&b, TG_OP_ADD, x, tg_out(node(&b, TG_OP_SIGMOID, flat, NULL, NULL)), NULL));
    x = tg_out(node(&b, TG_OP_MAX, sum, tg_out(node(&b, TG_OP_TRANSPOSE, turned, NULL, NULL)), NULL));
    if (i == 3) early = turned;
  }
  tg_value *late = tg_out(node(&b, TG_OP_TRANSPOSE, early, NULL, NULL));
  tg_graph_add_output(b.graph, tg_out(node(&b, TG_OP_SUB, x, late, NULL)), "y", TG_F32);
  tg_graph_add_output(b.graph, early, "early", TG_F32);
  tg_diag diag = {""};
  ASSERT(!tg_graph_infer(b.graph, &diag));
  tg_cpu_reference *reference;
  ASSERT(!tg_cpu_reference_create(b.graph, TG_BF16, 1, &reference, &diag));
  /* blocks make six results each; what oneDNN packs of each product is the processor's */
  EXPECT(tg_cpu_reference_bytes(reference) < (size_t)2 * BLOCKS * ROWS * COLUMNS * sizeof(float));
  tg_cpu_reference_destroy(reference);
  EXPECT_EQ(compare(&b, 1e-5f), 0);
}

TG_TEST(cpu_reference, a_broadcast_first_operand_runs_in_plain_c) {
  BEGIN(b);
  tg_value *x = input(&b, "x", 2, (int64_t[]){3, 5}), *row = input(&b, "row", 1, (int64_t[]){5});
  tg_graph_add_output(b.graph, tg_out(node(&b, TG_OP_SUB, row, x, NULL)), "y", TG_F32);
  EXPECT_EQ(compare(&b, 1e-6f), 1);
}

TG_TEST(cpu_reference, products_with_what_is_fused_behind_them) {
  BEGIN(b);
  tg_value *x = input(&b, "x", 2, (int64_t[]){17, 13}), *other = input(&b, "other", 2, (int64_t[]){17, 5});
  tg_value *w = tg_graph_add_seeded(b.graph, "w", TG_F32, 2, (int64_t[]){13, 5}, 3, 1);
  tg_value *bias = tg_graph_add_seeded(b.graph, "bias", TG_F32, 1, (int64_t[]){5}, 4, 1);
  tg_value *y = tg_out(node(&b, TG_OP_MATMUL, x, w, NULL));
  y = tg_out(node(&b, TG_OP_ADD, bias, y, NULL));
  y = tg_out(node(&b, TG_OP_RELU, y, NULL, NULL));
  y = tg_out(node(&b, TG_OP_SUB, y, other, NULL));
  tg_graph_add_output(b.graph, y, "fused", TG_F32);
  tg_value *shared_result = tg_out(node(&b, TG_OP_MATMUL, x, w, NULL)); /* two readers: not fused */
  tg_graph_add_output(b.graph, tg_out(node(&b, TG_OP_TANH, shared_result, NULL, NULL)), "tanh", TG_F32);
  tg_graph_add_output(b.graph, tg_out(node(&b, TG_OP_MUL, shared_result, shared_result, NULL)), "square",
                      TG_F32);
  EXPECT_EQ(compare(&b, 1e-5f), 0);
}

TG_TEST(cpu_reference, batched_products_and_softmax) {
  BEGIN(b);
  tg_value *q = input(&b, "q", 4, (int64_t[]){2, 3, 9, 4}), *k = input(&b, "k", 4, (int64_t[]){2, 3, 11, 4});
  tg_node *turn = node(&b, TG_OP_TRANSPOSE, k, NULL, NULL);
  tg_attr_set_ints(b.graph, turn, TG_ATTR_PERM, (int64_t[]){0, 1, 3, 2}, 4);
  tg_value *scores = tg_out(node(&b, TG_OP_MATMUL, q, tg_out(turn), NULL));
  tg_graph_add_output(b.graph, tg_out(node(&b, TG_OP_SOFTMAX, scores, NULL, NULL)), "p", TG_F32);
  tg_value *left = tg_out(node(&b, TG_OP_MATMUL, q, tg_out(turn), NULL));
  tg_value *both[] = {left, scores, left};
  tg_node *joined = tg_graph_add_node(b.graph, TG_OP_CONCAT, "", both, 3, NULL, -1);
  tg_attr_set_int(joined, TG_ATTR_AXIS, 2);
  tg_graph_add_output(b.graph, tg_out(joined), "joined", TG_F32);
  EXPECT_EQ(compare(&b, 1e-5f), 0);
}

static tg_value *convolution(builder *b, tg_value *x, const int64_t *w, int64_t group, bool last) {
  tg_value *weights = tg_graph_add_seeded(b->graph, "w", TG_F32, 4, w, 5, 0.5f);
  tg_value *bias = tg_graph_add_seeded(b->graph, "bias", TG_F32, 1, last ? &w[3] : &w[0], 6, 1);
  tg_node *conv = node(b, TG_OP_CONV, x, weights, bias);
  tg_attr_set_int(conv, TG_ATTR_GROUP, group);
  tg_attr_set_int(conv, TG_ATTR_CHANNELS_LAST, last);
  tg_attr_set_ints(b->graph, conv, TG_ATTR_KERNEL_SHAPE, (int64_t[]){3, 2}, 2);
  tg_attr_set_ints(b->graph, conv, TG_ATTR_STRIDES, (int64_t[]){2, 1}, 2);
  tg_attr_set_ints(b->graph, conv, TG_ATTR_DILATIONS, (int64_t[]){1, 2}, 2);
  tg_attr_set_ints(b->graph, conv, TG_ATTR_PADS, (int64_t[]){1, 0, 2, 1}, 4);
  return tg_out(conv);
}

TG_TEST(cpu_reference, convolutions_in_both_layouts_and_groups) {
  for (int last = 0; last < 2; last++)
    for (int64_t group = 1; group <= 3; group += 2) {
      BEGIN(b);
      tg_value *x = input(&b, "x", 4, last ? (int64_t[]){2, 9, 8, 6} : (int64_t[]){2, 6, 9, 8});
      int64_t first[] = {9, 6 / group, 3, 2}, packed[] = {3, 2, 6 / group, 9};
      tg_value *y = convolution(&b, x, last ? packed : first, group, last);
      y = tg_out(node(&b, TG_OP_RELU, y, NULL, NULL));
      tg_graph_add_output(b.graph, y, "y", TG_F32);
      EXPECT_EQ(compare(&b, 1e-5f), 0);
    }
}

TG_TEST(cpu_reference, pools_also_with_ceil_mode) {
  for (int last = 0; last < 2; last++) {
    BEGIN(b);
    tg_value *x = input(&b, "x", 4, last ? (int64_t[]){2, 9, 8, 5} : (int64_t[]){2, 5, 9, 8});
    for (int average = 0; average < 2; average++) {
      tg_node *pool = node(&b, average ? TG_OP_AVERAGE_POOL : TG_OP_MAX_POOL, x, NULL, NULL);
      tg_attr_set_ints(b.graph, pool, TG_ATTR_KERNEL_SHAPE, (int64_t[]){3, 2}, 2);
      tg_attr_set_ints(b.graph, pool, TG_ATTR_STRIDES, (int64_t[]){2, 3}, 2);
      tg_attr_set_ints(b.graph, pool, TG_ATTR_PADS, (int64_t[]){1, 0, 0, 1}, 4);
      tg_attr_set_int(pool, TG_ATTR_CEIL_MODE, 1);
      tg_attr_set_int(pool, TG_ATTR_CHANNELS_LAST, last);
      tg_graph_add_output(b.graph, tg_out(pool), average ? "mean" : "maximum", TG_F32);
    }
    EXPECT_EQ(compare(&b, 1e-5f), 0);
  }
}

/* Rows of a table, then their sums, by numbers of which some count from the end and some are outside. */
TG_TEST(cpu_reference, rows_by_number_are_copied_and_added) {
  static const float numbers[] = {2, -1, 7, 0, 2}, table[] = {1, 2, 3, 4, 5, 6, 7, 8},
                     rows[] = {5, 6, 7, 8, 0, 0, 1, 2, 5, 6},
                     sums[] = {1 + 1, 2 + 2, 3, 4, 5 + 5 + 5, 6 + 6 + 6, 7 + 7, 8 + 8};
  for (int axis = 0; axis < 2; axis++) {
    BEGIN(b);
    tg_diag diag = {""};
    tg_cpu_reference *reference;
    float got[10], columns[8];
    tg_value *x = input(&b, "x", 2, axis ? (int64_t[]){2, 4} : (int64_t[]){4, 2}),
             *ids = tg_graph_add_input(b.graph, "ids", TG_I64, 1, (tg_dim[]){{.size = 5}});
    tg_node *gather = node(&b, TG_OP_GATHER, x, ids, NULL);
    tg_attr_set_int(gather, TG_ATTR_AXIS, axis);
    tg_graph_add_output(b.graph, tg_out(gather), "rows", TG_F32);
    if (!axis) {
      tg_node *scatter = node(&b, TG_OP_SCATTER_ADD, x, ids, tg_out(gather));
      tg_graph_add_output(b.graph, tg_out(scatter), "sums", TG_F32);
    }
    ASSERT(!tg_graph_infer(b.graph, &diag));
    ASSERT(!tg_cpu_reference_create(b.graph, TG_F32, 1, &reference, &diag));
    for (int i = 0; i < 8; i++) columns[i] = axis ? table[i % 4 * 2 + i / 4] : table[i];
    tg_cpu_reference_set_input(reference, 0, columns);
    tg_cpu_reference_set_input(reference, 1, numbers);
    tg_cpu_time time;
    ASSERT(!tg_cpu_reference_time(reference, (tg_cpu_effort){0}, &time, &diag));
    EXPECT_EQ(time.plain_nodes, 0);
    tg_cpu_reference_get_output(reference, 0, got);
    for (int i = 0; i < 10; i++) EXPECT(got[i] == (axis ? rows[i % 5 * 2 + i / 5] : rows[i]));
    if (!axis) {
      tg_cpu_reference_get_output(reference, 1, got);
      for (int i = 0; i < 8; i++) EXPECT(got[i] == sums[i]);
    }
    tg_cpu_reference_destroy(reference);
    tg_arena_release(&b.arena);
  }
}
