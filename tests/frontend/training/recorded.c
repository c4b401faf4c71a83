#include "tests/frontend/training/recorded.h"

#include "frontend/infer.h"
#include "frontend/reference.h"
#include "frontend/text.h"
#include "tests/frontend/support.h"
#include "tests/harness.h"

#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

bool recorded_read(recorded *r, const char *folder, const char *name) {
  r->name = name;
  char *text = read_text(&r->arena, tg_arena_printf(&r->arena, "%s/%s.txt", folder, name), NULL);
  char *expected = text ? strstr(text, "---\n") : NULL;
  r->text = text;
  if (expected) r->expected = tg_arena_strdup(&r->arena, expected + 3);
  if (expected) *expected = 0;
  return text != NULL;
}

int64_t recorded_elements(const recorded *r, const tg_step_tensor *tensor) {
  return tg_value_elements(r->graph->inputs[tensor->input]);
}

static void write_npy(recorded *r, const char *path, const tg_value *value, const float *data) {
  const char *shape = "";
  for (int i = 0; i < value->rank; i++)
    shape = tg_arena_printf(&r->arena, "%s%lld,", shape, (long long)value->dims[i].size);
  char bytes[128];
  memset(bytes, ' ', sizeof bytes);
  int n = snprintf(bytes + 10, 118, "{'descr': '<f4', 'fortran_order': False, 'shape': (%s), }", shape);
  bytes[10 + n] = ' ';
  memcpy(bytes, "\x93NUMPY\x01\x00\x76\x00", 10);
  bytes[127] = '\n';
  FILE *file = fopen(path, "wb");
  if (!file) abort();
  fwrite(bytes, 1, sizeof bytes, file);
  fwrite(data, sizeof *data, (size_t)tg_value_elements(value), file);
  fclose(file);
}

static void export_tensor(recorded *r, const tg_step_tensor *tensor) {
  static const char *const kinds[] = {[TG_ROLE_OF_DATA] = "input.",
                                      [TG_ROLE_OF_LABEL] = "",
                                      [TG_ROLE_OF_PARAMETER] = "parameter.",
                                      [TG_ROLE_OF_STATISTIC] = "statistic."};
  const char *dir = getenv("TEGULA_TORCH_EXPORT"), *kind = kinds[tensor->role];
  if (!dir || !kind) return;
  write_npy(r, tg_arena_printf(&r->arena, "%s/%s.%s%s.npy", dir, r->name, kind, tensor->name),
            r->graph->inputs[tensor->input], r->inputs[tensor->input]);
}

/* Indices for classes; for probabilities, numbers that are ones; for margins 1 and -1; lists of classes. */
static void fill_labels(const recorded *r, float *data, int64_t count) {
  tg_loss loss = r->options.loss;
  bool probabilities = loss == TG_LOSS_BCE || loss == TG_LOSS_BCE_WITH_LOGITS || loss == TG_LOSS_KL_DIV;
  bool signs = loss == TG_LOSS_SOFT_MARGIN || loss == TG_LOSS_HINGE_EMBEDDING;
  static const float lists[6][3] = {{0, -1, 2}, {2, 1, -1}, {-1, 0, 1}, {1, 0, 2}, {1, -1, -1}, {0, 2, -1}};
  tg_seeded_fill(data, TG_F32, count, 99, 1);
  for (int64_t i = 0; i < count && r->plan.classes; i++) data[i] = floorf((data[i] + 1) * 1.5f);
  for (int64_t i = 0; i < count && probabilities; i++) data[i] = (data[i] + 1) / 2;
  if (loss == TG_LOSS_KL_DIV) data[0] = 0;
  for (int64_t i = 0; i < count && signs; i++) data[i] = data[i] < 0 ? -1 : 1;
  for (int64_t i = 0; i < count && loss == TG_LOSS_MULTILABEL_MARGIN; i++) data[i] = lists[i / 3 % 6][i % 3];
}

