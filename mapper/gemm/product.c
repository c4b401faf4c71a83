/* What all products have: phases, offsets, where their accumulation rounds. */
#include "mapper/gemm/product.h"

#include "mapper/kernel/window.h"

int64_t tg_gemm_phases(const tg_node *node) {
  if (node->op != TG_OP_CONV_INPUT_GRADIENT) return 1;
  const int64_t *strides = tg_attr_ints(node, TG_ATTR_STRIDES, NULL);
  return tg_reach_phases(tg_out(node)->dims[1].size, strides[0]) *
         tg_reach_phases(tg_out(node)->dims[2].size, strides[1]);
}

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
