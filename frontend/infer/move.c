/* Shapes of operators that only move elements. */
#include "frontend/infer/internal.h"

#include <inttypes.h>
#include <string.h>

/* The product of the sizes but for -1, or -1 on overflow. */
static int64_t product_of_known(const int64_t *sizes, int rank) {
  int64_t product = 1;
  for (int i = 0; i < rank; i++)
    if (sizes[i] == 0) return 0;
  for (int i = 0; i < rank; i++)
    if (sizes[i] > 0 && (__builtin_mul_overflow(product, sizes[i], &product) || product > TG_MAX_ELEMENTS))
      return -1;
  return product;
}

static tg_status copy_sizes(tg_node *node, int64_t *sizes, int rank, int *out_open, tg_diag *diag) {
  const tg_value *x = tg_in(node, 0);
  bool allow_zero = tg_attr_int(node, TG_ATTR_ALLOWZERO);
  *out_open = -1;
  for (int i = 0; i < rank; i++) {
    if (sizes[i] < -1) return tg_fail(diag, TG_INVALID, "shape has size %" PRId64, sizes[i]);
    if (sizes[i] == 0 && !allow_zero) {
      if (i >= x->rank)
        return tg_fail(diag, TG_INVALID, "shape copies dimension %d of a tensor of rank %d", i, x->rank);
      sizes[i] = x->dims[i].size;
    } else if (sizes[i] == -1) {
      if (*out_open >= 0) return tg_fail(diag, TG_INVALID, "shape leaves two sizes open");
      *out_open = i;
    }
  }
  return TG_OK;
}

tg_status tg_infer_reshape(tg_graph *graph, tg_node *node, tg_diag *diag) {
  const tg_value *x = tg_in(node, 0);
  int rank;
  const int64_t *shape = tg_attr_ints(node, TG_ATTR_SHAPE, &rank);
  if (rank > TG_MAX_RANK) return tg_fail(diag, TG_INVALID, "rank %d is above %d", rank, TG_MAX_RANK);
  int64_t sizes[TG_MAX_RANK];
  for (int i = 0; i < rank; i++) sizes[i] = shape[i];
  int open;
  if (copy_sizes(node, sizes, rank, &open, diag)) return TG_INVALID;
  int64_t count = tg_value_elements(x), known = product_of_known(sizes, rank);
  if (open >= 0) {
    if (known <= 0 || count % known)
      return tg_fail(diag, TG_INVALID, "shape does not divide %" PRId64 " elements", count);
    sizes[open] = count / known;
  } else if (known != count) {
    return tg_fail(diag, TG_INVALID, "shape does not hold %" PRId64 " elements", count);
  }
  tg_attr_set_ints(graph, node, TG_ATTR_SHAPE, sizes, rank);
  tg_attr_set_int(node, TG_ATTR_ALLOWZERO, 1); /* the shape is final: a zero in it is a size */
  return tg_infer_result(node, x->dtype, rank, sizes, diag);
}

tg_status tg_infer_flatten(tg_graph *graph, tg_node *node, tg_diag *diag) {
  (void)graph;
  const tg_value *x = tg_in(node, 0);
  if (tg_infer_axis(node, x->rank, x->rank + 1, diag)) return TG_INVALID;
  int axis = (int)tg_attr_int(node, TG_ATTR_AXIS);
  int64_t sizes[2] = {tg_value_elements_between(x, 0, axis), tg_value_elements_between(x, axis, x->rank)};
  return tg_infer_result(node, x->dtype, 2, sizes, diag);
}

