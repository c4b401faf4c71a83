/* A MaxPool joins the convolution whose result it alone reads, where that is faster: the result visits memory no
 * more. */
#include "mapper/fusion/fusion.h"
#include "mapper/kernel/class.h"

static bool is_max_pool(const tg_kernel *kernel) {
  return kernel->root && kernel->root->op == TG_OP_MAX_POOL && tg_kernel_results(kernel) == 1 &&
         !tg_stochastic_store(kernel);
}

/* Has the product one result, as the pool reads it, that no other kernel does? */
static bool makes_for(const tg_compile *c, size_t a, size_t b) {
  const tg_kernel *product = &c->kernels[a];
  const tg_value *value = product->output;
  return product->kind == TG_KERNEL_GEMM && product->root->op == TG_OP_CONV &&
         tg_kernel_writes(product) == 1 && !product->prologue_result && !product->pool && !product->second &&
         value == tg_in(c->kernels[b].root, 0) && tg_kernel_computes(product, 0) == value &&
         !tg_stochastic_store(product) && !tg_needed_beside(c, value, a, b);
}

/* Together they move less: where rehearsals say the same, that decides. */
static bool is_faster(tg_compile *c, const tg_kernel *product, const tg_kernel *pool, const tg_kernel *both) {
  double together = tg_kernel_rehearsed(c, both),
         apart = tg_kernel_rehearsed(c, product) + tg_kernel_rehearsed(c, pool);
  return c->options.any_tiling ? tg_is_faster(c, both, together, apart) : together < apart;
}

static bool join(tg_compile *c, size_t a, size_t b) {
  tg_kernel both = c->kernels[a], *pool = TG_NEW(c->arena, tg_kernel);
  *pool = c->kernels[b];
  both.pool = pool;
  both.output = pool->output;
  if (!tg_kernel_can_hoist(c, b, a) || !is_faster(c, &c->kernels[a], pool, &both)) return false;
  tg_kernels_become(c, a, b, a, &both);
  return true;
}

static bool join_any(tg_compile *c, size_t b) {
  for (size_t a = b; a-- > 0 && is_max_pool(&c->kernels[b]);)
    if (makes_for(c, a, b)) return join(c, a, b);
  return false;
}

tg_status tg_join_pools(tg_compile *c) {
  for (size_t b = 0; b < c->kernel_count;)
    if (!join_any(c, b)) b++;
  return TG_OK;
}
