/* What reductions are lowered with: rows, blocks of columns, and the steps between. */
#include "frontend/passes/reductions.h"
#include "frontend/base/math.h"

#include "frontend/build/rewrite.h"

#include <math.h>

enum {
  ROW_UNIT = 32, /* partial results of a row */
  MOST_OF_BLOCK = 64,
};

tg_value *tg_reduce_step(tg_graph *graph, const tg_node *like, tg_op op, tg_value *a, tg_value *b,
                         tg_node *before) {
  tg_value *operands[] = {a, b};
  tg_node *made = tg_rewrite_node(graph, op, like->name, operands, b ? 2 : 1, TG_F32, before, -1);
  made->disable_graphamp = like->disable_graphamp;
  made->rule = like->rule;
  return tg_out(made);
}

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
    size = tg_div_up(size, block);
  } while (size > 1);
  return x;
}

/* [rows, size] over the last; a long row in parts of about equal size, whole times the partial results. */
static tg_value *reduce_rows(tg_graph *graph, tg_node *node, tg_op op, tg_value *x, int64_t rows,
                             int64_t size) {
  while (size > 1) {
    int64_t parts = tg_div_up(size, TG_MOST_OF_ROW), each = tg_div_up(size, parts),
            block = parts > 1 ? tg_round_up(each, ROW_UNIT) : 0, shape[] = {rows, size};
    x = tg_reduce_axis(graph, node, op, tg_rewrite_reshape(graph, x, 2, shape, node), block);
    size = block ? tg_div_up(size, block) : 1;
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
