/* The stages of a product at its AGCUs (mapper/section/stage.h). */
#ifndef TEGULA_MAPPER_GEMM_STAGES_H
#define TEGULA_MAPPER_GEMM_STAGES_H

#include "mapper/gemm/tiling.h"
#include "mapper/section/stage.h"

typedef enum tg_gemm_stage {
  TG_STAGE_PROLOGUE_VECTORS,
  TG_STAGE_A,
  TG_STAGE_B,
  TG_STAGE_PROLOGUE_INPUTS,
  TG_STAGE_PROLOGUE_SCALARS,
  TG_STAGE_PROLOGUE_STORE,
  TG_STAGE_RESULTS,
  TG_STAGE_COLUMN_SUMS,
  TG_STAGE_VECTORS,
  TG_STAGE_BLOCKS,
} tg_gemm_stage;

/* Loops of its loads: passes and chunks of K; passes and pieces of blocks; rounds of makers. */
enum { TG_NEST_CHUNKS, TG_NEST_PIECES, TG_NEST_ROUNDS, TG_GEMM_NESTS };

void tg_gemm_list_stages(const tg_params *m, const tg_gemm *gemm, const tg_gemm_tiling *t, tg_stages *out);

#endif
