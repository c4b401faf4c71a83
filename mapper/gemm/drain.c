/* The vector unit's part of a product: it drains the accumulator, one drain tile of a block after the other, through the
 * nodes that are fused behind the product.
 *
 * Where K is cut into parts, sums run: p_0 to p_(D-1) are in the accumulators of the D members of a group,
 * rows of tiles; the sum goes from each to the next, down the column lanes, a drain tile at a time. If a tile has several
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

tg_status tg_gemm_pack_drain(emission *e) {
  tg_mc mc;
  tg_mc_begin(&mc, e->c->arena);
  tg_drain_way way = tg_gemm_drain_way(&e->t);
  uint32_t at_once = way == TG_DRAIN_OF_ACCUMULATOR && e->g->partials == 1
                         ? tg_gemm_rows_at_once(e->b.m, e->g, &e->t)
                         : tg_gemm_at_once(e->b.m, &e->t);
  tg_status status = tg_gemm_write_drain(e->c, e->kernel, e->g, way, at_once, &mc);
  if (status) return status;
  tg_vx_instr codes[3] = {0};
  bool pools = way == TG_DRAIN_OF_WINDOWS;
  int splits[] = {pools ? TG_POOL_ACROSS : mc.segment + 1, TG_POOL_EDGES},
      count = pools ? 2 : tg_gemm_has_prologue(e);
  if (tg_gemm_has_prologue(e)) status = tg_gemm_write_prologue(e->c, e->kernel, e->g, &mc);
  if (status) return status;
  status = tg_mc_pack_parts(&mc, splits, count, e->c->program, e->b.section, codes, e->c->diag);
  e->microcode = codes[0];
  e->prologue.code = codes[1];
  memcpy(e->pool_codes, &codes[1], sizeof e->pool_codes);
  if (status) tg_diag_prefix(e->c->diag, "node \"%s\"", e->kernel->root->name);
  return status;
}

static tg_instr *emit_step(emission *e, const tg_stage *stage, uint32_t r, uint32_t col, const step *step) {
  const uint64_t operands = tg_gemm_bit(TG_ROLE_OPERANDS_ONCE) | tg_gemm_bit(TG_ROLE_OPERANDS);
  tg_instr *in = tg_gemm_push_step(e, r, col, step);
  uint32_t own = tg_build_tile(&e->b, r, col)->vx.count - 1;
  uint64_t meets = step->accumulator.meets | step->from.meets | step->to.meets;
  if (step->segment == TG_DRAIN_FINISH) meets |= operands;
  tg_gemm_meet(e, stage, meets, in, r, col, true, true);
  in->common.loop_count[2] = step->by_drain_tiles ? e->drain_tiles : step->parts;
  in->common.loop_count[1] = step->by_drain_tiles ? step->parts : 0;
  in->common.loop_begin[2] = in->common.loop_begin[1] = own;
  return in;
}

/* The halves of the accumulator, from number `first` on. */
static place half(const emission *e, tg_buffer *halves, uint32_t first, tg_rotation rotation) {
  *halves = (tg_buffer){.stride = tg_acc_rows(e->b.m), .count = 2};
  return (place){halves, first, rotation, true, tg_gemm_bit(TG_ROLE_ACCUMULATOR)};
}

/* Of what the first and the last part of a block are in: q parts leave it where it was, or in the other half. */
static tg_rotation block_rotation(const emission *e) {
  return e->t.parts % 2 ? TG_ROTATE_OUTER : TG_ROTATE_NEVER;
}

static place sum_so_far(const emission *e, uint32_t r, uint32_t first, tg_rotation rotation) {
  return tg_gemm_member(e, r) > 0 ? tg_gemm_ring(e, TG_ROLE_RECEIVED, 0, TG_ROTATE_EACH, false)
                                  : tg_gemm_ring(e, TG_ROLE_SUMS, first, rotation, true);
}
static place sum_after(const emission *e, uint32_t r, uint32_t first, tg_rotation rotation) {
  if (!tg_gemm_finishes(e, r)) return tg_gemm_ring(e, TG_ROLE_OUT, 0, TG_ROTATE_EACH, false);
  return tg_gemm_ring(e, e->t.members > 1 ? TG_ROLE_SENT : TG_ROLE_SUMS, first, rotation, true);
}

