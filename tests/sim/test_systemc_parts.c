/* Parts of the SystemC engine that other engines have nothing like: windows of ownership,
 * several simulations in one process, runs after faults. */
#include "sim/systemc/chip.h"
#include "tests/sim/support.h"

#include <stdio.h>
#include <stdlib.h>

static uint32_t random_state;
static uint32_t below(uint32_t bound) { /* 0 .. bound - 1 */
  random_state = random_state * 1664525u + 1013904223u;
  return (random_state >> 8) % bound;
}

static void wake_nobody(void *host, uint32_t agent, uint64_t cycle) {
  (void)host;
  (void)agent;
  (void)cycle;
}

/* Windows of a port that touch are one, others are not: what lies between them is another port's. */
TG_TEST(systemc_banks, a_gap_between_windows_belongs_to_others) {
  tg_params m;
  ASSERT(!tg_params_load("tiny", &m, NULL));
  tg_bank bank = {0};
  tg_section section = {.name = "s"};
  tg_invocation invocation = {0};
  tg_program program = {.sections = &section, .invocations = &invocation};
  uint64_t wake_at[1] = {0};
  tg_chip chip = {.program = &program,
                  .m = &m,
                  .bank = &bank,
                  .now = 5,
                  .fault_at = TG_NEVER,
                  .wake = wake_nobody,
                  .wake_at = wake_at,
                  .agents = 1};
  tg_bank_own(&chip, 0, 0, TG_PORT_TX, 10, 12);
  tg_bank_own(&chip, 0, 0, TG_PORT_TX, 16, 18);
  tg_bank_own(&chip, 0, 0, TG_PORT_LANE, 13, 15);
  EXPECT_EQ(chip.fault_at, TG_NEVER);
  EXPECT_EQ(bank.count, 3);
  tg_bank_own(&chip, 0, 0, TG_PORT_TX, 19, 20);
  EXPECT_EQ(bank.count, 3);
  tg_bank_own(&chip, 0, 0, TG_PORT_MX_A, 20, 21);
  EXPECT_EQ(chip.fault_at, 20);
  free(bank.windows);
}

/* Row by row: of a burst, from any flit of its pattern on, each bank is owned in the cycles of its own rows and in no other. */
TG_TEST(systemc_banks, a_burst_owns_the_bank_of_each_row_in_its_cycle) {
  enum { BEGIN = 100, MOST = 24, PATTERNS = 400 };
  tg_params m;
  ASSERT(!tg_params_load("tiny", &m, NULL));
  tg_bank banks[32] = {{0}};
  tg_chip chip = {.m = &m, .bank = banks, .banks = m.banks, .now = 5, .fault_at = TG_NEVER};
  uint32_t bank_rows = tg_bank_rows(&m), rows = m.banks * bank_rows;
  random_state = 3;
  for (int n = 0; n < PATTERNS; n++) {
    uint32_t inner = 1 + below(9), first = below(20), flits = 1 + below(MOST),
             last = (first + flits - 1) / inner;
    uint32_t stride = below(2 * bank_rows);
    tg_transfer pattern = {.row = below(rows), .inner = inner, .stride = (int32_t)stride};
    if (pattern.row + last * stride + inner > rows) continue;
    tg_bank_own_rows(&chip, 0, TG_PORT_LANE, &pattern, first, flits, BEGIN);
    for (uint32_t b = 0; b < m.banks; b++) {
      for (uint32_t f = 0; f < 2 * MOST; f++) {
        uint32_t flit = first + f, row = pattern.row + flit / inner * stride + flit % inner;
        bool owned = false;
        for (uint32_t w = 0; w < banks[b].count; w++)
          owned |= banks[b].windows[w].first <= BEGIN + f && BEGIN + f <= banks[b].windows[w].last;
        EXPECT_EQ(owned, f < flits && row / bank_rows == b);
      }
      for (uint32_t w = 0; w < banks[b].count; w++) EXPECT(banks[b].windows[w].first >= BEGIN);
      banks[b].count = 0;
    }
  }
  for (uint32_t b = 0; b < m.banks; b++) free(banks[b].windows);
}

#define GOOD                                                                                                 \
  "arch tiny\nsection \"s\"\ntile 0\ntx send src_inner=200 dst_inner=200 flits=100 dst_mask=4\ninvoke 0 "    \
  "\"i\"\n"
#define STUCK "arch tiny\nset rows=3\nsection \"s\"\ntile 3\nmx sync wait_on=1\ninvoke 0 \"i\"\n"
/* A fault of cycle 66, with wakes of later cycles still to come. */
#define BAD                                                                                                  \
  "arch tiny\nsection \"s\"\ntile 0\ntx send src_inner=200 dst_inner=200 flits=100 dst_mask=4\n"             \
  "tile 1\nsem 1=255\nmx sync\nmx sync post_kind=1 post_sem=1\ninvoke 0 \"i\"\n"

