/* The prologue of B, elementwise nodes, where several tiles above each other need all that the nodes make of
 * their columns. These, the makers, take turns: of each round of chunks of K a tile makes one, of what is
 * loaded for it alone, and sends it to the others, which have banks for the chunks of each maker; or there is
 * one maker:
 *
 *   vx   a chunk a round; when all are made, the drain
 *   tx   the chunk to the rows below and to those above, and, if others read it, to memory; then what the
 *        product made
 *   mx   chunk after chunk, each in the banks of its maker; the own one when tx has read it
 *
 * So no tensor is loaded twice and no node computed twice, and either kind of AGCU loads for half of the
 * tiles. */
#include "mapper/gemm/emission.h"
#include "mapper/gemm/prologue.h"

#include <string.h>

typedef tg_gemm_emission emission;

static uint32_t rounds(const emission *e) { return e->t.chunks / e->t.makers; }

static void end_loop(tg_instr *in, int level, uint32_t count, uint32_t begin) {
  in->common.loop_count[level] = count;
  in->common.loop_begin[level] = begin;
}

uint32_t tg_gemm_maker(const emission *e, uint32_t r) { return r / e->t.alike; }
uint32_t tg_gemm_maker_row(const emission *e, uint32_t r, uint32_t maker) {
  return maker * e->t.alike + r % e->t.alike;
}
/* Positions of all makers of the tile's columns. */
static uint32_t all_makers(const emission *e, uint32_t r) {
  uint32_t mask = 0;
  for (uint32_t maker = 0; maker < e->t.makers; maker++) mask |= 1u << (tg_gemm_maker_row(e, r, maker) + 1);
  return mask;
}

tg_buffer tg_gemm_made_buffer(const emission *e, uint32_t maker) {
  tg_buffer made = e->channels[TG_ROLE_B].ring;
  made.base += maker * e->t.made * made.stride;
  made.count = e->t.made;
  return made;
}

/* ---- what the nodes read ---- */

static bool inputs_from_west(const emission *e, uint32_t r, uint32_t col) {
  return tg_leaves_west(e->t.prologue_inputs, r, col);
}

/* A chunk a round of input number `input` for the tiles of `mask`, maker `maker` of columns from
 * `first` on. */
static tg_agcu_instr *load_input(emission *e, tg_queue *queue, int prologue_input, uint32_t mask,
                                 uint32_t maker, int64_t first) {
  const tg_gemm_prologue *f = &e->g->prologue;
  tg_agcu_instr *load = &tg_build_push(&e->b, queue, TG_OP_agcu_load)->agcu;
  tg_buffer buffer = tg_prologue_input_buffer(e, prologue_input);
  tg_walk_plan walk = {
      .tensor = tg_place_of(e->c, f->inputs[prologue_input].name.value),
      .element_stride = 1,
      .columns = tg_gemm_prologue_is_scalar(e->g, prologue_input) ? f->inputs[prologue_input].each : e->g->n};
  memcpy(walk.radix, f->inputs[prologue_input].radix, sizeof walk.radix);
  memcpy(walk.stride, f->inputs[prologue_input].stride, sizeof walk.stride);
  tg_fill_walk(load, &walk, e->prologue.input_base[prologue_input], e->prologue.input_rest[prologue_input]);
  tg_set_operand(load->dst_base, &buffer, false);
  load->dst_inner[0] = 65535;
  load->dst_mask[0] = mask;
  load->rows[0] = e->t.kc;
  load->take[0] = tg_prologue_input_take(e->g, &e->t, prologue_input);
  load->m_first[0] = (int64_t)maker * e->t.kc;
  load->m_delta[2] = (int64_t)e->t.makers * e->t.kc;
  load->k_first[0] = first;
  load->convert[0] = tg_stream_convert(walk.tensor, f->inputs[prologue_input].kind);
  return load;
}

/* The first one of a chunk asks for room, the last one tells. */
static void set_ends(tg_agcu_instr *load, bool first, bool last, const tg_channel *to, bool west) {
  if (first) tg_channel_ask(to, load, west);
  if (last) tg_channel_deliver(to, load);
}

/* Of tile (r, col). The last tensor tells it. */
static void load_inputs(emission *e, tg_queue *queue, bool west, uint32_t r, uint32_t col) {
  int left = 0, all;
  for (int i = 0; i < e->g->prologue.input_count; i++) left += !tg_gemm_prologue_is_scalar(e->g, i);
  all = left;
  for (int i = 0; i < e->g->prologue.input_count; i++) {
    if (tg_gemm_prologue_is_scalar(e->g, i)) continue;
    tg_agcu_instr *load = load_input(e, queue, i, 1u << ((west ? col : r) + 1), tg_gemm_maker(e, r),
                                     tg_gemm_col_first(e, r, col));
    set_ends(load, left == all, left == 1, &e->channels[TG_ROLE_PROLOGUE_INPUTS], west);
    left--;
  }
}

