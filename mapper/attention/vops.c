/* What the vector units of attention do: the two VOPs of a softmax, and the drain of the second product. */
#include "mapper/attention/emission.h"

typedef tg_attention_emission emission;

/* Vectors u, u + unroll .. of each row of a buffer as stream first + u. */
static void set_streams(const emission *e, tg_vx_instr *vop, int first, int unroll, int kind, bool store,
                        const tg_buffer *buffer, uint32_t row, tg_turn units) {
  uint32_t vector = tg_kind_flits(e->b.m, kind, tg_lanes(e->b.m));
  for (int u = 0; u < unroll; u++) {
    tg_stream *s = tg_stream_of_mut(vop, first + u);
    s->kind = kind;
    s->store = store;
    tg_attention_set_turns(&s->at, buffer, units);
    s->at.base += u * (int64_t)vector;
    s->banks = buffer->banks;
    s->row[2] = row;
    s->j[1] = (int64_t)vector * unroll;
  }
}

static void set_accumulator(const emission *e, tg_stream *s, uint32_t at, tg_turn units) {
  tg_buffer halves = {.base = at, .stride = tg_acc_rows(e->b.m), .count = 2};
  s->kind = TG_STREAM_ACC;
  tg_attention_set_turns(&s->at, &halves, units);
}

static void set_sums(const emission *e, tg_vx_instr *vop, int stream, bool store) {
  set_streams(e, vop, stream, 1, TG_STREAM_FP32, store, &e->sums,
              tg_kind_flits(e->b.m, TG_STREAM_FP32, tg_lanes(e->b.m)), (tg_turn){.count = 1});
  tg_stream_of_mut(vop, stream)->j[1] = 0;
}

static void set_epilogue_operands(const emission *e, tg_vx_instr *vop, tg_turn units) {
  const tg_attention *a = e->a;
  for (int x = 0; x < a->scores.epilogue_operand_count; x++) {
    bool scalar = a->epilogue_operand_kind[x] == TG_STREAM_SPLAT32;
    uint32_t rows = tg_attention_epilogue_operand_rows(e->b.m, a, x);
    int first = (1 + x) * a->unroll;
    set_streams(e, vop, first, a->unroll, a->epilogue_operand_kind[x], false, e->epilogue_operand[x].buffer,
                a->epilogue_operand[x].rows == 1 ? 0 : rows / a->grid.rows, units);
    for (int u = 0; u < a->unroll && scalar; u++) {
      tg_stream *s = tg_stream_of_mut(vop, first + u);
      s->at.base = tg_stream_of_mut(vop, first)->at.base;
      s->j[1] = 0;
    }
  }
}

static tg_instr *push_exps(emission *e, tg_queue *queue, tg_turn units) {
  const tg_attention *a = e->a;
  tg_instr *in = tg_attention_push_vop(&e->b, queue, &e->microcode[0], a->grid.rows);
  tg_vx_instr *vop = &in->vx;
  vop->seg_repeat = TG_SOFTMAX_FIRST_REPEAT;
  vop->j_count[1] = tg_attention_keys(a) / tg_lanes(e->b.m) / (uint32_t)a->unroll;
  vop->tail_step = (int64_t)tg_lanes(e->b.m) * a->unroll;
  vop->tail_n = a->keys;
  for (int u = 0; u < a->unroll; u++) {
    tg_stream *s = tg_stream_of_mut(vop, u);
    set_accumulator(e, s, (uint32_t)u * a->grid.rows, units);
    s->row[2] = 1;
    s->j[1] = (int64_t)a->grid.rows * a->unroll;
  }
  set_epilogue_operands(e, vop, units);
  int kept = (1 + a->scores.epilogue_operand_count) * a->unroll;
  uint32_t row = tg_attention_exp_rows(e->b.m, a) / a->grid.rows;
  set_streams(e, vop, kept, a->unroll, TG_STREAM_FP32, true, &e->exps, row, (tg_turn){.count = 1});
  set_sums(e, vop, kept + a->unroll, true);
  return in;
}

static tg_instr *push_weights(emission *e, tg_queue *queue) {
  const tg_attention *a = e->a;
  const tg_turn any = {.count = 1};
  tg_instr *in = tg_attention_push_vop(&e->b, queue, &e->microcode[1], a->grid.rows);
  tg_vx_instr *vop = &in->vx;
  vop->seg_repeat = TG_SOFTMAX_REPEAT;
  vop->j_count[1] = tg_attention_keys(a) / tg_lanes(e->b.m) / (uint32_t)a->own_unroll;
  int kind = a->weights == TG_BF16 ? TG_STREAM_BF16 : a->weights == TG_F16 ? TG_STREAM_FP16 : TG_STREAM_FP32;
  set_streams(e, vop, 0, a->own_unroll, TG_STREAM_FP32, false, &e->exps,
              tg_attention_exp_rows(e->b.m, a) / a->grid.rows, any);
  set_streams(e, vop, a->own_unroll, a->own_unroll, kind, true, &e->channels[TG_ROLE_WEIGHTS].ring,
              tg_attention_weight_rows(e->b.m, a) / a->grid.rows, any);
  set_sums(e, vop, 2 * a->own_unroll, false);
  return in;
}

static tg_instr *push_drain(emission *e, tg_queue *queue, tg_turn units) {
  const tg_attention *a = e->a;
  uint32_t lanes = tg_lanes(e->b.m), groups = tg_attention_width(e->b.m, a) / lanes;
  tg_instr *in = tg_attention_push_vop(&e->b, queue, &e->microcode[2], a->grid.rows);
  tg_vx_instr *vop = &in->vx;
  vop->rows = a->grid.rows * groups;
  vop->row_count[1] = a->grid.rows;
  vop->row_count[2] = groups;
  tg_stream *s = tg_stream_of_mut(vop, 0);
  set_accumulator(e, s, a->grid.rows * (tg_attention_keys(a) / lanes), units);
  s->row[1] = 1;
  s->row[2] = a->grid.rows;
  set_streams(e, vop, 1, 1, a->out_kind, true, &e->channels[TG_ROLE_CONTEXT].ring, 0, units);
  s = tg_stream_of_mut(vop, 1);
  s->row[1] = tg_attention_out_rows(e->b.m, a) / a->grid.rows;
  s->row[2] = s->j[1];
  s->j[1] = 0;
  return in;
}

void tg_attention_emit_vop(emission *e, const tg_stage *stage, tg_queue *queue, tg_turn at) {
  tg_instr *in = stage->kind == TG_STAGE_EXPS      ? push_exps(e, queue, at)
                 : stage->kind == TG_STAGE_WEIGHTS ? push_weights(e, queue)
                                                   : push_drain(e, queue, at);
  tg_attention_meet(e, stage, TG_ALL_CHANNELS, in, at);
}
