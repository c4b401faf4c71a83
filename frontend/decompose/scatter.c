/* Elements and slices by positions that arrive with a run: each position is compared with all. What is not chosen
 * is left out by Where, so that infinities and NaN stay where they are. */
#include "frontend/decompose/compose.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

typedef enum combination { REPLACE, SUM, PRODUCT, MAXIMUM, MINIMUM, UNKNOWN } combination;

static combination combination_of(const tg_node *node) {
  static const char *const names[] = {"none", "add", "mul", "max", "min"};
  const char *text = tg_attr_find(node, TG_ATTR_REDUCTION) ? tg_attr_text(node, TG_ATTR_REDUCTION) : "";
  int i = 0;
  while (*text && i < UNKNOWN && strcmp(text, names[i])) i++;
  return (combination)i;
}

static bool computes(const tg_value *x) {
  return tg_dtype_is_float(x->dtype) || tg_dtype_is_integer(x->dtype) || x->dtype == TG_BOOL;
}

/* What is true is 1: sums and maxima of such are Or, products and minima And, by what a Cast back makes of them. */
static tg_value *as_numbers(tg_build *b, tg_value *x) { return x->dtype == TG_BOOL ? f32(b, x) : x; }

/* Negative indices count from the end. */
static tg_value *from_begin(tg_build *b, tg_value *i, int64_t size) {
  return tg_build_where(b, with(b, TG_OP_LESS, i, 0), plus(b, i, (double)size), i);
}

/* `hit` [.., J, P, ..] says which of updates J (dimension `at`) go to which place P, the dimension behind it;
 * updates [.., J, 1, ..]. What becomes of x [.., P, ..]. */
static tg_value *put(tg_build *b, combination how, tg_value *x, tg_value *hit, tg_value *updates, int at) {
  static const tg_op reduce[] = {TG_OP_REDUCE_SUM, TG_OP_REDUCE_SUM, TG_OP_REDUCE_PROD, TG_OP_REDUCE_MAX,
                                 TG_OP_REDUCE_MIN};
  static const tg_op join[] = {TG_OP_ADD, TG_OP_ADD, TG_OP_MUL, TG_OP_MAX, TG_OP_MIN};
  if (how == MAXIMUM || how == MINIMUM) {
    /* Where nothing goes, x itself is what it is combined with. */
    tg_value *each = tg_build_where(b, hit, updates, tg_build_insert(b, x, at));
    tg_value *best = tg_build_drop(b, tg_build_reduce(b, reduce[how], each, 1u << at), at);
    return tg_build_binary(b, join[how], x, best);
  }
  double nothing = how == PRODUCT;
  tg_value *last = NULL;
  if (how == REPLACE) { /* of several updates for one place the last */
    tg_value *places = tg_build_positions(b, tg_build_number(b, 0), hit->dims[at].size, at, hit->rank);
    last = tg_build_where(b, hit, places, tg_build_number(b, -1));
    last = tg_build_reduce(b, TG_OP_REDUCE_MAX, last, 1u << at);
    hit = tg_build_binary(b, TG_OP_EQUAL, places, last);
  }
  /* One of several is their maximum where others are what is below none: a sum of integers might pass 2^24. */
  bool is_one = how == REPLACE && tg_dtype_is_integer(x->dtype);
  tg_value *others = is_one ? tg_build_reduce(b, TG_OP_REDUCE_MIN, updates, 1u << at)
                            : tg_build_number_like(b, updates, nothing);
  tg_value *each = tg_build_where(b, hit, updates, others);
  tg_op reduction = is_one ? TG_OP_REDUCE_MAX : reduce[how];
  tg_value *all = tg_build_drop(b, tg_build_reduce(b, reduction, each, 1u << at), at);
  if (how != REPLACE) return tg_build_binary(b, join[how], x, all);
  return tg_build_where(b, with(b, TG_OP_GREATER_OR_EQUAL, tg_build_drop(b, last, at), 0), all, x);
}

