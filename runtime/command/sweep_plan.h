/* What `tegula sweep` runs: points, each a policy and an accumulation on an array, with --batch-sweep a series of batches. */
#ifndef TEGULA_RUNTIME_COMMAND_SWEEP_PLAN_H
#define TEGULA_RUNTIME_COMMAND_SWEEP_PLAN_H

#include "runtime/command/command.h"
#include "runtime/launch/apart.h"
#include "runtime/sweep/sweep.h"

enum { TG_SWEEP_MOST_ARRAYS = 256, TG_SWEEP_MOST_SETTINGS = 32 };

/* An array to try: `--arch` and settings of one value each. */
typedef struct tg_sweep_target {
  const char *arch; /* NULL: not given */
  const char *settings[TG_SWEEP_MOST_SETTINGS];
  size_t setting_count;
  const char *name; /* of rows */
} tg_sweep_target;

typedef struct tg_sweep_point {
  tg_sweep_target *target;
  const tg_sweep_policy *policy;
  const char *accumulation;
  bool shown;   /* false: mp0 on the first array, with which all are compared, and which nobody asked for */
  json_t *rows; /* one, or one a batch; NULL: it did not run */
  tg_status status; /* of the run; and its line: */
  const char *refused;
} tg_sweep_point;

/* All runs of a sweep, in the order of rows; the very first is mp0's on the first array. */
typedef struct tg_sweep_plan {
  tg_context *context;
  tg_sweep_point *points;
  size_t count, capacity, done;
  bool batches;    /* --batch-sweep, with */
  uint64_t memory; /* ... bytes of device memory that a run may have; UINT64_MAX: what the array takes */
  uint64_t most;   /* ... the largest batch that is tried */
  tg_apart apart;  /* where points run */
} tg_sweep_plan;

/* Every --arch with every combination of the values of --set, into `targets`, of which there are TG_SWEEP_MOST_ARRAYS. */
tg_status tg_sweep_expand(tg_context *context, tg_sweep_target *targets, size_t *out_count);
/* What is compiled from now on is for this array. */
void tg_sweep_choose(tg_context *context, tg_sweep_target *target);

/* Runs a point in a process apart, and fills its rows, or its status and line: what the model, the array or the host's
 * memory refuses is a line, anything else that goes wrong the status returned. */
tg_status tg_sweep_run_point(tg_sweep_plan *plan, tg_sweep_point *point, tg_diag *diag);

#endif
