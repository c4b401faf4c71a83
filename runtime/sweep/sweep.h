/* Tables over precision policies: a row a policy and accumulation, as JSON, text, CSV and a plot. */
#ifndef TEGULA_RUNTIME_SWEEP_SWEEP_H
#define TEGULA_RUNTIME_SWEEP_SWEEP_H

#include "runtime/tegula.h"

#include <jansson.h>
#include <stdio.h>

typedef struct tg_sweep_policy {
  const char *name;
  tg_compile_options precision; /* only what a policy sets */
} tg_sweep_policy;

/* All of policies.def; ends with a NULL name. */
extern const tg_sweep_policy tg_sweep_policies[];
/* NULL: there is none of that name. */
const tg_sweep_policy *tg_sweep_policy_named(const char *name);

/* Of an array: its name, or its file's without folder and ending, and its settings. */
const char *tg_sweep_array_name(tg_arena *arena, const char *arch, const char *const *settings, size_t count);

/* A row of the table: what of a run's report a comparison needs. The caller owns it. */
json_t *tg_sweep_row(const tg_session *session, const char *policy, const char *accumulation);
/* A row of a policy that could not run. */
json_t *tg_sweep_failed_row(const char *policy, const char *accumulation, const char *why);
/* Adds `speedup_over_mp0` and `saving_over_mp0`, the energy of the row `mp0` over a row's own, and `pareto` and
 * `pareto_energy`: no row is both faster, or cheaper, and more accurate. Rows that round have `cycles_over_fp32`, over those of
 * their policy with --tiling-accum fp32, null where that is no row. */
void tg_sweep_finish(json_t *rows, const json_t *mp0);
/* Whether rows are of several arrays. */
bool tg_sweep_has_arrays(const json_t *rows);

/* Of a row: the largest rms over its outputs; NaN if there is none. */
double tg_sweep_error(const json_t *row);

void tg_sweep_print(const json_t *rows, FILE *out);
/* The same of rows that have `batch`, `largest` and, behind the largest one, `beyond`: {"batch", "refused"}. */
void tg_sweep_print_batches(const json_t *rows, FILE *out);
void tg_sweep_write_csv(const json_t *rows, FILE *out);
/* Speed-up, or with `energy` what is saved of it, over rms error, the Pareto front joined by a line. */
void tg_sweep_write_svg(const json_t *rows, const char *title, bool energy, FILE *out);
/* Of rows with batches: samples a second over the batch, a line a policy, array and accumulation; a circle where the batch
 * beyond was refused. */
void tg_sweep_write_batches_svg(const json_t *rows, const char *title, FILE *out);

#endif
