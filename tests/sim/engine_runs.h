/* Running a program on an engine, and comparing runs: shared by the tests of the engines. */
#ifndef TEGULA_TESTS_SIM_ENGINE_RUNS_H
#define TEGULA_TESTS_SIM_ENGINE_RUNS_H

#include "sim/machine/engine.h"

/* What a run left: its times and the whole memory. */
typedef struct engine_run {
  tg_status status;
  tg_diag diag;
  tg_run_result result;
  uint32_t sections; /* invocations, of which the result has times */
  tg_dram *dram;
} engine_run;

/* Memory begins with a fixed pseudo-random pattern (constants of the program on top). */
engine_run engine_run_program(const tg_engine *engine, const tg_program *program, tg_run_options options);
/* The same, but inputs hold numbers in [-2, 2) instead of any bits: what they give seldom ends as NaN. */
engine_run engine_run_numbers(const tg_engine *engine, const tg_program *program, tg_run_options options);
void engine_run_release(engine_run *run);

/* The memory behind the ports, and a clock, by `seed`: `simple`, and devices with small queues, few channels, closed pages and
 * frequent refresh, so that ports are held back. */
tg_status draw_memory(tg_params *params, uint64_t seed);

/* The first difference of two runs as text for a failure message, or NULL; `times` compares events,
 * sections and counts of actions, too, else bits only. The text belongs to the function. */
const char *engine_runs_differ(const engine_run *a, const engine_run *b, bool times);

#endif
