/* Gradients of reductions: what was reduced is repeated, most often by the broadcast of an elementwise
 * operator. */
#include "frontend/gradients/rules.h"

/* Bits of the dimensions that a reduction runs over. */
static unsigned reduced_axes(const tg_node *node) {
  int count;
  const int64_t *axes = tg_attr_ints(node, TG_ATTR_AXES, &count);
  unsigned bits = 0;
  for (int i = 0; i < count; i++) bits |= 1u << axes[i];
  if (!count && !tg_attr_int(node, TG_ATTR_NOOP_WITH_EMPTY_AXES)) bits = (1u << tg_in(node, 0)->rank) - 1;
  return bits;
}

/* A value of the result's shape with the reduced dimensions as size 1, to broadcast with X. */
static tg_value *kept(tg_backward *w, const tg_node *node, tg_value *value) {
  int64_t sizes[TG_MAX_RANK];
  unsigned axes = reduced_axes(node);
  const tg_value *x = tg_in(node, 0);
  for (int i = 0; i < x->rank; i++) sizes[i] = axes >> i & 1 ? 1 : x->dims[i].size;
  return tg_build_reshape(&w->build, value, x->rank, sizes);
}

static tg_value *repeated(tg_backward *w, tg_value *value, const tg_value *like) {
  int64_t sizes[TG_MAX_RANK];
  tg_value_sizes(like, sizes);
  return tg_build_expand(&w->build, value, like->rank, sizes);
}

void tg_gradient_reduce_sum(tg_backward *w, const tg_node *node, tg_value *dy) {
  tg_backward_give(w, 0, repeated(w, kept(w, node, dy), tg_in(node, 0)));
}

void tg_gradient_reduce_mean(tg_backward *w, const tg_node *node, tg_value *dy) {
  double count = (double)tg_value_elements(tg_in(node, 0)) / (double)tg_value_elements(tg_out(node));
  tg_backward_give(w, 0, repeated(w, tg_scaled(w, kept(w, node, dy), 1 / count), tg_in(node, 0)));
}

tg_value *tg_gradient_among_equals(tg_backward *w, tg_value *x, tg_value *y, tg_value *g, unsigned axes) {
  tg_value *is = tg_build_binary(&w->build, TG_OP_EQUAL, x, y);
  tg_value *count = tg_build_sum(&w->build, tg_where(w, is, tg_build_number(&w->build, 1), NULL), axes);
  return tg_where(w, is, tg_div(w, g, count), NULL);
}

void tg_gradient_reduce_extremum(tg_backward *w, const tg_node *node, tg_value *dy) {
  tg_value *y = kept(w, node, tg_out(node)), *g = kept(w, node, dy);
  tg_backward_give(w, 0, tg_gradient_among_equals(w, tg_in(node, 0), y, g, reduced_axes(node)));
}

void tg_gradient_reduce_prod(tg_backward *w, const tg_node *node, tg_value *dy) {
  tg_value *product = tg_mul(w, kept(w, node, dy), kept(w, node, tg_out(node)));
  tg_backward_give(w, 0, tg_div(w, product, tg_in(node, 0)));
}

void tg_gradient_reduce_l1(tg_backward *w, const tg_node *node, tg_value *dy) {
  tg_backward_give(w, 0, tg_mul(w, kept(w, node, dy), tg_unary(w, TG_OP_SIGN, tg_in(node, 0))));
}

void tg_gradient_reduce_l2(tg_backward *w, const tg_node *node, tg_value *dy) {
  tg_value *norm = kept(w, node, tg_out(node)), *positive = tg_compare(w, TG_OP_GREATER, norm, 0);
  tg_value *factor = tg_where(w, positive, tg_div(w, kept(w, node, dy), norm), NULL);
  tg_backward_give(w, 0, tg_mul(w, factor, tg_in(node, 0)));
}

void tg_gradient_reduce_sum_square(tg_backward *w, const tg_node *node, tg_value *dy) {
  tg_backward_give(w, 0, tg_mul(w, tg_scaled(w, kept(w, node, dy), 2), tg_in(node, 0)));
}

/* The sum is exp of the result; each element counts the same. */
void tg_gradient_reduce_log_sum(tg_backward *w, const tg_node *node, tg_value *dy) {
  tg_value *sum = tg_unary(w, TG_OP_EXP, kept(w, node, tg_out(node)));
  tg_backward_give(w, 0, repeated(w, tg_div(w, kept(w, node, dy), sum), tg_in(node, 0)));
}

void tg_gradient_reduce_log_sum_exp(tg_backward *w, const tg_node *node, tg_value *dy) {
  tg_value *share = tg_unary(w, TG_OP_EXP, tg_sub(w, tg_in(node, 0), kept(w, node, tg_out(node))));
  tg_backward_give(w, 0, tg_mul(w, kept(w, node, dy), share));
}
