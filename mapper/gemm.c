/* Emission of a product: A multicast along rows, B along columns, where tiles share them; one GEMM a K chunk,
 * one VOP a piece of the drain (gemm_drain.c). Loops of every unit: passes over m, passes over n, and inside
 * them K chunks (loads, mx) or pieces of the block (vx, tx, stores). Where a chunk is all of K, the operand
 * of the outer loop over passes, either one, is loaded once for all passes of the inner one: its GEMMs wait
 * for it where the inner loop begins and give it back where it ends. Where a tile multiplies all parts of K
 * in turn, parts take the place of chunks, each of which has instructions of its own; where it multiplies
 * some of them, or parts of too many chunks, parts take the place of the passes over n, each of which is a
 * section (a strip) then. */
#include "mapper/gemm_emission.h"

#include <string.h>

typedef tg_gemm_emission emission;

/* Operands that arrive and are read together lie side by side in banks of their own. */
static bool allocate_externals(emission *e, bool once) {
  const tg_gemm *g = e->g;
  const tg_params *m = e->b.m;
  tg_buffer all;
  if (!tg_build_buffer(&e->b, (uint32_t)tg_gemm_externals_before(m, g, &e->t, once, g->external_count), 2,
                       &all))
    return false;
  for (int x = 0; x < g->external_count; x++) {
    if (tg_gemm_loads_once(&e->t, &g->externals[x]) != once) continue;
    uint32_t before = (uint32_t)tg_gemm_externals_before(m, g, &e->t, once, x);
    e->externals[x] = tg_buffer_part(m, &all, before, (uint32_t)tg_gemm_external_rows(m, g, &e->t, x));
    *(once ? &e->vectors : &e->blocks) += 1;
  }
  return true;
}

static bool allocate(emission *e) {
  const tg_gemm *g = e->g;
  const tg_params *m = e->b.m;
  bool good = tg_build_buffer(&e->b, (uint32_t)tg_gemm_a_rows(m, g, &e->t), tg_gemm_a_blocks(&e->t), &e->a);
  if (tg_gemm_has_front(e)) good = good && tg_gemm_allocate_front(e);
  good = good &&
         tg_build_buffer(&e->b, (uint32_t)tg_gemm_b_rows(m, g, &e->t), tg_gemm_b_blocks(&e->t), &e->b_block);
  good =
      good && tg_build_buffer(&e->b, (uint32_t)tg_gemm_out_rows(m, g, &e->t), e->t.one_out ? 1 : 2, &e->out);
  for (int k = 0; k < g->outs; k++)
    e->results[k] = tg_buffer_part(m, &e->out, (uint32_t)tg_gemm_results_before(m, g, &e->t, k),
                                   (uint32_t)tg_gemm_result_rows(m, g, &e->t, k));
  uint32_t total = tg_gemm_totals_a_piece(g, &e->t) * tg_gemm_total_flits(m, &e->t);
  for (int i = 0; i < g->totals.count; i++)
    e->totals[i] = tg_buffer_part(
        m, &e->out, (uint32_t)tg_gemm_results_before(m, g, &e->t, g->outs) + total * (uint32_t)i, total);
  good = good && tg_build_buffer(&e->b, (uint32_t)tg_gemm_running_rows(m, g, &e->t), 2, &e->running);
  if (e->t.members > 1)
    good = good && tg_build_buffer(&e->b, (uint32_t)tg_gemm_received_rows(m, g, &e->t), e->t.in_turn ? 1 : 2,
                                   &e->received);
  if (e->t.in_turn)
    good = good && tg_build_buffer(&e->b, (uint32_t)tg_gemm_sent_rows(m, g, &e->t), 1, &e->sent) &&
           tg_build_buffer(&e->b, 2 * (uint32_t)tg_gemm_whole_rows(m, g, &e->t), 1, &e->whole);
  good = good && allocate_externals(e, true) && allocate_externals(e, false);
  /* Sums are last: a VOP may own a bank behind them, see tg_gemm_spare. */
  if (e->t.parts > 1)
    good = good && tg_build_buffer(&e->b, (uint32_t)tg_gemm_sum_rows(m, g, &e->t), 2, &e->sums);
  e->b.bank += tg_gemm_spare(m, g, &e->t);
  if (g->sum_kind == TG_STREAM_BF16SR)
    good = good && tg_build_buffer(&e->b, (uint32_t)tg_gemm_rounded_rows(m, g, &e->t), 1, &e->rounded);
  return good;
}

