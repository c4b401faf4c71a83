/* The public interface and what it reports, on models of the zoo. */
#include "frontend/builder.h"
#include "frontend/onnx/onnx.h"
#include "frontend/text.h"
#include "runtime/report/graph.h"
#include "runtime/report/page.h"
#include "runtime/report/report.h"
#include "runtime/session/compare.h"
#include "runtime/tegula.h"
#include "runtime/zoo.h"
#include "tests/harness.h"

#include <ctype.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *zoo_file(tg_arena *arena, const char *name, const tg_zoo_options *options) {
  tg_graph *graph;
  tg_diag diag = {""};
  const char *path = tg_arena_printf(arena, "%s/%s.onnx", tg_test_dir(), name);
  if (tg_zoo_build(arena, name, options, &graph, &diag) || tg_onnx_write(path, graph, &diag)) {
    tg_test_fail(__FILE__, __LINE__, "%s", diag.message);
    abort();
  }
  return path;
}

static const tg_compile_options tiny = {.arch = "tiny", .seed = 1};

static tg_session *small_gemm(tg_arena *arena) {
  tg_session *session = NULL;
  tg_diag diag = {""};
  const char *path = zoo_file(arena, "gemm", &(tg_zoo_options){.m = 9, .n = 7, .k = 5, .seed = 1});
  if (tg_session_load(path, &session, &diag) || tg_session_compile(session, &tiny, &diag))
    tg_test_fail(__FILE__, __LINE__, "%s", diag.message);
  return session;
}

TG_TEST(session, every_model_of_the_zoo_runs_and_equals_the_cpu) {
  for (const tg_zoo_entry *entry = tg_zoo; entry->name; entry++) {
    tg_arena arena = {0};
    tg_diag diag = {""};
    tg_session *session;
    const char *path = zoo_file(&arena, entry->name,
                                &(tg_zoo_options){.m = 20,
                                                  .n = 30,
                                                  .k = 40,
                                                  .seq = 6,
                                                  .hidden = 12,
                                                  .heads = 3,
                                                  .size = 33,
                                                  .vocabulary = 43,
                                                  .layers = 2,
                                                  .seed = 3});
    ASSERT(!tg_session_load(path, &session, &diag));
    ASSERT(!tg_session_compile(session, &tiny, &diag));
    tg_session_random_inputs(session, 1);
    ASSERT(!tg_session_run(session, &(tg_session_run_options){.engine = "functional"}, &diag));
    ASSERT(!tg_session_measure_cpu(session, false, 1, &diag));
    bool narrow = strstr(entry->name, "region") != NULL; /* a part of it is bf16 as written */
    EXPECT(session->errors && session->errors[0].cosine > (narrow ? 0.99999 : 0.999999) &&
           session->errors[0].max_abs < (narrow ? 0.5 : 1e-4));
    tg_session_close(session);
    tg_arena_release(&arena);
  }
}

TG_TEST(session, runs_use_the_memory_of_the_run_before) {
  tg_arena arena = {0};
  tg_diag diag = {""};
  tg_session *session = small_gemm(&arena);
  float a[45] = {1}, golden[63] = {0};
  size_t used = 0;
  ASSERT(session);
  tg_session_random_inputs(session, 1);
  for (int i = 0; i < 4; i++) {
    const tg_tensor_info *input = tg_session_input(session, 0), *output = tg_session_output(session, 0);
    EXPECT(!tg_session_set_input(session, input->name, input->rank, input->dims, a, &diag));
    EXPECT(!tg_session_run(session, &(tg_session_run_options){.engine = "functional"}, &diag));
    EXPECT(!tg_session_measure_cpu(session, false, 1, &diag));
    EXPECT(!tg_session_compare_golden(session, output->name, output->rank, output->dims, golden, &diag));
    if (i) EXPECT_EQ(session->arena.used, used);
    used = session->arena.used;
  }
  tg_session_close(session);
  tg_arena_release(&arena);
}

typedef struct heard {
  int asked, lines;
  bool warned;
} heard;

static const char *only_the_first_in_fp16(void *user, const char *node, const char *op, int operand_count,
                                          const char *const *dtypes) {
  heard *h = user;
  h->asked++;
  EXPECT(operand_count >= 1 && !strcmp(dtypes[0], h->asked == 2 ? "f16" : "f32"));
  return !strcmp(node, "fc1") && !strcmp(op, "Gemm") ? "fp16 -> fp16" : "fp32";
}

static void hear(void *user, bool warning, const char *line) {
  heard *h = user;
  h->lines++;
  h->warned |= warning;
  EXPECT(!strchr(line, '\n'));
}

TG_TEST(session, a_callback_decides_and_a_log_tells) {
  tg_arena arena = {0};
  tg_diag diag = {""};
  tg_session *session;
  heard h = {0};
  ASSERT(!tg_session_load(zoo_file(&arena, "mlp", &(tg_zoo_options){.seed = 3}), &session, &diag));
  tg_compile_options options = tiny;
  options.cast_callback = only_the_first_in_fp16;
  options.cast_user = &h;
  options.log = hear;
  options.log_user = &h;
  options.verbose = true;
  EXPECT_EQ(tg_session_compile(session, &options, &diag), TG_OK);
  EXPECT_STR(diag.message, "");
  EXPECT_EQ(h.asked, 6);
  EXPECT(h.lines >= 6 && !h.warned);
  EXPECT_STR(session->lowered->first->rule ? session->lowered->first->rule : "", "callback: fp16 -> fp16");
  tg_session_close(session);
  tg_arena_release(&arena);
}

