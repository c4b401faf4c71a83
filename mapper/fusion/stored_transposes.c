/* Transposes behind a product that keep its rows: the stores put each row where it belongs, if that is faster
 * than another pass over memory. */
#include "mapper/fusion/fusion.h"
#include "mapper/kernel/class.h"

#include <string.h>

static bool may_store(const tg_kernel *kernel) {
  return kernel->kind == TG_KERNEL_GEMM && kernel->root->op == TG_OP_MATMUL && !kernel->more_count &&
         !tg_stochastic_store(kernel) && !tg_rounds_sums(kernel->root);
}

tg_status tg_store_moves(tg_compile *c) {
  for (size_t k = 0; k < c->kernel_count; k++) {
    tg_kernel *product = &c->kernels[k], *move;
    if (!may_store(product) || !(move = tg_storable_move(c, product->output))) continue;
    tg_kernel both = *product;
    both.output = move->output;
    if (!tg_is_profitable(c, product, &both, tg_kernel_cycles(c, move))) continue;
    c->stored[product->output->index] = false;
    *product = both;
    tg_kernel_remove(c, (size_t)(move - c->kernels));
  }
  return TG_OK;
}
