/* Cases as jobs of a cluster (launch/launcher.h). A job runs its case in a folder of its own and leaves the result
 * in the folder of results, which all nodes share, whole or not at all, with its fingerprint, so that --resume finds it
 * whatever became of the starter. */
#ifndef TEGULA_RUNTIME_REGRESS_REMOTE_H
#define TEGULA_RUNTIME_REGRESS_REMOTE_H

#include "runtime/launch/launcher.h"
#include "runtime/regress/runner.h"

typedef struct tg_remote {
  const tg_runner *runner;         /* its `jobs` is not used */
  tg_launcher launcher;            /* but for what it calls, which is set here */
  const char *const *fingerprints; /* by case */
} tg_remote;

/* As tg_runner_run. A case that was lost TG_LAUNCH_TRIES times has TG_KILLED; each time is told on stderr. */
tg_status tg_remote_run(const tg_remote *remote, tg_arena *arena, const size_t *wanted, size_t count,
                        tg_result *results, int *out_signal, tg_diag *diag);

/* In a job: runs the case that `task` names. `results`: the shared folder; `scratch`: one that may be left behind. The
 * caller owns *out_answer. TG_INVALID: there is no such case, or nothing can be written. */
tg_status tg_remote_task(tg_arena *arena, tg_suite *suite, const char *command, const json_t *task,
                         const char *results, const char *scratch, json_t **out_answer, tg_diag *diag);

#endif
