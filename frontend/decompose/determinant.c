/* Determinants by Gaussian elimination with partial pivoting, as LAPACK's getrf does it, unrolled. */
#include "frontend/decompose/compose.h"

#include <inttypes.h>

/* Rows [.., m, k] where `chosen` [.., m, 1] is true, added: the one row. */
static tg_value *chosen_row(tg_build *b, tg_value *chosen, tg_value *x) {
  tg_value *each = tg_build_where(b, chosen, x, tg_build_number(b, 0));
  return tg_build_reduce(b, TG_OP_REDUCE_SUM, each, 1u << (x->rank - 2));
}

/* The first row whose first element has the largest magnitude, any where that is no number: bools [.., m, 1]. */
static tg_value *pivot_row(tg_build *b, tg_value *x, tg_value **is_first) {
  int rows = x->rank - 2;
  int64_t m = x->dims[rows].size;
  tg_value *size = tg_build_unary(b, TG_OP_ABS, tg_build_slice(b, x, rows + 1, 0, 1, 1));
  tg_value *top = tg_build_reduce(b, TG_OP_REDUCE_MAX, size, 1u << rows);
  tg_value *places = tg_build_positions(b, size, m, rows, x->rank);
  tg_value *best = not(b, tg_build_binary(b, TG_OP_LESS, size, top));
  tg_value *place = tg_build_where(b, best, places, tg_build_number(b, (double)m));
  place = tg_build_reduce(b, TG_OP_REDUCE_MIN, place, 1u << rows);
  *is_first = with(b, TG_OP_EQUAL, place, 0);
  return tg_build_binary(b, TG_OP_EQUAL, places, place);
}

/* x [.., m, m]: what is left of it behind its first row and column; the pivot, with its sign, multiplies `det`. */
static tg_value *eliminated(tg_build *b, tg_value *x, tg_value **det) {
  int rows = x->rank - 2;
  int64_t m = x->dims[rows].size;
  tg_value *is_first, *chosen = pivot_row(b, x, &is_first);
  tg_value *row = chosen_row(b, chosen, x), *pivot = tg_build_slice(b, row, rows + 1, 0, 1, 1);
  *det = mul(b, *det, tg_build_where(b, is_first, pivot, tg_build_unary(b, TG_OP_NEG, pivot)));
  x = tg_build_where(b, chosen, tg_build_slice(b, x, rows, 0, 1, 1), x); /* the first row takes its place */
  x = tg_build_slice(b, x, rows, 1, m, 1);
  tg_value *column = tg_build_slice(b, x, rows + 1, 0, 1, 1), *zero = tg_build_number(b, 0);
  tg_value *factor = tg_build_where(b, with(b, TG_OP_EQUAL, pivot, 0), zero, divided(b, column, pivot));
  return sub(b, tg_build_slice(b, x, rows + 1, 1, m, 1),
             mul(b, factor, tg_build_slice(b, row, rows + 1, 1, m, 1)));
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
