/* Reductions by blocks of rows join the product that makes what they read, where that is faster: they take
 * their tensor from the accumulator, in the order in which they would have read it, while mx multiplies. */
#include "mapper/gemm.h"

enum { WINDOW = 256 }; /* kernels back in which the product is looked for */

static double most(double a, double b) { return a > b ? a : b; }

/* Of the reduction alone: of what it loads, or of its operations. */
static double reduction_cycles(const tg_compile *c, const tg_kernel *kernel) {
  const tg_params *m = c->m;
  tg_kernel front = {.kind = TG_KERNEL_ELEMENTWISE, .fused = kernel->front[0].nodes};
  front.fused_count = kernel->front[0].count;
  double elements = (double)tg_value_elements(tg_in(kernel->root, 0)), bytes = 0,
         operations = tg_expression_operations(c, &front) + tg_kernel_results(kernel);
  for (size_t i = 0; i < kernel->input_count; i++)
    bytes += (double)tg_value_elements(kernel->inputs[i]) * tg_value_bytes_each(kernel->inputs[i]);
  return most(elements * operations / tg_lanes(m) / tg_tiles(m),
              bytes / 64 * tg_atom_cycles(m) / tg_agcus(m));
}

static bool gains(tg_compile *c, const tg_kernel *product, const tg_kernel *both) {
  tg_diag unused = {""};
  tg_compile quiet = *c;
  quiet.diag = &unused;
  tg_gemm before, after;
  tg_gemm_tiling alone, together;
  if (tg_describe_gemm(&quiet, product, 0, &before) || tg_describe_gemm(&quiet, both, 0, &after))
    return false;
  if (!after.drain_words[TG_DRAIN_FINISH] || tg_tile_gemm(&quiet, &before, &alone) ||
      tg_tile_gemm(&quiet, &after, &together))
    return false;
  return together.cycles < alone.cycles + reduction_cycles(c, both->totals) + TG_SECTION_CYCLES;
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
  c->kernels[hurries ? a : b] = both;
  tg_kernel_remove(c, hurries ? b : a);
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
