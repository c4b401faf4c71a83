/* A reduction over the positions of each image, as a global average pool is, joins the depthwise convolution whose result it
 * reads, where that is faster: it reads the results before they leave a tile, in the order in which it would have loaded
 * them. */
#include "mapper/fusion/fusion.h"
#include "mapper/kernel/class.h"

enum { WINDOW = 256 }; /* kernels back in which the convolution is looked for */

static bool is_reduction(const tg_kernel *kernel) {
  return kernel->kind == TG_KERNEL_REDUCE && !kernel->beside && !kernel->more_count &&
         kernel->input_count == 1;
}

static bool is_reduced(const tg_kernel *kernel, const tg_kernel *reduction) {
  return kernel->kind == TG_KERNEL_DEPTHWISE && !kernel->column_sums &&
         kernel->output == reduction->inputs[0];
}

static bool join(tg_compile *c, size_t a, size_t b) {
  tg_kernel both = c->kernels[a], *totals = TG_NEW(c->arena, tg_kernel);
  *totals = c->kernels[b];
  both.column_sums = totals;
  if (!tg_kernel_can_hoist(c, b, a) ||
      !tg_is_faster(c, &both, tg_kernel_rehearsed(c, &both),
                    tg_kernel_rehearsed(c, &c->kernels[a]) + tg_kernel_rehearsed(c, totals)))
    return false;
  tg_kernels_become(c, a, b, a, &both);
  return true;
}

static bool join_any(tg_compile *c, size_t b) {
  size_t from = b > WINDOW ? b - WINDOW : 0;
  if (!is_reduction(&c->kernels[b])) return false;
  for (size_t a = b; a-- > from;)
    if (is_reduced(&c->kernels[a], &c->kernels[b])) return join(c, a, b);
  return false;
}

tg_status tg_join_window_sums(tg_compile *c) {
  for (size_t b = 0; b < c->kernel_count;)
    if (!join_any(c, b)) b++;
  return TG_OK;
}