TG_TEST(session, the_product_is_the_product) {
  tg_arena arena = {0};
  tg_diag diag = {""};
  tg_session *session = small_gemm(&arena);
  float a[9 * 5], b[5 * 7];
  for (int i = 0; i < 45; i++) a[i] = (float)(i % 11 - 5);
  for (int i = 0; i < 35; i++) b[i] = (float)(i % 7 - 3);
  ASSERT(!tg_session_set_input(session, "A", 2, (int64_t[]){9, 5}, a, &diag));
  ASSERT(!tg_session_set_input(session, "B", 2, (int64_t[]){5, 7}, b, &diag));
  ASSERT(!tg_session_run(session, &(tg_session_run_options){0}, &diag));
  const float *c = tg_session_output_data(session, 0);
  for (int m = 0; m < 9; m++)
    for (int n = 0; n < 7; n++) {
      float sum = 0; /* small integers: exact in any order */
      for (int k = 0; k < 5; k++) sum += a[m * 5 + k] * b[k * 7 + n];
      EXPECT(c[m * 7 + n] == sum);
    }
  EXPECT(tg_session_cycles(session) > 0);
  tg_session_close(session);
  tg_arena_release(&arena);
}

TG_TEST(session, a_saved_program_runs_alike) {
  tg_arena arena = {0};
  tg_diag diag = {""};
  tg_session *session = small_gemm(&arena), *again;
  const char *path = tg_arena_printf(&arena, "%s/gemm.tgb", tg_test_dir());
  ASSERT(!tg_session_save(session, path, &diag));
  ASSERT(!tg_session_load(path, &again, &diag));
  EXPECT(tg_session_is_compiled(again));
  EXPECT_EQ(tg_session_compile(again, &tiny, &diag), TG_INVALID);
  tg_session *both[] = {session, again};
  for (int i = 0; i < 2; i++) {
    tg_diag none = {""};
    tg_session_random_inputs(both[i], 5);
    ASSERT(!tg_session_run(both[i], &(tg_session_run_options){0}, &none));
  }
  EXPECT_EQ(tg_session_cycles(session), tg_session_cycles(again));
  EXPECT(!memcmp(tg_session_output_data(session, 0), tg_session_output_data(again, 0), 63 * sizeof(float)));
  tg_session_close(session);
  tg_session_close(again);
  tg_arena_release(&arena);
}

TG_TEST(session, wrong_inputs_and_engines_are_refused) {
  static const struct {
    const char *name, *says;
    int rank;
    int64_t dims[2];
  } cases[] = {{"A", "shape [9,5], given is [5,9]", 2, {5, 9}},
               {"A", "given is [45]", 1, {45, 0}},
               {"Q", "no input \"Q\"", 2, {9, 5}}};
  tg_arena arena = {0};
  tg_session *session = small_gemm(&arena);
  float values[45] = {0};
  for (int i = 0; i < 3; i++) {
    tg_diag diag = {""};
    EXPECT_EQ(tg_session_set_input(session, cases[i].name, cases[i].rank, cases[i].dims, values, &diag),
              TG_INVALID);
    EXPECT_HAS(diag.message, cases[i].says);
  }
  tg_diag unset = {""}, engine = {""}, limit = {""};
  EXPECT_EQ(tg_session_run(session, &(tg_session_run_options){0}, &unset), TG_INVALID);
  EXPECT_HAS(unset.message, "input \"A\" has no values");
  tg_session_random_inputs(session, 1);
  EXPECT_EQ(tg_session_run(session, &(tg_session_run_options){.engine = "abacus"}, &engine), TG_INVALID);
  EXPECT_HAS(engine.message, "abacus");
  EXPECT_EQ(tg_session_run(session, &(tg_session_run_options){.max_cycles = 3}, &limit), TG_FAULT);
  tg_session_close(session);
  tg_arena_release(&arena);
}

TG_TEST(session, open_sizes_follow_batch_symbol_and_input) {
  tg_arena arena = {0};
  const char *path = zoo_file(&arena, "mlp", &(tg_zoo_options){.seed = 1});
  for (int way = 0; way < 4; way++) {
    tg_diag diag = {""};
    tg_session *session;
    ASSERT(!tg_session_load(path, &session, &diag));
    if (way == 1) EXPECT_EQ(tg_session_bind_batch(session, 5, &diag), TG_OK);
    if (way == 2) EXPECT_EQ(tg_session_bind_dim(session, "N", 5, &diag), TG_OK);
    if (way == 3) EXPECT_EQ(tg_session_bind_shape(session, "x", 2, (int64_t[]){5, 784}, &diag), TG_OK);
    ASSERT(!tg_session_compile(session, &tiny, &diag));
    EXPECT_EQ(tg_session_input(session, 0)->dims[0], way ? 5 : 1);
    EXPECT_EQ(tg_session_output(session, 0)->dims[0], way ? 5 : 1);
    tg_session_close(session);
  }
  tg_arena_release(&arena);
}

/* --- what a shared library owes its callers */

