#include "frontend/multiply_adds.h"
#include "frontend/reference/layout.h"

/* Elements of the filter of one output channel. */
static int64_t filter_elements(const tg_value *weights, bool channels_last) {
  const tg_dim *channels = &weights->dims[channels_last ? weights->rank - 1 : 0];
  return channels->size ? tg_value_elements(weights) / channels->size : 0;
}

int64_t tg_multiply_adds(const tg_node *node) {
  const tg_value *a = tg_in(node, 0), *b = tg_in(node, 1), *y = tg_out(node);
  switch (node->op) {
  case TG_OP_MATMUL: /* those that a pass makes to choose or to add say how they accumulate */
    if (tg_attr_int(node, TG_ATTR_ACCUMULATION) == TG_ACCUMULATE_FP32 ||
        tg_attr_int(node, TG_ATTR_ACCUMULATION) == TG_ACCUMULATE_BF16SR_EACH)
      return 0;
    return tg_value_elements(y) * a->dims[a->rank - 1].size;
  case TG_OP_BLOCKED_ATTENTION:
    return tg_value_elements_between(y, 0, y->rank - 1) * b->dims[b->rank - 1].size *
           a->dims[a->rank - 1].size;
  case TG_OP_MUL: return tg_attr_int(node, TG_ATTR_OF_PRODUCT) ? tg_value_elements(y) : 0;
  case TG_OP_GEMM: return tg_value_elements(y) * a->dims[!tg_attr_int(node, TG_ATTR_TRANS_A)].size;
  case TG_OP_CONV: return tg_value_elements(y) * filter_elements(b, tg_is_channels_last(node));
  case TG_OP_CONV_INPUT_GRADIENT: /* of dY with the weights */
    return tg_value_elements(a) * filter_elements(b, tg_is_channels_last(node));
  case TG_OP_CONV_TRANSPOSE: /* the weights' first dimension is the input's channels */
    return tg_value_elements(a) * filter_elements(b, false);
  case TG_OP_CONV_WEIGHT_GRADIENT: /* of dY with X, for the weights */
    return tg_value_elements(b) * filter_elements(y, tg_is_channels_last(node));
  default: return 0;
  }
}
