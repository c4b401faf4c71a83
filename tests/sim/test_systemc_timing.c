/* The programs of timing_cases.h on SystemC. */
#include "tests/sim/support.h"
#include "tests/sim/timing_cases.h"

#include <stdlib.h>

static void run_timing(const void *row) {
  const timing_case *t = row;
  tg_run_options options = {.timing_only = true, .record_events = true};
  char *trace = tg_test_trace(&tg_engine_systemc, t->program, &options);
  EXPECT_STR(trace, t->trace);
  free(trace);
}

static void run_fault(const void *row) {
  const fault_case *f = row;
  tg_run_options options = {.timing_only = true, .max_cycles = f->max_cycles};
  char *trace = tg_test_trace(&tg_engine_systemc, f->program, &options);
  EXPECT_HAS(trace, "status 3: ");
  for (int i = 0; i < 3 && f->systemc[i]; i++) EXPECT_HAS(trace, f->systemc[i]);
  EXPECT(strlen(trace) < 1024 && strchr(trace, '\n') == trace + strlen(trace) - 1);
  free(trace);
}

__attribute__((constructor)) static void register_cases(void) {
  for (size_t i = 0; i < timing_case_count; i++)
    tg_test_register_row("systemc_timing", timing_cases[i].name, __FILE__, __LINE__, run_timing,
                         &timing_cases[i]);
  for (size_t i = 0; i < fault_case_count; i++)
    tg_test_register_row("systemc_fault", fault_cases[i].name, __FILE__, __LINE__, run_fault,
                         &fault_cases[i]);
}