static void allocate_sems(emission *e) {
  e->a_full = tg_tile_sem(&e->b, 0);
  e->b_full = tg_tile_sem(&e->b, 0);
  e->acc_full = tg_tile_sem(&e->b, 0);
  e->acc_free = tg_tile_sem(&e->b, 2);
  e->vectors_full = tg_tile_sem(&e->b, 0);
  e->blocks_full = tg_tile_sem(&e->b, 0);
  e->a_credit = tg_west_credits(&e->b, 2);
  e->a_north_credit = tg_north_credits(&e->b, 2);
  e->b_credit = tg_north_credits(&e->b, 2);
  e->b_west_credit = tg_west_credits(&e->b, 2);
  e->vectors_credit = tg_north_credits(&e->b, 2);
  e->blocks_credit = tg_west_credits(&e->b, 2);
  e->blocks_north_credit = tg_north_credits(&e->b, 2);
  if (tg_gemm_a_both_ways(e->g, &e->t)) e->a_north_full = tg_tile_sem(&e->b, 0);
  if (tg_gemm_has_front(e)) tg_gemm_allocate_front_sems(e);
  if (e->t.members == 1) return;
  e->arrived = tg_tile_sem(&e->b, 0);
  e->returned = tg_tile_sem(&e->b, 0);
  e->sums_full = tg_tile_sem(&e->b, 0);
  e->sums_free = tg_tile_sem(&e->b, 1);
  if (!e->t.in_turn) return;
  e->below_free = tg_tile_sem(&e->b, 1);
  e->whole_full = tg_tile_sem(&e->b, 0);
  for (uint32_t i = 0; i + 1 < e->t.members; i++) {
    int sem = tg_tile_sem(&e->b, 1);
    if (!i) e->whole_free = sem;
  }
}

static int64_t bytes_of(const tg_value *value, int64_t elements) {
  return elements * tg_value_bytes_each(value);
}

static void allocate_bases(emission *e, int64_t product) {
  const tg_gemm *g = e->g;
  e->product = product;
  e->a_base = tg_build_base(&e->b, tg_place_of(e->c, g->a), (uint64_t)bytes_of(g->a, g->a_offsets[product]),
                            &e->a_rest);
  e->b_base = tg_build_base(&e->b, tg_place_of(e->c, g->b), (uint64_t)bytes_of(g->b, g->b_offsets[product]),
                            &e->b_rest);
  if (tg_gemm_has_front(e)) tg_gemm_allocate_front_bases(e);
  for (int k = 0; k < g->outs; k++)
    e->out_base[k] = tg_build_base(&e->b, tg_place_of(e->c, g->out[k]),
                                   (uint64_t)bytes_of(g->out[k], g->out_offsets[product]), &e->out_rest[k]);
  for (int i = 0; i < g->totals.count; i++)
    e->total_base[i] = tg_build_base(&e->b, tg_place_of(e->c, g->totals.out[i]), 0, &e->total_rest[i]);
  for (int x = 0; x < g->external_count; x++) {
    tg_value *value = g->externals[x].value;
    e->external_base[x] =
        tg_build_base(&e->b, tg_place_of(e->c, value),
                      (uint64_t)bytes_of(value, g->externals[x].offsets[product]), &e->external_rest[x]);
  }
}

/* ---- matrix unit ---- */

/* K tiles at whose ends accumulation rounds. */
static int64_t tiles_a_chunk(const emission *e) {
  return (e->t.kc + e->stationary - 1) / e->stationary / e->t.sr_blocks;
}

