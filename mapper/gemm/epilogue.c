/* The vector unit's part of a product: it drains the accumulator, piece by piece of a block, through the
 * nodes that are fused behind the product.
 *
 * Where K is cut into parts, sums run: p_0 to p_(D-1) are in the accumulators of the D members of a group,
 * rows of tiles; the sum goes from each to the next, down the column lanes, in pieces. If a tile has several
 * parts, the last member returns the sum to the first one, a block at a time. The last part's drain ends in
 * the fused nodes; or members finish in turn (split_k.c). A group of one keeps the sum in its scratchpad.
 *
 * Sums that are rounded stochastically are so in stores, and the whole one is too before the fused nodes read
 * it. */
#include "mapper/gemm/emission.h"

#include <assert.h>
#include <string.h>

typedef tg_gemm_emission emission;

/* Streams of the last drain: accumulator; then operands from DRAM, the result, and the sum so far. Of the
 * others: */
enum { ACCUMULATOR, SUM_IN, SUM_OUT };

static uint32_t member(const emission *e, uint32_t r) { return r % e->t.members; }
bool tg_gemm_finishes(const emission *e, uint32_t r) {
  return e->t.in_turn || member(e, r) + 1 == e->t.members;
}

/* ---- microcode ---- */

static int finish_sum_stream(const tg_gemm *g) { return 2 + g->external_count; }
static int result_stream(const tg_gemm *g, int k) {
  return 1 + g->external_count + (k ? k + (g->partials > 1) : 0);
}

static bool rounds_sums(const tg_gemm *g) { return g->sum_kind == TG_STREAM_BF16SR; }

static tg_mc_ref load_sum(tg_mc *mc, const tg_gemm *g, int stream) {
  return tg_mc_load(mc, stream, g->sum_kind == TG_STREAM_FP32);
}

/* Rows that are handled at once have three streams each. */
enum { SUM_STREAMS = SUM_OUT + 1 };

static void write_sums(tg_mc *mc, const tg_gemm *g, uint32_t at_once) {
  bool halves = g->sum_kind == TG_STREAM_FP32;
  tg_mc_next_segment(mc);
  for (int i = 0; i < (int)at_once * SUM_STREAMS; i += SUM_STREAMS) {
    tg_mc_ref y = tg_mc_load(mc, i + ACCUMULATOR, false);
    tg_mc_store(mc, i + SUM_OUT, halves, tg_mc_alu(mc, TG_ALU_add, y, tg_mc_const(mc, 0), TG_MC_NONE));
  }
  tg_mc_next_segment(mc);
  for (int i = 0; i < (int)at_once * SUM_STREAMS; i += SUM_STREAMS) {
    tg_mc_ref sum = load_sum(mc, g, i + SUM_IN), y = tg_mc_load(mc, i + ACCUMULATOR, false);
    tg_mc_store(mc, i + SUM_OUT, halves, tg_mc_alu(mc, TG_ALU_add, sum, y, TG_MC_NONE));
  }
}

static tg_mc_ref load_bias(tg_mc *mc, const tg_operand_stream *streams, int count, const tg_value *bias) {
  if (tg_is_scalar_constant(bias)) return tg_mc_const(mc, tg_scalar_value(bias));
  int s = 0;
  while (s < count && (streams[s].value != bias || streams[s].part)) s++;
  assert(s < count);
  if (streams[s].loaded) return streams[s].held;
  return tg_mc_load(mc, streams[s].stream, !streams[s].number && tg_stream_kind(bias) == TG_STREAM_FP32);
}

int tg_gemm_operand_streams(const tg_gemm *g, tg_operand_stream *out) {
  int count = 0;
  for (int x = 0; x < g->external_count; x++)
    out[count++] = (tg_operand_stream){.value = g->externals[x].value,
                                       .stream = 1 + x,
                                       .number = g->externals[x].kind == TG_STREAM_SPLAT32,
                                       .part = g->externals[x].part,
                                       .dtype = g->externals[x].dtype};
  for (int i = 0; i < g->totals.name_count; i++) {
    out[count] = out[g->totals.names[i].external];
    out[count++].value = g->totals.names[i].value;
  }
  return count;
}

