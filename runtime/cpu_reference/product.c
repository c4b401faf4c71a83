/* MatMul and Conv with what follows them fused as oneDNN post-operations. */
#include "runtime/cpu_reference/plan.h"

#include <string.h>

enum { MOST_FUSED = 4 };

typedef struct fusion {
  const tg_value *result; /* of the last node fused */
  const tg_value *bias;   /* or NULL */
  dnnl_post_ops_t ops;
  int op_count;
  dnnl_memory_desc_t descs[MOST_FUSED]; /* second operands of binary ones, NULL data otherwise */
  void *data[MOST_FUSED];
} fusion;

/* A view as the product sees its result: [N,C,H,W] for a convolution, the full rank for a matrix product. */
static dnnl_memory_desc_t as_result(const tg_cpu_reference *plan, const tg_node *product,
                                    const tg_value *value) {
  dnnl_memory_desc_t plain = tg_cpu_desc(plan, value, tg_out(product)->rank), view = plain;
  static const int from_nhwc[] = {0, 2, 3, 1};
  if (product->op == TG_OP_CONV && tg_attr_int(product, TG_ATTR_CHANNELS_LAST))
    dnnl_memory_desc_permute_axes(&view, &plain, from_nhwc);
  return view;
}

static int channel_dim(const tg_node *product) {
  const tg_value *out = tg_out(product);
  return product->op == TG_OP_CONV && !tg_attr_int(product, TG_ATTR_CHANNELS_LAST) ? 1 : out->rank - 1;
}

/* One element for each channel of the product's result, all other dimensions 1. */
static bool is_per_channel(const tg_node *product, const tg_value *value) {
  const tg_value *out = tg_out(product);
  int channel = channel_dim(product), from = channel - (out->rank - value->rank);
  return value->rank <= out->rank && from >= 0 && value->dims[from].size == out->dims[channel].size &&
         tg_value_elements(value) == out->dims[channel].size;
}

static bool fuse_binary(tg_cpu_reference *plan, const tg_node *product, const tg_node *next, fusion *fused) {
  dnnl_alg_kind_t alg;
  if (!tg_cpu_binary_of(next->op, &alg) || next->input_count != 2) return false;
  int mine = tg_in(next, 0) == fused->result ? 0 : 1;
  const tg_value *other = tg_in(next, 1 - mine);
  if (other == fused->result || (mine == 1 && !tg_op_is(next->op, TG_IS_COMMUTES))) return false;
  bool ready = other->kind != TG_VALUE_RESULT || plan->done[other->index];
  bool channel = is_per_channel(product, other);
  if (!ready || !tg_dtype_is_float(other->dtype) || !(channel || tg_value_same_shape(other, tg_out(product))))
    return false;
  if (channel && alg == dnnl_binary_add && !fused->bias && !fused->op_count && tg_is_constant(other)) {
    fused->bias = other;
    return true;
  }
  int i = fused->op_count;
  fused->descs[i] = as_result(plan, product, other);
  if (dnnl_post_ops_append_binary(fused->ops, alg, &fused->descs[i])) return false;
  fused->data[fused->op_count++] = tg_cpu_data(plan, other);
  return true;
}

static fusion fuse(tg_cpu_reference *plan, const tg_node *product) {
  fusion fused = {.result = tg_out(product), .bias = product->op == TG_OP_CONV ? tg_in(product, 2) : NULL};
  dnnl_post_ops_create(&fused.ops);
  while (fused.op_count < MOST_FUSED && fused.result->use_count == 1 && !fused.result->output_count) {
    const tg_node *next = fused.result->uses->node;
    tg_cpu_eltwise eltwise;
    if (tg_cpu_eltwise_of(next, &eltwise)) {
      if (dnnl_post_ops_append_eltwise(fused.ops, 1, eltwise.alg, eltwise.alpha, eltwise.beta)) break;
      fused.data[fused.op_count++] = NULL;
    } else if (!tg_value_same_shape(tg_out(next), tg_out(product)) ||
               !fuse_binary(plan, product, next, &fused)) {
      break;
    }
    fused.result = tg_out(next);
  }
  return fused;
}