static void set_rounding(const emission *e, tg_mx_instr *mx, uint32_t r, uint32_t col) {
  mx->sr[0] = 1;
  mx->sr_key[0] = TG_KEY_PRODUCT;
  mx->sr_blocks[0] = e->t.sr_blocks;
  if (!e->t.keep) mx->sr_tile_delta[2] = tiles_a_chunk(e);
  if (e->g->partials > 1) { /* K tiles are counted through all parts */
    int64_t tile = tg_gemm_rounded_tile(e->c, e->g), of_part = (e->g->part + tile - 1) / tile;
    mx->sr_tile[0] = r % e->t.members * of_part;
    if (e->t.parts > 1) mx->sr_tile_delta[tg_gemm_part_level(e)] = e->t.members * of_part;
  }
  mx->sr_row[0] = e->g->sr_row + tg_gemm_row_first(e, r, col) + e->product * e->g->sr_row_step;
  mx->sr_row_delta[e->m_k_level] = tg_gemm_rows_a_pass(e);
  mx->sr_col[0] = tg_gemm_col_first(e, r, col) + e->product * e->g->sr_col_step;
  mx->sr_col_delta[e->n_k_level] = tg_gemm_col_delta(e);
}

/* How much of K the tiles of a row multiply: the chunks of one part, or parts up to the end of K. */
static void set_k_total(const emission *e, tg_mx_instr *mx, uint32_t r) {
  int64_t left = e->g->k - tg_gemm_k_first(e, r);
  if (left < 0) left = 0;
  mx->k_total[0] = e->t.parts == 1 && left > e->g->part ? e->g->part : left;
  tg_gemm_set_k_delta(e, mx->k_delta);
}

/* B is there as a whole, chunk behind chunk, or, turned, along its rows. */
static void take_part_of_b(const emission *e, tg_mx_instr *mx) {
  tg_row_operand *b = (tg_row_operand *)(void *)mx->b_base;
  bool turned = e->g->b_turned;
  b->delta[2] = turned ? e->t.kc / tg_mx_elements(e->b.m, e->g->format)
                       : (int64_t)e->t.kc * tg_gemm_b_row(e->b.m, e->g, &e->t);
  if (!turned) mx->b_banks[0] = tg_banks_for(e->b.m, (uint32_t)b->delta[2]);
}

/* One K chunk. */
static tg_instr *push_gemm(emission *e, uint32_t r, uint32_t col) {
  const tg_params *m = e->b.m;
  uint32_t a_row = tg_gemm_a_row(m, e->g, &e->t), b_row = tg_gemm_b_row(m, e->g, &e->t),
           beats = tg_mx_beats(e->g->format);
  tg_instr *in = tg_build_push(&e->b, &tg_build_tile(&e->b, r, col)->mx, TG_OP_mx_gemm);
  tg_mx_instr *mx = &in->mx;
  mx->format[0] = e->g->format;
  mx->m_count[0] = 1;
  mx->m_count[1] = e->t.mt;
  bool keeps_a = e->t.keep == TG_KEEP_A, keeps_b = e->t.keep == TG_KEEP_B;
  tg_set_operand(mx->a_base, &e->a, keeps_a);
  mx->a_transposed[0] = e->g->a_turned;
  mx->a_m[0] = e->g->a_turned ? beats : 0; /* from a group of rows to the next */
  mx->a_m[1] = a_row;
  mx->a_blk[0] = e->g->a_turned ? (int64_t)e->stationary * a_row : beats;
  if (tg_gemm_a_both_ways(e->g, &e->t)) {
    mx->m_count[0] = 2;
    mx->m_count[1] = e->t.mt / 2;
    mx->a_m[0] = (int64_t)tg_gemm_a_half(m, e->g, &e->t);
  }
  mx->a_banks[0] = e->a.banks;
  tg_set_operand(mx->b_base, &e->b_block, keeps_b);
  mx->b_transposed[0] = e->g->b_turned;
  mx->b_row[0] = b_row;
  mx->b_blk[0] = e->g->b_turned ? beats : (int64_t)e->stationary * b_row;
  mx->b_banks[0] = e->b_block.banks;
  tg_buffer halves = {.stride = tg_acc_rows(m), .count = 2};
  tg_set_operand(mx->c_base, &halves, !e->t.keep);
  /* blocks: k, then groups of 2P columns, then (fp32) their two halves */
  mx->blk_count[0] = (e->t.kc + e->stationary - 1) / e->stationary;
  mx->k_loops[0] = 1;
  mx->blk_count[1] = e->t.nt / tg_lanes(m);
  mx->blk_count[2] = tg_lanes(m) / e->stationary;
  mx->blk_count[3] = 1;
  mx->b_blk[1] =
      e->g->b_turned ? (int64_t)tg_lanes(m) * b_row : tg_lanes(m) / tg_mx_elements(m, e->g->format);
  mx->b_blk[2] = e->g->b_turned ? (int64_t)e->stationary * b_row : 1;
  mx->c_blk[1] = e->t.mt;
  mx->h_blk[2] = 1;
  mx->sr_col_blk[1] = tg_lanes(m);
  mx->sr_col_blk[2] = e->stationary;
  mx->init[0] = 1;
  mx->init_levels[0] = e->t.keep ? 0 : 1 << 2;
  mx->k_chunk[0] = e->t.kc;
  set_k_total(e, mx, r);
  if (e->t.sr_blocks) set_rounding(e, mx, r, col);
  tg_set_wait(in, 0, e->a_full, keeps_a);
  if (!e->t.whole_b) tg_set_wait(in, 1, e->b_full, keeps_b);
  if (tg_gemm_has_front(e))
    tg_set_post(in, 0, TG_POST_LOCAL, 0, e->a_free, false);
  else if (tg_gemm_a_from_north(e, r, col))
    tg_set_post(in, 0, TG_POST_COL, 0, e->a_north_credit + (int)r + 1, keeps_a);
  else
    tg_set_post(in, 0, TG_POST_ROW, 0, e->a_credit + (int)col + 1, keeps_a);
  if (e->t.whole_b)
    take_part_of_b(e, mx);
  else if (tg_gemm_b_from_west(e, r, col))
    tg_set_post(in, 1, TG_POST_ROW, 0, e->b_west_credit + (int)col + 1, keeps_b);
  else
    tg_set_post(in, 1, TG_POST_COL, 0, e->b_credit + (int)r + 1, keeps_b);
  return in;
}

