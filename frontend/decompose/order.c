/* Which element is the largest: ArgMax, Hardmax, TopK, OneHot. By comparisons and sums of what is 0 but in one place. */
#include "frontend/decompose/compose.h"

#include <inttypes.h>

static tg_status check_data(const tg_value *x, tg_diag *diag) {
  if (!x->rank) return tg_fail(diag, TG_INVALID, "a scalar has no axis");
  if (!tg_value_elements(x)) return tg_fail(diag, TG_INVALID, "its data is empty");
  if (x->dtype == TG_F64 && !tg_is_constant(x))
    return tg_fail(diag, TG_INVALID, "decides by numbers in f64, which the array rounds to FP32");
  if (tg_dtype_is_float(x->dtype) || tg_dtype_is_integer(x->dtype)) return TG_OK;
  return tg_fail(diag, TG_INVALID, "element type %s is not supported here", tg_dtype_name(x->dtype));
}

tg_value *tg_compose_place(tg_build *b, tg_value *x, int axis, bool largest, bool last) {
  int64_t count = x->dims[axis].size;
  if (tg_dtype_is_float(x->dtype) && x->dtype != TG_F64) x = f32(b, x);
  tg_value *top = tg_build_reduce(b, largest ? TG_OP_REDUCE_MAX : TG_OP_REDUCE_MIN, x, 1u << axis);
  tg_value *is_top = tg_build_binary(b, TG_OP_EQUAL, x, top);
  if (tg_dtype_is_float(x->dtype))
    is_top = tg_build_binary(b, TG_OP_OR, is_top, not(b, tg_build_binary(b, TG_OP_EQUAL, x, x)));
  tg_value like = {.dtype = TG_I64};
  tg_value *places = tg_build_positions(b, &like, count, axis, x->rank);
  tg_value *none = tg_build_number_like(b, &like, last ? -1 : (double)count);
  tg_value *at = tg_build_where(b, is_top, places, none);
  return tg_build_reduce(b, last ? TG_OP_REDUCE_MAX : TG_OP_REDUCE_MIN, at, 1u << axis);
}

static tg_value *no_places(tg_build *b, const tg_value *x, int axis, bool keep) {
  int64_t sizes[TG_MAX_RANK];
  tg_value_sizes(x, sizes);
  sizes[axis] = 1;
  tg_value *none = tg_build_made(b, TG_I64, x->rank, sizes);
  return keep ? none : tg_build_drop(b, none, axis);
}

tg_status tg_make_arg(tg_build *b, tg_node *node, tg_value **results, tg_diag *diag) {
  tg_value *x = tg_in(node, 0);
  int axis;
  if (x->rank && tg_compose_axis(node, x->rank, &axis, diag)) return TG_INVALID;
  if (x->rank && !tg_value_elements(x) && x->dims[axis].size) { /* no place is asked for */
    results[0] = no_places(b, x, axis, tg_attr_int(node, TG_ATTR_KEEPDIMS) != 0);
    return TG_OK;
  }
  if (check_data(x, diag)) return TG_INVALID;
  tg_value *place = tg_compose_place(b, x, axis, node->op == TG_OP_ARG_MAX,
                                     tg_attr_int(node, TG_ATTR_SELECT_LAST_INDEX) != 0);
  results[0] = tg_attr_int(node, TG_ATTR_KEEPDIMS) ? place : tg_build_drop(b, place, axis);
  return TG_OK;
}

