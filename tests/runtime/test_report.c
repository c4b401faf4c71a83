/* The report of a run: its JSON, its page, figures worked out by hand. */
#include "frontend/builder.h"
#include "frontend/onnx/onnx.h"
#include "runtime/report/graph.h"
#include "runtime/report/page.h"
#include "runtime/report/report.h"
#include "tests/harness.h"
#include "tests/runtime/session_support.h"

#include <ctype.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* LeNet's largest moment: 6 x 14 x 14 of the first convolution, which its drain has pooled, and 16 x 10 x 10 of the second in FP32,
 * 16 x 5 x 5 in BF16, where that is pooled by its drain, too. */
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
    EXPECT_EQ(peak, narrow ? (6 * 14 * 14 + 16 * 5 * 5) * 2 : (6 * 14 * 14 + 16 * 10 * 10) * 4);
    EXPECT(peak < json_integer_value(json_object_get(report, "peak_device_bytes")));
    json_decref(report);
    tg_session_close(session);
  }
  tg_arena_release(&arena);
}

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
