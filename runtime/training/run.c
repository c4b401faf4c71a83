#include "runtime/training/run.h"
#include "runtime/training/trainer_state.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

static tg_status check_width(const tg_array *array, int64_t batch, const tg_tensor_info *info,
                             const char *what, tg_diag *diag) {
  int64_t width = info->count / batch;
  if (array->width == width) return TG_OK;
  return tg_fail(diag, TG_INVALID, "%s: a row has %" PRId64 " elements, %s \"%s\" takes %" PRId64,
                 array->path, array->width, what, info->name, width);
}

tg_status tg_run_check(tg_training_run *run, tg_diag *diag) {
  const tg_trainer *t = run->trainer;
  const tg_tensor_info *labels = tg_trainer_labels(t);
  for (int i = 0; i < tg_trainer_input_count(t); i++) {
    const tg_tensor_info *info = tg_trainer_input(t, i);
    if (!info->rank || info->dims[0] != run->batch)
      return tg_fail(diag, TG_INVALID, "input \"%s\" has %" PRId64 " rows where the batch has %" PRId64,
                     info->name, info->rank ? info->dims[0] : 0, run->batch);
    if (check_width(&run->data[i], run->batch, info, "input", diag)) return TG_INVALID;
    if (run->data[i].rows != run->labels.rows)
      return tg_fail(diag, TG_INVALID, "%s has %" PRId64 " rows, %s %" PRId64, run->data[i].path,
                     run->data[i].rows, run->labels.path, run->labels.rows);
  }
  if (!labels->count) return TG_OK;
  /* A row of the data may make several that the loss reads: the tokens of a sequence. */
  if (!labels->rank || labels->dims[0] % run->batch)
    return tg_fail(diag, TG_INVALID, "the loss reads %" PRId64 " rows where the batch has %" PRId64,
                   labels->rank ? labels->dims[0] : 1, run->batch);
  if (check_width(&run->labels, run->batch, labels, "the loss's", diag)) return TG_INVALID;
  int64_t classes = tg_trainer_classes(t);
  const tg_training_options *step = tg_trainer_options_of(t);
  const double end = -1, *ignored = step->ignore ? &step->ignore_index : tg_trainer_lists(t) ? &end : NULL;
  return classes ? tg_array_check_classes(&run->labels, classes, ignored, diag) : TG_OK;
}

void tg_run_prepare(tg_training_run *run) {
  const tg_trainer *t = run->trainer;
  run->rows = TG_NEW_ARRAY(&run->arena, float *, (size_t)tg_trainer_input_count(t) + 1);
  for (int i = 0; i < tg_trainer_input_count(t); i++)
    run->rows[i] = TG_NEW_ARRAY(&run->arena, float, (size_t)tg_trainer_input(t, i)->count + 1);
  run->label_rows = TG_NEW_ARRAY(&run->arena, float, (size_t)tg_trainer_labels(t)->count + 1);
}

tg_status tg_run_step(tg_training_run *run, tg_diag *diag) {
  double begin = tg_host_seconds();
  tg_arena scratch = {0};
  int64_t *rows = TG_NEW_ARRAY(&scratch, int64_t, (size_t)run->batch);
  tg_order_rows(&run->order, run->done, rows);
  for (int i = 0; i < tg_trainer_input_count(run->trainer); i++)
    tg_array_gather(&run->data[i], rows, run->batch, run->rows[i]);
  if (tg_trainer_labels(run->trainer)->count)
    tg_array_gather(&run->labels, rows, run->batch, run->label_rows);
  tg_arena_release(&scratch);
  tg_batch batch = {(const float *const *)run->rows, run->label_rows};
  tg_step_outcome outcome;
  tg_status status =
      tg_trainer_step(run->trainer, &batch, tg_schedule_lr(&run->schedule, (uint64_t)run->done),
                      run->scaler.scale, &outcome, diag);
  if (status) return status;
  tg_step_record record = {outcome.loss, (float)run->scaler.scale, outcome.found_inf};
  TG_PUSH(&run->arena, run->records, run->done, run->record_capacity, record);
  tg_scaler_update(&run->scaler, outcome.found_inf);
  run->cycles = outcome.cycles;
  run->engine_seconds += outcome.seconds;
  run->host_seconds += tg_host_seconds() - begin;
  return TG_OK;
}

int64_t tg_run_skipped(const tg_training_run *run) {
  int64_t skipped = 0;
  for (int64_t i = 0; i < run->done; i++) skipped += run->records[i].skipped;
  return skipped;
}

double tg_run_mean_loss(const tg_training_run *run, int64_t from, int64_t to) {
  double sum = 0;
  if (from < 0) from = 0;
  if (to > run->done) to = run->done;
  for (int64_t i = from; i < to; i++) sum += (double)run->records[i].loss;
  return to > from ? sum / (double)(to - from) : NAN;
}

void tg_run_release(tg_training_run *run) {
  json_decref(run->options);
  tg_arena_release(&run->arena);
}
