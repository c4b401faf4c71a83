/* What the files that emit a section of line buffers share. */
#ifndef TEGULA_MAPPER_VECTOR_LINE_BUFFERS_EMISSION_H
#define TEGULA_MAPPER_VECTOR_LINE_BUFFERS_EMISSION_H

#include "mapper/vector/line_totals.h"

enum { TG_LINE_TENSORS = 5 }; /* image, weights, bias, result, totals */
enum { TG_LINE_PORTS = 2 };   /* of results, of totals */

typedef struct tg_line_emission {
  tg_build b;
  const tg_line_kernel *k;
  const tg_line_tiling *t;
  tg_channel channels[TG_LINE_CHANNELS];
  tg_store_port ports[TG_LINE_PORTS];
  tg_egress_plan egress;
  /* of windows, or of each part of passes, and what finishes them; then of a reduction */
  tg_vx_instr microcode[TG_LINE_MOST_PARTS + 2];
  int totals; /* the latter */
  int entry[TG_LINE_TENSORS];
  int64_t residue[TG_LINE_TENSORS];
} tg_line_emission;

/* Appends the VOPs of a block of tile (r, col). line_buffers_vops.c */
void tg_line_emit_vops(const tg_line_emission *e, const tg_stage *stage, tg_queue *queue, uint32_t r,
                       uint32_t col);

#endif