/* Chunks `first` to `last` of each part, all but the last of which are whole. Each instruction turns its
 * buffers by itself: chunk c of part n is in buffer n chunks + c, modulo 2. */
static tg_instr *push_chunks(emission *e, uint32_t r, uint32_t col, uint32_t first, uint32_t last) {
  tg_instr *in = push_gemm(e, r, col);
  tg_mx_instr *mx = &in->mx;
  int64_t before = (int64_t)first * e->t.kc, length = e->g->part - before;
  tg_turn turn = last > first || e->t.chunks % 2 ? TG_TURN_EACH : TG_TURN_NEVER;
  if (e->t.keep != TG_KEEP_A) tg_set_turning(mx->a_base, &e->a, first % 2, turn);
  if (e->t.keep != TG_KEEP_B) tg_set_turning(mx->b_base, &e->b_block, first % 2, turn);
  mx->init[0] = first == 0;
  mx->init_levels[0] = 0;
  if (length < mx->k_chunk[0]) mx->k_chunk[0] = length;
  mx->blk_count[0] = (mx->k_chunk[0] + e->stationary - 1) / e->stationary;
  mx->k_total[0] = mx->k_total[0] > before ? mx->k_total[0] - before : 0;
  if (e->t.sr_blocks) mx->sr_tile[0] += tiles_a_chunk(e) * first;
  if (last > first) {
    in->common.loop_count[2] = last - first + 1;
    in->common.loop_begin[2] = tg_build_tile(&e->b, r, col)->mx.count - 1;
  }
  return in;
}

/* The operand that is kept is there with all its chunks, in buffer number `copy`; the first one waits for it,
 * or each for its own chunk, and the last one gives it back. */