tg_mc_ref tg_gemm_add_bias(tg_mc *mc, const tg_kernel *kernel, const tg_operand_stream *streams, int count,
                           tg_mc_ref y, bool stored) {
  const tg_value *bias = tg_in(kernel->root, 2);
  if (bias) y = tg_mc_alu(mc, TG_ALU_add, y, load_bias(mc, streams, count, bias), TG_MC_NONE);
  return tg_round_to(mc, tg_out(kernel->root)->dtype, y, stored);
}

tg_status tg_gemm_write_drain(const tg_compile *c, const tg_kernel *kernel, const tg_gemm *g, bool in_turn,
                              uint32_t at_once, tg_mc *mc) {
  if (g->totals.count) return tg_gemm_write_totals(c, kernel, g, mc);
  tg_operand_stream streams[TG_GEMM_EXTERNALS];
  int count = tg_gemm_operand_streams(g, streams);
  tg_mc_ref sum = g->partials > 1 ? load_sum(mc, g, finish_sum_stream(g)) : TG_MC_NONE;
  tg_mc_ref results[TG_GEMM_RESULTS];
  bool whole = rounds_sums(g) || in_turn; /* nothing is left in the accumulator */
  tg_mc_ref y = whole ? sum : tg_mc_load(mc, ACCUMULATOR, false);
  if (g->partials > 1 && !whole) y = tg_mc_alu(mc, TG_ALU_add, sum, y, TG_MC_NONE);
  y = tg_gemm_add_bias(mc, kernel, streams, count, y, !kernel->fused_count);
  if (!tg_emit_results(mc, c, kernel, tg_out(kernel->root), y, streams, count, results)) return TG_INVALID;
  for (int k = 0; k < g->outs; k++)
    tg_mc_store(mc, result_stream(g, k), g->out_kind[k] == TG_STREAM_FP32, results[k]);
  if (g->partials > 1) write_sums(mc, g, at_once);
  return TG_OK;
}

tg_status tg_gemm_measure_drain(const tg_compile *c, const tg_kernel *kernel, tg_gemm *g) {
  if (g->totals.count) return tg_gemm_measure_totals(c, kernel, g);
  tg_mc mc;
  tg_mc_begin(&mc, c->arena);
  tg_status status = tg_gemm_write_drain(c, kernel, g, false, 1, &mc);
  if (!status && !tg_mc_fits(&mc, c->m, g->drain_words)) g->drain_words[TG_DRAIN_FINISH] = 0;
  if (status || g->partials == 1) return status;
  tg_mc_begin(&mc, c->arena);
  status = tg_gemm_write_drain(c, kernel, g, true, TG_ADDS_AT_ONCE, &mc);
  if (!status && !tg_mc_fits(&mc, c->m, g->turn_words)) g->turn_words[TG_DRAIN_FINISH] = 0;
  return status;
}

tg_status tg_gemm_pack_drain(emission *e, tg_vx_instr *out_microcode) {
  tg_mc mc;
  tg_mc_begin(&mc, e->c->arena);
  tg_status status =
      tg_gemm_write_drain(e->c, e->kernel, e->g, e->t.in_turn, tg_gemm_at_once(e->b.m, &e->t), &mc);
  if (status) return status;
  tg_vx_instr codes[2] = {0};
  int split = mc.segment + 1;
  if (tg_gemm_has_front(e)) status = tg_gemm_write_front(e->c, e->kernel, e->g, &mc);
  if (status) return status;
  status =
      tg_mc_pack_parts(&mc, &split, tg_gemm_has_front(e), e->c->program, e->b.section, codes, e->c->diag);
  *out_microcode = codes[0];
  e->front_code = codes[1];
  if (status) tg_diag_prefix(e->c->diag, "node \"%s\"", e->kernel->root->name);
  return status;
}

/* ---- VOPs ---- */

typedef tg_gemm_buffer place;
typedef tg_gemm_step step;

static void set_place(int64_t *base_field, const place *at) {
  tg_set_turning(base_field, at->buffer, at->first, at->turn);
}

