/* Moves that put elements of a few runs, which lie apart in DRAM, side by side: channels of an image. A walk
 * would touch an atom for each element; here the vector unit does it, a vector of each run at a time. */
#ifndef TEGULA_MAPPER_INTERLEAVE_H
#define TEGULA_MAPPER_INTERLEAVE_H

#include "mapper/stream.h"

typedef struct tg_interleave {
  tg_compile *c;
  const tg_kernel *kernel;
  tg_space
      space; /* source, result; merged, so that runs are its last dimension, their elements the one before */
  const tg_dram_tensor *tensors[2];
  int kinds[2];       /* of streams */
  int64_t offsets[2]; /* elements */
  tg_dtype rounded;   /* format of the result, TG_NONE: that of the source */
} tg_interleave;

/* Is it such a move, and faster so than by a walk? */
bool tg_interleave_gains(const tg_interleave *move);
tg_status tg_emit_interleave(const tg_interleave *move);

#endif
