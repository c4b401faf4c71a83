/* Kernels that the vector units compute by themselves, rows streaming through them: their sections, and what
 * they take. */
#ifndef TEGULA_MAPPER_VECTOR_VECTOR_H
#define TEGULA_MAPPER_VECTOR_VECTOR_H

#include "mapper/kernel/kernel.h"

tg_status tg_emit_elementwise(tg_compile *c, const tg_kernel *kernel);
tg_status tg_emit_softmax(tg_compile *c, const tg_kernel *kernel);
tg_status tg_emit_normalization(tg_compile *c, const tg_kernel *kernel);
tg_status tg_emit_reduce(tg_compile *c, const tg_kernel *kernel);
tg_status tg_emit_rowwise(tg_compile *c, const tg_kernel *kernel);
tg_status tg_emit_pool(tg_compile *c, const tg_kernel *kernel);
tg_status tg_emit_pool_gradient(tg_compile *c, const tg_kernel *kernel);
tg_status tg_emit_depthwise(tg_compile *c, const tg_kernel *kernel);
tg_status tg_emit_move(tg_compile *c, const tg_kernel *kernel);

/* Do streams, scratchpads and microcode suffice for a kernel of this kind? */
bool tg_elementwise_fits(tg_compile *c, const tg_kernel *kernel);
bool tg_reduce_fits(tg_compile *c, const tg_kernel *kernel);
/* Estimates; infinite if it does not fit. Of reductions those over blocks. */
double tg_elementwise_cycles(tg_compile *c, const tg_kernel *kernel);
double tg_reduce_cycles(tg_compile *c, const tg_kernel *kernel);
/* Of a reduction of [1, M, N] by blocks, the last one alone, which is shorter. */
double tg_rest_cycles(tg_compile *c, const tg_kernel *kernel);
tg_status tg_emit_rest(tg_compile *c, const tg_kernel *kernel);
/* Estimate of a pass over memory that moves runs of `value`. */
double tg_move_cycles(const tg_compile *c, const tg_value *value);
/* Does the vector unit compute the Conv? It accumulates in FP32, and multiplies as exactly as mx. */
bool tg_is_depthwise(const tg_compile *c, const tg_node *node);

#endif
