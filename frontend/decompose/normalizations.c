/* InstanceNormalization and GroupNormalization as mean and variance of all positions of neighbouring channels, and a scale and a bias.
 * Channels keep a dimension of their own: they may come to lie last, as convolutions have them. Rows may be longer than
 * LayerNormalization can hold. */
#include "frontend/decompose/decompose.h"

#include <inttypes.h>

/* Channels are normalised together in so many groups. */
static int64_t groups_of(const tg_node *node) {
  return node->op == TG_OP_GROUP_NORMALIZATION ? tg_attr_int(node, TG_ATTR_NUM_GROUPS)
                                               : tg_in(node, 0)->dims[1].size;
}

/* Before opset 21 GroupNormalization has a scale for each group, from then on for each channel. */
tg_status tg_infer_grouped_normalization(tg_node *node, tg_diag *diag) {
  const tg_value *x = tg_in(node, 0);
  int64_t sizes[TG_MAX_RANK];
  if (x->rank < 3) return tg_fail(diag, TG_INVALID, "data of rank %d has no channels of images", x->rank);
  int64_t channels = x->dims[1].size, groups = groups_of(node);
  if (!tg_value_elements(x)) return tg_fail(diag, TG_INVALID, "its data is empty");
  if (groups < 1 || channels % groups)
    return tg_fail(diag, TG_INVALID, "%" PRId64 " channels are not %" PRId64 " equal groups", channels,
                   groups);
  for (int i = 1; i < 3; i++) {
    const tg_value *other = tg_in(node, i);
    int64_t count = other->rank == 1 ? other->dims[0].size : -1;
    if ((count != channels && count != groups) || count != tg_in(node, 1)->dims[0].size)
      return tg_fail(diag, TG_INVALID, "input %d does not have an element for each of %" PRId64 " channels",
                     i, channels);
  }
  tg_value_sizes(x, sizes);
  return tg_infer_result(node, x->dtype, x->rank, sizes, diag);
}

/* What PyTorch writes where a normalisation has no scale and bias of its own. */
static bool is_no_parameter(const tg_value *value, float number) {
  if (!tg_is_constant(value) || value->initializer) return false;
  for (int64_t i = 0; i < tg_value_elements(value); i++)
    if (tg_load_f32(value->data, value->dtype, (size_t)i) != number) return false;
  return true;
}

/* Of all positions and channels of each group of the data: [N, groups, 1], or [N, C, 1 ..] where each has one. */
static tg_value *group_mean(tg_build *b, tg_value *x, int64_t groups) {
  int64_t batch = x->dims[0].size, channels = x->dims[1].size, grouped[] = {batch, groups, channels / groups};
  tg_value *sum = tg_build_sum(b, x, ~3u & ((1u << x->rank) - 1));
  if (groups < channels) sum = tg_build_sum(b, tg_build_reshape(b, sum, 3, grouped), 1u << 2);
  return tg_build_with(b, TG_OP_MUL, sum, (double)(batch * groups) / (double)tg_value_elements(x));
}

/* What each group has, for each of its channels: [N, C, 1 ..]. */
static tg_value *of_channels(tg_build *b, tg_value *value, const tg_value *x) {
  int64_t each[] = {x->dims[0].size, value->dims[1].size, x->dims[1].size / value->dims[1].size},
          sizes[TG_MAX_RANK] = {x->dims[0].size, x->dims[1].size};
  for (int d = 2; d < x->rank; d++) sizes[d] = 1;
  if (each[2] == 1) return value;
  return tg_build_reshape(b, tg_build_expand(b, value, 3, each), x->rank, sizes);
}

/* Two passes, as LayerNormalization: the squares are those of what is left after the mean. */
static tg_value *normalised(tg_build *b, tg_value *x, int64_t groups, double epsilon) {
  tg_value *rest = tg_build_binary(b, TG_OP_SUB, x, of_channels(b, group_mean(b, x, groups), x));
  tg_value *variance = group_mean(b, tg_build_binary(b, TG_OP_MUL, rest, rest), groups);
  tg_value *deviation = tg_build_unary(b, TG_OP_SQRT, tg_build_with(b, TG_OP_ADD, variance, epsilon));
  tg_value *share = tg_build_unary(b, TG_OP_RECIPROCAL, deviation);
  return tg_build_binary(b, TG_OP_MUL, rest, of_channels(b, share, x));
}

/* An element for each channel, or for each group, of the data. */
static tg_value *parameter(tg_build *b, tg_value *value, const tg_value *x) {
  int64_t groups = value->dims[0].size, each[] = {1, groups, 1};
  tg_value *column = tg_build_reshape(b, tg_build_cast(b, value, TG_F32), 3, each);
  if (groups < x->dims[1].size) {
    int64_t sizes[] = {1, groups, x->dims[1].size / groups};
    column = tg_build_expand(b, column, 3, sizes);
  }
  int64_t sizes[TG_MAX_RANK] = {1, x->dims[1].size};
  for (int d = 2; d < x->rank; d++) sizes[d] = 1;
  return tg_build_reshape(b, column, x->rank, sizes);
}

/* PyTorch writes a GroupNormalization as an InstanceNormalization of [N, groups, ..]: what that was made of, whose channels are a
 * dimension; else the data. */
static tg_value *with_channels(const tg_node *node) {
  tg_value *x = tg_in(node, 0);
  if (node->op != TG_OP_INSTANCE_NORMALIZATION || !x->producer || x->producer->op != TG_OP_RESHAPE) return x;
  tg_value *before = tg_in(x->producer, 0);
  bool groups = before->rank > 2 && before->dtype == x->dtype && before->dims[0].size == x->dims[0].size &&
                before->dims[1].size % x->dims[1].size == 0;
  return groups ? before : x;
}

/* Statistics are FP32 under every policy; what goes in, scale and bias are as the policy has it. */
void tg_expand_grouped_normalization(tg_graph *graph, tg_node *node) {
  bool keep_formats = node->disable_graphamp;
  tg_build b = {
      .graph = graph, .before = node, .name = node->name, .forward = -1, .keep_formats = keep_formats};
  tg_value *x = with_channels(node), *scale = tg_in(node, 1), *bias = tg_in(node, 2);
  tg_value *y = tg_build_cast(&b, x, TG_F32);
  b.keep_formats = true;
  y = normalised(&b, y, groups_of(node), tg_attr_float(node, TG_ATTR_EPSILON));
  b.keep_formats = keep_formats;
  if (!is_no_parameter(scale, 1)) y = tg_build_binary(&b, TG_OP_MUL, y, parameter(&b, scale, x));
  if (!is_no_parameter(bias, 0)) y = tg_build_binary(&b, TG_OP_ADD, y, parameter(&b, bias, x));
  y = tg_build_cast(&b, tg_build_reshape_like(&b, y, tg_in(node, 0)), tg_out(node)->dtype);
  tg_build_result(graph, tg_out(node), y);
  tg_graph_remove_node(graph, node);
}
