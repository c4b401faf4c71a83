/* Which nodes become one kernel: the passes, in order, and what they share. */
#ifndef TEGULA_MAPPER_FUSION_FUSION_H
#define TEGULA_MAPPER_FUSION_FUSION_H

#include "mapper/kernel/kernel.h"

/* form.c: nodes become kernels. */
tg_status tg_form_kernels(tg_compile *c);
/* stored_casts.c: Casts that products load through become kernels where that is faster. */
tg_status tg_store_casts(tg_compile *c);
/* attention.c: two products with a softmax between them become one kernel. */
tg_status tg_fuse_attention(tg_compile *c);
/* window_epilogues.c: elementwise nodes that read a depthwise convolution's result join it. */
tg_status tg_merge_into_windows(tg_compile *c);
/* reduction_prologues.c: elementwise nodes join the reductions that read them; also those whose result is
 * stored. */
tg_status tg_form_reduction_prologues(tg_compile *c);
tg_status tg_reduce_and_store(tg_compile *c);
/* elementwise.c: elementwise kernels that share a tensor become one; those that read a product's result join
 * it. */
tg_status tg_merge_elementwise(tg_compile *c);
tg_status tg_merge_into_products(tg_compile *c);
/* rows.c: reductions of rows and what goes over the same rows become one kernel. */
tg_status tg_merge_rowwise(tg_compile *c);
/* stored_transposes.c: stores do the Transposes behind products where that is faster. */
tg_status tg_store_moves(tg_compile *c);
/* product_prologues.c: elementwise nodes join the products that read them. */
tg_status tg_form_product_prologues(tg_compile *c);
/* column_sums.c: reductions join the products that make what they read. */
tg_status tg_join_column_sums(tg_compile *c);
/* window_sums.c: reductions over images join the depthwise convolutions that make what they read. */
tg_status tg_join_window_sums(tg_compile *c);
/* window_products.c: convolutions of one position join the depthwise convolutions that read what they make. */
tg_status tg_join_window_products(tg_compile *c);
/* rematerialize.c, small_products.c: products compute what they would load; also products of few k. */
tg_status tg_rematerialize_in_products(tg_compile *c);
tg_status tg_rematerialize_small_products(tg_compile *c);
/* narrow_stores.c: what is loaded through a Cast only is stored as the Cast makes it. */
tg_status tg_narrow_stores(tg_compile *c);

/* epilogues_apart.c: what products of few columns compute of their results becomes kernels where that is faster. */
tg_status tg_part_epilogues(tg_compile *c);

/* pools.c: pools join the convolutions whose results they alone read. */
tg_status tg_join_pools(tg_compile *c);

/* second_products.c: products whose results meet in an epilogue become one kernel. */
tg_status tg_join_products(tg_compile *c);

/* What passes have in common. */
/* pairs.c: each kernel merges with the nearest one before it, at most `window` back, with which it can.
 * `merge`: kernel b with kernel a before it; false: they stay two. */
typedef bool tg_merge_pair(tg_compile *c, size_t a, size_t b);
tg_status tg_merge_pairs(tg_compile *c, size_t window, tg_merge_pair *merge);
/* Two reductions of the same shapes as one kernel of as many results. False: they are none, or it does not
 * fit. */
bool tg_reductions_together(tg_compile *c, const tg_kernel *first, const tg_kernel *second, tg_kernel *out);
/* The Cast that the kernel, a product, loads `value` through, if it reads it in no other way, or NULL; and
 * the kernel as it would load what the Cast makes, were that stored. */
tg_node *tg_cast_of_loads(tg_compile *c, const tg_kernel *kernel, const tg_value *value);
tg_kernel tg_loading_stored_cast(tg_compile *c, const tg_kernel *kernel, tg_node *cast);
/* The Cast that all kernels but number `except` load `value` through, if it makes less to store, or NULL; and
 * they load what it makes, which is stored in place of the value. */
tg_node *tg_cast_of_all_loads(tg_compile *c, const tg_value *value, size_t except);
void tg_store_cast_only(tg_compile *c, tg_node *cast, const tg_value *value, size_t except);

#endif
