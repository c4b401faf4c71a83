/* What all VOPs of line buffers have in common. */
#include "mapper/vector/line_buffers_emission.h"

#include <string.h>

typedef tg_line_emission emission;

tg_stream *tg_line_set_stream(const emission *e, tg_vx_instr *vop, int number, int kind,
                              const tg_buffer *buffer, int64_t first) {
  tg_stream *s = tg_stream_of_mut(vop, number);
  int64_t bank = buffer->base / tg_bank_rows(e->b.m);
  s->kind = kind;
  tg_set_operand(&s->at, buffer, false);
  s->at.base += first;
  s->banks = buffer->banks - (s->at.base / tg_bank_rows(e->b.m) - bank);
  s->row[2] = tg_kind_flits(e->b.m, kind, tg_lanes(e->b.m));
  return s;
}

tg_instr *tg_line_push_vop(const emission *e, tg_queue *queue, const tg_vx_instr *microcode) {
  tg_instr *in = tg_build_push(&e->b, queue, TG_OP_vx_vop);
  tg_vx_instr *vop = &in->vx;
  memcpy(vop->seg_begin, microcode->seg_begin, sizeof vop->seg_begin);
  memcpy(vop->seg_len, microcode->seg_len, sizeof vop->seg_len);
  vop->seg_repeat = 1 << 1;
  vop->row_count[0] = e->t->rows;
  vop->row_count[2] = e->t->vectors;
  return in;
}
