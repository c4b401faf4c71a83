/* What other rooms need of kernels that the vector units compute by themselves. */
#ifndef TEGULA_MAPPER_VECTOR_VECTOR_H
#define TEGULA_MAPPER_VECTOR_VECTOR_H

#include "mapper/kernel/kernel.h"

/* Of a reduction of [1, M, N] by blocks, the section of the last block, which is shorter, if there is one. */
tg_status tg_emit_remainder(tg_compile *c, const tg_kernel *kernel);
/* Estimate of a pass over memory that moves runs of `value`. */
double tg_move_cycles(const tg_compile *c, const tg_value *value);

#endif
