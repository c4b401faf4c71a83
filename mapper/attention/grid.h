/* How products of attention, and their rows, are shared out to tiles: by both kinds of it. */
#ifndef TEGULA_MAPPER_ATTENTION_GRID_H
#define TEGULA_MAPPER_ATTENTION_GRID_H

#include "mapper/section/egress.h"
#include "mapper/section/stage.h"

typedef struct tg_attention_grid {
  uint32_t group;            /* tiles of a row, or all tiles, that share a product */
  uint32_t row_blocks;       /* of a product, that each of them has */
  uint32_t passes;           /* products one after the other */
  uint32_t rows, drain_rows; /* of a block, and of it those that leave at once */
} tg_attention_grid;

/* Products that are computed at a time. */
static inline uint32_t tg_grid_at_a_time(const tg_params *m, const tg_attention_grid *x) {
  return tg_tiles(m) / x->group;
}
/* Rows of a product with those that are none but fill its blocks. */
static inline int64_t tg_grid_padded(const tg_attention_grid *x) {
  return (int64_t)x->rows * x->row_blocks * x->group;
}
/* Blocks of rows that a tile computes. */
static inline uint32_t tg_grid_blocks(const tg_attention_grid *x) { return x->passes * x->row_blocks; }

/* The first of the products that a tile computes, and of its rows of each. */
static inline uint32_t tg_grid_first_product(const tg_params *m, const tg_attention_grid *x, uint32_t r,
                                             uint32_t col) {
  return (r * m->cols + col) / x->group;
}
static inline uint32_t tg_grid_first_row(const tg_params *m, const tg_attention_grid *x, uint32_t r,
                                         uint32_t col) {
  return (r * m->cols + col) % x->group * x->rows;
}

/* What a tile has alone, and what its group shares: if there are groups, the one comes from the north and the other from
 * the west; if not, both come from where the result does not leave. */
static inline bool tg_grid_own_from_west(const tg_attention_grid *x, uint32_t r, uint32_t col) {
  return x->group == 1 && !tg_egress_is_west(r, col);
}
static inline bool tg_grid_shared_from_west(const tg_attention_grid *x, uint32_t r, uint32_t col) {
  return x->group > 1 || !tg_egress_is_west(r, col);
}
/* Tiles of a row that share what is loaded. */
static inline uint32_t tg_grid_sharing(const tg_params *m, const tg_attention_grid *x) {
  return x->group < m->cols ? x->group : m->cols;
}

/* Groups that there may be, in ascending order: the first one that is larger, or 0. */
uint32_t tg_grid_next_group(const tg_params *m, uint32_t group);
/* Cycles of a block of all tiles at the busiest port, and at a memory device behind all of them. */
double tg_grid_memory_cycles(const tg_params *m, const tg_stages *stages);
/* A walk over a tile's blocks of rows of each of its products: loops of level 0 and 1. */
void tg_grid_set_rows(const tg_params *m, const tg_attention_grid *x, tg_agcu_instr *in, uint32_t r,
                      uint32_t col);

#endif
