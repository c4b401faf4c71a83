/* Products of a k or two (kernel/outer.h) are computed where their result is read, if that is faster than
 * loading it, or not slower by more than the memory for it is worth: from per-row scalars and rows, instead
 * of a tensor. Of one whose result is only reduced and read by one product, nothing is stored at all. Where
 * the scalars of a row lie apart, as the channels of an image do, what their Transpose makes may be stored
 * for it. */
#include "mapper/fusion/fusion.h"
#include "mapper/fusion/rematerialize.h"
#include "mapper/kernel/class.h"
#include "mapper/kernel/outer.h"

#include <string.h>

/* The reductions that a product of few k computes with its result, as a kernel that computes that result from
 * its factors, and does not store it. */
static bool without_product(tg_compile *c, const tg_kernel *product, tg_kernel *out) {
  tg_outer outer;
  if (product->kind != TG_KERNEL_GEMM || !product->column_sums || product->prologue_result ||
      tg_kernel_results(product) != 1 || !tg_outer_of(c, product->root, &outer))
    return false;
  tg_node_list nodes = {0};
  tg_add_nodes(c->arena, &nodes, &product->root, 1);
  tg_add_nodes(c->arena, &nodes, product->fused, product->fused_count);
  tg_add_nodes(c->arena, &nodes, product->column_sums->prologue[0].nodes,
               product->column_sums->prologue[0].count);
  *out = *product->column_sums;
  tg_kernel_set_nodes(c, out, &nodes);
  return tg_kernel_fits(c, out);
}

/* Does kernel k compute `value`, which only it loads, so that the reductions that came with it do not store
 * it? */
static bool compute_alone(tg_compile *c, size_t k, tg_value *value) {
  size_t maker = 0;
  tg_chain ch;
  tg_kernel reductions;
  while (maker < k && !tg_kernel_makes(&c->kernels[maker], value)) maker++;
  if (maker == k || tg_needed_beside(c, value, k, maker) ||
      !without_product(c, &c->kernels[maker], &reductions) || !tg_find_chain(c, k, value, true, &ch))
    return false;
  tg_kernel both;
  if (!tg_with_chain(c, &ch, &both)) return false;
  double before = tg_kernel_cycles(c, &c->kernels[maker]),
         after = tg_kernel_cycles(c, &reductions) + TG_SECTION_CYCLES - tg_worth_of_memory(c, value);
  if (!tg_is_profitable(c, &c->kernels[k], &both, before - after)) return false;
  c->kernels[k] = both;
  c->kernels[maker] = reductions;
  c->stored[value->index] = false;
  return true;
}

static void rematerialize(tg_compile *c) {
  for (size_t k = 0; k < c->kernel_count; k++)
    for (size_t i = 0; tg_may_rematerialize(&c->kernels[k]) && i < c->kernels[k].input_count;) {
      tg_value *value = c->kernels[k].inputs[i];
      if (!tg_rematerialize_value(c, k, value, true) && !compute_alone(c, k, value)) i++;
    }
}

/* ---- per-row scalars that lie apart ---- */

/* The Transpose through which a product of few k reads numbers that so lie apart, or NULL. */
static tg_node *transposes_scalars(const tg_compile *c, const tg_kernel *kernel) {
  tg_outer outer;
  if (kernel->kind != TG_KERNEL_GEMM || !tg_outer_of(c, kernel->root, &outer)) return NULL;
  tg_value *value = tg_in(kernel->root, 0);
  tg_node *node = value->producer;
  bool looked_through = node && node->op == TG_OP_TRANSPOSE && !c->stored[value->index];
  return looked_through && outer.operand[0] != value ? node : NULL;
}

/* Of all kernels of `reads`. */
static double sum_cycles(tg_compile *c, const bool *reads) {
  double sum = 0;
  for (size_t k = 0; k < c->kernel_count; k++) {
    const tg_kernel *kernel = &c->kernels[k];
    if (!reads[k]) continue;
    if (kernel->kind == TG_KERNEL_GEMM || kernel->kind == TG_KERNEL_REDUCE)
      sum += tg_kernel_cycles(c, kernel);
  }
  return sum;
}

static double transpose_cycles(const tg_compile *c, const tg_node *transpose) {
  double elements = (double)tg_value_elements(tg_out(transpose));
  return TG_SECTION_CYCLES + 4 * c->m->dram_latency +
         tg_memory_cycles(c->m, elements * 4, elements * tg_value_bytes_each(tg_out(transpose)));
}

static void insert_transpose(tg_compile *c, tg_node *transpose, tg_value *source, size_t at) {
  tg_kernel kernel = {
      .kind = TG_KERNEL_MOVE, .root = transpose, .source = source, .output = tg_out(transpose)};
  tg_kernel_add_input(c, &kernel, source);
  TG_PUSH(c->arena, c->kernels, c->kernel_count, c->kernel_capacity, kernel);
  memmove(&c->kernels[at + 1], &c->kernels[at], (c->kernel_count - 1 - at) * sizeof kernel);
  c->kernels[at] = kernel;
}

/* Are those that compute the result of kernel k faster with the Transpose stored, by more than it takes? */
static void consider_transpose(tg_compile *c, size_t k, tg_node *transpose) {
  size_t count = c->kernel_count, values = (size_t)c->graph->value_count;
  tg_value *source = tg_loaded_by(c, c->kernels[k].root, 0);
  bool *reads = TG_NEW_ARRAY(c->arena, bool, count), *stored = TG_NEW_ARRAY(c->arena, bool, values + 1);
  tg_kernel *kernels = TG_NEW_ARRAY(c->arena, tg_kernel, count);
  for (size_t r = 0; r < count; r++) reads[r] = tg_kernel_reads(&c->kernels[r], tg_out(c->kernels[k].root));
  memcpy(kernels, c->kernels, count * sizeof *kernels);
  memcpy(stored, c->stored, values * sizeof *stored);
  rematerialize(c);
  const tg_value *value = tg_out(c->kernels[k].root);
  double apart = sum_cycles(c, reads);
  size_t last = tg_last_reader(c, value);
  memcpy(c->kernels, kernels, count * sizeof *kernels);
  memcpy(c->stored, stored, values * sizeof *stored);
  c->stored[tg_out(transpose)->index] = true;
  rematerialize(c);
  double together = sum_cycles(c, reads) + transpose_cycles(c, transpose);
  if (tg_last_reader(c, value) < last) together -= tg_worth_of_memory(c, value);
  if (c->options.any_tiling)
    together = tg_randomized_cycles(c, (uint32_t)transpose->id, 0, 0), apart = 1 << 23;
  if (together < apart) {
    insert_transpose(c, transpose, source, k);
    return;
  }
  memcpy(c->kernels, kernels, count * sizeof *kernels);
  memcpy(c->stored, stored, values * sizeof *stored);
}

tg_status tg_rematerialize_small_products(tg_compile *c) {
  for (size_t k = 0; k < c->kernel_count; k++) {
    tg_node *transpose = transposes_scalars(c, &c->kernels[k]);
    if (transpose) consider_transpose(c, k, transpose);
  }
  rematerialize(c);
  return TG_OK;
}
