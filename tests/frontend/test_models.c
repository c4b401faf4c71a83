/* Real models: import, inference, lowering, and the reference against ONNX Runtime's outputs. */
#include "frontend/onnx/onnx.h"
#include "frontend/pipeline.h"
#include "frontend/reference.h"
#include "frontend/text.h"
#include "tests/frontend/support.h"
#include "tests/harness.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct model_case {
  const char *model, *input, *output;
  int64_t batch; /* of the recorded input, bound to every open dimension */
} model_case;

static const model_case models[] = {
    {"mnist_8", "Input3", "Plus214_Output_0", 1},
    {"mnist_atmega", "network_input", "network_output", 1},
    {"tfl_helloworld", "dense_2_input", "dense_4", 8},
};

static void check_against_runtime(tg_arena *arena, const tg_graph *graph, const model_case *row,
                                  const char *stage) {
  int64_t in_count, out_count;
  const char *folder = tg_arena_printf(arena, "corpus/golden/%s", row->model);
  const float *in = read_npy(
      arena, shared_path(arena, tg_arena_printf(arena, "%s/in_%s.npy", folder, row->input)), &in_count);
  const float *want = read_npy(
      arena, shared_path(arena, tg_arena_printf(arena, "%s/out_%s.npy", folder, row->output)), &out_count);
  ASSERT(in && want && graph->input_count == 1 && graph->output_count == 1);
  ASSERT(tg_value_elements(graph->inputs[0]) == in_count);
  ASSERT(tg_value_elements(graph->outputs[0]) == out_count);
  float *got = TG_NEW_ARRAY(arena, float, (size_t)out_count);
  const void *inputs[] = {in};
  void *outputs[] = {got};
  tg_reference_run(graph, inputs, outputs);
  double worst = worst_ratio(got, want, out_count, 1e-3, 1e-5);
  if (!(worst <= 1))
    tg_test_fail(__FILE__, __LINE__, "%s %s: off by %g tolerances", row->model, stage, worst);
}

typedef struct observer {
  tg_arena *arena;
  const model_case *row;
} observer;

static void check_pass(void *user, const char *pass, const tg_graph *graph) {
  const observer *o = user;
  tg_diag diag = {""};
  tg_graph_verify(graph, &diag);
  if (diag.message[0]) tg_test_fail(__FILE__, __LINE__, "%s after %s: %s", o->row->model, pass, diag.message);
  check_against_runtime(o->arena, graph, o->row, pass);
}

static void matches_onnx_runtime(const void *data) {
  const model_case *row = data;
  tg_arena arena = {0};
  const char *path = shared_path(&arena, tg_arena_printf(&arena, "corpus/models/%s.onnx", row->model));
  if (!path) SKIP("models of others are not here (TEGULA_SHARED)");
  tg_graph *graph;
  tg_diag diag = {""};
  EXPECT_EQ(tg_onnx_read(&arena, path, &graph, &diag), TG_OK);
  EXPECT_STR(diag.message, "");
  ASSERT(graph);
  tg_graph_bind_rest(graph, row->batch);
  tg_frontend_options options;
  tg_frontend_defaults(&options);
  observer o = {&arena, row};
  options.observe = check_pass;
  options.observe_user = &o;
  EXPECT_EQ(tg_frontend_lower(graph, &options, &diag), TG_OK);
  EXPECT_STR(diag.message, "");
  if (getenv("TEGULA_SHOW")) puts(tg_graph_print(graph, &arena));
  tg_arena_release(&arena);
}

/* --- precision presets */

static int count_casts(const tg_graph *graph) {
  int count = 0;
  TG_FOR_NODES(graph, node) count += node->op == TG_OP_CAST;
  return count;
}

static double cosine(const float *a, const float *b, int64_t count) {
  double ab = 0, aa = 0, bb = 0;
  for (int64_t i = 0; i < count; i++) {
    ab += (double)a[i] * (double)b[i];
    aa += (double)a[i] * (double)a[i];
    bb += (double)b[i] * (double)b[i];
  }
  return ab / sqrt(aa * bb);
}

typedef struct preset_case {
  const char *name;
  int casts;       /* left in the lowered mnist_8: inputs and outputs only, the rest is inside operators */
  double farthest; /* 1 - cosine to the fp32 output, measured 3e-6 and 1.3e-5 */
} preset_case;

static const preset_case presets[] = {{"mp0", 0, 1e-9}, {"mp1", 1, 1e-4}, {"mp4", 2, 1e-3}};

static void lowers_under_preset(const void *data) {
  const preset_case *row = data;
  tg_arena arena = {0};
  tg_diag diag = {""};
  const char *path = shared_path(&arena, "corpus/models/mnist_8.onnx");
  if (!path) SKIP("models of others are not here (TEGULA_SHARED)");
  int64_t count;
  const float *in = read_npy(&arena, shared_path(&arena, "corpus/golden/mnist_8/in_Input3.npy"), &count);
  const float *want =
      read_npy(&arena, shared_path(&arena, "corpus/golden/mnist_8/out_Plus214_Output_0.npy"), &count);
  tg_graph *graph;
  tg_frontend_options options;
  tg_frontend_defaults(&options);
  EXPECT_EQ(tg_precision_preset_parse(row->name, &options.precision.preset, &diag), TG_OK);
  EXPECT_EQ(tg_onnx_read(&arena, path, &graph, &diag), TG_OK);
  ASSERT(graph && in && want);
  EXPECT_EQ(tg_frontend_lower(graph, &options, &diag), TG_OK);
  EXPECT_STR(diag.message, "");
  float got[10];
  ASSERT(count == 10 && graph->outputs[0]->dtype == TG_F32);
  tg_reference_run(graph, (const void *[]){in}, (void *[]){got});
  EXPECT_EQ(count_casts(graph), row->casts);
  double distance = 1 - cosine(got, want, count);
  if (!(distance <= row->farthest))
    tg_test_fail(__FILE__, __LINE__, "%s: 1 - cosine is %g", row->name, distance);
  EXPECT((distance > 1e-9) == (strcmp(row->name, "mp0") != 0));
  tg_arena_release(&arena);
}

__attribute__((constructor)) static void register_models(void) {
  for (size_t i = 0; i < sizeof models / sizeof *models; i++)
    tg_test_register_row("models", models[i].model, __FILE__, __LINE__, matches_onnx_runtime, &models[i]);
  for (size_t i = 0; i < sizeof presets / sizeof *presets; i++)
    tg_test_register_row("presets", presets[i].name, __FILE__, __LINE__, lowers_under_preset, &presets[i]);
}