static void set_stream(const emission *e, tg_stream *s, int kind, const place *at, const step *step) {
  uint32_t vector = tg_kind_flits(e->b.m, kind, tg_lanes(e->b.m)),
           row = vector * (e->t.nt / tg_lanes(e->b.m));
  s->kind[0] = kind;
  set_place(s->at.base, at);
  s->banks[0] = at->buffer->banks;
  s->row[1] = row;
  s->row[2] = vector;
  if (!at->whole || !step->in_pieces) return;
  uint32_t piece = row * e->t.mr, bank = tg_bank_rows(e->b.m);
  s->at.delta[2] = piece;
  uint32_t most = piece % bank && bank % piece ? (piece + bank - 2) / bank + 1 : tg_banks_for(e->b.m, piece);
  if (most < at->buffer->banks) s->banks[0] = most;
}

static void set_accumulator(const emission *e, tg_stream *s, const step *step) {
  s->kind[0] = TG_STREAM_ACC;
  set_place(s->at.base, &step->accumulator);
  uint32_t each = tg_gemm_turn_rows(&e->t);
  s->at.base[0] += (int64_t)step->first * each;
  if (step->in_pieces) s->at.delta[2] = each;
  s->row[1] = 1;
  s->row[2] = e->t.mt;
}

static void set_externals(const emission *e, tg_vx_instr *vop, const step *step) {
  for (int x = 0; x < e->g->external_count; x++) {
    const tg_gemm_external *external = &e->g->externals[x];
    bool once = tg_gemm_loads_once(&e->t, external);
    place at = step->externals;
    at.buffer = &e->externals[x];
    if (!e->t.in_turn) at.turn = once ? TG_TURN_OUTER : TG_TURN_EACH;
    tg_stream *s = tg_stream_of_mut(vop, 1 + x);
    set_stream(e, s, external->kind, &at, step);
    if (external->kind == TG_STREAM_SPLAT32) s->row[1] = 1, s->row[2] = 0;
    if (once || (e->t.in_turn && external->row_vector)) s->row[1] = 0;
    s->at.base[0] += step->first_row * s->row[1];
  }
}

/* Random numbers belong to an element's place in the result, as the STOREs walk it: rows follow each other.
 */
static void set_rounding(const emission *e, tg_vx_instr *vop, uint32_t r, uint32_t col, int key,
                         bool in_pieces) {
  int64_t row = e->g->out_stride[2];
  for (int d = 2; d > 0; d--)
    assert(e->g->out_radix[d - 1] == 1 ||
           e->g->out_stride[d - 1] == e->g->out_stride[d] * e->g->out_radix[d]);
  tg_gemm_place place = tg_gemm_place_of(e, r, col);
  vop->sr_key[0] = key;
  vop->sr_col[0] = (uint32_t)(e->g->out_offsets[e->product] + place.row * row + place.column);
  for (int l = 0; l < TG_LEVELS; l++)
    vop->sr_col_delta[l] = (uint32_t)(place.row_delta[l] * row + place.column_delta[l]);
  if (!in_pieces) vop->sr_col_delta[2] = 0;
  vop->sr_col_row[1] = (uint32_t)row;
  vop->sr_col_row[2] = tg_lanes(e->b.m);
}

/* The reduction index is the number of the part. */
static void set_sum_rounding(const emission *e, tg_vx_instr *vop, uint32_t r, uint32_t col,
                             const step *step) {
  set_rounding(e, vop, r, col, TG_KEY_PRODUCT, step->in_pieces);
  vop->sr_tile[0] = member(e, r) + (int64_t)step->part * e->t.members;
  if (step->parts) vop->sr_tile_delta[step->in_pieces ? 1 : 2] = e->t.members;
}

