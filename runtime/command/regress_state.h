/* What the files of `tegula regress` share: a run of a suite. */
#ifndef TEGULA_RUNTIME_COMMAND_REGRESS_STATE_H
#define TEGULA_RUNTIME_COMMAND_REGRESS_STATE_H

#include "runtime/command/command.h"
#include "runtime/regress/fingerprint.h"
#include "runtime/regress/outputs.h"
#include "runtime/regress/screen.h"

typedef struct tg_regress {
  tg_context *context;
  tg_suite suite;
  tg_results store;
  tg_baseline baseline;
  tg_fingerprints sums;
  const char *command, *baseline_path, *shard;
  const char **fingerprints; /* by case; so are: */
  tg_result *results;
  tg_verdict *verdicts;
  size_t *wanted, *missing; /* cases of this run; those without a kept result */
  size_t wanted_count, missing_count, kept;
  size_t printed; /* of `wanted` */
  bool stopped;   /* by --fail-fast */
  size_t left;    /* cases that it left out */
  bool slurm;     /* cases are jobs of a cluster, started by: */
  tg_launcher launcher;
  tg_screen screen;
} tg_regress;

static inline const tg_options *options(const tg_regress *r) { return &r->context->options; }
static inline tg_arena *arena(tg_regress *r) { return &r->context->arena; }
static inline tg_diag *diag(tg_regress *r) { return &r->context->diag; }

/* The folder of results, which --results names or else the suite; opens it. */
const char *tg_regress_results_path(tg_regress *r);
tg_status tg_regress_open_results(tg_regress *r);
/* A runner's tick: draws who is running. `user` is the run. */
void tg_regress_tick(void *user, const tg_running *running, size_t count);

/* Fills `wanted` as --filter, --tag and --shard say, with room in `missing`. regress_cases.c */
tg_status tg_regress_select(tg_regress *r);
/* --last-failed: of the wanted cases those that the folder's results.json says failed. */
tg_status tg_regress_keep_failed(tg_regress *r);
/* After --fail-fast: what was not finished is as if it had not been wanted. */
void tg_regress_keep_finished(tg_regress *r);
/* Cases whose results are kept from an earlier run (--resume) are done; of the others nothing old may stay. */
void tg_regress_look_up_kept(tg_regress *r);

/* The run as JSON. regress_outputs.c */
void tg_regress_write_json(const tg_regression *regression, FILE *out);
/* Writes all files but the page. With NULL: whether those that the user names can be written, before hours of work. */
tg_status tg_regress_write_outputs(tg_regress *r, const tg_regression *regression);
/* Before hours of work: can the history be read, and the page be written? */
tg_status tg_regress_check_history(tg_regress *r);
/* Adds the run to its history, and writes the page of both. */
tg_status tg_regress_remember(tg_regress *r, const tg_regression *regression);
/* --update-baseline. Entries of cases that did not run stay: those that are not in this run as long as the suite has
 * them, those that broke. */
tg_status tg_regress_update_baseline(tg_regress *r);
/* --trends */
tg_status tg_regress_show_trends(tg_regress *r);

/* --explain; regress_explain.c */
tg_status tg_regress_explain(tg_regress *r);

#endif
