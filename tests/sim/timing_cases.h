/* Programs whose cycles, or whose faults, follow from docs/machine.md by hand: what every engine with time must do. */
#ifndef TEGULA_TESTS_SIM_TIMING_CASES_H
#define TEGULA_TESTS_SIM_TIMING_CASES_H

#include <stddef.h>
#include <stdint.h>

typedef struct timing_case {
  const char *name, *program, *trace; /* trace: as tg_test_trace prints it */
} timing_case;

typedef struct fault_case {
  const char *name, *program;
  uint64_t max_cycles;
  const char *systemc[3], *rtl[3]; /* of the messages; that of the RTL names the cycle after */
} fault_case;

extern const timing_case timing_cases[];
extern const size_t timing_case_count;
extern const fault_case fault_cases[];
extern const size_t fault_case_count;

#endif
