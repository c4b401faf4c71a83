/* Every graph of graphs/ in other sizes, on one of several arrays, half of them with tilings drawn among all
 * that fit: the semaphores order all accesses, and the functional engine, and SystemC where it does not take
 * long, give what the reference has. What a tiling is drawn for is seldom the fastest, so shapes in which a
 * tiling is wrong need not be met by chance.
 *
 * What does not fit in the scratchpads and accumulators of a small array does not count.
 *
 * TEGULA_RANDOM_SEED=N draws others (printed with every failure), TEGULA_DRAWS=N more or fewer of each
 * graph. */
#include "frontend/base/stochastic.h"
#include "frontend/pipeline.h"
#include "frontend/text.h"
#include "sim/machine/ordering.h"
#include "tests/harness.h"
#include "tests/mapper/graph_files.h"
#include "tests/mapper/graph_tests.h"
#include "tests/mapper/run_graph.h"

#include <stdlib.h>

enum { DRAWS = 1, ATTEMPTS = 4, MOST_CYCLES = 20000 };

static const struct place {
  const char *label, *arch, *settings[4];
  tg_precision_options precision;
} places[] = {
    {"edge", "edge", {NULL}, {.preset = TG_PRESET_MP0}},
    {"edge, mp1", "edge", {NULL}, {.preset = TG_PRESET_MP1}},
    {"edge, autocast", "edge", {NULL}, {.family = TG_FAMILY_AUTOCAST}},
    {"tiny", "tiny", {NULL}, {.preset = TG_PRESET_MP0}},
    {"rack, 3 x 5", "rack", {"rows=3", "cols=5"}, {.preset = TG_PRESET_MP0}},
    {"3 x 2, mp4", "tiny", {"rows=3", "agcu_contexts=3", "queue_depth=16"}, {.preset = TG_PRESET_MP4}},
};

/* Sums are longer than those that the file's tolerance is of. */
enum { LONGER = 8, BF16_ULPS = 16384 /* an ulp of bf16 for one of fp32, quartered */ };

static uint64_t environment(const char *name, uint64_t otherwise) {
  const char *text = getenv(name);
  return text ? strtoull(text, NULL, 0) : otherwise;
}

/* Does the frontend take it? */
static bool is_valid(const char *text, const tg_precision_options *precision) {
  tg_arena arena = {0};
  tg_diag diag = {""};
  tg_graph *graph;
  tg_frontend_options options;
  tg_frontend_defaults(&options);
  options.precision = *precision;
  bool valid = !tg_graph_parse(&arena, text, &graph, &diag) && !tg_frontend_lower(graph, &options, &diag);
  tg_arena_release(&arena);
  return valid;
}

static const char *valid_resize(const char *text, uint32_t key, const struct place *place, tg_arena *arena) {
  for (uint32_t attempt = 0; attempt < ATTEMPTS; attempt++) {
    const char *other = resize_graph(text, key + attempt, arena);
    if (is_valid(other, &place->precision)) return other;
  }
  return text;
}

/* NULL, or what is wrong, in *diag. */
static const char *run_and_compare(const run_case *what, double tolerance, tg_arena *arena, tg_diag *diag) {
  mapped m;
  bool good = !run_text(what, &m, arena, diag) && !tg_check_ordering(m.program, diag) &&
              outputs_agree(&m, tolerance, diag);
  release_mapped(&m);
  return good ? NULL : diag->message;
}

static bool is_excused(const char *wrong, const struct place *place) {
  if (strstr(wrong, "cycle limit")) return true;
  return !strcmp(place->arch, "tiny") && (strstr(wrong, "banks of a scratchpad, the array has") ||
                                          strstr(wrong, "rows of an accumulator, the array has"));
}

static void check_draw(const char *path, const char *text, double tolerance, uint64_t seed) {
  uint32_t key = tg_mix((uint32_t)seed * 64);
  const struct place *place = &places[key % (sizeof places / sizeof *places)];
  tg_arena arena = {0};
  tg_diag diag = {""};
  bool reduced = place->precision.preset != TG_PRESET_MP0 || place->precision.family;
  run_case what = {.text = valid_resize(text, key, place, &arena),
                   .arch = place->arch,
                   .precision = place->precision,
                   .map = {.seed = 1, .any_tiling = seed % 2 ? key + 1ull : 0},
                   .run = {.threads = 1, .seed = 1}};
  memcpy(what.settings, place->settings, sizeof place->settings);
  tolerance *= reduced ? LONGER * BF16_ULPS : LONGER;
  const char *wrong = run_and_compare(&what, tolerance, &arena, &diag);
#ifdef TEGULA_WITH_SYSTEMC
  if (!wrong) {
    what.engine = &tg_engine_systemc;
    what.run.max_cycles = MOST_CYCLES;
    wrong = run_and_compare(&what, tolerance, &arena, &diag);
  }
#endif
  if (wrong && !is_excused(wrong, place))
    tg_test_fail(path, 1, "%s, draw %llu: %s\n%s", place->label, (unsigned long long)seed, wrong, what.text);
  tg_arena_release(&arena);
}

static void check_graph(const void *path) {
  tg_arena arena = {0};
  double tolerance;
  const char *text = read_graph_file(path, &arena, &tolerance);
  ASSERT(text != NULL);
  uint64_t first = environment("TEGULA_RANDOM_SEED", 1), draws = environment("TEGULA_DRAWS", DRAWS);
  for (uint64_t d = 0; d < draws; d++) check_draw(path, text, tolerance, first + d);
  tg_arena_release(&arena);
}

__attribute__((constructor)) static void register_graphs(void) {
  register_graph_files("graph_sizes", check_graph);
}
