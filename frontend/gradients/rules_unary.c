/* Gradients of functions of one operand. What depends on the result rather than the operand says so: the
 * result is often kept anyway. At a kink each takes the side that PyTorch takes. */
#include "frontend/gradients/rules.h"

#include <float.h>
#include <math.h>
#include <string.h>

static void give_product(tg_backward *w, tg_value *dy, tg_value *slope) {
  tg_backward_give(w, 0, tg_mul(w, dy, slope));
}

void tg_gradient_zero(tg_backward *w, const tg_node *node, tg_value *dy) { (void)w, (void)node, (void)dy; }

void tg_gradient_neg(tg_backward *w, const tg_node *node, tg_value *dy) {
  (void)node;
  tg_backward_give(w, 0, tg_neg(w, dy));
}

void tg_gradient_abs(tg_backward *w, const tg_node *node, tg_value *dy) {
  give_product(w, dy, tg_unary(w, TG_OP_SIGN, tg_in(node, 0)));
}

/* --- pieces */

static void give_above(tg_backward *w, const tg_node *node, double limit, tg_value *above, tg_value *below) {
  tg_backward_give(w, 0, tg_where(w, tg_compare(w, TG_OP_GREATER, tg_in(node, 0), limit), above, below));
}

void tg_gradient_relu(tg_backward *w, const tg_node *node, tg_value *dy) {
  tg_backward_give(w, 0, tg_build_where_positive(&w->build, tg_out(node), dy));
}

void tg_gradient_leaky_relu(tg_backward *w, const tg_node *node, tg_value *dy) {
  give_above(w, node, 0, dy, tg_scaled(w, dy, tg_attr_float(node, TG_ATTR_ALPHA)));
}

void tg_gradient_thresholded_relu(tg_backward *w, const tg_node *node, tg_value *dy) {
  give_above(w, node, tg_attr_float(node, TG_ATTR_ALPHA), dy, NULL);
}

void tg_gradient_elu(tg_backward *w, const tg_node *node, tg_value *dy) {
  tg_value *slope = tg_plus(w, tg_out(node), tg_attr_float(node, TG_ATTR_ALPHA));
  give_above(w, node, 0, dy, tg_mul(w, dy, slope));
}

void tg_gradient_selu(tg_backward *w, const tg_node *node, tg_value *dy) {
  double gamma = tg_attr_float(node, TG_ATTR_GAMMA), alpha = tg_attr_float(node, TG_ATTR_ALPHA);
  tg_value *slope = tg_plus(w, tg_out(node), gamma * alpha);
  give_above(w, node, 0, tg_scaled(w, dy, gamma), tg_mul(w, dy, slope));
}

void tg_gradient_celu(tg_backward *w, const tg_node *node, tg_value *dy) {
  tg_value *slope = tg_plus(w, tg_scaled(w, tg_out(node), 1 / tg_attr_float(node, TG_ATTR_ALPHA)), 1);
  give_above(w, node, 0, dy, tg_mul(w, dy, slope));
}

void tg_gradient_clip(tg_backward *w, const tg_node *node, tg_value *dy) {
  double low = tg_attr_float(node, TG_ATTR_MIN), high = tg_attr_float(node, TG_ATTR_MAX);
  tg_value *x = tg_in(node, 0), *g = dy;
  if (low > -FLT_MAX) g = tg_where(w, tg_compare(w, TG_OP_GREATER_OR_EQUAL, x, low), g, NULL);
  if (high < FLT_MAX) g = tg_where(w, tg_compare(w, TG_OP_LESS_OR_EQUAL, x, high), g, NULL);
  tg_backward_give(w, 0, g);
}

void tg_gradient_hard_sigmoid(tg_backward *w, const tg_node *node, tg_value *dy) {
  tg_value *y = tg_out(node), *g = tg_scaled(w, dy, tg_attr_float(node, TG_ATTR_ALPHA));
  g = tg_where(w, tg_compare(w, TG_OP_GREATER, y, 0), g, NULL);
  tg_backward_give(w, 0, tg_where(w, tg_compare(w, TG_OP_LESS, y, 1), g, NULL));
}

