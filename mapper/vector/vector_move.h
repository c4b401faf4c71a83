/* Moves that the vector units do, because a walk would touch an atom of DRAM for each element: consecutive
 * elements of the result lie apart in the source. */
#ifndef TEGULA_MAPPER_VECTOR_VECTOR_MOVE_H
#define TEGULA_MAPPER_VECTOR_VECTOR_MOVE_H

#include "mapper/stream/stream.h"

enum { TG_MOVE_SOURCE, TG_MOVE_RESULT };
typedef struct tg_vector_move {
  tg_compile *c;
  const tg_kernel *kernel;
  tg_space space; /* source, result; merged, consecutive elements of the result last */
  const tg_dram_tensor *tensors[2];
  int kinds[2];       /* of streams */
  int64_t offsets[2]; /* elements */
  tg_dtype rounded;   /* format of the result, TG_NONE: that of the source */
} tg_vector_move;

/* Elements of a few runs, side by side, or these as runs: channels of an image. Is it that, and faster so?
 * interleave.c */
bool tg_interleave_is_profitable(const tg_vector_move *move);
tg_status tg_emit_interleave(const tg_vector_move *move);

/* Matrices, row by row as columns. Is it that, and faster so? transpose.c */
bool tg_transpose_is_profitable(const tg_vector_move *move);
tg_status tg_emit_transpose(const tg_vector_move *move);

/* Cycles of a walk through the elements, an atom each, that writes runs of the last dimension. */
double tg_walked_cycles(const tg_vector_move *move);

#endif
