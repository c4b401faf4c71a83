/* What a burst of an AGCU instruction costs, in constant time: the walk of one row is summed up once and
 * kept. */
#ifndef TEGULA_SYSTEMC_COST_H
#define TEGULA_SYSTEMC_COST_H

#include "sim/machine/walk.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tg_cost {
  uint32_t pieces, atoms;
} tg_cost;

/* The flits of one row: every row of an instruction costs the same, since each walks K from the same
 * start. */
typedef struct tg_row_cost {
  uint32_t flits;
  tg_cost *before; /* flits + 1: cost of the row's flits before this one, no burst beginning among them */
  uint8_t *first;  /* atoms more if a burst begins with this flit */
} tg_row_cost;

/* Rows by instruction and start in the run. A zeroed cache is empty. */
typedef struct tg_cost_cache {
  struct tg_cost_entry *entries;
  uint32_t count, capacity;
  tg_arena arena;
} tg_cost_cache;

/* The row of this execution, `k_start` being the linear index where its K walk starts. Stays valid until
 * release. */
const tg_row_cost *tg_cost_of_row(tg_cost_cache *cache, const tg_params *params, const tg_agcu_instr *in,
                                  uint32_t k_start);
/* `flits` flits of the instruction, from its flit `first` on. */
tg_cost tg_cost_of_burst(const tg_row_cost *row, uint32_t first, uint32_t flits);
void tg_cost_cache_release(tg_cost_cache *cache);

#ifdef __cplusplus
}
#endif
#endif
