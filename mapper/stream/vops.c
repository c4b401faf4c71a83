/* VOPs of a stream kernel: their streams, and the coordinates of what they round. */
#include "mapper/stream/emission.h"

#include <assert.h>
#include <string.h>

typedef tg_stream_emission emission;

/* The streams of the VOP: a row of the VOP is a vector, or (whole_rows) a row of the kernel whose vectors
 * repeat by j, or (across) a vector of all rows, which repeat by j. */
static void set_stream(const emission *e, tg_stream *s, int kind, const tg_buffer *buffer, bool store,
                       uint32_t window) {
  uint32_t vector = tg_kind_flits(e->b.m, kind, tg_lanes(e->b.m)), row = vector * e->t.vectors;
  if (store && e->plan->out_take) row = tg_kind_flits(e->b.m, kind, e->plan->out_take);
  s->kind = kind;
  s->store = store;
  tg_set_operand(&s->at, buffer, false);
  s->banks = buffer->banks;
  if (kind == TG_STREAM_SPLAT32) {
    *(e->plan->across ? &s->j[1] : &s->row[e->plan->whole_rows ? 2 : 1]) = 1;
    if (window > 1) s->j[1] = e->t.chunk_rows;
    return;
  }
  s->row[1] = e->plan->across ? 0 : row;
  s->row[2] = e->plan->whole_rows ? row : vector;
  if (e->plan->whole_rows)
    s->j[1] = vector;
  else if (e->plan->across)
    s->j[1] = row;
  else if (window > 1)
    s->j[1] = (int64_t)row * e->t.chunk_rows;
}

static void set_vector(const emission *e, tg_stream *s, int v) {
  s->kind = e->plan->vector_kind[v];
  tg_set_operand(&s->at, &e->vector[v], false);
  s->banks = e->vector[v].banks;
  if (e->plan->vector_kind[v] == TG_STREAM_SPLAT32) return;
  *(e->plan->whole_rows ? &s->j[1] : &s->row[2]) =
      tg_kind_flits(e->b.m, e->plan->vector_kind[v], tg_lanes(e->b.m));
  if (e->plan->column_blocks == 1) return;
  uint32_t block = tg_kind_flits(e->b.m, e->plan->vector_kind[v], e->plan->take);
  s->at.delta[1] = block;
  s->banks = tg_banks_for(e->b.m, block);
}

/* The output is dense, so the place of an element among all of it is an affine function of the loops. */
static void set_rounding(const emission *e, tg_vx_instr *vop, uint32_t r, uint32_t col) {
  const tg_stream_kernel *plan = e->plan;
  const tg_walk_plan *out = &plan->output;
  int64_t row = out->columns, lanes = tg_lanes(e->b.m), chunk = row * e->t.chunk_rows, dense = row;
  for (int d = 2; d >= 0; d--) {
    assert(out->element_stride == 1 && (out->stride[d] == dense || out->radix[d] == 1));
    dense *= out->radix[d];
  }
  (void)dense; /* of the assertion only */
  vop->sr_key = TG_KEY_STORE;
  vop->sr_col = (uint32_t)(out->offset + tg_stream_tile(e, r, col) * chunk);
  vop->sr_col_delta[0] = (uint32_t)(tg_tiles(e->b.m) * chunk);
  vop->sr_col_delta[1] = plan->take;
  vop->sr_col_row[1] = plan->across ? 0 : (uint32_t)row;
  vop->sr_col_row[2] = plan->whole_rows ? (uint32_t)row : lanes;
  vop->sr_col_j[1] = plan->whole_rows ? lanes : plan->across ? (uint32_t)row : 0;
}

/* The same where an element goes by row and column. */
static void set_row_rounding(const emission *e, tg_vx_instr *vop, uint32_t r, uint32_t col) {
  vop->sr_key = TG_KEY_PRODUCT;
  vop->sr_row = e->plan->first_row + tg_stream_tile(e, r, col) * e->t.chunk_rows;
  vop->sr_row_delta[0] = tg_tiles(e->b.m) * e->t.chunk_rows;
  vop->sr_row_row[1] = 1;
  vop->sr_col = e->plan->first_column;
  vop->sr_col_delta[1] = e->plan->take;
  vop->sr_col_row[2] = tg_lanes(e->b.m);
}

/* The stream takes vectors u, u + unroll .. of a row. It has nothing to do with the banks before
 * the first. */
static void take_every(const tg_params *m, tg_stream *s, int u, int unroll) {
  int64_t first = s->at.base / tg_bank_rows(m);
  s->at.base += u * s->j[1];
  s->banks -= s->at.base / tg_bank_rows(m) - first;
  s->j[1] *= unroll;
}

/* Vectors u, u + unroll .. of each row as stream first + u. */
static void set_unrolled(const emission *e, tg_vx_instr *vop, int first, int kind, const tg_buffer *buffer,
                         bool store, int unroll) {
  for (int u = 0; u < unroll; u++) {
    tg_stream *s = tg_stream_of_mut(vop, first + u);
    set_stream(e, s, kind, buffer, store, 1);
    if (unroll > 1) take_every(e->b.m, s, u, unroll);
  }
}

static void set_number(const emission *e, tg_vx_instr *vop, int stream, bool store) {
  const tg_buffer *numbers = &e->channels[TG_ROLE_KEPT_VECTORS].ring;
  tg_stream *s = tg_stream_of_mut(vop, stream);
  s->kind = TG_STREAM_FP32;
  s->store = store;
  tg_set_operand(&s->at, numbers, false);
  s->banks = numbers->banks;
  s->row[2] = tg_kind_flits(e->b.m, TG_STREAM_FP32, tg_lanes(e->b.m));
}

