/* Row kernels: reductions of whole rows and the elementwise nodes around them, while the rows stay in the
 * scratchpads. */
#ifndef TEGULA_MAPPER_VECTOR_ROWWISE_H
#define TEGULA_MAPPER_VECTOR_ROWWISE_H

#include "mapper/kernel/kernel.h"

/* Dimensions [m, n] of the rows that a row kernel, or a reduction of whole rows, goes over. False: it is
 * neither. */
bool tg_rowwise_dims(const tg_kernel *kernel, int64_t out_dims[2]);

/* Estimated cycles of a row kernel; INFINITY if the array has no room for it. */
double tg_rowwise_cycles(tg_compile *c, const tg_kernel *kernel);

#endif
