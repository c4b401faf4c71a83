/* tegula tune: the fastest precision of each operator that keeps an error (docs/tuning.md). */
#ifndef TEGULA_RUNTIME_TUNE_TUNE_H
#define TEGULA_RUNTIME_TUNE_TUNE_H

#include "runtime/session/session.h"
#include "runtime/tune/problem.h"

#include <jansson.h>
#include <stdio.h>

/* rms and max: of the difference to FP32, cosine: 1 minus the cosine, each of the worst output; task: the
 * share of labels that are not the largest of their scores in the first output. */
typedef enum tg_tune_metric { TG_TUNE_RMS, TG_TUNE_MAX, TG_TUNE_COSINE, TG_TUNE_TASK } tg_tune_metric;

typedef struct tg_tune_request {
  tg_tune_metric metric;
  double max_error;
  const float *labels; /* of the task metric: one for each row of scores */
  int64_t label_count;
  const char *labels_path; /* for messages */
  unsigned formats;        /* that may be chosen (problem.h); policies need bf16 */
  int max_runs, threads;   /* threads 0: all cores */
  uint64_t max_cycles;     /* of a run; 0: no limit */
  /* A session of the model with its inputs set. `casts`: rules of the nodes by id (cast_rules.h), NULL where
   * the policy decides, NULL: everywhere. Compiled, or, with `preset`, as far as that policy's decisions. */
  tg_status (*open)(void *user, const char *preset, const char *const *casts, int64_t count,
                    tg_session **out_session, tg_diag *diag);
  void (*progress)(void *user, int run, const char *what);
  /* Runs tasks side by side, elsewhere: answers[i] is what tg_tune_task gives for tasks[i], for the callee to own. NULL:
   * runs are made here, one after the other. */
  tg_status (*spread)(void *user, json_t *const *tasks, int count, json_t **out_answers, tg_diag *diag);
  void *user;
} tg_tune_request;

/* What was found. */
typedef struct tg_tuned {
  json_t *report;     /* to be released; keys as docs/tuning.md says */
  bool met;           /* false: no assignment that was run meets the target, and there are no rules */
  const char **casts; /* the best's rules by node id */
  int64_t count;
} tg_tuned;

/* TG_INVALID: the model cannot be run as it is, or the labels do not fit it. `arena` keeps what is
 * returned. */
tg_status tg_tune(tg_arena *arena, const tg_tune_request *request, tg_tuned *out_tuned, tg_diag *diag);

/* In a process that another one's `spread` started, with the same request: the point that `task` names. The caller owns
 * *out_answer. */
tg_status tg_tune_task(tg_arena *arena, const tg_tune_request *request, const json_t *task,
                       json_t **out_answer, tg_diag *diag);

void tg_tune_print(const json_t *report, FILE *out);

#endif
