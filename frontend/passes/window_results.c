#include "frontend/passes/window_results.h"

static bool is_made(const tg_value *value, int *budget) {
  const tg_node *node = value->producer;
  if (!node || --*budget < 0) return false;
  if (tg_op_is(node->op, TG_IS_WINDOW)) return true;
  if (!tg_op_is(node->op, TG_IS_ELEMENTWISE) && !tg_is_plain_cast(node) && node->op != TG_OP_CONCAT)
    return false;
  for (int i = 0; i < node->input_count; i++)
    if (tg_in(node, i)->rank == value->rank && is_made(tg_in(node, i), budget)) return true;
  return false;
}

bool tg_is_made_by_window(const tg_value *value) {
  int budget = 256; /* values that are looked at */
  return is_made(value, &budget);
}
