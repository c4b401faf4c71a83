#include "runtime/session/steady.h"

#include <stdlib.h>

enum { FEWEST_RUNS = 3, MOST_RUNS = 25 };
static const double budget = 0.5,
                    long_enough = 0.5; /* seconds; what a first run of the latter wastes is lost in it */

static int ascending(const void *left, const void *right) {
  double a = *(const double *)left, b = *(const double *)right;
  return (a > b) - (a < b);
}

tg_status tg_steady_seconds(const tg_engine *engine, void *state, tg_dram *dram,
                            const tg_run_options *options, double first_seconds, double *out_seconds,
                            int *out_runs, tg_diag *diag) {
  tg_run_options again = *options;
  again.record_events = false;
  again.observer = NULL;
  again.wave_file = NULL;
  again.proceed = NULL;
  double seconds[MOST_RUNS] = {first_seconds}, spent = 0;
  int runs = 0;
  tg_status status = TG_OK;
  while (first_seconds < long_enough && runs < MOST_RUNS && (runs < FEWEST_RUNS || spent < budget)) {
    tg_run_result result;
    status = engine->run(state, dram, &again, &result, diag);
    if (status) return status;
    spent += seconds[runs++] = result.seconds;
    tg_run_result_release(&result);
  }
  if (!runs) runs = 1;
  qsort(seconds, (size_t)runs, sizeof *seconds, ascending);
  *out_runs = runs;
  *out_seconds = runs % 2 ? seconds[runs / 2] : (seconds[runs / 2 - 1] + seconds[runs / 2]) / 2;
  return TG_OK;
}
