/* Which cases of a suite a run is of: patterns of ids, tags, a shard. */
#ifndef TEGULA_RUNTIME_REGRESS_SELECT_H
#define TEGULA_RUNTIME_REGRESS_SELECT_H

#include "runtime/regress/baseline.h"

typedef struct tg_selection {
  const char *const *patterns, *const *tags; /* one that matches is enough; with ! in front, none may match */
  size_t pattern_count, tag_count;
  size_t part, parts;          /* shard `part` of 1 to `parts` */
  const tg_baseline *baseline; /* shards are of about equal cycles of it; NULL: of equal numbers of cases */
} tg_selection;

/* Indices of the cases, in the order of the suite, on the arena. By numbers, shard I has every parts-th case from the I-th
 * on. By cycles, cases go from the most expensive on to the shard that has the least so far; a case without a baseline
 * counts as the mean of those with one. Every case is in exactly one shard, whoever asks with the same baseline.
 * TG_INVALID: no case matches; a shard may be empty. */
tg_status tg_select_cases(tg_arena *arena, const tg_suite *suite, const tg_selection *selection,
                          size_t **out_cases, size_t *out_count, tg_diag *diag);

#endif
