/* Products of matrices of integers: each product and their sum are integers of the run, which the integers pass bounds. */
#include "frontend/decompose/compose.h"

#include <math.h>

/* A[.., M, K] B[.., K, N]. */
static tg_status multiply(tg_build *b, tg_value *x, tg_value *y, tg_value **out, tg_diag *diag) {
  enum { MOST = 1 << 24 };
  int rank = x->rank > y->rank ? x->rank : y->rank;
  int64_t depth = x->dims[x->rank - 1].size;
  if (x->dtype != y->dtype || depth != y->dims[y->rank - 2].size || rank >= TG_MAX_RANK)
    return tg_fail(diag, TG_INVALID, "operands %s and %s do not fit", tg_value_type_text(x, b->graph->arena),
                   tg_value_type_text(y, b->graph->arena));
  double most = (double)tg_value_elements(x) * (double)tg_value_elements(y) / (depth ? (double)depth : 1);
  if (most > MOST) return tg_fail(diag, TG_INVALID, "%.0f products of integers are more than %d", most, MOST);
  tg_value *each = mul(b, tg_build_insert(b, x, x->rank), tg_build_insert(b, y, y->rank - 2));
  if (b->failed) return TG_OK; /* whoever called says so */
  *out = tg_build_drop(b, tg_build_reduce(b, TG_OP_REDUCE_SUM, each, 1u << (each->rank - 2)), each->rank - 2);
  return TG_OK;
}

tg_status tg_make_whole_matmul(tg_build *b, tg_node *node, tg_value **results, tg_diag *diag) {
  tg_value *x = tg_in(node, 0), *y = tg_in(node, 1), *product = NULL;
  bool row = x->rank == 1, column = y->rank == 1;
  if (!x->rank || !y->rank) return tg_fail(diag, TG_INVALID, "a scalar is not supported");
  if (row) x = tg_build_insert(b, x, 0);
  if (column) y = tg_build_insert(b, y, 1);
  tg_status status = multiply(b, x, y, &product, diag);
  if (status || !product) return status;
  if (column) product = tg_build_drop(b, product, product->rank - 1);
  if (row) product = tg_build_drop(b, product, product->rank - (column ? 1 : 2));
  results[0] = product;
  return TG_OK;
}

static bool is_whole(double factor) { return factor == trunc(factor) && fabs(factor) < 0x1p24; }

/* alpha and beta are whole. */
tg_status tg_make_whole_gemm(tg_build *b, tg_node *node, tg_value **results, tg_diag *diag) {
  tg_value *x = tg_in(node, 0), *y = tg_in(node, 1), *c = tg_in(node, 2), *product = NULL;
  double alpha = tg_attr_float(node, TG_ATTR_ALPHA), beta = tg_attr_float(node, TG_ATTR_BETA);
  if (x->rank != 2 || y->rank != 2 || !is_whole(alpha) || !is_whole(beta))
    return tg_fail(diag, TG_INVALID, "integers of rank %d and %d, alpha %g and beta %g are not supported",
                   x->rank, y->rank, alpha, beta);
  if (tg_attr_int(node, TG_ATTR_TRANS_A)) x = tg_build_swap(b, x);
  if (tg_attr_int(node, TG_ATTR_TRANS_B)) y = tg_build_swap(b, y);
  tg_status status = multiply(b, x, y, &product, diag);
  if (status || !product) return status;
  if (alpha != 1) product = times(b, product, alpha);
  if (c && c->dtype != x->dtype) return tg_fail(diag, TG_INVALID, "C has another element type");
  if (c && beta != 0) product = add(b, product, beta == 1 ? c : times(b, c, beta));
  results[0] = product;
  return TG_OK;
}
