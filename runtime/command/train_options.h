/* From options of `tegula train` to a training run. */
#ifndef TEGULA_RUNTIME_COMMAND_TRAIN_OPTIONS_H
#define TEGULA_RUNTIME_COMMAND_TRAIN_OPTIONS_H

#include "runtime/command/command.h"
#include "runtime/training/run.h"

/* Everything that can be wrong with the options, the data and the model is found here, before anything runs.
 * `session` holds the loaded model; run->trainer is open afterwards, also if the status says that it failed
 * later. */
tg_status tg_train_set_up(tg_context *context, tg_session *session, tg_training_run *run);

/* The arrays of --eval-data and --eval-labels; *out_data NULL without them. */
tg_status tg_train_eval_data(tg_context *context, tg_training_run *run, tg_array **out_data,
                             tg_array *out_labels);

#endif
