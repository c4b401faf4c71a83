/* Gradients of elementwise operators. What depends on the result rather than the operand says so: the result
 * is often kept anyway. */
#include "frontend/training/rules.h"

void tg_gradient_add(tg_backward *w, const tg_node *node, tg_value *dy) {
  (void)node;
  tg_backward_give(w, 0, dy);
  tg_backward_give(w, 1, dy);
}

void tg_gradient_sub(tg_backward *w, const tg_node *node, tg_value *dy) {
  (void)node;
  tg_backward_give(w, 0, dy);
  if (tg_backward_wants(w, 1))
    tg_backward_give(w, 1, tg_neg(w, tg_build_sum_to(&w->build, dy, tg_in(node, 1))));
}

void tg_gradient_mul(tg_backward *w, const tg_node *node, tg_value *dy) {
  for (int i = 0; i < 2; i++)
    if (tg_backward_wants(w, i)) tg_backward_give(w, i, tg_mul(w, dy, tg_in(node, !i)));
}

void tg_gradient_div(tg_backward *w, const tg_node *node, tg_value *dy) {
  tg_value *b = tg_in(node, 1), *quotient = tg_div(w, dy, b);
  tg_value *product = tg_backward_wants(w, 1) ? tg_neg(w, tg_mul(w, quotient, tg_out(node))) : NULL;
  tg_backward_give(w, 0, quotient);
  if (product) tg_backward_give(w, 1, product);
}

void tg_gradient_neg(tg_backward *w, const tg_node *node, tg_value *dy) {
  (void)node;
  tg_backward_give(w, 0, tg_neg(w, dy));
}

void tg_gradient_relu(tg_backward *w, const tg_node *node, tg_value *dy) {
  tg_backward_give(w, 0, tg_build_where_positive(&w->build, tg_out(node), dy));
}

void tg_gradient_sigmoid(tg_backward *w, const tg_node *node, tg_value *dy) {
  tg_value *y = tg_out(node), *rest = tg_build_from(&w->build, TG_OP_SUB, 1, y);
  tg_backward_give(w, 0, tg_mul(w, dy, tg_mul(w, y, rest)));
}

void tg_gradient_tanh(tg_backward *w, const tg_node *node, tg_value *dy) {
  tg_value *y = tg_out(node), *rest = tg_build_from(&w->build, TG_OP_SUB, 1, tg_mul(w, y, y));
  tg_backward_give(w, 0, tg_mul(w, dy, rest));
}

void tg_gradient_exp(tg_backward *w, const tg_node *node, tg_value *dy) {
  tg_backward_give(w, 0, tg_mul(w, dy, tg_out(node)));
}

void tg_gradient_log(tg_backward *w, const tg_node *node, tg_value *dy) {
  tg_backward_give(w, 0, tg_div(w, dy, tg_in(node, 0)));
}

void tg_gradient_sqrt(tg_backward *w, const tg_node *node, tg_value *dy) {
  tg_backward_give(w, 0, tg_div(w, dy, tg_scaled(w, tg_out(node), 2)));
}

void tg_gradient_reciprocal(tg_backward *w, const tg_node *node, tg_value *dy) {
  tg_value *y = tg_out(node);
  tg_backward_give(w, 0, tg_neg(w, tg_mul(w, dy, tg_mul(w, y, y))));
}
