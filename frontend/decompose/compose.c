/* What compositions share. */
#include "frontend/decompose/compose.h"

#include <inttypes.h>

/* Operators that passes know in one form, which they keep. */
bool tg_must_compose(const tg_node *node) {
  switch (node->op) {
  case TG_OP_TRILU: return !tg_is_constant(tg_in(node, 0));
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
