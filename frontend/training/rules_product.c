/* Gradients of products. Both are products again; transposes stay operands, which the array reads in place.
 */
#include "frontend/training/rules.h"

/* [.., M, K] to [M', K], M' all but the last. */
static tg_value *as_matrix(tg_backward *w, tg_value *x) {
  int64_t sizes[] = {tg_value_elements_between(x, 0, x->rank - 1), x->dims[x->rank - 1].size};
  return tg_build_reshape(&w->build, x, 2, sizes);
}

static bool is_one_matrix(const tg_value *x) { return tg_value_elements_between(x, 0, x->rank - 2) == 1; }

/* dB[.., K, N] = A^T g. One B for all batches takes one product over all rows, rather than many and a sum. */
static tg_value *right_gradient(tg_backward *w, tg_value *a, tg_value *b, tg_value *g) {
  if (is_one_matrix(b) &&
      tg_value_elements(g) == tg_value_elements_between(a, 0, a->rank - 1) * b->dims[b->rank - 1].size)
    return tg_build_matmul(&w->build, tg_build_swap(&w->build, as_matrix(w, a)), as_matrix(w, g));
  return tg_build_matmul(&w->build, tg_build_swap(&w->build, a), g);
}

static tg_value *left_gradient(tg_backward *w, tg_value *b, tg_value *g) {
  return tg_build_matmul(&w->build, g, tg_build_swap(&w->build, b));
}

/* A vector on the left is a row, on the right a column; the result lacks that dimension. */
void tg_gradient_matmul(tg_backward *w, const tg_node *node, tg_value *dy) {
  tg_value *a = tg_in(node, 0), *b = tg_in(node, 1), *g = dy;
  int64_t row[] = {1, a->dims[0].size}, column[] = {b->dims[0].size, 1}, sizes[TG_MAX_RANK];
  if (b->rank == 1) {
    tg_value_sizes(g, sizes);
    sizes[g->rank] = 1;
    g = tg_build_reshape(&w->build, g, g->rank + 1, sizes);
    b = tg_build_reshape(&w->build, b, 2, column);
  }
  if (a->rank == 1) {
    tg_value_sizes(g, sizes);
    sizes[g->rank] = sizes[g->rank - 1];
    sizes[g->rank - 1] = 1;
    g = tg_build_reshape(&w->build, g, g->rank + 1, sizes);
    a = tg_build_reshape(&w->build, a, 2, row);
  }
  if (tg_backward_wants(w, 0)) {
    tg_value *da = left_gradient(w, b, g);
    if (tg_in(node, 0)->rank == 1)
      da = tg_build_reshape_like(&w->build, tg_build_sum_to(&w->build, da, a), tg_in(node, 0));
    tg_backward_give(w, 0, da);
  }
  if (tg_backward_wants(w, 1)) {
    tg_value *db = right_gradient(w, a, b, g);
    if (tg_in(node, 1)->rank == 1)
      db = tg_build_reshape_like(&w->build, tg_build_sum_to(&w->build, db, b), tg_in(node, 1));
    tg_backward_give(w, 1, db);
  }
}

/* The gradient of an operand that is stored transposed is the transposed product, written as such: no result
 * is transposed. */
void tg_gradient_gemm(tg_backward *w, const tg_node *node, tg_value *dy) {
  tg_build *b = &w->build;
  tg_value *x = tg_in(node, 0), *y = tg_in(node, 1);
  bool tx = tg_attr_int(node, TG_ATTR_TRANS_A) != 0, ty = tg_attr_int(node, TG_ATTR_TRANS_B) != 0;
  tg_value *g = tg_scaled(w, dy, tg_attr_float(node, TG_ATTR_ALPHA));
  if (tg_backward_wants(w, 0)) {
    tg_value *right = ty ? y : tg_build_swap(b, y); /* op(B)^T */
    tg_backward_give(w, 0,
                     tx ? tg_build_matmul(b, tg_build_swap(b, right), tg_build_swap(b, g))
                        : tg_build_matmul(b, g, right));
  }
  if (tg_backward_wants(w, 1)) {
    tg_value *left = tx ? x : tg_build_swap(b, x); /* op(A)^T */
    tg_backward_give(w, 1,
                     ty ? tg_build_matmul(b, tg_build_swap(b, g), tg_build_swap(b, left))
                        : tg_build_matmul(b, left, g));
  }
  if (tg_backward_wants(w, 2))
    tg_backward_give(w, 2,
                     tg_scaled(w, tg_build_sum_to(b, dy, tg_in(node, 2)), tg_attr_float(node, TG_ATTR_BETA)));
}