/* Numbers are those of all tiles of a row, and come by a context of their own: what waits for all tiles does
 * not hold up what is for one. Stores leave by the north. */
void tg_gemm_load_prologue_scalars(emission *e, tg_queue *queue, uint32_t r) {
  int left = tg_gemm_prologue_scalars(e->g), all = left;
  for (int i = 0; i < e->g->prologue.input_count; i++) {
    if (!tg_gemm_prologue_is_scalar(e->g, i) || e->g->prologue.inputs[i].lane) continue;
    tg_agcu_instr *load = load_input(e, queue, i, ((1u << e->b.m->cols) - 1) << 1, tg_gemm_maker(e, r), 0);
    set_ends(load, left == all, left == 1, &e->channels[TG_ROLE_SCALARS], true);
    left--;
  }
}

void tg_gemm_load_prologue_inputs(emission *e, tg_queue *queue, bool west, uint32_t at) {
  uint32_t tiles = west ? e->b.m->cols : e->b.m->rows;
  for (uint32_t i = 0; i < tiles; i++) {
    uint32_t r = west ? at : i, col = west ? i : at;
    if (inputs_from_west(e, r, col) == west) load_inputs(e, queue, west, r, col);
  }
}

/* ---- making a chunk, and its ways ---- */

static void emit_nodes(emission *e, uint32_t r, uint32_t col) {
  tg_queue *queue = &tg_build_tile(&e->b, r, col)->vx;
  if (e->g->prologue.vector_count)
    tg_channel_take(&e->channels[TG_ROLE_PROLOGUE_VECTORS], tg_build_push(&e->b, queue, TG_OP_vx_sync), 0,
                    false);
  tg_buffer made = tg_gemm_made_buffer(e, tg_gemm_maker(e, r));
  tg_instr *in = tg_gemm_push_prologue(e, r, col, &made, 0, 1);
  bool stored = e->g->prologue.stored;
  tg_channel_take(&e->channels[TG_ROLE_PROLOGUE_INPUTS], in, 0, false);
  tg_channel_claim(&e->channels[TG_ROLE_MADE], in, 1, false);
  if (stored) tg_set_wait(in, 2, e->channels[TG_ROLE_PROLOGUE_OUTPUT].free, false);
  tg_channel_return(&e->channels[TG_ROLE_PROLOGUE_INPUTS], in, 0, inputs_from_west(e, r, col), r, col, false);
  tg_channel_fill(e->t.makers > 1 ? &e->channels[TG_ROLE_MADE] : &e->channels[TG_ROLE_B], in, 1, false);
  if (stored) tg_set_post(in, 2, TG_POST_LOCAL, 0, e->channels[TG_ROLE_PROLOGUE_OUTPUT].full, false);
  if (tg_gemm_prologue_scalars(e->g)) {
    tg_channel_take(&e->channels[TG_ROLE_SCALARS], in, 3, false);
    tg_channel_return(&e->channels[TG_ROLE_SCALARS], in, 3, true, r, col, false);
  }
  end_loop(in, 2, rounds(e), queue->count - 1);
}

/* To tiles of the column: positions of `mask`. */
static tg_instr *send_chunk(emission *e, uint32_t r, uint32_t col, int dir, uint32_t mask) {
  tg_instr *in = tg_build_push(&e->b, &tg_build_tile(&e->b, r, col)->tx, TG_OP_tx_send);
  tg_tx_instr *tx = &in->tx;
  tg_buffer made = tg_gemm_made_buffer(e, tg_gemm_maker(e, r));
  tx->dir[0] = dir;
  tx->flits[0] = made.rows;
  tg_set_operand(tx->src_base, &made, false);
  tg_set_operand(tx->dst_base, &made, false);
  tx->src_inner[0] = tx->dst_inner[0] = 65535;
  tx->dst_mask[0] = mask;
  tx->dst_post[0] = 1;
  tx->dst_sem[0] = e->channels[TG_ROLE_B].full + (int)tg_gemm_maker(e, r);
  in->common.credit_base[0] = e->channels[TG_ROLE_MADE_AROUND].free;
  in->common.credit_mask[0] = mask;
  return in;
}

static uint32_t row_flits(const emission *e) {
  return tg_kind_flits(e->b.m, e->g->prologue.result_kind, e->t.nt);
}

static tg_buffer place_at_agcu(const emission *e, uint32_t r) {
  uint32_t share = tg_gemm_prologue_share(e->b.m, &e->t);
  return (tg_buffer){
      .base = tg_store_rows(e->b.m) / 2 + 2 * share * r, .stride = share, .rows = share, .count = 2};
}

