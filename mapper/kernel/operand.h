/* Operands of a product as they lie in DRAM: what Casts and Transposes stand between costs nothing if the
 * load can do it. */
#ifndef TEGULA_MAPPER_KERNEL_OPERAND_H
#define TEGULA_MAPPER_KERNEL_OPERAND_H

#include "mapper/kernel/kernel.h"

/* A convolution of one position, or a gradient of one: its images are matrices of pixels and channels, which
 * the one and its weights' gradient may load by channels. */
bool tg_gemm_is_pointwise(const tg_node *node);

/* Does the product round at the end of each K tile as --tiling-accum asks, and is that asked for? */
bool tg_rounds_accumulation(const tg_compile *c, const tg_node *node);

/* Of the products that a node is; one but for gradients of strided convolutions, whose results are the rows
 * of several. */
int64_t tg_gemm_phases(const tg_node *node);

/* Is operand `input` one that is loaded as it lies: A or B of a product, or the values of attention by blocks? */
static inline bool tg_is_product_operand(const tg_node *node, int input) {
  return node->op == TG_OP_BLOCKED_ATTENTION ? input == 1 : tg_op_is(node->op, TG_IS_GEMM) && input < 2;
}

/* Operand `input` (0 or 1) of a MatMul or Conv. `stored`: by value->index, results that kernels store; NULL:
 * none of them. Its source is NULL if it is a view that does not lie by strides of the operand. */
tg_operand tg_resolve_operand(const tg_compile *c, const bool *stored, const tg_node *node, int input);
/* Both, of what kernels store by now: a kernel keeps them. NULL: the node is no product. */
const tg_operand *tg_resolve_operands(const tg_compile *c, const tg_node *node);
/* The same were the Cast stored, so that loads need not do it. */
const tg_operand *tg_operands_behind(const tg_compile *c, const tg_operand *operands, const tg_node *cast);

/* Do the pixels of `image`, whose strides these are, follow each other, and its rows of them? Channels may be
 * part of another one's. It is what convolutions walk. */
bool tg_lies_by_pixels(const tg_value *image, const int64_t *stride);

/* What a load does to an operand that lies in DRAM as `source`: TG_CVT_*. */
int tg_operand_conversion(const tg_value *source, const tg_value *operand);

/* Does the product load `value`, which owns its memory, as operand number `first` or one behind it? */
bool tg_product_loads(const tg_compile *c, const tg_kernel *product, int first, const tg_value *value);

#endif
