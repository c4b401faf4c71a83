/* Which nodes become one kernel: the passes, in order, and what they share. */
#ifndef TEGULA_MAPPER_FUSION_FUSION_H
#define TEGULA_MAPPER_FUSION_FUSION_H

#include "mapper/kernel/kernel.h"

tg_status tg_form_kernels(tg_compile *c); /* form.c: graph -> kernels */
/* stored_casts.c: Casts that products load through, as kernels where that is faster; before the next. */
tg_status tg_store_casts(tg_compile *c);
/* attention/describe.c: products with a softmax between them, as one kernel; before tg_merge_elementwise. */
tg_status tg_fuse_attention(tg_compile *c);
tg_status
tg_form_reduction_prologues(tg_compile *c);    /* reduction_prologues.c: elementwise nodes join reductions */
tg_status tg_merge_elementwise(tg_compile *c); /* vector/elementwise.c: those that share */
tg_status
tg_merge_rowwise(tg_compile *c); /* microcode/row_sums.c: reductions of rows and what goes with them */
tg_status
tg_merge_into_products(tg_compile *c); /* vector/elementwise.c: elementwise ones that read their results */
/* reduction_prologues.c: a prologue whose result is stored, too */
tg_status tg_reduce_and_store(tg_compile *c);
/* stored_transposes.c: Transposes behind products, done by their stores where that is faster. */
tg_status tg_store_moves(tg_compile *c);
tg_status tg_form_product_prologues(tg_compile *c); /* product_prologues.c: elementwise nodes join products */
tg_status
tg_join_column_sums(tg_compile *c); /* column_sums.c: reductions join the products that make what they read */
tg_status tg_rematerialize_in_products(tg_compile *c);    /* rematerialize.c: what they would load */
tg_status tg_rematerialize_small_products(tg_compile *c); /* small_products.c: ... and products of few k */
tg_status tg_narrow_stores(tg_compile *c); /* narrow_stores.c: what is loaded through a Cast only */

/* What passes have in common. */
/* Two reductions of the same shapes as one kernel of as many results. False: they are none, or it does not
 * fit. */
bool tg_reductions_together(tg_compile *c, const tg_kernel *first, const tg_kernel *second, tg_kernel *out);
/* The Cast that the kernel, a product, loads `value` through, if it reads it in no other way, or NULL; and
 * the kernel as it loads what the Cast makes, which c->stored tells to be stored. */
tg_node *tg_cast_of_loads(const tg_compile *c, const tg_kernel *kernel, const tg_value *value);
void tg_load_stored_cast(tg_compile *c, tg_kernel *kernel, tg_node *cast);
/* The Cast that all kernels but number `except` load `value` through, if it makes less to store, or NULL; and
 * they load what it makes, which is stored in place of the value. */
tg_node *tg_cast_of_all_loads(const tg_compile *c, const tg_value *value, size_t except);
void tg_store_cast_only(tg_compile *c, tg_node *cast, const tg_value *value, size_t except);

#endif
