/* Shape and time of a GEMM instruction (docs/machine.md, section 4): the one definition for engines, checks
 * and mapper. */
#ifndef TEGULA_MACHINE_MX_SHAPE_H
#define TEGULA_MACHINE_MX_SHAPE_H

#include "frontend/base/math.h"
#include "sim/machine/params.h"
#include "sim/machine/sequencer.h"

/* Stationary rows and columns S of a block: 0 < S <= 2P. */
static inline uint32_t tg_mx_stationary(const tg_params *m, int64_t format) {
  return format == TG_FMT_FP32 ? m->p : 2 * m->p;
}

/* Bank rows, and cycles, of a row of S elements. */
static inline uint32_t tg_mx_beats(int64_t format) { return format == TG_FMT_TF32 ? 2 : 1; }

/* Elements of a bank row. */
static inline uint32_t tg_mx_elements(const tg_params *m, int64_t format) {
  return tg_mx_stationary(m, format) / tg_mx_beats(format);
}

static inline uint32_t tg_mx_element_bytes(int64_t format) {
  return format == TG_FMT_FP32 || format == TG_FMT_TF32 ? 4 : 2;
}

/* Multiply-adds of a tile in a cycle. */
static inline uint32_t tg_mx_rate(const tg_params *m, int64_t format) {
  uint32_t s = tg_mx_stationary(m, format);
  return s * s / tg_mx_beats(format);
}

/* Cycles from one block of `rows` streamed rows to the next; with a_transposed, rows are counted in whole
 * groups. */
static inline uint64_t tg_mx_pitch(const tg_params *m, int64_t format, uint64_t rows) {
  uint64_t s = tg_mx_stationary(m, format), beats = tg_mx_beats(format);
  uint64_t least = s * m->fma_latency + beats * s + (m->p > 3 ? m->p : 3);
  return beats * rows > least ? beats * rows : least;
}

typedef struct tg_mx_shape {
  uint32_t s, beats;
  uint64_t rows;   /* streamed through each block: M */
  uint64_t groups; /* of S rows, if the transposer makes them; else 0 */
  uint64_t blocks;
  uint64_t lead;  /* cycles from the issue to T_0 */
  uint64_t pitch; /* cycles from block to block */
} tg_mx_shape;

static inline tg_mx_shape tg_mx_shape_of(const tg_params *m, const tg_mx_instr *in) {
  tg_mx_shape shape = {.s = tg_mx_stationary(m, in->format),
                       .beats = tg_mx_beats(in->format),
                       .rows = (uint64_t)(in->m_count[0] * in->m_count[1]),
                       .blocks = 1};
  for (int l = 0; l < 4; l++) shape.blocks *= (uint64_t)in->blk_count[l];
  if (in->a_transposed) shape.groups = tg_div_up(shape.rows, shape.s);
  shape.lead = (uint64_t)shape.beats * shape.s;
  shape.pitch = tg_mx_pitch(m, in->format, shape.groups ? shape.groups * shape.s : shape.rows);
  return shape;
}

/* Of an execution, whose blocks are multiplied once more for each K tile that ends within them. */
static inline tg_mx_shape tg_mx_shape_run(const tg_params *m, const tg_execution *x) {
  const tg_mx_instr *in = &x->in->mx;
  tg_mx_shape shape = tg_mx_shape_of(m, in);
  if (!in->sr) return shape;
  uint64_t columns = 1;
  for (int l = 0; l < 4; l++)
    if (!(in->k_loops >> l & 1)) columns *= (uint64_t)in->blk_count[l];
  shape.blocks += columns * tg_chain_cuts(x->chain, (uint32_t)in->sr_k, x->k_left, shape.s);
  return shape;
}

/* The last cycle in which A is read, counted from T_last. */
static inline int64_t tg_mx_last_read(const tg_mx_shape *shape) {
  if (shape->groups) return (int64_t)(shape->beats * shape->s * shape->groups) - (int64_t)shape->lead - 1;
  return (int64_t)(shape->beats * shape->rows) - 1;
}

#endif
