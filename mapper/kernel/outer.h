/* Products of so small a K that they are a sum of an outer product or two: elementwise nodes beside others,
 * of per-row scalars and of rows, with which a reader computes the result instead of loading it. */
#ifndef TEGULA_MAPPER_KERNEL_OUTER_H
#define TEGULA_MAPPER_KERNEL_OUTER_H

#include "mapper/kernel/kernel.h"

enum { TG_OUTER_MOST = 2 }; /* more K is mx's */

/* y[row, column] = sum over k, ascending, of a[row, k] b[k, column]: the chain of multiply-adds that mx
 * computes (docs/numerics.md), then the node's bias. */
typedef struct tg_outer {
  int count;                      /* of outer products: K, 1 to TG_OUTER_MOST */
  tg_value *operand[2];           /* a, b as they lie in DRAM, */
  tg_dtype dtype[2];              /* and as they are multiplied */
  int64_t stride[2][TG_MAX_RANK]; /* elements of them per dimension of the result */
  int64_t step[2];                /* ... from each k to the next */
} tg_outer;

/* Is the node such a product, a 1 x 1 convolution or the gradient of one for its input, of channels in the
 * last dimension? Not where accumulation rounds. */
bool tg_outer_of(const tg_compile *c, const tg_node *node, tg_outer *out);

/* The tensor that operand `input` of a kernel's node comes from, if it is loaded: of products that which a
 * Cast or Transpose on the way reads. */
tg_value *tg_loaded_by(const tg_compile *c, const tg_node *node, int input);

#endif
