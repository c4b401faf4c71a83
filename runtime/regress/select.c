#include "runtime/regress/select.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

static bool id_matches(const tg_case *c, const char *pattern) { return !fnmatch(pattern, c->id, 0); }
static bool tag_matches(const tg_case *c, const char *tag) { return tg_bounds_have_tag(&c->bounds, tag); }

/* None of those with ! in front, and one of the others if there are any. */
static bool passes(const tg_case *c, const char *const *words, size_t count,
                   bool (*match)(const tg_case *, const char *)) {
  bool asked = false, any = false;
  for (size_t i = 0; i < count; i++) {
    bool negative = *words[i] == '!', matches = match(c, words[i] + negative);
    if (negative && matches) return false;
    asked |= !negative;
    any |= !negative && matches;
  }
  return any || !asked;
}

typedef struct cost {
  size_t place; /* among those that match */
  double cycles;
} cost;

static int by_cost(const void *left, const void *right) {
  const cost *a = left, *b = right;
  if (a->cycles != b->cycles) return a->cycles > b->cycles ? -1 : 1;
  return a->place < b->place ? -1 : 1;
}

static double cycles_of(const tg_selection *s, const tg_case *c) {
  return json_number_value(json_object_get(tg_baseline_entry(s->baseline, c->id), "cycles"));
}

/* shards[i]: that of the i-th case that matches, from 0 on. */
static void deal(tg_arena *arena, const tg_suite *suite, const tg_selection *s, const size_t *matching,
                 size_t count, size_t *shards) {
  cost *costs = TG_NEW_ARRAY(arena, cost, count);
  double *loads = TG_NEW_ARRAY(arena, double, s->parts), sum = 0;
  size_t known = 0;
  for (size_t i = 0; i < count; i++) {
    costs[i] = (cost){i, cycles_of(s, &suite->cases[matching[i]])};
    sum += costs[i].cycles;
    known += costs[i].cycles > 0;
  }
  for (size_t i = 0; i < count; i++)
    if (!(costs[i].cycles > 0)) costs[i].cycles = known ? sum / (double)known : 1;
  qsort(costs, count, sizeof *costs, by_cost);
  for (size_t i = 0; i < count; i++) {
    size_t least = 0;
    for (size_t p = 1; p < s->parts; p++)
      if (loads[p] < loads[least]) least = p;
    loads[least] += costs[i].cycles;
    shards[costs[i].place] = least;
  }
}

tg_status tg_select_cases(tg_arena *arena, const tg_suite *suite, const tg_selection *s, size_t **out_cases,
                          size_t *out_count, tg_diag *diag) {
  size_t *matching = TG_NEW_ARRAY(arena, size_t, suite->case_count), count = 0;
  for (size_t i = 0; i < suite->case_count; i++)
    if (passes(&suite->cases[i], s->patterns, s->pattern_count, id_matches) &&
        passes(&suite->cases[i], s->tags, s->tag_count, tag_matches))
      matching[count++] = i;
  if (!count)
    return tg_fail(diag, TG_INVALID, "--%s: no case of %s matches", s->pattern_count ? "filter" : "tag",
                   suite->path);
  size_t *shards = TG_NEW_ARRAY(arena, size_t, count), kept = 0;
  for (size_t i = 0; i < count; i++) shards[i] = i % s->parts;
  if (s->baseline && s->parts <= count) deal(arena, suite, s, matching, count, shards);
  for (size_t i = 0; i < count; i++)
    if (shards[i] == s->part - 1) matching[kept++] = matching[i];
  *out_cases = matching;
  *out_count = kept;
  return TG_OK;
}
