/* What is inside a trainer; for the parts of the runtime that share it. */
#ifndef TEGULA_RUNTIME_TRAINING_TRAINER_STATE_H
#define TEGULA_RUNTIME_TRAINING_TRAINER_STATE_H

#include "frontend/precision/precision.h"
#include "frontend/training/separate.h"
#include "mapper/mapper.h"
#include "runtime/session/session.h"
#include "runtime/training/trainer.h"

struct tg_trainer {
  tg_session *session;
  tg_arena arena;
  tg_graph *model; /* as imported, sizes bound and inferred: what forward is */
  tg_twin *twins;  /* initializers of the file that are transposes of others */
  int twin_count;
  tg_trainer_options options;
  tg_guarded_callbacks callbacks; /* those of the options */
  tg_params params;
  tg_precision_options precision;
  tg_map_options map;
  tg_graph *step;    /* before lowering */
  tg_graph *lowered; /* what was mapped */
  tg_graph *decided; /* as the policy left it, with casts */
  tg_training_plan plan;
  const char *policy; /* row of formats.def */

  int input_count;
  int *inputs;  /* by input of the model: input of the step */
  int *outputs; /* by output of the step: tensor of the program */
  int parameter_count;
  int *parameters, *gradients; /* by parameter: input of the step; output of it, -1: none */
  tg_tensor_info *infos;       /* inputs, labels, parameters */

  const tg_engine *engine;
  void *state;
  tg_dram *dram;
  tg_run_options run;
  uint32_t steps, updates;
};

static inline const tg_dram_tensor *tg_trainer_tensor(const tg_trainer *t, int step_input) {
  return &t->session->program->tensors[step_input];
}

/* Is what input `step_input` holds carried from step to step? */
static inline bool tg_trainer_is_carried(const tg_trainer *t, int step_input) {
  return t->plan.tensors[step_input].output >= 0;
}

/* The output of the model that the loss reads. compile_step.c */
int tg_trainer_loss_output(const tg_trainer *trainer);
/* From the session's model and the options to the session's program and the lists of its tensors. */
tg_status tg_trainer_compile(tg_trainer *trainer, tg_diag *diag);

/* Cycles, sections and bytes of one step into the session's result, from a run of the SystemC engine without
 * values: time depends on neither. Nothing happens where the steps themselves have time, or this build has no
 * such engine, unless `watched` (its trace_file, trace_window and profile) asks for what only such a run can tell. */
tg_status tg_trainer_time_step(tg_trainer *trainer, const tg_session_run_options *watched, tg_diag *diag);

/* Errors of each operator of a step, forward, backward and update, into the session's report: of one more on the last batch,
 * from the parameters as they are. TG_INVALID: as tg_numerics_of, or no step was run. */
tg_status tg_trainer_numerics(tg_trainer *trainer, double bound, tg_diag *diag);

#endif
