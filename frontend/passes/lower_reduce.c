/* Reductions: all of them into ReduceSum, ReduceMax, ReduceMin and ReduceProd that keep their dimensions, and
 * those into what the array runs: over the last dimension of rows, or over blocks of the dimension before
 * it. */
#include "frontend/passes/passes.h"
#include "frontend/passes/reductions.h"
#include "frontend/passes/rewrite.h"

#include <float.h>
#include <math.h>

/* --- composites */

tg_value *tg_reduce_step(tg_graph *graph, const tg_node *like, tg_op op, tg_value *a, tg_value *b,
                         tg_node *before) {
  tg_value *operands[] = {a, b};
  tg_node *made = tg_rewrite_node(graph, op, like->name, operands, b ? 2 : 1, TG_F32, before, -1);
  made->disable_graphamp = like->disable_graphamp;
  made->rule = like->rule;
  return tg_out(made);
}

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

/* max + log(sum(exp(x - max))), with a finite maximum: infinities come out of the exponentials. */
static tg_value *log_sum_exp(tg_graph *graph, tg_node *node, tg_value *x) {
  tg_value *top = reduced(graph, node, TG_OP_REDUCE_MAX, x, TG_F32, -1);
  tg_value *finite = tg_reduce_step(graph, node, TG_OP_CLIP, top, NULL, node);
  tg_value *below = tg_reduce_step(graph, node, TG_OP_SUB, x, finite, node);
  tg_value *total = sum(graph, node, tg_reduce_step(graph, node, TG_OP_EXP, below, NULL, node));
  return tg_reduce_step(graph, node, TG_OP_ADD, tg_reduce_step(graph, node, TG_OP_LOG, total, NULL, node),
                        finite, node);
}

static int64_t elements_reduced(const tg_node *node) {
  int count;
  const int64_t *axes = tg_attr_ints(node, TG_ATTR_AXES, &count);
  int64_t product = 1;
  for (int i = 0; i < count; i++) product *= tg_in(node, 0)->dims[axes[i]].size;
  return product;
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

static bool is_noop(const tg_node *node) {
  int count;
  tg_attr_ints(node, TG_ATTR_AXES, &count);
  return !count && tg_attr_int(node, TG_ATTR_NOOP_WITH_EMPTY_AXES);
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

enum {
  MOST_OF_ROW = 2048, /* elements of a row that is reduced at once: every array has room for it */
  ROW_UNIT = 32,      /* partial results of a row */
  MOST_OF_BLOCK = 64,
};

/* A tensor as dimensions that are reduced and dimensions that are kept, by turns, none of size 1. */
typedef struct groups {
  int count;
  int64_t size[TG_MAX_RANK];
  bool reduced[TG_MAX_RANK];
} groups;

static void add_group(groups *g, int64_t size, bool is_reduced) {
  if (size == 1) return;
  if (g->count && g->reduced[g->count - 1] == is_reduced) {
    g->size[g->count - 1] *= size;
    return;
  }
  g->size[g->count] = size;
  g->reduced[g->count++] = is_reduced;
}

static groups groups_of(const tg_node *node) {
  groups g = {0};
  int count, at = 0;
  const tg_value *x = tg_in(node, 0);
  const int64_t *axes = tg_attr_ints(node, TG_ATTR_AXES, &count);
  for (int d = 0; d < x->rank; d++) {
    bool is_reduced = at < count && axes[at] == d;
    at += is_reduced;
    add_group(&g, x->dims[d].size, is_reduced);
  }
  return g;
}

static groups without(const groups *g, int gone) {
  groups rest = {0};
  for (int i = 0; i < g->count; i++)
    if (i != gone) add_group(&rest, g->size[i], g->reduced[i]);
  return rest;
}

tg_value *tg_reduce_axis(tg_graph *graph, tg_node *node, tg_op op, tg_value *x, int64_t block) {
  tg_node *made = tg_graph_add_node(graph, op, node->name, &x, 1, node, -1);
  tg_attr_set_ints(graph, made, TG_ATTR_AXES, &(int64_t){1}, 1);
  tg_attr_set_int(made, TG_ATTR_BLOCK, block);
  made->disable_graphamp = node->disable_graphamp;
  made->rule = node->rule;
  tg_out(made)->dtype = TG_F32;
  tg_rewrite_infer(graph, made);
  return tg_out(made);
}

int64_t tg_reduce_block_of(int64_t size) {
  int stages = 1;
  for (int64_t reach = MOST_OF_BLOCK; reach < size; reach *= MOST_OF_BLOCK) stages++;
  return (int64_t)ceil(pow((double)size, 1.0 / stages) - 1e-9);
}

tg_value *tg_reduce_columns(tg_graph *graph, tg_node *node, tg_op op, tg_value *x, const int64_t dims[3]) {
  int64_t size = dims[1];
  do {
    int64_t block = tg_reduce_block_of(size), shape[] = {dims[0], size, dims[2]};
    x = tg_reduce_axis(graph, node, op, tg_rewrite_reshape(graph, x, 3, shape, node), block);
    size = (size + block - 1) / block;
  } while (size > 1);
  return x;
}

/* [rows, size] over the last; a long row in parts of about equal size, whole times the partial results. */
static tg_value *reduce_rows(tg_graph *graph, tg_node *node, tg_op op, tg_value *x, int64_t rows,
                             int64_t size) {
  while (size > 1) {
    int64_t parts = (size + MOST_OF_ROW - 1) / MOST_OF_ROW, each = (size + parts - 1) / parts,
            block = parts > 1 ? (each + ROW_UNIT - 1) / ROW_UNIT * ROW_UNIT : 0, shape[] = {rows, size};
    x = tg_reduce_axis(graph, node, op, tg_rewrite_reshape(graph, x, 2, shape, node), block);
    size = block ? (size + block - 1) / block : 1;
  }
  return x;
}

/* The last group that is reduced goes first: rows need no second pass over the tensor. */
tg_value *tg_reduce_as(tg_graph *graph, tg_node *node, tg_op op, tg_value *x) {
  groups g = groups_of(node);
  for (int last = g.count - 1; last >= 0; last--) {
    if (!g.reduced[last]) continue;
    int64_t dims[] = {1, g.size[last], 1};
    for (int i = 0; i < last; i++) dims[0] *= g.size[i];
    for (int i = last + 1; i < g.count; i++) dims[2] *= g.size[i];
    x = dims[2] == 1 ? reduce_rows(graph, node, op, x, dims[0], dims[1])
                     : tg_reduce_columns(graph, node, op, x, dims);
    g = without(&g, last);
    last = g.count;
  }
  return x;
}

bool tg_reduces_columns(const tg_node *node, int64_t out_dims[3]) {
  groups g = groups_of(node);
  int at = g.count - 2; /* the last group is kept */
  if (at < 0 || !g.reduced[at] || at > 1) return false;
  out_dims[0] = at ? g.size[0] : 1;
  out_dims[1] = g.size[at];
  out_dims[2] = g.size[at + 1];
  return true;
}

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
  return count == 1 && x->rank == 2 && axes[0] == 1 && x->dims[1].size <= MOST_OF_ROW && x->dims[1].size > 1;
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
