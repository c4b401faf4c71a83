/* The arrays that `tegula train` learns from. */
#ifndef TEGULA_RUNTIME_COMMAND_TRAIN_DATA_H
#define TEGULA_RUNTIME_COMMAND_TRAIN_DATA_H

#include "runtime/command/command.h"
#include "runtime/training/run.h"

/* Loads what `option` (--data, --eval-data) names for inputs of the model: *out_data has an array an input, without a
 * path where nothing was named. Archives without a named array: one named like the input, or as it is usual. */
tg_status tg_train_load_data(tg_context *context, tg_training_run *run, const tg_graph *model,
                             tg_option_id option, tg_array **out_data);
/* Loads --labels into run->labels, or where the loss stands in the model into the input that no --data names; then
 * every input has data. */
tg_status tg_train_load_labels(tg_context *context, tg_training_run *run, const tg_graph *model,
                               tg_loss loss);
/* --order: rows [steps, batch] of run->labels, on run->arena; *out_rows NULL without it. */
tg_status tg_train_load_order(tg_context *context, tg_training_run *run, int64_t *out_batch,
                              const int64_t **out_rows, int64_t *out_steps);
/* The arrays of --eval-data and --eval-labels; *out_data NULL without them. */
tg_status tg_train_eval_data(tg_context *context, tg_training_run *run, tg_array **out_data,
                             tg_array *out_labels);

#endif
