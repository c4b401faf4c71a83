/* Random legal programs for the matrix units of the whole chip, for comparing engines. */
#ifndef TEGULA_TESTS_SIM_RANDOM_MX_H
#define TEGULA_TESTS_SIM_RANDOM_MX_H

#include "sim/machine/program.h"

/* On every tile a queue of GEMMs and SYNCs: formats and transposition that change or stay, few rows and many, blocks, loops,
 * masked k, both halves, stochastic rounding, handshakes with vx in between; then the accumulators are stored. Equal seeds
 * give equal programs. */
tg_program *random_mx(const tg_params *params, uint32_t seed);

#endif
