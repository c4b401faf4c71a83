/* Determinants by Gaussian elimination with complete pivoting, unrolled. A pivot is 0 only where all that is left is 0, which is
 * why the gradient through these steps is that of the polynomial for every matrix, singular ones included. */
#include "frontend/decompose/compose.h"

#include <inttypes.h>

/* Where the first of the largest of `size` along `axis` stands, any that is no number before them: bools of the shape of
 * `size`. `det` changes its sign where that is not the first place: it is exchanged with it. */
static tg_value *pivot_place(tg_build *b, tg_value *size, int axis, tg_value **det) {
  int64_t m = size->dims[axis].size;
  tg_value *top = tg_build_reduce(b, TG_OP_REDUCE_MAX, size, 1u << axis);
  tg_value *places = tg_build_positions(b, size, m, axis, size->rank);
  tg_value *best = not(b, tg_build_binary(b, TG_OP_LESS, size, top));
  tg_value *place = tg_build_where(b, best, places, tg_build_number(b, (double)m));
  place = tg_build_reduce(b, TG_OP_REDUCE_MIN, place, 1u << axis);
  *det = tg_build_where(b, with(b, TG_OP_EQUAL, place, 0), *det, tg_build_unary(b, TG_OP_NEG, *det));
  return tg_build_binary(b, TG_OP_EQUAL, places, place);
}

/* The slice of x along `axis` where `chosen` is true. */
static tg_value *taken(tg_build *b, tg_value *chosen, tg_value *x, int axis) {
  tg_value *each = tg_build_where(b, chosen, x, tg_build_number(b, 0));
  return tg_build_reduce(b, TG_OP_REDUCE_SUM, each, 1u << axis);
}

/* x without that slice, whose place the first one takes. */
static tg_value *without(tg_build *b, tg_value *chosen, tg_value *x, int axis) {
  int64_t m = x->dims[axis].size;
  return tg_build_slice(b, tg_build_where(b, chosen, tg_build_slice(b, x, axis, 0, 1, 1), x), axis, 1, m, 1);
}

/* x [.., m, m]: what is left of it behind the row and the column of its pivot, which, with its sign, multiplies `det`. */
static tg_value *eliminated(tg_build *b, tg_value *x, tg_value **det) {
  int rows = x->rank - 2, columns = rows + 1;
  tg_value *size = tg_build_reduce(b, TG_OP_REDUCE_MAX, tg_build_unary(b, TG_OP_ABS, x), 1u << columns);
  tg_value *in_row = pivot_place(b, size, rows, det), *row = taken(b, in_row, x, rows);
  tg_value *in_column = pivot_place(b, tg_build_unary(b, TG_OP_ABS, row), columns, det);
  tg_value *pivot = taken(b, in_column, row, columns);
  x = without(b, in_row, x, rows);
  tg_value *column = taken(b, in_column, x, columns);
  *det = mul(b, *det, pivot);
  tg_value *divisor = tg_build_where(b, with(b, TG_OP_EQUAL, pivot, 0), tg_build_number(b, 1), pivot);
  return sub(b, without(b, in_column, x, columns),
             mul(b, divided(b, column, divisor), without(b, in_column, row, columns)));
}

tg_status tg_make_det(tg_build *b, tg_node *node, tg_value **results, tg_diag *diag) {
  enum { MOST = 64 };
  tg_value *x = tg_in(node, 0);
  int rank = x->rank;
  if (rank < 2 || x->dims[rank - 1].size != x->dims[rank - 2].size || !tg_dtype_is_float(x->dtype) ||
      !tg_value_elements(x))
    return tg_fail(diag, TG_INVALID, "its data are no square matrices of floats");
  int64_t n = x->dims[rank - 1].size, sizes[TG_MAX_RANK];
  if (n > MOST) return tg_fail(diag, TG_INVALID, "matrices of more than %d rows are not supported", MOST);
  tg_value *left = f32(b, x), *det = tg_build_number(b, 1);
  for (int64_t m = n; m > 1; m--) left = eliminated(b, left, &det);
  tg_value_sizes(x, sizes);
  results[0] = tg_build_cast(b, tg_build_reshape(b, mul(b, det, left), rank - 2, sizes), x->dtype);
  return TG_OK;
}
