/* What moved between two runs of a program, section by section, and why. Sections are arrays of {name,
 * cycles, bound_by, units}, as reports, baselines and traces have them. */
#ifndef TEGULA_RUNTIME_REGRESS_MOVEMENT_H
#define TEGULA_RUNTIME_REGRESS_MOVEMENT_H

#include "frontend/base/arena.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

/* A section of one or both runs. */
typedef struct tg_section_pair {
  const json_t *before, *now; /* NULL: not there */
  int64_t moved;              /* cycles now - before; a section that is not there has 0 */
} tg_section_pair;

/* Pairs the sections: the k-th of a name with the k-th of that name. In the order of `now`, then those that
 * are gone. On the arena. */
tg_section_pair *tg_sections_pair(tg_arena *arena, const json_t *before, const json_t *now,
                                  size_t *out_count);

/* A cause of time of one kind of units: "vx: busy", "agcu: semaphore of tx". */
typedef struct tg_cause {
  const char *unit, *what;
  int64_t before, now; /* cycles, summed over units */
} tg_cause;
/* All causes of either run, by how much they moved, most first. On the arena. */
tg_cause *tg_causes_compare(tg_arena *arena, const json_t *units_before, const json_t *units_now,
                            size_t *out_count);

/* "+3.1 %", or "+3 cycles" where that is less than a tenth of a percent. */
const char *tg_moved_text(tg_arena *arena, int64_t before, int64_t now);
/* "+3.1 % cycles (1000 -> 1031), section attn_2, dram-bound now (mx before), agcu waits longer for ...". */
const char *tg_movement_text(tg_arena *arena, int64_t before, int64_t now, const json_t *sections_before,
                             const json_t *sections_now);

#endif
