#include "sim/machine/sequencer.h"

#include <assert.h>
#include <string.h>

/* Row operands of an instruction, in their places. */
static uint32_t operands(tg_unit unit, const tg_instr *in, const tg_row_operand *out[TG_OPERANDS]) {
  if (in->common.op == TG_OP_sync) return 0;
  switch (unit) {
  case TG_MX:
    out[TG_AT_A] = &in->mx.a;
    out[TG_AT_B] = &in->mx.b;
    out[TG_AT_C] = &in->mx.c;
    return 3;
  case TG_VX:
    for (int t = 0; t < TG_STREAMS; t++) out[t] = &tg_stream_of(&in->vx, t)->at;
    return TG_STREAMS;
  case TG_TX:
    out[TG_AT_SRC] = &in->tx.src;
    out[TG_AT_DST] = &in->tx.dst;
    return 2;
  case TG_AGCU:
    out[TG_AT_SRC] = &in->agcu.src;
    out[TG_AT_DST] = &in->agcu.dst;
    out[TG_AT_INDEX] = &in->agcu.index;
    return 3;
  }
  return 0;
}

static bool ends_inner(const tg_sequencer *s, const tg_instr *in) {
  return in->common.loop_count[2] == 0 || s->index[2] + 1 == in->common.loop_count[2];
}

void tg_sequencer_init(tg_sequencer *s, tg_unit unit, const tg_queue *queue) {
  assert(queue->count <= TG_MAX_QUEUE);
  memset(s, 0, sizeof *s);
  s->queue = queue;
  s->unit = unit;
}

void tg_execution_set_chain(tg_execution *x, tg_chain chain) {
  const tg_mx_instr *in = &x->in->mx;
  int64_t left = in->k_total;
  x->starts = in->init;
  for (int l = 0; l < TG_LEVELS; l++) {
    left -= x->index[l] * in->k_delta[l];
    if (in->init_levels >> l & 1 && x->index[l]) x->starts = false;
  }
  if (left > in->k_chunk) left = in->k_chunk;
  x->k_left = left < 0 ? 0 : (uint32_t)left;
  x->chain = x->starts ? (tg_chain){0} : chain;
}

bool tg_execution_ends_tile(const tg_execution *x) {
  return x->in->mx.sr_end && (!x->in->mx.sr_end_last || x->ends_inner);
}

tg_execution tg_sequencer_peek(const tg_sequencer *s) {
  assert(!tg_sequencer_done(s));
  const tg_instr *in = &s->queue->instrs[s->pc];
  tg_execution x = {.in = in, .pc = (uint16_t)s->pc, .ends_inner = ends_inner(s, in)};
  memcpy(x.index, s->index, sizeof x.index);
  const tg_row_operand *operand[TG_OPERANDS];
  uint32_t count = operands(s->unit, in, operand);
  for (uint32_t o = 0; o < count; o++)
    x.address[o] = (uint16_t)((uint32_t)operand[o]->base + tg_execution_advance(&x, operand[o]->delta) +
                              s->rotation[s->pc][o] * (uint32_t)operand[o]->rot_stride);
  if (s->unit == TG_MX && in->common.op == TG_OP_mx_gemm) tg_execution_set_chain(&x, s->chain);
  return x;
}

static void go_on(tg_sequencer *s, const tg_instr *in) {
  if (s->unit != TG_MX || in->common.op != TG_OP_mx_gemm || !in->mx.sr) return;
  tg_execution x = {.in = in};
  memcpy(x.index, s->index, sizeof x.index);
  tg_execution_set_chain(&x, s->chain);
  s->chain = tg_chain_after(x.chain, (uint32_t)in->mx.sr_k, x.k_left);
}

void tg_sequencer_step(tg_sequencer *s) {
  const tg_instr *in = &s->queue->instrs[s->pc];
  const tg_row_operand *operand[TG_OPERANDS];
  uint32_t count = operands(s->unit, in, operand);
  go_on(s, in);
  for (uint32_t o = 0; o < count; o++) {
    uint8_t *rotation = &s->rotation[s->pc][o];
    if (operand[o]->rot_outer && !ends_inner(s, in)) continue;
    *rotation = *rotation + 1 < operand[o]->rot_count ? (uint8_t)(*rotation + 1) : 0;
  }
  for (int l = TG_LEVELS - 1; l >= 0; l--) {
    if (!in->common.loop_count[l]) continue;
    if (++s->index[l] < in->common.loop_count[l]) {
      s->pc = (uint32_t)in->common.loop_begin[l];
      return;
    }
    s->index[l] = 0;
  }
  s->pc++;
}

uint32_t tg_execution_waits(const tg_execution *x, uint16_t out[TG_MAX_WAITS]) {
  const tg_common_instr *in = &x->in->common;
  uint32_t count = 0;
  for (int i = 0; i < 4; i++)
    if (in->wait_on[i] && (!in->wait_first[i] || x->index[2] == 0)) out[count++] = (uint16_t)in->wait_sem[i];
  for (int pos = 0; pos < 17; pos++)
    if (in->credit_mask >> pos & 1) out[count++] = (uint16_t)(in->credit_base + pos);
  return count;
}

bool tg_execution_posts(const tg_execution *x, int i) {
  const tg_common_instr *in = &x->in->common;
  return in->post_kind[i] != TG_POST_NONE && (!in->post_last[i] || x->ends_inner);
}

uint32_t tg_lane_endpoint(const tg_params *m, uint32_t endpoint, uint32_t dir, uint32_t position) {
  uint32_t tiles = tg_tiles(m), row, col;
  if (endpoint < tiles) {
    row = endpoint / m->cols;
    col = endpoint % m->cols;
  } else {
    row = endpoint - tiles; /* west AGCU of its row */
    col = row - m->rows;    /* or north AGCU of its column */
  }
  if (dir == TG_DIR_EAST || dir == TG_DIR_WEST) return position ? row * m->cols + position - 1 : tiles + row;
  return position ? (position - 1) * m->cols + col : tiles + m->rows + col;
}

uint32_t tg_post_endpoint(const tg_params *m, uint32_t endpoint, const tg_common_instr *in, int i) {
  if (in->post_kind[i] == TG_POST_LOCAL) return endpoint;
  return tg_lane_endpoint(m, endpoint, in->post_kind[i] == TG_POST_ROW ? TG_DIR_EAST : TG_DIR_SOUTH,
                          (uint32_t)in->post_pos[i]);
}

uint64_t tg_queue_executions(const tg_queue *queue, uint32_t pc) {
  uint64_t product = 1;
  for (int level = 0; level < TG_LEVELS; level++)
    for (uint32_t end = pc; end < queue->count; end++) {
      const tg_common_instr *in = &queue->instrs[end].common;
      if (in->loop_count[level] > 0 && in->loop_begin[level] <= (int64_t)pc) {
        product *= (uint64_t)in->loop_count[level];
        break;
      }
    }
  return product;
}