static tg_vx_instr *push_vop(const emission *e, tg_queue *queue, const tg_vx_instr *microcode, int repeat,
                             int unroll) {
  const tg_stream_kernel *plan = e->plan;
  tg_vx_instr *vop = &tg_build_push(&e->b, queue, TG_OP_vx_vop)->vx;
  memcpy(vop->seg_begin, microcode->seg_begin, sizeof vop->seg_begin);
  memcpy(vop->seg_len, microcode->seg_len, sizeof vop->seg_len);
  vop->seg_repeat = repeat;
  vop->row_count[0] = 1;
  vop->row_count[1] = plan->whole_rows || plan->across ? 1 : e->t.chunk_rows;
  vop->row_count[2] = plan->whole_rows ? e->t.chunk_rows : e->t.vectors;
  vop->rows = vop->row_count[1] * vop->row_count[2];
  vop->j_count[0] = 1;
  uint32_t window = 1;
  for (int i = 0; i < plan->inputs; i++)
    if (window < plan->window[i]) window = plan->window[i];
  vop->j_count[1] = plan->whole_rows ? e->t.vectors / (uint32_t)unroll
                    : plan->across   ? e->t.chunk_rows
                                     : window / (uint32_t)unroll;
  vop->tail_step = tg_lanes(e->b.m) * (plan->first_segments ? 1 : (uint32_t)unroll);
  vop->tail_n = plan->tail_n;
  return vop;
}

/* Inputs, and what is loaded once. */
static void set_sources(const emission *e, tg_vx_instr *vop, int unroll) {
  const tg_stream_kernel *plan = e->plan;
  for (int u = 0; u < unroll; u++)
    for (int i = 0; i < plan->inputs + plan->vectors; i++) {
      bool moves = tg_stream_source_moves(plan, i);
      if (u && !moves) continue;
      tg_stream *s = tg_stream_of_mut(vop, tg_source_stream(plan, i, u));
      if (i < plan->inputs)
        set_stream(e, s, plan->input_kind[i], &e->in[i], false, plan->window[i]);
      else
        set_vector(e, s, i - plan->inputs);
      if (unroll > 1 && moves) take_every(e->b.m, s, u, unroll);
    }
}

static void set_result(const emission *e, tg_vx_instr *vop, int x, int unroll) {
  const tg_stream_kernel *plan = e->plan;
  int count = plan->out_vectors > 1 ? plan->out_vectors : tg_stream_result_moves(plan, x) ? unroll : 1;
  for (int u = 0; u < count; u++) {
    tg_stream *s = tg_stream_of_mut(vop, tg_result_stream(plan, x, u));
    set_stream(e, s, tg_stream_result_kind(plan, x), &e->channels[TG_ROLE_RESULTS + x].ring, true,
               tg_stream_result_window(plan, x));
    if (count > 1) take_every(e->b.m, s, u, count);
  }
}

static void emit_first(const emission *e, tg_queue *queue) {
  const tg_stream_kernel *plan = e->plan;
  int unroll = plan->first_unroll;
  tg_vx_instr *vop = push_vop(e, queue, &e->microcode[0], plan->first_repeat, unroll);
  set_unrolled(e, vop, 0, plan->input_kind[0], &e->in[0], false, unroll);
  set_unrolled(e, vop, unroll, TG_STREAM_FP32, &e->channels[TG_ROLE_KEPT_ROWS].ring, true, unroll);
  set_number(e, vop, 2 * unroll, true);
}

static void emit_vop(const emission *e, tg_queue *queue, tg_turn at) {
  const tg_stream_kernel *plan = e->plan;
  bool second = plan->first_segments > 0;
  int unroll = tg_stream_unroll(plan);
  tg_vx_instr *vop = push_vop(e, queue, &e->microcode[second], e->repeat, unroll);
  if (second) {
    set_unrolled(e, vop, 0, TG_STREAM_FP32, &e->channels[TG_ROLE_KEPT_ROWS].ring, false, unroll);
    set_number(e, vop, 2 * unroll, false);
  } else
    set_sources(e, vop, unroll);
  for (int x = 0; x <= plan->more; x++) {
    int kind = tg_stream_result_kind(plan, x);
    if (second)
      set_unrolled(e, vop, unroll, kind, &e->channels[TG_ROLE_RESULTS + x].ring, true, unroll);
    else
      set_result(e, vop, x, unroll);
    if (kind == TG_STREAM_BF16SR) set_rounding(e, vop, at.r, at.col);
    if (e->plan->rounds) set_row_rounding(e, vop, at.r, at.col);
  }
}

void tg_stream_emit_vx(const emission *e, const tg_stage *stage, tg_queue *queue, tg_turn at) {
  if (stage->kind == TG_STAGE_VECTORS)
    (void)tg_build_push(&e->b, queue, TG_OP_vx_sync);
  else if (stage->kind == TG_STAGE_FIRST)
    emit_first(e, queue);
  else
    emit_vop(e, queue, at);
  const tg_joint joint = {.in = &queue->instrs[queue->count - 1], .r = at.r, .col = at.col};
  tg_stage_meet(stage, e->channels, TG_ALL_CHANNELS, &joint);
}
