/* Vectors of several runs to vectors whose elements are those of all runs, side by side, and back: microcode. */
#ifndef TEGULA_MAPPER_VECTOR_SHUFFLE_H
#define TEGULA_MAPPER_VECTOR_SHUFFLE_H

#include "mapper/microcode/microcode.h"

enum {
  TG_SHUFFLE_RUNS =
      TG_STREAMS / 2, /* a stream for each, and one for each vector that a vector of each makes */
  TG_SHUFFLE_STEPS = 16,
  TG_SHUFFLE_MASKS = 32
};

/* Result lane i gets lane (i + from) mod lanes: those of `lanes`, a bit each; others stay. */
typedef struct tg_shuffle_step {
  uint32_t lanes[2];
  int from[2];
  int moves;
} tg_shuffle_step;

/* Of `runs` = odd * even runs, even a power of two: `even` runs at a time share a vector, as `even` runs of `part` lanes;
 * these lanes become `part` granules of `even` elements side by side, one of each run; and granule g of such a vector
 * goes to place odd * g, modulo `part`, which is one to one, since `odd` is. */
typedef struct tg_shuffle {
  int lanes, runs, odd, even, part;
  /* from shared vectors to granules in place; backwards: the other way */
  tg_shuffle_step steps[TG_SHUFFLE_STEPS];
  int step_count;
  uint32_t bits[TG_SHUFFLE_MASKS]; /* sets of lanes, and the registers that have their masks */
  tg_mc_ref masks[TG_SHUFFLE_MASKS];
  int mask_count;
} tg_shuffle;

/* `lanes`: a power of two, at most 32; `runs`: 2 .. TG_SHUFFLE_RUNS, with no larger power of two as a factor. False: others. */
bool tg_shuffle_plan(int lanes, int runs, bool together, tg_shuffle *out);
/* Masks of lanes, in the segment that runs once. tail_n of the VOP is 1. */
void tg_shuffle_begin(tg_shuffle *s, tg_mc *mc);
/* Of a vector of each run `out`, `runs` vectors with element c of each run beside element c of the next one. */
void tg_shuffle_together(const tg_shuffle *s, tg_mc *mc, const tg_mc_ref *sources, tg_mc_ref *out);
/* The other way. */
void tg_shuffle_apart(const tg_shuffle *s, tg_mc *mc, const tg_mc_ref *sources, tg_mc_ref *out);

#endif
