/* Reductions: all of them into ReduceSum, ReduceMax, ReduceMin and ReduceProd that keep their dimensions, and
 * those into what the array runs: over the last dimension of rows, or over blocks of the dimension before
 * it. */
#include "frontend/build/rewrite.h"
#include "frontend/passes/passes.h"
#include "frontend/passes/reductions.h"

#include <math.h>

/* --- composites */

/* The reduction `op` of x over the axes of `node`, its dimensions kept. */
static tg_value *reduced(tg_graph *graph, tg_node *node, tg_op op, tg_value *x, tg_dtype dtype, int64_t id) {
  int count;
  const int64_t *axes = tg_attr_ints(node, TG_ATTR_AXES, &count);
  tg_node *made = tg_graph_add_node(graph, op, node->name, &x, 1, node, id);
  tg_attr_set_ints(graph, made, TG_ATTR_AXES, axes, count);
  tg_attr_set_int(made, TG_ATTR_NOOP_WITH_EMPTY_AXES, count == 0);
  if (op == TG_OP_REDUCE_MOMENT) tg_attr_set_int(made, TG_ATTR_ORDER, tg_attr_int(node, TG_ATTR_ORDER));
  made->disable_graphamp = node->disable_graphamp;
  made->rule = node->rule;
  tg_out(made)->dtype = dtype;
  tg_rewrite_infer(graph, made);
  return tg_out(made);
}

static tg_value *sum(tg_graph *graph, tg_node *node, tg_value *x) {
  return reduced(graph, node, TG_OP_REDUCE_SUM, x, TG_F32, node->id);
}

static int64_t elements_reduced(const tg_node *node) {
  int count;
  const int64_t *axes = tg_attr_ints(node, TG_ATTR_AXES, &count);
  int64_t product = 1;
  for (int i = 0; i < count; i++) product *= tg_in(node, 0)->dims[axes[i]].size;
  return product;
}

/* max + log(sum(exp(x - max))), with a finite maximum: infinities come out of the exponentials.
 * Nothing has no maximum, and sums up to 0. */
static tg_value *log_sum_exp(tg_graph *graph, tg_node *node, tg_value *x) {
  if (!elements_reduced(node)) return tg_reduce_step(graph, node, TG_OP_LOG, sum(graph, node, x), NULL, node);
  tg_value *top = reduced(graph, node, TG_OP_REDUCE_MAX, x, TG_F32, -1);
  tg_value *finite = tg_reduce_step(graph, node, TG_OP_CLIP, top, NULL, node);
  tg_value *below = tg_reduce_step(graph, node, TG_OP_SUB, x, finite, node);
  tg_value *total = sum(graph, node, tg_reduce_step(graph, node, TG_OP_EXP, below, NULL, node));
  return tg_reduce_step(graph, node, TG_OP_ADD, tg_reduce_step(graph, node, TG_OP_LOG, total, NULL, node),
                        finite, node);
}

static tg_value *composed(tg_graph *graph, tg_node *node) {
  tg_value *x = tg_in(node, 0);
  switch (node->op) {
  case TG_OP_REDUCE_MEAN: {
    tg_value *share =
        tg_graph_add_scalar(graph, "share", TG_F32, (double)(1.0f / (float)elements_reduced(node)));
    return tg_reduce_step(graph, node, TG_OP_MUL, sum(graph, node, x), share, node);
  }
  case TG_OP_REDUCE_L1: return sum(graph, node, tg_reduce_step(graph, node, TG_OP_ABS, x, NULL, node));
  case TG_OP_REDUCE_SUM_SQUARE: return sum(graph, node, tg_reduce_step(graph, node, TG_OP_MUL, x, x, node));
  case TG_OP_REDUCE_L2:
    return tg_reduce_step(graph, node, TG_OP_SQRT,
                          sum(graph, node, tg_reduce_step(graph, node, TG_OP_MUL, x, x, node)), NULL, node);
  case TG_OP_REDUCE_LOG_SUM: return tg_reduce_step(graph, node, TG_OP_LOG, sum(graph, node, x), NULL, node);
  case TG_OP_REDUCE_LOG_SUM_EXP: return log_sum_exp(graph, node, x);
  default: return reduced(graph, node, node->op, x, TG_F32, node->id);
  }
}

/* Of each element alone; others still square it, or take its magnitude or logarithm. */
static bool is_noop(const tg_node *node) {
  int count;
  tg_attr_ints(node, TG_ATTR_AXES, &count);
  if (count || !tg_attr_int(node, TG_ATTR_NOOP_WITH_EMPTY_AXES)) return false;
  switch (node->op) {
  case TG_OP_REDUCE_L1:
  case TG_OP_REDUCE_L2:
  case TG_OP_REDUCE_SUM_SQUARE:
  case TG_OP_REDUCE_LOG_SUM: return false;
  default: return true;
  }
}