static tg_status check(const tg_node *node, tg_diag *diag) {
  const tg_value *x = tg_in(node, 0), *indices = tg_in(node, 1), *updates = tg_in(node, 2);
  if (!tg_dtype_is_integer(indices->dtype)) return tg_fail(diag, TG_INVALID, "its indices are no integers");
  if ((updates && !computes(x)) || (updates && updates->dtype != x->dtype))
    return tg_fail(diag, TG_INVALID, "element type %s is not supported here", tg_dtype_name(x->dtype));
  if (!x->rank || (!tg_value_elements(x) && tg_value_elements(indices)))
    return tg_fail(diag, TG_INVALID, "positions in a scalar or in empty data are not supported");
  if (updates && combination_of(node) == UNKNOWN)
    return tg_fail(diag, TG_INVALID, "reduction \"%s\" is not known", tg_attr_text(node, TG_ATTR_REDUCTION));
  return TG_OK;
}

tg_status tg_make_scatter_elements(tg_build *b, tg_node *node, tg_value **results, tg_diag *diag) {
  tg_value *x = tg_in(node, 0), *indices = tg_in(node, 1), *updates = tg_in(node, 2);
  int axis;
  if (check(node, diag) || tg_compose_axis(node, x->rank, &axis, diag)) return TG_INVALID;
  bool fits = indices->rank == x->rank && x->rank < TG_MAX_RANK && tg_value_same_shape(indices, updates);
  int64_t pads[2 * TG_MAX_RANK] = {0}, size = x->dims[axis].size;
  for (int d = 0; fits && d < x->rank; d++) {
    if (d == axis) continue;
    pads[x->rank + d] = x->dims[d].size - indices->dims[d].size;
    fits = pads[x->rank + d] >= 0;
  }
  if (!fits) return tg_fail(diag, TG_INVALID, "indices and updates do not fit the data");
  if (!tg_value_elements(indices)) return results[0] = tg_build_unary(b, TG_OP_IDENTITY, x), TG_OK;
  if (tg_compose_bounded((double)tg_value_elements(x) * (double)indices->dims[axis].size, diag))
    return TG_INVALID;
  tg_dtype dtype = x->dtype;
  x = as_numbers(b, x);
  updates = as_numbers(b, updates);
  tg_value *i = from_begin(b, indices, size);
  /* Positions beyond those given go nowhere. */
  int64_t sizes[TG_MAX_RANK];
  bool partial = false;
  for (int d = 0; d < x->rank; d++) partial |= pads[x->rank + d] > 0;
  if (partial) {
    tg_value_sizes(indices, sizes);
    i = tg_build_pad(b, plus(b, i, 1), pads); /* 0 where there is none */
    i = plus(b, i, -1);
    updates = tg_build_pad(b, updates, pads);
  }
  tg_value *hit = tg_build_binary(b, TG_OP_EQUAL, tg_build_insert(b, i, axis + 1),
                                  tg_build_positions(b, i, size, axis + 1, x->rank + 1));
  tg_value *y = put(b, combination_of(node), x, hit, tg_build_insert(b, updates, axis + 1), axis);
  results[0] = tg_build_cast(b, y, dtype);
  return TG_OK;
}

/* Tuples of `count` indices, the last dimension, as row numbers of the `count` leading dimensions of x from
 * `first` on: [tuples]. */
static tg_value *row_numbers(tg_build *b, tg_value *indices, const tg_value *x, int first, int count) {
  int64_t matrix[] = {tg_value_elements(indices) / count, count}, rows = 1;
  tg_value *list = tg_build_reshape(b, indices, 2, matrix), *row = NULL, *outside = NULL;
  for (int d = 0; d < count; d++) {
    int64_t size = x->dims[first + d].size;
    tg_value *i = from_begin(b, tg_build_slice(b, list, 1, d, d + 1, 1), size);
    tg_value *wrong =
        tg_build_binary(b, TG_OP_OR, with(b, TG_OP_LESS, i, 0), with(b, TG_OP_GREATER, i, (double)size - 1));
    row = row ? add(b, times(b, row, (double)size), i) : i;
    outside = outside ? tg_build_binary(b, TG_OP_OR, outside, wrong) : wrong;
    rows *= size;
  }
  row = tg_build_where(b, outside, tg_build_number_like(b, row, -1 - (double)rows), row);
  return tg_build_reshape(b, row, 1, matrix);
}

