/* Reductions by blocks of rows join the product that makes what they read, where that is faster: they take
 * their tensor from the accumulator, in the order in which they would have read it, while mx multiplies. So
 * do those that read what its drain loads anyway. */
#include "mapper/fusion/fusion.h"
#include "mapper/kernel/class.h"

#include <string.h>

enum { WINDOW = 256 }; /* kernels in which the product is looked for */

/* Of the section for rows behind the last whole block. */
static double remainder_cycles(tg_compile *c, const tg_kernel *column_sums) {
  double rest = column_sums ? tg_class_of(c, column_sums)->remainder_cycles(c, column_sums) : 0;
  return rest > 0 ? rest + TG_SECTION_CYCLES : 0;
}

/* `less`: of what is a kernel of its own then, and would not be without. */
static bool is_profitable(tg_compile *c, const tg_kernel *product, const tg_kernel *reduction,
                          const tg_kernel *both, double less) {
  double apart = tg_kernel_cycles(c, reduction) + TG_SECTION_CYCLES - less,
         rest = remainder_cycles(c, both->column_sums) - remainder_cycles(c, product->column_sums);
  return tg_is_profitable(c, product, both, apart - rest);
}

/* Product `a` with reduction `b` and those that it has. */
static bool with_column_sums(tg_compile *c, size_t a, size_t b, tg_kernel *out) {
  const tg_kernel *product = &c->kernels[a];
  tg_kernel *column_sums = TG_NEW(c->arena, tg_kernel);
  if (!product->column_sums)
    *column_sums = c->kernels[b];
  else if (!tg_reductions_together(c, product->column_sums, &c->kernels[b], column_sums))
    return false;
  *out = *product;
  out->column_sums = column_sums;
  out->inputs = NULL;
  out->input_count = out->input_capacity = 0;
  for (size_t i = 0; i < product->input_count; i++) tg_kernel_add_input(c, out, product->inputs[i]);
  for (size_t i = 0; i < column_sums->input_count; i++)
    if (!tg_kernel_makes(out, column_sums->inputs[i])) tg_kernel_add_input(c, out, column_sums->inputs[i]);
  return true;
}

/* May kernel `k` run where kernel `to` does? */
static bool can_move(const tg_compile *c, size_t k, size_t to) {
  return k < to ? tg_kernel_can_sink(c, k, to) : tg_kernel_can_hoist(c, k, to);
}

/* Reduction `b` and product `a`, where either may change its place. */
static bool join(tg_compile *c, size_t a, size_t b, double less) {
  bool stays = can_move(c, b, a);
  tg_kernel both;
  if ((!stays && !can_move(c, a, b)) || !with_column_sums(c, a, b, &both) ||
      !is_profitable(c, &c->kernels[a], &c->kernels[b], &both, less))
    return false;
  tg_kernels_become(c, a, b, stays ? a : b, &both);
  return true;
}

static bool is_reduction(const tg_kernel *kernel) {
  return kernel->kind == TG_KERNEL_REDUCE && !kernel->beside;
}

/* What a reduction computes of its result, a mean's factor, no drain computes of column sums: it becomes kernel b + 1. */
static void part_epilogue(tg_compile *c, size_t b) {
  tg_kernel *reduction = &c->kernels[b],
            epilogue = {.kind = TG_KERNEL_ELEMENTWISE, .output = reduction->output};
  tg_node_list nodes = {0};
  tg_add_nodes(c->arena, &nodes, reduction->fused, reduction->fused_count);
  tg_kernel_set_nodes(c, &epilogue, &nodes);
  reduction->fused = NULL;
  reduction->fused_count = reduction->fused_capacity = 0;
  reduction->output = tg_out(reduction->root);
  c->stored[reduction->output->index] = true;
  TG_PUSH(c->arena, c->kernels, c->kernel_count, c->kernel_capacity, epilogue);
  memmove(&c->kernels[b + 2], &c->kernels[b + 1], (c->kernel_count - 2 - b) * sizeof epilogue);
  c->kernels[b + 1] = epilogue;
}

static bool find_product(tg_compile *c, size_t b, double less);

/* Without what it computes of its result; or all is as it was. */
static bool find_product_apart(tg_compile *c, size_t b) {
  const tg_kernel whole = c->kernels[b];
  if (whole.more_count || tg_stochastic_store(&whole)) return false;
  part_epilogue(c, b);
  const tg_kernel *epilogue = &c->kernels[b + 1];
  if (epilogue->input_count == 1 && tg_kernel_fits(c, epilogue) &&
      find_product(c, b, tg_kernel_cycles(c, epilogue) + TG_SECTION_CYCLES))
    return true;
  c->stored[c->kernels[b].output->index] = false;
  c->kernels[b] = whole;
  tg_kernel_remove(c, b + 1);
  return false;
}

static bool find_product(tg_compile *c, size_t b, double less) {
  if (!is_reduction(&c->kernels[b])) return false;
  if (c->kernels[b].fused_count) return find_product_apart(c, b);
  for (size_t a = b; a-- > 0 && b - a <= WINDOW;) {
    const tg_kernel *product = &c->kernels[a];
    if (product->kind == TG_KERNEL_GEMM && !product->column_sums &&
        tg_kernel_reads_any_of(&c->kernels[b], product) && join(c, a, b, less))
      return true;
  }
  return false;
}

/* A product with column sums that loads a tensor of the reduction's elements, before it or behind it. */
static bool find_column_sums(tg_compile *c, size_t b) {
  const tg_kernel *reduction = &c->kernels[b];
  if (!is_reduction(reduction)) return false;
  int64_t elements = tg_value_elements(tg_in(reduction->root, 0));
  for (size_t a = b > WINDOW ? b - WINDOW : 0; a < c->kernel_count && a <= b + WINDOW; a++)
    if (c->kernels[a].kind == TG_KERNEL_GEMM && c->kernels[a].column_sums &&
        tg_kernels_share_input(&c->kernels[a], reduction, elements) &&
        !tg_kernel_reads_any_of(&c->kernels[a], reduction) && join(c, a, b, 0))
      return true;
  return false;
}

tg_status tg_join_column_sums(tg_compile *c) {
  for (size_t b = 0; b < c->kernel_count;)
    if (!find_product(c, b, 0)) b++;
  for (size_t b = 0; b < c->kernel_count;)
    if (!find_column_sums(c, b)) b++;
  return TG_OK;
}