/* Rows of the VOP: (row of the piece or block, group of 2P columns). */
tg_instr *tg_gemm_push_step(emission *e, uint32_t r, uint32_t col, const tg_vx_instr *microcode,
                            const step *step) {
  uint32_t groups = e->t.nt / tg_lanes(e->b.m), rows = step->rows        ? step->rows
                                                       : step->in_pieces ? e->t.mr
                                                                         : e->t.mt;
  tg_instr *in = tg_build_push(&e->b, &tg_build_tile(&e->b, r, col)->vx, TG_OP_vx_vop);
  tg_vx_instr *vop = &in->vx;
  vop->seg_begin[0] = microcode->seg_begin[step->segment];
  vop->seg_len[0] = microcode->seg_len[step->segment];
  vop->rows[0] = rows * groups;
  vop->row_count[0] = 1;
  vop->row_count[1] = rows;
  vop->row_count[2] = groups;
  vop->j_count[0] = vop->j_count[1] = 1;
  if (step->accumulator.buffer) set_accumulator(e, tg_stream_of_mut(vop, ACCUMULATOR), step);
  bool finish = step->segment == TG_DRAIN_FINISH;
  if (finish) set_externals(e, vop, step);
  if (finish && tg_gemm_rounds_results(e->g)) set_rounding(e, vop, r, col, TG_KEY_STORE, true);
  if (!finish && rounds_sums(e->g)) set_sum_rounding(e, vop, r, col, step);
  if (step->from.buffer)
    set_stream(e, tg_stream_of_mut(vop, finish ? finish_sum_stream(e->g) : SUM_IN),
               rounds_sums(e->g) ? TG_STREAM_BF16 : TG_STREAM_FP32, &step->from, step);
  for (int k = 0; k < (finish ? e->g->outs : 1); k++) {
    place to = step->to;
    if (finish) to.buffer = &e->results[k];
    tg_stream *s = tg_stream_of_mut(vop, finish ? result_stream(e->g, k) : SUM_OUT);
    set_stream(e, s, finish ? e->g->out_kind[k] : e->g->sum_kind, &to, step);
    s->store[0] = 1;
  }
  return in;
}

/* ---- waits and posts ---- */

void tg_gemm_wait_for(tg_instr *in, int sem, bool first_only) {
  int slot = 0;
  while (in->common.wait_on[slot]) slot++;
  tg_set_wait(in, slot, sem, first_only);
}
void tg_gemm_post_to(tg_instr *in, int kind, uint32_t pos, int sem, bool last_only) {
  int slot = 0;
  while (in->common.post_kind[slot]) slot++;
  tg_set_post(in, slot, kind, pos, sem, last_only);
}

/* The sum so far: a piece of it from the row above, which may send another one, or a block of it from the
 * last member. Within a tile nobody has to tell. */
static void take_sum(const emission *e, tg_instr *in, uint32_t r, const place *from, const tg_exit *exit) {
  if (from->buffer == &e->received) {
    tg_gemm_wait_for(in, e->arrived, false);
    tg_gemm_post_to(in, TG_POST_COL, r, exit->credit, false); /* the row above has position r */
  } else if (from->buffer == &e->sums && e->t.members > 1)
    tg_gemm_wait_for(in, e->returned, true);
}

void tg_gemm_take_externals(const emission *e, tg_instr *in, uint32_t r, uint32_t col, bool first,
                            bool last) {
  bool vectors = e->vectors && !tg_gemm_keeps_vectors(e->g, &e->t); /* else they are there from the start */
  if (vectors) tg_gemm_wait_for(in, e->vectors_full, true);
  if (vectors) tg_gemm_post_to(in, TG_POST_COL, 0, e->vectors_credit + (int)r + 1, true);
  if (e->blocks && first) tg_gemm_wait_for(in, e->blocks_full, false);
  if (!e->blocks || !last) return;
  if (tg_gemm_externals_west(e, r, col))
    tg_gemm_post_to(in, TG_POST_ROW, 0, e->blocks_credit + (int)col + 1, false);
  else
    tg_gemm_post_to(in, TG_POST_COL, 0, e->blocks_north_credit + (int)r + 1, false);
}

static void give_result(const emission *e, tg_instr *in, const place *to, const tg_exit *exit) {
  if (to->buffer == &e->out) {
    tg_gemm_wait_for(in, exit->out_free, false);
    tg_gemm_post_to(in, TG_POST_LOCAL, 0, exit->out_full, false);
  } else if (to->buffer == &e->sums && e->t.members > 1) {
    tg_gemm_wait_for(in, e->sums_free, true);
    tg_gemm_post_to(in, TG_POST_LOCAL, 0, e->sums_full, true);
  }
}

/* ---- a tile's VOPs and SENDs ---- */