tg_status tg_make_scatter_nd(tg_build *b, tg_node *node, tg_value **results, tg_diag *diag) {
  tg_value *x = tg_in(node, 0), *indices = tg_in(node, 1), *updates = tg_in(node, 2);
  if (check(node, diag)) return TG_INVALID;
  int64_t depth = indices->rank ? indices->dims[indices->rank - 1].size : 0;
  if (depth < 1 || depth > x->rank)
    return tg_fail(diag, TG_INVALID, "tuples of %" PRId64 " indices for data of rank %d", depth, x->rank);
  int64_t tuples = tg_value_elements(indices) / depth, rows = tg_value_elements_between(x, 0, (int)depth),
          inner = tg_value_elements_between(x, (int)depth, x->rank);
  if (rows >= 1 << 24 || tg_value_elements(updates) != tuples * inner)
    return tg_fail(diag, TG_INVALID, "the updates do not fit");
  if (!tuples || !tg_value_elements(x)) return results[0] = tg_build_unary(b, TG_OP_IDENTITY, x), TG_OK;
  int64_t matrix[] = {rows, inner}, each[] = {tuples, inner};
  tg_dtype dtype = x->dtype;
  x = as_numbers(b, x);
  updates = as_numbers(b, updates);
  if (combination_of(node) == SUM && tg_dtype_is_float(x->dtype)) {
    tg_value *operands[] = {tg_build_reshape(b, x, 2, matrix), row_numbers(b, indices, x, 0, (int)depth),
                            tg_build_reshape(b, updates, 2, each)};
    tg_value *sum = tg_build_op(b, TG_OP_SCATTER_ADD, operands, 3);
    results[0] = tg_build_cast(b, tg_build_reshape_like(b, sum, x), dtype);
    return TG_OK;
  }
  if (tg_compose_bounded((double)tuples * (double)rows * (double)inner, diag)) return TG_INVALID;
  int64_t list[] = {tuples, 1, 1}, source[] = {tuples, 1, inner};
  tg_value *i = tg_build_reshape(b, row_numbers(b, indices, x, 0, (int)depth), 3, list);
  tg_value *hit = tg_build_binary(b, TG_OP_EQUAL, i, tg_build_positions(b, i, rows, 1, 3));
  tg_value *y = put(b, combination_of(node), tg_build_reshape(b, x, 2, matrix), hit,
                    tg_build_reshape(b, updates, 3, source), 0);
  results[0] = tg_build_cast(b, tg_build_reshape_like(b, y, x), dtype);
  return TG_OK;
}

