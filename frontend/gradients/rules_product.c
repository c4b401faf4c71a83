/* Gradients of products. Both are products again; transposes stay operands, which the array reads in
 * place. */
#include "frontend/gradients/rules.h"

/* [.., M, K] to [M', K], M' all but the last. */
static tg_value *as_matrix(tg_backward *w, tg_value *x) {
  int64_t sizes[] = {tg_value_elements_between(x, 0, x->rank - 1), x->dims[x->rank - 1].size};
  return tg_build_reshape(&w->build, x, 2, sizes);
}

static bool is_one_matrix(const tg_value *x) { return tg_value_elements_between(x, 0, x->rank - 2) == 1; }

/* A parameter, perhaps moved or converted: its gradient is summed over the batch. */
static bool is_weight(const tg_backward *w, const tg_value *x) {
  while (x->producer && (tg_op_is(x->producer->op, TG_IS_MOVE) || x->producer->op == TG_OP_CAST))
    x = tg_in(x->producer, 0);
  return x->kind == TG_VALUE_INPUT && w->wanted[x->index];
}

/* Gives `product`, perhaps reshaped, to operand `input`. */
static void give_product(tg_backward *w, int input, tg_value *product) {
  const tg_value *x = tg_in(w->node, input);
  bool matrix = product->rank == 2 && product->producer->op == TG_OP_MATMUL;
  if (matrix && w->partials > 1 && is_weight(w, x)) {
    tg_attr_set_int(product->producer, TG_ATTR_PARTIALS, w->partials);
    tg_attr_set_int(product->producer, TG_ATTR_REDUCE, w->reduction);
  }
  if (x->rank == 1) { /* it was a row [1, K] or a column [K, 1] */
    tg_value like = {.rank = 2, .dims = {{1, NULL}, {1, NULL}}};
    like.dims[!input].size = x->dims[0].size;
    product = tg_build_reshape_like(&w->build, tg_build_sum_to(&w->build, product, &like), x);
  }
  tg_backward_give(w, input, product);
}

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
  if (tg_backward_wants(w, 0)) give_product(w, 0, left_gradient(w, b, g));
  if (tg_backward_wants(w, 1)) give_product(w, 1, right_gradient(w, a, b, g));
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
    give_product(w, 0,
                 tx ? tg_build_matmul(b, tg_build_swap(b, right), tg_build_swap(b, g))
                    : tg_build_matmul(b, g, right));
  }
  if (tg_backward_wants(w, 1)) {
    tg_value *left = tx ? x : tg_build_swap(b, x); /* op(A)^T */
    give_product(w, 1,
                 ty ? tg_build_matmul(b, tg_build_swap(b, g), tg_build_swap(b, left))
                    : tg_build_matmul(b, left, g));
  }
  if (tg_backward_wants(w, 2))
    tg_backward_give(w, 2,
                     tg_scaled(w, tg_build_sum_to(b, dy, tg_in(node, 2)), tg_attr_float(node, TG_ATTR_BETA)));
}
