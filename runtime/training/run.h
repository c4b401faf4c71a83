/* A training run: data, order, learning rate, loss scale and checkpoints around a trainer. */
#ifndef TEGULA_RUNTIME_TRAINING_RUN_H
#define TEGULA_RUNTIME_TRAINING_RUN_H

#include "runtime/training/dataset.h"
#include "runtime/training/order.h"
#include "runtime/training/scaler.h"
#include "runtime/training/schedule.h"
#include "runtime/training/trainer.h"

#include <jansson.h>

/* What is known of a step that ran. */
typedef struct tg_step_record {
  float loss, scale;
  uint32_t skipped; /* 0 or 1 */
} tg_step_record;

typedef struct tg_training_run {
  tg_arena arena;
  tg_trainer *trainer;
  tg_array *data, labels; /* data: one an input of the model; labels: or the first of them, for its rows */
  tg_order order;
  tg_schedule schedule;
  tg_scaler scaler;
  int64_t batch, steps;    /* of the whole run */
  tg_step_record *records; /* [done] */
  size_t record_capacity;
  int64_t done, resumed_at;            /* steps; resumed_at: where this process began */
  json_t *options;                     /* "--flag": text, as a checkpoint keeps and compares them; owned */
  uint64_t cycles;                     /* of the last step, 0: not known */
  double engine_seconds, host_seconds; /* of this process's steps; host: with what is around the engine */
  float **rows, *label_rows;           /* the batch at hand */
} tg_training_run;

/* Fits the data to the trainer's inputs and labels, which are [batch, ..]. TG_INVALID, naming file and input:
 * rows are of another size or number, or a label is no class. */
tg_status tg_run_check(tg_training_run *run, tg_diag *diag);

/* After tg_run_check: memory for what follows. */
void tg_run_prepare(tg_training_run *run);

/* The next step. */
tg_status tg_run_step(tg_training_run *run, tg_diag *diag);

int64_t tg_run_skipped(const tg_training_run *run);
/* Of the steps [from, to) that were run; NaN: there is none. */
double tg_run_mean_loss(const tg_training_run *run, int64_t from, int64_t to);
void tg_run_release(tg_training_run *run); /* not the trainer */

/* The trained model on other data, on the array with the same options, no further update. Losses and
 * accuracies are computed on the host from the outputs. What does not fill a batch is filled up with first
 * rows, which do not count. */
typedef struct tg_evaluation {
  int64_t rows;
  double loss;     /* mean */
  double accuracy; /* 0 .. 1; NaN: the loss knows no right answer (mse) */
} tg_evaluation;
tg_status tg_run_evaluate(const tg_training_run *run, const tg_array *data, const tg_array *labels,
                          tg_evaluation *out_evaluation, tg_diag *diag);

/* --- checkpoints: file DIR/checkpoint, old or new whenever the process dies --- */

/* Writes one; `folder` is made if it is not there. */
tg_status tg_checkpoint_write(const tg_training_run *run, const char *folder, tg_diag *diag);
/* Takes up the one of `folder`; *out_found false: there is none, and nothing changed. TG_INVALID: it is
 * damaged, or was written under other options, which the line names. */
tg_status tg_checkpoint_read(tg_training_run *run, const char *folder, bool *out_found, tg_diag *diag);

/* --- results --- */

tg_status tg_run_write_losses(const tg_training_run *run, const char *path, tg_diag *diag); /* .npy */
tg_status tg_run_write_csv(const tg_training_run *run, const char *path, tg_diag *diag);
tg_status tg_run_write_svg(const tg_training_run *run, const char *path, tg_diag *diag);
/* The report, a new reference. `evaluation` may be NULL. */
json_t *tg_run_report(const tg_training_run *run, const tg_evaluation *evaluation);
void tg_run_print(const json_t *report, bool verbose, FILE *out);

#endif
