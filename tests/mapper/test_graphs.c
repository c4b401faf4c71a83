/* Every graph of graphs/, lowered under each preset, on architectures of several shapes: the functional
 * engine must give the reference's bits, or values within the tolerance that the file's first line states ("#
 * tolerance 1e-5"). */
#include "sim/machine/ordering.h"
#include "tests/harness.h"
#include "tests/mapper/graph_files.h"
#include "tests/mapper/graph_tests.h"
#include "tests/mapper/run_graph.h"

#include <string.h>

static const struct variant {
  const char *label, *arch, *settings[3];
  tg_precision_options precision;
  uint64_t any_tiling;
} variants[] = {
    {"tiny", "tiny", {NULL}, .precision = {.preset = TG_PRESET_MP0}},
    {"tiny, mp1", "tiny", {NULL}, .precision = {.preset = TG_PRESET_MP1}},
    {"tiny, mp4", "tiny", {NULL}, .precision = {.preset = TG_PRESET_MP4}},
    {"a row of 3", "tiny", {"rows=1", "cols=3", "p=2"}, .precision = {.preset = TG_PRESET_MP0}},
    {"a column of 2, mp1", "tiny", {"rows=2", "cols=1", NULL}, .precision = {.preset = TG_PRESET_MP1}},
    {"edge", "edge", {NULL}, .precision = {.preset = TG_PRESET_MP0}},
    {"edge, mp1", "edge", {NULL}, .precision = {.preset = TG_PRESET_MP1}},
    {"rack, mp4", "rack", {"rows=3", "cols=5"}, .precision = {.preset = TG_PRESET_MP4}},
    {"tiny, mp2", "tiny", {NULL}, .precision = {.preset = TG_PRESET_MP2}},
    {"tiny, hmp", "tiny", {NULL}, .precision = {.family = TG_FAMILY_HMP}},
    {"a row of 2, autocast", "tiny", {"rows=1"}, .precision = {.family = TG_FAMILY_AUTOCAST}},
    {"edge, raf in fp16", "edge", {NULL}, .precision = {.family = TG_FAMILY_RAF, .amp_dtype = TG_F16}},
    {"tiny, any tilings", "tiny", {NULL}, .precision = {.preset = TG_PRESET_MP0}, .any_tiling = 1},
    {"edge, any tilings", "edge", {NULL}, .precision = {.preset = TG_PRESET_MP0}, .any_tiling = 1},
    {"edge, mp1, any tilings", "edge", {NULL}, .precision = {.preset = TG_PRESET_MP1}, .any_tiling = 4},
};
enum { VARIANTS = sizeof variants / sizeof *variants };

static void check(const char *path, const char *text, double tolerance, const struct variant *v) {
  tg_arena arena = {0};
  tg_diag diag = {""};
  mapped m;
  if ((v->precision.preset != TG_PRESET_MP0 || v->precision.family) && tolerance)
    tolerance *= 16384; /* an ulp of bf16 for one of fp32, quartered */
  run_case what = {.text = text,
                   .arch = v->arch,
                   .precision = v->precision,
                   .map = {.seed = 1, .any_tiling = v->any_tiling},
                   .run = {.threads = 1, .seed = 1}};
  memcpy(what.settings, v->settings, sizeof v->settings);
  tg_status status = run_text(&what, &m, &arena, &diag);
  bool refused = strstr(diag.message, "raf has no cast rule for BlockedAttention"); /* an operator of ours */
  if (!refused && (status || tg_check_ordering(m.program, &diag) || !outputs_agree(&m, tolerance, &diag)))
    tg_test_fail(path, 1, "%s: %s", v->label, diag.message);
  release_mapped(&m);
  tg_arena_release(&arena);
}

static void check_graph(const void *path) {
  tg_arena arena = {0};
  double tolerance;
  const char *text = read_graph_file(path, &arena, &tolerance);
  ASSERT(text != NULL);
  for (size_t v = 0; v < VARIANTS; v++) /* other graphs take others */
    if (tg_test_takes(v + strlen(text), 3)) check(path, text, tolerance, &variants[v]);
  tg_arena_release(&arena);
}

/* ---- --opt */

/* The same graph at a level, and at o3: every output has the same bytes. */
static void check_level(const char *path, run_case what, const mapped *best, const char *label) {
  tg_arena arena = {0};
  tg_diag diag = {""};
  mapped m;
  if (run_text(&what, &m, &arena, &diag) || tg_check_ordering(m.program, &diag))
    tg_test_fail(path, 1, "%s: %s", label, diag.message);
  else
    for (int i = 0; i < m.graph->output_count; i++) {
      size_t bytes, others;
      const void *own = output_of(&m, i, &bytes), *other = output_of(best, i, &others);
      if (bytes != others || memcmp(own, other, bytes) != 0)
        tg_test_fail(path, 1, "%s: output \"%s\" has other bits than at o3", label, m.graph->output_names[i]);
    }
  release_mapped(&m);
  tg_arena_release(&arena);
}

static void check_levels(const void *path) {
  static const struct {
    const char *label, *arch;
    tg_precision_options precision;
  } cases[] = {{"tiny, mp1", "tiny", {.preset = TG_PRESET_MP1}},
               {"edge", "edge", {.preset = TG_PRESET_MP0}},
               {"edge, mp3", "edge", {.preset = TG_PRESET_MP3}}};
  tg_arena arena = {0};
  tg_diag diag = {""};
  double unused;
  const char *text = read_graph_file(path, &arena, &unused);
  ASSERT(text != NULL);
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    if (!tg_test_takes(i + strlen(text), 3)) continue;
    run_case what = {.text = text,
                     .arch = cases[i].arch,
                     .precision = cases[i].precision,
                     .map = {.seed = 1},
                     .run = {.threads = 1, .seed = 1}};
    mapped best;
    if (run_text(&what, &best, &arena, &diag)) {
      tg_test_fail(path, 1, "%s: %s", cases[i].label, diag.message);
    } else {
      what.map.opt = TG_OPT_LEVEL_NONE;
      check_level(path, what, &best, tg_arena_printf(&arena, "%s, o0", cases[i].label));
      what.map.opt = TG_OPT_LEVEL_FUSION;
      check_level(path, what, &best, tg_arena_printf(&arena, "%s, o1", cases[i].label));
    }
    release_mapped(&best);
  }
  tg_arena_release(&arena);
}

__attribute__((constructor)) static void register_graphs(void) {
  register_graph_files("levels", check_levels);
  register_graph_files("graphs", check_graph);
}