tg_status tg_make_gather_nd(tg_build *b, tg_node *node, tg_value **results, tg_diag *diag) {
  tg_value *x = tg_in(node, 0), *indices = tg_in(node, 1);
  tg_dtype dtype = x->dtype;
  int64_t batch = tg_attr_int(node, TG_ATTR_BATCH_DIMS);
  if (check(node, diag)) return TG_INVALID;
  if (batch < 0 || batch >= indices->rank || batch >= x->rank)
    return tg_fail(diag, TG_INVALID, "batch_dims = %" PRId64 " is not supported", batch);
  int64_t depth = indices->dims[indices->rank - 1].size, batches = 1;
  int first = (int)batch, rank = 0;
  for (int d = 0; d < first; d++) {
    if (indices->dims[d].size != x->dims[d].size) return tg_fail(diag, TG_INVALID, "batch dimensions differ");
    batches *= x->dims[d].size;
  }
  if (depth < 1 || depth > x->rank - first)
    return tg_fail(diag, TG_INVALID, "tuples of %" PRId64 " indices for data of rank %d", depth, x->rank);
  int64_t tuples = batches ? tg_value_elements(indices) / depth / batches : 0, sizes[2 * TG_MAX_RANK],
          rows = tg_value_elements_between(x, first, first + (int)depth),
          inner = tg_value_elements_between(x, first + (int)depth, x->rank);
  for (int d = 0; d + 1 < indices->rank; d++) sizes[rank++] = indices->dims[d].size;
  for (int d = first + (int)depth; d < x->rank; d++) sizes[rank++] = x->dims[d].size;
  if (rank > TG_MAX_RANK) return tg_fail(diag, TG_INVALID, "rank %d is above %d", rank, TG_MAX_RANK);
  if (!tuples || !tg_value_elements(x)) return results[0] = tg_build_made(b, dtype, rank, sizes), TG_OK;
  if ((double)batches * (double)rows >= 1 << 24)
    return tg_fail(diag, TG_INVALID, "%" PRId64 " slices of %" PRId64 " batches are too many", rows, batches);
  int64_t list[] = {batches, tuples}, all[] = {batches * tuples}, table[] = {batches * rows, inner};
  tg_value *i = row_numbers(b, indices, x, first, (int)depth);
  if (batches > 1) {
    tg_value *begins = times(b, tg_build_positions(b, i, batches, 0, 2), (double)rows);
    tg_value *inside = tg_build_reshape(b, i, 2, list);
    tg_value *there = add(b, inside, begins); /* what is outside stays so */
    i = tg_build_where(b, with(b, TG_OP_LESS, inside, 0), tg_build_number_like(b, i, -1 - (double)table[0]),
                       there);
    i = tg_build_reshape(b, i, 1, all);
  }
  if (dtype == TG_BOOL) x = f32(b, x);
  tg_value *y = tg_build_binary(b, TG_OP_GATHER, tg_build_reshape(b, x, 2, table), i);
  results[0] = tg_build_cast(b, tg_build_reshape(b, y, rank, sizes), dtype);
  return TG_OK;
}

/* The lengths are known: each part of the batch is a slice in reverse and a rest. */
tg_status tg_make_reverse_sequence(tg_build *b, tg_node *node, tg_value **results, tg_diag *diag) {
  enum { MOST = 256 };
  tg_value *x = tg_in(node, 0), *parts[MOST];
  int64_t batch = tg_attr_int(node, TG_ATTR_BATCH_AXIS), time = tg_attr_int(node, TG_ATTR_TIME_AXIS),
          lengths[MOST];
  if (x->rank < 2 || batch == time || batch < 0 || time < 0 || batch > 1 || time > 1)
    return tg_fail(diag, TG_INVALID, "batch_axis %" PRId64 " and time_axis %" PRId64 " are not supported",
                   batch, time);
  int count = tg_compose_ints(tg_in(node, 1), MOST, lengths);
  if (count < 1 || count != x->dims[batch].size)
    return tg_fail(diag, TG_INVALID, "sequence_lens are not constant, one for each of at most %d", MOST);
  for (int i = 0; i < count; i++) {
    int64_t n = lengths[i], size = x->dims[time].size;
    if (n < 0 || n > size)
      return tg_fail(diag, TG_INVALID, "a length of %" PRId64 " is not within %" PRId64, n, size);
    tg_value *one = tg_build_slice(b, x, (int)batch, i, i + 1, 1);
    parts[i] = one;
    if (n < 2) continue;
    tg_value *both_parts[] = {tg_build_slice(b, one, (int)time, n - 1, INT64_MIN / 2, -1),
                              n < size ? tg_build_slice(b, one, (int)time, n, size, 1) : NULL};
    parts[i] = n < size ? tg_build_concat(b, both_parts, 2, (int)time) : both_parts[0];
  }
  results[0] = count > 1 ? tg_build_concat(b, parts, count, (int)batch) : parts[0];
  return TG_OK;
}
