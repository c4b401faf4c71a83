/* What passes build graphs with: typed nodes in one call. */
#ifndef TEGULA_FRONTEND_BUILD_REWRITE_H
#define TEGULA_FRONTEND_BUILD_REWRITE_H

#include "frontend/graph.h"

/* A node with inferred shape before `before`. dtype TG_NONE: that of the first input. id -1: a fresh one. */
tg_node *tg_rewrite_node(tg_graph *graph, tg_op op, const char *name, tg_value *const *inputs, int count,
                         tg_dtype dtype, tg_node *before, int64_t id);
/* Attributes set by hand after tg_graph_add_node: types the node now. */
void tg_rewrite_infer(tg_graph *graph, tg_node *node);

/* A node like `node`, of these operands, its result typed as that of `node`; not of its id. */
tg_node *tg_rewrite_copy(tg_graph *graph, const tg_node *node, tg_value *const *inputs, tg_node *before);

/* The value in another shape or order, `value` itself where nothing changes. */
tg_value *tg_rewrite_reshape(tg_graph *graph, tg_value *value, int rank, const int64_t *sizes,
                             tg_node *before);
tg_value *tg_rewrite_transpose(tg_graph *graph, tg_value *value, const int64_t *perm, tg_node *before);
tg_value *tg_rewrite_cast(tg_graph *graph, tg_value *value, tg_dtype dtype, tg_node *before);
/* `count` elements of dimension `axis` from `start` on, `step` apart, which may be negative. */
tg_value *tg_rewrite_slice(tg_graph *graph, tg_value *value, int64_t axis, int64_t start, int64_t count,
                           int64_t step, tg_node *before);
tg_value *tg_rewrite_expand(tg_graph *graph, tg_value *value, int rank, const int64_t *sizes,
                            tg_node *before);
/* The parts along `axis`; the first itself where it is the only one. */
tg_value *tg_rewrite_concat(tg_graph *graph, const char *name, tg_value *const *parts, int count,
                            int64_t axis, tg_node *before);

/* The elements of an integer or bool constant in a float format. */
tg_value *tg_rewrite_numbers(tg_graph *graph, const tg_value *constant, tg_dtype dtype);

/* The result of `node` becomes `value`, which takes over its name, and the node goes. */
void tg_rewrite_replace(tg_graph *graph, tg_node *node, tg_value *value);

bool tg_perm_is_identity(const int64_t *perm, int rank);
void tg_perm_invert(const int64_t *perm, int rank, int64_t *out);
/* Only dimensions of size 1 change their place. */
bool tg_perm_keeps_order(const int64_t *perm, const tg_value *value);

/* Of a Slice of neighbours along each of its axes: where it begins in its operand. False: it goes backwards or leaves some out. */
bool tg_is_crop(const tg_node *slice, int64_t begin[TG_MAX_RANK]);

/* Do groups of neighbouring dimensions of `fine` make those of `value`, in order? out_first[d]: the first one of the group
 * that dimension d is, and behind the last of them the rank of `fine`. Neither has a dimension of 0. */
bool tg_dims_are_groups(const tg_value *value, const tg_value *fine, int out_first[TG_MAX_RANK + 1]);
/* The permutation of `rank` groups as one of what they consist of. */
void tg_perm_of_groups(const int64_t *perm, int rank, const int *first, int64_t *out);

#endif