/* An engine opened on a program, and memory for it. */
typedef struct opened {
  tg_program *program;
  tg_dram *dram;
  void *state;
} opened;

static const tg_run_options time_only = {.timing_only = true};

static opened open_program(const char *text) {
  opened o = {.program = tg_test_program(text)};
  tg_test_settle(o.program);
  if (tg_dram_create(o.program, &o.dram, NULL) ||
      tg_engine_systemc.open(o.program, &time_only, &o.state, NULL))
    tg_test_fail(__FILE__, __LINE__, "it does not open");
  return o;
}

static void close_program(opened *o) {
  tg_engine_systemc.close(o->state);
  tg_dram_destroy(o->dram);
  tg_program_destroy(o->program);
}

static void expect_run(const opened *o, tg_status status, uint64_t cycles) {
  tg_run_result result = {0};
  tg_diag diag = {""};
  EXPECT_EQ(tg_engine_systemc.run(o->state, o->dram, &time_only, &result, &diag), status);
  EXPECT_EQ(result.cycles, cycles);
  tg_run_result_release(&result);
}

TG_TEST(systemc_engine, many_are_open_and_run_again_in_any_order) {
  opened good = open_program(GOOD), stuck = open_program(STUCK), bad = open_program(BAD);
  for (int round = 0; round < 3; round++) {
    expect_run(&good, TG_OK, 156);
    expect_run(&bad, TG_FAULT, 0);
    expect_run(&stuck, TG_FAULT, 0);
    expect_run(&good, TG_OK, 156);
  }
  close_program(&good); /* the first opened goes first */
  expect_run(&stuck, TG_FAULT, 0);
  opened again = open_program(GOOD);
  close_program(&stuck);
  expect_run(&again, TG_OK, 156);
  expect_run(&bad, TG_FAULT, 0);
  close_program(&again);
  close_program(&bad);
}

TG_TEST(systemc_engine, a_program_that_invokes_nothing_takes_no_cycle) {
  opened idle = open_program("arch tiny\nsection \"s\"\n");
  expect_run(&idle, TG_OK, 0);
  expect_run(&idle, TG_OK, 0);
  close_program(&idle);
}

/* Ended by its limit in the middle of the posts of the first stream of all, which the next run finds empty. */
TG_TEST(systemc_engine, posts_of_a_run_that_was_ended_are_forgotten) {
  opened o = open_program("arch tiny\nsection \"s\"\ntile 0\n"
                          "mx sync post_kind=1,1,1,1 post_sem=1,1,1,2\nvx sync wait_on=1 wait_sem=2\n"
                          "invoke 0 \"i\"\n");
  tg_run_options limited = {.timing_only = true, .max_cycles = 50};
  tg_run_result result = {0};
  tg_diag diag = {""};
  expect_run(&o, TG_OK, 58); /* T0 48; the fourth is visible at 52 */
  EXPECT_EQ(tg_engine_systemc.run(o.state, o.dram, &limited, &result, &diag), TG_FAULT);
  expect_run(&o, TG_OK, 58);
  close_program(&o);
}

#define LATE_CONFLICT                                                                                        \
  "arch tiny\nsection \"s\"\ntile 0\n"                                                                       \
  "mx gemm m_count=10,10 blk_count=1,1,1,1 a_banks=1 b_base=256 b_banks=1 b_row=1\n"                         \
  "tx send flits=64 src_base=128 src_inner=60 src_stride=-128 dst_inner=200 dst_mask=4\n"                    \
  "tile 1\nsem 1=%s\nmx sync\nmx sync\nmx sync post_kind=1 post_sem=1\ninvoke 0 \"i\"\n"

static void expect_fault(const char *initial, const char *message) {
  char text[600];
  snprintf(text, sizeof text, LATE_CONFLICT, initial);
  char *trace = tg_test_trace(&tg_engine_systemc, text, &time_only);
  EXPECT_HAS(trace, message);
  free(trace);
}

/* The burst granted at 82 reads bank 0 from 82 + 1 + 60 on, which mx streams until 80 + 4 + 99: known at 82.
 * The third SYNC's increment is visible at 83. */
TG_TEST(systemc_engine, the_earliest_fault_is_named) {
  expect_fault("254", "cycle 143: tile 0,0: mx (a) and tx own bank 0 at once");
  expect_fault("255", "cycle 83: semaphore 1 of tile 0,1 is above 255");
}
