/* What the RTL engine does with programs that go wrong: faults, deadlocks, limits, parameters without a
 * build. */
#include "tests/harness.h"
#include "tests/sim/engine_runs.h"
#include "tests/sim/support.h"
#include "tests/sim/timing_cases.h"

#include <stdlib.h>

/* A build that counts coverage has no RTL of `tiny` (sim/rtl/CMakeLists.txt). */
#ifdef TEGULA_RTL_COVERAGE
#define SKIP_WITHOUT_TINY() SKIP("coverage is counted of the configuration odd alone")
#else
#define SKIP_WITHOUT_TINY() (void)0
#endif

#define ROWS4 "rows=4 take=4 m_radix=1,1,4 k_radix=1,1,4 stride=0,0,16,0,0,4 y_size=1 x_size=1 "

static void expect_fault(const char *text, tg_run_options options, tg_status status,
                         const char *const parts[]) {
  SKIP_WITHOUT_TINY();
  tg_program *program;
  tg_diag diag = {""};
  tg_status parsed = tg_program_parse(text, &program, &diag);
  EXPECT_STR(diag.message, "");
  ASSERT(parsed == TG_OK);
  engine_run run = engine_run_program(&tg_engine_rtl, program, options);
  EXPECT_EQ(run.status, status);
  for (; *parts; parts++) EXPECT_HAS(run.diag.message, *parts);
  engine_run_release(&run);
  tg_program_destroy(program);
}
#define EXPECT_FAULT(text, options, status, ...)                                                             \
  expect_fault(text, (tg_run_options)options, status, (const char *const[]){__VA_ARGS__, NULL})

TG_TEST(rtl_faults, two_ports_own_a_bank) {
  EXPECT_FAULT("arch tiny\nsection \"clash\"\n"
               "tile 0\ntx send dir=0 flits=8 src_base=256 src_inner=8 dst_inner=8 dst_mask=4\n"
               "tile 1\ntx send dir=1 flits=8 src_base=0 src_inner=8 dst_base=0 dst_inner=8 "
               "dst_mask=2\ninvoke 0 \"i\"\n",
               {0}, TG_FAULT, "section \"clash\"", "tile 1", "own bank 0", "tx", "lane east");
}

TG_TEST(rtl_faults, a_semaphore_above_255) {
  EXPECT_FAULT("arch tiny\nsection \"s\"\ntile 3\nsem 4=200\n"
               "mx sync loop_count=56,0,0 post_kind=1 post_sem=4\ninvoke 0 \"i\"\n",
               {0}, TG_FAULT, "tile 3", "semaphore 4 is above 255");
}

TG_TEST(rtl_faults, addresses_outside) {
  EXPECT_FAULT(
      "arch tiny\nsection \"s\"\n"
      "tile 0\ntx send dir=0 flits=8 src_base=2044 src_inner=8 dst_inner=8 dst_mask=4\ninvoke 0 \"i\"\n",
      {0}, TG_FAULT, "tile 0", "tx", "outside the scratchpad");
  EXPECT_FAULT(
      "arch tiny\nsection \"s\"\n"
      "tile 0\ntx send dir=1 flits=8 src_inner=8 dst_base=508 dst_inner=8 dst_mask=1\ninvoke 0 \"i\"\n",
      {0}, TG_FAULT, "agcu 0", "outside the store memory");
  EXPECT_FAULT("arch tiny\ndram 32\nsection \"s\"\nagcu 1\n"
               "ctx 0 load " ROWS4 "dst_inner=4 dst_mask=2\ninvoke 0 \"i\"\n",
               {0}, TG_FAULT, "agcu 1 reads", "outside the memory");
  EXPECT_FAULT("arch tiny\ndram 32\nsection \"s\"\nagcu 1\nctx 0 store " ROWS4 "\ninvoke 0 \"i\"\n", {0},
               TG_FAULT, "agcu 1 writes", "outside the memory");
}

TG_TEST(rtl_faults, deadlock_names_units_and_semaphores) {
  EXPECT_FAULT(
      "arch tiny\nsection \"s\"\n"
      "tile 2\nmx sync\nmx sync loop_count=3,0,0 loop_begin=1,0,0 wait_on=1,1 wait_sem=5,6\nsem 5=9 6=2\n"
      "agcu 3\nctx 2 sync credit_mask=4 credit_base=1\ninvoke 0 \"i\"\n",
      {0}, TG_FAULT, "deadlock", "tile 2 (1,0) mx at 1 [2 0 0] waits for semaphore 6",
      "agcu 3 agcu context 2 at 0 [0 0 0] waits for semaphore 3");
}

/* The first issue is in 1 + 4 + 10: a word, the way to all units, and what walks begin in. */
TG_TEST(rtl_faults, cycle_limit) {
  EXPECT_FAULT("arch tiny\nsection \"s\"\ntile 0\nmx sync loop_count=1000000,0,0\ninvoke 0 \"i\"\n",
               {.max_cycles = 500}, TG_FAULT, "cycle limit", "tile 0 (0,0) mx at 0 [485 0 0]");
}

TG_TEST(rtl_faults, parameters_without_a_build) {
  EXPECT_FAULT("arch tiny\nset banks=9\nset dram_latency=61\nsection \"s\"\ninvoke 0 \"i\"\n", {0},
               TG_INVALID, "no RTL build for these parameters", "banks=9,dram_latency=61");
}

/* The programs of timing_cases.h, where there is a build for their array: the fixed cost of a section is none of its. */
static bool has_build(const char *program) {
  const char *set = strstr(program, "\nset ");
  return !set || (!strncmp(set, "\nset config_cycles=", 19) && !strstr(set + 1, "\nset "));
}

static void run_timing(const void *row) {
  SKIP_WITHOUT_TINY();
  const timing_case *t = row;
  tg_run_options options = {.record_events = true};
  char *trace = tg_test_trace(&tg_engine_rtl, t->program, &options);
  EXPECT_STR(trace, t->trace);
  free(trace);
}

static void run_fault(const void *row) {
  SKIP_WITHOUT_TINY();
  const fault_case *f = row;
  tg_run_options options = {.max_cycles = f->max_cycles};
  char *trace = tg_test_trace(&tg_engine_rtl, f->program, &options);
  EXPECT_HAS(trace, "status 3: ");
  for (int i = 0; i < 3 && f->rtl[i]; i++) EXPECT_HAS(trace, f->rtl[i]);
  free(trace);
}

__attribute__((constructor)) static void register_cases(void) {
  for (size_t i = 0; i < timing_case_count; i++)
    if (has_build(timing_cases[i].program))
      tg_test_register_row("rtl_timing", timing_cases[i].name, __FILE__, __LINE__, run_timing,
                           &timing_cases[i]);
  for (size_t i = 0; i < fault_case_count; i++)
    if (has_build(fault_cases[i].program))
      tg_test_register_row("rtl_fault", fault_cases[i].name, __FILE__, __LINE__, run_fault, &fault_cases[i]);
}
