/* Product prologues, elementwise nodes fused into their readers: a product of rows computes what it reads on
 * its tiles, so that the tensor is stored, if others read it, but not loaded once more. The
 * estimates decide. */
#include "mapper/fusion/fusion.h"
#include "mapper/kernel/class.h"
#include "mapper/kernel/operand.h"

/* Does the product read it as another operand than number `operand`, too? */
static bool reads_beside(const tg_compile *c, const tg_kernel *product, int operand, const tg_value *value) {
  if (tg_owner(c, product->operands[1 - operand].source) == value || tg_product_loads(c, product, 2, value))
    return true;
  for (size_t n = 0; n < product->fused_count; n++)
    for (int i = 0; i < product->fused[n]->input_count; i++)
      if (tg_owner(c, tg_in(product->fused[n], i)) == value) return true;
  return false;
}

/* The operand of the product that is the value, and is alone in that: 0 or 1, or -1. */
static int operand_of(const tg_compile *c, const tg_kernel *product, const tg_value *value) {
  if (product->kind != TG_KERNEL_GEMM || product->prologue_result || tg_gemm_phases(product->root) != 1)
    return -1;
  for (int operand = 0; operand < 2; operand++)
    if (tg_owner(c, product->operands[operand].source) == value)
      return reads_beside(c, product, operand, value) ? -1 : operand;
  return -1;
}

/* The product as it computes what kernel `maker` makes, its operand number `operand`. */
static tg_kernel with_prologue(tg_compile *c, const tg_kernel *product, int operand, const tg_kernel *maker) {
  tg_kernel both = *product;
  tg_add_nodes(c->arena, &both.prologue[operand], maker->fused, maker->fused_count);
  tg_kernel_join_inputs(c, &both, maker, product);
  return both;
}

/* Kernel k as the prologue of kernel p, a product that reads what it makes, where that is faster. If others
 * read it before, the product takes k's place: `hoists`. */
static bool join(tg_compile *c, size_t k, size_t p, bool hoists) {
  const tg_kernel *maker = &c->kernels[k], *product = &c->kernels[p];
  int operand = operand_of(c, product, maker->output);
  if (operand < 0 || (hoists && !tg_kernel_can_hoist(c, p, k))) return false;
  tg_kernel both = with_prologue(c, product, operand, maker);
  both.prologue_result = maker->output;
  both.stores_prologue = tg_needed_beside(c, maker->output, k, p);
  if (!tg_is_profitable(c, product, &both, tg_kernel_cycles(c, maker) + TG_SECTION_CYCLES)) return false;
  c->kernels[hoists ? k : p] = both;
  tg_kernel_remove(c, hoists ? p : k);
  return true;
}

/* Makes kernel k the prologue of a product that reads what it makes. */
static bool move_into_product(tg_compile *c, size_t k) {
  const tg_kernel *maker = &c->kernels[k];
  if (maker->kind != TG_KERNEL_ELEMENTWISE || tg_kernel_results(maker) != 1 || tg_stochastic_store(maker) ||
      c->places[maker->output->index].tensor != -1)
    return false;
  bool read = false;
  for (size_t p = k + 1; p < c->kernel_count; p++) {
    if (!tg_kernel_reads(&c->kernels[p], maker->output)) continue;
    if (join(c, k, p, read)) return true;
    read = true;
  }
  return false;
}

tg_status tg_form_product_prologues(tg_compile *c) {
  for (size_t k = 0; k < c->kernel_count;)
    if (!move_into_product(c, k)) k++;
  return TG_OK;
}
