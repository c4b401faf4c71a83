/* What accumulation that rounds costs: nothing where K tiles end with blocks of the matrix unit. What it gains, where tensors
 * of FP32 move. */
#include "frontend/onnx/onnx.h"
#include "runtime/report/report.h"
#include "runtime/tegula.h"
#include "runtime/zoo.h"
#include "tests/harness.h"

#include <stdio.h>

typedef struct model {
  const char *label, *name;
  tg_zoo_options options;
  double most; /* of FP32's cycles */
} model;

/* Where each result rounds are fields of a GEMM, words more of a section's configuration: a share of these small models, in
 * front of an ideal memory: a device's refreshes move their sections by as much one way or the other.
 * K of LeNet's second convolution is 150, in kernel rows of 30: two blocks of one more part each. */
static const model models[] = {
    {"mlp", "mlp", {.batch = 3, .seed = 1}, 1.015},
    {"lenet", "lenet", {.batch = 2, .seed = 1}, 1.05},
    {"product", "gemm", {.m = 67, .n = 70, .k = 300, .seed = 1}, 1.001},
    {"few_rows", "gemm", {.m = 1, .n = 500, .k = 700, .constant_b = true, .seed = 1}, 1.02},
    {"attention", "attention", {.batch = 1, .seq = 32, .hidden = 64, .heads = 4, .seed = 1}, 1.005},
    {"unet", "unet", {.batch = 1, .size = 32, .hidden = 16, .seed = 1}, 1.003},
    {"lstm", "lstm-lm", {.batch = 1, .seq = 4, .hidden = 64, .vocabulary = 300, .seed = 1}, 1.001},
    {"mobilenet", "mobilenetv2", {.batch = 1, .size = 64, .seed = 1}, 1.01},
};

static double cycles_of(const char *path, const char *preset, const char *accumulation, int k_tile) {
  tg_diag diag = {""};
  tg_session *session = NULL;
  tg_compile_options options = {.arch = "edge",
                                .dram = "simple",
                                .seed = 1,
                                .preset = preset,
                                .tiling_accum = accumulation,
                                .k_tile = k_tile};
  json_int_t cycles = 0;
  if (!tg_session_load(path, &session, &diag) && !tg_session_compile(session, &options, &diag) &&
      !tg_session_run(session, &(tg_session_run_options){.timing_only = true}, &diag)) {
    json_t *report = tg_report(session);
    cycles = json_integer_value(json_object_get(report, "cycles"));
    json_decref(report);
  }
  EXPECT_STR(diag.message, "");
  tg_session_close(session);
  return (double)cycles;
}

static void check(const void *user) {
  const model *m = user;
  static const char *const presets[] = {"mp0", "mp1"};
  static const int k_tiles[] = {32, 128};
  tg_arena arena = {0};
  tg_graph *graph;
  tg_diag diag = {""};
  const char *path = tg_arena_printf(&arena, "%s/%s.onnx", tg_test_dir(), m->label);
  ASSERT(!tg_zoo_build(&arena, m->name, &m->options, &graph, &diag));
  ASSERT(!tg_onnx_write(path, graph, &diag));
  for (int p = 0; p < 2; p++) {
    double fp32 = cycles_of(path, presets[p], "fp32", 0);
    EXPECT(fp32 > 0);
    for (int k = 0; k < 2; k++) {
      double rounded = cycles_of(path, presets[p], "bf16sr", k_tiles[k]);
      if (rounded <= m->most * fp32) continue;
      tg_test_fail(__FILE__, __LINE__, "%s, K tile %d: %.0f cycles, %.0f in FP32", presets[p], k_tiles[k],
                   rounded, fp32);
    }
  }
  tg_arena_release(&arena);
}

__attribute__((constructor)) static void register_models(void) {
  for (size_t i = 0; i < sizeof models / sizeof *models; i++)
    tg_test_register_row("accumulation", models[i].label, __FILE__, __LINE__, check, &models[i]);
}
