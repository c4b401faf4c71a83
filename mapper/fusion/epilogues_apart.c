/* A product of few columns leaves most lanes of the vector unit idle while its epilogue goes down the rows. What takes
 * many words then, as a Sigmoid does, is a kernel of its own behind it, whose vectors are full, where that is faster
 * with the result stored and loaded in between. Such are the last layers of networks that make images or masks. */
#include "mapper/fusion/fusion.h"
#include "mapper/kernel/class.h"

#include <string.h>

#define CLEARLY 0.15 /* of its time is gained: one more tensor visits memory */

static bool may_part(const tg_compile *c, const tg_kernel *kernel) {
  if (kernel->kind != TG_KERNEL_GEMM || !kernel->fused_count || kernel->more_count || kernel->column_sums ||
      kernel->prologue_result || tg_stochastic_store(kernel))
    return false;
  const tg_value *result = tg_out(kernel->root);
  return result->rank > 0 && result->dims[result->rank - 1].size <= (int64_t)c->m->p &&
         tg_value_same_shape(result, kernel->output);
}

static tg_kernel without_epilogue(tg_compile *c, const tg_kernel *kernel) {
  tg_kernel product = *kernel;
  product.output = tg_out(kernel->root);
  product.fused = NULL;
  product.fused_count = product.fused_capacity = 0;
  product.inputs = NULL;
  product.input_count = product.input_capacity = 0;
  for (int i = 0; i < kernel->root->input_count; i++)
    if (tg_in(kernel->root, i))
      tg_kernel_add_input(c, &product, i < 2 ? kernel->operands[i].source : tg_in(kernel->root, i));
  return product;
}

static void part(tg_compile *c, size_t k) {
  const tg_kernel both = c->kernels[k];
  tg_kernel product = without_epilogue(c, &both),
            epilogue = {.kind = TG_KERNEL_ELEMENTWISE, .output = both.output};
  tg_node_list nodes = {0};
  tg_add_nodes(c->arena, &nodes, both.fused, both.fused_count);
  tg_kernel_set_nodes(c, &epilogue, &nodes);
  if (!tg_kernel_fits(c, &epilogue)) return;
  double apart = tg_kernel_cycles(c, &epilogue) + CLEARLY * tg_kernel_cycles(c, &both);
  if (tg_is_profitable(c, &product, &both, apart)) return;
  c->stored[product.output->index] = true;
  TG_PUSH(c->arena, c->kernels, c->kernel_count, c->kernel_capacity, epilogue);
  memmove(&c->kernels[k + 1], &c->kernels[k], (c->kernel_count - 1 - k) * sizeof epilogue);
  c->kernels[k] = product;
  c->kernels[k + 1] = epilogue;
}

tg_status tg_part_epilogues(tg_compile *c) {
  for (size_t k = 0; k < c->kernel_count; k++)
    if (may_part(c, &c->kernels[k])) part(c, k);
  return TG_OK;
}
