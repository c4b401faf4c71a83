/* The reference evaluator and the lowered graph against outside implementations: ort/<case>.txt and
 * torch/<case>.txt hold a graph, a line "---", and what ONNX Runtime or PyTorch computed from seeded inputs,
 * a line an output. ort/record.mjs and torch/record.py make them: with TEGULA_RECORD_EXPORT=DIR this program
 * writes the models and inputs they need. */
#include "frontend/infer.h"
#include "frontend/onnx/onnx.h"
#include "frontend/pipeline.h"
#include "frontend/reference.h"
#include "frontend/text.h"
#include "tests/frontend/support.h"
#include "tests/harness.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define FOLDER "tests/frontend/"

typedef struct recorded_case {
  const char *folder;
  char name[64];
} recorded_case;

static void write_npy(tg_arena *arena, const char *path, const tg_value *value, const void *data) {
  const char *shape = "";
  for (int i = 0; i < value->rank; i++)
    shape = tg_arena_printf(arena, "%s%lld,", shape, (long long)value->dims[i].size);
  char header[128];
  memset(header, ' ', sizeof header);
  int n = snprintf(header + 10, 118, "{'descr': '<%s', 'fortran_order': False, 'shape': (%s), }",
                   value->dtype == TG_I64   ? "i8"
                   : value->dtype == TG_I32 ? "i4"
                                            : "f4",
                   shape);
  header[10 + n] = ' ';
  memcpy(header, "\x93NUMPY\x01\x00\x76\x00", 10);
  header[127] = '\n';
  FILE *file = fopen(path, "wb");
  if (!file) abort();
  fwrite(header, 1, sizeof header, file);
  fwrite(data, tg_dtype_size(value->dtype), (size_t)tg_value_elements(value), file);
  fclose(file);
}

static void exprecorded_case(tg_arena *arena, const recorded_case *row, const tg_graph *graph,
                             const void *const *inputs) {
  const char *dir = getenv("TEGULA_RECORD_EXPORT");
  if (!dir) return;
  tg_diag diag = {""};
  if (!strcmp(row->folder, "ort")) /* gradients are no operators of ONNX */
    EXPECT_EQ(tg_onnx_write(tg_arena_printf(arena, "%s/%s.onnx", dir, row->name), graph, &diag), TG_OK);
  EXPECT_STR(diag.message, "");
  for (int i = 0; i < graph->input_count; i++)
    write_npy(arena, tg_arena_printf(arena, "%s/%s.%s.npy", dir, row->name, graph->inputs[i]->name),
              graph->inputs[i], inputs[i]);
}

static void run(tg_arena *arena, const tg_graph *graph, const void *const *inputs, double **outputs) {
  void **out = TG_NEW_ARRAY(arena, void *, (size_t)graph->output_count);
  for (int i = 0; i < graph->output_count; i++)
    out[i] = tg_arena_alloc(arena, (size_t)tg_value_elements(graph->outputs[i]), 8);
  tg_reference_run(graph, inputs, out);
  for (int i = 0; i < graph->output_count; i++) {
    const tg_value *known = graph->known_outputs ? graph->known_outputs[i] : NULL;
    tg_dtype dtype = known ? known->dtype : graph->outputs[i]->dtype;
    size_t count = (size_t)tg_value_elements(graph->outputs[i]);
    outputs[i] = TG_NEW_ARRAY(arena, double, count);
    for (size_t k = 0; k < count; k++)
      outputs[i][k] = tg_dtype_is_float(dtype) ? (double)tg_load_f32(known ? known->data : out[i], dtype, k)
                                               : (double)tg_load_i64(known ? known->data : out[i], dtype, k);
  }
}

/* "true" and "false" are 1 and 0. */
static double read_number(const char *text, char **end) {
  static const char *const words[] = {"false", "true"};
  text += strspn(text, " \n");
  for (int i = 0; i < 2; i++)
    if (!strncmp(text, words[i], strlen(words[i]))) return *end = (char *)text + strlen(words[i]), (double)i;
  return strtod(text, end);
}

/* Integers are equal, floats close. */
static bool is_close(double got, double want, bool exact) {
  if (exact) return got == want;
  float a = (float)got, b = (float)want;
  return worst_ratio(&a, &b, 1, 1e-4, 1e-5) <= 1;
}