/* The last part: its half of the accumulator, and the sum before it, if there is any. */
static step last_step(const emission *e, tg_buffer *halves, uint32_t r) {
  bool odd = e->t.parts % 2;
  step last = {.by_drain_tiles = true, .part = e->t.parts - 1};
  if (e->t.parts > 1) {
    last.accumulator = half(e, halves, odd ? 0 : 1, block_rotation(e));
    last.from = sum_so_far(e, r, odd, block_rotation(e));
  } else {
    last.accumulator = half(e, halves, 0, TG_ROTATE_OUTER);
    if (tg_gemm_member(e, r)) last.from = tg_gemm_ring(e, TG_ROLE_RECEIVED, 0, TG_ROTATE_EACH, false);
  }
  return last;
}

static bool rounds_whole_sum(const emission *e, uint32_t r) {
  return tg_gemm_finishes(e, r) && tg_gemm_rounds_sums(e->g);
}
/* Is the whole sum in the scratchpad, where a VOP rounded it, or transposed it? */
static bool has_whole_sum(const emission *e, uint32_t r) { return e->t.swapped || rounds_whole_sum(e, r); }

/* A tile's parts of K in three steps: the first, those between, the last. What is in which buffer depends on
 * how many blocks and parts were before, since each operand rotates by itself: with n the number of blocks
 * before, q parts, part i is in half n q + i of the accumulator, and its sum in buffer n (q - 2) + i,
 * modulo 2. The last member sends what it keeps back to the first one. */
void tg_gemm_emit_sums(emission *e, const tg_stage *stage, uint32_t r, uint32_t col) {
  if (e->t.ring) return; /* among those of the drain: split_k.c */
  if (e->t.swapped) {
    tg_gemm_emit_transposition(e, stage, r, col);
    return;
  }
  if (e->t.pool_rows) {
    tg_gemm_emit_pool_rows(e, stage, r, col);
    return;
  }
  tg_buffer halves;
  tg_rotation rotation = block_rotation(e),
              each = e->t.members > 1 ? TG_ROTATE_OUTER : TG_ROTATE_EACH; /* part */
  step first = {.segment = tg_gemm_member(e, r) ? TG_DRAIN_ADD : TG_DRAIN_BEGIN,
                .by_drain_tiles = e->t.members > 1,
                .accumulator = half(e, &halves, 0, rotation),
                .to = sum_after(e, r, 0, rotation)};
  if (tg_gemm_member(e, r)) first.from = sum_so_far(e, r, 0, rotation);
  step next = {.segment = TG_DRAIN_ADD,
               .part = 1,
               .parts = e->t.parts - 2,
               .by_drain_tiles = first.by_drain_tiles,
               .accumulator = half(e, &halves, 1, each),
               .from = sum_so_far(e, r, 0, each),
               .to = sum_after(e, r, 1, each)};
  if (e->t.parts > 1) emit_step(e, stage, r, col, &first);
  if (e->t.parts > 2) emit_step(e, stage, r, col, &next);
  if (!rounds_whole_sum(e, r)) return;
  step rounded = last_step(e, &halves, r);
  rounded.segment = TG_DRAIN_ADD;
  rounded.to = tg_gemm_ring(e, TG_ROLE_ROUNDED, 0, TG_ROTATE_NEVER, true);
  emit_step(e, tg_stages_find(&e->stages, TG_UNIT_VX, TG_STAGE_DRAIN), r, col, &rounded);
}

