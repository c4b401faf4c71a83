/* Rules of docs/machine.md, each with a program whose cycles are worked out by hand.
 *
 * Preset tiny: 2 x 2 tiles, P 4 (flits of 16 bytes), L 4, bursts of 64, CA 4, DL 60. A section whose longest
 * queue has n instructions is configured in 32 + 16n cycles: T0 = 48, 64, 80, ... */
#include "tests/sim/support.h"

#include <stdlib.h>

typedef struct timing {
  const char *name, *program, *trace;
} timing;

static const timing cases[] = {
    /* S = 4, pitch = max(3, 16 + 4 + 4): T_0 = 52, e = 52 + 3 - 1 + 16 + 4 + 1. */
    {"gemm",
     "arch tiny\nsection \"s\"\ntile 0\n"
     "mx gemm m_count=1,3 blk_count=1,1,1,1 a_banks=1 b_base=128 b_banks=1 b_row=1\n"
     "invoke 0 \"i\"\n",
     "tile 0 mx 0: 48-75\ncycles 77\n"},
};

static void run_case(const void *row) {
  const timing *c = row;
  tg_run_options options = {.timing_only = true, .record_events = true};
  char *trace = tg_test_trace(&tg_engine_systemc, c->program, &options);
  EXPECT_STR(trace, c->trace);
  free(trace);
}

__attribute__((constructor)) static void register_cases(void) {
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
    tg_test_register_row("systemc_timing", cases[i].name, __FILE__, __LINE__, run_case, &cases[i]);
}
