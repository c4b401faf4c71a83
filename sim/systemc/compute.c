/* Issue of GEMM and VOP: their cycles, what they own, what they touch (docs/machine.md, sections 4 and 5). */
#include "frontend/base/math.h"
#include "sim/systemc/chip.h"

uint64_t tg_mx_earliest(const tg_unit_state *u) {
  const tg_mx_instr *in = &u->next.in->mx;
  return in->op == TG_OP_sync ? u->ready : tg_mx_issue_after(&u->gemm, in, u->ready);
}

void tg_mx_issue(tg_chip *chip, uint32_t unit, const tg_execution *x) {
  tg_unit_state *u = &chip->unit[unit];
  const tg_mx_instr *in = &x->in->mx;
  tg_mx_shape shape = tg_mx_shape_run(chip->m, x);
  tg_mx_times at = tg_mx_times_of(chip->m, &shape, in, chip->now, &u->gemm);
  if (TG_DEFECT(chip, TG_DEFECT_MX_LATENCY)) u->gemm.end = ++at.end;
  tg_bank_own_span(chip, u->endpoint, TG_PORT_MX_A, x->address[TG_AT_A], in->a_banks,
                   shape.groups ? chip->now : at.first, at.last + (uint64_t)tg_mx_last_read(&shape));
  tg_bank_own_span(chip, u->endpoint, TG_PORT_MX_B, x->address[TG_AT_B], in->b_banks, chip->now, at.last - 1);
  uint32_t half = x->address[TG_AT_C] / tg_acc_rows(chip->m);
  tg_bank_own(chip, u->endpoint, chip->m->banks + half, TG_PORT_MX_ACC, at.first, at.end);
  u->ready = chip->now + 1;
  tg_chip_complete(chip, unit, x, chip->now, at.end);
}

static void own_stream(tg_chip *chip, uint32_t tile, const tg_stream *s, uint16_t address, uint64_t end) {
  if (s->kind == TG_STREAM_ACC) {
    uint32_t half = address / tg_acc_rows(chip->m) % 2; /* beyond the second no word may go */
    tg_bank_own(chip, tile, chip->m->banks + half, TG_PORT_VX_LOAD, chip->now, end);
  } else {
    tg_bank_own_span(chip, tile, s->store ? TG_PORT_VX_STORE : TG_PORT_VX_LOAD, address, s->banks, chip->now,
                     end);
  }
}

void tg_vx_issue(tg_chip *chip, uint32_t unit, const tg_execution *x) {
  tg_unit_state *u = &chip->unit[unit];
  const tg_vx_instr *in = &x->in->vx;
  uint64_t fma = chip->m->fma_latency, words = 0, repeats = (uint64_t)(in->j_count[0] * in->j_count[1]);
  for (int q = 0; q < TG_SEGMENTS; q++)
    words += (uint64_t)in->seg_len[q] * (in->seg_repeat >> q & 1 ? repeats : 1);
  uint64_t groups = tg_div_up(in->rows, fma);
  uint64_t end = chip->now + 1 + fma + groups * words * fma - 1 + fma;
  for (int t = 0; t < TG_STREAMS; t++)
    if (tg_stream_of(in, t)->kind != TG_STREAM_NONE)
      own_stream(chip, u->endpoint, tg_stream_of(in, t), x->address[t], end);
  u->ready = end + 1;
  tg_chip_complete(chip, unit, x, chip->now, end);
}