static void set_kept_chunk(const emission *e, tg_instr *in, uint32_t chunk, uint32_t copy) {
  int slot = e->t.keep == TG_KEEP_A ? 0 : 1;
  tg_buffer buffer = slot ? e->b_block : e->a;
  uint32_t each = e->t.kc / e->stationary * (uint32_t)(slot ? in->mx.b_blk[0] : in->mx.a_blk[0]);
  buffer.base += copy * buffer.stride + chunk * each;
  buffer.count = 1;
  uint32_t rows = buffer.base % tg_bank_rows(e->b.m) + buffer.rows - (e->t.chunks - 1) * each;
  tg_set_operand(slot ? in->mx.b_base : in->mx.a_base, &buffer, false);
  *(slot ? in->mx.b_banks : in->mx.a_banks) = tg_banks_for(e->b.m, rows);
  if (chunk > 0 && !tg_gemm_loads_kept_chunks(e->b.m, e->g, &e->t)) in->common.wait_on[slot] = 0;
  if (chunk + 1 < e->t.chunks) in->common.post_kind[slot] = TG_POST_NONE;
}

/* The inner passes, a GEMM a chunk. */
static tg_instr *push_kept_passes(emission *e, uint32_t r, uint32_t col, uint32_t copy) {
  uint32_t begin = tg_build_tile(&e->b, r, col)->mx.count;
  tg_instr *in = NULL;
  for (uint32_t chunk = 0; chunk < e->t.chunks; chunk++) {
    in = push_chunks(e, r, col, chunk, chunk);
    set_kept_chunk(e, in, chunk, copy);
    in->mx.c_rot_outer[0] = 0;
    if (!chunk) tg_set_wait(in, 2, e->acc_free, false);
  }
  tg_set_post(in, 2, TG_POST_LOCAL, 0, e->acc_full, false);
  in->common.loop_count[2] = e->k_loops[2];
  in->common.loop_begin[2] = begin;
  return in;
}

/* Chunks beside an operand that is kept. It lies in either of two buffers in turn, from outer pass to outer
 * pass: buffers turn with each execution of an instruction, or where it ends a loop, which of several only
 * the last one does; so there are instructions for either. */
static void emit_kept_chunks(emission *e, uint32_t r, uint32_t col) {
  uint32_t outer = e->k_loops[0];
  if (outer > 1) {
    push_kept_passes(e, r, col, 0);
    tg_instr *in = push_kept_passes(e, r, col, 1);
    in->common.loop_count[0] = outer / 2;
  }
  if (outer % 2) push_kept_passes(e, r, col, 0);
}

/* The GEMMs of a tile. Every part of K begins with a free half of the accumulator and ends with a full one.
 */
static void emit_gemm(emission *e, uint32_t r, uint32_t col) {
  bool each = e->t.parts > 1 && !e->nested; /* every execution is one of a part */
  uint32_t last = e->t.chunks - 1;
  uint32_t begin = e->t.whole_b; /* which is there once for all */
  if (begin)
    tg_set_wait(tg_build_push(&e->b, &tg_build_tile(&e->b, r, col)->mx, TG_OP_mx_sync), 0, e->b_full, false);
  bool apart = e->nested || each, whole = each || e->t.keep; /* every execution ends a chain */
  tg_instr *in = apart ? push_chunks(e, r, col, 0, 0) : push_gemm(e, r, col);
  tg_set_wait(in, 2, e->acc_free, !whole);
  if (each) in->mx.c_rot_outer[0] = 0;
  for (uint32_t chunk = 1; each && chunk <= last; chunk++) {
    in = push_chunks(e, r, col, chunk, chunk);
    in->mx.c_rot_outer[0] = 0;
  }
  if (e->nested && last > 1) push_chunks(e, r, col, 1, last - 1);
  if (e->nested) in = push_chunks(e, r, col, last, last);
  tg_set_post(in, 2, TG_POST_LOCAL, 0, e->acc_full, !whole);
  if (tg_gemm_a_both_ways(e->g, &e->t)) {
    tg_set_wait(in, 3, e->a_north_full, e->t.keep == TG_KEEP_A);
    tg_set_post(in, 3, TG_POST_COL, 0, e->a_north_credit + (int)r + 1, e->t.keep == TG_KEEP_A);
  }
  tg_set_loops(in, e->k_loops);
  if (begin)
    for (int l = 0; l < 3; l++) in->common.loop_begin[l] = begin;
  if (e->nested) in->common.loop_count[2] = 1;
}

/* ---- stores ---- */