/* The stationary operand in the layout that the primitive prefers: constants are packed now. */
static dnnl_memory_t packed(tg_cpu_reference *plan, const tg_value *value, const dnnl_memory_desc_t *plain,
                            const dnnl_memory_desc_t *wanted) {
  void *data = tg_cpu_data(plan, value);
  if (dnnl_memory_desc_equal(plain, wanted)) return tg_cpu_memory(plan, wanted, data);
  bool once = tg_is_constant(value);
  size_t bytes = dnnl_memory_desc_get_size(wanted);
  void *copy = once ? tg_arena_alloc(&plan->arena, bytes, 1) : tg_cpu_scratch(plan, bytes);
  if (!tg_cpu_reorder(plan, plain, data, wanted, copy, once)) return NULL;
  return tg_cpu_memory(plan, wanted, copy);
}

typedef struct product {
  dnnl_memory_desc_t source, weights, bias, result; /* weights as they lie */
  dnnl_memory_desc_t any_weights;
  union {
    dnnl_matmul_desc_t matmul;
    dnnl_convolution_desc_t conv;
  } op;
} product;

static bool describe_matmul(const tg_cpu_reference *plan, const tg_node *node, const fusion *fused,
                            product *p) {
  int rank = tg_out(node)->rank;
  if (tg_in(node, 0)->rank < 2 || tg_in(node, 1)->rank < 2) return false;
  p->source = tg_cpu_desc(plan, tg_in(node, 0), rank);
  p->weights = tg_cpu_desc(plan, tg_in(node, 1), rank);
  p->result = tg_cpu_desc(plan, tg_out(node), 0);
  if (fused->bias) p->bias = tg_cpu_desc(plan, fused->bias, rank);
  p->any_weights = p->weights;
  if (tg_is_constant(tg_in(node, 1)))
    dnnl_memory_desc_init_by_tag(&p->any_weights, rank, p->weights.dims, p->weights.data_type,
                                 dnnl_format_tag_any);
  return !dnnl_matmul_desc_init(&p->op.matmul, &p->source, &p->any_weights, fused->bias ? &p->bias : NULL,
                                &p->result);
}

/* Weights [KH,KW,I,O] or [O,I,KH,KW] as oneDNN's [G,O/G,I,KH,KW], without G when there is one group. */
static void describe_weights(const tg_cpu_reference *plan, const tg_node *node, product *p) {
  const tg_value *w = tg_in(node, 1);
  bool last = tg_attr_int(node, TG_ATTR_CHANNELS_LAST);
  int64_t sizes[TG_MAX_RANK], groups = tg_attr_int(node, TG_ATTR_GROUP);
  tg_value_sizes(w, sizes);
  int64_t kh = last ? sizes[0] : sizes[2], kw = last ? sizes[1] : sizes[3];
  int64_t in = last ? sizes[2] : sizes[1], out = last ? sizes[3] : sizes[0];
  dnnl_dims_t dims = {groups, out / groups, in, kh, kw};
  dnnl_dims_t channels_last = {out / groups, 1, out, kw * in * out, in * out};
  dnnl_dims_t channels_first = {out / groups * in * kh * kw, in * kh * kw, kh * kw, kw, 1};
  int skip = groups == 1;
  dnnl_data_type_t type = tg_cpu_dnnl_type(plan->dtype);
  dnnl_memory_desc_init_by_strides(&p->weights, 5 - skip, dims + skip, type,
                                   (last ? channels_last : channels_first) + skip);
  dnnl_memory_desc_init_by_tag(&p->any_weights, 5 - skip, dims + skip, type, dnnl_format_tag_any);
}

