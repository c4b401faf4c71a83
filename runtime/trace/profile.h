/* A run in sums: for each invocation of a section and each kind of units, cycles busy and cycles stalled by
 * cause. What a trace would show, small enough for a report or a baseline. */
#ifndef TEGULA_RUNTIME_TRACE_PROFILE_H
#define TEGULA_RUNTIME_TRACE_PROFILE_H

#include "sim/machine/observer.h"

#include <jansson.h>

typedef struct tg_profile tg_profile;

/* `program` is borrowed. Only what begins in cycles begin..end counts. */
tg_profile *tg_profile_create(const tg_program *program, uint64_t begin, uint64_t end);
void tg_profile_destroy(tg_profile *profile); /* NULL is allowed */
const tg_observer *tg_profile_observer(const tg_profile *profile);

/* {"mx": {"busy": n, "stalled": {"semaphore of agcu": n, "lane": n, ...}}, "vx": .., "tx": .., "agcu": ..}:
 * cycles summed over the units of a kind, those with work only; busy counts a cycle with overlapping
 * instructions once. A new reference. */
json_t *tg_profile_section(const tg_profile *profile, uint32_t invocation);

/* {"rows", "cols", "mx": [..], "vx": [..], "tx": [..], "stalled": [..]}: cycles of the whole run by tile, row-major; stalled
 * are those of mx. A new reference. */
json_t *tg_profile_tiles(const tg_profile *profile);

/* Bytes of the 64-byte atoms that ports moved in an invocation. */
uint64_t tg_profile_dram_bytes(const tg_profile *profile, uint32_t invocation);

#endif
