/* What the rules of all operators hand their gradients to. */
#include "frontend/gradients/rules.h"

bool tg_backward_is_wanted(const tg_backward *w, int input) {
  const tg_value *x = tg_in(w->node, input);
  return x && tg_dtype_is_float(x->dtype) && (input >= 32 || w->operands >> input & 1) && w->wanted[x->index];
}

bool tg_backward_wants(tg_backward *w, int input) {
  if (!tg_backward_is_wanted(w, input)) return false;
  w->build.name = tg_arena_printf(w->build.graph->arena, "%s.grad", tg_in(w->node, input)->name);
  return true;
}

tg_value *tg_backward_of(const tg_backward *w, int output) {
  return w->gradient[w->node->outputs[output]->index];
}

/* A gradient has the element type of what it is the gradient of; what was just built for it is rounded to
 * that, anything else converted. */
static tg_value *with_dtype(tg_backward *w, tg_value *gradient, tg_dtype dtype) {
  tg_node *producer = gradient->producer;
  if (gradient->dtype == dtype) return gradient;
  bool fresh = producer && producer->forward == w->node->id && producer->forward_operand == -1 &&
               !gradient->use_count && !tg_op_is(producer->op, TG_IS_MOVE) && producer->op != TG_OP_CAST;
  if (!fresh) return tg_build_cast(&w->build, gradient, dtype);
  gradient->dtype = dtype;
  return gradient;
}

/* Says whose gradient it is: on what computes it, and on the moves behind that. */
static void mark(const tg_backward *w, int input, const tg_value *gradient) {
  for (tg_node *node = gradient->producer;
       node && node->forward == w->node->id && node->forward_operand == -1;) {
    const tg_value *x = tg_in(node, 0);
    node->forward_operand = input;
    bool moved = tg_op_is(node->op, TG_IS_MOVE) && node->input_count == 1 && x->use_count == 1;
    node = moved ? x->producer : NULL;
  }
}

void tg_backward_give(tg_backward *w, int input, tg_value *gradient) {
  if (!tg_backward_wants(w, input)) return;
  tg_value *x = tg_in(w->node, input);
  gradient = with_dtype(w, tg_build_sum_to(&w->build, gradient, x), x->dtype);
  mark(w, input, gradient);
  tg_value **sum = &w->gradient[x->index];
  if (*sum) {
    gradient = tg_build_binary(&w->build, TG_OP_ADD, *sum, gradient);
    gradient->dtype = x->dtype;
    gradient->producer->forward_operand = TG_SUM_OF_GRADIENTS;
  }
  *sum = gradient;
}