TG_TEST(session, loads_from_memory_at_any_address) {
  tg_arena arena = {0};
  tg_diag diag = {""};
  const char *path = zoo_file(&arena, "gemm", &(tg_zoo_options){.m = 9, .n = 7, .k = 5, .seed = 1}),
             *program = tg_arena_printf(&arena, "%s.tgb", path);
  tg_session *session;
  float first[63];
  for (int way = 0; way < 3; way++) { /* a file, its bytes, the bytes of a program */
    if (way) {
      FILE *file = fopen(way == 1 ? path : program, "rb");
      ASSERT(file != NULL);
      char *bytes = tg_arena_alloc(&arena, 1, 1 << 20);
      size_t size = fread(bytes + 3, 1, (1 << 20) - 3, file);
      fclose(file);
      ASSERT(!tg_session_load_memory(bytes + 3, size, NULL, &session, &diag));
      memset(bytes, 0x55, size + 3);
    } else {
      ASSERT(!tg_session_load(path, &session, &diag));
    }
    EXPECT_EQ(tg_session_is_compiled(session), way == 2);
    if (way < 2) ASSERT(!tg_session_compile(session, &tiny, &diag));
    if (way == 0) ASSERT(!tg_session_save(session, program, &diag));
    tg_session_random_inputs(session, 1);
    ASSERT(!tg_session_run(session, NULL, &diag));
    if (way)
      EXPECT(!memcmp(first, tg_session_output_data(session, 0), sizeof first));
    else
      memcpy(first, tg_session_output_data(session, 0), sizeof first);
    tg_session_close(session);
  }
  EXPECT_EQ(tg_session_load_memory("TEGULA", 6, "six bytes", &session, &diag), TG_INVALID);
  EXPECT_STR(diag.message, "six bytes: not a Tegula program");
  EXPECT_EQ(tg_session_load_memory(NULL, 0, NULL, &session, &diag), TG_INVALID);
  unlink(program);
  tg_arena_release(&arena);
}

TG_TEST(session, options_may_be_shorter_and_not_longer_than_the_librarys) {
  tg_arena arena = {0};
  tg_diag diag = {""};
  tg_session *session = NULL;
  struct {
    tg_compile_options known;
    uint64_t later;
  } options = {.known = {.arch = "tiny", .preset = "mp1", .tiling_accum = "nonsense"}};
  ASSERT(!tg_session_load(zoo_file(&arena, "gemm", &(tg_zoo_options){.m = 3, .n = 2, .k = 5, .seed = 1}),
                          &session, &diag));
  options.known.size = sizeof options;
  EXPECT_EQ(tg_session_compile(session, &options.known, &diag), TG_INVALID);
  EXPECT(strstr(diag.message, "are of a later library") != NULL);
  options.known.size = offsetof(tg_compile_options, tiling_accum); /* what follows is not read */
  EXPECT_EQ(tg_session_compile(session, &options.known, &diag), TG_OK);
  tg_session_close(session);
  tg_arena_release(&arena);
}

static bool until_the_second(void *user, uint32_t section, uint32_t count) {
  EXPECT(count > 1 && section < count);
  return ++*(int *)user < 2;
}

TG_TEST(session, a_run_may_be_cancelled_and_begun_again) {
  tg_arena arena = {0};
  tg_diag diag = {""};
  tg_session *session = NULL;
  static const char *const engines[] = {"functional", "systemc"};
  ASSERT(!tg_session_load(zoo_file(&arena, "mlp", &(tg_zoo_options){.seed = 1}), &session, &diag));
  ASSERT(!tg_session_compile(session, &tiny, &diag));
  tg_session_random_inputs(session, 1);
  for (int e = 0; e < 2; e++) {
    int asked = 0;
    tg_session_run_options run = {
        .engine = engines[e], .progress = until_the_second, .progress_user = &asked};
    EXPECT_EQ(tg_session_run(session, &run, &diag), TG_CANCELLED);
    EXPECT(strstr(diag.message, "the run was cancelled") != NULL);
    EXPECT_EQ(asked, 2);
    EXPECT(tg_session_output_data(session, 0) == NULL && tg_session_report_json(session) == NULL);
    run.progress = NULL;
    EXPECT_EQ(tg_session_run(session, &run, &diag), TG_OK);
  }
  char *json = NULL;
  EXPECT_EQ(tg_session_verify(session, NULL, &json, &diag), TG_OK);
  EXPECT(json && strstr(json, "\"equal_bits\": true") != NULL);
  free(json);
  tg_session_close(session);
  tg_arena_release(&arena);
}

static bool until_its_second_row(void *user, size_t row, size_t count, const char *what) {
  int *asked = user;
  EXPECT(row < count && (*asked || what));
  ++*asked;
  return row < 1;
}

static bool never(void *user, const char *engine) {
  EXPECT(engine && *engine);
  ++*(int *)user;
  return false;
}

