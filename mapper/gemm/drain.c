/* The vector unit's part of a product: it drains the accumulator, piece by piece of a block, through the
 * nodes that are fused behind the product.
 *
 * Where K is cut into parts, sums run: p_0 to p_(D-1) are in the accumulators of the D members of a group,
 * rows of tiles; the sum goes from each to the next, down the column lanes, in pieces. If a tile has several
 * parts, the last member returns the sum to the first one, a block at a time. The last part's drain ends in
 * the fused nodes; or members reduce in a ring (split_k.c). A group of one keeps the sum in its scratchpad.
 *
 * Sums that are rounded stochastically are so in stores, and the whole one is too before the fused nodes read
 * it. */
#include "mapper/gemm/emission.h"

#include <assert.h>
#include <string.h>

typedef tg_gemm_emission emission;
typedef tg_gemm_buffer place;
typedef tg_gemm_step step;

tg_status tg_gemm_pack_drain(emission *e, tg_vx_instr *out_microcode) {
  tg_mc mc;
  tg_mc_begin(&mc, e->c->arena);
  tg_status status =
      tg_gemm_write_drain(e->c, e->kernel, e->g, e->t.ring, tg_gemm_at_once(e->b.m, &e->t), &mc);
  if (status) return status;
  tg_vx_instr codes[2] = {0};
  int split = mc.segment + 1;
  if (tg_gemm_has_prologue(e)) status = tg_gemm_write_prologue(e->c, e->kernel, e->g, &mc);
  if (status) return status;
  status =
      tg_mc_pack_parts(&mc, &split, tg_gemm_has_prologue(e), e->c->program, e->b.section, codes, e->c->diag);
  *out_microcode = codes[0];
  e->prologue.code = codes[1];
  if (status) tg_diag_prefix(e->c->diag, "node \"%s\"", e->kernel->root->name);
  return status;
}

/* The sum so far: a piece of it from the row above, which may send another one, or a block of it from the
 * last member. Within a tile nobody has to tell. */
static void take_sum(const emission *e, tg_instr *in, uint32_t r, const place *from) {
  if (from->buffer == &e->channels[TG_ROLE_RECEIVED].ring) {
    tg_channel_take(&e->channels[TG_ROLE_RECEIVED], in, TG_NEXT_SLOT, false);
    tg_set_post(in, TG_NEXT_SLOT, TG_POST_COL, r, e->channels[TG_ROLE_AWAY].free,
                false); /* the row above has position r */
  } else if (from->buffer == &e->channels[TG_ROLE_SUMS].ring && e->t.members > 1)
    tg_channel_take(&e->channels[TG_ROLE_SUMS], in, TG_NEXT_SLOT, true);
}

static void give_result(const emission *e, tg_instr *in, const place *to) {
  if (to->buffer == &e->channels[TG_ROLE_OUT].ring) {
    tg_set_wait(in, TG_NEXT_SLOT, e->channels[TG_ROLE_OUT].free, false);
    tg_set_post(in, TG_NEXT_SLOT, TG_POST_LOCAL, 0, e->channels[TG_ROLE_OUT].full, false);
  } else if (to->buffer == &e->channels[TG_ROLE_SUMS].ring && e->t.members > 1) {
    tg_channel_claim(&e->channels[TG_ROLE_SENT], in, TG_NEXT_SLOT, true);
    tg_channel_fill(&e->channels[TG_ROLE_SENT], in, TG_NEXT_SLOT, true);
  }
}

static tg_instr *emit_step(emission *e, uint32_t r, uint32_t col, const tg_vx_instr *microcode,
                           const step *step) {
  tg_instr *in = tg_gemm_push_step(e, r, col, microcode, step);
  uint32_t own = tg_build_tile(&e->b, r, col)->vx.count - 1;
  if (step->accumulator.buffer)
    tg_channel_take(&e->channels[TG_ROLE_ACCUMULATOR], in, TG_NEXT_SLOT, step->in_pieces);
  give_result(e, in, &step->to);
  if (step->accumulator.buffer)
    tg_channel_release(&e->channels[TG_ROLE_ACCUMULATOR], in, TG_NEXT_SLOT, step->in_pieces);
  take_sum(e, in, r, &step->from);
  if (step->segment == TG_DRAIN_FINISH) tg_gemm_take_epilogue_operands(e, in, r, col, true, true);
  in->common.loop_count[2] = step->in_pieces ? e->pieces : step->parts;
  in->common.loop_count[1] = step->in_pieces ? step->parts : 0;
  in->common.loop_begin[2] = in->common.loop_begin[1] = own;
  return in;
}