tg_status tg_make_hardmax(tg_build *b, tg_node *node, tg_value **results, tg_diag *diag) {
  tg_value *x = tg_in(node, 0), *rows = x;
  int axis;
  bool empty = x->rank && !tg_value_elements(x);
  if ((!empty && check_data(x, diag)) || tg_compose_axis(node, x->rank, &axis, diag)) return TG_INVALID;
  if (!tg_dtype_is_float(x->dtype)) return tg_fail(diag, TG_INVALID, "its data are no floats");
  if (empty) {
    results[0] = tg_build_unary(b, TG_OP_IDENTITY, x);
    return TG_OK;
  }
  if (tg_attr_int(node, TG_ATTR_FLATTEN)) {
    int64_t matrix[] = {tg_value_elements_between(x, 0, axis), tg_value_elements_between(x, axis, x->rank)};
    rows = tg_build_reshape(b, x, 2, matrix);
    axis = 1;
  }
  tg_value *place = tg_compose_place(b, rows, axis, true, false);
  tg_value *hot = tg_build_binary(b, TG_OP_EQUAL, place,
                                  tg_build_positions(b, place, rows->dims[axis].size, axis, rows->rank));
  results[0] = tg_build_reshape_like(b, tg_build_cast(b, hot, x->dtype), x);
  return TG_OK;
}

/* --- TopK --- */

/* Is x before y in the order from the largest? NaN is larger than any number. */
static tg_value *is_above(tg_build *b, tg_value *x, tg_value *y) {
  tg_value *above = not(b, tg_build_binary(b, TG_OP_LESS_OR_EQUAL, x, y));
  return tg_dtype_is_float(x->dtype) ? both(b, above, tg_build_binary(b, TG_OP_EQUAL, y, y)) : above;
}

static tg_value *as_number(tg_build *b, tg_value *condition) {
  return tg_build_where(b, condition, tg_build_number(b, 1), tg_build_number(b, 0));
}

/* How many elements of each row [.., n] come before each: FP32 [.., n]. Of equal ones the first does. */
static tg_value *ranks(tg_build *b, tg_value *x, bool largest) {
  int last = x->rank - 1;
  int64_t n = x->dims[last].size, square[] = {n, n};
  tg_value *earlier = tg_build_made(b, TG_BOOL, 2, square);
  if (b->failed) return earlier;
  for (int64_t i = 0; i < n; i++)
    for (int64_t j = 0; j < n; j++) ((uint8_t *)earlier->data)[i * n + j] = j < i;
  tg_value *me = tg_build_insert(b, x, last + 1), *other = tg_build_insert(b, x, last);
  tg_value *above = is_above(b, other, me), *below = is_above(b, me, other);
  tg_value *equal = both(b, not(b, above), not(b, below));
  tg_value *before = tg_build_binary(b, TG_OP_OR, largest ? above : below, both(b, equal, earlier));
  return tg_build_drop(b, tg_build_reduce(b, TG_OP_REDUCE_SUM, as_number(b, before), 1u << (last + 1)),
                       last + 1);
}

/* Of each line along axis the one element that is chosen. Integers are no sum, which might pass 2^24 for all that is known of
 * it: the largest of that element and of what is below none of them. */
static tg_value *only_chosen(tg_build *b, tg_value *chosen, tg_value *x, int axis, bool is_position) {
  if (!tg_dtype_is_integer(x->dtype)) {
    tg_value *each = tg_build_where(b, chosen, x, tg_build_number_like(b, x, 0));
    return tg_build_drop(b, tg_build_reduce(b, TG_OP_REDUCE_SUM, each, 1u << axis), axis);
  }
  tg_value *least =
      is_position ? tg_build_number_like(b, x, 0) : tg_build_reduce(b, TG_OP_REDUCE_MIN, x, 1u << axis);
  tg_value *each = tg_build_where(b, chosen, x, least);
  return tg_build_drop(b, tg_build_reduce(b, TG_OP_REDUCE_MAX, each, 1u << axis), axis);
}