TG_TEST(session, a_sweep_has_its_rows_and_may_be_cancelled) {
  static const char *const policies[] = {"mp1"}, *const none[] = {"mp9"};
  tg_arena arena = {0};
  tg_diag diag = {""};
  char *json = NULL;
  int asked = 0;
  tg_session *session = small_gemm(&arena), *fresh = NULL;
  tg_session_random_inputs(session, 1);
  tg_compile_options compile = tiny;
  compile.tiling_accum = "fp32";
  tg_session_sweep_options o = {.compile = &compile, .policies = policies, .policy_count = 1};
  ASSERT(!tg_session_sweep(session, &o, &json, &diag));
  json_t *table = json_loads(json, 0, NULL), *row = json_array_get(json_object_get(table, "rows"), 0);
  EXPECT_EQ(json_array_size(json_object_get(table, "rows")), 1);
  EXPECT_STR(json_string_value(json_object_get(row, "policy")), "mp1");
  EXPECT_STR(json_string_value(json_object_get(row, "array")), "tiny");
  /* Inputs are the session's: what a run of it under mp1 gives. */
  compile.preset = "mp1";
  ASSERT(!tg_session_load(zoo_file(&arena, "gemm", &(tg_zoo_options){.m = 9, .n = 7, .k = 5, .seed = 1}),
                          &fresh, &diag));
  ASSERT(!tg_session_compile(fresh, &compile, &diag));
  tg_session_random_inputs(fresh, 1);
  ASSERT(!tg_session_run(fresh, NULL, &diag) && !tg_session_measure_cpu(fresh, false, 1, &diag));
  json_t *report = tg_report(fresh);
  EXPECT(json_equal(json_object_get(row, "error_vs_fp32"), json_object_get(report, "error_vs_fp32")));
  EXPECT(json_equal(json_object_get(row, "cycles"), json_object_get(report, "cycles")));
  json_decref(report);
  json_decref(table);
  free(json);

  o.policy_count = 0;
  o.progress = until_its_second_row;
  o.progress_user = &asked;
  EXPECT_EQ(tg_session_sweep(session, &o, &json, &diag), TG_CANCELLED);
  EXPECT(!json && asked >= 3 && strstr(diag.message, "ended"));
  o = (tg_session_sweep_options){.policies = none, .policy_count = 1};
  EXPECT_EQ(tg_session_sweep(session, &o, &json, &diag), TG_INVALID);
  EXPECT(strstr(diag.message, "mp9") != NULL);
  o = (tg_session_sweep_options){.policy_count = 1};
  EXPECT_EQ(tg_session_sweep(session, &o, &json, &diag), TG_INVALID);
  compile.tiling_accum = "fp31";
  o = (tg_session_sweep_options){.compile = &compile};
  EXPECT_EQ(tg_session_sweep(session, &o, &json, &diag), TG_INVALID);
  EXPECT(strstr(diag.message, "fp31") != NULL);
  EXPECT_EQ(tg_session_sweep(NULL, NULL, &json, &diag), TG_INVALID);
  tg_session_verify_options verify = {.progress = never, .progress_user = &asked};
  asked = 0;
  EXPECT_EQ(tg_session_verify(session, &verify, &json, &diag), TG_CANCELLED);
  EXPECT(!json && asked == 1);
  tg_session_close(session);
  tg_session_close(fresh);
  tg_arena_release(&arena);
}

/* LeNet's largest moment: 6 x 28 x 28 of the first convolution and 6 x 14 x 14 of its pool, in FP32, later BF16. */
TG_TEST(report, intermediate_memory_is_what_lives_at_once) {
  tg_arena arena = {0};
  tg_diag diag = {""};
  for (int narrow = 0; narrow < 2; narrow++) {
    tg_session *session = NULL;
    tg_compile_options options = {.arch = "tiny", .seed = 1, .preset = narrow ? "mp4" : "mp0"};
    ASSERT(!tg_session_load(zoo_file(&arena, "lenet", &(tg_zoo_options){.seed = 1}), &session, &diag));
    ASSERT(!tg_session_compile(session, &options, &diag));
    ASSERT(!tg_session_run(session, &(tg_session_run_options){.timing_only = true}, &diag));
    json_t *report = tg_report(session);
    json_int_t peak = json_integer_value(json_object_get(report, "peak_intermediate_bytes"));
    EXPECT_EQ(peak, 6 * (28 * 28 + 14 * 14) * (narrow ? 2 : 4));
    EXPECT(peak < json_integer_value(json_object_get(report, "peak_device_bytes")));
    json_decref(report);
    tg_session_close(session);
  }
  tg_arena_release(&arena);
}

/* B of one session is twice that of the other: so is C. */
TG_TEST(session, two_runs_are_compared_by_output) {
  tg_arena arena = {0};
  tg_diag diag = {""};
  char *json = NULL;
  float a[9 * 5], b[5 * 7];
  tg_session *one = small_gemm(&arena), *two = small_gemm(&arena);
  EXPECT_EQ(tg_session_compare(one, two, &json, &diag), TG_INVALID);
  EXPECT(strstr(diag.message, "has not run") != NULL);
  for (int i = 0; i < 45; i++) a[i] = (float)(i % 7 - 3);
  for (int scale = 1; scale <= 2; scale++) {
    tg_session *s = scale == 1 ? one : two;
    for (int i = 0; i < 35; i++) b[i] = (float)(scale * (i % 5 - 2));
    ASSERT(!tg_session_set_input(s, "A", 2, (int64_t[]){9, 5}, a, &diag));
    ASSERT(!tg_session_set_input(s, "B", 2, (int64_t[]){5, 7}, b, &diag));
    ASSERT(!tg_session_run(s, NULL, &diag));
  }
  double largest = 0;
  const float *c = tg_session_output_data(one, 0);
  for (int i = 0; i < 63; i++) largest = fmax(largest, fabs((double)c[i]));
  ASSERT(!tg_session_compare(one, two, &json, &diag));
  json_t *all = json_loads(json, 0, NULL), *output = json_object_get(json_object_get(all, "outputs"), "C");
  EXPECT(json_is_false(json_object_get(all, "equal_bits")) &&
         json_is_false(json_object_get(output, "equal_bits")));
  EXPECT(largest > 0 && json_real_value(json_object_get(output, "max_abs")) == largest);
  EXPECT(fabs(json_real_value(json_object_get(output, "max_rel")) - 1) < 1e-12);
  EXPECT(fabs(json_real_value(json_object_get(output, "cosine")) - 1) < 1e-12);
  EXPECT(json_real_value(json_object_get(all, "speedup")) == 1);
  EXPECT_STR(json_string_value(json_object_get(all, "text")), "no cycle moved");
  json_decref(all);
  free(json);
  ASSERT(!tg_session_compare(one, one, &json, &diag));
  EXPECT(strstr(json, "\"equal_bits\": true") != NULL);
  free(json);
  ASSERT(!tg_session_run(two, &(tg_session_run_options){.timing_only = true}, &diag));
  ASSERT(!tg_session_compare(one, two, &json, &diag)); /* no values of both */
  EXPECT(strstr(json, "\"equal_bits\": null") != NULL);
  free(json);
  ASSERT(!tg_session_run(two, &(tg_session_run_options){.engine = "functional"}, &diag));
  ASSERT(!tg_session_compare(one, two, &json, &diag)); /* no cycles of both */
  EXPECT(strstr(json, "\"text\": null") != NULL && strstr(json, "\"speedup\": null") != NULL);
  free(json);
  tg_session_close(one);
  tg_session_close(two);
  tg_arena_release(&arena);
}

