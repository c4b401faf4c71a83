#include "runtime/cpu_reference/plan.h"

/* Padding after the data: what the model says, or more where ceil_mode lets the last window pass the end. */
static int64_t padding_after(int64_t out, int64_t stride, int64_t window, int64_t in, int64_t before,
                             int64_t given) {
  int64_t needed = (out - 1) * stride + window - in - before;
  return needed > given ? needed : given;
}

bool tg_cpu_plan_pool(tg_cpu_reference *plan, const tg_node *node) {
  const tg_value *in = tg_in(node, 0), *out = tg_out(node);
  if (out->rank != 4) return false;
  bool last = tg_attr_int(node, TG_ATTR_CHANNELS_LAST), average = node->op == TG_OP_AVERAGE_POOL;
  bool counts_padding = average && tg_attr_int(node, TG_ATTR_COUNT_INCLUDE_PAD);
  const int64_t *kernel = tg_attr_ints(node, TG_ATTR_KERNEL_SHAPE, NULL);
  const int64_t *strides = tg_attr_ints(node, TG_ATTR_STRIDES, NULL),
                *pads = tg_attr_ints(node, TG_ATTR_PADS, NULL);
  const int64_t *dilations = tg_attr_ints(node, TG_ATTR_DILATIONS, NULL);
  dnnl_dims_t k, s, d, before, after;
  for (int i = 0; i < 2; i++) {
    int dim = last ? 1 + i : 2 + i;
    k[i] = kernel[i], s[i] = strides[i], d[i] = dilations[i] - 1, before[i] = pads[i];
    after[i] = padding_after(out->dims[dim].size, s[i], (k[i] - 1) * dilations[i] + 1, in->dims[dim].size,
                             pads[i], pads[2 + i]);
    if (counts_padding && after[i] > pads[2 + i])
      return false; /* ONNX does not count what lies beyond the padding */
  }
  dnnl_memory_desc_t source = tg_cpu_image(plan, in, last), result = tg_cpu_image(plan, out, last);
  dnnl_alg_kind_t alg = !average         ? dnnl_pooling_max
                        : counts_padding ? dnnl_pooling_avg_include_padding
                                         : dnnl_pooling_avg_exclude_padding;
  dnnl_pooling_v2_desc_t op;
  dnnl_primitive_desc_t description;
  if (dnnl_pooling_v2_forward_desc_init(&op, dnnl_forward_inference, alg, &source, &result, s, k, d, before,
                                        after) ||
      !tg_cpu_describe(plan, &op, NULL, &description))
    return false;
  tg_cpu_arg args[] = {{DNNL_ARG_SRC, tg_cpu_memory(plan, &source, tg_cpu_data(plan, in))},
                       {DNNL_ARG_DST, tg_cpu_memory(plan, &result, tg_cpu_data(plan, out))}};
  return tg_cpu_append(plan, description, args, 2);
}
