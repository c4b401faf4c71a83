/* What compositions share. */
#include "frontend/decompose/compose.h"
#include "frontend/decompose/conv.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

static bool is_volume(const tg_node *node) { return tg_in(node, 0)->rank == 5; }

/* The array runs powers of floats by one number. */
static bool is_one_power(const tg_node *node) {
  const tg_value *x = tg_in(node, 0), *y = tg_in(node, 1);
  if (tg_is_constant(x) && tg_is_constant(y)) return tg_dtype_is_float(x->dtype) && x->dtype == y->dtype;
  if (!tg_dtype_is_float(x->dtype) || !tg_is_constant(y) || y->dtype == TG_BOOL || tg_value_elements(y) != 1)
    return false;
  return isfinite(tg_load_f32(y->data, y->dtype, 0));
}

static bool has_constant_bounds(const tg_node *node) {
  for (int i = 1; i < node->input_count; i++)
    if (tg_in(node, i) && !tg_is_constant(tg_in(node, i))) return false;
  return tg_dtype_is_float(tg_in(node, 0)->dtype);
}

/* Operators that passes know in one form, which they keep. */
bool tg_must_compose(const tg_node *node) {
  switch (node->op) {
  case TG_OP_MAX_POOL: return is_volume(node) || !tg_dtype_is_float(tg_in(node, 0)->dtype);
  case TG_OP_MATMUL:
  case TG_OP_GEMM: return tg_dtype_is_integer(tg_in(node, 0)->dtype);
  case TG_OP_CONV: return is_volume(node) || tg_multiplies_channels(node);
  case TG_OP_CONV_TRANSPOSE:
  case TG_OP_AVERAGE_POOL: return is_volume(node);
  case TG_OP_POW: return !is_one_power(node);
  case TG_OP_CAST:
    return tg_dtype_is_narrow(tg_in(node, 0)->dtype) ||
           tg_dtype_is_narrow((tg_dtype)tg_attr_int(node, TG_ATTR_TO));
  case TG_OP_PRELU:
  case TG_OP_RELU: return !tg_dtype_is_float(tg_in(node, 0)->dtype);
  case TG_OP_CLIP: return !has_constant_bounds(node);
  case TG_OP_TRILU: return !tg_is_constant(tg_in(node, 0));
  case TG_OP_REDUCE_MAX:
  case TG_OP_REDUCE_MIN: return tg_in(node, 0)->dtype == TG_BOOL || !tg_value_elements(tg_in(node, 0));
  case TG_OP_REDUCE_L1:
  case TG_OP_REDUCE_SUM_SQUARE:
  case TG_OP_REDUCE_MEAN: return tg_dtype_is_integer(tg_in(node, 0)->dtype);
  case TG_OP_PAD: return !strcmp(tg_attr_text(node, TG_ATTR_MODE), "wrap");
  case TG_OP_RESIZE: return !tg_infer_repeats(node);
  default: return true;
  }
}

tg_status tg_compose_axis(const tg_node *node, int rank, int *out_axis, tg_diag *diag) {
  int64_t axis = tg_attr_int(node, TG_ATTR_AXIS);
  if (axis < -rank || axis >= rank)
    return tg_fail(diag, TG_INVALID, "axis %" PRId64 " is outside rank %d", axis, rank);
  *out_axis = (int)(axis < 0 ? axis + rank : axis);
  return TG_OK;
}

tg_status tg_compose_bounded(double elements, tg_diag *diag) {
  const double most = 1 << 28;
  if (elements <= most) return TG_OK;
  return tg_fail(diag, TG_INVALID, "%.0f elements on the way are more than %.0f", elements, most);
}

int tg_compose_ints(const tg_value *value, int most, int64_t *out) {
  if (!tg_is_constant(value) || !tg_dtype_is_integer(value->dtype) || tg_value_elements(value) > most)
    return -1;
  int count = (int)tg_value_elements(value);
  for (int i = 0; i < count; i++) out[i] = tg_load_i64(value->data, value->dtype, (size_t)i);
  return count;
}
