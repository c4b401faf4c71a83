/* Random legal programs of LOAD, SEND, STORE and SYNC, for comparing engines. */
#ifndef TEGULA_TESTS_SIM_RANDOM_FABRIC_H
#define TEGULA_TESTS_SIM_RANDOM_FABRIC_H

#include "sim/machine/program.h"

/* Chains LOAD -> SEND ... -> STORE with multicasts, random walks with padding and conversions, buffers that
 * rotate, loops; two sections, invoked several times. Equal seeds give equal programs. */
tg_program *random_fabric(const tg_params *params, uint32_t seed);

#endif
