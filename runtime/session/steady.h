/* What a run costs the host once everything is loaded, generated and touched. */
#ifndef TEGULA_RUNTIME_SESSION_STEADY_H
#define TEGULA_RUNTIME_SESSION_STEADY_H

#include "sim/machine/engine.h"

/* Runs an opened program again, after a first run of `first_seconds` on the same memory that warmed it up, at
 * least 3 times and until about half a second is spent, and returns the median. A first run that took long
 * is the only one. `*out_runs`: how many the figure is of. Values in `dram` change, cycles do not. */
tg_status tg_steady_seconds(const tg_engine *engine, void *state, tg_dram *dram,
                            const tg_run_options *options, double first_seconds, double *out_seconds,
                            int *out_runs, tg_diag *diag);

#endif
