/* How long a kernel takes before memory is planned: its sections are emitted into a program that nobody gets, with tensors
 * one behind the other, and replayed. */
#ifndef TEGULA_MAPPER_SECTION_REHEARSAL_H
#define TEGULA_MAPPER_SECTION_REHEARSAL_H

#include "mapper/kernel/class.h"

/* From the begin of its first section to that of the next kernel's; TG_NEVER: it cannot be emitted. */
double tg_rehearse(tg_compile *c, const tg_kernel *kernel);

#endif
