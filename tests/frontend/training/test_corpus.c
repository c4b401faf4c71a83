/* Training recorded from PyTorch, in FP32, against the step graph under the frontend's evaluator: loss and
 * gradients of the first step, losses and parameters of ten.
 *
 * Tolerances: both sides round each operation to FP32, in other orders. A dot product of K terms is then off
 * by some K^(1/2) 2^-24 of its terms' sum, 1e-6 for the largest here; a gradient is a chain of a few of them,
 * and the difference of nearly equal terms where a mean is small against its terms. So 2e-5 of the value,
 * plus 2e-6 of the tensor's largest element. Ten steps add their errors: 1e-4 and 1e-5. */
#include "frontend/infer.h"
#include "frontend/onnx/onnx.h"
#include "frontend/reference.h"
#include "frontend/training/training.h"
#include "tests/frontend/support.h"
#include "tests/harness.h"

#include <math.h>

enum { STEPS = 10 };

typedef struct corpus_case {
  const char *folder;
  tg_loss loss;
  tg_optimizer optimizer;
  double lr;
  int batch;
} corpus_case;

typedef struct trainer {
  const corpus_case *row;
  tg_arena arena;
  tg_training_options options;
  tg_graph *graph;
  tg_training_plan plan;
  void **inputs, **outputs;
  float *x, *y;
  int64_t width;
  const int64_t *order; /* rows of the data, a batch a step */
} trainer;

static const char *file_of(trainer *t, const char *name) {
  return recorded_path(&t->arena, tg_arena_printf(&t->arena, "training/%s/%s", t->row->folder, name));
}

static bool build(trainer *t) {
  tg_diag diag = {""};
  tg_graph *model;
  const char *path = file_of(t, "model.onnx");
  tg_training_defaults(&t->options);
  t->options.loss = t->row->loss;
  t->options.optimizer = t->row->optimizer;
  t->options.keep_gradients = true;
  tg_status status = tg_onnx_read(&t->arena, path, &model, &diag);
  if (!status) tg_graph_bind_rest(model, t->row->batch);
  if (!status) status = tg_graph_infer(model, &diag);
  if (!status) status = tg_training_build(model, &t->options, &t->arena, &t->graph, &t->plan, &diag);
  EXPECT_STR(diag.message, "");
  return !status;
}

static void allocate(trainer *t) {
  tg_graph *g = t->graph;
  t->inputs = TG_NEW_ARRAY(&t->arena, void *, (size_t)g->input_count);
  t->outputs = TG_NEW_ARRAY(&t->arena, void *, (size_t)g->output_count);
  for (int i = 0; i < g->input_count; i++)
    t->inputs[i] = TG_NEW_ARRAY(&t->arena, float, (size_t)tg_value_elements(g->inputs[i]));
  for (int i = 0; i < g->output_count; i++)
    t->outputs[i] = TG_NEW_ARRAY(&t->arena, float, (size_t)tg_value_elements(g->outputs[i]));
  for (int i = 0; i < t->plan.tensor_count; i++) {
    const tg_step_tensor *tensor = &t->plan.tensors[i];
    if (tensor->initial)
      memcpy(t->inputs[tensor->input], tensor->initial->data,
             (size_t)tg_value_elements(tensor->initial) * sizeof(float));
  }
}

static bool read_data(trainer *t) {
  int64_t count, rows, labels;
  size_t size;
  t->x = read_npy(&t->arena, file_of(t, "x.npy"), &count);
  const char *order = read_text(&t->arena, file_of(t, "order.npy"), &size);
  const char *y = read_text(&t->arena, file_of(t, "y.npy"), &size);
  if (!t->x || !order || !y) return false;
  int64_t header = 10 + ((unsigned char)y[8] | (unsigned char)y[9] << 8);
  labels = ((int64_t)size - header) / 8;
  rows = labels;
  t->width = count / rows;
  t->y = TG_NEW_ARRAY(&t->arena, float, (size_t)rows);
  const int64_t *values = (const int64_t *)(const void *)(y + header);
  for (int64_t i = 0; i < rows; i++) t->y[i] = (float)values[i];
  t->order =
      (const int64_t *)(const void *)(order + 10 + ((unsigned char)order[8] | (unsigned char)order[9] << 8));
  return true;
}