static tg_instr *emit_step(emission *e, uint32_t r, uint32_t col, const tg_vx_instr *microcode,
                           const tg_exit *exit, const step *step) {
  tg_instr *in = tg_gemm_push_step(e, r, col, microcode, step);
  uint32_t own = tg_build_tile(&e->b, r, col)->vx.count - 1;
  if (step->accumulator.buffer) tg_gemm_wait_for(in, e->acc_full, step->in_pieces);
  give_result(e, in, &step->to, exit);
  if (step->accumulator.buffer) tg_gemm_post_to(in, TG_POST_LOCAL, 0, e->acc_free, step->in_pieces);
  take_sum(e, in, r, &step->from, exit);
  if (step->segment == TG_DRAIN_FINISH) tg_gemm_take_externals(e, in, r, col, true, true);
  in->common.loop_count[2] = step->in_pieces ? e->pieces : step->parts;
  in->common.loop_count[1] = step->in_pieces ? step->parts : 0;
  in->common.loop_begin[2] = in->common.loop_begin[1] = own;
  return in;
}

/* Row vectors that stay are waited for once, by a SYNC. */
static bool waits_for_vectors(const emission *e) { return e->vectors && tg_gemm_keeps_vectors(e->g, &e->t); }

/* The last step of a block ends the loops over passes, too. A sum that is rounded is whole and rounded first.
 */
static void emit_last(emission *e, uint32_t r, uint32_t col, const tg_vx_instr *microcode,
                      const tg_exit *exit, step last) {
  bool finish = tg_gemm_finishes(e, r);
  last.in_pieces = true;
  last.part = e->t.parts - 1;
  if (finish && rounds_sums(e->g)) {
    place rounded = {&e->rounded, 0, TG_TURN_NEVER, true};
    last.segment = TG_DRAIN_ADD;
    last.to = rounded;
    emit_step(e, r, col, microcode, exit, &last);
    last = (step){.in_pieces = true, .from = rounded};
  }
  last.segment = finish ? TG_DRAIN_FINISH : last.from.buffer ? TG_DRAIN_ADD : TG_DRAIN_BEGIN;
  last.to = (place){.buffer = &e->out, .turn = TG_TURN_EACH};
  tg_instr *in = emit_step(e, r, col, microcode, exit, &last);
  for (int l = 0; l < 2; l++)
    in->common.loop_count[l] = e->piece_loops[l], in->common.loop_begin[l] = waits_for_vectors(e);
}

/* A tile's parts of K in three steps: the first, those between, the last. What is in which buffer depends on
 * how many blocks and parts were before, since each operand turns by itself: with n the number of blocks
 * before, q parts, part i is in half n q + i of the accumulator, and its sum in buffer n (q - 2) + i,
 * modulo 2. */
static void emit_parts(emission *e, uint32_t r, uint32_t col, const tg_vx_instr *microcode,
                       const tg_exit *exit, const tg_buffer *halves) {
  bool odd = e->t.parts % 2, below = member(e, r) > 0, keeps = tg_gemm_finishes(e, r);
  tg_turn turn = odd ? TG_TURN_OUTER : TG_TURN_NEVER;
  place received = {&e->received, 0, TG_TURN_EACH, false}, sent = {&e->out, 0, TG_TURN_EACH, false};
  tg_turn each = e->t.members > 1 ? TG_TURN_OUTER : TG_TURN_EACH; /* part */
  step first = {.segment = below ? TG_DRAIN_ADD : TG_DRAIN_BEGIN,
                .in_pieces = e->t.members > 1,
                .accumulator = {halves, 0, turn, true},
                .from = below ? received : (place){0},
                .to = keeps ? (place){&e->sums, 0, turn, true} : sent};
  step next = {.segment = TG_DRAIN_ADD,
               .part = 1,
               .parts = e->t.parts - 2,
               .in_pieces = first.in_pieces,
               .accumulator = {halves, 1, each, true},
               .from = below ? received : (place){&e->sums, 0, each, true},
               .to = keeps ? (place){&e->sums, 1, each, true} : sent};
  step last = {.accumulator = {halves, odd ? 0 : 1, turn, true},
               .from = below ? received : (place){&e->sums, odd, turn, true}};
  emit_step(e, r, col, microcode, exit, &first);
  if (next.parts) emit_step(e, r, col, microcode, exit, &next);
  emit_last(e, r, col, microcode, exit, last);
}

