/* Passes, text in and text out: golden/<pass>/<case>.txt holds a graph, a line "---", and what the pass makes
 * of it. <pass> is a name of tg_pass_find, or `infer`, `precision`, `lower`. Lines "#! key=value" of the
 * input set options: preset, disable, amp, amp_dtype, out_dtype, level, device, matmul, mixed; lines
 * "#!! ..." are a rule file. A new case is a new file; TEGULA_UPDATE_GOLDEN=1 writes what is
 * expected.
 *
 * Every case is also run: the pass must keep the values of random inputs. */
#include "frontend/infer.h"
#include "frontend/passes/passes.h"
#include "frontend/pipeline.h"
#include "frontend/reference.h"
#include "frontend/text.h"
#include "tests/frontend/support.h"
#include "tests/harness.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define GOLDEN "tests/frontend/golden"

typedef struct golden_case {
  char pass[64], path[512];
} golden_case;

/* --- running */

static float **run_reference(tg_arena *arena, const tg_graph *graph) {
  const void **inputs = TG_NEW_ARRAY(arena, const void *, (size_t)graph->input_count);
  void **outputs = TG_NEW_ARRAY(arena, void *, (size_t)graph->output_count);
  float **wide = TG_NEW_ARRAY(arena, float *, (size_t)graph->output_count);
  for (int i = 0; i < graph->input_count; i++) {
    const tg_value *x = graph->inputs[i];
    void *data = tg_arena_alloc(arena, (size_t)tg_value_elements(x), tg_dtype_size(x->dtype));
    tg_seeded_fill(data, x->dtype, tg_value_elements(x), 100 + (uint64_t)i, 1);
    inputs[i] = data;
  }
  for (int i = 0; i < graph->output_count; i++)
    outputs[i] = tg_arena_alloc(arena, (size_t)tg_value_elements(graph->outputs[i]), 8);
  tg_reference_run(graph, inputs, outputs);
  for (int i = 0; i < graph->output_count; i++) {
    size_t count = (size_t)tg_value_elements(graph->outputs[i]);
    wide[i] = TG_NEW_ARRAY(arena, float, count);
    for (size_t k = 0; k < count; k++) wide[i][k] = tg_load_f32(outputs[i], graph->outputs[i]->dtype, k);
  }
  return wide;
}

static void compare_values(const tg_graph *graph, float *const *before, float *const *after,
                           double tolerance) {
  for (int i = 0; i < graph->output_count; i++) {
    double worst =
        worst_ratio(after[i], before[i], tg_value_elements(graph->outputs[i]), tolerance, tolerance);
    if (!(worst <= 1)) tg_test_fail(__FILE__, __LINE__, "output %d is off by %g tolerances", i, worst);
  }
}

/* --- one case */

static tg_status apply(tg_graph *graph, const char *pass, const tg_frontend_options *options, tg_diag *diag) {
  if (!strcmp(pass, "infer")) return TG_OK;
  if (!strcmp(pass, "precision")) return tg_precision_apply(graph, &options->precision, diag);
  if (!strcmp(pass, "lower")) return tg_frontend_lower(graph, options, diag);
  tg_pass *run = tg_pass_find(pass);
  if (!run) return tg_fail(diag, TG_INVALID, "no pass %s", pass);
  run(graph);
  return TG_OK;
}

static char *option(tg_arena *arena, const char *text, const char *key) {
  const char *line = strstr(text, tg_arena_printf(arena, "#! %s=", key));
  if (!line) return NULL;
  line = strchr(line, '=') + 1;
  return tg_arena_strndup(arena, line, strcspn(line, "\n"));
}

/* The position of `value` in "a|b|c"; 0 for NULL. */
static int choose(const char *value, const char *choices) {
  int index = 0;
  for (const char *at = choices; value && *at; index++) {
    size_t length = strcspn(at, "|");
    if (length == strlen(value) && !strncmp(at, value, length)) return index;
    at += length + (at[length] == '|');
  }
  if (value) tg_test_fail(__FILE__, __LINE__, "%s is none of %s", value, choices);
  return 0;
}

/* Lines "#!! ..." are a file of rules. */
static const tg_cast_rules *rules_of(tg_arena *arena, const char *text) {
  if (!strstr(text, "#!! ")) return NULL;
  const char *path = "rules.txt"; /* short, since it is in the rules printed */
  char here[512];
  tg_cast_rules *rules = NULL;
  tg_diag diag = {""};
  if (!getcwd(here, sizeof here) || chdir(tg_test_dir())) abort();
  FILE *file = fopen(path, "w");
  for (const char *at = text; file && (at = strstr(at, "#!! ")); at += 4)
    fprintf(file, "%.*s\n", (int)strcspn(at + 4, "\n"), at + 4);
  if (file) fclose(file);
  EXPECT_EQ(tg_cast_rules_read(arena, path, &rules, &diag), TG_OK);
  EXPECT_STR(diag.message, "");
  EXPECT(!chdir(here));
  return rules;
}

