/* A convolution or pool of one dimension is one of an image of height 1, and its result is squeezed behind it. Such Reshapes
 * move below elementwise operators and Concat, towards the one that undoes them: these then are the convolution's epilogue,
 * and the next one reads what it made. */
#include "frontend/build/rewrite.h"
#include "frontend/passes/passes.h"
#include "frontend/passes/window_results.h"

#include <string.h>

/* Of a Reshape that drops dimensions of size 1: dimension kept[d] of its operand is dimension d of its result. */
typedef struct squeeze {
  const tg_value *from;
  int kept[TG_MAX_RANK];
} squeeze;

static bool is_squeezed(const tg_value *value, squeeze *out) {
  const tg_node *reshape = value->producer;
  if (!reshape || reshape->op != TG_OP_RESHAPE || tg_in(reshape, 0)->rank <= value->rank) return false;
  *out = (squeeze){.from = tg_in(reshape, 0)};
  int found = 0;
  for (int d = 0; d < out->from->rank; d++) {
    if (found < value->rank && out->from->dims[d].size == value->dims[found].size)
      out->kept[found++] = d;
    else if (out->from->dims[d].size != 1)
      return false;
  }
  return found == value->rank && tg_is_made_by_window(out->from);
}

static bool same_squeeze(const squeeze *a, const squeeze *b) {
  return a->from->rank == b->from->rank && !memcmp(a->kept, b->kept, sizeof a->kept);
}

/* A Cast that a move follows is made by it. */
static bool is_made_by_move(const tg_node *node) {
  const tg_value *y = tg_out(node);
  return tg_is_plain_cast(node) && y->use_count == 1 && y->uses->node->op == TG_OP_TRANSPOSE;
}

/* Another tensor of all of the result's elements: of operators that do not know the dimension, which would then be between
 * them and this one. */
static bool is_elsewhere(const tg_node *node, const tg_value *operand) {
  return !tg_is_constant(operand) && tg_value_elements(operand) == tg_value_elements(tg_out(node));
}

/* The squeeze that the node's result could have in place of its operands, of which all have to be squeezed alike that are
 * not broadcast. */
static bool find(const tg_node *node, squeeze *out) {
  bool concat = node->op == TG_OP_CONCAT, found = false;
  if (!tg_op_is(node->op, TG_IS_ELEMENTWISE) && !tg_is_plain_cast(node) && !concat) return false;
  if (is_made_by_move(node)) return false;
  for (int i = 0; i < node->input_count; i++) {
    squeeze own;
    if (!tg_in(node, i)) return false;
    bool is = tg_in(node, i)->rank == tg_out(node)->rank && is_squeezed(tg_in(node, i), &own);
    if (is && found && !same_squeeze(&own, out)) return false;
    if (!is && (concat || is_elsewhere(node, tg_in(node, i)))) return false;
    if (is && !found) *out = own;
    found |= is;
  }
  return found;
}

/* The operand as the node has it when its result is not squeezed. */
static tg_value *unsqueezed(tg_graph *graph, tg_value *operand, int rank, const squeeze *s, tg_node *before) {
  squeeze own;
  int64_t sizes[TG_MAX_RANK];
  if (operand->rank == rank && is_squeezed(operand, &own) && same_squeeze(&own, s))
    return tg_in(operand->producer, 0);
  int skipped = rank - operand->rank;
  if (!operand->rank || s->kept[skipped] - skipped == s->from->rank - rank)
    return operand; /* its last dimensions */
  for (int d = 0; d < s->from->rank; d++) sizes[d] = 1;
  for (int d = 0; d < operand->rank; d++) sizes[s->kept[skipped + d]] = operand->dims[d].size;
  return tg_rewrite_reshape(graph, operand, s->from->rank, sizes, before);
}

static void sink(tg_graph *graph, tg_node *node, const squeeze *s) {
  tg_value *y = tg_out(node);
  int64_t sizes[TG_MAX_RANK];
  int rank = y->rank;
  tg_value_sizes(y, sizes);
  for (int i = 0; i < node->input_count; i++)
    tg_node_set_input(node, i, unsqueezed(graph, tg_in(node, i), rank, s, node));
  if (node->op == TG_OP_CONCAT) tg_attr_set_int(node, TG_ATTR_AXIS, s->kept[tg_attr_int(node, TG_ATTR_AXIS)]);
  tg_rewrite_infer(graph, node);
  tg_value *result = tg_rewrite_reshape(graph, y, rank, sizes, node->next);
  tg_value_replace_except(graph, y, result, result->producer);
}

void tg_pass_sink_squeezes(tg_graph *graph) {
  TG_FOR_NODES_SAFE(graph, node) {
    squeeze s;
    if (find(node, &s)) sink(graph, node, &s);
  }
  tg_pass_remove_dead(graph);
}
