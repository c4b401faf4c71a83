/* Elementwise nodes in front of products: a product of rows computes what it reads on its tiles, so that the
 * tensor is stored, if others read it, but not loaded once more. The estimates decide. */
#include "mapper/gemm.h"

static bool reads_beside(const tg_compile *c, const tg_kernel *product, const tg_value *value) {
  if (tg_product_loads(c, product->root, 1, value)) return true;
  for (size_t n = 0; n < product->fused_count; n++)
    for (int i = 0; i < product->fused[n]->input_count; i++)
      if (tg_owner(c, tg_in(product->fused[n], i)) == value) return true;
  return false;
}

/* The product as it computes what kernel `maker` makes. */
static tg_kernel with_front(tg_compile *c, const tg_kernel *product, const tg_kernel *maker) {
  tg_kernel both = *product;
  tg_add_nodes(c->arena, &both.front[0], maker->fused, maker->fused_count);

  both.inputs = NULL;
  both.input_count = both.input_capacity = 0;
  for (size_t i = 0; i < maker->input_count; i++) tg_kernel_add_input(c, &both, maker->inputs[i]);
  for (size_t i = 0; i < product->input_count; i++)
    if (product->inputs[i] != maker->output) tg_kernel_add_input(c, &both, product->inputs[i]);
  return both;
}

/* Puts kernel k in front of the first product that reads what it makes. */
static bool move_into_product(tg_compile *c, size_t k) {
  const tg_kernel *maker = &c->kernels[k];
  if (maker->kind != TG_KERNEL_ELEMENTWISE || tg_kernel_results(maker) != 1 || tg_stochastic_store(maker) ||
      c->places[maker->output->index].tensor != -1)
    return false;
  size_t p = k + 1;
  while (p < c->kernel_count && !tg_kernel_reads(&c->kernels[p], maker->output)) p++;
  if (p == c->kernel_count) return false;
  const tg_kernel *product = &c->kernels[p];
  if (product->kind != TG_KERNEL_GEMM || product->front_result || tg_gemm_phases(product->root) != 1 ||
      tg_owner(c, tg_gemm_operand(c->stored, product->root, 0).source) != maker->output ||
      reads_beside(c, product, maker->output))
    return false;
  tg_kernel both = with_front(c, product, maker);
  both.front_result = maker->output;
  both.stores_front = tg_needed_beside(c, maker->output, k, p);
  if (!tg_product_gains(c, product, &both, tg_elementwise_cycles(c, maker) + TG_SECTION_CYCLES)) return false;
  c->kernels[p] = both;
  tg_kernel_remove(c, k);
  return true;
}

void tg_front_products(tg_compile *c) {
  for (size_t k = 0; k < c->kernel_count;)
    if (!move_into_product(c, k)) k++;
}
