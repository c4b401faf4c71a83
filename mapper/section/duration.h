/* How long the sections of a program take that is being compiled: equal ones are counted and replayed once. */
#ifndef TEGULA_MAPPER_SECTION_DURATION_H
#define TEGULA_MAPPER_SECTION_DURATION_H

#include "sim/machine/program.h"

typedef struct tg_durations tg_durations;

/* Sections must stay as they are once they were asked for. */
tg_durations *tg_durations_new(const tg_program *program, tg_arena *arena);
/* Cycles of an invocation, from its begin to its last instruction's end. Invocations are asked for in their order: a memory
 * device is left by one as the next one finds it. */
uint64_t tg_duration_of(tg_durations *durations, const tg_invocation *invocation);

#endif
