/* May what an elementwise kernel does with a product's result be done where the accumulator is drained, and
 * is it faster there? Its operands and results then pass the vector unit while mx multiplies, and the
 * product's own result is never stored; but the drain of a short product takes longer than its
 * multiplication. */
#include "mapper/gemm.h"

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

bool tg_product_gains(tg_compile *c, const tg_kernel *product, const tg_kernel *update,
                      const tg_kernel *both) {
  if (tg_gemm_phases(product->root) != 1) return false;
  tg_diag unused = {""};
  tg_compile quiet = *c;
  quiet.diag = &unused;
  tg_gemm before, after;
  tg_gemm_tiling alone, together;
  if (tg_describe_gemm(&quiet, product, 0, &before) || tg_describe_gemm(&quiet, both, 0, &after))
    return false;
  if (!before.m || before.products != 1 || !after.drain_words[TG_DRAIN_FINISH]) return false;
  if (tg_tile_gemm(&quiet, &before, &alone) || tg_tile_gemm(&quiet, &after, &together)) return false;
  return together.cycles < alone.cycles + update_cycles(c, update) + TG_SECTION_CYCLES;
}
