/* Two products become one kernel where one's epilogue reads the other's result: a residual that is a convolution of its own,
 * the two products of a recurrent cell, a gate and what it multiplies. The result of the first one then visits no memory:
 * both are multiplied block by block, and drained together. The estimates decide. */
#include "mapper/fusion/fusion.h"
#include "mapper/kernel/class.h"
#include "mapper/kernel/operand.h"

enum { WINDOW = 64 }; /* kernels back in which the other product is looked for */
#define CLEARLY 0.04  /* of the time of both is gained: their estimates err by as much */

static bool is_plain(const tg_kernel *kernel) {
  return kernel->kind == TG_KERNEL_GEMM && !kernel->prologue_result && !kernel->column_sums &&
         !kernel->pool && !kernel->second &&
         (kernel->root->op == TG_OP_MATMUL || kernel->root->op == TG_OP_CONV);
}

/* Have both results, and all that they are made of, one shape? */
static bool same_shapes(const tg_kernel *a, const tg_kernel *b) {
  const tg_value *shape = tg_kernel_computes(b, 0);
  return tg_value_same_shape(tg_out(a->root), shape) && tg_value_same_shape(a->output, shape) &&
         tg_value_same_shape(tg_out(b->root), shape);
}

/* Do the nodes of kernel b alone read the result of kernel a, its only one? */
static bool makes_for(const tg_compile *c, size_t a, size_t b) {
  const tg_kernel *maker = &c->kernels[a], *reader = &c->kernels[b];
  const tg_value *value = maker->output;
  return is_plain(maker) && tg_kernel_writes(maker) == 1 && tg_kernel_computes(maker, 0) == value &&
         !tg_stochastic_store(maker) && tg_kernel_reads(reader, value) &&
         !tg_product_loads(c, reader, 0, value) && same_shapes(maker, reader) &&
         !tg_needed_beside(c, value, a, b) && tg_kernel_can_sink(c, a, b);
}

/* Both, in which the product of `root` has the first place. */
static tg_kernel together(tg_compile *c, const tg_kernel *a, const tg_kernel *b, const tg_kernel *root) {
  tg_kernel both = *b, *second = TG_NEW(c->arena, tg_kernel);
  tg_node_list nodes = {0};
  *second = root == a ? *b : *a;
  both.root = root->root;
  both.operands = root->operands;
  both.second = second;
  tg_add_nodes(c->arena, &nodes, a->fused, a->fused_count);
  tg_add_nodes(c->arena, &nodes, b->fused, b->fused_count);
  tg_set_fused(&both, &nodes);
  tg_kernel_join_inputs(c, &both, a, b);
  return both;
}

/* Kernel a with kernel b, in its place, where that is faster. */
static bool join(tg_compile *c, size_t a, size_t b) {
  const tg_kernel first = c->kernels[a], second = c->kernels[b];
  tg_kernel both[2] = {together(c, &first, &second, &first), together(c, &first, &second, &second)};
  int better = tg_kernel_cycles(c, &both[1]) <= tg_kernel_cycles(c, &both[0]);
  double alone = tg_kernel_cycles(c, &second), gain = CLEARLY * (tg_kernel_cycles(c, &first) + alone);
  if (!tg_is_profitable(c, &first, &both[better], alone - gain)) return false;
  tg_kernels_become(c, a, b, b, &both[better]);
  return true;
}

static bool join_any(tg_compile *c, size_t b) {
  size_t from = b > WINDOW ? b - WINDOW : 0;
  for (size_t a = b; a-- > from && is_plain(&c->kernels[b]);)
    if (makes_for(c, a, b) && join(c, a, b)) return true;
  return false;
}

tg_status tg_join_products(tg_compile *c) {
  for (size_t b = 0; b < c->kernel_count;)
    if (!join_any(c, b)) b++;
  return TG_OK;
}