tg_tx_instr *tg_gemm_push_send(emission *e, uint32_t r, uint32_t col, uint32_t to, uint32_t flits, int sem) {
  tg_tx_instr *tx = &tg_build_push(&e->b, &tg_build_tile(&e->b, r, col)->tx, TG_OP_tx_send)->tx;
  tx->dir[0] = to > r ? TG_SOUTH : TG_NORTH;
  tx->flits[0] = flits;
  tx->src_inner[0] = tx->dst_inner[0] = 65535;
  tx->dst_mask[0] = 1u << (to + 1);
  tx->dst_post[0] = 1;
  tx->dst_sem[0] = sem;
  return tx;
}

/* To the row below, piece by piece. */
static void emit_send_down(emission *e, uint32_t r, uint32_t col, const tg_exit *exit) {
  tg_tx_instr *tx = tg_gemm_push_send(e, r, col, r + 1, e->received.rows, e->arrived);
  tg_instr *in = (tg_instr *)(void *)tx;
  tg_set_operand(tx->src_base, &e->out, false);
  tg_set_operand(tx->dst_base, &e->received, false);
  tg_gemm_wait_for(in, exit->out_full, false);
  tg_gemm_wait_for(in, exit->credit, false);
  tg_gemm_post_to(in, TG_POST_LOCAL, 0, exit->out_free, false);
  tg_set_loops(in, e->piece_loops);
  if (e->t.parts > 1) in->common.loop_count[1] = e->t.parts;
}

/* To the first member, block by block: of the first part, then of those between. The first member has read
 * what was there before, or this sum would not be here. */
static void emit_returns(emission *e, uint32_t r, uint32_t col) {
  bool odd = e->t.parts % 2;
  for (uint32_t i = 0; i < 2 && i < e->t.parts - 1; i++) {
    tg_tx_instr *tx = tg_gemm_push_send(e, r, col, r + 1 - e->t.members, e->sums.rows, e->returned);
    tg_instr *in = (tg_instr *)(void *)tx;
    place at = {&e->sums, i, i || odd ? TG_TURN_EACH : TG_TURN_NEVER, true};
    set_place(tx->src_base, &at);
    set_place(tx->dst_base, &at);
    tg_gemm_wait_for(in, e->sums_full, false);
    tg_gemm_post_to(in, TG_POST_LOCAL, 0, e->sums_free, false);
    if (!i) continue;
    in->common.loop_count[2] = e->t.parts - 2;
    in->common.loop_begin[2] = 1;
  }
}

tg_instr *tg_gemm_emit_block_drain(emission *e, uint32_t r, uint32_t col, const tg_vx_instr *microcode,
                                   const tg_exit *exit, uint32_t block) {
  if (e->g->totals.count) return tg_gemm_emit_block_totals(e, r, col, microcode, exit, block);
  tg_buffer halves = {.stride = tg_acc_rows(e->b.m), .count = 2};
  step all = {.segment = TG_DRAIN_FINISH,
              .in_pieces = true,
              .accumulator = {&halves, block % 2, TG_TURN_OUTER, true},
              .to = {&e->out, block * e->pieces % 2, TG_TURN_EACH, false}};
  return emit_step(e, r, col, microcode, exit, &all);
}

void tg_gemm_emit_drain(emission *e, uint32_t r, uint32_t col, const tg_vx_instr *microcode,
                        const tg_exit *exit) {
  tg_buffer halves = {.stride = tg_acc_rows(e->b.m), .count = 2};
  step only = {.accumulator = {&halves, 0, TG_TURN_OUTER, true}};
  if (waits_for_vectors(e))
    tg_set_wait(tg_build_push(&e->b, &tg_build_tile(&e->b, r, col)->vx, TG_OP_vx_sync), 0, e->vectors_full,
                false);
  if (e->g->totals.count) {
    tg_gemm_emit_totals(e, r, col, microcode, exit);
    return;
  }
  if (e->t.in_turn) {
    tg_gemm_emit_turns(e, r, col, microcode, exit);
    return;
  }
  if (e->t.parts == 1) {
    if (member(e, r)) only.from = (place){.buffer = &e->received, .turn = TG_TURN_EACH};
    emit_last(e, r, col, microcode, exit, only);
  } else
    emit_parts(e, r, col, microcode, exit, &halves);
  if (!tg_gemm_finishes(e, r))
    emit_send_down(e, r, col, exit);
  else if (e->t.parts > 1 && e->t.members > 1)
    emit_returns(e, r, col);
}
