/* Operands of a product as they lie in DRAM: what Casts and Transposes stand between costs nothing if the
 * load can do it. */
#ifndef TEGULA_MAPPER_KERNEL_OPERAND_H
#define TEGULA_MAPPER_KERNEL_OPERAND_H

#include "mapper/kernel/kernel.h"

/* Element [i0, .., in] of the operand is element sum i_d * stride[d] of `source`, converted to the operand's
 * type. */
typedef struct tg_operand {
  tg_value *source;            /* owns memory, or shares it by Reshapes */
  int64_t stride[TG_MAX_RANK]; /* elements, by the operand's dimensions */
  bool transposed;             /* consecutive elements run along the last dimension but one */
} tg_operand;

/* A convolution of one position, or a gradient of one: its images are matrices of pixels and channels, which
 * the one and its weights' gradient may load by channels. */
bool tg_gemm_is_pointwise(const tg_node *node);

/* Of the products that a node is; one but for gradients of strided convolutions, whose results are the rows
 * of several. */
int64_t tg_gemm_phases(const tg_node *node);

/* Operand `input` (0 or 1) of a MatMul or Conv. `stored`: by value->index, results that kernels store; NULL:
 * none of them. */
tg_operand tg_gemm_operand(const bool *stored, const tg_node *node, int input);

/* Does the product load `value`, which owns its memory, as operand number `first` or one behind it? */
bool tg_product_loads(const tg_compile *c, const tg_node *product, int first, const tg_value *value);

#endif
