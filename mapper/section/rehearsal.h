/* How long sections take that nobody gets: they are emitted into a program of their own, and replayed. */
#ifndef TEGULA_MAPPER_SECTION_REHEARSAL_H
#define TEGULA_MAPPER_SECTION_REHEARSAL_H

#include "mapper/kernel/class.h"

/* Emits sections and their invocations. `c` has an empty program with the tensors of the compilation's, an arena that dies
 * with the rehearsal, and a diagnostic that nobody reads. */
typedef tg_status tg_rehearsed(tg_compile *c, const void *user);

typedef struct tg_rehearsal {
  tg_rehearsed *emit;
  const void *user;
  double limit;     /* cycles of an invocation's replay, beyond which it gives up; TG_NEVER: none */
  uint32_t steps;   /* of each replay, as in tg_replay_limits; more on large arrays */
  uint64_t between; /* cycles that each invocation takes besides */
} tg_rehearsal;

/* Cycles of the invocations one after the other, each with what is left of its section's configuration, of the first one as
 * behind another kernel's that runs long enough, if there are others. TG_NEVER: they cannot be emitted, or the replay of one
 * takes longer than the limit. */
double tg_rehearse_sections(const tg_compile *c, const tg_rehearsal *rehearsal);

/* What is clearly fewer than the cycles of a rehearsal: what a replay does not know of a memory device is no reason to leave
 * what took these. TG_NEVER of TG_NEVER. */
double tg_clearly_faster(const tg_compile *c, double cycles);

/* Those of a kernel before memory is planned, its tensors one behind the other: from the begin of its first section to that of
 * the next kernel's. TG_NEVER: it cannot be emitted. */
double tg_rehearse(tg_compile *c, const tg_kernel *kernel);

#endif
