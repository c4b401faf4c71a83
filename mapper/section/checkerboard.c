#include "mapper/section/checkerboard.h"

#include "frontend/base/math.h"

tg_post tg_checkerboard_source(const void *kernel, const tg_channel *channel, uint32_t r, uint32_t col) {
  (void)kernel;
  return tg_post_to_agcu(channel, tg_checkerboard_west(r, col), r, col);
}

void tg_checkerboard_add(const tg_params *m, tg_stages *stages, tg_stage stage) {
  uint32_t each = stage.slots;
  for (tg_seat side = TG_SIDE_WEST; side < TG_SIDES; side++) {
    stage.seat = (uint8_t)side;
    stage.slots = each * (((side == TG_SIDE_WEST ? m->cols : m->rows) + 1) / 2);
    tg_stages_add(stages, &stage);
  }
}

void tg_checkerboard_add_results(const tg_params *m, tg_stages *stages, int kind, uint32_t results,
                                 double cycles, uint32_t seldom, double seldom_cycles) {
  tg_stage sends = {
      .kind = (uint8_t)kind, .seat = TG_UNIT_TX, .nest = TG_NEST_OWN, .slots = results + seldom};
  tg_stage stores = sends;
  tg_stages_add(stages, &sends);
  stores.slots = results;
  stores.context = TG_CTX_STORE;
  stores.rate = TG_RATE_STEP;
  stores.drains = true;
  stores.cycles = cycles;
  tg_checkerboard_add(m, stages, stores);
  stores.slots = seldom;
  stores.context = TG_CTX_COLUMN_SUMS;
  stores.cycles = seldom_cycles;
  tg_checkerboard_add(m, stages, stores);
}

void tg_checkerboard_each(const tg_params *m, const tg_stage *stage, tg_queue *queue, tg_turn at,
                          tg_checkerboard_emit *emit, void *user) {
  bool west = stage->seat == TG_SIDE_WEST;
  for (uint32_t i = 0; i < (west ? m->cols : m->rows); i++) {
    uint32_t r = west ? at.r : i, col = west ? i : at.col;
    if (tg_checkerboard_west(r, col) == (west != stage->drains)) emit(user, stage, queue, r, col);
  }
}

/* Of a lane of n tiles one kind of AGCU loads for half of them and stores what the others make. */
static double busiest_of(uint32_t n, const tg_port_time *tile) {
  double more = (n + 1) / 2, less = n / 2;
  return tg_max_double(more * tile->load + less * tile->drain, less * tile->load + more * tile->drain);
}

double tg_checkerboard_port(const tg_params *m, const tg_stages *stages) {
  tg_port_time west = tg_stages_port(stages, TG_SIDE_WEST), north = tg_stages_port(stages, TG_SIDE_NORTH);
  return tg_max_double(busiest_of(m->rows, &north), busiest_of(m->cols, &west));
}