/* Row vectors that stay are waited for once, by a SYNC. */
static bool waits_for_vectors(const emission *e) {
  return e->operands.vector_count && tg_gemm_has_resident_vectors(e->g, &e->t);
}

/* The last step of a block ends the loops over passes, too. A sum that is rounded is whole and
 * rounded first. */
static void emit_last(emission *e, uint32_t r, uint32_t col, const tg_vx_instr *microcode, step last) {
  bool finish = tg_gemm_finishes(e, r);
  last.in_pieces = true;
  last.part = e->t.parts - 1;
  if (finish && tg_gemm_rounds_sums(e->g)) {
    place rounded = {&e->channels[TG_ROLE_ROUNDED].ring, 0, TG_ROTATE_NEVER, true};
    last.segment = TG_DRAIN_ADD;
    last.to = rounded;
    emit_step(e, r, col, microcode, &last);
    last = (step){.in_pieces = true, .from = rounded};
  }
  last.segment = finish ? TG_DRAIN_FINISH : last.from.buffer ? TG_DRAIN_ADD : TG_DRAIN_BEGIN;
  last.to = (place){.buffer = &e->channels[TG_ROLE_OUT].ring, .rotation = TG_ROTATE_EACH};
  tg_instr *in = emit_step(e, r, col, microcode, &last);
  for (int l = 0; l < 2; l++)
    in->common.loop_count[l] = e->piece_loops[l], in->common.loop_begin[l] = waits_for_vectors(e);
}

/* A tile's parts of K in three steps: the first, those between, the last. What is in which buffer depends on
 * how many blocks and parts were before, since each operand rotates by itself: with n the number of blocks
 * before, q parts, part i is in half n q + i of the accumulator, and its sum in buffer n (q - 2) + i,
 * modulo 2. */
static void emit_parts(emission *e, uint32_t r, uint32_t col, const tg_vx_instr *microcode,
                       const tg_buffer *halves) {
  bool odd = e->t.parts % 2, below = tg_gemm_member(e, r) > 0, keeps = tg_gemm_finishes(e, r);
  tg_rotation rotation = odd ? TG_ROTATE_OUTER : TG_ROTATE_NEVER;
  place received = {&e->channels[TG_ROLE_RECEIVED].ring, 0, TG_ROTATE_EACH, false},
        sent = {&e->channels[TG_ROLE_OUT].ring, 0, TG_ROTATE_EACH, false};
  tg_rotation each = e->t.members > 1 ? TG_ROTATE_OUTER : TG_ROTATE_EACH; /* part */
  step first = {.segment = below ? TG_DRAIN_ADD : TG_DRAIN_BEGIN,
                .in_pieces = e->t.members > 1,
                .accumulator = {halves, 0, rotation, true},
                .from = below ? received : (place){0},
                .to = keeps ? (place){&e->channels[TG_ROLE_SUMS].ring, 0, rotation, true} : sent};
  step next = {.segment = TG_DRAIN_ADD,
               .part = 1,
               .parts = e->t.parts - 2,
               .in_pieces = first.in_pieces,
               .accumulator = {halves, 1, each, true},
               .from = below ? received : (place){&e->channels[TG_ROLE_SUMS].ring, 0, each, true},
               .to = keeps ? (place){&e->channels[TG_ROLE_SUMS].ring, 1, each, true} : sent};
  step last = {.accumulator = {halves, odd ? 0 : 1, rotation, true},
               .from = below ? received : (place){&e->channels[TG_ROLE_SUMS].ring, odd, rotation, true}};
  emit_step(e, r, col, microcode, &first);
  if (next.parts) emit_step(e, r, col, microcode, &next);
  emit_last(e, r, col, microcode, last);
}

