/* Integers on the array are whole numbers in fp32: exact up to 2^24 in magnitude, and beyond where they have
 * 24 significant bits. This is what is known of each before anything runs, and so what is exact. */
#ifndef TEGULA_FRONTEND_PASSES_INTEGERS_H
#define TEGULA_FRONTEND_PASSES_INTEGERS_H

#include "frontend/graph.h"

/* The elements of one integer or bool value: low <= x <= high. `guarded`: an element outside what is exact
 * has become NaN. */
typedef struct tg_range {
  double low, high;
  bool guarded;
} tg_range;

typedef struct tg_integers {
  tg_range *ranges; /* by value->index, of integer and bool values */
  double *limits;   /* by value->index: elements of an input, and what a Cast makes of floats, must be below
                       this in magnitude; 0: they need not */
  bool *wraps;      /* by value->index: what is computed may be outside the type */
} tg_integers;

/* All integers of an element type: of 64 bits as doubles have them. */
tg_range tg_range_of_dtype(tg_dtype dtype);

/* Ranges of all integers of `graph`, on its arena, and the limits with which everything that is computed of
 * them is exact. TG_INVALID: there are none for a node, which the line names. */
tg_status tg_integers_bound(const tg_graph *graph, tg_integers *out_integers, tg_diag *diag);

#endif
