/* Elementwise kernels of one shape that share a tensor become one kernel with several results: what one makes
 * and the other reads, also by another shape, stays in registers, and what both read is loaded once. An
 * optimizer's update of a parameter and its state is one pass over memory so; where it pays, it joins the
 * product that makes the gradient. */
#include "frontend/base/math.h"
#include "mapper/fusion/fusion.h"
#include "mapper/kernel/class.h"

enum { WINDOW = 256 }; /* kernels back in which a partner is looked for: bounds the time for huge graphs */

/* Do the two touch a tensor of their own shape in common? */
static bool share_a_tensor(const tg_kernel *a, const tg_kernel *b) {
  return tg_kernel_reads_any_of(b, a) || tg_kernels_share_input(a, b, tg_value_elements(a->output));
}

/* Does the reader take a result by another shape? */
static bool renames_a_result(tg_compile *c, const tg_kernel *reader, const tg_kernel *maker) {
  for (size_t n = 0; n < reader->fused_count; n++)
    for (int i = 0; i < reader->fused[n]->input_count; i++) {
      tg_value *value = tg_in(reader->fused[n], i);
      if (tg_owner(c, value) != value && tg_kernel_makes(maker, tg_owner(c, value))) return true;
    }
  return false;
}

/* What a store rounds stochastically is in no register, and an instruction has one key. */
static bool rounding_parts(const tg_kernel *a, const tg_kernel *b) {
  const tg_node *first = tg_stochastic_store(a);
  return first && (tg_stochastic_store(b) || tg_kernel_reads(b, tg_out(first)));
}

/* ---- the merged kernel ---- */

static void add_inputs(tg_compile *c, tg_kernel *to, size_t from, size_t a, size_t b) {
  const tg_kernel *kernel = &c->kernels[from];
  for (size_t i = 0; i < kernel->input_count; i++)
    if (!tg_kernel_reads(to, kernel->inputs[i]) && !tg_kernel_makes(&c->kernels[a], kernel->inputs[i]) &&
        !tg_kernel_makes(&c->kernels[b], kernel->inputs[i]))
      TG_PUSH(c->arena, to->inputs, to->input_count, to->input_capacity, kernel->inputs[i]);
}

/* ---- updates in the drain of a product ---- */

/* Of the elementwise kernel alone: of its operations, or of what it moves. */
static double update_cycles(const tg_compile *c, const tg_kernel *kernel) {
  const tg_params *m = c->m;
  double elements = (double)tg_value_elements(kernel->output), read = 0, written = 0;
  for (size_t i = 0; i < kernel->input_count; i++)
    read += (double)tg_value_elements(kernel->inputs[i]) * tg_value_bytes_each(kernel->inputs[i]);
  for (int k = 0; k < tg_kernel_results(kernel); k++)
    written += elements * tg_value_bytes_each(tg_kernel_result(kernel, k));
  return tg_max_double(elements * tg_class_of(c, kernel)->operations(c, kernel) / tg_lanes(m) / tg_tiles(m),
                       tg_memory_cycles(m, read, written));
}

/* Is what `update` does with a product's result faster where the accumulator is drained? Its operands and
 * results then pass the vector unit while mx multiplies, and the product's own result is never stored; but
 * the drain of a short product takes longer than its multiplication. */
static bool is_faster_in_drain(tg_compile *c, const tg_kernel *product, const tg_kernel *update,
                               const tg_kernel *both) {
  return tg_class_of(c, product)->absorbs(c, product) &&
         tg_is_profitable(c, product, both, update_cycles(c, update) + TG_SECTION_CYCLES);
}

/* ---- pairs that merge ---- */

/* `a`, elementwise or a product, comes before `b`, also in the order of the nodes. A product stays where it
 * is, so that its operands need memory no longer. */
static bool merge(tg_compile *c, size_t a, size_t b) {
  bool product = c->kernels[a].kind == TG_KERNEL_GEMM;
  tg_kernel both = {
      .kind = c->kernels[a].kind, .root = c->kernels[a].root, .operands = c->kernels[a].operands};
  tg_node_list nodes = {0};
  tg_add_nodes(c->arena, &nodes, c->kernels[a].fused, c->kernels[a].fused_count);
  tg_add_nodes(c->arena, &nodes, c->kernels[b].fused, c->kernels[b].fused_count);
  tg_set_fused(&both, &nodes);
  if (!tg_kernel_add_results(c, &both, b, a, b) || !tg_kernel_add_results(c, &both, a, a, b) || !both.output)
    return false;
  add_inputs(c, &both, a, a, b);
  add_inputs(c, &both, b, a, b);
  if (!(product ? is_faster_in_drain(c, &c->kernels[a], &c->kernels[b], &both) : tg_kernel_fits(c, &both)))
    return false;
  tg_kernels_become(c, a, b, !product && tg_kernel_can_sink(c, a, b) ? b : a, &both);
  return true;
}

/* ---- pairs ---- */

static bool are_partners(tg_compile *c, size_t a, size_t b) {
  const tg_kernel *first = &c->kernels[a], *second = &c->kernels[b];
  return first->kind == TG_KERNEL_ELEMENTWISE && second->kind == TG_KERNEL_ELEMENTWISE &&
         tg_value_elements(first->output) == tg_value_elements(second->output) &&
         share_a_tensor(first, second) && !rounding_parts(first, second) &&
         (tg_kernel_can_sink(c, a, b) || tg_kernel_can_hoist(c, b, a));
}

static bool merge_partners(tg_compile *c, size_t a, size_t b) {
  return are_partners(c, a, b) && merge(c, a, b);
}

/* Merges kernel b into the product whose result it reads. */
static bool merge_into_product(tg_compile *c, size_t b) {
  const tg_kernel *second = &c->kernels[b];
  if (second->kind != TG_KERNEL_ELEMENTWISE) return false;
  size_t from = b > WINDOW ? b - WINDOW : 0;
  for (size_t a = b; a-- > from;) {
    const tg_kernel *first = &c->kernels[a];
    if (first->kind == TG_KERNEL_GEMM && tg_kernel_reads_any_of(second, first) &&
        tg_value_same_shape(first->output, second->output) && !renames_a_result(c, second, first) &&
        !rounding_parts(first, second) && tg_kernel_can_hoist(c, b, a))
      return merge(c, a, b);
  }
  return false;
}

tg_status tg_merge_elementwise(tg_compile *c) { return tg_merge_pairs(c, WINDOW, merge_partners); }

tg_status tg_merge_into_products(tg_compile *c) {
  for (size_t b = 0; b < c->kernel_count;)
    if (!merge_into_product(c, b)) b++;
  return TG_OK;
}