static void fill(recorded *r) {
  for (int i = 0; i < r->plan.tensor_count; i++) {
    const tg_step_tensor *tensor = &r->plan.tensors[i];
    float *data = r->inputs[tensor->input];
    int64_t count = recorded_elements(r, tensor);
    if (tensor->initial) memcpy(data, tensor->initial->data, (size_t)count * sizeof *data);
    if (tensor->role == TG_ROLE_OF_DATA)
      tg_seeded_fill(data, TG_F32, count, 100 + (uint64_t)tensor->input, 1);
    if (tensor->role == TG_ROLE_OF_LABEL) fill_labels(r, data, count);
    export_tensor(r, tensor);
  }
}

/* Constants of the model that are no parameters. */
static void export_constants(recorded *r, const tg_graph *model) {
  const char *dir = getenv("TEGULA_TORCH_EXPORT");
  for (int i = 0; dir && i < model->value_count; i++) {
    const tg_value *value = model->values[i];
    bool plain = value->kind == TG_VALUE_CONSTANT && value->rank > 0 && value->dtype == TG_F32;
    for (int k = 0; k < r->plan.tensor_count; k++) plain &= strcmp(r->plan.tensors[k].name, value->name) != 0;
    if (plain)
      write_npy(r, tg_arena_printf(&r->arena, "%s/%s.constant.%s.npy", dir, r->name, value->name), value,
                value->data);
  }
}

static void **tensors(recorded *r, tg_value *const *values, int count) {
  void **data = TG_NEW_ARRAY(&r->arena, void *, (size_t)count);
  for (int i = 0; i < count; i++)
    data[i] = TG_NEW_ARRAY(&r->arena, float, (size_t)tg_value_elements(values[i]));
  return data;
}

bool recorded_build(recorded *r) {
  tg_diag diag = {""};
  tg_graph *model;
  tg_status status = tg_graph_parse(&r->arena, r->text, &model, &diag);
  if (!status) status = tg_graph_infer(model, &diag);
  if (!status) status = tg_training_build(model, &r->options, &r->arena, &r->graph, &r->plan, &diag);
  EXPECT_STR(diag.message, "");
  if (status) return false;
  if (getenv("TEGULA_SHOW")) puts(tg_graph_print(r->graph, &r->arena));
  r->inputs = tensors(r, r->graph->inputs, r->graph->input_count);
  r->outputs = tensors(r, r->graph->outputs, r->graph->output_count);
  fill(r);
  export_constants(r, model);
  return true;
}

void recorded_run(const recorded *r) {
  tg_reference_run(r->graph, (const void *const *)r->inputs, r->outputs);
}

float *recorded_numbers(recorded *r, const char *name, int64_t count) {
  const char *line = r->expected ? strstr(r->expected, tg_arena_printf(&r->arena, "\n%s ", name)) : NULL;
  if (!line) return NULL;
  line += 1 + strlen(name);
  float *numbers = TG_NEW_ARRAY(&r->arena, float, (size_t)count);
  for (int64_t k = 0; k < count; k++) {
    char *end;
    numbers[k] = strtof(line, &end);
    if (end == line) return NULL;
    line = end;
  }
  return numbers;
}

static tg_arena names; /* of registered tests: until the end */

void recorded_register(const char *suite, const char *folder, void (*body)(const void *name)) {
  struct dirent **files;
  int n = scandir(folder, &files, NULL, alphasort);
  for (int i = 0; i < n; i++) {
    char *dot = strrchr(files[i]->d_name, '.');
    if (dot && !strcmp(dot, ".txt")) {
      const char *name = tg_arena_strndup(&names, files[i]->d_name, (size_t)(dot - files[i]->d_name));
      tg_test_register_row(suite, name, __FILE__, __LINE__, body, name);
    }
    free(files[i]);
  }
  if (n >= 0) free(files);
}