/* --- the report */

static char *read_page(const char *path) {
  enum { MOST = 1 << 16 };
  char *text = calloc(MOST, 1);
  FILE *file = fopen(path, "r");
  if (file && !fread(text, 1, MOST - 1, file)) tg_test_fail(path, 1, "it is empty");
  if (file) fclose(file);
  return text;
}

static void expect_documented(const char *page, const char *key) {
  char quoted[64];
  snprintf(quoted, sizeof quoted, "`%s`", key);
  if (!strstr(page, quoted)) tg_test_fail("docs/report.md", 1, "the page does not name %s", quoted);
}

TG_TEST(report, has_the_keys_that_scripts_rely_on) {
  static const char *const keys[] = {"tegula",
                                     "model",
                                     "arch",
                                     "precision",
                                     "seed",
                                     "engine",
                                     "cycles",
                                     "clock_hz",
                                     "seconds",
                                     "samples_per_second",
                                     "macs",
                                     "mac_utilization",
                                     "dram_bytes",
                                     "reduction",
                                     "peak_device_bytes",
                                     "sections",
                                     "cpu_reference",
                                     "speedup_vs_cpu",
                                     "error_vs_fp32",
                                     "host",
                                     "sol",
                                     "bound_cycles",
                                     "compulsory_bytes",
                                     "dram_bytes_per_cycle"};
  tg_arena arena = {0};
  tg_diag diag = {""};
  tg_session *session = small_gemm(&arena);
  tg_session_random_inputs(session, 1);
  ASSERT(!tg_session_run(session, &(tg_session_run_options){0}, &diag));
  ASSERT(!tg_session_measure_cpu(session, true, 1, &diag));
  json_t *report = tg_report(session);
  for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
    json_t *value = json_object_get(report, keys[i]);
    if (!value || json_is_null(value)) tg_test_fail(__FILE__, __LINE__, "no %s", keys[i]);
  }
  const char *key;
  json_t *value, *first = json_array_get(json_object_get(report, "sections"), 0);
  char *page = read_page("docs/report.md");
  json_object_foreach(report, key, value) expect_documented(page, key);
  json_object_foreach(first, key, value) expect_documented(page, key);
  free(page);
  EXPECT_EQ(json_integer_value(json_object_get(report, "macs")), 9 * 7 * 5);
  json_t *section = json_array_get(json_object_get(report, "sections"), 0);
  EXPECT(json_is_string(json_object_get(section, "name")) &&
         json_is_integer(json_object_get(section, "cycles")));
  EXPECT(
      json_is_real(json_object_get(json_object_get(json_object_get(report, "error_vs_fp32"), "C"), "rms")));
  EXPECT(json_number_value(json_object_get(report, "speedup_vs_cpu")) > 0);
  double peak = 4 * 4 * 4; /* tiny, FP32 */
  const tg_section_time *time = session->result.sections;
  double expected = 315 / peak / (double)(time->end - time->begin - time->config);
  EXPECT(fabs(json_number_value(json_object_get(report, "mac_utilization")) - expected) < 1e-12);
  /* A [9,5], B [5,7] and C [9,7] over four ports of 16 bytes take longer than 315 multiply-adds. */
  EXPECT_EQ(json_integer_value(json_object_get(report, "compulsory_bytes")), 4 * (9 * 5 + 5 * 7 + 9 * 7));
  EXPECT_EQ(json_integer_value(json_object_get(report, "bound_cycles")), 9);
  double sol = 9.0 / (double)session->result.cycles;
  EXPECT(fabs(json_number_value(json_object_get(report, "sol")) - sol) < 1e-12);
  EXPECT_EQ(json_integer_value(json_object_get(section, "compulsory_bytes")), 4 * (9 * 5 + 5 * 7 + 9 * 7));
  EXPECT_EQ(json_integer_value(json_object_get(section, "bound_cycles")), 9);
  json_t *rate = json_object_get(report, "dram_bytes_per_cycle");
  EXPECT(json_number_value(json_object_get(rate, "peak")) == 4 * 16);
  double moved = (double)(session->result.dram_read + session->result.dram_written);
  EXPECT(fabs(json_number_value(json_object_get(rate, "achieved")) - moved / (double)session->result.cycles) <
         1e-12);
  json_decref(report);
  tg_session_close(session);
  tg_arena_release(&arena);
}

/* A table's rows are a product on the array, which nobody computes on a CPU. */
TG_TEST(report, the_cpu_copies_rows_that_the_array_multiplies) {
  tg_arena arena = {0};
  tg_diag diag = {""};
  tg_zoo_options sizes = {.seq = 8, .hidden = 16, .heads = 2, .layers = 1, .vocabulary = 40, .seed = 1};
  tg_session *session;
  int gathers = 0;
  ASSERT(!tg_session_load(zoo_file(&arena, "bert-base", &sizes), &session, &diag));
  ASSERT(!tg_session_compile(session, &tiny, &diag));
  EXPECT(!session->fp32); /* which compiling does without */
  ASSERT(!tg_session_lower_fp32(session, &diag));
  TG_FOR_NODES(session->fp32, node) gathers += node->op == TG_OP_GATHER;
  EXPECT(gathers > 0);
  tg_session_random_inputs(session, 1);
  ASSERT(!tg_session_run(session, &(tg_session_run_options){.engine = "functional"}, &diag));
  ASSERT(!tg_session_measure_cpu(session, false, 1, &diag));
  EXPECT(session->errors[0].max_abs < 1e-4);
  tg_session_close(session);
  tg_arena_release(&arena);
}

