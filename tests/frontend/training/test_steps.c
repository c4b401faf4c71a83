/* Losses, optimizers, clipping and running statistics: steps/<case>.txt holds options, a graph, a line "---",
 * and what PyTorch (double precision, record.py) has as losses of five steps and as parameters and statistics
 * behind them.
 *
 * Tolerance: a step is some fifty operations rounded to FP32. Adam's quotients lift errors of small
 * gradients, so 1e-5 of the value, plus 1e-6 of the tensor's largest element, and Adam's first steps lie on
 * 1e-6 of lr. */
#include "frontend/pipeline.h"
#include "tests/frontend/support.h"
#include "tests/frontend/training/recorded.h"
#include "tests/harness.h"

#include <math.h>
#include <stdlib.h>

#define FOLDER "tests/frontend/training/steps"
enum { STEPS = 5 };

typedef struct settings {
  double lr, loss_scale;
} settings;

static void set(recorded *r, const char *key, const char *text, settings *out) {
  tg_training_options *o = &r->options;
  tg_diag diag = {""};
  const struct {
    const char *key;
    double *number;
  } numbers[] = {{"lr", &out->lr},
                 {"momentum", &o->momentum},
                 {"beta1", &o->beta1},
                 {"beta2", &o->beta2},
                 {"epsilon", &o->epsilon},
                 {"weight_decay", &o->weight_decay},
                 {"loss_beta", &o->loss_beta},
                 {"clip_norm", &o->clip_norm},
                 {"clip_value", &o->clip_value},
                 {"scale_loss", &out->loss_scale},
                 {"ignore_index", &o->ignore_index}};
  bool found = false;
  for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
    if (strcmp(numbers[i].key, key)) continue;
    *numbers[i].number = strtod(text, NULL);
    found = true;
  }
  if (!strcmp(key, "loss")) found = !tg_loss_parse(text, &o->loss, &diag);
  if (!strcmp(key, "optimizer")) found = !tg_optimizer_parse(text, &o->optimizer, &diag);
  if (!strcmp(key, "frozen")) found = (o->frozen = text) != NULL;
  if (!strcmp(key, "scale_loss")) o->scale_loss = true;
  if (!strcmp(key, "ignore_index")) o->ignore = true;
  EXPECT_STR(diag.message, "");
  if (!found) tg_test_fail(__FILE__, __LINE__, "unknown option %s=%s", key, text);
}

/* "# key=value key=value" */
static settings read_options(recorded *r) {
  settings s = {.loss_scale = 1};
  const char *end = strchr(r->text, '\n');
  char *line = tg_arena_strndup(&r->arena, r->text + 1, (size_t)(end - r->text - 1));
  tg_training_defaults(&r->options);
  for (char *save, *word = strtok_r(line, " ", &save); word; word = strtok_r(NULL, " ", &save)) {
    char *value = strchr(word, '=');
    *value = 0;
    set(r, word, value + 1, &s);
  }
  return s;
}

static void step(const recorded *r, const settings *s, uint32_t index) {
  for (int i = 0; i < r->plan.tensor_count; i++) {
    const tg_step_tensor *tensor = &r->plan.tensors[i];
    if (tensor->role == TG_ROLE_OF_NUMBER)
      *(float *)r->inputs[tensor->input] =
          (float)tg_step_number_value(&r->options, tensor->number, index, s->lr, s->loss_scale);
  }
  recorded_run(r);
  for (int i = 0; i < r->plan.tensor_count; i++) {
    const tg_step_tensor *tensor = &r->plan.tensors[i];
    if (tensor->output >= 0)
      memcpy(r->inputs[tensor->input], r->outputs[tensor->output],
             (size_t)recorded_elements(r, tensor) * sizeof(float));
  }
}

static void expect_close(const char *name, const float *got, const float *want, int64_t count) {
  double largest = 0;
  for (int64_t k = 0; k < count; k++) largest = fmax(largest, fabs((double)want[k]));
  double ratio = worst_ratio(got, want, count, 1e-5, 1e-6 * largest + 1e-7);
  if (!(ratio <= 1)) tg_test_fail(__FILE__, __LINE__, "%s is %g tolerances off PyTorch's", name, ratio);
}

static void check(recorded *r, const char *name) {
  ASSERT(recorded_read(r, FOLDER, name));
  settings s = read_options(r);
  ASSERT(recorded_build(r));
  if (getenv("TEGULA_TORCH_EXPORT")) return;
  const float *losses = recorded_numbers(r, "loss", STEPS);
  ASSERT(losses);
  for (uint32_t i = 0; i < STEPS; i++) {
    step(r, &s, i);
    expect_close("loss", r->outputs[r->plan.loss], &losses[i], 1);
    if (r->plan.found_inf >= 0) EXPECT(*(float *)r->outputs[r->plan.found_inf] == 0);
  }
  for (int i = 0; i < r->plan.tensor_count; i++) {
    const tg_step_tensor *tensor = &r->plan.tensors[i];
    if (tensor->role != TG_ROLE_OF_PARAMETER && tensor->role != TG_ROLE_OF_STATISTIC) continue;
    int64_t count = recorded_elements(r, tensor);
    const float *want = recorded_numbers(r, tensor->name, count);
    ASSERT(want);
    expect_close(tensor->name, r->inputs[tensor->input], want, count);
  }
}

static void agrees(const void *name) {
  recorded r = {.name = name};
  check(&r, name);
  tg_arena_release(&r.arena);
}

__attribute__((constructor)) static void register_cases(void) {
  recorded_register("training_step", FOLDER, agrees);
}
