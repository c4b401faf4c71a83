/* The search for the tiling of a product: what tile.c and tiling_prologue.c consider, and the best so far. */
#ifndef TEGULA_MAPPER_GEMM_TILING_SEARCH_H
#define TEGULA_MAPPER_GEMM_TILING_SEARCH_H

#include "mapper/gemm/tiling.h"
#include "mapper/section/need.h"

enum {
  TG_SEARCH_SPLITS = 48, /* ways to cut a dimension into equal passes */
  TG_SEARCH_ROWS = 4096, /* of a block, at most */
};

typedef struct tg_tiling_search {
  const tg_compile *c;
  const tg_params *m;
  const tg_gemm *g;
  uint32_t share; /* flits that leave at once */
  tg_gemm_tiling best;
  double rank; /* of it: what tilings are compared by */
  bool found;
  tg_gemm_candidates near; /* by rank */
  tg_gemm_tiling apart;    /* the best one that must be clearly faster, */
  double apart_rank;       /* and its rank; 0: there is none */
  uint32_t considered, fitting;
  tg_shortage lacks;    /* until something fits: what the closest tiling lacks */
  tg_shortage no_share; /* and what keeps those from being one that store memories have no room for */
} tg_tiling_search;

/* The tiling of least estimated time that fits, and others that come near; none fits: `out_lacks` says what the closest one
 * lacks. tile.c */
void tg_search_tiling(const tg_compile *c, const tg_gemm *gemm, tg_gemm_candidates *out,
                      tg_shortage *out_lacks);
/* Is the best one so far faster, whatever else of the tiling is chosen? */
bool tg_search_is_slower(const tg_tiling_search *s, const tg_gemm_tiling *t);
/* The tiling with that operand resident: the best one so far, if it fits and is. */
void tg_search_consider(tg_tiling_search *s, tg_gemm_tiling t, tg_resident resident);
/* Is there room in banks for all chunks of B behind each other, so that of each the GEMM owns its own? */
bool tg_search_chunks_share_out(const tg_params *m, const tg_gemm *gemm, const tg_gemm_tiling *t);
/* May all chunks of B be there for all passes over rows, were they loaded before the first one? */
bool tg_search_may_hold_whole_b(const tg_params *m, const tg_gemm *gemm, const tg_gemm_tiling *t);
/* Rows of `nt` elements that leave at once; each result has its part of the room at the AGCU. */
uint32_t tg_search_rows_out(tg_tiling_search *s, uint32_t nt);
/* Of `rows` rows the most that divide them and leave in at most `most` flits; 0: there are none. */
uint32_t tg_search_rows_sent(uint32_t rows, uint32_t row_flits, uint32_t most);

/* tiling_patch.c: convolutions from patches, with that split and those columns; `row_tiles` tiles have rows of
 * their own. `consider`: with given chunks. */
typedef void tg_search_chunk(tg_tiling_search *s, tg_gemm_tiling t);
void tg_search_patches(tg_tiling_search *s, tg_gemm_tiling t, uint32_t row_tiles, tg_search_chunk *consider);

/* tiling_prologue.c: with a prologue of A; of B, which one of `alike` rows of tiles has for all of them. */
void tg_search_prologues_of_a(tg_tiling_search *s);
void tg_search_prologues_of_b(tg_tiling_search *s, uint32_t alike);

#endif