/* Columns of a block that a tile stores: if N has fewer, it is one block. */
static uint32_t stored_columns(const emission *e) { return e->g->n < e->t.nt ? (uint32_t)e->g->n : e->t.nt; }

static void fill_result(const emission *e, int k, uint32_t r, uint32_t col, tg_agcu_instr *store) {
  const tg_gemm *g = e->g;
  tg_walk_plan walk = {.tensor = tg_place_of(e->c, g->out[k]), .element_stride = 1, .columns = g->n};
  for (int d = 0; d < 3; d++) walk.radix[d] = g->out_radix[d], walk.stride[d] = g->out_stride[d];
  tg_fill_walk(store, &walk, e->out_base[k], e->out_rest[k]);
  store->rows[0] = e->t.sent ? e->t.sent : e->t.mr;
  tg_gemm_place place = tg_gemm_place_of(e, r, col);
  store->m_first[0] = place.row;
  memcpy(store->m_delta, place.row_delta, sizeof place.row_delta);
  store->convert[0] = g->out_kind[k] == TG_STREAM_FP32 ? TG_CVT_32 : TG_CVT_16;
}

static void fill_store(const void *user, int exit, uint32_t r, uint32_t col, tg_agcu_instr *store) {
  const emission *e = user;
  if (exit < e->g->outs)
    fill_result(e, exit, r, col, store);
  else
    tg_gemm_fill_totals(e, exit - e->g->outs, r, col, store);
  tg_gemm_place place = tg_gemm_place_of(e, r, col);
  store->take[0] = stored_columns(e);
  store->k_first[0] = place.column;
  memcpy(store->k_delta, place.column_delta, sizeof place.column_delta);
  if (e->t.sent) store->m_delta[1] = e->t.mr, store->m_delta[2] = e->t.sent, store->k_delta[1] = 0;
}

/* ---- sections and invocations ---- */

/* The results of a piece are full, and free, together, and with them its totals: the first SEND waits for it,
 * and the last one tells. `out_drain`: the semaphores of both. */
static void set_exits(emission *e, tg_exit *exits, tg_exit *out_drain) {
  const tg_gemm *g = e->g;
  tg_exit all;
  tg_exit_init(&e->b, &all, e->out.count);
  *out_drain = all;
  int all_exits = g->outs + g->totals.count;
  for (int k = 0; k < all_exits; k++) {
    bool total = k >= g->outs;
    int kind = total ? TG_STREAM_FP32 : g->out_kind[k];
    uint32_t row = tg_kind_flits(e->b.m, kind, e->t.nt),
             sent = tg_kind_flits(e->b.m, kind, stored_columns(e));
    tg_exit *exit = &exits[k];
    *exit = (tg_exit){.out_full = k ? TG_NO_SEM : all.out_full,
                      .out_free = k + 1 == g->outs || k + 1 == all_exits ? all.out_free : TG_NO_SEM,
                      .credit = k ? tg_tile_sem(&e->b, 2) : all.credit,
                      .flits = (total       ? tg_gemm_totals_a_piece(g, &e->t)
                                : e->t.sent ? e->t.sent
                                            : e->t.mr) *
                               sent,
                      .pieces = e->t.sent ? e->t.mr / e->t.sent : 1,
                      .buffer = total ? e->totals[k - g->outs] : e->results[k]};
    if (sent < row) exit->inner = sent, exit->stride = row;
    memcpy(exit->loops, e->piece_loops, sizeof exit->loops);
    if (e->t.sent) exit->loops[1] = e->pieces, exit->loops[2] = exit->pieces;
  }
}

