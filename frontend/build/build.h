/* What the step is built with: typed nodes in one call, stamped with where they come from. */
#ifndef TEGULA_FRONTEND_BUILD_BUILD_H
#define TEGULA_FRONTEND_BUILD_BUILD_H

#include "frontend/graph.h"

/* centred.h */
typedef struct tg_centred {
  const tg_value *value;
  unsigned axes;
} tg_centred;

typedef struct tg_build {
  tg_graph *graph;
  tg_node *before;    /* nodes are put before it; NULL: at the end */
  const char *name;   /* of nodes and of their results; a suffix makes results unique */
  int64_t forward;    /* tg_node.forward of what is built; -1: not backward */
  const char *origin; /* tg_node.origin; or NULL */
  bool keep_formats;  /* disable_graphamp */
  bool as_operands;   /* results of arithmetic have the type of their operands, not F32 */
  tg_diag *diag;      /* NULL: what is built is legal; else the first node that is not says so here */
  bool failed;        /* such a node was built */
  tg_centred *centred;
  size_t centred_count, centred_capacity;
} tg_build;

/* Result of arithmetic on floats: F32 until it is known to be a gradient; on integers: their type; comparisons:
 * BOOL. */
tg_value *tg_build_op(tg_build *b, tg_op op, tg_value *const *inputs, int count);
tg_value *tg_build_unary(tg_build *b, tg_op op, tg_value *x);
tg_value *tg_build_binary(tg_build *b, tg_op op, tg_value *x, tg_value *y);
/* With an F32 constant as the second operand. */
tg_value *tg_build_with(tg_build *b, tg_op op, tg_value *x, double number);
tg_value *tg_build_from(tg_build *b, tg_op op, double number, tg_value *x);
tg_value *tg_build_number(tg_build *b, double number);
/* min(max(x, low), high). */
tg_value *tg_build_clip(tg_build *b, tg_value *x, double low, double high);

/* A B with their last two dimensions as matrices, batch dimensions broadcast. */
tg_value *tg_build_matmul(tg_build *b, tg_value *x, tg_value *y);

/* Moves keep the element type; `x` itself where nothing changes. */
tg_value *tg_build_reshape(tg_build *b, tg_value *x, int rank, const int64_t *sizes);
tg_value *tg_build_reshape_like(tg_build *b, tg_value *x, const tg_value *like);
tg_value *tg_build_transpose(tg_build *b, tg_value *x, const int64_t *perm);
tg_value *tg_build_swap(tg_build *b, tg_value *x); /* the last two dimensions */
tg_value *tg_build_cast(tg_build *b, tg_value *x, tg_dtype dtype);

/* x repeated to these sizes; x in a frame of zeros, as ONNX counts it (negative: cropped); a part of x, its
 * end as ONNX counts it; parts, of one element type, joined. */
tg_value *tg_build_expand(tg_build *b, tg_value *x, int rank, const int64_t *sizes);
tg_value *tg_build_pad(tg_build *b, tg_value *x, const int64_t *pads);
tg_value *tg_build_slice(tg_build *b, tg_value *x, int axis, int64_t start, int64_t end, int64_t step);
tg_value *tg_build_concat(tg_build *b, tg_value *const *parts, int count, int axis);
/* One number in the type of x, F32 where that is a float. */
tg_value *tg_build_number_like(tg_build *b, const tg_value *x, double number);
/* A constant of any type and shape; `data` is copied. */
tg_value *tg_build_constant(tg_build *b, tg_dtype dtype, int rank, const int64_t *sizes, const void *data)
    __attribute__((nonnull(5)));
/* One of zeros, whose elements may be set. With a `diag` it counts as made (graph.h) and may fail: then it has no data, so
 * that who sets elements looks at b->failed first. */
tg_value *tg_build_made(tg_build *b, tg_dtype dtype, int rank, const int64_t *sizes);
/* 0, 1 .. count-1 along dimension `axis` of `rank`, in the type of x as tg_build_number_like has it. With a `diag`,
 * more than TG_MOST_POSITIONS fail. */
enum {
  TG_MOST_POSITIONS = 1 << 22 /* so that they are exact in FP32, and no small file asks for much memory */
};
tg_value *tg_build_positions(tg_build *b, const tg_value *x, int64_t count, int axis, int rank);
/* x with another dimension, of size 1, before dimension `at`; without dimension `at`, of size 1. */
tg_value *tg_build_insert(tg_build *b, tg_value *x, int at);
tg_value *tg_build_drop(tg_build *b, tg_value *x, int at);
/* x with dimension `from` moved to place `to`. */
tg_value *tg_build_move(tg_build *b, tg_value *x, int from, int to);
/* Types a node whose attributes were set by hand, and stamps it. */
tg_value *tg_build_finish(tg_build *b, tg_node *node);

/* A reduction of ops.def over the dimensions whose bit is set in `axes`; they stay as size 1. */
tg_value *tg_build_reduce(tg_build *b, tg_op op, tg_value *x, unsigned axes);
/* Sum over dimensions whose bit is set in `axes`; they stay as size 1. Zeros where it is known to be 0. */
tg_value *tg_build_sum(tg_build *b, tg_value *x, unsigned axes);
/* Undoes broadcasting: sums what was repeated, to the shape of `like`. */
tg_value *tg_build_sum_to(tg_build *b, tg_value *x, const tg_value *like);

tg_value *tg_build_where(tg_build *b, tg_value *condition, tg_value *x, tg_value *y);
/* x where `condition` > 0, else 0. */
tg_value *tg_build_where_positive(tg_build *b, tg_value *condition, tg_value *x);

/* The result of a decomposed node becomes `value`, which takes its name. */
void tg_build_result(tg_graph *graph, tg_value *result, tg_value *value);

#endif
