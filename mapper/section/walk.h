/* Walks of AGCU instructions through tensors, and what streams of a kind take. */
#ifndef TEGULA_MAPPER_SECTION_WALK_H
#define TEGULA_MAPPER_SECTION_WALK_H

#include "mapper/kernel/space.h"

/* A coordinate of a walk: elements where it is outside [0, size) are not there. Steps by row digit m2 m1 m0,
 * and by element. */
typedef struct tg_coordinate {
  int64_t origin, step[4], size;
} tg_coordinate;

/* One tensor's walk over [rows digits m2 m1 m0][element]; strides in elements. */
typedef struct tg_walk_plan {
  const tg_dram_tensor *tensor;
  int64_t offset;         /* elements from its start */
  int64_t radix[3];       /* of the row digits, outermost first */
  int64_t stride[3];      /* elements per digit */
  int64_t element_stride; /* along a row */
  int64_t columns;        /* of a row; elements beyond are invalid */
  int64_t inner, outer; /* inner > 0: a row is runs of so many of them, which begin `outer` elements apart */
  int64_t linear_size;  /* > 0: rows are slices of one run of so many elements, columns long; else 0 */
  bool bounded;         /* x and y count, and what is not there is invalid; then linear_size is 0 */
  tg_coordinate x, y;
  uint32_t fill; /* what invalid elements load as: bits in the on-chip format */
} tg_walk_plan;

/* Fills the walk of an instruction: row r of the kernel is linear index r of the digits. Bases come from
 * `entry`, `residue`. */
void tg_fill_walk(tg_agcu_instr *in, const tg_walk_plan *walk, int entry, int64_t residue);

/* The output dimensions of a space as at most three row digits and columns. Needs space->rank <= 4.
 * `column_block`: columns of one-dimensional spaces. */
void tg_space_walk(const tg_space *space, int operand, const tg_dram_tensor *tensor, int64_t offset,
                   int64_t column_block, tg_walk_plan *out_walk);

/* What a row of it is. */
void tg_space_walk_row(const tg_space *space, int operand, tg_walk_plan *walk);

static inline bool tg_stream_is_wide(int kind) { return kind == TG_STREAM_FP32 || kind == TG_STREAM_SPLAT32; }

/* Flits of a block of `elements` of a stream kind. */
uint32_t tg_kind_flits(const tg_params *m, int kind, uint32_t elements);
/* What a load does to elements of `tensor` on their way to a stream of this kind: splat32 has words of 32
 * bits only, so narrow numbers are widened. */
int tg_stream_convert(const tg_dram_tensor *tensor, int kind);

#endif
