/* Reductions of rows and elementwise kernels that share a tensor with them, or read what they make, become
 * one kernel where that is faster: the gradients of a softmax and of a layer normalisation load each
 * tensor once. */
#include "mapper/fusion/fusion.h"
#include "mapper/kernel/class.h"

enum {
  WINDOW = 64, /* kernels back in which a partner is looked for */
  START = 300  /* cycles of a section before its first row and behind its last one, roughly */
};

/* The nodes of the kernel in order, as those of a row kernel. */
static void add_nodes_of(tg_compile *c, const tg_kernel *kernel, tg_node_list *to) {
  tg_add_nodes(c->arena, to, kernel->prologue[0].nodes, kernel->prologue[0].count);
  for (int i = 0; kernel->kind == TG_KERNEL_REDUCE && i < tg_kernel_roots(kernel); i++) {
    tg_node *root = tg_kernel_root(kernel, i);
    tg_add_nodes(c->arena, to, &root, 1);
  }
  tg_add_nodes(c->arena, to, kernel->fused, kernel->fused_count);
}

static double cycles_of(tg_compile *c, const tg_kernel *kernel) {
  return tg_kernel_cycles(c, kernel) + START;
}

static bool share_rows(const tg_kernel *a, const tg_kernel *b, const int64_t dims[2]) {
  return tg_kernel_reads_any_of(b, a) || tg_kernels_share_input(a, b, dims[0] * dims[1]);
}

static bool goes_over(const tg_kernel *kernel, const int64_t dims[2]) {
  int64_t own[2];
  if (kernel->kind == TG_KERNEL_ELEMENTWISE)
    return tg_value_elements(kernel->output) == dims[0] * dims[1] && !tg_stochastic_store(kernel);
  return tg_rowwise_dims(kernel, own) && own[0] == dims[0] && own[1] == dims[1];
}

/* Kernel `a` comes before `b`. */
static bool merge(tg_compile *c, size_t a, size_t b) {
  tg_kernel both = {.kind = TG_KERNEL_ROWWISE};
  tg_node_list nodes = {0};
  if (!tg_kernel_add_results(c, &both, a, a, b) || !tg_kernel_add_results(c, &both, b, a, b) || !both.output)
    return false;
  add_nodes_of(c, &c->kernels[a], &nodes);
  add_nodes_of(c, &c->kernels[b], &nodes);
  tg_kernel_set_nodes(c, &both, &nodes);
  double together = cycles_of(c, &both);
  if (together >= TG_NEVER || together >= cycles_of(c, &c->kernels[a]) + cycles_of(c, &c->kernels[b]))
    return false;
  tg_kernels_become(c, a, b, tg_kernel_can_sink(c, a, b) ? b : a, &both);
  return true;
}

static bool are_partners(const tg_compile *c, size_t a, size_t b, int64_t dims[2]) {
  const tg_kernel *first = &c->kernels[a], *second = &c->kernels[b];
  if (!tg_rowwise_dims(first, dims) && !tg_rowwise_dims(second, dims)) return false;
  return goes_over(first, dims) && goes_over(second, dims) && share_rows(first, second, dims) &&
         (tg_kernel_can_sink(c, a, b) || tg_kernel_can_hoist(c, b, a));
}

static bool merge_partners(tg_compile *c, size_t a, size_t b) {
  int64_t dims[2];
  return are_partners(c, a, b, dims) && merge(c, a, b);
}

tg_status tg_merge_rowwise(tg_compile *c) { return tg_merge_pairs(c, WINDOW, merge_partners); }
