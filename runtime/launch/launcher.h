/* Runs tasks of a command as jobs of a cluster whose nodes share a folder (`--launcher slurm`).
 *
 * A task is `tegula WORDS... --task FILE.json`, in the current folder, which prints one JSON object. Each job works in a
 * folder of its own, which it renames to TASK.done when it has ended: of a task that runs twice, because its node was
 * taken for dead, the first to end counts and nothing else does. A task that neither is done nor is known to the
 * cluster is lost, and started again, on another node as long as there is one. */
#ifndef TEGULA_RUNTIME_LAUNCH_LAUNCHER_H
#define TEGULA_RUNTIME_LAUNCH_LAUNCHER_H

#include "frontend/base/status.h"
#include "runtime/words.h"

#include <jansson.h>

enum { TG_LAUNCH_TRIES = 3 }; /* a task that is lost so often is given up */

typedef struct tg_launch_task {
  const char *name;   /* for messages */
  const json_t *task; /* what FILE.json says */
} tg_launch_task;

/* A task that runs now, for a display. */
typedef struct tg_launched {
  size_t task;
  const char *node;
  double seconds;
} tg_launched;

typedef struct tg_launcher {
  tg_words words;     /* of the command, without its program */
  const char *folder; /* where the folder of a launch is made; all nodes see it by this name */
  tg_words options;   /* of sbatch */
  size_t width;       /* tasks at once; 0: as many as the cluster takes */
  double time_limit;  /* of a task in seconds; 0: the cluster's */
  /* A task has an answer, borrowed, or NULL: it was lost for good, as `lost` says. What it returns ends the launch
   * unless it is TG_OK. An object with the key "lost" is no answer: it says why the task counts as lost. */
  tg_status (*finished)(void *user, size_t task, const json_t *answer, const char *lost, tg_diag *diag);
  /* A task was lost and is tried again. May be NULL. */
  void (*again)(void *user, size_t task, const char *lost);
  /* From time to time. May be NULL. */
  void (*tick)(void *user, const tg_launched *running, size_t count);
  void *user;
} tg_launcher;

/* Runs all tasks, and ends what still runs where it fails. TG_INVALID: the cluster cannot be asked or a task ended with
 * an error, which is said with its name; other statuses: a task's, or what `finished` returned. *out_signal: the signal
 * (SIGINT, SIGTERM, SIGHUP) that ended it early, or 0. */
tg_status tg_launch(const tg_launcher *launcher, tg_arena *arena, const tg_launch_task *tasks, size_t count,
                    int *out_signal, tg_diag *diag);

/* Ends jobs and removes folders of launches whose starter was killed. `folder` must be of one starter at a time. */
void tg_launch_clear(tg_arena *arena, const char *folder);

#endif
