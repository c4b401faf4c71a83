/* Kernels whose tiles take blocks in rotation: every other tile loads from the west and stores to the north, those
 * between the other way round, so that all DRAM ports have the same work, whatever a kernel reads and writes. */
#ifndef TEGULA_MAPPER_SECTION_CHECKERBOARD_H
#define TEGULA_MAPPER_SECTION_CHECKERBOARD_H

#include "frontend/base/math.h"
#include "mapper/section/egress.h"

/* Does tile (r, col) load from the west? */
static inline bool tg_checkerboard_west(uint32_t r, uint32_t col) { return !tg_egress_is_west(r, col); }
/* The tile on the lane that its loads come by, as a mask of destinations. */
static inline int64_t tg_checkerboard_mask(uint32_t r, uint32_t col) {
  return INT64_C(1) << ((tg_checkerboard_west(r, col) ? col : r) + 1);
}
/* Of the tiles that one AGCU loads for, or stores of, its number. */
static inline uint32_t tg_checkerboard_rank(bool west, uint32_t r, uint32_t col) {
  return (west ? col : r) / 2;
}
/* Who fills the channel of these loads: a tg_channel_source. */
tg_post tg_checkerboard_source(const void *kernel, const tg_channel *channel, uint32_t r, uint32_t col);

/* Adds a stage of loads, or stores, at both sides, with the instructions, and cycles, that it has for one tile. */
void tg_checkerboard_add(const tg_params *m, tg_stages *stages, tg_stage stage);
/* Adds the SENDs of so many results, and their STOREs of so many cycles a tile; of others, that leave seldom, too. */
void tg_checkerboard_add_results(const tg_params *m, tg_stages *stages, int kind, uint32_t results,
                                 double cycles, uint32_t seldom, double seldom_cycles);
/* Calls emit for each tile that the AGCU at `at` loads for or, if the stage drains, stores of. */
typedef void tg_checkerboard_emit(void *user, const tg_stage *stage, tg_queue *queue, uint32_t r,
                                  uint32_t col);
void tg_checkerboard_each(const tg_params *m, const tg_stage *stage, tg_queue *queue, tg_turn at,
                          tg_checkerboard_emit *emit, void *user);

/* Tiles that one AGCU loads for, or stores of, at most. */
static inline uint32_t tg_checkerboard_share(const tg_params *m) {
  return ((uint32_t)tg_max(m->rows, m->cols) + 1) / 2;
}
/* Cycles of the busiest port for a block of each tile, from the stages of one tile. */
double tg_checkerboard_port(const tg_params *m, const tg_stages *stages);

#endif
