/* Transposes behind a product that keep its rows: the stores put each row where it belongs, if that is faster
 * than another pass over memory. */
#include "mapper/gemm.h"

#include <string.h>

/* The only node that reads the value, which is no output of the graph. */
static const tg_node *only_reader(const tg_value *value) {
  return value->output_count || !value->uses || value->uses->next ? NULL : value->uses->node;
}

tg_kernel *tg_storable_move(const tg_compile *c, const tg_value *result) {
  const tg_node *node = only_reader(result);
  if (!node || node->op != TG_OP_TRANSPOSE || tg_out(node)->dtype != result->dtype ||
      tg_attr_ints(node, TG_ATTR_PERM, NULL)[result->rank - 1] != result->rank - 1)
    return NULL;
  for (size_t k = 0; k < c->kernel_count; k++)
    if (c->kernels[k].kind == TG_KERNEL_MOVE && c->kernels[k].root == node && c->kernels[k].source == result)
      return &c->kernels[k];
  return NULL;
}

void tg_stored_strides(const tg_kernel *kernel, int64_t *out_strides) {
  const tg_value *computed = tg_kernel_computes(kernel, 0), *stored = kernel->output;
  int64_t sizes[TG_MAX_RANK], dense[TG_MAX_RANK];
  tg_value_sizes(stored, sizes);
  tg_dense_strides(sizes, stored->rank, dense);
  const int64_t *perm = computed == stored ? NULL : tg_attr_ints(stored->producer, TG_ATTR_PERM, NULL);
  for (int d = 0; d < stored->rank; d++) out_strides[perm ? perm[d] : d] = dense[d];
}

double tg_move_cycles(const tg_compile *c, const tg_value *value) {
  double bytes = (double)tg_value_elements(value) * tg_value_bytes_each(value);
  return TG_SECTION_CYCLES + 2 * bytes / (tg_agcus(c->m) * (double)c->m->port_bytes);
}

static bool may_store(const tg_kernel *kernel) {
  return kernel->kind == TG_KERNEL_GEMM && kernel->root->op == TG_OP_MATMUL && !kernel->more_count &&
         !tg_stochastic_store(kernel) && !tg_rounds_sums(kernel->root);
}

void tg_store_moves(tg_compile *c) {
  for (size_t k = 0; k < c->kernel_count; k++) {
    tg_kernel *product = &c->kernels[k], *move;
    if (!may_store(product) || !(move = tg_storable_move(c, product->output))) continue;
    tg_kernel both = *product;
    both.output = move->output;
    if (!tg_product_gains(c, product, &both, tg_move_cycles(c, move->output))) continue;
    c->stored[product->output->index] = false;
    *product = both;
    tg_kernel_remove(c, (size_t)(move - c->kernels));
  }
}
