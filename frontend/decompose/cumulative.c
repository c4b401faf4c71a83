/* CumSum and CumProd in steps that double their reach; triangles and diagonals. */
#include "frontend/decompose/compose.h"

#include <inttypes.h>

/* x moved `by` places towards the end of an axis, `fill` before it. */
static tg_value *shifted(tg_build *b, tg_value *x, int axis, int64_t by, double fill) {
  int64_t pads[2 * TG_MAX_RANK] = {0}, n = x->dims[axis].size;
  pads[axis] = by;
  tg_value *kept = tg_build_slice(b, x, axis, 0, n - by, 1);
  tg_node *pad = tg_graph_add_node(b->graph, TG_OP_PAD, b->name, &kept, 1, b->before, -1);
  tg_attr_set_ints(b->graph, pad, TG_ATTR_PADS, pads, 2 * x->rank);
  tg_attr_set_float(pad, TG_ATTR_VALUE, fill);
  return tg_build_finish(b, pad);
}

static tg_value *reversed(tg_build *b, tg_value *x, int axis) {
  return tg_build_slice(b, x, axis, -1, INT64_MIN / 2, -1);
}

tg_status tg_make_cumulative(tg_build *b, tg_node *node, tg_value **results, tg_diag *diag) {
  tg_value *x = tg_in(node, 0), *y = x;
  bool product = node->op == TG_OP_CUM_PROD, reverse = tg_attr_int(node, TG_ATTR_REVERSE) != 0;
  int64_t axis;
  if (tg_compose_ints(tg_in(node, 1), 1, &axis) != 1)
    return tg_fail(diag, TG_INVALID, "axis is not constant");
  if (!tg_dtype_is_float(x->dtype) && !tg_dtype_is_integer(x->dtype))
    return tg_fail(diag, TG_INVALID, "element type %s is not supported here", tg_dtype_name(x->dtype));
  if (axis < -x->rank || axis >= x->rank || !x->rank)
    return tg_fail(diag, TG_INVALID, "axis %" PRId64 " is outside rank %d", axis, x->rank);
  int at = (int)(axis < 0 ? axis + x->rank : axis);
  int64_t n = x->dims[at].size;
  if (!tg_value_elements(x)) return results[0] = tg_build_unary(b, TG_OP_IDENTITY, x), TG_OK;
  if (tg_dtype_is_float(x->dtype)) y = f32(b, y);
  if (reverse) y = reversed(b, y, at);
  if (tg_attr_int(node, TG_ATTR_EXCLUSIVE)) y = shifted(b, y, at, 1, product);
  for (int64_t reach = 1; reach < n; reach *= 2)
    y = tg_build_binary(b, product ? TG_OP_MUL : TG_OP_ADD, y, shifted(b, y, at, reach, product));
  if (reverse) y = reversed(b, y, at);
  results[0] = tg_build_cast(b, y, x->dtype);
  return TG_OK;
}

tg_status tg_make_eye_like(tg_build *b, tg_node *node, tg_value **results, tg_diag *diag) {
  const tg_value *x = tg_in(node, 0);
  tg_dtype dtype = (tg_dtype)tg_attr_int(node, TG_ATTR_DTYPE);
  int64_t k = tg_attr_int(node, TG_ATTR_K), sizes[TG_MAX_RANK];
  if (x->rank != 2) return tg_fail(diag, TG_INVALID, "data of rank %d is no matrix", x->rank);
  if (k < -TG_MAX_ELEMENTS || k > TG_MAX_ELEMENTS) return tg_fail(diag, TG_INVALID, "k is too far away");
  if (!dtype) dtype = x->dtype;
  tg_value_sizes(x, sizes);
  tg_value *eye = tg_build_made(b, dtype, 2, sizes);
  if (b->failed) return TG_OK;
  for (int64_t i = k < 0 ? -k : 0; i < sizes[0] && i + k < sizes[1]; i++) {
    size_t e = (size_t)(i * sizes[1] + i + k);
    if (tg_dtype_is_integer(dtype))
      tg_store_i64((void *)eye->data, dtype, e, 1);
    else
      tg_store_f32((void *)eye->data, dtype, e, 1);
  }
  results[0] = eye;
  return TG_OK;
}

tg_status tg_make_trilu(tg_build *b, tg_node *node, tg_value **results, tg_diag *diag) {
  tg_value *x = tg_in(node, 0), *given = tg_in(node, 1);
  int64_t k = tg_attr_int(node, TG_ATTR_K);
  bool upper = tg_attr_int(node, TG_ATTR_UPPER) != 0;
  if (x->rank < 2) return tg_fail(diag, TG_INVALID, "data of rank %d is no matrix", x->rank);
  if (given && tg_compose_ints(given, 1, &k) != 1) return tg_fail(diag, TG_INVALID, "k is not constant");
  if (k < -TG_MAX_ELEMENTS || k > TG_MAX_ELEMENTS) return tg_fail(diag, TG_INVALID, "k is too far away");
  int64_t sizes[] = {x->dims[x->rank - 2].size, x->dims[x->rank - 1].size};
  if (tg_compose_bounded((double)sizes[0] * (double)sizes[1], diag)) return TG_INVALID;
  tg_value *kept = tg_build_made(b, TG_BOOL, 2, sizes);
  if (b->failed) return TG_OK;
  for (int64_t i = 0; sizes[1] && i < sizes[0]; i++)
    for (int64_t j = 0; j < sizes[1]; j++)
      ((uint8_t *)kept->data)[i * sizes[1] + j] = upper ? j - i >= k : j - i <= k;
  tg_value *zero = x->dtype == TG_BOOL ? tg_graph_add_scalar(b->graph, "number", TG_BOOL, 0)
                                       : tg_graph_add_scalar(b->graph, "number", x->dtype, 0);
  results[0] = tg_build_cast(b, tg_build_where(b, kept, x, zero), x->dtype);
  return TG_OK;
}
