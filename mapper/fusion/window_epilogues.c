/* What elementwise nodes make of a depthwise convolution's result, which they read in more than one way, as x * sigmoid(x)
 * and a HardSwish in parts do, joins the convolution, where that is faster: the result visits memory once less. What
 * reads it once has joined it when kernels were formed. */
#include "frontend/base/math.h"
#include "mapper/fusion/fusion.h"
#include "mapper/kernel/class.h"

enum { WINDOW = 256 }; /* kernels back in which the convolution is looked for */

/* Does kernel `b` compute of kernel `a`'s result alone, which nobody else needs? */
static bool computes_of(tg_compile *c, size_t a, size_t b) {
  const tg_kernel *maker = &c->kernels[a], *reader = &c->kernels[b];
  return maker->kind == TG_KERNEL_DEPTHWISE && tg_kernel_writes(maker) == 1 &&
         tg_kernel_writes(reader) == 1 && reader->input_count == 1 && reader->inputs[0] == maker->output &&
         tg_value_same_shape(maker->output, reader->output) && !tg_stochastic_store(maker) &&
         !tg_needed_beside(c, maker->output, a, b);
}

/* False: the maker has no room for all nodes. */
static bool with_nodes_of(tg_compile *c, size_t a, size_t b, tg_kernel *out) {
  const tg_kernel *maker = &c->kernels[a], *reader = &c->kernels[b];
  tg_node_list nodes = {0};
  *out = *maker;
  tg_add_nodes(c->arena, &nodes, maker->fused, maker->fused_count);
  for (size_t n = 0; n < reader->fused_count; n++) {
    tg_set_fused(out, &nodes);
    if (!tg_class_of(c, out)->takes(c, out, reader->fused[n], 0)) return false;
    tg_add_nodes(c->arena, &nodes, &reader->fused[n], 1);
  }
  tg_set_fused(out, &nodes);
  out->output = reader->output;
  return true;
}

/* A reduction that reads `value` alone; NULL: there is none. */
static const tg_kernel *reduction_of(const tg_compile *c, const tg_value *value) {
  for (size_t k = 0; k < c->kernel_count; k++) {
    const tg_kernel *kernel = &c->kernels[k];
    if (kernel->kind == TG_KERNEL_REDUCE && kernel->input_count == 1 && kernel->inputs[0] == value)
      return kernel;
  }
  return NULL;
}

/* The nodes may go with a reduction of their result, which stores it on the way, just as well, and it with both. */
static bool is_faster(tg_compile *c, const tg_kernel *maker, const tg_kernel *reader, const tg_kernel *both) {
  double together = tg_kernel_rehearsed(c, both);
  if (together >= TG_NEVER || c->options.any_tiling) return tg_is_faster(c, both, together, 0);
  double nodes = tg_kernel_rehearsed(c, reader);
  const tg_kernel *reduction = reduction_of(c, reader->output);
  if (reduction) {
    double alone = tg_kernel_rehearsed(c, reduction);
    tg_kernel behind = *reduction, all = *both;
    tg_node_list prologue = {0};
    tg_add_nodes(c->arena, &prologue, reader->fused, reader->fused_count);
    tg_add_nodes(c->arena, &prologue, reduction->prologue[0].nodes, reduction->prologue[0].count);
    tg_kernel_set_nodes(c, &behind, &prologue);
    behind.beside = reader->output;
    all.column_sums = reduction;
    nodes += alone;
    if (tg_kernel_fits(c, &behind)) nodes = tg_min_double(nodes, tg_kernel_rehearsed(c, &behind));
    together = tg_min_double(together + alone, tg_kernel_rehearsed(c, &all));
  }
  return tg_is_faster(c, both, together, tg_kernel_rehearsed(c, maker) + nodes);
}

static bool join(tg_compile *c, size_t a, size_t b) {
  tg_kernel both;
  if (!with_nodes_of(c, a, b, &both) || !tg_kernel_fits(c, &c->kernels[b]) ||
      !is_faster(c, &c->kernels[a], &c->kernels[b], &both))
    return false;
  tg_kernels_become(c, a, b, a, &both);
  return true;
}

static bool join_any(tg_compile *c, size_t b) {
  size_t from = b > WINDOW ? b - WINDOW : 0;
  if (c->kernels[b].kind != TG_KERNEL_ELEMENTWISE) return false;
  for (size_t a = b; a-- > from;)
    if (computes_of(c, a, b)) return join(c, a, b);
  return false;
}

tg_status tg_merge_into_windows(tg_compile *c) {
  for (size_t b = 0; b < c->kernel_count;)
    if (!join_any(c, b)) b++;
  return TG_OK;
}
