/* A product's section while it is emitted: gemm.c has loads, products and stores, gemm_drain.c what lies
 * between the accumulator and the way out. */
#ifndef TEGULA_MAPPER_GEMM_EMISSION_H
#define TEGULA_MAPPER_GEMM_EMISSION_H

#include "mapper/gemm.h"

typedef struct tg_gemm_emission {
  tg_build b;
  tg_compile *c;
  const tg_kernel *kernel;
  const tg_gemm *g;
  tg_gemm_tiling t;
  uint32_t stationary; /* rows of a block */
  uint32_t pieces;     /* of a block */
  bool nested;         /* loops over parts of K hold loops over chunks */
  bool striped;        /* each pass over columns is a section: tg_gemm_strips */
  uint32_t strip;
  uint32_t k_loops[3], piece_loops[3], pass_loops[3];
  tg_buffer a, b_block, out, externals[TG_GEMM_EXTERNALS];
  tg_buffer received, sums, rounded; /* running sums of partials; whole ones, if they are rounded */
  int a_full, b_full, acc_full, acc_free, vectors_full, blocks_full; /* tile semaphores */
  int arrived;              /* a piece of the sum, from the row above */
  int returned;             /* first member: a block of the sum, from the last one */
  int sums_full, sums_free; /* last member: such a block */
  int a_credit, a_north_credit, b_credit, b_west_credit, vectors_credit, blocks_credit; /* AGCU credits */
  int vectors, blocks; /* externals that are row vectors, and those that are not */
  int a_base, b_base, out_base, external_base[TG_GEMM_EXTERNALS];
  int64_t a_rest, b_rest, out_rest, external_rest[TG_GEMM_EXTERNALS];
  int64_t product; /* the first one that this section computes */
} tg_gemm_emission;

/* Where a tile's pieces begin in the result: the first one, and from index to index of each loop. */
typedef struct tg_gemm_place {
  int64_t row, column, row_delta[3], column_delta[3];
} tg_gemm_place;
tg_gemm_place tg_gemm_place_of(const tg_gemm_emission *e, uint32_t r, uint32_t col);

/* Do tiles of row r have the whole sum? */
bool tg_gemm_finishes(const tg_gemm_emission *e, uint32_t r);

/* Writes the microcode of the section: see the segments in gemm_drain.c. */
tg_status tg_gemm_pack_drain(tg_gemm_emission *e, tg_vx_instr *out_microcode);
/* The VOPs of a tile, and the SENDs of its sums to the row below. */
void tg_gemm_emit_drain(tg_gemm_emission *e, uint32_t r, uint32_t col, const tg_vx_instr *microcode,
                        const tg_exit *exit);

#endif