static tg_status emit_section(emission *e, const char *name, int64_t product) {
  tg_build_begin(&e->b, e->c, name);
  e->b.exits = e->t.exits;
  e->b.members = e->t.in_turn ? 1 : e->t.members;
  e->b.half_store = e->g->front.stored;
  e->vectors = e->blocks = 0;
  if (!allocate(e))
    return tg_fail(e->c->diag, TG_INVALID, "node \"%s\": the scratchpads are too small", e->g->node->name);
  allocate_sems(e);
  allocate_bases(e, product);
  tg_exit exits[2 * TG_GEMM_RESULTS], drain;
  set_exits(e, exits, &drain);
  tg_vx_instr microcode = {0};
  tg_status status = tg_gemm_pack_drain(e, &microcode);
  if (status) return status;
  tg_gemm_emit_loads(e);
  for (uint32_t r = 0; r < tg_gemm_used_rows(e); r++)
    for (uint32_t col = 0; col < e->b.m->cols; col++) {
      if (tg_gemm_keeps_chunks(&e->t))
        emit_kept_chunks(e, r, col);
      else
        emit_gemm(e, r, col);
      if (tg_gemm_has_front(e))
        tg_gemm_emit_nodes(e, r, col, &microcode, &drain);
      else
        tg_gemm_emit_drain(e, r, col, &microcode, &drain);
    }
  tg_exits_plan plan = {.exits = exits,
                        .count = e->g->outs + e->g->totals.count,
                        .often = e->g->outs,
                        .every = tg_gemm_pieces_of_total(e->g, &e->t),
                        .steps = e->steps};
  tg_exits_emit(&e->b, &plan, fill_store, e);
  if (e->t.in_turn) tg_gemm_skew_exits(e);
  if (e->g->front.stored) tg_gemm_emit_front_stores(e);
  return TG_OK;
}

/* Bytes of running sums that go down the columns and back in one invocation. */
static uint64_t sum_bytes(const emission *e) {
  const tg_gemm_tiling *t = &e->t;
  uint64_t blocks = (uint64_t)t->passes_m * t->passes_n / tg_gemm_strips(t);
  uint64_t down = (uint64_t)(t->members - 1) * t->parts * e->turns * e->received.rows,
           back = t->in_turn       ? (uint64_t)(t->members - 1) * e->turns * (e->whole.rows / 2)
                  : t->members > 1 ? (uint64_t)(t->parts - 1) * e->sums.rows
                                   : 0;
  return blocks * (down + back) * tg_gemm_row_tiles(e) * e->b.m->cols * tg_flit_bytes(e->b.m);
}

/* Of `whole`, what strip number `strip` of `length` has. */
static int64_t strip_length(int64_t whole, uint32_t strip, int64_t length) {
  int64_t left = whole - strip * length;
  return left < 0 ? 0 : left < length ? left : length;
}

static void invoke(emission *e, const char *name) {
  tg_invocation *invocation = tg_build_invoke(&e->b, name);
  int64_t rows = e->g->m, cols = e->g->n;
  if (tg_gemm_strips_columns(&e->t)) cols = strip_length(cols, e->strip, tg_gemm_cols_a_pass(e));
  uint64_t macs = (uint64_t)rows * (uint64_t)cols * (uint64_t)e->g->k;
  if (e->g->spread) macs *= (uint64_t)e->g->spread;
  invocation->macs[e->g->format] = macs;
  if (e->t.members > 1) invocation->sum_bytes = sum_bytes(e);
  invocation->key_nodes[TG_KEY_PRODUCT] = (uint32_t)e->g->node->id;
  const tg_node *cast = tg_stochastic_store(e->kernel);
  if (cast) invocation->key_nodes[TG_KEY_STORE] = (uint32_t)cast->id;
}

/* Can `product` run in the section that was emitted for e->product, with another base table? Its addresses
 * must leave the same rest modulo 64, and rounding must not see the difference. */
static bool shares_section(emission *e, int64_t product) {
  if (e->t.sr_blocks || tg_gemm_strips(&e->t) > 1 || tg_gemm_rounds_results(e->g)) return false;
  if (e->g->sum_kind == TG_STREAM_BF16SR) return false;
  emission other = *e;
  other.b.bases = 0;
  allocate_bases(&other, product);
  bool same = other.a_rest == e->a_rest && other.b_rest == e->b_rest;
  for (int k = 0; k < e->g->outs; k++) same = same && other.out_rest[k] == e->out_rest[k];
  for (int x = 0; x < e->g->external_count; x++) same = same && other.external_rest[x] == e->external_rest[x];
  if (same) memcpy(e->b.base_address, other.b.base_address, sizeof e->b.base_address);
  return same;
}