static bool describe_conv(const tg_cpu_reference *plan, const tg_node *node, const fusion *fused,
                          product *p) {
  if (tg_out(node)->rank != 4) return false;
  bool last = tg_attr_int(node, TG_ATTR_CHANNELS_LAST);
  p->source = tg_cpu_image(plan, tg_in(node, 0), last);
  p->result = tg_cpu_image(plan, tg_out(node), last);
  describe_weights(plan, node, p);
  if (fused->bias) {
    dnnl_dims_t channels = {tg_value_elements(fused->bias)};
    dnnl_memory_desc_init_by_tag(&p->bias, 1, channels, tg_cpu_dnnl_type(plan->dtype), dnnl_a);
  }
  const int64_t *strides = tg_attr_ints(node, TG_ATTR_STRIDES, NULL),
                *pads = tg_attr_ints(node, TG_ATTR_PADS, NULL);
  const int64_t *dilations = tg_attr_ints(node, TG_ATTR_DILATIONS, NULL);
  dnnl_dims_t s = {strides[0], strides[1]}, d = {dilations[0] - 1, dilations[1] - 1};
  dnnl_dims_t before = {pads[0], pads[1]}, after = {pads[2], pads[3]};
  return !dnnl_dilated_convolution_forward_desc_init(
      &p->op.conv, dnnl_forward_inference, dnnl_convolution_auto, &p->source, &p->any_weights,
      fused->bias ? &p->bias : NULL, &p->result, s, d, before, after);
}

static bool append_product(tg_cpu_reference *plan, const tg_node *node, const fusion *fused, const product *p,
                           dnnl_primitive_desc_t description) {
  const dnnl_memory_desc_t *wanted = dnnl_primitive_desc_query_md(description, dnnl_query_weights_md, 0);
  dnnl_memory_t weights = packed(plan, tg_in(node, 1), &p->weights, wanted);
  if (!weights) {
    dnnl_primitive_desc_destroy(description);
    return false;
  }
  tg_cpu_arg args[4 + MOST_FUSED];
  int count = 0;
  args[count++] =
      (tg_cpu_arg){DNNL_ARG_SRC, tg_cpu_memory(plan, &p->source, tg_cpu_data(plan, tg_in(node, 0)))};
  args[count++] = (tg_cpu_arg){DNNL_ARG_WEIGHTS, weights};
  if (fused->bias)
    args[count++] =
        (tg_cpu_arg){DNNL_ARG_BIAS, tg_cpu_memory(plan, &p->bias, tg_cpu_data(plan, fused->bias))};
  args[count++] =
      (tg_cpu_arg){DNNL_ARG_DST, tg_cpu_memory(plan, &p->result, tg_cpu_data(plan, fused->result))};
  for (int i = 0; i < fused->op_count; i++)
    if (fused->data[i])
      args[count++] = (tg_cpu_arg){DNNL_ARG_ATTR_MULTIPLE_POST_OP(i) | DNNL_ARG_SRC_1,
                                   tg_cpu_memory(plan, &fused->descs[i], fused->data[i])};
  return tg_cpu_append(plan, description, args, count);
}

/* Every node from the product to the last one fused has its result. */
static void mark_done(tg_cpu_reference *plan, const tg_node *node, const tg_value *last) {
  for (const tg_value *value = tg_out(node);; value = tg_out(value->uses->node)) {
    plan->done[value->index] = true;
    if (value == last) return;
  }
}

static bool plan_with(tg_cpu_reference *plan, const tg_node *node, const fusion *fused) {
  product p = {0};
  bool good =
      node->op == TG_OP_CONV ? describe_conv(plan, node, fused, &p) : describe_matmul(plan, node, fused, &p);
  dnnl_primitive_attr_t attr = NULL;
  dnnl_primitive_attr_create(&attr);
  dnnl_primitive_attr_set_post_ops(attr, fused->ops);
  dnnl_primitive_desc_t description;
  good = good && tg_cpu_describe(plan, &p.op, attr, &description) &&
         append_product(plan, node, fused, &p, description);
  dnnl_primitive_attr_destroy(attr);
  if (good) mark_done(plan, node, fused->result);
  return good;
}

bool tg_cpu_plan_product(tg_cpu_reference *plan, const tg_node *node) {
  fusion fused = fuse(plan, node);
  bool good = plan_with(plan, node, &fused);
  dnnl_post_ops_destroy(fused.ops);
  if (good || fused.result == tg_out(node)) return good;
  fusion alone = {.result = tg_out(node), .bias = node->op == TG_OP_CONV ? tg_in(node, 2) : NULL};
  dnnl_post_ops_create(&alone.ops);
  good = plan_with(plan, node, &alone);
  dnnl_post_ops_destroy(alone.ops);
  return good;
}
