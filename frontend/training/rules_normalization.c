/* Gradients of softmax and the normalisations. */
#include "frontend/training/rules.h"

/* The dimensions that a softmax runs over. */
static unsigned softmax_axes(const tg_node *node) {
  unsigned axis = 1u << tg_attr_int(node, TG_ATTR_AXIS);
  unsigned all = (1u << tg_out(node)->rank) - 1;
  return tg_attr_int(node, TG_ATTR_FLATTEN) ? all & ~(axis - 1) : axis;
}

void tg_gradient_softmax(tg_backward *w, const tg_node *node, tg_value *dy) {
  tg_value *y = tg_out(node), *sum = tg_build_sum(&w->build, tg_mul(w, dy, y), softmax_axes(node));
  tg_backward_give(w, 0, tg_mul(w, y, tg_sub(w, dy, sum)));
}