/* Further runs are for the host's time alone: outputs and cycles stay those of the first. */
TG_TEST(report, host_time_is_that_of_runs_after_the_first) {
  tg_arena arena = {0};
  tg_diag diag = {""};
  tg_session *session = small_gemm(&arena);
  static const char *const engines[] = {"functional", "systemc"};
  for (int e = 0; e < 2; e++) {
    float first[63];
    tg_session_run_options run = {.engine = engines[e], .threads = 1, .record_events = true};
    tg_session_random_inputs(session, 1);
    ASSERT(!tg_session_run(session, &run, &diag));
    EXPECT_EQ(session->host_runs, 1);
    EXPECT(session->host_seconds == session->result.seconds);
    uint64_t cycles = tg_session_cycles(session);
    size_t events = session->result.event_count;
    memcpy(first, tg_session_output_data(session, 0), sizeof first);
    run.steady = true;
    ASSERT(!tg_session_run(session, &run, &diag));
    EXPECT(session->host_runs >= 3 && session->host_seconds > 0);
    EXPECT_EQ(tg_session_cycles(session), cycles);
    EXPECT(events && session->result.event_count == events);
    EXPECT(!memcmp(first, tg_session_output_data(session, 0), sizeof first));
    json_t *report = tg_report(session), *host = json_object_get(report, "host");
    EXPECT_EQ(json_integer_value(json_object_get(host, "simulation_runs")), session->host_runs);
    EXPECT(json_number_value(json_object_get(host, "simulation_seconds")) == session->host_seconds);
    json_decref(report);
  }
  tg_session_close(session);
  tg_arena_release(&arena);
}

TG_TEST(report, hostile_names_stay_text) {
  static const char evil[] = "<script>\"&\xff\x01";
  tg_arena arena = {0};
  tg_diag diag = {""};
  tg_builder *b = tg_builder_create(&arena, evil);
  tg_value *x = tg_builder_input(b, "x", TG_F32, 2, (int64_t[]){3, 3});
  tg_builder_output(b, evil, tg_builder_unary(b, TG_OP_RELU, evil, x));
  tg_graph *graph;
  tg_session *session;
  const char *path = tg_arena_printf(&arena, "%s/evil.onnx", tg_test_dir());
  ASSERT(!tg_builder_finish(b, &graph, &diag));
  ASSERT(!tg_onnx_write(path, graph, &diag));
  ASSERT(!tg_session_load(path, &session, &diag));
  ASSERT(!tg_session_compile(session, &tiny, &diag));
  tg_session_random_inputs(session, 1);
  ASSERT(!tg_session_run(session, &(tg_session_run_options){0}, &diag));
  char *json = tg_session_report_json(session), *html = NULL;
  json_t *parsed = json_loads(json, 0, NULL);
  EXPECT(json_is_object(parsed));
  size_t size = 0;
  FILE *out = open_memstream(&html, &size);
  json_t *report = tg_report(session);
  json_object_set_new(report, "graph", tg_report_graph(session->decided));
  tg_page_write(out, TG_PAGE_REPORT, evil, report);
  tg_report_print(report, true, out);
  fclose(out);
  *strstr(html, "</html>") = 0; /* text for a terminal follows */
  EXPECT_HAS(html, "\\u003cscript>");
  EXPECT(!strstr(html, evil));
  int scripts = 0; /* the page's own: the object, two libraries, five of ours */
  for (const char *at = html; (at = strstr(at, "<script")); at++) scripts++;
  EXPECT_EQ(scripts, 8);
  json_decref(report);
  json_decref(parsed);
  free(json);
  free(html);
  tg_session_close(session);
  tg_arena_release(&arena);
}

TG_TEST(compare, measures_by_hand) {
  const float reference[] = {1, -2, 0, 4}, values[] = {1.5f, -2, 0, 3};
  tg_error_measure e = tg_compare(values, reference, 4);
  EXPECT(e.max_abs == 1 && e.max_rel == 0.5 && fabs(e.rms - sqrt(1.25 / 4)) < 1e-15);
  EXPECT(fabs(e.cosine - 17.5 / sqrt(21 * 15.25)) < 1e-15);
  const float zeros[4] = {0}, bad[] = {1, -2, 0, NAN}, infinite[] = {INFINITY, NAN};
  e = tg_compare(zeros, zeros, 4);
  EXPECT(e.max_abs == 0 && e.max_rel == 0 && e.rms == 0 && e.cosine == 1);
  EXPECT(isinf(tg_compare(bad, reference, 4).max_abs));
  EXPECT(tg_compare(infinite, infinite, 2).max_abs == 0);
}

/* y[n] = table[ids[n]], the table 0 1, 2 3, .. */
static tg_session *lookup(tg_arena *arena) {
  tg_builder *b = tg_builder_create(arena, "lookup");
  tg_graph *graph;
  tg_diag diag = {""};
  tg_session *session;
  float table[10];
  const char *path = tg_arena_printf(arena, "%s/lookup.onnx", tg_test_dir());
  for (int i = 0; i < 10; i++) table[i] = (float)i;
  tg_value *rows = tg_builder_constant(b, "table", TG_F32, 2, (int64_t[]){5, 2}, table);
  tg_value *ids = tg_builder_input(b, "ids", TG_I64, 1, (int64_t[]){3});
  tg_builder_output(b, "y", tg_builder_binary(b, TG_OP_GATHER, "lookup", rows, ids));
  if (tg_builder_finish(b, &graph, &diag) || tg_onnx_write(path, graph, &diag) ||
      tg_session_load(path, &session, &diag) || tg_session_compile(session, &tiny, &diag)) {
    tg_test_fail(__FILE__, __LINE__, "%s", diag.message);
    abort();
  }
  return session;
}

