#include "frontend/training/dropout.h"

#include "frontend/build/build.h"

/* The array's random numbers are those of stochastic rounding: what lies p of the way from 1 to the next BF16
 * number is rounded to that with probability p, anew in every step, the same on every engine. Clip makes X
 * that number, and so brings the shape; a NaN stays one, which no comparison drops. */
static tg_value *drops(tg_build *b, tg_value *x, double ratio) {
  const double bf16_ulp = 0x1p-7;
  double number = 1 + ratio * bf16_ulp;
  tg_value *draw = tg_build_clip(b, tg_build_cast(b, x, TG_F32), number, number);
  tg_value *mask = tg_build_cast(b, draw, TG_BF16);
  tg_attr_set_int(mask->producer, TG_ATTR_STOCHASTIC, 1);
  return tg_build_with(b, TG_OP_GREATER, tg_build_cast(b, mask, TG_F32), 1);
}

/* Policies see the product and the selection as such: no system has a name for these parts of its dropout. */
static void expand(tg_graph *graph, tg_node *node) {
  tg_value *x = tg_in(node, 0), *y = tg_out(node);
  double ratio = tg_attr_float(node, TG_ATTR_RATIO);
  tg_build b = {.graph = graph,
                .before = node,
                .name = tg_arena_printf(graph->arena, "%s.mask", y->name),
                .forward = -1,
                .keep_formats = true};
  tg_value *dropped = drops(&b, x, ratio);
  b.name = y->name;
  b.keep_formats = node->disable_graphamp;
  tg_value *kept = tg_build_with(&b, TG_OP_MUL, x, ratio < 1 ? 1 / (1 - ratio) : 0);
  kept->dtype = x->dtype;
  tg_value *result = tg_build_where(&b, dropped, tg_build_number(&b, 0), kept);
  result->dtype = x->dtype;
  tg_value_replace(graph, y, result);
  tg_graph_remove_node(graph, node);
}

int tg_dropout_expand(tg_graph *graph) {
  int identities = 0;
  TG_FOR_NODES_SAFE(graph, node) {
    if (node->op != TG_OP_DROPOUT) continue;
    if (tg_attr_float(node, TG_ATTR_RATIO) > 0)
      expand(graph, node);
    else
      identities++;
  }
  return identities;
}
