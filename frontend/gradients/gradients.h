/* Reverse mode: from the gradient of one value to those of the parameters it depends on. */
#ifndef TEGULA_FRONTEND_GRADIENTS_GRADIENTS_H
#define TEGULA_FRONTEND_GRADIENTS_GRADIENTS_H

#include "frontend/build/build.h"

/* The walk. A rule reads `node` and the gradient of its result (of the first; NULL if only others have one),
 * and gives those of its operands. */
typedef struct tg_backward {
  tg_build build; /* stamped for the node whose rule runs */
  const tg_node *node;
  unsigned operands;   /* those that have a gradient, a bit each */
  tg_value **gradient; /* by value->index: the sum so far; NULL: none yet */
  bool *wanted;        /* by value->index: it depends on a parameter */
  int value_count;
  const char *refusal; /* set by a rule that cannot: why */
  int partials;        /* of linear weight gradients: MatMul's attributes */
  tg_reduction reduction;
  tg_diag *diag;
} tg_backward;

/* Does operand `input` of the node at hand need a gradient? Then what is built next is named after it. */
bool tg_backward_wants(tg_backward *w, int input);
/* The same, naming nothing. */
bool tg_backward_is_wanted(const tg_backward *w, int input);
/* Adds `gradient`, of the broadcast shape or of the operand's, to that of operand `input`. */
void tg_backward_give(tg_backward *w, int input, tg_value *gradient);
/* Of a result of the node at hand; NULL: nothing depends on it. */
tg_value *tg_backward_of(const tg_backward *w, int output);

typedef void tg_gradient_rule(tg_backward *w, const tg_node *node, tg_value *dy);

/* A row of gradients.def. */
typedef struct tg_gradient_info {
  tg_gradient_rule *rule; /* NULL: the operator has no gradient */
  unsigned operands;      /* bit i: operand i may need one; the others are indices, sizes, conditions */
  const char *text;
} tg_gradient_info;
const tg_gradient_info *tg_gradient_get(tg_op op);

/* Walks back from `y`, whose gradient is `dy`, over the nodes up to `last`. `is_parameter` is by value->index
 * (values made since have none); out_gradients has room for as many. The gradient of parameters that `y` does
 * not depend on is NULL. Gradients of linear weights are sums of `partials` products, added as `reduction`
 * says. What is built stands before `before` (NULL: at the end). TG_INVALID: a node on the way has no
 * gradient. */
tg_status tg_backward_run(tg_graph *graph, const bool *is_parameter, int value_count, tg_node *last,
                          tg_node *before, tg_value *y, tg_value *dy, int partials, tg_reduction reduction,
                          tg_value **out_gradients, tg_diag *diag);

/* Marks, by value->index, all that `y` depends on by operands that have gradients. */
void tg_backward_reach(const tg_graph *graph, const tg_value *y, bool *out_reached);

#endif