/* To the row below, piece by piece. */
static void emit_send_down(emission *e, uint32_t r, uint32_t col) {
  tg_tx_instr *tx = tg_gemm_push_send(e, r, col, r + 1, e->channels[TG_ROLE_RECEIVED].ring.rows,
                                      e->channels[TG_ROLE_RECEIVED].full);
  tg_instr *in = (tg_instr *)(void *)tx;
  tg_set_operand(tx->src_base, &e->channels[TG_ROLE_OUT].ring, false);
  tg_set_operand(tx->dst_base, &e->channels[TG_ROLE_RECEIVED].ring, false);
  tg_set_wait(in, TG_NEXT_SLOT, e->channels[TG_ROLE_OUT].full, false);
  tg_set_wait(in, TG_NEXT_SLOT, e->channels[TG_ROLE_AWAY].free, false);
  tg_set_post(in, TG_NEXT_SLOT, TG_POST_LOCAL, 0, e->channels[TG_ROLE_OUT].free, false);
  tg_set_loops(in, e->piece_loops);
  if (e->t.parts > 1) in->common.loop_count[1] = e->t.parts;
}

static void set_place(int64_t *base_field, const place *at) {
  tg_set_rotating(base_field, at->buffer, at->first, at->rotation);
}

/* To the first member, block by block: of the first part, then of those between. The first member has read
 * what was there before, or this sum would not be here. */
static void emit_returns(emission *e, uint32_t r, uint32_t col) {
  bool odd = e->t.parts % 2;
  for (uint32_t i = 0; i < 2 && i < e->t.parts - 1; i++) {
    tg_tx_instr *tx = tg_gemm_push_send(e, r, col, r + 1 - e->t.members, e->channels[TG_ROLE_SUMS].ring.rows,
                                        e->channels[TG_ROLE_SUMS].full);
    tg_instr *in = (tg_instr *)(void *)tx;
    place at = {&e->channels[TG_ROLE_SUMS].ring, i, i || odd ? TG_ROTATE_EACH : TG_ROTATE_NEVER, true};
    set_place(tx->src_base, &at);
    set_place(tx->dst_base, &at);
    tg_channel_take(&e->channels[TG_ROLE_SENT], in, TG_NEXT_SLOT, false);
    tg_channel_release(&e->channels[TG_ROLE_SENT], in, TG_NEXT_SLOT, false);
    if (!i) continue;
    in->common.loop_count[2] = e->t.parts - 2;
    in->common.loop_begin[2] = 1;
  }
}

tg_instr *tg_gemm_emit_block_drain(emission *e, uint32_t r, uint32_t col, const tg_vx_instr *microcode,
                                   uint32_t block) {
  if (e->g->column_sums.count) return tg_gemm_emit_block_column_sums(e, r, col, microcode, block);
  tg_buffer halves = {.stride = tg_acc_rows(e->b.m), .count = 2};
  step all = {.segment = TG_DRAIN_FINISH,
              .in_pieces = true,
              .accumulator = {&halves, block % 2, TG_ROTATE_OUTER, true},
              .to = {&e->channels[TG_ROLE_OUT].ring, block * e->pieces % 2, TG_ROTATE_EACH, false}};
  return emit_step(e, r, col, microcode, &all);
}

void tg_gemm_emit_drain(emission *e, uint32_t r, uint32_t col, const tg_vx_instr *microcode) {
  tg_buffer halves = {.stride = tg_acc_rows(e->b.m), .count = 2};
  step only = {.accumulator = {&halves, 0, TG_ROTATE_OUTER, true}};
  if (waits_for_vectors(e))
    tg_set_wait(tg_build_push(&e->b, &tg_build_tile(&e->b, r, col)->vx, TG_OP_vx_sync), 0,
                e->channels[TG_ROLE_OPERANDS_ONCE].full, false);
  if (e->g->column_sums.count) {
    tg_gemm_emit_column_sums(e, r, col, microcode);
    return;
  }
  if (e->t.ring) {
    tg_gemm_emit_ring(e, r, col, microcode);
    return;
  }
  if (e->t.parts == 1) {
    if (tg_gemm_member(e, r))
      only.from = (place){.buffer = &e->channels[TG_ROLE_RECEIVED].ring, .rotation = TG_ROTATE_EACH};
    emit_last(e, r, col, microcode, only);
  } else
    emit_parts(e, r, col, microcode, &halves);
  if (!tg_gemm_finishes(e, r))
    emit_send_down(e, r, col);
  else if (e->t.parts > 1 && e->t.members > 1)
    emit_returns(e, r, col);
}
