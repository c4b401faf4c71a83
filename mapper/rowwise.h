/* Row kernels: reductions of whole rows and the elementwise nodes around them, while the rows stay in the
 * scratchpads. */
#ifndef TEGULA_MAPPER_ROWWISE_H
#define TEGULA_MAPPER_ROWWISE_H

#include "mapper/plan.h"

/* Dimensions [m, n] of the rows that a row kernel, or a reduction of whole rows, goes over. False: it is
 * neither. */
bool tg_rowwise_dims(const tg_kernel *kernel, int64_t out_dims[2]);

/* Estimated cycles of a kernel that waits for nothing but the DRAM ports, at their full rate. */
double tg_port_cycles(const tg_compile *c, const tg_kernel *kernel);
/* The same of a kernel of elementwise nodes and reductions, all in `fused`, over rows of these dimensions,
 * with what the vector units need. Negative: the array has no room for it as a row kernel. */
double tg_rowwise_cycles(tg_compile *c, const tg_kernel *kernel, const int64_t dims[2]);

#endif
