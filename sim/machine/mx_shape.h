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

/* Cycles from the first of `rows` streamed rows of a block until the stationary rows of the block after next may be
 * read, which take its weight registers; with a_transposed, rows are counted in whole groups. */
static inline uint64_t tg_mx_hold(const tg_params *m, int64_t format, uint64_t rows) {
  return tg_mx_beats(format) * rows + (uint64_t)tg_mx_stationary(m, format) * m->fma_latency;
}

/* Cycles from one block of `rows` streamed rows to the next, counted as above. */
static inline uint64_t tg_mx_pitch(const tg_params *m, int64_t format, uint64_t rows) {
  uint64_t s = tg_mx_stationary(m, format), beats = tg_mx_beats(format), revisit = s * m->fma_latency + 3,
           weights = (tg_mx_hold(m, format, rows) + beats * s + 1) / 2,
           least = revisit > weights ? revisit : weights;
  return beats * rows > least ? beats * rows : least;
}

typedef struct tg_mx_shape {
  uint32_t s, beats;
  uint64_t rows;   /* streamed through each block: M */
  uint64_t groups; /* of S rows, if the transposer makes them; else 0 */
  uint64_t blocks;
  uint64_t lead;  /* cycles from the issue to T_0 */
  uint64_t pitch; /* cycles from block to block */
  uint64_t hold;  /* cycles from T_b until the weights of block b are free */
} tg_mx_shape;

static inline tg_mx_shape tg_mx_shape_of(const tg_params *m, const tg_mx_instr *in) {
  uint32_t s = tg_mx_stationary(m, in->format), beats = tg_mx_beats(in->format);
  uint64_t rows = (uint64_t)(in->m_count[0] * in->m_count[1]), blocks = 1,
           groups = in->a_transposed ? tg_div_up(rows, s) : 0, streamed = groups ? groups * s : rows;
  for (int l = 0; l < 4; l++) blocks *= (uint64_t)in->blk_count[l];
  tg_mx_shape shape = {s,
                       beats,
                       rows,
                       groups,
                       blocks,
                       (uint64_t)beats * s,
                       tg_mx_pitch(m, in->format, streamed),
                       tg_mx_hold(m, in->format, streamed)};
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

/* What a GEMM leaves to the next one. */
typedef struct tg_mx_before {
  int64_t format;     /* -1: there was none */
  int64_t transposed; /* A */
  uint64_t gate;      /* T_last + pitch - B S: the next stationary rows are read */
  uint64_t free;      /* the weights of its last block are */
  uint64_t end;       /* e */
} tg_mx_before;

/* The first cycle from `ready` on in which the GEMM may issue. */
static inline uint64_t tg_mx_issue_after(const tg_mx_before *was, const tg_mx_instr *in, uint64_t ready) {
  if (was->format < 0) return ready;
  bool drains = was->format != in->format || was->transposed != in->a_transposed;
  if (ready < was->gate) ready = was->gate;
  return drains && ready <= was->end ? was->end + 1 : ready;
}

typedef struct tg_mx_times {
  uint64_t first, last, end; /* T_0, T_last, e */
} tg_mx_times;

/* Of a GEMM that issues at `issue`, which becomes the one before. */
static inline tg_mx_times tg_mx_times_of(const tg_params *m, const tg_mx_shape *shape, const tg_mx_instr *in,
                                         uint64_t issue, tg_mx_before *before) {
  uint64_t first = issue + shape->lead, second = first + shape->pitch, free = before->free + shape->lead;
  if (second < free) second = free;
  uint64_t after = shape->blocks > 1 ? second + (shape->blocks - 1) * shape->pitch : second,
           last = shape->blocks > 1 ? after - shape->pitch : first,
           end = last + shape->beats * shape->rows + (uint64_t)shape->s * m->fma_latency + m->p;
  *before = (tg_mx_before){.format = in->format,
                           .transposed = in->a_transposed,
                           .gate = after - shape->lead,
                           .free = last + shape->hold,
                           .end = end};
  return (tg_mx_times){.first = first, .last = last, .end = end};
}

#endif
