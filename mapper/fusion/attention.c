/* A product, the softmax of its rows and the product that reads it become one kernel, where that
 * is faster. */
#include "mapper/fusion/fusion.h"
#include "mapper/kernel/class.h"

/* The only node that reads the value, which is no output of the graph. */
static tg_node *only_reader(const tg_value *value) {
  return value->output_count || !value->uses || value->uses->next ? NULL : value->uses->node;
}

static tg_kernel *kernel_of(const tg_compile *c, int kind, const tg_node *root) {
  for (size_t k = 0; k < c->kernel_count && root; k++)
    if ((int)c->kernels[k].kind == kind && c->kernels[k].root == root) return &c->kernels[k];
  return NULL;
}

/* The product that reads what the softmax leaves, as its streamed operand, perhaps rounded on the way. */
static tg_kernel *reader_of(const tg_compile *c, const tg_kernel *softmax) {
  tg_node *node = only_reader(softmax->output);
  if (node && tg_is_plain_cast(node)) node = only_reader(tg_out(node));
  return kernel_of(c, TG_KERNEL_GEMM, node && node->op == TG_OP_MATMUL ? node : NULL);
}

static const tg_kernel *copy_of(tg_arena *arena, const tg_kernel *kernel) {
  tg_kernel *copy = TG_NEW_ARRAY(arena, tg_kernel, 1);
  *copy = *kernel;
  return copy;
}

/* The kernels around softmax number k as one, in the place of the last. */
static bool fuse(tg_compile *c, size_t k) {
  tg_kernel *softmax = &c->kernels[k];
  const tg_value *scores = tg_in(softmax->root, 0);
  if (softmax->root->op != TG_OP_SOFTMAX || !scores->producer || only_reader(scores) != softmax->root)
    return false;
  tg_kernel *first = NULL, *last = reader_of(c, softmax);
  for (size_t i = 0; i < k; i++)
    if (c->kernels[i].kind == TG_KERNEL_GEMM && c->kernels[i].output == scores) first = &c->kernels[i];
  if (!first || !last || last < softmax || first->root->op != TG_OP_MATMUL || last->more_count ||
      first->more_count || tg_stochastic_store(last) || tg_stochastic_store(softmax) ||
      tg_stochastic_store(first))
    return false;
  tg_kernel both = {.kind = TG_KERNEL_ATTENTION,
                    .root = last->root,
                    .operands = last->operands,
                    .fused = last->fused,
                    .fused_count = last->fused_count,
                    .scores = copy_of(c->arena, first),
                    .softmax = copy_of(c->arena, softmax),
                    .output = last->output};
  for (size_t i = 0; i < first->input_count; i++) tg_kernel_add_input(c, &both, first->inputs[i]);
  for (size_t i = 0; i < last->input_count; i++)
    if (last->inputs[i] != softmax->output) tg_kernel_add_input(c, &both, last->inputs[i]);
  tg_kernel *move = tg_storable_move(c, last->output);
  if (move) both.output = move->output;
  if (!tg_kernel_fits(c, &both)) return false;
  c->stored[last->output->index] = !move;
  *last = both;
  if (move) tg_kernel_remove(c, (size_t)(move - c->kernels)); /* they stand in this order */
  tg_kernel_remove(c, k);
  tg_kernel_remove(c, (size_t)(first - c->kernels));
  return true;
}

/* Of attention by blocks: a Transpose behind it that its stores do. */
static void store_transposed(tg_compile *c, size_t k) {
  tg_kernel *kernel = &c->kernels[k], *move = tg_storable_move(c, kernel->output);
  if (!move) return;
  tg_kernel both = *kernel;
  both.output = move->output;
  if (!tg_kernel_fits(c, &both)) return;
  c->stored[kernel->output->index] = false;
  *kernel = both;
  tg_kernel_remove(c, (size_t)(move - c->kernels));
}

/* Of attention by blocks: the product that makes its scores, whose kernel goes. */
static bool take_scores(tg_compile *c, size_t k) {
  tg_kernel *kernel = &c->kernels[k];
  const tg_value *scores = tg_in(kernel->root, 0);
  if (!scores->producer || only_reader(scores) != kernel->root) return false;
  for (size_t i = 0; i < k; i++) {
    const tg_kernel *first = &c->kernels[i];
    if (first->kind != TG_KERNEL_GEMM || first->output != scores || first->root->op != TG_OP_MATMUL ||
        first->more_count || tg_stochastic_store(first))
      continue;
    tg_kernel both = *kernel;
    both.scores = copy_of(c->arena, first);
    both.inputs = NULL;
    both.input_count = both.input_capacity = 0;
    for (size_t n = 0; n < first->input_count; n++) tg_kernel_add_input(c, &both, first->inputs[n]);
    for (size_t n = 0; n < kernel->input_count; n++)
      if (kernel->inputs[n] != scores) tg_kernel_add_input(c, &both, kernel->inputs[n]);
    if (!tg_kernel_fits(c, &both)) return false;
    *kernel = both;
    tg_kernel_remove(c, i);
    return true;
  }
  return false;
}

tg_status tg_fuse_attention(tg_compile *c) {
  for (size_t k = 0; k < c->kernel_count;)
    if (c->kernels[k].kind == TG_KERNEL_SOFTMAX && fuse(c, k))
      k--; /* it and one before it are gone */
    else if (c->kernels[k].kind == TG_KERNEL_BLOCKED_ATTENTION) {
      size_t at = take_scores(c, k) ? k - 1 : k;
      store_transposed(c, at);
      k = at + 1;
    } else
      k++;
  return TG_OK;
}
