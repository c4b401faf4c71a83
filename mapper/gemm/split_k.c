/* A split-K group as a ring: members reduce, each the rows that it finishes. A block goes in steps: in each,
 * the sum of some rows of all members runs down the column as ever, and the last member sends to each of the
 * others the whole sum of its rows. There the fused nodes run, a drain tile at a time, and there are loaded and
 * stored what belongs to these rows, so that all vector units and all DRAM ports share the work. A tile adds
 * its part to some steps before it finishes the first one, since a sum takes its time to go down and come
 * back, and goes on so across blocks: the first steps of a block are added while the last ones of the block
 * before are finished.
 *
 * A VOP reads the accumulator only where it ends a loop, since halves rotate there. The last member keeps its
 * own rows: the sums that it stores end in `whole`. Buffers of sums are single ones: a unit has done with one
 * while another works on the other. So may be those of results, if there is no room for two: then a drain tile
 * waits until the one before has left. */
#include "mapper/gemm/emission.h"
#include "mapper/gemm/layout.h"

#include <string.h>

typedef tg_gemm_emission emission;

typedef struct ring_tile {
  emission *e;
  uint32_t r, col, member, lead;
  const tg_stage *drain, *add, *sends;
} ring_tile;

static bool is_last(const ring_tile *s) { return s->member + 1 == s->e->t.members; }
static uint32_t blocks(const emission *e) { return e->t.passes_m * e->t.passes_n; }
static uint32_t share_rows(const emission *e) { return e->channels[TG_ROLE_WHOLE].ring.rows / 2; }
static tg_queue *vx_queue(const ring_tile *s) { return &tg_build_tile(&s->e->b, s->r, s->col)->vx; }
static tg_queue *tx_queue(const ring_tile *s) { return &tg_build_tile(&s->e->b, s->r, s->col)->tx; }

/* Where the last member puts the rows of member 0, twice: its own are in `whole`, right behind. */
static tg_buffer shares(const emission *e) {
  uint32_t bank = tg_bank_rows(e->b.m), rows = 2 * (e->t.members - 1) * share_rows(e);
  uint32_t base = e->channels[TG_ROLE_WHOLE].ring.base - rows;
  return (tg_buffer){.base = base,
                     .stride = share_rows(e),
                     .rows = rows + e->channels[TG_ROLE_WHOLE].ring.rows,
                     .banks = tg_banks_for(e->b.m, base % bank + rows + e->channels[TG_ROLE_WHOLE].ring.rows),
                     .count = 2};
}

static void end_loop(tg_instr *in, int level, uint32_t count, uint32_t begin) {
  in->common.loop_count[level] = count;
  in->common.loop_begin[level] = begin;
}

/* Of the groups of columns of a VOP that adds, the second half is handled along with the first, by streams of
 * its own. */
static void split_groups(const emission *e, tg_vx_instr *vop) {
  if (tg_gemm_at_once(e->b.m, &e->t) == 1) return;
  uint32_t half = (uint32_t)vop->row_count[2] / 2, bank = tg_bank_rows(e->b.m);
  vop->rows /= 2;
  vop->row_count[2] = half;
  for (int k = 0; k < 3; k++) {
    const tg_stream *first = tg_stream_of(vop, k);
    tg_stream *second = tg_stream_of_mut(vop, 3 + k);
    *second = *first;
    second->at.base += half * first->row[2];
    if (first->kind != TG_STREAM_ACC) second->banks -= second->at.base / bank - first->at.base / bank;
  }
}

/* Steps first .. first + count - 1 of block number `block`, or of that and all behind it if the VOP is in a
 * loop over blocks. */
static tg_instr *emit_add(const ring_tile *s, uint32_t block, uint32_t first, uint32_t count) {
  emission *e = s->e;
  tg_buffer halves = {.stride = tg_acc_rows(e->b.m), .count = 2}, apart = shares(e);
  tg_rotation rotation = count > 1 ? TG_ROTATE_EACH : TG_ROTATE_NEVER;
  tg_gemm_step add = {.segment = s->member ? TG_DRAIN_ADD : TG_DRAIN_BEGIN,
                      .by_drain_tiles = true,
                      .first = first,
                      .rows = e->t.members * tg_gemm_ring_rows(&e->t),
                      .accumulator = {&halves, block % 2, TG_ROTATE_OUTER, true, 0},
                      .to = tg_gemm_ring(e, TG_ROLE_SENT, 0, TG_ROTATE_NEVER, false)};
  if (is_last(s)) add.to = (tg_gemm_buffer){&apart, first % 2, rotation, false, 0};
  if (s->member) add.from.buffer = &e->channels[TG_ROLE_RECEIVED].ring;
  tg_instr *in = tg_gemm_push_step(e, s->r, s->col, &add);
  in->vx.row_count[0] = e->t.members;
  in->vx.row_count[1] = tg_gemm_ring_rows(&e->t);
  tg_stream_of_mut(&in->vx, 0)->row[0] = e->t.mt / e->t.members;
  tg_stream_of_mut(&in->vx, 1)->row[0] = share_rows(e);
  tg_stream_of_mut(&in->vx, 2)->row[0] = is_last(s) ? 2 * share_rows(e) : share_rows(e);
  split_groups(e, &in->vx);
  uint64_t none = s->member ? 0 : tg_gemm_bit(TG_ROLE_RECEIVED); /* comes to the first one */
  tg_gemm_meet(e, s->add, TG_ALL_CHANNELS & ~none, in, s->r, s->col, !first, first + count == e->ring_steps);
  return in;
}

