/* Operators whose results are known before anything runs: what they ask of their operands, and how large
 * their results are. */
#include "frontend/base/math.h"
#include "frontend/infer/internal.h"

#include <inttypes.h>
#include <math.h>

tg_status tg_infer_shape_of(tg_graph *graph, tg_node *node, tg_diag *diag) {
  (void)graph;
  int rank = tg_in(node, 0)->rank;
  int64_t start = tg_attr_int(node, TG_ATTR_START), end = tg_attr_int(node, TG_ATTR_END);
  start = tg_clamp(start < 0 ? start + rank : start, 0, rank);
  end = tg_clamp(end < 0 ? end + rank : end, start, rank);
  tg_attr_set_int(node, TG_ATTR_START, start);
  tg_attr_set_int(node, TG_ATTR_END, end);
  int64_t size = end - start;
  return tg_infer_result(node, TG_I64, 1, &size, diag);
}

static tg_status check_constant(const tg_node *node, int input, int most_rank, const char *name,
                                tg_diag *diag) {
  const tg_value *x = tg_in(node, input);
  if (!tg_is_constant(x)) return tg_fail(diag, TG_INVALID, "%s is not constant", name);
  if (x->elided) return tg_fail(diag, TG_INVALID, "%s has no data", name);
  if (x->rank > most_rank) return tg_fail(diag, TG_INVALID, "%s has rank %d", name, x->rank);
  return TG_OK;
}

static tg_status check_size(tg_graph *graph, const tg_node *node, tg_diag *diag) {
  enum { MOST = 1 << 24 };
  int64_t count = tg_value_elements(tg_out(node));
  if (count <= MOST) return tg_graph_count_made(graph, tg_out(node)->dtype, 1, &count, diag);
  return tg_fail(diag, TG_INVALID, "its result has more than %d elements", MOST);
}

tg_status tg_infer_constant_of_shape(tg_graph *graph, tg_node *node, tg_diag *diag) {
  const tg_value *shape = tg_in(node, 0);
  int64_t sizes[TG_MAX_RANK];
  if (check_constant(node, 0, 1, "shape", diag)) return TG_INVALID;
  int rank = (int)tg_clamp(tg_value_elements(shape), 0, TG_MAX_RANK + 1);
  if (!tg_dtype_is_integer(shape->dtype) || rank > TG_MAX_RANK)
    return tg_fail(diag, TG_INVALID, "shape is no list of at most %d integers", TG_MAX_RANK);
  for (int i = 0; i < rank; i++) {
    sizes[i] = tg_load_i64(shape->data, shape->dtype, (size_t)i);
    if (sizes[i] < 0) return tg_fail(diag, TG_INVALID, "shape has size %" PRId64, sizes[i]);
  }
  if (tg_infer_result(node, (tg_dtype)tg_attr_int(node, TG_ATTR_DTYPE), rank, sizes, diag)) return TG_INVALID;
  return check_size(graph, node, diag);
}

/* max(ceil((limit - start) / delta), 0), by the arithmetic of the operands. */
static tg_status range_length(const tg_node *node, int64_t *out_length, tg_diag *diag) {
  const tg_value *start = tg_in(node, 0), *limit = tg_in(node, 1), *delta = tg_in(node, 2);
  if (tg_dtype_is_integer(start->dtype)) {
    int64_t step = tg_load_i64(delta->data, delta->dtype, 0), span;
    if (!step) return tg_fail(diag, TG_INVALID, "delta is 0");
    if (__builtin_sub_overflow(tg_load_i64(limit->data, limit->dtype, 0),
                               tg_load_i64(start->data, start->dtype, 0), &span) ||
        step == INT64_MIN)
      return tg_fail(diag, TG_INVALID, "start and limit are too far apart");
    bool any = step > 0 ? span > 0 : span < 0;
    *out_length = any ? (span - (step > 0 ? 1 : -1)) / step + 1 : 0;
    return TG_OK;
  }
  double step = (double)tg_load_f32(delta->data, delta->dtype, 0);
  double count = ceil(((double)tg_load_f32(limit->data, limit->dtype, 0) -
                       (double)tg_load_f32(start->data, start->dtype, 0)) /
                      step);
  if (!(fabs(count) <= (double)TG_MAX_ELEMENTS))
    return tg_fail(diag, TG_INVALID, "start, limit and delta give no length");
  *out_length = count > 0 ? (int64_t)count : 0;
  return TG_OK;
}

tg_status tg_infer_range(tg_graph *graph, tg_node *node, tg_diag *diag) {
  static const char *const names[] = {"start", "limit", "delta"};
  int64_t length;
  for (int i = 0; i < 3; i++) {
    if (check_constant(node, i, 1, names[i], diag)) return TG_INVALID;
    if (tg_value_elements(tg_in(node, i)) != 1) return tg_fail(diag, TG_INVALID, "%s is no scalar", names[i]);
  }
  if (range_length(node, &length, diag) || tg_infer_result(node, tg_in(node, 0)->dtype, 1, &length, diag))
    return TG_INVALID;
  return check_size(graph, node, diag);
}
