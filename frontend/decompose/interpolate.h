/* Sums of neighbours along an axis, each with a weight: what a Resize is made of. No element is multiplied with a weight that it
 * does not have, so that an infinity stays where its neighbours are; a product with a matrix of weights would spread it. */
#ifndef TEGULA_FRONTEND_DECOMPOSE_INTERPOLATE_H
#define TEGULA_FRONTEND_DECOMPOSE_INTERPOLATE_H

#include "frontend/build/build.h"

enum { TG_MOST_NEIGHBOURS = 8 };

/* Of each element of the result: `terms` positions of the data from first[j] on, with weights [j][terms], of which the last
 * ones may be 0. What lies before the data is its first element, what lies behind it its last one. */
typedef struct tg_neighbours {
  int64_t from, to; /* sizes, 1 or more */
  int terms;        /* 1 .. TG_MOST_NEIGHBOURS */
  int64_t *first;
  double *weights;
} tg_neighbours;

/* x, F32, with from[axis] elements along the axis, behind which it has other dimensions: vectors that are worked on whole. */
tg_value *tg_interpolate(tg_build *b, const tg_neighbours *n, tg_value *x, int axis);

/* Are they gathered, since they lie at other distances from element to element? */
bool tg_interpolate_gathers(const tg_neighbours *n);

/* The same along dimensions 2 and 3 of x [N,C,H,W] at once, where all elements between the ends have the same weights: a transposed
 * convolution of a channel a group. NULL: that dimension stays. False: it is none, and nothing was built. */
bool tg_interpolate_plane(tg_build *b, const tg_neighbours *const n[2], tg_value *x, tg_value **out);

#endif
