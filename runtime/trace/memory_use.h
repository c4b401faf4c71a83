/* Device memory in use while each section runs. */
#ifndef TEGULA_RUNTIME_TRACE_MEMORY_USE_H
#define TEGULA_RUNTIME_TRACE_MEMORY_USE_H

#include "sim/machine/program.h"

/* Bytes of the temporaries that are alive in each invocation, out[invocation_count]: from the section that
 * stores them first to the last that loads them, as the walks of the AGCUs tell. Inputs, outputs and
 * constants have their places for the whole run. */
void tg_memory_temporaries(const tg_program *program, uint64_t *out);
/* Bytes of all tensors of a role. */
uint64_t tg_memory_of_role(const tg_program *program, tg_role role);

#endif
