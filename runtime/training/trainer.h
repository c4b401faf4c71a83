/* Training on the array, from C: a step is forward, loss, backward and update, run as one program whose state
 * (parameters, optimizer state, running statistics) stays in the device's memory from step to step.
 *
 *   tg_session_load("model.onnx", &session, &diag); tg_session_bind_batch(session, 32, &diag);
 *   tg_trainer_open(session, &options, &trainer, &diag); tg_trainer_start(trainer, &run, &diag);
 *   for (...) tg_trainer_step(trainer, &batch, lr, 1, &outcome, &diag);
 *   tg_trainer_save(trainer, "trained.onnx", &diag);
 *
 * Functions return tg_status and leave one line in `diag`, as those of runtime/tegula.h do. */
#ifndef TEGULA_RUNTIME_TRAINING_TRAINER_H
#define TEGULA_RUNTIME_TRAINING_TRAINER_H

#include "frontend/training/training.h"
#include "runtime/tegula.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tg_trainer tg_trainer;

typedef struct tg_trainer_options {
  tg_compile_options compile;
  /* Of these, the trainer decides `parameters`, from the policy, and what follows from it: fp32_params,
   * stochastic and a narrow `state` hold for BF16 parameters only. */
  tg_training_options step;
  bool classes_last; /* the loss's classes are the last dimension of its output, not dimension 1 */
} tg_trainer_options;

/* Compiles the training step of a loaded model whose sizes are bound. The session becomes that of the step's
 * program and must outlive the trainer; close it after. TG_INVALID names what cannot be trained. */
tg_status tg_trainer_open(tg_session *session, const tg_trainer_options *options, tg_trainer **out_trainer,
                          tg_diag *diag);
void tg_trainer_close(tg_trainer *trainer); /* NULL is allowed */

/* Opens an engine and its memory, with the model's own values in it, once. Of `run`: engine, threads,
 * max_cycles; NULL: every default, the engine functional. */
tg_status tg_trainer_start(tg_trainer *trainer, const tg_session_run_options *run, tg_diag *diag);

/* As they came out: formats, defaults. NULL, here and below: there is no trainer, or no such index. */
const tg_training_options *tg_trainer_options_of(const tg_trainer *trainer);

/* The model's inputs, in its order, as they were bound, and the labels: dense FP32, class indices as numbers.
 * Labels of count 0: the loss stands in the model, its labels are one of the inputs. */
int tg_trainer_input_count(const tg_trainer *trainer);
const tg_tensor_info *tg_trainer_input(const tg_trainer *trainer, int index);
const tg_tensor_info *tg_trainer_labels(const tg_trainer *trainer);
int64_t tg_trainer_classes(const tg_trainer *trainer); /* labels are indices below it; 0: values */
bool tg_trainer_lists(const tg_trainer *trainer);      /* ... lists of them, ended by numbers below 0 */

typedef struct tg_batch {
  const float *const *inputs;
  const float *labels;
} tg_batch;

typedef struct tg_step_outcome {
  float loss;      /* mean over the batch, before the update */
  bool found_inf;  /* under a loss scale: nothing was updated */
  uint64_t cycles; /* 0: the engine has no time */
  double seconds;  /* host */
} tg_step_outcome;

/* One step. `loss_scale` 1 unless options.step.scale_loss. */
tg_status tg_trainer_step(tg_trainer *trainer, const tg_batch *batch, double learning_rate, double loss_scale,
                          tg_step_outcome *out_outcome, tg_diag *diag);

/* What training changes of the model: parameters, then running statistics. */
int tg_trainer_parameter_count(const tg_trainer *trainer);
const tg_tensor_info *tg_trainer_parameter(const tg_trainer *trainer, int index);
void tg_trainer_read_parameter(const tg_trainer *trainer, int index, float *out); /* once it is started */
/* Of the last step, unscaled, before clipping; false: a statistic, or options.step.keep_gradients is not
 * set. */
bool tg_trainer_read_gradient(const tg_trainer *trainer, int index, float *out);

/* Writes the model's file with the trained values in place of the initial ones, in the model's own
 * formats. */
tg_status tg_trainer_save(const tg_trainer *trainer, const char *path, tg_diag *diag);

#ifdef __cplusplus
}
#endif
#endif
