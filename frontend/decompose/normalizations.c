/* InstanceNormalization and GroupNormalization as mean and variance of rows, each of all positions of
 * neighbouring channels, and a scale and a bias. Rows may be longer than LayerNormalization can hold. */
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

static tg_value *row_mean(tg_build *b, tg_value *x) {
  return tg_build_with(b, TG_OP_MUL, tg_build_sum(b, x, 1u << 1), 1 / (double)x->dims[1].size);
}

/* Two passes, as LayerNormalization: the squares are those of what is left after the mean. */
static tg_value *normalised(tg_build *b, tg_value *rows, double epsilon) {
  tg_value *rest = tg_build_binary(b, TG_OP_SUB, rows, row_mean(b, rows));
  tg_value *variance = row_mean(b, tg_build_binary(b, TG_OP_MUL, rest, rest));
  tg_value *deviation = tg_build_unary(b, TG_OP_SQRT, tg_build_with(b, TG_OP_ADD, variance, epsilon));
  return tg_build_binary(b, TG_OP_MUL, rest, tg_build_unary(b, TG_OP_RECIPROCAL, deviation));
}

static tg_value *as_column(tg_build *b, tg_value *value) {
  int64_t column[] = {value->dims[0].size, 1};
  return tg_build_reshape(b, tg_build_cast(b, value, TG_F32), 2, column);
}

/* Statistics are FP32 under every policy; the rows that go in, scale and bias are as the policy has it. */
void tg_expand_grouped_normalization(tg_graph *graph, tg_node *node) {
  bool keep_formats = node->disable_graphamp;
  tg_build b = {
      .graph = graph, .before = node, .name = node->name, .forward = -1, .keep_formats = keep_formats};
  tg_value *x = tg_in(node, 0), *scale = tg_in(node, 1), *bias = tg_in(node, 2);
  int64_t batch = x->dims[0].size, count = tg_value_elements(x), each = scale->dims[0].size;
  int64_t rows[] = {batch * groups_of(node), count / batch / groups_of(node)};
  int64_t channels[] = {batch, each, count / batch / each};
  tg_value *y = tg_build_cast(&b, tg_build_reshape(&b, x, 2, rows), TG_F32);
  b.keep_formats = true;
  y = normalised(&b, y, tg_attr_float(node, TG_ATTR_EPSILON));
  b.keep_formats = keep_formats;
  y = tg_build_reshape(&b, y, 3, channels);
  if (!is_no_parameter(scale, 1)) y = tg_build_binary(&b, TG_OP_MUL, y, as_column(&b, scale));
  if (!is_no_parameter(bias, 0)) y = tg_build_binary(&b, TG_OP_ADD, y, as_column(&b, bias));
  y = tg_build_cast(&b, tg_build_reshape_like(&b, y, x), tg_out(node)->dtype);
  tg_build_result(graph, tg_out(node), y);
  tg_graph_remove_node(graph, node);
}
