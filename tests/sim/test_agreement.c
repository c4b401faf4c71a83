/* The engines agree: the same bits, and for those with time the same cycles of every instruction, on random
 * programs. */
#include "tests/harness.h"
#include "tests/sim/engine_runs.h"
#include "tests/sim/random_fabric.h"
#include "tests/sim/random_mx.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Parameter sets with an RTL build: the overrides of sim/rtl/CMakeLists.txt. */
static const char *const configs[][10] = {
    {NULL},
    {"rows=1", "cols=3", "agcu_contexts=3", "dram_latency=7", "semaphores=40", NULL},
    {"rows=2", "cols=1", "p=2", "banks=11", "fma_latency=5", "dram_latency=1", "port_bytes=64",
     "burst_flits=16", "agcu_buffers=3", NULL},
};

/* TEGULA_SEED and TEGULA_RUNS repeat a failure or search longer; TEGULA_CYCLES ends programs that hang sooner. */
static uint32_t from_environment(const char *name, uint32_t otherwise) {
  const char *text = getenv(name);
  return text ? (uint32_t)strtoul(text, NULL, 0) : otherwise;
}

/* Whether they agree. */
static bool compare(const tg_program *program, uint32_t seed) {
  const tg_run_options options = {.max_cycles = from_environment("TEGULA_CYCLES", 1000000)};
  engine_run rtl = engine_run_program(&tg_engine_rtl, program, options);
  const char *difference = NULL;
  if (rtl.status) difference = rtl.diag.message;
#if TEGULA_WITH_SYSTEMC
  if (!difference) {
    engine_run systemc = engine_run_program(&tg_engine_systemc, program, options);
    difference = engine_runs_differ(&systemc, &rtl, true);
    engine_run_release(&systemc);
  }
#endif
#if TEGULA_WITH_FUNCTIONAL
  if (!difference) {
    engine_run functional = engine_run_program(&tg_engine_functional, program, options);
    difference = engine_runs_differ(&functional, &rtl, false);
    engine_run_release(&functional);
  }
#endif
  if (difference)
    tg_test_fail(__FILE__, __LINE__, "seed %u (first engine against RTL): %s", seed, difference);
  engine_run_release(&rtl);
  return !difference;
}

/* Up to the first one on which the engines differ. */
static void random_programs(const char *const overrides[], tg_program *(*draw)(const tg_params *, uint32_t),
                            uint32_t usual_runs) {
  tg_params params;
  tg_diag diag = {""};
  tg_status status = tg_params_load("tiny", &params, &diag);
  for (; *overrides && !status; overrides++) status = tg_params_set(&params, *overrides, &diag);
  EXPECT_STR(diag.message, "");
  uint32_t seed = from_environment("TEGULA_SEED", 1), runs = from_environment("TEGULA_RUNS", usual_runs);
  bool agree = true;
  for (uint32_t s = seed; s < seed + runs && agree; s++) {
    if (draw == random_fabric) EXPECT(!draw_memory(&params, s));
    tg_program *program = draw(&params, s);
    status = tg_program_check(program, &diag);
    EXPECT_STR(diag.message, "");
    if (getenv("TEGULA_PRINT")) {
      char *text = tg_program_print(program);
      fputs(text, stdout);
      free(text);
    }
    if (!status) agree = compare(program, s);
    tg_program_destroy(program);
  }
}

TG_TEST(agreement, fabric_tiny) { random_programs(configs[0], random_fabric, 20); }
TG_TEST(agreement, fabric_row) { random_programs(configs[1], random_fabric, 20); }
TG_TEST(agreement, fabric_odd) { random_programs(configs[2], random_fabric, 20); }

/* Each LOAD has four posts, one a cycle, and the next is there before they are performed: in the end their stream is full, and
 * all contexts wait for room. */
TG_TEST(agreement, a_full_stream_of_loads_odd) {
  char text[2000] = "arch tiny\n";
  for (const char *const *o = configs[2]; *o; o++)
    snprintf(text + strlen(text), sizeof text - strlen(text), "set %s\n", *o);
  strcat(text, "section \"s\"\nagcu 0\n");
  for (int c = 0; c < 4; c++)
    snprintf(
        text + strlen(text), sizeof text - strlen(text),
        "ctx %d load loop_count=0,0,%d rows=1 take=2 m_radix=1,1,1 k_radix=1,1,2 stride=0,0,0,0,0,4 "
        "x_inc=0,0,0,0,0,1 x_size=2 y_size=1 dst_inner=1 dst_mask=2 post_kind=1,1,1,1 post_sem=1,2,3,4\n",
        c, 20 + c);
  strcat(text, "invoke 0 \"i\"\n");
  tg_program *program;
  tg_diag diag = {""};
  EXPECT_EQ(tg_program_parse(text, &program, &diag), TG_OK);
  EXPECT_STR(diag.message, "");
  compare(program, 0);
  tg_program_destroy(program);
}

TG_TEST(agreement, mx_tiny) { random_programs(configs[0], random_mx, 15); }
TG_TEST(agreement, mx_row) { random_programs(configs[1], random_mx, 15); }
TG_TEST(agreement, mx_odd) { random_programs(configs[2], random_mx, 15); }
