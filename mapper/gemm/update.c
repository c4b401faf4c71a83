/* May what an elementwise kernel does with a product's result be done where the accumulator is drained, and
 * is it faster there? Its operands and results then pass the vector unit while mx multiplies, and the
 * product's own result is never stored; but the drain of a short product takes longer than its
 * multiplication. */
#include "mapper/gemm/gemm.h"
#include "mapper/gemm/product.h"

static double most(double a, double b) { return a > b ? a : b; }

/* Of the elementwise kernel alone: of its operations, or of what it moves. */
static double update_cycles(const tg_compile *c, const tg_kernel *kernel) {
  const tg_params *m = c->m;
  double elements = (double)tg_value_elements(kernel->output), bytes = 0;
  for (size_t i = 0; i < kernel->input_count; i++)
    bytes += (double)tg_value_elements(kernel->inputs[i]) * tg_value_bytes_each(kernel->inputs[i]);
  for (int k = 0; k < tg_kernel_results(kernel); k++)
    bytes += elements * tg_value_bytes_each(tg_kernel_result(kernel, k));
  return most(elements * tg_expression_operations(c, kernel) / tg_lanes(m) / tg_tiles(m),
              bytes / 64 * tg_atom_cycles(m) / tg_agcus(m));
}

bool tg_update_gains(tg_compile *c, const tg_kernel *product, const tg_kernel *update,
                     const tg_kernel *both) {
  tg_gemm alone;
  return tg_gemm_phases(product->root) == 1 && !tg_describe_gemm(c, product, 0, &alone) &&
         alone.products == 1 &&
         tg_product_gains(c, product, both, update_cycles(c, update) + TG_SECTION_CYCLES);
}
