/* Gradients of operators: gradients/<case>.txt holds a graph, whose constants are its parameters, a line
 * "---", and for each parameter what PyTorch (double precision, record.py) gets as the gradient of the mean
 * squared error against seeded labels.
 *
 * Tolerances. PyTorch: a gradient here is a few dozen operations, each rounded to FP32: 1e-5 of the value,
 * plus 2e-6 of the largest of the tensor where terms cancel. Finite differences: outputs near 1 carry errors
 * of some 1e-7, which a step of 2^-8 makes 5e-5 in the difference quotient, beside third derivatives times
 * 2^-16; kinks are avoided by the choice of data. 1e-3 of the quotient's scale is asked for. */
#include "frontend/pipeline.h"
#include "tests/frontend/support.h"
#include "tests/frontend/training/recorded.h"
#include "tests/harness.h"

#include <math.h>
#include <stdlib.h>
#include <unistd.h>

#define FOLDER "tests/frontend/training/gradients"

static void compare(recorded *r, const char *stage) {
  recorded_run(r);
  for (int i = 0; i < r->plan.tensor_count; i++) {
    const tg_step_tensor *tensor = &r->plan.tensors[i];
    if (tensor->role != TG_ROLE_OF_PARAMETER) continue;
    int64_t count = recorded_elements(r, tensor);
    const float *want = recorded_numbers(r, tensor->name, count);
    ASSERT(want && tensor->gradient >= 0);
    double largest = 0;
    for (int64_t k = 0; k < count; k++) largest = fmax(largest, fabs((double)want[k]));
    double ratio = worst_ratio(r->outputs[tensor->gradient], want, count, 1e-5, 2e-6 * largest + 1e-9);
    if (!(ratio <= 1))
      tg_test_fail(__FILE__, __LINE__, "%s: gradient of %s is %g tolerances off PyTorch's", stage,
                   tensor->name, ratio);
  }
}

/* The loss in double precision, of outputs in FP32. */
static double loss_of(const recorded *r) {
  recorded_run(r);
  const float *y = r->outputs[0], *labels = r->inputs[r->plan.labels];
  int64_t count = tg_value_elements(r->graph->inputs[r->plan.labels]);
  double sum = 0;
  for (int64_t i = 0; i < count; i++)
    sum += ((double)y[i] - (double)labels[i]) * ((double)y[i] - (double)labels[i]);
  return sum / (double)count;
}

static void differ(recorded *r, const tg_step_tensor *tensor) {
  enum { DIRECTIONS = 3 };
  const double h = 0x1p-8;
  int64_t count = recorded_elements(r, tensor);
  size_t bytes = (size_t)count * sizeof(float);
  float *p = r->inputs[tensor->input], *saved = TG_NEW_ARRAY(&r->arena, float, (size_t)count);
  float *gradient = TG_NEW_ARRAY(&r->arena, float, (size_t)count),
        *way = TG_NEW_ARRAY(&r->arena, float, (size_t)count);
  recorded_run(r);
  memcpy(saved, p, bytes);
  memcpy(gradient, r->outputs[tensor->gradient], bytes);
  for (uint64_t d = 0; d < DIRECTIONS; d++) {
    double slope = 0, scale = 0;
    tg_seeded_fill(way, TG_F32, count, 7 + d, 1);
    for (int64_t i = 0; i < count; i++) {
      slope += (double)gradient[i] * (double)way[i];
      scale += fabs((double)gradient[i] * (double)way[i]);
      p[i] = (float)((double)saved[i] + h * (double)way[i]);
    }
    double up = loss_of(r);
    for (int64_t i = 0; i < count; i++) p[i] = (float)((double)saved[i] - h * (double)way[i]);
    double quotient = (up - loss_of(r)) / (2 * h);
    memcpy(p, saved, bytes);
    if (!(fabs(quotient - slope) <= 1e-3 * scale + 1e-4))
      tg_test_fail(__FILE__, __LINE__, "%s changes the loss by %g a unit, its gradient says %g", tensor->name,
                   quotient, slope);
  }
}

static void check(recorded *r, const char *name) {
  ASSERT(recorded_read(r, FOLDER, name));
  tg_training_defaults(&r->options);
  r->options.loss = TG_LOSS_MSE;
  r->options.keep_gradients = r->options.keep_outputs = true;
  ASSERT(recorded_build(r));
  if (getenv("TEGULA_TORCH_EXPORT")) return;
  compare(r, "step");
  for (int i = 0; i < r->plan.tensor_count; i++)
    if (r->plan.tensors[i].role == TG_ROLE_OF_PARAMETER) differ(r, &r->plan.tensors[i]);
  tg_frontend_options lower;
  tg_diag diag = {""};
  tg_frontend_defaults(&lower);
  EXPECT_EQ(tg_frontend_lower(r->graph, &lower, &diag), TG_OK);
  EXPECT_STR(diag.message, "");
  if (!diag.message[0]) compare(r, "lowered step");
}

static void agrees(const void *name) {
  recorded r = {.name = name};
  check(&r, name);
  tg_arena_release(&r.arena);
}

__attribute__((constructor)) static void register_cases(void) {
  recorded_register("gradient", FOLDER, agrees);
}

TG_TEST(gradient, cases_are_found) { EXPECT(!access(FOLDER "/relu.txt", 0)); }
