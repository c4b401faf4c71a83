/* From options of `tegula train` to a training run. */
#ifndef TEGULA_RUNTIME_COMMAND_TRAIN_OPTIONS_H
#define TEGULA_RUNTIME_COMMAND_TRAIN_OPTIONS_H

#include "runtime/command/command.h"
#include "runtime/training/run.h"

/* Everything that can be wrong with the options, the data and the model is found here, before anything runs.
 * `session` holds the loaded model; run->trainer is open afterwards, also if the status says that it failed
 * later. */
tg_status tg_train_set_up(tg_context *context, tg_session *session, tg_training_run *run);

/* Everything that the result depends on, by the name of its option; where it has a default that depends on others, as
 * it came out. A checkpoint goes on under the same only. The caller owns it. train_digests.c */
json_t *tg_train_note_options(tg_context *context, const tg_training_run *run,
                              const tg_training_options *step);

#endif