TG_TEST(session, row_numbers_select_rows_and_are_checked) {
  tg_arena arena = {0};
  tg_diag diag = {""};
  tg_session *session = lookup(&arena);
  EXPECT(tg_session_input(session, 0)->integer);
  EXPECT_EQ(tg_session_input(session, 0)->rows, 5);
  EXPECT_EQ(tg_session_set_input(session, "ids", 1, (int64_t[]){3}, (float[]){0, 5, 1}, &diag), TG_INVALID);
  EXPECT_STR(diag.message, "input \"ids\": element 1 is 5, outside [-5, 5)");
  diag.message[0] = 0;
  EXPECT_EQ(tg_session_set_input(session, "ids", 1, (int64_t[]){3}, (float[]){0, 0, -6}, &diag), TG_INVALID);
  diag.message[0] = 0;
  EXPECT_EQ(tg_session_set_input(session, "ids", 1, (int64_t[]){3}, (float[]){0, 0.5f, 1}, &diag),
            TG_INVALID);
  EXPECT_STR(diag.message, "input \"ids\": element 1 is 0.5, not a whole number");
  ASSERT(!tg_session_set_input(session, "ids", 1, (int64_t[]){3}, (float[]){4, -5, -1}, &diag));
  ASSERT(!tg_session_run(session, &(tg_session_run_options){.engine = "systemc"}, &diag));
  const float *y = tg_session_output_data(session, 0), want[] = {8, 9, 0, 1, 8, 9};
  for (int i = 0; i < 6; i++) EXPECT(y[i] == want[i]);
  tg_session_close(session);
  tg_arena_release(&arena);
}

/* --- integers */

static tg_session *of_text(tg_arena *arena, const char *name, const char *text) {
  tg_graph *graph = NULL;
  tg_session *session = NULL;
  tg_diag diag = {""};
  const char *path = tg_arena_printf(arena, "%s/%s.onnx", tg_test_dir(), name);
  if (tg_graph_parse(arena, text, &graph, &diag) || tg_onnx_write(path, graph, &diag) ||
      tg_session_load(path, &session, &diag) || tg_session_compile(session, &tiny, &diag)) {
    tg_test_fail(__FILE__, __LINE__, "%s", diag.message);
    abort();
  }
  return session;
}

static void check_elements(tg_session *session) {
  tg_diag diag = {""};
  tg_session_random_inputs(session, 1);
  EXPECT_EQ(tg_session_run(session, &(tg_session_run_options){.engine = "functional"}, &diag), TG_OK);
  EXPECT_STR(diag.message, "");
  ASSERT(tg_session_output_count(session) == 4);
  static const tg_dtype dtypes[] = {TG_I64, TG_BOOL, TG_I16, TG_F64};
  for (int i = 0; i < 4; i++) EXPECT_EQ(tg_session_output(session, i)->dtype, dtypes[i]);
  const int64_t *large = tg_session_output_elements(session, 0);
  EXPECT(large && large[0] == 9007199254740993 && large[1] == -3);
  const uint8_t *truth = tg_session_output_elements(session, 1);
  EXPECT(truth && truth[0] == 1 && truth[1] == 0);
  const int16_t *small = tg_session_output_elements(session, 2);
  const float *values = tg_session_output_data(session, 2);
  for (int e = 0; e < 6; e++) EXPECT((float)small[e] == values[e] && values[e] == truncf(values[e]));
  const double *wide = tg_session_output_elements(session, 3);
  EXPECT(wide && wide[0] == 0.1);
}

TG_TEST(session, outputs_have_the_types_of_the_model_exactly) {
  tg_arena arena = {0};
  tg_diag diag = {""};
  tg_session *again = NULL,
             *session =
                 of_text(&arena, "types",
                         "graph \"g\"\ninput %x: f32[6]\nconst %c: i64[2] = [9007199254740993, -3]\n"
                         "const %b: bool[2] = [1, 0]\nconst %d: f64[1] = [0.1]\nconst %k: f32[] = [9]\n"
                         "%y = Identity(%c) @0\n%z = Identity(%b) @1\n%m = Mul(%x, %k) @2\n"
                         "%i = Cast(%m) to=i16 @3\n%w = Identity(%d) @4\n"
                         "output \"y\" %y: i64\noutput \"z\" %z: bool\noutput \"i\" %i: i16\n"
                         "output \"w\" %w: f64\n");
  check_elements(session);
  const char *path = tg_arena_printf(&arena, "%s/types.tgb", tg_test_dir());
  EXPECT_EQ(tg_session_save(session, path, &diag), TG_OK);
  ASSERT(!tg_session_load(path, &again, &diag));
  check_elements(again);
  tg_session_close(again);
  tg_session_close(session);
  tg_arena_release(&arena);
}