static void step(trainer *t, uint32_t step) {
  for (int i = 0; i < t->plan.tensor_count; i++) {
    const tg_step_tensor *tensor = &t->plan.tensors[i];
    float *data = t->inputs[tensor->input];
    for (int r = 0; r < t->row->batch; r++) {
      int64_t from = t->order[step * (uint32_t)t->row->batch + (uint32_t)r];
      if (tensor->role == TG_ROLE_OF_DATA)
        memcpy(data + r * t->width, t->x + from * t->width, (size_t)t->width * sizeof *data);
      if (tensor->role == TG_ROLE_OF_LABEL) data[r] = t->y[from];
    }
    if (tensor->role == TG_ROLE_OF_NUMBER)
      data[0] = (float)tg_step_number_value(&t->options, tensor->number, step, t->row->lr, 1);
  }
  tg_reference_run(t->graph, (const void *const *)t->inputs, t->outputs);
  for (int i = 0; i < t->plan.tensor_count; i++) {
    const tg_step_tensor *tensor = &t->plan.tensors[i];
    if (tensor->output >= 0)
      memcpy(t->inputs[tensor->input], t->outputs[tensor->output],
             (size_t)tg_value_elements(t->graph->inputs[tensor->input]) * sizeof(float));
  }
}

static void expect_close(const char *what, const char *name, const float *got, const float *want,
                         int64_t count, double relative, double absolute) {
  double largest = 0;
  for (int64_t i = 0; i < count; i++) largest = fmax(largest, fabs((double)want[i]));
  double ratio = worst_ratio(got, want, count, relative, absolute * largest);
  if (!(ratio <= 1)) tg_test_fail(__FILE__, __LINE__, "%s of %s is %g tolerances off", what, name, ratio);
}

static void compare(trainer *t, const char *folder, double relative, double absolute) {
  int parameters = 0;
  for (int i = 0; i < t->plan.tensor_count; i++) {
    const tg_step_tensor *tensor = &t->plan.tensors[i];
    if (tensor->role != TG_ROLE_OF_PARAMETER) continue;
    bool gradient = !strcmp(folder, "grads0");
    int64_t count;
    float *want = read_npy(&t->arena,
                           file_of(t, tg_arena_printf(&t->arena, "%s/%s.npy", folder, tensor->name)), &count);
    const float *got = gradient ? t->outputs[tensor->gradient] : t->inputs[tensor->input];
    ASSERT(want && count == tg_value_elements(t->graph->inputs[tensor->input]));
    expect_close(folder, tensor->name, got, want, count, relative, absolute);
    parameters++;
  }
  EXPECT(parameters >= 2);
}

static void train(trainer *t) {
  ASSERT(read_data(t));
  ASSERT(build(t));
  allocate(t);
  int64_t count;
  const float *losses = read_npy(&t->arena, file_of(t, "losses.npy"), &count);
  ASSERT(losses && count >= STEPS);
  for (uint32_t i = 0; i < STEPS; i++) {
    step(t, i);
    expect_close("loss", t->row->folder, t->outputs[t->plan.loss], &losses[i], 1, 2e-5, 0);
    if (!i) compare(t, "grads0", 2e-5, 2e-6);
  }
  compare(t, "after10", 1e-4, 1e-5);
}

static void agrees(const void *row) {
  trainer t = {.row = row};
  train(&t);
  tg_arena_release(&t.arena);
}

__attribute__((constructor)) static void register_cases(void) {
  static const corpus_case cases[] = {
      {"iris_softmax_sgd", TG_LOSS_CROSS_ENTROPY, TG_OPTIMIZER_SGD, 0.1, 16},
      {"digits_mlp_sgd", TG_LOSS_CROSS_ENTROPY, TG_OPTIMIZER_SGD, 0.1, 32},
      {"digits_cnn_sgd", TG_LOSS_CROSS_ENTROPY, TG_OPTIMIZER_SGD, 0.1, 32},
      {"bcancer_mlp_adam", TG_LOSS_BCE_WITH_LOGITS, TG_OPTIMIZER_ADAM, 0.002, 32},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
    tg_test_register_row("training_corpus", cases[i].folder, __FILE__, __LINE__, agrees, &cases[i]);
}
