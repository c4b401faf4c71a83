/* Random graphs, each in a random precision on one of the RTL configurations of the tests, half of them with
 * randomized tilings of all that fit: the functional engine, SystemC and the RTL must leave the same memory,
 * and SystemC and the RTL the same start and end of every instruction. The proof of ordering must accept
 * every program.
 *
 * TEGULA_RANDOM_SEED=N draws other graphs (printed with every failure), TEGULA_RANDOM_GRAPHS=N more or
 * fewer; TEGULA_RANDOM_CHIP=NAME has all of them run on that configuration. */
#include "frontend/text.h"
#include "sim/machine/ordering.h"
#include "tests/agreement/mapped.h"
#include "tests/agreement/random_graph.h"
#include "tests/harness.h"

#include <stdio.h>
#include <stdlib.h>

enum { GRAPHS = 240, CASES = 24, MOST_CYCLES = 10000 };

typedef struct drawn {
  uint64_t seed;
  chip chip;
  tg_precision_options precision;
  uint64_t any_tiling; /* of every second one */
  tg_program *program;
  char *text; /* on the arena, for failures */
} drawn;

static tg_status draw(drawn *d, tg_arena *arena, tg_diag *diag) {
  static const tg_precision_preset presets[] = {TG_PRESET_MP0, TG_PRESET_MP0,    TG_PRESET_MP1,
                                                TG_PRESET_MP1, TG_PRESET_MP2,    TG_PRESET_MP3,
                                                TG_PRESET_MP4, TG_PRESET_DEFAULT};
  static const tg_precision_family families[] = {TG_FAMILY_GRAPHAMP, TG_FAMILY_GRAPHAMP, TG_FAMILY_GRAPHAMP,
                                                 TG_FAMILY_HMP,      TG_FAMILY_AUTOCAST, TG_FAMILY_RAF};
  static const tg_dtype formats[] = {TG_BF16, TG_F16};
  static const int k_tiles[] = {128, 16, 8, 5};
  tg_random random = {d->seed};
  tg_params params;
  tg_graph *graph;
  d->chip = (chip)tg_random_range(&random, CHIP_TINY, CHIP_ODD);
  const char *only = getenv("TEGULA_RANDOM_CHIP");
  for (int c = 0; only && c < CHIPS; c++)
    if (!strcmp(only, chip_names[c])) d->chip = (chip)c;
  d->precision.preset = presets[tg_random_range(&random, 0, 7)];
  d->precision.family = families[tg_random_range(&random, 0, 5)];
  d->precision.device = (tg_autocast_device)tg_random_range(&random, TG_AUTOCAST_CUDA, TG_AUTOCAST_HPU);
  d->precision.hmp_level = (tg_hmp_level)tg_random_range(&random, TG_HMP_O1, TG_HMP_O2);
  if (d->precision.family) d->precision.amp_dtype = formats[tg_random_range(&random, 0, 1)];
  d->precision.tiling_accum = tg_random_range(&random, 0, 2) ? TG_ACCUM_FP32 : TG_ACCUM_BF16SR;
  d->precision.k_tile = k_tiles[tg_random_range(&random, 0, 3)];
  tg_status status = chip_params(d->chip, &params, diag);
  if (!status) status = draw_memory(&params, d->seed);
  if (!status) status = tg_random_graph(&random, arena, &graph, diag);
  if (!status) d->text = tg_graph_print(graph, arena);
  d->any_tiling = tg_random_range(&random, 0, 1) ? d->seed : 0;
  if (!status) status = map_graph(graph, &params, &d->precision, d->seed, d->any_tiling, &d->program, diag);
  return status ? status : tg_check_ordering(d->program, diag);
}

static void report(const drawn *d, const char *what) {
  tg_test_fail(__FILE__, __LINE__,
               "seed %llu, chip %s, family %d, preset %d, accum %d, k tile %d, any tiling %llu: %s\n%s",
               (unsigned long long)d->seed, chip_names[d->chip], (int)d->precision.family,
               (int)d->precision.preset, (int)d->precision.tiling_accum, d->precision.k_tile,
               (unsigned long long)d->any_tiling, what, d->text ? d->text : "");
}

typedef engine_run run_function(const tg_engine *engine, const tg_program *program, tg_run_options options);

/* True if the graph counts: it fits in the scratchpads, and is small enough. */
static bool check_one(uint64_t seed) {
  tg_arena arena = {0};
  tg_diag diag = {""};
  drawn d = {.seed = seed};
  tg_run_options options = {.threads = 1, .seed = 5, .record_events = true, .max_cycles = MOST_CYCLES};
  /* Any bits are for the special values, numbers for the rounding of every step. */
  run_function *run = seed % 2 ? engine_run_program : engine_run_numbers;
  bool counts = true;
  tg_status status = draw(&d, &arena, &diag);
  if (status == TG_INVALID && strstr(diag.message, "banks of a scratchpad"))
    counts = false; /* `odd` has few banks */
  else if (status)
    report(&d, diag.message);
  else {
    engine_run systemc = run(&tg_engine_systemc, d.program, options);
    if (systemc.status == TG_FAULT && strstr(systemc.diag.message, "cycle limit"))
      counts = false;
    else if (systemc.status)
      report(&d, systemc.diag.message);
    else {
      engine_run functional = run(&tg_engine_functional, d.program, options),
                 rtl = run(&tg_engine_rtl, d.program, options);
      const char *difference =
          functional.status ? functional.diag.message : engine_runs_differ(&functional, &systemc, false);
      if (difference) report(&d, difference);
      difference = rtl.status ? rtl.diag.message : engine_runs_differ(&systemc, &rtl, true);
      if (difference) report(&d, difference);
      engine_run_release(&functional);
      engine_run_release(&rtl);
    }
    engine_run_release(&systemc);
  }
  tg_program_destroy(d.program);
  tg_arena_release(&arena);
  return counts;
}

static uint64_t environment(const char *name, uint64_t otherwise) {
  const char *text = getenv(name);
  return text ? strtoull(text, NULL, 0) : otherwise;
}

/* Case c draws until it has its share of graphs that count; too large ones are replaced. */
static void check_case(const void *user) {
  uint64_t index = *(const uint64_t *)user, first = environment("TEGULA_RANDOM_SEED", 20261121);
  uint64_t share = environment("TEGULA_RANDOM_GRAPHS", GRAPHS) / CASES, done = 0;
  for (uint64_t draw = 0; done < share && draw < 4 * share; draw++)
    done += check_one(first + index * 1000 + draw);
  printf("seed %llu: %llu graphs from %llu on\n", (unsigned long long)first, (unsigned long long)done,
         (unsigned long long)(first + index * 1000));
  EXPECT_EQ(done, share);
}

__attribute__((constructor)) static void register_cases(void) {
  static uint64_t indices[CASES];
  for (int c = 0; c < CASES; c++) {
    char name[32];
    snprintf(name, sizeof name, "random_%02d", c);
    indices[c] = (uint64_t)c;
    tg_test_register_row("agreement", name, __FILE__, __LINE__, check_case, &indices[c]);
  }
}