void tg_gradient_hard_swish(tg_backward *w, const tg_node *node, tg_value *dy) {
  tg_value *x = tg_in(node, 0), *middle = tg_mul(w, dy, tg_plus(w, tg_scaled(w, x, 1.0 / 3), 0.5));
  tg_value *low = tg_where(w, tg_compare(w, TG_OP_GREATER_OR_EQUAL, x, -3), middle, NULL);
  give_above(w, node, 3, dy, low);
}

/* --- smooth functions */

void tg_gradient_sigmoid(tg_backward *w, const tg_node *node, tg_value *dy) {
  tg_value *y = tg_out(node);
  give_product(w, dy, tg_mul(w, y, tg_one_minus(w, y)));
}

void tg_gradient_tanh(tg_backward *w, const tg_node *node, tg_value *dy) {
  tg_value *y = tg_out(node);
  give_product(w, dy, tg_one_minus(w, tg_mul(w, y, y)));
}

void tg_gradient_softplus(tg_backward *w, const tg_node *node, tg_value *dy) {
  give_product(w, dy, tg_unary(w, TG_OP_SIGMOID, tg_in(node, 0)));
}

void tg_gradient_softsign(tg_backward *w, const tg_node *node, tg_value *dy) {
  tg_value *d = tg_plus(w, tg_unary(w, TG_OP_ABS, tg_in(node, 0)), 1);
  tg_backward_give(w, 0, tg_div(w, dy, tg_mul(w, d, d)));
}

void tg_gradient_mish(tg_backward *w, const tg_node *node, tg_value *dy) {
  tg_value *x = tg_in(node, 0), *t = tg_unary(w, TG_OP_TANH, tg_unary(w, TG_OP_SOFTPLUS, x));
  tg_value *slope = tg_mul(w, tg_one_minus(w, tg_mul(w, t, t)), tg_unary(w, TG_OP_SIGMOID, x));
  give_product(w, dy, tg_add(w, t, tg_mul(w, x, slope)));
}

void tg_gradient_exp(tg_backward *w, const tg_node *node, tg_value *dy) { give_product(w, dy, tg_out(node)); }

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

/* factor exp(-scale x^2) */
static tg_value *bell(tg_backward *w, tg_value *x, double scale, double factor) {
  tg_value *square = tg_scaled(w, tg_mul(w, x, x), -scale);
  return tg_scaled(w, tg_unary(w, TG_OP_EXP, square), factor);
}

void tg_gradient_erf(tg_backward *w, const tg_node *node, tg_value *dy) {
  give_product(w, dy, bell(w, tg_in(node, 0), 1, M_2_SQRTPI));
}

/* With u = k (x + c x^3), t = tanh u: (1 + t) / 2 + x (1 - t^2) k (1 + 3 c x^2) / 2. */
static tg_value *gelu_tanh_slope(tg_backward *w, tg_value *x) {
  const double k = M_2_SQRTPI * M_SQRT1_2, c = 0.044715;
  tg_value *square = tg_mul(w, x, x);
  tg_value *u = tg_mul(w, tg_scaled(w, x, k), tg_plus(w, tg_scaled(w, square, c), 1));
  tg_value *t = tg_unary(w, TG_OP_TANH, u), *rest = tg_one_minus(w, tg_mul(w, t, t));
  tg_value *du = tg_plus(w, tg_scaled(w, square, 1.5 * c * k), 0.5 * k);
  return tg_add(w, tg_plus(w, tg_scaled(w, t, 0.5), 0.5), tg_mul(w, tg_mul(w, x, rest), du));
}

void tg_gradient_gelu(tg_backward *w, const tg_node *node, tg_value *dy) {
  tg_value *x = tg_in(node, 0);
  if (!strcmp(tg_attr_text(node, TG_ATTR_APPROXIMATE), "tanh")) {
    give_product(w, dy, gelu_tanh_slope(w, x));
    return;
  }
  give_product(w, dy, tg_unary(w, TG_OP_GELU_DERIVATIVE, x));
}
