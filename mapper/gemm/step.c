/* A VOP of the drain: its rows and streams; SENDs of sums. */
#include "mapper/gemm/emission.h"
#include "mapper/gemm/layout.h"

#include <assert.h>

typedef tg_gemm_emission emission;

/* ---- VOPs ---- */

typedef tg_gemm_buffer place;
typedef tg_gemm_step step;

static void set_place(tg_row_operand *operand, const place *at) {
  tg_set_rotating(operand, at->buffer, at->first, at->rotation);
}

static void set_stream(const emission *e, tg_stream *s, int kind, const place *at, const step *step) {
  uint32_t vector = tg_kind_flits(e->b.m, kind, tg_lanes(e->b.m)),
           row = vector * (e->t.nt / tg_lanes(e->b.m));
  s->kind = kind;
  set_place(&s->at, at);
  s->banks = at->buffer->banks;
  s->row[1] = row;
  s->row[2] = vector;
  if (!at->whole || !step->by_drain_tiles) return;
  uint32_t drain_tile = row * e->t.mr, bank = tg_bank_rows(e->b.m);
  s->at.delta[2] = drain_tile;
  uint32_t most = drain_tile % bank && bank % drain_tile ? (drain_tile + bank - 2) / bank + 1
                                                         : tg_banks_for(e->b.m, drain_tile);
  if (most < at->buffer->banks) s->banks = most;
}

/* From row number `first` of a half on. */
static void set_accumulator(const emission *e, tg_stream *s, const step *step, uint32_t first) {
  s->kind = TG_STREAM_ACC;
  set_place(&s->at, &step->accumulator);
  s->at.base += first;
  uint32_t each = tg_gemm_ring_rows(&e->t);
  s->at.base += (int64_t)step->first * each;
  if (step->by_drain_tiles) s->at.delta[2] = each;
  s->row[1] = 1;
  s->row[2] = e->t.mt;
}

static void set_epilogue_operands(const emission *e, tg_vx_instr *vop, const step *step) {
  for (int x = 0; x < e->g->epilogue_operand_count; x++) {
    const tg_epilogue_operand *epilogue_operand = &e->g->epilogue_operands[x];
    bool once = tg_gemm_loads_once(&e->t, epilogue_operand);
    place at = step->epilogue_operands;
    at.buffer = &e->operands.buffers[x];
    if (!e->t.ring) at.rotation = once ? TG_ROTATE_OUTER : TG_ROTATE_EACH;
    if (once) at.first = 0;
    tg_stream *s = tg_stream_of_mut(vop, 1 + x);
    set_stream(e, s, epilogue_operand->kind, &at, step);
    if (tg_is_splat(epilogue_operand->along)) s->row[1] = 1, s->row[2] = 0;
    if (once || (e->t.ring && tg_is_row_vector(epilogue_operand))) s->row[1] = 0;
    s->at.base += step->first_row * s->row[1];
  }
}

/* Random numbers belong to an element's place in the result, as the STOREs walk it: rows follow
 * each other. */
static void set_rounding(const emission *e, tg_vx_instr *vop, uint32_t r, uint32_t col, int key,
                         bool by_drain_tiles) {
  int64_t row = e->g->out_stride[2];
  for (int d = 2; d > 0; d--)
    assert(e->g->out_radix[d - 1] == 1 ||
           e->g->out_stride[d - 1] == e->g->out_stride[d] * e->g->out_radix[d]);
  tg_gemm_place place = tg_gemm_place_of(e, r, col);
  vop->sr_key = key;
  vop->sr_col = (uint32_t)(e->g->out_offsets[e->product] + place.row * row + place.column);
  for (int l = 0; l < TG_LEVELS; l++)
    vop->sr_col_delta[l] = (uint32_t)(place.row_delta[l] * row + place.column_delta[l]);
  if (!by_drain_tiles) vop->sr_col_delta[2] = 0;
  vop->sr_col_row[1] = (uint32_t)row;
  vop->sr_col_row[2] = tg_lanes(e->b.m);
}

/* The reduction index is the number of the part. */
static void set_sum_rounding(const emission *e, tg_vx_instr *vop, uint32_t r, uint32_t col,
                             const step *step) {
  set_rounding(e, vop, r, col, TG_KEY_PRODUCT, step->by_drain_tiles);
  vop->sr_tile = tg_gemm_member(e, r) + (int64_t)step->part * e->t.members;
  if (step->parts) vop->sr_tile_delta[step->by_drain_tiles ? 1 : 2] = e->t.members;
}

static int sum_stream(const emission *e, bool finish) {
  if (e->t.swapped) return TG_DRAIN_ACCUMULATOR;
  return finish ? tg_gemm_finish_sum_stream(e->g) : TG_DRAIN_SUM_IN;
}

/* Rows 0, `rows`, .. of a drain tile become those of the stream; those from 1 on have streams of their own, which have nothing
 * to do with the banks before their first row. */