/* To memory, in pieces. */
static tg_instr *send_away(emission *e, uint32_t r, uint32_t col) {
  tg_buffer at_agcu = place_at_agcu(e, r);
  tg_queue *queue = &tg_build_tile(&e->b, r, col)->tx;
  tg_instr *in = tg_build_push(&e->b, queue, TG_OP_tx_send);
  tg_tx_instr *tx = &in->tx;
  tx->dir[0] = TG_DIR_NORTH;
  tx->flits[0] = e->t.prologue_sent * row_flits(e);
  tg_set_operand(tx->src_base, &e->channels[TG_ROLE_PROLOGUE_OUTPUT].ring, true);
  tx->src_delta[2] = tx->flits[0];
  tg_set_operand(tx->dst_base, &at_agcu, false);
  tx->src_inner[0] = tx->dst_inner[0] = 65535;
  tx->dst_mask[0] = 1;
  tx->dst_post[0] = 1;
  tx->dst_sem[0] = e->channels[TG_ROLE_PROLOGUE_AWAY].north + (int)r + 1;
  tg_set_wait(in, 0, e->channels[TG_ROLE_PROLOGUE_AWAY].free, false);
  tg_set_wait(in, 1, e->channels[TG_ROLE_PROLOGUE_OUTPUT].full, true);
  tg_set_post(in, 1, TG_POST_LOCAL, 0, e->channels[TG_ROLE_PROLOGUE_OUTPUT].free, true);
  end_loop(in, 2, e->t.kc / e->t.prologue_sent, queue->count - 1);
  return in;
}

/* To the other makers; the last SEND lets mx have the chunk. */
static tg_instr *send_around(emission *e, uint32_t r, uint32_t col) {
  uint32_t all = all_makers(e, r), above = all & ((2u << r) - 1), below = all & ~((4u << r) - 1);
  tg_instr *first =
      below ? send_chunk(e, r, col, TG_DIR_SOUTH, below) : send_chunk(e, r, col, TG_DIR_NORTH, above);
  tg_instr *last = first;
  tg_channel_take(&e->channels[TG_ROLE_MADE], first, 0, false);
  if (below && above) last = send_chunk(e, r, col, TG_DIR_NORTH, above);
  tg_set_post(last, 0, TG_POST_LOCAL, 0, e->channels[TG_ROLE_B].full + (int)tg_gemm_maker(e, r), false);
  return last;
}

static void emit_sends(emission *e, uint32_t r, uint32_t col) {
  uint32_t begin = tg_build_tile(&e->b, r, col)->tx.count;
  tg_instr *last = e->t.makers > 1 ? send_around(e, r, col) : NULL;
  if (e->g->prologue.stored) last = send_away(e, r, col);
  if (last) end_loop(last, 1, rounds(e), begin);
}

void tg_gemm_emit_making(emission *e, uint32_t r, uint32_t col) {
  emit_nodes(e, r, col);
  emit_sends(e, r, col);
}

/* ---- stores ---- */

static void emit_store(emission *e, uint32_t r, uint32_t col) {
  const tg_gemm *g = e->g;
  tg_agcu_instr *store =
      &tg_build_push(&e->b, tg_north_queue(&e->b, col, TG_CTX_PROLOGUE), TG_OP_agcu_store)->agcu;
  tg_instr *in = (tg_instr *)(void *)store;
  tg_walk_plan walk = {.tensor = tg_place_of(e->c, g->prologue.result),
                       .radix = {1, 1, g->k},
                       .stride = {0, 0, g->n},
                       .element_stride = 1,
                       .columns = g->n};
  tg_buffer at_agcu = place_at_agcu(e, r);
  tg_fill_walk(store, &walk, e->prologue.output_base, e->prologue.output_rest);
  store->rows[0] = e->t.prologue_sent;
  store->take[0] = e->t.nt;
  store->m_first[0] = (int64_t)tg_gemm_maker(e, r) * e->t.kc;
  store->m_delta[1] = (int64_t)e->t.makers * e->t.kc;
  store->m_delta[2] = e->t.prologue_sent;
  store->k_first[0] = tg_gemm_col_first(e, r, col);
  store->convert[0] = g->prologue.result_kind == TG_STREAM_FP32 ? TG_CVT_32 : TG_CVT_16;
  tg_set_operand(store->src_base, &at_agcu, false);
  tg_set_wait(in, 0, e->channels[TG_ROLE_PROLOGUE_AWAY].north + (int)r + 1, false);
  tg_set_post(in, 0, TG_POST_COL, r + 1, e->channels[TG_ROLE_PROLOGUE_AWAY].free, false);
}

void tg_gemm_emit_maker_stores(emission *e) {
  const uint32_t loops[3] = {1, rounds(e), e->t.kc / e->t.prologue_sent};
  for (uint32_t col = 0; col < e->b.m->cols; col++) {
    for (uint32_t r = 0; r < e->b.m->rows; r++) emit_store(e, r, col);
    tg_queue *queue = tg_north_queue(&e->b, col, TG_CTX_PROLOGUE);
    tg_set_loops(&queue->instrs[queue->count - 1], loops);
  }
}
