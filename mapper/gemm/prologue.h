/* The prologue of a product on its tiles: the room and the time that it takes. */
#ifndef TEGULA_MAPPER_GEMM_PROLOGUE_H
#define TEGULA_MAPPER_GEMM_PROLOGUE_H

#include "mapper/gemm/tiling.h"

/* Parts of a chunk's rows that pass the vector unit side by side, so that it has as many rows in flight as it
 * can; 0: none are possible. */
uint32_t tg_gemm_prologue_parts(const tg_params *m, const tg_gemm *gemm, const tg_gemm_tiling *t);
/* Cycles of the vector unit for a chunk. */
double tg_gemm_prologue_cycles(const tg_params *m, const tg_gemm *gemm, const tg_gemm_tiling *t);
/* Bank rows of a chunk as it is loaded, of what the nodes make of it, and of the vectors; of those and what
 * the drain reads for all rows, which a tile loads once. */
uint32_t tg_prologue_input_rows(const tg_params *m, const tg_gemm *gemm, const tg_gemm_tiling *t);
uint32_t tg_gemm_scalar_rows(const tg_params *m, const tg_gemm *gemm, const tg_gemm_tiling *t);
uint32_t tg_prologue_output_rows(const tg_params *m, const tg_gemm *gemm, const tg_gemm_tiling *t);
uint32_t tg_gemm_prologue_vector_rows(const tg_params *m, const tg_gemm *gemm, const tg_gemm_tiling *t);
uint64_t tg_gemm_prologue_once(const tg_params *m, const tg_gemm *gemm, const tg_gemm_tiling *t);
/* Has the prologue of A one pass? Then the drain begins when the nodes of all chunks are computed, and its drain tiles are
 * what leaves at once. */
static inline bool tg_gemm_drains_last(const tg_gemm_tiling *t) { return t->passes_m == 1; }
/* Else: chunks whose nodes are computed for each drain tile. */
static inline uint32_t tg_gemm_chunks_a_drain_tile(const tg_gemm_tiling *t) {
  return t->chunks / (t->mt / t->mr);
}
/* Can SENDs of what they make rotate between two buffers? */
bool tg_gemm_prologue_sends_fit(const tg_gemm *gemm, const tg_gemm_tiling *t);
/* Of the tensors of a chunk, or of the vectors, before one; and elements of a vector that a tile needs: of
 * those along k all. */
uint32_t tg_prologue_inputs_before(const tg_params *m, const tg_gemm *gemm, const tg_gemm_tiling *t,
                                   bool scalars, int prologue_input);
uint32_t tg_gemm_prologue_vectors_before(const tg_params *m, const tg_gemm *gemm, const tg_gemm_tiling *t,
                                         int vector);
uint32_t tg_gemm_prologue_vector_length(const tg_gemm *gemm, const tg_gemm_tiling *t);
/* A chunk as the nodes see it: rows, and elements of one. */
static inline uint32_t tg_gemm_prologue_rows(const tg_gemm *gemm, const tg_gemm_tiling *t) {
  return gemm->prologue.of_b ? t->kc : t->mt;
}
static inline uint32_t tg_gemm_prologue_width(const tg_gemm *gemm, const tg_gemm_tiling *t) {
  return gemm->prologue.of_b ? t->nt : t->kc;
}
/* Elements of a row of input number `prologue_input`: those of the chunk, or one. */
uint32_t tg_prologue_input_take(const tg_gemm *gemm, const tg_gemm_tiling *t, int prologue_input);
/* Flits that leave at once of these results: all that leave so share half of an AGCU's memory. */
uint32_t tg_gemm_prologue_share(const tg_params *m, const tg_gemm_tiling *t);

#endif
