#include "tests/mapper/randomized_case.h"
#include "sim/machine/ordering.h"
#include "tests/harness.h"

#include <stdlib.h>
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

static struct row {
  const randomized_group *group;
  const randomized_case *what;
} rows[128];
static size_t row_count;

static void same_bits(const void *user) {
  const struct row *row = user;
  check_randomized(row->what, &row->group->search);
  if (row->group->k_tile) check_rounded(row->what, &row->group->search, row->group->k_tile);
}

void register_randomized(const char *suite, const randomized_group *groups, size_t count) {
  for (const randomized_group *group = groups; group < groups + count; group++)
    for (size_t i = 0; i < group->count; i++) {
      if (row_count == sizeof rows / sizeof *rows) abort();
      rows[row_count] = (struct row){group, &group->cases[i]};
      tg_test_register_row(suite, group->cases[i].name, __FILE__, __LINE__, same_bits, &rows[row_count++]);
    }
}

/* Of patches alone kernel rows have instructions of their own with a loop each. */
static bool is_cut(const tg_instr *gemm) {
  return gemm->mx.k_loops == 3 && gemm->mx.blk_count[0] == 1 && gemm->common.loop_count[2] > 1;
}
bool has_cuts(const tg_program *program) { return find_gemm(program, is_cut) != NULL; }

/* Of what products of patches store only strips begin further to the right. */
static bool begins_further_right(const tg_agcu_instr *store) { return store->x_org > 0; }
bool has_strips(const tg_program *program) {
  return find_of_agcus(program, TG_OP_agcu_store, begins_further_right) != NULL;
}