/* Product after product, each over all tiles, or, where that is faster, a product a tile. */
static tg_status choose(tg_compile *c, const tg_kernel *kernel, const tg_gemm *apart, tg_gemm *spread,
                        emission *e) {
  tg_gemm_tiling together;
  tg_status status = tg_tile_gemm(c, apart, &e->t);
  if (!tg_spread_gemm(c, kernel, spread)) return status;
  tg_diag unused = {""};
  tg_compile quiet = *c;
  quiet.diag = &unused;
  if (tg_tile_gemm(&quiet, spread, &together)) return status;
  double sections = (double)apart->products * (e->t.cycles + TG_SECTION_CYCLES);
  if (!status && together.cycles + TG_SECTION_CYCLES >= sections) return TG_OK;
  e->t = together;
  e->g = spread;
  return TG_OK;
}

static void set_loops(emission *e) {
  const tg_gemm_tiling *t = &e->t;
  bool keeps_b = t->keep == TG_KEEP_B;
  uint32_t passes_m = t->passes_m, chunks = t->chunks * t->parts / e->unrolled;
  uint32_t passes_n = t->passes_n / tg_gemm_strips(t);
  uint32_t outer = keeps_b ? passes_n : passes_m, inner = keeps_b ? passes_m : passes_n;
  e->m_level = keeps_b ? 1 : 0;
  e->n_level = keeps_b ? 0 : 1;
  e->m_k_level = keeps_b ? 2 : 0;
  e->n_k_level = keeps_b ? 0 : t->keep ? 2 : 1;
  uint32_t k[] = {outer,
                  t->keep     ? 1
                  : e->nested ? t->parts
                              : inner,
                  t->keep     ? inner
                  : e->nested ? t->chunks
                              : chunks};
  uint32_t pieces[] = {outer, inner, e->pieces}, turns[] = {outer, inner, e->turns},
           passes[] = {outer, inner, 1};
  memcpy(e->k_loops, k, sizeof k);
  memcpy(e->piece_loops, pieces, sizeof pieces);
  memcpy(e->turn_loops, turns, sizeof turns);
  memcpy(e->pass_loops, passes, sizeof passes);
}

static tg_status emit_phase(tg_compile *c, const tg_kernel *kernel, int64_t phase) {
  tg_gemm apart, spread;
  tg_status status = tg_describe_gemm(c, kernel, phase, &apart);
  emission e = {.c = c, .kernel = kernel, .g = &apart};
  if (status || !apart.m) return status;
  status = choose(c, kernel, &apart, &spread, &e);
  if (status) return status;
  e.stationary = tg_mx_stationary(c->m, e.g->format);
  e.pieces = e.t.mt / e.t.mr / (e.t.in_turn ? e.t.members : 1);
  e.turns = e.t.in_turn ? e.pieces / e.t.turn : e.pieces;
  e.steps = tg_gemm_pieces_of_total(e.g, &e.t) > 1 ? e.pieces : 1;
  bool unrolls = tg_gemm_unrolls(&e.t);
  e.unrolled = unrolls || tg_gemm_keeps_chunks(&e.t) ? e.t.chunks : 1;
  e.nested = e.t.parts > 1 && e.t.chunks > 1 && !unrolls;
  set_loops(&e);
  if (tg_gemm_b_in_blocks(c->m, e.g, &e.t)) tg_gemm_order_b(c, e.g, &e.t);
  const char *name = tg_kernel_name(c, kernel);
  for (int64_t product = 0; product < e.g->products; product++)
    for (e.strip = 0; e.strip < tg_gemm_strips(&e.t); e.strip++) {
      if (product == 0 || !shares_section(&e, product)) status = emit_section(&e, name, product);
      if (status) return status;
      invoke(&e, name);
    }
  if (e.g->partials > 1) c->program->invocations[c->program->invocation_count - 1].sums = 1;
  return TG_OK;
}

tg_status tg_emit_gemm(tg_compile *c, const tg_kernel *kernel) {
  for (int64_t phase = 0; phase < tg_gemm_phases(kernel->root); phase++) {
    tg_status status = emit_phase(c, kernel, phase);
    if (status) return status;
  }
  return kernel->totals ? tg_emit_rest(c, kernel->totals) : TG_OK;
}
