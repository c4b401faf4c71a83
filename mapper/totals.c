/* Reductions by blocks of rows join the product that makes what they read, where that is faster: they take
 * their tensor from the accumulator, in the order in which they would have read it, while mx multiplies. */
#include "mapper/gemm.h"

enum { WINDOW = 256 }; /* kernels back in which the product is looked for */

static bool gains(tg_compile *c, const tg_kernel *product, const tg_kernel *both) {
  double apart = tg_reduce_cycles(c, both->totals) + TG_SECTION_CYCLES,
         rest = tg_rest_cycles(c, both->totals);
  return tg_product_gains(c, product, both, apart - (rest > 0 ? rest + TG_SECTION_CYCLES : 0));
}

/* Reduction `b` and product `a`, where either may change its place. */
static bool join(tg_compile *c, size_t a, size_t b) {
  bool hurries = tg_kernel_can_hurry(c, b, a);
  if (!hurries && !tg_kernel_can_wait(c, a, b)) return false;
  tg_kernel both = c->kernels[a], *totals = TG_NEW(c->arena, tg_kernel);
  *totals = c->kernels[b];
  both.totals = totals;
  both.inputs = NULL;
  both.input_count = both.input_capacity = 0;
  for (size_t i = 0; i < c->kernels[a].input_count; i++)
    tg_kernel_add_input(c, &both, c->kernels[a].inputs[i]);
  for (size_t i = 0; i < totals->input_count; i++)
    if (!tg_kernel_makes(&both, totals->inputs[i])) tg_kernel_add_input(c, &both, totals->inputs[i]);
  if (!gains(c, &c->kernels[a], &both)) return false;
  tg_kernels_become(c, a, b, hurries ? a : b, &both);
  return true;
}

static bool find_product(tg_compile *c, size_t b) {
  if (c->kernels[b].kind != TG_KERNEL_REDUCE || c->kernels[b].beside) return false;
  for (size_t a = b; a-- > 0 && b - a <= WINDOW;) {
    const tg_kernel *product = &c->kernels[a];
    if (product->kind == TG_KERNEL_GEMM && !product->totals &&
        tg_kernel_reads_any_of(&c->kernels[b], product) && join(c, a, b))
      return true;
  }
  return false;
}

void tg_join_totals(tg_compile *c) {
  for (size_t b = 0; b < c->kernel_count;)
    if (!find_product(c, b)) b++;
}