tg_status tg_make_top_k(tg_build *b, tg_node *node, tg_value **results, tg_diag *diag) {
  tg_value *x = tg_in(node, 0), *given = tg_in(node, 1);
  int axis;
  int64_t k = tg_attr_int(node, TG_ATTR_K);
  if (check_data(x, diag) || tg_compose_axis(node, x->rank, &axis, diag)) return TG_INVALID;
  if (x->rank == TG_MAX_RANK) return tg_fail(diag, TG_INVALID, "data of rank %d are not supported", x->rank);
  if (given && tg_compose_ints(given, 1, &k) != 1) return tg_fail(diag, TG_INVALID, "K is not constant");
  int64_t n = x->dims[axis].size;
  if (k < 0 || k > n) return tg_fail(diag, TG_INVALID, "K = %" PRId64 " is not among %" PRId64, k, n);
  if (tg_compose_bounded((double)tg_value_elements(x) * (double)n, diag)) return TG_INVALID;
  if (!k) {
    int64_t sizes[TG_MAX_RANK];
    tg_value_sizes(x, sizes);
    sizes[axis] = 0;
    results[0] = tg_build_made(b, x->dtype, x->rank, sizes);
    if (node->output_count > 1) results[1] = tg_build_made(b, TG_I64, x->rank, sizes);
    return TG_OK;
  }
  int last = x->rank - 1;
  tg_value *rows = tg_build_move(b, x, axis, last);
  tg_value *rank = ranks(b, rows, tg_attr_int(node, TG_ATTR_LARGEST) != 0);
  tg_value *wanted = tg_build_positions(b, rank, k, last, x->rank + 1);
  tg_value *chosen = tg_build_binary(b, TG_OP_EQUAL, tg_build_insert(b, rank, last), wanted);
  tg_value like = {.dtype = TG_I64};
  tg_value *from[] = {tg_build_insert(b, rows, last), tg_build_positions(b, &like, n, x->rank, x->rank + 1)};
  for (int i = 0; i < 2; i++) {
    if (i && node->output_count < 2) break;
    tg_value *element = only_chosen(b, chosen, from[i], x->rank, i == 1);
    results[i] = tg_build_cast(b, tg_build_move(b, element, last, axis), i ? TG_I64 : x->dtype);
  }
  return TG_OK;
}

/* --- OneHot --- */

static int64_t depth_of(const tg_value *depth) {
  if (!tg_is_constant(depth) || tg_value_elements(depth) != 1) return -1;
  if (tg_dtype_is_integer(depth->dtype)) return tg_load_i64(depth->data, depth->dtype, 0);
  if (!tg_dtype_is_float(depth->dtype)) return -1;
  float number = tg_load_f32(depth->data, depth->dtype, 0);
  return number >= 1 && number <= 1 << 24 ? (int64_t)number : -1;
}

tg_status tg_make_one_hot(tg_build *b, tg_node *node, tg_value **results, tg_diag *diag) {
  tg_value *indices = tg_in(node, 0), *values = tg_in(node, 2);
  int64_t depth = depth_of(tg_in(node, 1));
  int axis;
  if (depth < 1 || depth > 1 << 24) return tg_fail(diag, TG_INVALID, "depth is not constant from 1 to 2^24");
  if (tg_compose_axis(node, indices->rank + 1, &axis, diag)) return TG_INVALID;
  if (indices->rank == TG_MAX_RANK || values->rank != 1 || values->dims[0].size != 2)
    return tg_fail(diag, TG_INVALID, "indices of rank %d and values of rank %d are not supported",
                   indices->rank, values->rank);
  if (tg_compose_bounded((double)tg_value_elements(indices) * (double)depth, diag)) return TG_INVALID;
  tg_value *i = tg_build_insert(b, indices, axis);
  i = tg_build_where(b, with(b, TG_OP_LESS, i, 0), plus(b, i, (double)depth), i);
  tg_value *hot =
      tg_build_binary(b, TG_OP_EQUAL, i, tg_build_positions(b, i, depth, axis, indices->rank + 1));
  tg_value *off = tg_build_reshape(b, tg_build_slice(b, values, 0, 0, 1, 1), 0, NULL),
           *on = tg_build_reshape(b, tg_build_slice(b, values, 0, 1, 2, 1), 0, NULL);
  results[0] = tg_build_cast(b, tg_build_where(b, hot, on, off), values->dtype);
  return TG_OK;
}
