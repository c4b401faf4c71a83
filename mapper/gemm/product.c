/* What all products have: offsets. */
#include "mapper/gemm/product.h"

void tg_gemm_allocate_products(tg_compile *c, tg_gemm *g) {
  g->a_offsets = TG_NEW_ARRAY(c->arena, int64_t, (size_t)g->products);
  g->b_offsets = TG_NEW_ARRAY(c->arena, int64_t, (size_t)g->products);
  g->out_offsets = TG_NEW_ARRAY(c->arena, int64_t, (size_t)g->products);
}

bool tg_gemm_alone_reads_b(const tg_gemm *g) {
  const tg_value *b = tg_in(g->node, 1);
  return g->b == b && tg_is_constant(b) && !b->output_count && b->uses && !b->uses->next;
}
