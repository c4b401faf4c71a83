/* Step graphs of small models and what PyTorch recorded for them (record.py). */
#ifndef TEGULA_TESTS_FRONTEND_TRAINING_RECORDED_H
#define TEGULA_TESTS_FRONTEND_TRAINING_RECORDED_H

#include "frontend/training/training.h"

typedef struct recorded {
  tg_arena arena;
  const char *name;     /* of the case */
  const char *text;     /* its graph */
  const char *expected; /* what stands behind "---"; NULL: not recorded yet */
  tg_training_options options;
  tg_graph *graph;
  tg_training_plan plan;
  void **inputs, **outputs; /* of the step graph, FP32 */
} recorded;

/* Reads "<folder>/<name>.txt". */
bool recorded_read(recorded *r, const char *folder, const char *name);
/* Builds the step with r->options, its inputs filled: data and labels by seed, parameters as they begin. With
 * TEGULA_TORCH_EXPORT=DIR also writes them there, for record.py. */
bool recorded_build(recorded *r);
void recorded_run(const recorded *r);
int64_t recorded_elements(const recorded *r, const tg_step_tensor *tensor);
/* The numbers behind `name`, `count` of them; NULL: there are none. */
float *recorded_numbers(recorded *r, const char *name, int64_t count);

/* A test for each file of `folder`. */
void recorded_register(const char *suite, const char *folder, void (*body)(const void *name));

#endif
