/* Gradients of moves are moves. */
#include "frontend/training/rules.h"

#include "frontend/passes/rewrite.h"

void tg_gradient_reshape(tg_backward *w, const tg_node *node, tg_value *dy) {
  tg_backward_give(w, 0, tg_build_reshape_like(&w->build, dy, tg_in(node, 0)));
}

void tg_gradient_transpose(tg_backward *w, const tg_node *node, tg_value *dy) {
  int64_t back[TG_MAX_RANK];
  tg_perm_invert(tg_attr_ints(node, TG_ATTR_PERM, NULL), dy->rank, back);
  tg_backward_give(w, 0, tg_build_transpose(&w->build, dy, back));
}

void tg_gradient_identity(tg_backward *w, const tg_node *node, tg_value *dy) {
  (void)node;
  tg_backward_give(w, 0, dy);
}

void tg_gradient_cast(tg_backward *w, const tg_node *node, tg_value *dy) {
  tg_backward_give(w, 0, tg_build_cast(&w->build, dy, tg_in(node, 0)->dtype));
}
