#include "tests/mapper/randomized_case.h"
#include "sim/machine/ordering.h"
#include "tests/harness.h"

#include <string.h>

static run_case case_of(const randomized_case *own, uint64_t seed) {
  run_case what = {.text = own->text,
                   .arch = own->arch,
                   .precision.preset = own->preset,
                   .map.any_tiling = seed,
                   .run.threads = 1};
  for (int i = 0; i < 4 && own->settings[i]; i++) what.settings[i] = own->settings[i];
  return what;
}

void run_randomized(const randomized_case *own, uint64_t seed) {
  const tg_engine *engines[] = {NULL,
#ifdef TEGULA_WITH_SYSTEMC
                                &tg_engine_systemc
#endif
  };
  for (size_t i = 0; i < sizeof engines / sizeof *engines; i++) {
    tg_arena arena = {0};
    tg_diag diag = {""};
    mapped m;
    run_case what = case_of(own, seed);
    what.engine = engines[i];
    if (run_text(&what, &m, &arena, &diag) || !outputs_agree(&m, 0, &diag) ||
        tg_check_ordering(m.program, &diag))
      tg_test_fail(__FILE__, __LINE__, "%s, tilings %d: %s", own->name, (int)seed, diag.message);
    release_mapped(&m);
    tg_arena_release(&arena);
  }
}

void check_randomized(const randomized_case *own, const randomized_search *search) {
  int found = 0;
  for (int seed = 1; seed <= search->seeds && found < search->wanted; seed++) {
    tg_arena arena = {0};
    tg_diag diag = {""};
    mapped m;
    run_case what = case_of(own, (uint64_t)seed);
    bool good = !map_text(&what, &m, &arena, &diag), has = good && search->has(m.program);
    if (!good) tg_test_fail(__FILE__, __LINE__, "%s: %s", own->name, diag.message);
    release_mapped(&m);
    tg_arena_release(&arena);
    if (has) run_randomized(own, (uint64_t)seed);
    found += has;
  }
  if (!found) tg_test_fail(__FILE__, __LINE__, "%s: %s", own->name, search->lacks);
}

/* The outputs of the program of these tilings, if it has the mechanism, or lacks it, as is wanted; else NULL. */
static const void *rounded(run_case what, const randomized_search *search, bool wanted, tg_arena *arena,
                           size_t *out_bytes) {
  tg_diag diag = {""};
  mapped m;
  const void *outputs = NULL;
  if (run_text(&what, &m, arena, &diag))
    tg_test_fail(__FILE__, __LINE__, "%s", diag.message);
  else if (search->has(m.program) == wanted)
    outputs = copy_outputs(&m, arena, out_bytes);
  release_mapped(&m);
  return outputs;
}

void check_rounded(const randomized_case *own, const randomized_search *search, int64_t k_tile) {
  tg_arena arena = {0};
  const void *want = NULL;
  size_t bytes = 0, others;
  int found = 0;
  for (int seed = 0; seed <= search->seeds && found < search->wanted; seed++) {
    tg_arena of_seed = {0};
    run_case what = case_of(own, (uint64_t)seed);
    what.map.seed = 5;
    what.map.accum_bf16sr = true;
    what.map.k_tile = k_tile;
    run_case plain = what;
    plain.map.opt = TG_OPT_LEVEL_NONE;
    if (!want) want = rounded(plain, search, false, &arena, &bytes);
    const void *got = want ? rounded(what, search, true, &of_seed, &others) : NULL;
    if (got && (others != bytes || memcmp(got, want, bytes) != 0))
      tg_test_fail(__FILE__, __LINE__, "%s, tilings %d: sums are rounded otherwise", own->name, seed);
    found += got != NULL;
    tg_arena_release(&of_seed);
  }
  if (!found) tg_test_fail(__FILE__, __LINE__, "%s: %s", own->name, search->lacks);
  tg_arena_release(&arena);
}