tg_status tg_infer_squeeze(tg_graph *graph, tg_node *node, tg_diag *diag) {
  const tg_value *x = tg_in(node, 0);
  int64_t all[TG_MAX_RANK], sizes[TG_MAX_RANK];
  int count, rank = 0, ones = 0;
  bool drop[TG_MAX_RANK];
  tg_attr_ints(node, TG_ATTR_AXES, &count);
  for (int i = 0; i < x->rank; i++)
    if (x->dims[i].size == 1) all[ones++] = i;
  if (!count) tg_attr_set_ints(graph, node, TG_ATTR_AXES, all, ones);
  if (tg_infer_axes(graph, node, x->rank, drop, diag)) return TG_INVALID;
  for (int i = 0; i < x->rank; i++) {
    if (!drop[i])
      sizes[rank++] = x->dims[i].size;
    else if (x->dims[i].size != 1)
      return tg_fail(diag, TG_INVALID, "dimension %d has size %" PRId64 ", not 1", i, x->dims[i].size);
  }
  return tg_infer_result(node, x->dtype, rank, sizes, diag);
}

tg_status tg_infer_unsqueeze(tg_graph *graph, tg_node *node, tg_diag *diag) {
  const tg_value *x = tg_in(node, 0);
  int count;
  tg_attr_ints(node, TG_ATTR_AXES, &count);
  if (!count) return tg_fail(diag, TG_INVALID, "axes are missing");
  if (count > TG_MAX_RANK - x->rank)
    return tg_fail(diag, TG_INVALID, "the result's rank is above %d", TG_MAX_RANK);
  bool fresh[TG_MAX_RANK];
  int rank = x->rank + count;
  if (tg_infer_axes(graph, node, rank, fresh, diag)) return TG_INVALID;
  int64_t sizes[TG_MAX_RANK];
  for (int i = 0, from = 0; i < rank; i++) sizes[i] = fresh[i] ? 1 : x->dims[from++].size;
  return tg_infer_result(node, x->dtype, rank, sizes, diag);
}

tg_status tg_infer_transpose(tg_graph *graph, tg_node *node, tg_diag *diag) {
  const tg_value *x = tg_in(node, 0);
  int64_t reversed[TG_MAX_RANK], sizes[TG_MAX_RANK];
  for (int i = 0; i < x->rank; i++) reversed[i] = x->rank - 1 - i;
  int count;
  if (!tg_attr_ints(node, TG_ATTR_PERM, &count) || !count)
    tg_attr_set_ints(graph, node, TG_ATTR_PERM, reversed, x->rank);
  const int64_t *perm = tg_attr_ints(node, TG_ATTR_PERM, &count);
  if (count != x->rank) return tg_fail(diag, TG_INVALID, "perm has %d axes for rank %d", count, x->rank);
  unsigned seen = 0;
  for (int i = 0; i < count; i++) {
    if (perm[i] < 0 || perm[i] >= x->rank || seen >> perm[i] & 1)
      return tg_fail(diag, TG_INVALID, "perm is no permutation of %d axes", x->rank);
    seen |= 1u << perm[i];
    sizes[i] = x->dims[perm[i]].size;
  }
  return tg_infer_result(node, x->dtype, x->rank, sizes, diag);
}

tg_status tg_infer_concat(tg_graph *graph, tg_node *node, tg_diag *diag) {
  (void)graph;
  const tg_value *first = tg_in(node, 0);
  if (tg_infer_axis(node, first->rank, first->rank, diag)) return TG_INVALID;
  int axis = (int)tg_attr_int(node, TG_ATTR_AXIS);
  int64_t sizes[TG_MAX_RANK];
  tg_value_sizes(first, sizes);
  for (int i = 1; i < node->input_count; i++) {
    const tg_value *x = tg_in(node, i);
    bool fits = x->rank == first->rank;
    for (int d = 0; fits && d < x->rank; d++) fits = d == axis || x->dims[d].size == sizes[d];
    if (!fits) return tg_fail(diag, TG_INVALID, "input %d does not fit the first along axis %d", i, axis);
    sizes[axis] += x->dims[axis].size; /* at most 2^34 each, at most 2^31 inputs */
  }
  return tg_infer_result(node, first->dtype, first->rank, sizes, diag);
}
