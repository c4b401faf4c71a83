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

/* Elements of a few runs, side by side, or these as runs: channels of an image. Its estimated cycles; TG_NEVER: it is not that,
 * or has no room. interleave.c */
double tg_interleaved_cycles(const tg_vector_move *move);
tg_status tg_emit_interleave(const tg_vector_move *move);

/* Matrices, row by row as columns, in blocks of so many rows and columns of the result. Dealt: the blocks of all matrices are
 * shared out to tiles together, not those of one matrix after the other. transpose.c */
typedef struct tg_transpose_blocks {
  uint32_t rows, columns;
  bool dealt;
  double cycles; /* estimated */
} tg_transpose_blocks;
enum { TG_TRANSPOSES = 3 };
/* Those that are estimated to take the least time, the best first. Returns how many; 0: it is no transposition, or has no
 * room. */
int tg_transpose_ways(const tg_vector_move *move, tg_transpose_blocks out[TG_TRANSPOSES]);
tg_status tg_emit_transpose(const tg_vector_move *move, const tg_transpose_blocks *blocks);

/* Cycles of a walk through the elements, an atom each, that writes runs of the last dimension. */
double tg_walked_cycles(const tg_vector_move *move);

#endif
