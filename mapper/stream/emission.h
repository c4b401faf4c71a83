/* A stream kernel's section while it is emitted: emit.c has channels, loads and stores, vops.c what the vector units do. */
#ifndef TEGULA_MAPPER_STREAM_EMISSION_H
#define TEGULA_MAPPER_STREAM_EMISSION_H

#include "mapper/stream/tiling.h"

typedef struct tg_stream_emission {
  tg_build b;
  const tg_stream_kernel *plan;
  tg_stream_tiling t;
  uint32_t width; /* of a row of tiles the first ones have rows */
  tg_channel channels[TG_STREAM_ROLES];
  tg_buffer in[TG_STREAMS], vector[TG_STREAMS];
  tg_store_port ports[1 + TG_MORE_RESULTS];
  tg_egress_plan egress;
  int entry[2 * TG_STREAMS + 1]; /* of the base table, by number of the walk */
  int64_t residue[2 * TG_STREAMS + 1];
  tg_vx_instr microcode[2]; /* of the VOP before, if there is one, and the other */
  int repeat;               /* seg_repeat of the latter */
} tg_stream_emission;

/* Number of a tile that has rows: those of tiles follow each other in this order. */
static inline uint32_t tg_stream_tile(const tg_stream_emission *e, uint32_t r, uint32_t col) {
  return r * e->width + col;
}
/* Makes of a LOAD of `rows` rows for one of so many positions of a window, the digits above its run, one of all of them,
 * position by position. False, and unchanged: it cannot be. positions.c */
bool tg_stream_join_positions(tg_agcu_instr *load, uint32_t rows, uint32_t positions);
/* Appends a VOP, or the wait for what is loaded once. vops.c */
void tg_stream_emit_vx(const tg_stream_emission *e, const tg_stage *stage, tg_queue *queue, tg_turn at);

#endif
