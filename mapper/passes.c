#include "mapper/passes.h"

#include "mapper/fusion/fusion.h"
#include "mapper/memory/memory.h"

#include <string.h>

static bool is_training(const tg_compile *c) { return c->graph->carry_count > 0; }
static bool is_inference(const tg_compile *c) { return !is_training(c); }

#define ALL    TG_OPT_LEVEL_ALL
#define FUSION TG_OPT_LEVEL_FUSION
#define NONE   TG_OPT_LEVEL_NONE
enum { KERNELS = TG_KEEPS_KERNELS, STORED = TG_KEEPS_STORED, COUNT = TG_KEEPS_COUNT, ONCE = TG_KEEPS_ONCE };

/* Where one is twice, it is so by what the graph is for. */
const tg_mapper_pass tg_mapper_passes[] = {
    {"form_kernels", NULL, 0, tg_form_kernels, NULL, NONE},
    {"store_casts", "form_kernels", ONCE, tg_store_casts, is_inference, FUSION},
    {"fuse_attention", "form_kernels", ONCE, tg_fuse_attention, NULL,
     FUSION}, /* before what is between joins others */
    {"window_epilogues", "form_kernels", ONCE, tg_merge_into_windows, NULL,
     FUSION}, /* before reductions take the same nodes */
    {"reduction_prologues", "form_kernels", 0, tg_form_reduction_prologues, NULL, FUSION},
    {"merge_elementwise", "reduction_prologues", ONCE, tg_merge_elementwise, NULL,
     FUSION}, /* which would take theirs */
    {"merge_rows", "merge_elementwise", ONCE, tg_merge_rowwise, NULL, FUSION},
    {"merge_updates", "merge_elementwise", ONCE, tg_merge_into_products, NULL, FUSION}, /* whole ones */
    {"store_prologues", "reduction_prologues", ONCE, tg_reduce_and_store, NULL, FUSION},
    {"store_casts", "merge_updates", ONCE, tg_store_casts, is_training, FUSION}, /* updates may want them */
    {"store_transposes", "merge_updates", ONCE, tg_store_moves, NULL, FUSION},
    {"product_prologues", "merge_updates", ONCE, tg_form_product_prologues, NULL, FUSION},
    {"column_sums", "merge_updates", ONCE, tg_join_column_sums, NULL, FUSION},
    {"window_sums", "column_sums", ONCE, tg_join_window_sums, NULL, FUSION},
    {"rematerialize", "column_sums", 0, tg_rematerialize_in_products, NULL, FUSION},
    {"narrow_stores", "rematerialize", COUNT | ONCE, tg_narrow_stores, NULL,
     FUSION}, /* what nothing else reads any more */
    {"small_products", "column_sums", 0, tg_rematerialize_small_products, NULL, FUSION},
    {"part_epilogues", "small_products", ONCE, tg_part_epilogues, NULL,
     FUSION},                                                            /* when nothing joins any more */
    {"join_pools", "part_epilogues", ONCE, tg_join_pools, NULL, FUSION}, /* products as they are stored */
    {"join_products", "join_pools", ONCE, tg_join_products, NULL, FUSION},
    {"window_products", "join_products", ONCE, tg_join_window_products, NULL, FUSION},
    {"settle_aliases", "form_kernels", STORED | COUNT | ONCE, tg_settle_aliases, NULL, NONE},
    {"views", "settle_aliases", ONCE, tg_form_views, NULL, ALL}, /* which knows what is updated in place */
    {"plan_memory", "settle_aliases", KERNELS | STORED | COUNT | ONCE, tg_plan_memory, NULL, NONE},
    {"keep_operands", "plan_memory", STORED | COUNT | ONCE, tg_keep_operands, NULL, ALL},
    {0},
};
#undef ALL
#undef FUSION
#undef NONE

const tg_mapper_pass *tg_mapper_pass_find(const char *name) {
  for (const tg_mapper_pass *pass = tg_mapper_passes; pass->name; pass++)
    if (!strcmp(pass->name, name)) return pass;
  return NULL;
}
