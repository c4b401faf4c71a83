/* y = (x - mean) / sqrt(variance + epsilon) * scale + bias is y = x * factor + offset for each channel. */
#include "frontend/base/float_formats.h"
#include "frontend/build/rewrite.h"
#include "frontend/passes/passes.h"

#include <math.h>

/* The constant that the value is, or that the precision policy casts: what is computed from it is rounded
 * once, at the end. NULL: none. */
static const tg_value *constant_behind(const tg_value *value) {
  if (value && tg_is_plain_cast(value->producer)) value = tg_in(value->producer, 0);
  return tg_is_constant(value) && !value->elided ? value : NULL;
}

static double element(const tg_value *value, int64_t index) {
  const tg_value *constant = constant_behind(value);
  return (double)tg_load_f32(constant->data, constant->dtype, (size_t)index);
}

/* factor and offset of channel c, in double, from constant statistics. */
static void affine(const tg_node *node, int64_t c, double *factor, double *offset) {
  double v[5];
  for (int i = 1; i < 5; i++) v[i] = element(tg_in(node, i), c);
  *factor = v[1] / sqrt(v[4] + tg_attr_float(node, TG_ATTR_EPSILON));
  *offset = v[2] - v[3] * *factor;
}

static bool has_constant_statistics(const tg_node *node) {
  for (int i = 1; i < 5; i++)
    if (!constant_behind(tg_in(node, i))) return false;
  return true;
}

/* --- into the convolution before */

static tg_node *foldable_conv(const tg_node *node) {
  const tg_value *x = tg_in(node, 0);
  tg_node *conv = x->producer;
  if (!conv || conv->op != TG_OP_CONV || x->use_count != 1 || x->output_count) return NULL;
  const tg_value *weights = tg_in(conv, 1), *bias = tg_in(conv, 2);
  bool constant = constant_behind(weights) && (!bias || constant_behind(bias));
  bool plain = !tg_attr_int(conv, TG_ATTR_CHANNELS_LAST) && conv->disable_graphamp == node->disable_graphamp;
  return constant && plain ? conv : NULL;
}

/* Elements first .. first + count - 1 of `to` become those of the constant, times the factor. */
static void scale(const tg_value *constant, double factor, int64_t first, int64_t count, const tg_value *to) {
  if (constant->dtype == TG_F32 &&
      (to->dtype == TG_F32 || to->dtype == TG_BF16)) { /* most, and there are many */
    const float *from = (const float *)constant->data + first;
    uint32_t *made = (uint32_t *)(void *)to->data + first;
    uint16_t *halves = (uint16_t *)(void *)to->data + first;
    for (int64_t i = 0; i < count; i++) { /* as tg_store_f32 has it */
      uint32_t w = tg_f32_bits((float)((double)from[i] * factor));
      if (to->dtype == TG_F32)
        made[i] = tg_canonical(w);
      else
        halves[i] = tg_bf16_from_f32(w);
    }
    return;
  }
  for (int64_t i = first; i < first + count; i++) {
    double w = (double)tg_load_f32(constant->data, constant->dtype, (size_t)i) * factor;
    tg_store_f32((void *)to->data, to->dtype, (size_t)i, (float)w);
  }
}

static void fold_into_conv(tg_graph *graph, tg_node *node, tg_node *conv) {
  const tg_value *weights = tg_in(conv, 1), *bias = tg_in(conv, 2);
  int64_t channels = weights->dims[0].size, each = tg_value_elements_between(weights, 1, weights->rank);
  int64_t sizes[TG_MAX_RANK];
  tg_value_sizes(weights, sizes);
  tg_value *new_weights =
      tg_graph_add_constant(graph, weights->name, weights->dtype, weights->rank, sizes, NULL, false);
  const tg_value *like = bias ? bias : tg_in(node, 2);
  tg_value *new_bias = tg_graph_add_constant(graph, like->name, like->dtype, 1, &channels, NULL, false);
  for (int64_t c = 0; c < channels; c++) {
    double factor, offset;
    affine(node, c, &factor, &offset);
    double old = bias ? element(bias, c) : 0;
    tg_store_f32((void *)new_bias->data, new_bias->dtype, (size_t)c, (float)(old * factor + offset));
    scale(constant_behind(weights), factor, c * each, each, new_weights);
  }
  tg_value *operands[] = {tg_in(conv, 0), new_weights, new_bias};
  tg_node *folded = tg_graph_add_node(graph, TG_OP_CONV, conv->name, operands, 3, conv, conv->id);
  for (int i = 0; i < conv->attr_count; i++) folded->attrs[i] = conv->attrs[i];
  folded->disable_graphamp = conv->disable_graphamp;
  folded->rule = conv->rule;
  tg_out(folded)->dtype = tg_out(node)->dtype;
  tg_rewrite_infer(graph, folded);
  tg_rewrite_replace(graph, node, tg_out(folded));
}

