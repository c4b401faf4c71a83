/* Runs cases side by side, each in processes of its own. */
#ifndef TEGULA_RUNTIME_REGRESS_RUNNER_H
#define TEGULA_RUNTIME_REGRESS_RUNNER_H

#include "runtime/regress/result.h"

/* A case that runs now, for a display. */
typedef struct tg_running {
  const tg_case *c;  /* NULL: none in this place */
  const char *doing; /* "zoo", "run", "train", "verify" */
  double seconds;
} tg_running;

typedef struct tg_runner {
  const tg_suite *suite;
  const tg_results *results;
  const char *command; /* the tegula that runs the cases */
  size_t jobs;
  /* A case is finished; results[index] is filled. */
  tg_status (*finished)(void *user, size_t index, tg_diag *diag);
  /* From time to time. */
  void (*tick)(void *user, const tg_running *running, size_t count);
  void *user;
} tg_runner;

/* Runs cases[wanted[i]] for each i and fills results[wanted[i]] on `arena`. TG_INVALID: no process can be
 * made, or what `finished` returned. *out_signal: the signal that ended it early (SIGINT, SIGTERM, SIGHUP),
 * or 0; what was not finished then is not. */
tg_status tg_runner_run(const tg_runner *runner, tg_arena *arena, const size_t *wanted, size_t count,
                        tg_result *results, int *out_signal, tg_diag *diag);

#endif
