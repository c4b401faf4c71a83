/* Casts: shared, shortened, and taken into the operators around them. */
#include "frontend/build/rewrite.h"
#include "frontend/passes/passes.h"

/* Every value of `from` is a value of `to`. */
static bool widens(tg_dtype from, tg_dtype to) {
  if (from == to) return true;
  if (to == TG_F64) return tg_dtype_is_float(from);
  if (to == TG_F32) return from == TG_BF16 || from == TG_F16 || from == TG_TF32;
  return to == TG_TF32 && (from == TG_BF16 || from == TG_F16);
}

/* Cast(Cast(x, wide), to) is Cast(x, to) where the inner one lost nothing. */
static void skip_widening(tg_node *node) {
  const tg_node *inner = tg_in(node, 0)->producer;
  if (tg_is_plain_cast(inner) && widens(tg_in(inner, 0)->dtype, tg_out(inner)->dtype))
    tg_node_set_input(node, 0, tg_in(inner, 0));
}

/* The first cast of the value to that format, in list order: it stands before all others. `first` is indexed
 * by value and dtype. */
static void share(tg_graph *graph, tg_node *node, tg_value **first, int value_count) {
  const tg_value *x = tg_in(node, 0);
  if (x->index >= value_count) return;
  if (tg_is_stochastic_cast(node)) return;
  tg_value **slot = &first[(size_t)x->index * TG_DTYPE_COUNT + tg_out(node)->dtype];
  if (!*slot) {
    *slot = tg_out(node);
    return;
  }
  tg_value_replace(graph, tg_out(node), *slot);
  tg_graph_remove_node(graph, node);
}

void tg_pass_share_casts(tg_graph *graph) {
  tg_arena scratch = {0};
  int value_count = graph->value_count;
  tg_value **first = TG_NEW_ARRAY(&scratch, tg_value *, (size_t)value_count * TG_DTYPE_COUNT);
  TG_FOR_NODES_SAFE(graph, node) {
    if (node->op != TG_OP_CAST) continue;
    skip_widening(node);
    if (tg_in(node, 0)->dtype == tg_out(node)->dtype) {
      tg_value_replace(graph, tg_out(node), tg_in(node, 0));
      tg_graph_remove_node(graph, node);
    } else {
      share(graph, node, first, value_count);
    }
  }
  tg_arena_release(&scratch);
  tg_pass_remove_dead(graph);
}

/* Computes rows in fp32, of operands in any format. */
static bool is_row_kernel(const tg_node *node) {
  return node->op == TG_OP_SOFTMAX || node->op == TG_OP_LOG_SOFTMAX || tg_op_is(node->op, TG_IS_REDUCE);
}

static bool rounds_its_result(const tg_node *node) {
  return tg_op_is(node->op, TG_IS_ELEMENTWISE | TG_IS_GEMM) || is_row_kernel(node) ||
         node->op == TG_OP_AVERAGE_POOL;
}

/* An operator computes in fp32 and rounds to its result's dtype: rounding to fp32 changes nothing, so a
 * narrowing cast that alone reads an fp32 result is the same rounding. */
static bool absorb_into_producer(tg_graph *graph, tg_node *cast) {
  tg_value *x = tg_in(cast, 0), *y = tg_out(cast);
  tg_node *producer = x->producer;
  if (!producer || !rounds_its_result(producer) || x->dtype != TG_F32 || x->use_count != 1 || x->output_count)
    return false;
  if (!tg_dtype_is_float(y->dtype) || y->dtype == TG_F64) return false;
  x->dtype = y->dtype;
  tg_value_replace(graph, y, x);
  tg_graph_remove_node(graph, cast);
  return true;
}

/* Operators widen their operands exactly, so a widening cast before one says nothing. GEMM operands keep
 * theirs: there the format is the datapath. */
static void absorb_into_consumers(tg_node *cast) {
  tg_value *x = tg_in(cast, 0);
  if (!widens(x->dtype, tg_out(cast)->dtype) || tg_out(cast)->dtype != TG_F32) return;
  for (tg_use *use = tg_out(cast)->uses, *next; use; use = next) {
    next = use->next;
    if (tg_op_is(use->node->op, TG_IS_ELEMENTWISE) || is_row_kernel(use->node))
      tg_node_set_input(use->node, use->input, x);
  }
}

void tg_pass_absorb_casts(tg_graph *graph) {
  TG_FOR_NODES_SAFE(graph, node)
  if (tg_is_plain_cast(node) && !absorb_into_producer(graph, node)) absorb_into_consumers(node);
  tg_pass_remove_dead(graph);
}
