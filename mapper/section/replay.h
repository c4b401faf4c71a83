/* How long a section takes, of its instructions alone: their executions in the order of time, with the cycles of
 * docs/machine.md for units, ports, lanes and semaphores, but without values, faults, or posts that get in each other's
 * way. Of a memory device it knows how long channels and banks are busy, not the order in which its controller takes what
 * waits. */
#ifndef TEGULA_MAPPER_SECTION_REPLAY_H
#define TEGULA_MAPPER_SECTION_REPLAY_H

#include "sim/machine/program.h"

/* A memory device between sections: rows that are open, and what waits to be written. */
typedef struct tg_replay_memory tg_replay_memory;
/* NULL: no device is behind the ports. */
tg_replay_memory *tg_replay_memory_new(const tg_params *params, tg_arena *arena);
/* So many cycles pass in which it goes on with what it was asked; HUGE_VAL: until it is done. NULL: nothing. */
void tg_replay_memory_pass(tg_replay_memory *memory, double cycles);

/* When a replay ends before the section does. */
typedef struct tg_replay_limits {
  uint64_t cycles; /* it gives up, and returns more than that; UINT64_MAX: never */
  uint32_t steps;  /* up to the next power of 2, fewer where the pace is steady: what is left goes on at it */
} tg_replay_limits;

/* Cycles from the first one in which instructions may issue to the last one's end; `bases`: the base table of an
 * invocation. A section that does not end is taken to last until nothing happens any more. Within `scratch` it has
 * memory of its own until it returns. */
uint64_t tg_replay_section(const tg_params *params, const tg_section *section, const uint64_t *bases,
                           tg_replay_memory *memory, tg_replay_limits limits, tg_arena *scratch);

#endif
