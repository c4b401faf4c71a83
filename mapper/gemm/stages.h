/* The stages of a product (mapper/section/stage.h). */
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
  TG_STAGE_MULTIPLY, /* these in units of tiles, as are prologue stores, results, column sums and vectors */
  TG_STAGE_WHOLE_B,
  TG_STAGE_PROLOGUE,
  TG_STAGE_SUMS,
  TG_STAGE_DRAIN,
  TG_STAGE_AROUND,   /* chunks to other producers */
  TG_STAGE_RETURNS,  /* blocks of sums to the first member */
  TG_STAGE_EDGES,    /* what lies beside the image of a pool */
  TG_STAGE_SECOND_A, /* of a second product: its loads, and what is multiplied of it */
  TG_STAGE_SECOND_B,
  TG_STAGE_SECOND_WHOLE_B,
  TG_STAGE_SECOND_MULTIPLY
} tg_gemm_stage;

/* Loops: passes and chunks of K; passes and drain tiles of blocks as they are loaded, and as they are drained; rounds of
 * producers; passes and chunks of a second product. */
enum { TG_NEST_CHUNKS, TG_NEST_DRAIN_TILES, TG_NEST_BLOCKS, TG_NEST_ROUNDS, TG_NEST_SECOND, TG_GEMM_NESTS };

/* All of them, in the order of each queue. */
void tg_gemm_list_stages(const tg_params *m, const tg_gemm *gemm, const tg_gemm_tiling *t, tg_stages *out);
/* Those in the units of tiles. stages_units.c */
void tg_gemm_list_units(const tg_params *m, const tg_gemm *gemm, const tg_gemm_tiling *t, tg_stages *out);

/* Cycles of credits, requests and lanes on the way of a chunk, or of a drain tile, roughly. */
enum { TG_GEMM_HOPS = 24 };

/* Cycles of mx for a chunk, and of vx for a block; where members reduce in a ring, for what a member finishes of it.
 * unit_cycles.c */
double tg_gemm_multiply_cycles(const tg_params *m, const tg_gemm *gemm, const tg_gemm_tiling *t);
double tg_gemm_drain_cycles(const tg_params *m, const tg_gemm *gemm, const tg_gemm_tiling *t);
/* Rows that the drain of its accumulator handles at a time; they divide mr. */
uint32_t tg_gemm_rows_at_once(const tg_params *m, const tg_gemm *gemm, const tg_gemm_tiling *t);
double tg_gemm_ring_cycles(const tg_params *m, const tg_gemm *gemm, const tg_gemm_tiling *t);

#endif