static void take_rows(const emission *e, tg_vx_instr *vop, int stream, uint32_t rows) {
  tg_stream *first = tg_stream_of_mut(vop, stream);
  int64_t bank = tg_bank_rows(e->b.m), each = first->row[1];
  first->row[1] *= rows;
  for (uint32_t row = 1; row < rows; row++) {
    tg_stream *s = tg_stream_of_mut(vop, tg_gemm_finish_stream(e->g, stream, row));
    *s = *first;
    s->at.base += row * each;
    if (s->kind != TG_STREAM_ACC) s->banks -= s->at.base / bank - first->at.base / bank;
  }
}

/* The VOP handles so many rows at a time. */
static void set_rows_at_once(const emission *e, tg_vx_instr *vop, uint32_t rows) {
  vop->rows /= rows;
  vop->row_count[1] /= rows;
  take_rows(e, vop, TG_DRAIN_ACCUMULATOR, rows);
  if (e->second) take_rows(e, vop, tg_gemm_second_stream(e->g), rows);
  for (int x = 0; x < e->g->epilogue_operand_count; x++)
    if (!tg_is_row_vector(&e->g->epilogue_operands[x])) take_rows(e, vop, 1 + x, rows);
  for (int k = 0; k < e->g->outs; k++) take_rows(e, vop, tg_gemm_finish_result_stream(e->g, k), rows);
}

/* Rows of the VOP: (row of the drain tile or block, group of 2P columns). */
tg_instr *tg_gemm_push_step(emission *e, uint32_t r, uint32_t col, const step *step) {
  uint32_t groups = e->t.nt / tg_lanes(e->b.m), rows = step->rows             ? step->rows
                                                       : step->by_drain_tiles ? e->t.mr
                                                                              : e->t.mt;
  tg_instr *in = tg_build_push(&e->b, &tg_build_tile(&e->b, r, col)->vx, TG_OP_vx_vop);
  tg_vx_instr *vop = &in->vx;
  vop->seg_begin[0] = e->microcode.seg_begin[step->segment];
  vop->seg_len[0] = e->microcode.seg_len[step->segment];
  vop->rows = rows * groups;
  vop->row_count[0] = 1;
  vop->row_count[1] = rows;
  vop->row_count[2] = groups;
  vop->j_count[0] = vop->j_count[1] = 1;
  if (step->accumulator.buffer) set_accumulator(e, tg_stream_of_mut(vop, TG_DRAIN_ACCUMULATOR), step, 0);
  if (step->second.buffer)
    set_stream(e, tg_stream_of_mut(vop, tg_gemm_second_stream(e->g)), TG_STREAM_FP32, &step->second, step);
  else if (e->second)
    set_accumulator(e, tg_stream_of_mut(vop, tg_gemm_second_stream(e->g)), step, e->second->first_sum);
  bool finish = step->segment == TG_DRAIN_FINISH;
  if (finish) set_epilogue_operands(e, vop, step);
  if (finish && tg_gemm_rounds_results(e->g)) set_rounding(e, vop, r, col, TG_KEY_STORE, true);
  if (!finish && tg_gemm_rounds_sums(e->g)) set_sum_rounding(e, vop, r, col, step);
  if (step->from.buffer)
    set_stream(e, tg_stream_of_mut(vop, sum_stream(e, finish)),
               tg_gemm_rounds_sums(e->g) ? TG_STREAM_BF16 : TG_STREAM_FP32, &step->from, step);
  for (int k = 0; k < (finish ? e->g->outs : 1); k++) {
    place to = step->to;
    if (finish) to.buffer = &e->results[k];
    tg_stream *s = tg_stream_of_mut(vop, finish ? tg_gemm_finish_result_stream(e->g, k) : TG_DRAIN_SUM_OUT);
    set_stream(e, s, finish ? e->g->out_kind[k] : e->g->sum_kind, &to, step);
    s->store = 1;
  }
  uint32_t at_once = tg_gemm_rows_at_once(e->b.m, e->g, &e->t);
  if (finish && at_once > 1) set_rows_at_once(e, vop, at_once);
  return in;
}

/* ---- SENDs ---- */

tg_tx_instr *tg_gemm_push_send(emission *e, uint32_t r, uint32_t col, uint32_t to, uint32_t flits,
                               const tg_channel *into) {
  tg_tx_instr *tx = &tg_build_push(&e->b, &tg_build_tile(&e->b, r, col)->tx, TG_OP_tx_send)->tx;
  tx->dir = to > r ? TG_DIR_SOUTH : TG_DIR_NORTH;
  tx->flits = flits;
  tx->src_inner = tx->dst_inner = 65535;
  tx->dst_mask = 1u << (to + 1);
  tx->dst_post = 1;
  tx->dst_sem = into->full;
  return tx;
}
