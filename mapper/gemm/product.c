/* What all products have: offsets, where their accumulation rounds. */
#include "mapper/gemm/product.h"

void tg_gemm_allocate_products(tg_compile *c, tg_gemm *g) {
  g->a_offsets = TG_NEW_ARRAY(c->arena, int64_t, (size_t)g->products);
  g->b_offsets = TG_NEW_ARRAY(c->arena, int64_t, (size_t)g->products);
  g->out_offsets = TG_NEW_ARRAY(c->arena, int64_t, (size_t)g->products);
}

int64_t tg_gemm_rounded_tile(const tg_compile *c, const tg_gemm *g) {
  const tg_node *node = g->node;
  int64_t own = node->op == TG_OP_MATMUL ? tg_attr_int(node, TG_ATTR_ACCUMULATION) : TG_ACCUMULATE_AS_ASKED;
  if (own == TG_ACCUMULATE_BF16SR_EACH) return 1;
  return own == TG_ACCUMULATE_AS_ASKED && c->options.accum_bf16sr ? c->options.k_tile : 0;
}
