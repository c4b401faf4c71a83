/* The history of a suite: a file to which each run adds a line, and what moved from run to run in it. */
#ifndef TEGULA_RUNTIME_REGRESS_HISTORY_H
#define TEGULA_RUNTIME_REGRESS_HISTORY_H

#include "runtime/regress/outputs.h"

/* Adds a run, whole or not at all, also where several processes add at once; what a killed one left of a line goes.
 * `label` names the run, as a commit does; NULL: none. */
tg_status tg_history_add(const char *path, const tg_regression *regression, const char *label, tg_diag *diag);

/* TG_INVALID: a run could not be added. Leaves an empty file where there is none. */
tg_status tg_history_check(const char *path, tg_diag *diag);

/* The latest runs of the suite `suite`, at most 500, oldest first, as an array of lines; *out_runs is empty where there
 * is no file. Lines that follow each other with one label are one run, as shards are. TG_INVALID: a line is none. */
tg_status tg_history_read(const char *path, const char *suite, json_t **out_runs, tg_diag *diag);

/* {"runs": [{"label", "time", "tegula"}], "cases": {id: {"verdict": [..], "cycles": [..], "device_bytes": [..]}}, "events":
 * [{"run", "case", "kind", "worse", "text"}]}: lists by run, null where a case was not in it; events latest first.
 *   kind: "verdict", "cycles", "memory", "outputs". A new reference. */
json_t *tg_history_trends(const json_t *runs);
/* Leaves what is asked of trends: of cases only those of `ids`, an array of `count`, and their events (NULL: all); of
 * events only those of the runs with this label (NULL: all). TG_INVALID: there is no such run. */
tg_status tg_trends_choose(json_t *trends, const char *const *ids, size_t count, const char *label,
                           tg_diag *diag);
/* The page of a history without a run. */
void tg_trends_page(const char *suite, const json_t *trends, FILE *out);
void tg_trends_print(const char *suite, const json_t *trends, FILE *out);

#endif
