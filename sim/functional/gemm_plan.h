/* The plan of a GEMM: shared by what makes it (gemm_plan.c) and what runs it (gemm.c). */
#ifndef TEGULA_FUNCTIONAL_GEMM_PLAN_H
#define TEGULA_FUNCTIONAL_GEMM_PLAN_H

#include "sim/functional/gemm.h"

/* A stationary column block (all its k), relative to the operands' addresses. */
typedef struct tg_gemm_column {
  int64_t a, b, c;
  uint32_t lane, sr_col;
} tg_gemm_column;

typedef struct tg_gemm_kstep {
  int64_t a, b;
} tg_gemm_kstep;

/* One vector across a register block: elements [sub, sub + V) of a column block, or two blocks that fill both
 * halves. */
typedef struct tg_gemm_vector {
  uint32_t column, sub;
} tg_gemm_vector;

struct tg_gemm_plan {
  const tg_mx_instr *in; /* one of those it serves; only fields of the shape are read */
  uint32_t s, v, w, row_bytes, acc_lanes, kblocks, column_count, unit_count, block_units, block_rows;
  bool paired;                          /* a unit is two column blocks: V = 2S */
  const tg_gemm_kernels *wide, *narrow; /* of V and of W = elements packed at a time */
  tg_gemm_column *columns;
  tg_gemm_kstep *ksteps;
  tg_gemm_vector *units;
};

/* The first vector behind `first` that does not share its A. */
uint32_t tg_gemm_end_of_shared_a(const tg_gemm_plan *plan, uint32_t first);

#endif
