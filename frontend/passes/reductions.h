/* What reductions are lowered with (lower_reduce.c, lower_moments.c). Nodes are put before `node`, whose name
 * and whose place in the precision policy they take. */
#ifndef TEGULA_FRONTEND_PASSES_REDUCTIONS_H
#define TEGULA_FRONTEND_PASSES_REDUCTIONS_H

#include "frontend/graph.h"

enum { TG_MOST_OF_ROW = 2048 /* elements of a row that is reduced at once: every array has room for it */ };

/* op(a, b), or op(a) with b NULL, in FP32. */
tg_value *tg_reduce_step(tg_graph *graph, const tg_node *like, tg_op op, tg_value *a, tg_value *b,
                         tg_node *before);
/* `op` over dimension 1 of x, by blocks of so many neighbours; 0: all of them. */
tg_value *tg_reduce_axis(tg_graph *graph, tg_node *node, tg_op op, tg_value *x, int64_t block);
/* Neighbours of a block, where so many elements of a column are reduced: the fewest that need no more passes
 * than the largest block would. */
int64_t tg_reduce_block_of(int64_t size);
/* `op` over the middle of x as [outer, size, inner], by blocks, and of their results in the same way: in the
 * shape [outer, 1, inner]. */
tg_value *tg_reduce_columns(tg_graph *graph, tg_node *node, tg_op op, tg_value *x, const int64_t dims[3]);
/* `op` over the dimensions of x that `node` reduces; elements in the order of the node's result. */
tg_value *tg_reduce_as(tg_graph *graph, tg_node *node, tg_op op, tg_value *x);
/* The node's operand as [outer, size, inner] of which it reduces the middle. False: it reduces rows, or
 * dimensions with others between them. */
bool tg_reduces_columns(const tg_node *node, int64_t out_dims[3]);

/* ReduceMoments into blocks and what merges them. */
void tg_split_moments(tg_graph *graph);

#endif
