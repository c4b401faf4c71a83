/* What a shared library promises: models from memory, structures that may grow, runs and sweeps that tell and are
 * cancelled, comparisons. */
#include "runtime/report/report.h"
#include "runtime/session/compare.h"
#include "sim/machine/program.h"
#include "tests/harness.h"
#include "tests/runtime/session_support.h"

#include <jansson.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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

/* A run within the run waited for the engine that waited for it. */
static bool asks_the_library(void *user, uint32_t section, uint32_t count) {
  tg_diag diag = {""};
  char *json = NULL;
  EXPECT(section < count);
  EXPECT_EQ(tg_session_run(user, NULL, &diag), TG_INVALID);
  EXPECT(!strcmp(diag.message, "a callback calls the library"));
  EXPECT_EQ(tg_session_verify(user, NULL, &json, &diag), TG_INVALID);
  EXPECT(!strcmp(diag.message, "a callback calls the library"));
  return true;
}

TG_TEST(session, a_callback_of_a_run_cannot_run) {
  tg_arena arena = {0};
  tg_diag diag = {""};
  tg_session *session = NULL;
  ASSERT(!tg_session_load(zoo_file(&arena, "mlp", &(tg_zoo_options){.seed = 1}), &session, &diag));
  ASSERT(!tg_session_compile(session, &tiny, &diag));
  tg_session_random_inputs(session, 1);
  tg_session_run_options run = {.progress = asks_the_library, .progress_user = session};
  EXPECT_EQ(tg_session_run(session, &run, &diag), TG_OK);
  run.progress = NULL;
  EXPECT_EQ(tg_session_run(session, &run, &diag), TG_OK);
  tg_session_close(session);
  tg_arena_release(&arena);
}

/* A store that does not wait for the load of the bytes that it writes. */
static const char unordered_program[] =
    "arch tiny\ndram 4096\ninvoke 0 \"run\"\nsection \"s\"\nagcu 0\n"
    "ctx 0 load rows=4 take=8 m_radix=1,1,4 k_radix=1,1,8 stride=0,0,32,0,0,2 y_size=1 x_size=1 convert=1 "
    "dst_inner=4 dst_mask=2 "
    "dst_post=1 dst_sem=0\n"
    "ctx 1 store offset=14 rows=4 take=8 m_radix=1,1,4 k_radix=1,1,8 stride=0,0,32,0,0,2 y_size=1 x_size=1 "
    "convert=1\n"
    "tile 0\nvx sync wait_on=1 wait_sem=0\n";

/* What that leaves is what the sanitizers look for at the end of the process. */
TG_TEST(session, verify_says_what_is_not_ordered) {
  tg_arena arena = {0};
  tg_diag diag = {""};
  tg_program *program = NULL;
  tg_session *session = NULL;
  const char *path = tg_arena_printf(&arena, "%s/unordered.tgb", tg_test_dir());
  ASSERT(!tg_program_parse(unordered_program, &program, &diag));
  ASSERT(!tg_program_write(program, path, &diag));
  tg_program_destroy(program);
  ASSERT(!tg_session_load(path, &session, &diag));
  for (int i = 0; i < 3; i++) {
    char *json = NULL;
    EXPECT_EQ(tg_session_verify(session, NULL, &json, &diag), TG_MISMATCH);
    EXPECT_HAS(diag.message, "device memory from byte 14 on");
    EXPECT_HAS(json, "\"kind\": \"ordering\"");
    free(json);
  }
  tg_session_close(session);
  tg_arena_release(&arena);
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
  const char *const twice[] = {"mp1", "mp0", "mp1"};
  o = (tg_session_sweep_options){.policies = twice, .policy_count = 3};
  EXPECT_EQ(tg_session_sweep(session, &o, &json, &diag), TG_INVALID);
  EXPECT(strstr(diag.message, "\"mp1\" is named twice") != NULL);
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

/* What no call can mean is refused, not left to what comes after it. */
TG_TEST(session, numbers_that_mean_nothing_are_refused) {
  tg_arena arena = {0};
  tg_diag diag = {""};
  char *json = NULL;
  tg_session *session = NULL;
  static const int64_t below[] = {9, -5}, many[100] = {9, 5};
  static const int ranks[] = {-1, 9, 100, INT_MAX};
  ASSERT(!tg_session_load(zoo_file(&arena, "gemm", &(tg_zoo_options){.m = 9, .n = 7, .k = 5, .seed = 1}),
                          &session, &diag));
  for (int r = 0; r < 4; r++)
    EXPECT_EQ(tg_session_bind_shape(session, "A", ranks[r], many, &diag), TG_INVALID);
  EXPECT_EQ(tg_session_bind_shape(session, "A", 2, below, &diag), TG_INVALID);
  EXPECT(strstr(diag.message, "input \"A\" cannot have that shape"));
  EXPECT_EQ(tg_session_bind_shape(session, "A", 2, many, &diag), TG_OK);
  ASSERT(!tg_session_compile(session, &tiny, &diag));
  EXPECT_EQ(tg_session_bind_shape(session, "A", -1, many, &diag), TG_INVALID);
  tg_session_random_inputs(session, 1);
  tg_session_run_options run = {.engine = "functional", .wave_file = "never.fst"};
  EXPECT_EQ(tg_session_run(session, &run, &diag), TG_INVALID);
  EXPECT_STR(diag.message, "wave_file needs the engine rtl");
  run.engine = NULL;
  EXPECT_EQ(tg_session_run(session, &run, &diag), TG_INVALID);
  run.wave_file = NULL;
  ASSERT(!tg_session_run(session, &run, &diag));
  EXPECT_EQ(tg_session_measure_cpu(session, false, -3, &diag), TG_INVALID);
  EXPECT_STR(diag.message, "-3 threads: 0 to 1024 are possible");
  EXPECT_EQ(tg_session_measure_cpu(session, false, 1025, &diag), TG_INVALID);
  EXPECT_EQ(tg_session_measure_cpu(session, false, 1, &diag), TG_OK);
  tg_session_verify_options verify = {.engines = "functional,functional"};
  EXPECT_EQ(tg_session_verify(session, &verify, &json, &diag), TG_INVALID);
  EXPECT_STR(diag.message, "--engines: functional is named twice");
  verify = (tg_session_verify_options){.engines = "functional,systemc", .threads = -3};
  EXPECT_EQ(tg_session_verify(session, &verify, &json, &diag), TG_INVALID);
  EXPECT(!json);
  verify.threads = 1;
  EXPECT_EQ(tg_session_verify(session, &verify, &json, &diag), TG_OK);
  free(json);
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