/* Drain tile number `drain_tile` of step number `first` and so on. The first one waits for what all of them read, the
 * last one gives it back. */
static tg_instr *finish_drain_tile(const ring_tile *s, uint32_t first, uint32_t count, uint32_t drain_tile) {
  emission *e = s->e;
  uint32_t before = drain_tile * (share_rows(e) / e->t.ring_drain_tiles);
  tg_rotation rotation = count > 1 ? TG_ROTATE_EACH : TG_ROTATE_NEVER;
  tg_buffer whole = tg_buffer_part(e->b.m, &e->channels[TG_ROLE_WHOLE].ring, before,
                                   e->channels[TG_ROLE_WHOLE].ring.rows - before);
  tg_gemm_step finish = {.segment = TG_DRAIN_FINISH,
                         .by_drain_tiles = true,
                         .first_row = drain_tile * e->t.mr,
                         .epilogue_operands = {.first = first % 2, .rotation = rotation},
                         .from = {&whole, 0, TG_ROTATE_NEVER, false, 0},
                         .to = tg_gemm_ring(e, TG_ROLE_OUT, drain_tile % e->channels[TG_ROLE_OUT].ring.count,
                                            TG_ROTATE_NEVER, false)};
  if (is_last(s)) {
    whole.stride = share_rows(e);
    whole.count = 2;
    finish.from.first = first % 2;
    finish.from.rotation = rotation;
  }
  tg_instr *in = tg_gemm_push_step(e, s->r, s->col, &finish);
  uint64_t none =
      is_last(s) ? tg_gemm_bit(TG_ROLE_WHOLE) : 0; /* comes to the last one, whose sums they are */
  tg_gemm_meet(e, s->drain, TG_ALL_CHANNELS & ~none, in, s->r, s->col, drain_tile == 0,
               drain_tile + 1 == e->t.ring_drain_tiles);
  return in;
}

/* Finishes `count` steps of a block, from number `first` on, and adds to as many of block number `block`,
 * from `next` on, or to none if that is behind the block's end. Buffers of two rotate in a loop of even
 * length; what remains of an odd one stands alone. */
static tg_instr *emit_run(const ring_tile *s, uint32_t block, uint32_t first, uint32_t next, uint32_t count) {
  uint32_t lengths[] = {count / 2 * 2, count % 2};
  tg_instr *in = NULL;
  for (int i = 0; i < 2; i++) {
    uint32_t begin = vx_queue(s)->count, length = lengths[i];
    for (uint32_t drain_tile = 0; length && drain_tile < s->e->t.ring_drain_tiles; drain_tile++)
      in = finish_drain_tile(s, first, length, drain_tile);
    if (length && next < s->e->ring_steps) in = emit_add(s, block, next, length);
    if (length > 1) end_loop(in, 2, length, begin);
    first += length;
    next += length;
  }
  return in;
}

/* The first steps of block 0. */
static void emit_begin(const ring_tile *s) {
  uint32_t even = s->lead / 2 * 2;
  end_loop(emit_add(s, 0, 0, even), 2, even, 0);
  if (s->lead > even) emit_add(s, 0, even, 1);
}

