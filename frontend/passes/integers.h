/* Integers on the array are whole numbers in fp32: exact up to 2^24 in magnitude, and beyond where they have
 * 24 significant bits. This is what is known of each before anything runs, and so what is exact. */
#ifndef TEGULA_FRONTEND_PASSES_INTEGERS_H
#define TEGULA_FRONTEND_PASSES_INTEGERS_H

#include "frontend/graph.h"

/* The elements of one value that are numbers: low <= x <= high. `guarded`: an element outside what is exact
 * has become NaN, or what is computed of one. */
typedef struct tg_range {
  double low, high;
  bool guarded;
} tg_range;

typedef struct tg_integers {
  tg_range *ranges; /* by value->index, also of floats */
  double *limits;   /* by value->index: elements of an input, and what a Cast makes of floats, must be below
                       this in magnitude; 0: they need not */
  bool *wraps;      /* by value->index: what is computed may be outside the type */
} tg_integers;

/* All integers of an element type: of 64 bits as doubles have them. */
tg_range tg_range_of_dtype(tg_dtype dtype);

/* Bounds of a node's results that are floats, `ranges` those of its operands by value->index: wide ones where formats
 * and functions round, infinite ones where nothing is known. */
tg_range tg_range_of_floats(const tg_node *node, const tg_range *ranges);
/* Of what no node computes. */
tg_range tg_range_of_given_floats(const tg_value *value);
/* x == x, by which Where alone chooses: it keeps what is NaN from being lost. */
bool tg_range_is_nan_test(const tg_node *node);
/* Of a op b, of integers or exactly: sums, differences, products, extremes. */
tg_range tg_range_combined(tg_op op, tg_range a, tg_range b);
/* Both together. */
tg_range tg_range_joined(tg_range a, tg_range b);
/* Of a sum (ReduceSum) or product of elements of `x`, or of elements themselves. */
tg_range tg_range_reduced(const tg_node *node, tg_range x);
/* Of all operands that are data; Where's condition and positions are none. */
tg_range tg_range_of_operands(const tg_node *node, const tg_range *ranges);

/* Ranges of all integers of `graph`, on its arena, and the limits with which everything that is computed of
 * them is exact. TG_INVALID: there are none for a node, which the line names. */
tg_status tg_integers_bound(const tg_graph *graph, tg_integers *out_integers, tg_diag *diag);

/* Does the node decide by this operand, which may hold NaN for what is not exact? In training a graph that compares such is
 * refused; rows by such, and integers made of such floats, make the loss NaN. */
bool tg_integers_decide(const tg_integers *known, const tg_node *node, int operand);

/* Lowered integers that are NaN where they are not exact, and nowhere else. */
typedef struct tg_guards {
  tg_value **values;
  size_t count, capacity;
  const bool *floats; /* by output of the graph: floats before integers became such */
} tg_guards;

/* Where a guard holds NaN, and an output of floats of such integers or one of `decided` does, an output says so:
 * tg_inexact_mark in all of it. The graph's guarded_outputs become that output alone. Of a training step the output is NaN
 * where one of `decided` is. */
void tg_integers_show(tg_graph *graph, const tg_guards *guards, tg_value *const *decided, int count);

#endif
