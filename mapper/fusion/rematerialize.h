/* Passes by which products compute what they would load. */
#include "mapper/fusion/fusion.h"
#ifndef TEGULA_MAPPER_FUSION_REMATERIALIZE_H
#define TEGULA_MAPPER_FUSION_REMATERIALIZE_H

/* Nodes by which a product computes `value`, in order: behind it, or in a prologue of its B. */
typedef struct tg_chain {
  const tg_compile *c;
  const tg_kernel *product;
  const tg_value *value, *shape;
  bool products; /* of few k (kernel/outer.h) may be among them */
  tg_node_list nodes;
} tg_chain;

/* The chain of `value` for kernel k, a product; and the product with it, without the tensor. False: it cannot
 * compute it. */
bool tg_find_chain(const tg_compile *c, size_t k, tg_value *value, bool products, tg_chain *out);
bool tg_with_chain(tg_compile *c, const tg_chain *chain, tg_kernel *out);

/* One past the last kernel that reads the value; and what memory for it, from forward to backward, is worth,
 * in cycles. */
size_t tg_last_reader(const tg_compile *c, const tg_value *value);
double tg_worth_of_memory(const tg_compile *c, const tg_value *value);

/* Does kernel k no longer load `value`, since that takes less time? `products`: as in tg_chain. */
bool tg_rematerialize_value(tg_compile *c, size_t k, tg_value *value, bool products);
/* Is it a product of one phase, with no prologue but of its B? Others load what they did. */
bool tg_may_rematerialize(const tg_kernel *product);

#endif