/* What is computed of an input bounds it; what is computed of floats is looked at when it is there. */
TG_TEST(session, integers_that_are_not_exact_are_refused) {
  tg_arena arena = {0};
  tg_diag diag = {""};
  static const int64_t dims[] = {2};
  static const tg_session_run_options functional = {.engine = "functional"};
  tg_session *session = of_text(&arena, "bound",
                                "graph \"g\"\ninput %i: i64[2]\ninput %x: f32[2]\n"
                                "const %k: i64[] = [100000]\n%j = Cast(%x) to=i64 @0\n%a = Mul(%i, %k) @1\n"
                                "%b = Mul(%j, %k) @2\noutput \"a\" %a: i64\noutput \"b\" %b: i64\n");
  EXPECT_EQ(tg_session_set_input(session, "i", 1, dims, (float[]){160, 200}, &diag), TG_INVALID);
  EXPECT(strstr(diag.message, "input \"i\": element 1 is 200, outside [-"));
  EXPECT_EQ(tg_session_set_input(session, "i", 1, dims, (float[]){160, -160}, &diag), TG_OK);
  EXPECT_EQ(tg_session_set_input(session, "x", 1, dims, (float[]){160.9f, -2.5f}, &diag), TG_OK);
  EXPECT_EQ(tg_session_run(session, &functional, &diag), TG_OK);
  const int64_t *b = tg_session_output_elements(session, 1);
  EXPECT(b && b[0] == 16000000 && b[1] == -200000);
  EXPECT_EQ(tg_session_set_input(session, "x", 1, dims, (float[]){1, 200.5f}, &diag), TG_OK);
  diag = (tg_diag){""};
  EXPECT_EQ(tg_session_run(session, &functional, &diag), TG_INVALID);
  EXPECT_STR(diag.message,
             "output \"b\": element 1 is an integer that passes what the array computes exactly");
  tg_session_close(session);
  tg_arena_release(&arena);
}

/* --- misuse */

TG_TEST(session, calls_out_of_order_are_refused) {
  tg_arena arena = {0};
  tg_diag diag = {"an older line"};
  tg_session *session = NULL;
  const char *path = zoo_file(&arena, "gemm", &(tg_zoo_options){.m = 9, .n = 7, .k = 5, .seed = 1});
  EXPECT_EQ(tg_session_load(NULL, &session, &diag), TG_INVALID);
  EXPECT_STR(diag.message, "no path is given");
  ASSERT(!tg_session_load(path, &session, &diag));
  static const tg_session_run_options functional = {.engine = "functional"};
  EXPECT_EQ(tg_session_run(session, &functional, &diag), TG_INVALID);
  EXPECT(strstr(diag.message, "gemm.onnx: is not compiled"));
  EXPECT_EQ(tg_session_save(session, "x.tgb", &diag), TG_INVALID);
  EXPECT_EQ(tg_session_set_input(session, "A", 1, NULL, NULL, &diag), TG_INVALID);
  EXPECT(!tg_session_report_json(session) && !tg_session_output_data(session, 0));
  EXPECT_EQ(tg_session_write_report(session, "x.json", &diag), TG_INVALID);
  EXPECT_EQ(tg_session_measure_cpu(session, true, 1, &diag), TG_OK);
  EXPECT_EQ(tg_session_compile(session, NULL, &diag), TG_OK);
  EXPECT_EQ(tg_session_compile(session, &tiny, &diag), TG_INVALID);
  EXPECT(strstr(diag.message, "is compiled already"));
  EXPECT(!tg_session_output(session, 99) && !tg_session_output(session, -1) && !tg_session_input(session, 2));
  EXPECT(!tg_session_output_data(session, 99) && !tg_session_output_elements(session, 1));
  static const int64_t dims[100] = {9, 5};
  static const float data[45];
  EXPECT_EQ(tg_session_set_input(session, "A", 100, dims, data, &diag), TG_INVALID);
  EXPECT_EQ(tg_session_set_input(session, "A", -1, dims, data, &diag), TG_INVALID);
  EXPECT_EQ(tg_session_set_input(session, NULL, 2, dims, data, &diag), TG_INVALID);
  EXPECT_EQ(tg_session_run(session, &functional, &diag), TG_INVALID);
  EXPECT(strstr(diag.message, "has no values"));
  EXPECT_EQ(tg_session_run(session, &(tg_session_run_options){.threads = -3}, &diag), TG_INVALID);
  tg_session_random_inputs(session, 1);
  EXPECT_EQ(tg_session_compare_golden(session, "C", 2, dims, data, &diag), TG_INVALID);
  EXPECT_EQ(tg_session_run(session, NULL, &diag), TG_OK);
  EXPECT_STR(diag.message, "");
  char *report = tg_session_report_json(session);
  EXPECT(report != NULL);
  free(report);
  EXPECT_EQ(tg_session_run(NULL, NULL, &diag), TG_INVALID);
  tg_session_close(session);
  tg_arena_release(&arena);
}

TG_TEST(report, numbers_have_points_in_every_locale) {
  static const char *const commas[] = {"de_DE.UTF-8", "fr_FR.UTF-8", "de_DE"};
  const char *set = NULL;
  for (int i = 0; i < 3 && !set; i++) set = setlocale(LC_NUMERIC, commas[i]);
  if (!set) SKIP("no locale here writes commas");
  tg_arena arena = {0};
  tg_diag diag = {""};
  tg_session *session = small_gemm(&arena);
  tg_session_random_inputs(session, 1);
  EXPECT_EQ(tg_session_run(session, NULL, &diag), TG_OK);
  const char *path = tg_arena_printf(&arena, "%s/points.html", tg_test_dir());
  EXPECT_EQ(tg_session_write_report(session, path, &diag), TG_OK);
  setlocale(LC_NUMERIC, "C");
  FILE *file = fopen(path, "r");
  static char text[1 << 18];
  size_t length = file ? fread(text, 1, sizeof text - 1, file) : 0;
  text[length] = 0;
  char *object = strstr(text, "id=\"report\">"), *end = object ? strstr(object, "</script>") : NULL;
  ASSERT(end);
  *end = 0;
  if (file) fclose(file);
  for (const char *at = object; (at = strchr(at, ',')); at++)
    EXPECT(!(at > object && isdigit((unsigned char)at[-1]) && isdigit((unsigned char)at[1])));
  tg_session_close(session);
  tg_arena_release(&arena);
}