/* The last step of a block. A sum that is rounded is whole and rounded before. */
void tg_gemm_emit_drain(emission *e, const tg_stage *stage, uint32_t r, uint32_t col) {
  if (tg_gemm_makes_a(e)) return; /* between the chunks of its prologue */
  if (e->g->column_sums.count) {
    tg_gemm_emit_column_sums(e, stage, r, col);
    return;
  }
  if (e->t.ring) {
    tg_gemm_emit_ring(e, r, col);
    return;
  }
  if (e->t.pool_rows) {
    tg_gemm_emit_pool_columns(e, stage, r, col);
    return;
  }
  tg_buffer halves;
  step last = last_step(e, &halves, r);
  tg_buffer products[2]; /* transposed */
  if (has_whole_sum(e, r))
    last = (step){.by_drain_tiles = true, .from = tg_gemm_ring(e, TG_ROLE_ROUNDED, 0, TG_ROTATE_NEVER, true)};
  for (uint32_t i = 0; i < 2 && e->second && e->t.swapped; i++) {
    products[i] = tg_gemm_transposed_buffer(e, i);
    *(i ? &last.second : &last.from) = (place){&products[i], 0, TG_ROTATE_NEVER, true, 0};
  }
  last.segment = tg_gemm_finishes(e, r) ? TG_DRAIN_FINISH : last.from.buffer ? TG_DRAIN_ADD : TG_DRAIN_BEGIN;
  last.to = tg_gemm_ring(e, TG_ROLE_OUT, 0, TG_ROTATE_EACH, false);
  emit_step(e, stage, r, col, &last);
}

/* To the row below, a drain tile at a time. */
void tg_gemm_emit_sum_sends(emission *e, const tg_stage *stage, uint32_t r, uint32_t col) {
  if (e->t.ring) {
    tg_gemm_emit_ring_sends(e, r, col);
    return;
  }
  if (tg_gemm_finishes(e, r)) return;
  const tg_channel *received = &e->channels[TG_ROLE_RECEIVED];
  tg_tx_instr *tx = tg_gemm_push_send(e, r, col, r + 1, received->ring.rows, received);
  tg_instr *in = (tg_instr *)(void *)tx;
  tg_set_operand(&tx->src, &e->channels[TG_ROLE_OUT].ring, false);
  tg_set_operand(&tx->dst, &received->ring, false);
  tg_gemm_meet(e, stage, TG_ALL_CHANNELS, in, r, col, true, true);
  tg_set_loops(in, e->drain_tile_loops);
  if (e->t.parts > 1) in->common.loop_count[1] = e->t.parts;
}

static void set_place(tg_row_operand *operand, const place *at) {
  tg_set_rotating(operand, at->buffer, at->first, at->rotation);
}

/* To the first member, block by block: of the first part, then of those between. The first member has read
 * what was there before, or this sum would not be here. */
void tg_gemm_emit_returns(emission *e, const tg_stage *stage, uint32_t r, uint32_t col) {
  bool odd = e->t.parts % 2;
  const tg_channel *sums = &e->channels[TG_ROLE_SUMS];
  if (!tg_gemm_finishes(e, r)) return;
  for (uint32_t i = 0; i < 2 && i < e->t.parts - 1; i++) {
    tg_tx_instr *tx = tg_gemm_push_send(e, r, col, r + 1 - e->t.members, sums->ring.rows, sums);
    tg_instr *in = (tg_instr *)(void *)tx;
    place at = {&sums->ring, i, i || odd ? TG_ROTATE_EACH : TG_ROTATE_NEVER, true, 0};
    set_place(&tx->src, &at);
    set_place(&tx->dst, &at);
    tg_gemm_meet(e, stage, TG_ALL_CHANNELS, in, r, col, true, true);
    if (!i) continue;
    in->common.loop_count[2] = e->t.parts - 2;
    in->common.loop_begin[2] = 1;
  }
}

tg_instr *tg_gemm_emit_block_drain(emission *e, const tg_stage *stage, uint32_t r, uint32_t col,
                                   uint32_t block) {
  if (e->g->column_sums.count) return tg_gemm_emit_block_column_sums(e, stage, r, col, block);
  tg_buffer halves;
  step all = {.segment = TG_DRAIN_FINISH,
              .by_drain_tiles = true,
              .accumulator = half(e, &halves, block % 2, TG_ROTATE_OUTER),
              .epilogue_operands = {.first = block * e->drain_tiles % 2},
              .to = tg_gemm_ring(e, TG_ROLE_OUT, block * e->drain_tiles % 2, TG_ROTATE_EACH, false)};
  return emit_step(e, stage, r, col, &all);
}
