/* Job arrays of Slurm, by its own commands. */
#ifndef TEGULA_RUNTIME_LAUNCH_SLURM_H
#define TEGULA_RUNTIME_LAUNCH_SLURM_H

#include "frontend/base/status.h"
#include "runtime/words.h"

enum { TG_SLURM_MOST_TASKS = 1000 }; /* of an array: MaxArraySize is 1001 where nobody changed it */

typedef struct tg_slurm_array {
  const char *name;         /* of all arrays of a launch */
  const char *script;       /* what each job runs; its first argument: */
  const char *argument;     /* one word */
  const char *log;          /* where jobs write, as --output takes it */
  size_t count, width;      /* jobs 0 to count - 1, at most `width` at once; 0: no limit */
  double time_limit;        /* seconds of a job */
  const tg_words *excluded; /* nodes that are not wanted, as long as there are others */
  const tg_words *options;  /* the user's, of sbatch */
} tg_slurm_array;

typedef struct tg_slurm_job {
  const char *array; /* its number as text */
  size_t index;
  bool running;
  const char *node; /* or nodes, or "" */
} tg_slurm_job;

/* *out_array: the array's number as text. Jobs are not requeued by Slurm: whoever misses them starts them again. */
tg_status tg_slurm_submit(tg_arena *arena, const tg_slurm_array *array, const char **out_array,
                          tg_diag *diag);
/* The jobs of all arrays of a name that wait or run. */
tg_status tg_slurm_list(tg_arena *arena, const char *name, tg_slurm_job **out_jobs, size_t *out_count,
                        tg_diag *diag);
/* Ends all of them. */
tg_status tg_slurm_cancel(tg_arena *arena, const char *name, tg_diag *diag);

#endif
