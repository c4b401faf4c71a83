/* Useful work of a node, the same whatever lowers or runs it. */
#ifndef TEGULA_FRONTEND_MULTIPLY_ADDS_H
#define TEGULA_FRONTEND_MULTIPLY_ADDS_H

#include "frontend/graph.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Multiply-adds of a product, a convolution or a gradient of one, counted as the field counts them: of a
 * convolution those of every element of the result with every element of its filter, whether it lies on the
 * padding or not; of a gradient those of the convolution. 0 for other operators, and for a MatMul that stands
 * for a choice of rows or a sum. Shapes are known. */
int64_t tg_multiply_adds(const tg_node *node);

#ifdef __cplusplus
}
#endif
#endif
