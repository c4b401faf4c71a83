/* What inference of all operators needs: types of results, axes, operands that are lists. */
#include "frontend/infer/internal.h"

#include <inttypes.h>

enum { LIST_ELEMENTS = 256 /* of a list of integers that is an operand */ };

bool tg_broadcast(int rank_a, const int64_t *a, int rank_b, const int64_t *b, int *out_rank,
                  int64_t *out_sizes) {
  int rank = rank_a > rank_b ? rank_a : rank_b;
  int64_t sizes[TG_MAX_RANK];
  for (int i = 0; i < rank; i++) {
    int ia = i - (rank - rank_a), ib = i - (rank - rank_b);
    int64_t da = ia < 0 ? 1 : a[ia], db = ib < 0 ? 1 : b[ib];
    if (da != db && da != 1 && db != 1) return false;
    sizes[i] = da == 1 ? db : da;
  }
  for (int i = 0; i < rank; i++) out_sizes[i] = sizes[i];
  *out_rank = rank;
  return true;
}

tg_status tg_infer_result(tg_node *node, tg_dtype dtype, int rank, const int64_t *sizes, tg_diag *diag) {
  return tg_infer_result_at(node, 0, dtype, rank, sizes, diag);
}

tg_status tg_infer_result_at(tg_node *node, int output, tg_dtype dtype, int rank, const int64_t *sizes,
                             tg_diag *diag) {
  int64_t count = 1;
  if (rank > TG_MAX_RANK) return tg_fail(diag, TG_INVALID, "rank %d is above %d", rank, TG_MAX_RANK);
  for (int i = 0; i < rank; i++) /* as those of an input: without a size of 0, which other results may lose */
    if (sizes[i] && (__builtin_mul_overflow(count, sizes[i], &count) || count > TG_MAX_ELEMENTS))
      return tg_fail(diag, TG_INVALID, "its result has more than %" PRId64 " elements", TG_MAX_ELEMENTS);
  tg_value *result = node->outputs[output];
  tg_value_set_type(result, result->dtype ? result->dtype : dtype, rank, sizes);
  return TG_OK;
}

tg_status tg_infer_axis(tg_node *node, int rank, int limit, tg_diag *diag) {
  int64_t axis = tg_attr_int(node, TG_ATTR_AXIS);
  if (axis < -rank || axis >= limit)
    return tg_fail(diag, TG_INVALID, "axis %" PRId64 " is outside rank %d", axis, rank);
  if (axis < 0) tg_attr_set_int(node, TG_ATTR_AXIS, axis + rank);
  return TG_OK;
}

/* --- constant operands become attributes */

tg_status tg_infer_absorb(tg_graph *graph, tg_node *node, int input, tg_attr_key key, tg_diag *diag) {
  const tg_value *operand = tg_in(node, input);
  const char *name = tg_attr_get(key)->name;
  bool number = tg_attr_get(key)->kind == TG_KIND_INT;
  int most = number ? 1 : LIST_ELEMENTS;
  if (!operand) return TG_OK;
  if (!tg_is_constant(operand)) return tg_fail(diag, TG_INVALID, "%s is not constant", name);
  if (!tg_dtype_is_integer(operand->dtype) || operand->rank > 1 || tg_value_elements(operand) > most ||
      (number && !tg_value_elements(operand)))
    return tg_fail(diag, TG_INVALID, "%s is no list of at most %d integers", name, most);
  int64_t ints[LIST_ELEMENTS];
  int count = (int)tg_value_elements(operand);
  for (int i = 0; i < count; i++) ints[i] = tg_load_i64(operand->data, operand->dtype, (size_t)i);
  if (number)
    tg_attr_set_int(node, key, ints[0]);
  else
    tg_attr_set_ints(graph, node, key, ints, count);
  return TG_OK;
}
