/* Gradients of elementwise operators of several operands. */
#include "frontend/gradients/rules.h"

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

void tg_gradient_sum(tg_backward *w, const tg_node *node, tg_value *dy) {
  for (int i = 0; i < node->input_count; i++) tg_backward_give(w, i, dy);
}

void tg_gradient_mean(tg_backward *w, const tg_node *node, tg_value *dy) {
  tg_gradient_sum(w, node, tg_scaled(w, dy, 1.0 / node->input_count));
}

/* As torch.maximum and torch.minimum: equal operands share the gradient. */
void tg_gradient_extremum(tg_backward *w, const tg_node *node, tg_value *dy) {
  tg_value *y = tg_out(node), *count = NULL, *one = tg_build_number(&w->build, 1);
  tg_value **is = TG_NEW_ARRAY(w->build.graph->arena, tg_value *, (size_t)node->input_count);
  for (int i = 0; i < node->input_count; i++) {
    is[i] = tg_build_binary(&w->build, TG_OP_EQUAL, tg_in(node, i), y);
    tg_value *counted = tg_where(w, is[i], one, NULL);
    count = count ? tg_add(w, count, counted) : counted;
  }
  tg_value *part = tg_div(w, dy, count);
  for (int i = 0; i < node->input_count; i++)
    if (tg_backward_wants(w, i)) tg_backward_give(w, i, tg_where(w, is[i], part, NULL));
}

/* B A^(B-1), 0 where B is 0; on the array B is a number. */
static tg_value *power_slope(tg_backward *w, const tg_node *node) {
  tg_value *a = tg_in(node, 0), *b = tg_in(node, 1);
  if (!tg_is_constant(b) || tg_value_elements(b) != 1) {
    tg_value *less = tg_build_with(&w->build, TG_OP_SUB, b, 1);
    tg_value *slope = tg_mul(w, b, tg_build_binary(&w->build, TG_OP_POW, a, less));
    return tg_where(w, tg_compare(w, TG_OP_EQUAL, b, 0), tg_build_number(&w->build, 0), slope);
  }
  double power = (double)tg_load_f32(b->data, b->dtype, 0);
  if (power == 0) return tg_build_number(&w->build, 0); /* at 0, too, as in PyTorch */
  if (power == 2) return tg_scaled(w, a, 2);
  if (power == 0.5) return tg_build_from(&w->build, TG_OP_DIV, 0.5, tg_out(node));
  return tg_scaled(w, tg_build_with(&w->build, TG_OP_POW, a, power - 1), power);
}

void tg_gradient_pow(tg_backward *w, const tg_node *node, tg_value *dy) {
  if (tg_backward_wants(w, 0)) tg_backward_give(w, 0, tg_mul(w, dy, power_slope(w, node)));
  if (!tg_backward_wants(w, 1)) return;
  tg_value *a = tg_in(node, 0), *b = tg_in(node, 1),
           *slope = tg_mul(w, tg_out(node), tg_unary(w, TG_OP_LOG, a));
  tg_value *flat = tg_build_binary(&w->build, TG_OP_AND, tg_compare(w, TG_OP_EQUAL, a, 0),
                                   tg_compare(w, TG_OP_GREATER_OR_EQUAL, b, 0));
  tg_backward_give(w, 1, tg_mul(w, dy, tg_where(w, flat, tg_build_number(&w->build, 0), slope)));
}

void tg_gradient_prelu(tg_backward *w, const tg_node *node, tg_value *dy) {
  tg_value *x = tg_in(node, 0), *positive = tg_compare(w, TG_OP_GREATER, x, 0);
  if (tg_backward_wants(w, 0))
    tg_backward_give(w, 0, tg_where(w, positive, dy, tg_mul(w, dy, tg_in(node, 1))));
  if (tg_backward_wants(w, 1))
    tg_backward_give(w, 1, tg_where(w, positive, tg_build_number(&w->build, 0), tg_mul(w, dy, x)));
}

void tg_gradient_where(tg_backward *w, const tg_node *node, tg_value *dy) {
  tg_value *condition = tg_in(node, 0), *zero = tg_build_number(&w->build, 0);
  if (tg_backward_wants(w, 1)) tg_backward_give(w, 1, tg_where(w, condition, dy, zero));
  if (tg_backward_wants(w, 2)) tg_backward_give(w, 2, tg_where(w, condition, zero, dy));
}
