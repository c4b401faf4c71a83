#include "mapper/kernel/outer.h"

#include "mapper/kernel/operand.h"
#include "mapper/kernel/view.h"

/* What a Transpose makes is loaded as it is, if a kernel stores it. */
static tg_operand operand_of(const tg_compile *c, const tg_node *node, int input) {
  tg_value *value = tg_in(node, input);
  if (!c->stored[value->index]) return tg_resolve_operand(c, c->stored, node, input);
  tg_operand operand = {.source = value};
  (void)tg_value_strides(c, value, operand.stride); /* what is stored owns its place */
  return operand;
}

/* Images are [N, H, W, channels], weights [1, 1, input channels, output channels]. */
bool tg_outer_of(const tg_compile *c, const tg_node *node, tg_outer *out) {
  bool suits = node->op == TG_OP_CONV || node->op == TG_OP_CONV_INPUT_GRADIENT;
  if (!suits || !tg_gemm_is_pointwise(node) || tg_rounds_accumulation(c, node)) return false;
  const tg_value *weights = tg_in(node, 1);
  bool gradient = node->op == TG_OP_CONV_INPUT_GRADIENT;
  int64_t k = weights->dims[gradient ? 3 : 2].size, outputs = weights->dims[3].size;
  if (k < 1 || k > TG_OUTER_MOST || tg_in(node, 0)->dtype != weights->dtype) return false;
  *out = (tg_outer){.count = (int)k};
  for (int i = 0; i < 2; i++) {
    tg_operand operand = operand_of(c, node, i);
    out->operand[i] = operand.source;
    out->dtype[i] = tg_in(node, i)->dtype;
    if (i == 0) {
      for (int d = 0; d < 3; d++) out->stride[0][d] = operand.stride[d];
      out->step[0] = operand.stride[3];
    }
  }
  out->stride[1][3] = gradient ? outputs : 1;
  out->step[1] = gradient ? 1 : outputs;
  return true;
}

tg_value *tg_loaded_by(const tg_compile *c, const tg_node *node, int input) {
  bool product = tg_is_product_operand(node, input);
  return tg_owner(c, product ? operand_of(c, node, input).source : tg_in(node, input));
}
