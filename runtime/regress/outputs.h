/* What a finished suite is written as. All of it depends on the suite, its results and its baseline alone: no
 * times, hosts or orders of ending, unless `timings` asks for times. */
#ifndef TEGULA_RUNTIME_REGRESS_OUTPUTS_H
#define TEGULA_RUNTIME_REGRESS_OUTPUTS_H

#include "runtime/regress/verdict.h"

#include <stdio.h>

typedef struct tg_regression {
  const tg_suite *suite;
  const char *shard;    /* "3/8", or NULL */
  const size_t *wanted; /* cases that this run is about, in the order of the suite */
  size_t count;
  const tg_result *results;   /* by index of the case */
  const tg_verdict *verdicts; /* likewise */
  const tg_baseline *baseline;
  bool timings;
  size_t left; /* cases that --fail-fast left out */
} tg_regression;

/* A new reference. */
json_t *tg_regression_json(const tg_regression *regression);
void tg_regression_junit(const tg_regression *regression, FILE *out);
void tg_regression_markdown(const tg_regression *regression, FILE *out);
/* `trends`: of its history (tg_history_trends), or NULL. */
void tg_regression_page(const tg_regression *regression, const json_t *trends, FILE *out);
/* A line for people: "3 of 40 cases failed, 1 new". */
const char *tg_regression_summary(tg_arena *arena, const tg_regression *regression);
/* What stands before a finding's text: "accuracy: ". */
const char *tg_finding_head(tg_arena *arena, const tg_finding *finding);
/* One line of a case: verdict, id, cycles, findings. */
const char *tg_case_line(tg_arena *arena, const tg_case *c, const tg_result *result,
                         const tg_verdict *verdict);

typedef struct tg_regression_counts {
  size_t cases, passed, failed, moved, fresh, expected;
} tg_regression_counts;
tg_regression_counts tg_regression_count(const tg_regression *regression);

#endif