static void compare(const tg_graph *graph, double *const *got, const char *expected, const char *stage) {
  for (int i = 0; i < graph->output_count; i++) {
    int64_t count = tg_value_elements(graph->outputs[i]);
    bool exact = !tg_dtype_is_float(graph->output_dtypes[i]);
    for (int64_t k = 0; k < count; k++) {
      char *end;
      double want = read_number(expected, &end);
      if (end == expected) {
        tg_test_fail(__FILE__, __LINE__, "output %d has no recorded element %lld", i, (long long)k);
        return;
      }
      expected = end;
      if (!is_close(got[i][k], want, exact))
        tg_test_fail(__FILE__, __LINE__, "%s: output %d[%lld] is %.17g, not %.17g", stage, i, (long long)k,
                     got[i][k], want);
    }
  }
}

/* Floats are seeded; integers are positions in a dimension of 4 or more, counted from either end. */
static const void *fill_input(tg_arena *arena, const tg_value *input, int number) {
  int64_t count = tg_value_elements(input);
  void *data = tg_arena_alloc(arena, (size_t)count, tg_dtype_size(input->dtype));
  if (tg_dtype_is_float(input->dtype)) tg_seeded_fill(data, TG_F32, count, 100 + (uint64_t)number, 1);
  for (int64_t i = 0; i < count && tg_dtype_is_integer(input->dtype); i++)
    tg_store_i64(data, input->dtype, (size_t)i, i * 5 % 7 - 3);
  return data;
}

static void check(tg_arena *arena, const recorded_case *row) {
  tg_diag diag = {""};
  char *text = read_text(arena, tg_arena_printf(arena, FOLDER "%s/%s.txt", row->folder, row->name), NULL);
  ASSERT(text);
  char *expected = strstr(text, "---\n");
  if (expected) *expected = 0;
  tg_graph *graph;
  EXPECT_EQ(tg_graph_parse(arena, text, &graph, &diag), TG_OK);
  EXPECT_STR(diag.message, "");
  ASSERT(graph);
  const void **inputs = TG_NEW_ARRAY(arena, const void *, (size_t)graph->input_count);
  double **outputs = TG_NEW_ARRAY(arena, double *, (size_t)graph->output_count);
  for (int i = 0; i < graph->input_count; i++) inputs[i] = fill_input(arena, graph->inputs[i], i);
  exprecorded_case(arena, row, graph, inputs);
  if (getenv("TEGULA_RECORD_EXPORT")) return;
  ASSERT(expected);
  EXPECT_EQ(tg_graph_infer(graph, &diag), TG_OK);
  EXPECT_STR(diag.message, "");
  ASSERT(!diag.message[0]);
  run(arena, graph, inputs, outputs);
  compare(graph, outputs, expected + 4, "imported");
  tg_frontend_options options;
  tg_frontend_defaults(&options);
  EXPECT_EQ(tg_frontend_lower(graph, &options, &diag), TG_OK);
  EXPECT_STR(diag.message, "");
  run(arena, graph, inputs, outputs);
  compare(graph, outputs, expected + 4, "lowered");
}

static void agrees(const void *data) {
  tg_arena arena = {0};
  check(&arena, data);
  tg_arena_release(&arena);
}

static void register_folder(const char *folder, const char *oracle) {
  static recorded_case cases[128];
  static int count;
  struct dirent **files;
  char path[128];
  snprintf(path, sizeof path, FOLDER "%s", folder);
  int n = scandir(path, &files, NULL, alphasort);
  for (int i = 0; i < n; i++) {
    char *dot = strrchr(files[i]->d_name, '.');
    if (dot && !strcmp(dot, ".txt") && count < 128) {
      cases[count].folder = folder;
      snprintf(cases[count].name, sizeof cases[count].name, "%.*s", (int)(dot - files[i]->d_name),
               files[i]->d_name);
      tg_test_register_row(oracle, cases[count].name, __FILE__, __LINE__, agrees, &cases[count]);
      count++;
    }
    free(files[i]);
  }
  if (n >= 0) free(files);
}

__attribute__((constructor)) static void register_cases(void) {
  register_folder("ort", "onnx_runtime");
  register_folder("torch", "pytorch");
}

TG_TEST(recorded, cases_are_found) {
  EXPECT(!access(FOLDER "ort/record.mjs", 0));
  EXPECT(!access(FOLDER "torch/record.py", 0));
}
