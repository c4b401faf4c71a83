/* ReduceMoments in microcode: sum, and sum of squared distances from the mean, of a block whose elements come
 * one after the other (docs/numerics.md). */
#ifndef TEGULA_MAPPER_MICROCODE_MOMENTS_H
#define TEGULA_MAPPER_MICROCODE_MOMENTS_H

#include "frontend/graph.h"
#include "mapper/microcode/microcode.h"

enum { TG_MOMENT_FIRST = 4 }; /* elements, at most, whose mean distances are from */

/* How many those are in a block of so many elements. */
int tg_moment_first(int64_t count);

/* Registers while a block passes. */
typedef struct tg_moment {
  tg_mc_ref pivot, sum, squares;
} tg_moment;

/* `first`: registers of the first tg_moment_first(count) elements. */
tg_moment tg_moment_begin(tg_mc *mc, const tg_mc_ref *first, int64_t count);
void tg_moment_add(tg_mc *mc, const tg_moment *m, tg_mc_ref x);
/* The same in two parts: the distance, into a register of the caller's, and the sum; then its square. */
void tg_moment_add_distance(tg_mc *mc, const tg_moment *m, tg_mc_ref x, tg_mc_ref distance);
void tg_moment_add_square(tg_mc *mc, const tg_moment *m, tg_mc_ref distance);
/* The result of ReduceMoment `node` for a block of `count` elements. */
tg_mc_ref tg_moment_end(tg_mc *mc, const tg_moment *m, const tg_node *node, int64_t count);

#endif
