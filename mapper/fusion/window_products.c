/* A convolution of one position joins the depthwise convolution that alone reads its result, as the first two of an
 * inverted residual do, where that is faster: tiles make the image that its windows go over, which is several times as
 * large as what it is made of, and visits no memory. */
#include "mapper/fusion/fusion.h"
#include "mapper/kernel/class.h"
#include "mapper/kernel/operand.h"

enum { WINDOW = 64 }; /* kernels back in which the convolution is looked for */

/* Does kernel b alone read the result of kernel a, a convolution of one position and nothing else? */
static bool makes_for(const tg_compile *c, size_t a, size_t b) {
  const tg_kernel *maker = &c->kernels[a], *reader = &c->kernels[b];
  const tg_value *value = maker->output;
  return maker->kind == TG_KERNEL_GEMM && maker->root->op == TG_OP_CONV &&
         tg_gemm_is_pointwise(maker->root) && tg_kernel_writes(maker) == 1 &&
         tg_kernel_computes(maker, 0) == value && !maker->prologue_result && !maker->pool && !maker->second &&
         !maker->column_sums && !tg_stochastic_store(maker) && reader->operands[0].source == value &&
         !tg_product_loads(c, reader, 1, value) && /* as its weights or bias */
         tg_value_same_shape(value, tg_in(reader->root, 0)) && !tg_needed_beside(c, value, a, b) &&
         tg_kernel_can_sink(c, a, b);
}

static tg_kernel together(tg_compile *c, const tg_kernel *a, const tg_kernel *b) {
  tg_kernel both = *b, *product = TG_NEW(c->arena, tg_kernel);
  *product = *a;
  both.product = product;
  tg_kernel_join_inputs(c, &both, a, b);
  return both;
}

static bool join(tg_compile *c, size_t a, size_t b) {
  tg_kernel both = together(c, &c->kernels[a], &c->kernels[b]);
  double faster = tg_kernel_rehearsed(c, &both);
  if (faster >= TG_NEVER ||
      !tg_is_faster(c, &both, faster,
                    tg_kernel_rehearsed(c, &c->kernels[a]) + tg_kernel_rehearsed(c, &c->kernels[b])))
    return false;
  tg_kernels_become(c, a, b, b, &both);
  return true;
}

static bool join_any(tg_compile *c, size_t b) {
  size_t from = b > WINDOW ? b - WINDOW : 0;
  if (c->kernels[b].kind != TG_KERNEL_DEPTHWISE || c->kernels[b].product) return false;
  for (size_t a = b; a-- > from;)
    if (makes_for(c, a, b)) return join(c, a, b);
  return false;
}

tg_status tg_join_window_products(tg_compile *c) {
  for (size_t b = 0; b < c->kernel_count;)
    if (!join_any(c, b)) b++;
  return TG_OK;
}