static void read_options(tg_arena *arena, const char *text, tg_frontend_options *options) {
  tg_frontend_defaults(options);
  tg_precision_options *p = &options->precision;
  const char *preset = option(arena, text, "preset"), *mixed = option(arena, text, "mixed");
  p->disable_graphamp = option(arena, text, "disable");
  tg_diag diag = {""};
  if (preset) EXPECT_EQ(tg_precision_preset_parse(preset, &p->preset, &diag), TG_OK);
  p->family = (tg_precision_family)choose(option(arena, text, "amp"), "graphamp|hmp|autocast|raf");
  if (choose(option(arena, text, "amp_dtype"), "bf16|f16")) p->amp_dtype = TG_F16;
  if (option(arena, text, "out_dtype"))
    p->amp_out_dtype = tg_dtype_from_name(option(arena, text, "out_dtype"));
  p->hmp_level = (tg_hmp_level)choose(option(arena, text, "level"), "O1|O2");
  p->device = (tg_autocast_device)choose(option(arena, text, "device"), "cuda|cpu|hpu");
  p->matmul = (tg_matmul_precision)choose(option(arena, text, "matmul"), "highest|high|medium");
  p->conv = (tg_matmul_precision)choose(option(arena, text, "conv"), "highest|high|medium");
  p->mixed_gemm = mixed && strstr(mixed, "gemm");
  p->mixed_softmax = mixed && strstr(mixed, "softmax");
  p->rules = rules_of(arena, text);
}

static void update(const golden_case *row, const char *input, const char *output) {
  FILE *file = fopen(row->path, "w");
  if (file) fprintf(file, "%s---\n%s", input, output), fclose(file);
}

static void check_case(tg_arena *arena, const golden_case *row, char *text) {
  tg_diag diag = {""};
  char *expected = strstr(text, "---\n");
  const char *input = expected ? tg_arena_strndup(arena, text, (size_t)(expected - text)) : text;
  tg_frontend_options options;
  read_options(arena, input, &options);
  tg_graph *graph, *again;
  EXPECT_EQ(tg_graph_parse(arena, input, &graph, &diag), TG_OK);
  ASSERT(graph);
  if (!strcmp(row->pass, "infer") || !graph->first || !tg_value_is_known(tg_out(graph->first)))
    EXPECT_EQ(tg_graph_infer(graph, &diag), TG_OK);
  EXPECT_EQ(tg_graph_verify(graph, &diag), TG_OK);
  EXPECT_STR(diag.message, "");
  ASSERT(!diag.message[0]);
  float **before = run_reference(arena, graph);
  EXPECT_EQ(apply(graph, row->pass, &options, &diag), TG_OK);
  EXPECT_EQ(tg_graph_verify(graph, &diag), TG_OK);
  EXPECT_STR(diag.message, "");
  ASSERT(!diag.message[0]);
  const tg_precision_options *p = &options.precision;
  bool rounds = p->preset || p->family || p->matmul || p->conv || p->mixed_gemm || p->mixed_softmax ||
                p->rules || !strcmp(row->pass, "narrow_products");
  compare_values(graph, before, run_reference(arena, graph), rounds ? 5e-2 : 1e-5);
  const char *got = tg_graph_print(graph, arena);
  EXPECT_EQ(tg_graph_parse(arena, got, &again, &diag), TG_OK);
  ASSERT(again);
  EXPECT_STR(tg_graph_print(again, arena), got);
  if (getenv("TEGULA_UPDATE_GOLDEN"))
    update(row, input, got);
  else
    EXPECT_STR(got, expected ? expected + 4 : "");
}

static void golden(const void *data) {
  const golden_case *row = data;
  tg_arena arena = {0};
  char *text = read_text(&arena, row->path, NULL);
  EXPECT(text);
  if (text) check_case(&arena, row, text);
  tg_arena_release(&arena);
}

/* --- discovery */

enum { MAX_CASES = 512 };

static void register_folder(const char *pass, golden_case *cases, int *count) {
  char folder[300];
  struct dirent **files;
  snprintf(folder, sizeof folder, GOLDEN "/%s", pass);
  int n = scandir(folder, &files, NULL, alphasort);
  for (int i = 0; i < n; i++) {
    const char *name = files[i]->d_name, *dot = strrchr(name, '.');
    if (dot && !strcmp(dot, ".txt") && *count < MAX_CASES) {
      golden_case *row = &cases[(*count)++];
      snprintf(row->pass, sizeof row->pass, "%s", pass);
      snprintf(row->path, sizeof row->path, "%s/%.200s", folder, name);
      char title[400];
      snprintf(title, sizeof title, "%s/%.*s", pass, (int)(dot - name), name);
      tg_test_register_row("golden", title, __FILE__, __LINE__, golden, row);
    }
    free(files[i]);
  }
  if (n >= 0) free(files);
}

__attribute__((constructor)) static void register_cases(void) {
  static golden_case cases[MAX_CASES];
  int count = 0;
  struct dirent **folders;
  int n = scandir(GOLDEN, &folders, NULL, alphasort);
  for (int i = 0; i < n; i++) {
    if (folders[i]->d_name[0] != '.') register_folder(folders[i]->d_name, cases, &count);
    free(folders[i]);
  }
  if (n >= 0) free(folders);
}

TG_TEST(golden, cases_are_found) { EXPECT(!access(GOLDEN "/lower", 0)); }
