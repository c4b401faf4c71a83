#include "mapper/passes.h"

#include "mapper/fusion/fusion.h"
#include "mapper/memory/memory.h"

#include <string.h>

static bool is_training(const tg_compile *c) { return c->graph->carry_count > 0; }
static bool is_inference(const tg_compile *c) { return !is_training(c); }

enum { KERNELS = TG_KEEPS_KERNELS, STORED = TG_KEEPS_STORED, COUNT = TG_KEEPS_COUNT, ONCE = TG_KEEPS_ONCE };

/* Where one is twice, it is so by what the graph is for. */
const tg_mapper_pass tg_mapper_passes[] = {
    {"form_kernels", NULL, 0, tg_form_kernels, NULL},
    {"store_casts", "form_kernels", ONCE, tg_store_casts, is_inference},
    {"fuse_attention", "form_kernels", ONCE, tg_fuse_attention,
     NULL}, /* before what is between joins others */
    {"reduction_prologues", "form_kernels", 0, tg_form_reduction_prologues, NULL},
    {"merge_elementwise", "reduction_prologues", ONCE, tg_merge_elementwise,
     NULL}, /* which would take theirs */
    {"merge_rows", "merge_elementwise", ONCE, tg_merge_rowwise, NULL},
    {"merge_updates", "merge_elementwise", ONCE, tg_merge_into_products, NULL}, /* whole ones */
    {"store_prologues", "reduction_prologues", ONCE, tg_reduce_and_store, NULL},
    {"store_casts", "merge_updates", ONCE, tg_store_casts, is_training}, /* updates may want them */
    {"store_transposes", "merge_updates", ONCE, tg_store_moves, NULL},
    {"product_prologues", "merge_updates", ONCE, tg_form_product_prologues, NULL},
    {"column_sums", "merge_updates", ONCE, tg_join_column_sums, NULL},
    {"rematerialize", "column_sums", 0, tg_rematerialize_in_products, NULL},
    {"narrow_stores", "rematerialize", COUNT | ONCE, tg_narrow_stores,
     NULL}, /* what nothing else reads any more */
    {"small_products", "column_sums", 0, tg_rematerialize_small_products, NULL},
    {"settle_aliases", "form_kernels", STORED | COUNT | ONCE, tg_settle_aliases, NULL},
    {"views", "settle_aliases", ONCE, tg_form_views, NULL}, /* which knows what is updated in place */
    {"plan_memory", "views", KERNELS | STORED | COUNT | ONCE, tg_plan_memory, NULL},
    {0},
};

const tg_mapper_pass *tg_mapper_pass_find(const char *name) {
  for (const tg_mapper_pass *pass = tg_mapper_passes; pass->name; pass++)
    if (!strcmp(pass->name, name)) return pass;
  return NULL;
}