/* SENDs of the sums of a step, from number `step` on. */
static tg_instr *emit_sends(const ring_tile *s, uint32_t step) {
  emission *e = s->e;
  uint32_t others = is_last(s) ? e->t.members - 1 : 1;
  tg_buffer from = is_last(s) ? shares(e) : e->channels[TG_ROLE_SENT].ring;
  tg_instr *in = NULL;
  for (uint32_t i = 0; i < others; i++, from.base += 2 * share_rows(e)) {
    tg_channel into = e->channels[is_last(s) ? TG_ROLE_WHOLE : TG_ROLE_RECEIVED];
    uint32_t to = is_last(s) ? s->r - s->member + i : s->r + 1,
             flits = is_last(s) ? share_rows(e) : into.ring.rows;
    if (is_last(s)) into.free += (int)i;
    tg_tx_instr *tx = tg_gemm_push_send(e, s->r, s->col, to, flits, &into);
    in = (tg_instr *)(void *)tx;
    if (is_last(s))
      tg_set_rotating(&tx->src, &from, step % 2, TG_ROTATE_EACH);
    else
      tg_set_operand(&tx->src, &from, false);
    tg_set_operand(&tx->dst, &into.ring, false);
    const tg_joint at = {
        .kernel = e, .in = in, .r = s->r, .col = s->col, .first = !i, .last = i + 1 == others};
    tg_join_channel(&e->channels[TG_ROLE_SENT], &s->sends->joins[0], &at);
    tg_join_channel(&into, &s->sends->joins[1], &at);
  }
  return in;
}

static ring_tile ring_of(emission *e, uint32_t r, uint32_t col) {
  uint32_t member = r % e->t.members;
  return (ring_tile){.e = e,
                     .r = r,
                     .col = col,
                     .member = member,
                     .lead = tg_gemm_ring_lead(&e->t, member),
                     .drain = tg_stages_find(&e->stages, TG_UNIT_VX, TG_STAGE_DRAIN),
                     .add = tg_stages_find(&e->stages, TG_UNIT_VX, TG_STAGE_SUMS),
                     .sends = tg_stages_find(&e->stages, TG_UNIT_TX, TG_STAGE_SUMS)};
}

void tg_gemm_emit_ring(emission *e, uint32_t r, uint32_t col) {
  ring_tile s = ring_of(e, r, col);
  uint32_t rest = e->ring_steps - s.lead, last = blocks(e) - 1;
  emit_begin(&s);
  if (last) {
    uint32_t begin = vx_queue(&s)->count;
    emit_run(&s, 0, 0, s.lead, rest);
    end_loop(emit_run(&s, 1, rest, 0, s.lead), 1, last, begin);
  }
  emit_run(&s, last, 0, s.lead, rest);
  emit_run(&s, last, rest, e->ring_steps, s.lead);
}

void tg_gemm_emit_ring_sends(emission *e, uint32_t r, uint32_t col) {
  ring_tile s = ring_of(e, r, col);
  end_loop(emit_sends(&s, 0), 2, s.lead - 1, 0);
}

/* The SENDs of drain tiles to the egress, which are `results`, `count` times over. The first of them is an even
 * number of drain tiles after the first one of all, or `odd`. */
static tg_instr *emit_results(const ring_tile *s, const tg_instr *results, uint32_t count, bool odd) {
  tg_queue *queue = tx_queue(s);
  uint32_t begin = queue->count;
  tg_instr *in = NULL;
  for (int k = 0; k < s->e->g->outs; k++) {
    in = tg_build_push(&s->e->b, queue, TG_OP_tx_send);
    *in = results[k];
    for (int l = 0; l < TG_LEVELS; l++) end_loop(in, l, 0, 0);
    if (odd) in->tx.dst_base += in->tx.dst_rot_stride, in->tx.src_base += in->tx.src_rot_stride;
    if (count == 1) in->tx.dst_rot_count = in->tx.src_rot_count = 0;
  }
  end_loop(in, 2, count, begin);
  return in;
}

/* The SENDs of results are there. In each step, sums of a step that far ahead go down behind its first drain tile:
 * all members' results go through the same AGCU in order, so none may wait for a sum that others give back
 * only when results of this step have left. Whole sums go to the other members when these have finished the
 * step before, so before the last drain tile. */
void tg_gemm_skew_egress(emission *e, uint32_t r, uint32_t col) {
  ring_tile s = ring_of(e, r, col);
  tg_queue *queue = tx_queue(&s);
  tg_instr results[TG_GEMM_RESULTS];
  queue->count -= (uint32_t)e->g->outs;
  memcpy(results, &queue->instrs[queue->count], (size_t)e->g->outs * sizeof *results);
  uint32_t begin = queue->count, pairs = e->t.ring_drain_tiles - 2;
  if (is_last(&s) && pairs) emit_results(&s, results, pairs, false);
  emit_results(&s, results, 1, false);
  emit_sends(&s, s.lead - 1);
  tg_instr *in = emit_results(&s, results, 1, true);
  if (!is_last(&s) && pairs) in = emit_results(&s, results, pairs, false);
  end_loop(in, 1, blocks(e) * e->ring_steps - (s.lead - 1), begin);
  emit_results(&s, results, (s.lead - 1) * e->t.ring_drain_tiles, false);
}