/* --- alone */

/* Operators compute in fp32: what stands between them stays there, whatever they read and write. */
static tg_dtype between(const tg_node *node) { return tg_out(node)->dtype == TG_F64 ? TG_F64 : TG_F32; }

static tg_value *binary(tg_graph *graph, tg_node *at, tg_op op, tg_value *a, tg_value *b) {
  tg_value *operands[] = {a, b};
  tg_node *made = tg_rewrite_node(graph, op, at->name, operands, 2, between(at), at, -1);
  made->disable_graphamp = at->disable_graphamp;
  made->rule = at->rule;
  return tg_out(made);
}

/* [C] to [C, 1, ...]: broadcast along everything but the channels. */
static tg_value *per_channel(tg_graph *graph, tg_node *node, tg_value *value) {
  int64_t sizes[TG_MAX_RANK] = {value->dims[0].size, 1, 1, 1, 1, 1, 1, 1};
  return tg_rewrite_reshape(graph, value, tg_in(node, 0)->rank - 1, sizes, node);
}

static void constant_affine(tg_graph *graph, tg_node *node, tg_value **out_factor, tg_value **out_offset) {
  const tg_value *scale = tg_in(node, 1), *bias = tg_in(node, 2);
  int64_t channels = scale->dims[0].size;
  *out_factor = tg_graph_add_constant(graph, scale->name, scale->dtype, 1, &channels, NULL, false);
  *out_offset = tg_graph_add_constant(graph, bias->name, bias->dtype, 1, &channels, NULL, false);
  for (int64_t c = 0; c < channels; c++) {
    double factor, offset;
    affine(node, c, &factor, &offset);
    tg_store_f32((void *)(*out_factor)->data, scale->dtype, (size_t)c, (float)factor);
    tg_store_f32((void *)(*out_offset)->data, bias->dtype, (size_t)c, (float)offset);
  }
}

static void computed_affine(tg_graph *graph, tg_node *node, tg_value **out_factor, tg_value **out_offset) {
  tg_value *variance = tg_in(node, 4);
  tg_value *epsilon =
      tg_graph_add_scalar(graph, "epsilon", variance->dtype, tg_attr_float(node, TG_ATTR_EPSILON));
  tg_value *sum = binary(graph, node, TG_OP_ADD, variance, epsilon);
  tg_value *root = tg_out(tg_rewrite_node(graph, TG_OP_SQRT, node->name, &sum, 1, between(node), node, -1));
  root->producer->rule = node->rule;
  *out_factor = binary(graph, node, TG_OP_DIV, tg_in(node, 1), root);
  *out_offset = binary(graph, node, TG_OP_SUB, tg_in(node, 2),
                       binary(graph, node, TG_OP_MUL, tg_in(node, 3), *out_factor));
}

static void decompose(tg_graph *graph, tg_node *node) {
  tg_value *factor, *offset;
  if (has_constant_statistics(node))
    constant_affine(graph, node, &factor, &offset);
  else
    computed_affine(graph, node, &factor, &offset);
  tg_value *product = binary(graph, node, TG_OP_MUL, tg_in(node, 0), per_channel(graph, node, factor));
  tg_value *operands[] = {product, per_channel(graph, node, offset)};
  tg_node *add =
      tg_rewrite_node(graph, TG_OP_ADD, node->name, operands, 2, tg_out(node)->dtype, node, node->id);
  add->disable_graphamp = node->disable_graphamp;
  add->rule = node->rule;
  tg_rewrite_replace(graph, node, tg_out(add));
}

void tg_pass_lower_batch_normalization(tg_graph *graph) {
  TG_FOR_NODES_SAFE(graph, node) {
    if (node->op != TG_OP_BATCH_NORMALIZATION) continue;
    tg_node *conv = has_constant_statistics(node) ? foldable_conv(node) : NULL;
    if (conv)
      fold_into_conv(graph, node, conv);
    else
      decompose(graph, node);
  }
  tg_pass_remove_dead(graph);
}