static bool computes_floats(const tg_node *node) {
  tg_dtype from = tg_in(node, 0)->dtype, to = tg_out(node)->dtype;
  return tg_dtype_is_float(from) && from != TG_F64 && to != TG_F64;
}

void tg_pass_lower_reduce(tg_graph *graph) {
  TG_FOR_NODES_SAFE(graph, node) {
    if (!tg_op_is(node->op, TG_IS_REDUCE) || !computes_floats(node)) continue;
    tg_value *y = tg_out(node), *result = is_noop(node) ? tg_in(node, 0) : composed(graph, node);
    if (result->producer && result != tg_in(node, 0))
      result->dtype = y->dtype;
    else
      result = tg_rewrite_cast(graph, result, y->dtype, node);
    int64_t sizes[TG_MAX_RANK];
    tg_value_sizes(y, sizes);
    tg_rewrite_replace(graph, node, tg_rewrite_reshape(graph, result, y->rank, sizes, node));
  }
}

/* --- to rows and blocks */

static double identity_of(tg_op op) {
  return op == TG_OP_REDUCE_MAX    ? -INFINITY
         : op == TG_OP_REDUCE_MIN  ? INFINITY
         : op == TG_OP_REDUCE_PROD ? 1
                                   : 0;
}

static tg_value *of_nothing(tg_graph *graph, const tg_node *node) {
  const tg_value *y = tg_out(node);
  int64_t sizes[TG_MAX_RANK], count = tg_value_elements(y);
  tg_value_sizes(y, sizes);
  tg_value *made = tg_graph_add_constant(graph, y->name, y->dtype, y->rank, sizes, NULL, false);
  for (int64_t i = 0; i < count; i++)
    tg_store_f32((void *)made->data, y->dtype, (size_t)i, (float)identity_of(node->op));
  return made;
}

static bool is_in_form(const tg_node *node) {
  int count;
  const tg_value *x = tg_in(node, 0);
  const int64_t *axes = tg_attr_ints(node, TG_ATTR_AXES, &count);
  if (tg_attr_int(node, TG_ATTR_BLOCK)) return true;
  return count == 1 && x->rank == 2 && axes[0] == 1 && x->dims[1].size <= TG_MOST_OF_ROW &&
         x->dims[1].size > 1;
}

void tg_pass_split_reduce(tg_graph *graph) {
  tg_split_moments(graph);
  TG_FOR_NODES_SAFE(graph, node) {
    if (!tg_op_is(node->op, TG_IS_REDUCE) || !computes_floats(node) || is_in_form(node)) continue;
    tg_value *x = tg_in(node, 0), *y = tg_out(node);
    int64_t sizes[TG_MAX_RANK];
    tg_value_sizes(y, sizes);
    if (!tg_value_elements(x)) {
      tg_rewrite_replace(graph, node, of_nothing(graph, node));
      continue;
    }
    tg_value *result = tg_reduce_as(graph, node, node->op, x);
    if (result == x)
      result = tg_rewrite_cast(graph, x, y->dtype, node);
    else {
      result->dtype = y->dtype;
      result->producer->id = node->id;
    }
    tg_rewrite_replace(graph, node, tg_rewrite_reshape(graph, result, y->rank, sizes, node));
  }
  tg_pass_sink_reshapes(graph);
  tg_pass_remove_dead(graph);
}

/* --- sums of several tensors */

/* Sum and Mean: a chain of additions, in fp32 up to the last. */
static void lower_sum(tg_graph *graph, tg_node *node) {
  tg_value *result = tg_in(node, 0);
  tg_dtype between = tg_out(node)->dtype == TG_F64 ? TG_F64 : TG_F32;
  for (int i = 1; i < node->input_count; i++)
    result = tg_reduce_step(graph, node, TG_OP_ADD, result, tg_in(node, i), node);
  if (node->op == TG_OP_MEAN && node->input_count > 1) {
    tg_value *share = tg_graph_add_scalar(graph, "share", between, (double)(1.0f / (float)node->input_count));
    result = tg_reduce_step(graph, node, TG_OP_MUL, result, share, node);
  }
  if (result == tg_in(node, 0))
    result = tg_rewrite_cast(graph, result, tg_out(node)->dtype, node);
  else {
    result->dtype = tg_out(node)->dtype;
    result->producer->id = node->id;
  }
  tg_rewrite_replace(graph, node, result);
}

void tg_pass_lower_sum(tg_graph *graph) {
  TG_FOR_NODES_SAFE(graph, node)
  if ((node->op == TG_OP_SUM || node->op == TG_OP_MEAN) && tg_dtype_is_float(tg_out(node)->dtype))
    lower_sum(graph, node);
}
