/* The prologue of B, elementwise nodes, where several tiles above each other need all that the nodes make of
 * their columns. These, the producers, take turns: of each round of chunks of K a tile makes one, of what is
 * loaded for it alone, and sends it to the others, which have banks for the chunks of each producer; or there is
 * one producer:
 *
 *   vx   a chunk a round; when all are made, the drain
 *   tx   the chunk to the rows below and to those above, and, if others read it, to memory; then what the
 *        product made
 *   mx   chunk after chunk, each in the banks of its producer; the own one when tx has read it
 *
 * So no tensor is loaded twice and no node computed twice, and either kind of AGCU loads for half of the
 * tiles. */
#include "mapper/gemm/emission.h"
#include "mapper/gemm/prologue.h"

#include <string.h>

typedef tg_gemm_emission emission;

static uint32_t rounds(const emission *e) { return e->t.chunks / e->t.producers; }

static void end_loop(tg_instr *in, int level, uint32_t count, uint32_t begin) {
  in->common.loop_count[level] = count;
  in->common.loop_begin[level] = begin;
}

/* Which of the producers of its columns a tile of row r is, and the row of another one. */
static uint32_t producer_of(const emission *e, uint32_t r) { return r / e->t.alike; }
static uint32_t producer_row(const emission *e, uint32_t r, uint32_t producer) {
  return producer * e->t.alike + r % e->t.alike;
}
/* Positions of all producers of the tile's columns. */
static uint32_t all_producers(const emission *e, uint32_t r) {
  uint32_t mask = 0;
  for (uint32_t producer = 0; producer < e->t.producers; producer++)
    mask |= 1u << (producer_row(e, r, producer) + 1);
  return mask;
}

tg_buffer tg_gemm_made_buffer(const emission *e, uint32_t producer) {
  tg_buffer made = e->channels[TG_ROLE_B].ring;
  made.base += producer * e->t.made * made.stride;
  made.count = e->t.made;
  return made;
}

/* Full of what the producer made; a tile gives it room back: its own unit, or, at the producer, the semaphore of its
 * position. */
static tg_post producer_source(const void *kernel, const tg_channel *channel, uint32_t r, uint32_t col) {
  const emission *e = kernel;
  uint32_t row = producer_row(e, r, (uint32_t)(channel->full - e->channels[TG_ROLE_B].full));
  (void)col;
  return row == r ? (tg_post){TG_POST_LOCAL, 0, e->channels[TG_ROLE_MADE].free}
                  : (tg_post){TG_POST_COL, row + 1, e->channels[TG_ROLE_MADE_AROUND].free + (int)r + 1};
}

tg_channel tg_gemm_made_channel(const emission *e, uint32_t producer) {
  tg_channel made = TG_CHANNEL_NONE;
  made.ring = tg_gemm_made_buffer(e, producer);
  made.full = e->channels[TG_ROLE_B].full + (int)producer;
  made.source = producer_source;
  return made;
}

/* ---- what the nodes read ---- */

/* A chunk a round of input number `input` for the tiles of `mask`, producer `producer` of columns from
 * `first` on. */
static tg_instr *load_input(emission *e, tg_queue *queue, int prologue_input, uint32_t mask,
                            uint32_t producer, int64_t first) {
  const tg_gemm_prologue *f = &e->g->prologue;
  tg_instr *in = tg_build_push(&e->b, queue, TG_OP_agcu_load);
  tg_agcu_instr *load = &in->agcu;
  tg_buffer buffer = tg_prologue_input_buffer(e, prologue_input);
  tg_walk_plan walk = {
      .tensor = tg_place_of(e->c, f->inputs[prologue_input].name.value),
      .element_stride = 1,
      .columns = tg_gemm_prologue_is_scalar(e->g, prologue_input) ? f->inputs[prologue_input].each : e->g->n};
  memcpy(walk.radix, f->inputs[prologue_input].radix, sizeof walk.radix);
  memcpy(walk.stride, f->inputs[prologue_input].stride, sizeof walk.stride);
  tg_fill_walk(load, &walk, e->prologue.input_base[prologue_input], e->prologue.input_rest[prologue_input]);
  tg_set_operand(&load->dst, &buffer, false);
  load->dst_inner = 65535;
  load->dst_mask = mask;
  load->rows = e->t.kc;
  load->take = tg_prologue_input_take(e->g, &e->t, prologue_input);
  load->m_first = (int64_t)producer * e->t.kc;
  load->m_delta[2] = (int64_t)e->t.producers * e->t.kc;
  load->k_first = first;
  load->convert = tg_stream_convert(walk.tensor, f->inputs[prologue_input].kind);
  return in;
}

/* The first one of a chunk asks for room, the last one tells. */
static void meet(const emission *e, const tg_stage *stage, tg_instr *load, bool first, bool last) {
  tg_gemm_meet(e, stage, TG_ALL_CHANNELS, load, 0, 0, first, last);
}

/* Of tile (r, col). The last tensor tells it. */
static void load_inputs(emission *e, const tg_stage *stage, tg_queue *queue, uint32_t r, uint32_t col) {
  bool west = stage->seat == TG_SIDE_WEST;
  int left = 0, all;
  for (int i = 0; i < e->g->prologue.input_count; i++) left += !tg_gemm_prologue_is_scalar(e->g, i);
  all = left;
  for (int i = 0; i < e->g->prologue.input_count; i++) {
    if (tg_gemm_prologue_is_scalar(e->g, i)) continue;
    tg_instr *load = load_input(e, queue, i, 1u << ((west ? col : r) + 1), producer_of(e, r),
                                tg_gemm_col_first(e, r, col));
    meet(e, stage, load, left == all, left == 1);
    left--;
  }
}

/* Numbers are those of all tiles of a row, and come by a context of their own: what waits for all tiles does
 * not hold up what is for one. Stores go to the AGCU in the north. */
void tg_gemm_load_prologue_scalars(emission *e, const tg_stage *stage, tg_queue *queue, uint32_t r) {
  int left = tg_gemm_prologue_scalars(e->g), all = left;
  for (int i = 0; i < e->g->prologue.input_count; i++) {
    if (!tg_gemm_prologue_is_scalar(e->g, i) || e->g->prologue.inputs[i].lane) continue;
    tg_instr *load = load_input(e, queue, i, ((1u << e->b.m->cols) - 1) << 1, producer_of(e, r), 0);
    meet(e, stage, load, left == all, left == 1);
    left--;
  }
}

void tg_gemm_load_prologue_inputs(emission *e, const tg_stage *stage, tg_queue *queue, uint32_t at) {
  bool west = stage->seat == TG_SIDE_WEST;
  uint32_t tiles = west ? e->b.m->cols : e->b.m->rows;
  for (uint32_t i = 0; i < tiles; i++) {
    uint32_t r = west ? at : i, col = west ? i : at;
    if (tg_gemm_prologue_from_west(e, r, col) == west) load_inputs(e, stage, queue, r, col);
  }
}

/* ---- making a chunk, and its ways ---- */

void tg_gemm_emit_making(emission *e, const tg_stage *stage, uint32_t r, uint32_t col) {
  tg_buffer made = tg_gemm_made_buffer(e, producer_of(e, r));
  tg_instr *in = tg_gemm_push_prologue(e, r, col, &made, 0, 1);
  tg_gemm_meet(e, stage, TG_ALL_CHANNELS, in, r, col, true, true);
  end_loop(in, 2, rounds(e), tg_build_tile(&e->b, r, col)->vx.count - 1);
}

/* To tiles of the column: positions of `mask`. */
static tg_instr *send_chunk(emission *e, uint32_t r, uint32_t col, int dir, uint32_t mask) {
  tg_instr *in = tg_build_push(&e->b, &tg_build_tile(&e->b, r, col)->tx, TG_OP_tx_send);
  tg_tx_instr *tx = &in->tx;
  tg_buffer made = tg_gemm_made_buffer(e, producer_of(e, r));
  tx->dir = dir;
  tx->flits = made.rows;
  tg_set_operand(&tx->src, &made, false);
  tg_set_operand(&tx->dst, &made, false);
  tx->src_inner = tx->dst_inner = 65535;
  tx->dst_mask = mask;
  tx->dst_post = 1;
  tx->dst_sem = e->channels[TG_ROLE_B].full + (int)producer_of(e, r);
  in->common.credit_base = e->channels[TG_ROLE_MADE_AROUND].free;
  in->common.credit_mask = mask;
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

/* To memory, in several SENDs. */
void tg_gemm_emit_made_away(emission *e, const tg_stage *stage, uint32_t r, uint32_t col) {
  tg_buffer at_agcu = place_at_agcu(e, r);
  tg_queue *queue = &tg_build_tile(&e->b, r, col)->tx;
  tg_instr *in = tg_build_push(&e->b, queue, TG_OP_tx_send);
  tg_tx_instr *tx = &in->tx;
  tx->dir = TG_DIR_NORTH;
  tx->flits = e->t.prologue_sent * row_flits(e);
  tg_set_operand(&tx->src, &e->channels[TG_ROLE_PROLOGUE_OUTPUT].ring, true);
  tx->src_delta[2] = tx->flits;
  tg_set_operand(&tx->dst, &at_agcu, false);
  tx->src_inner = tx->dst_inner = 65535;
  tx->dst_mask = 1;
  tx->dst_post = 1;
  tx->dst_sem = e->channels[TG_ROLE_PROLOGUE_AWAY].north + (int)r + 1;
  tg_gemm_meet(e, stage, TG_ALL_CHANNELS, in, r, col, true, true);
  end_loop(in, 2, e->t.kc / e->t.prologue_sent, queue->count - 1);
  end_loop(in, 1, rounds(e), 0);
}

/* To the other producers; the last SEND lets mx have the chunk. */
void tg_gemm_emit_around(emission *e, const tg_stage *stage, uint32_t r, uint32_t col) {
  uint32_t all = all_producers(e, r), above = all & ((2u << r) - 1), below = all & ~((4u << r) - 1);
  tg_channel made = tg_gemm_made_channel(e, producer_of(e, r)), *own = &e->channels[TG_ROLE_MADE];
  tg_instr *first =
      below ? send_chunk(e, r, col, TG_DIR_SOUTH, below) : send_chunk(e, r, col, TG_DIR_NORTH, above);
  tg_instr *last = first;
  tg_join_channel(own, &stage->joins[0],
                  &(tg_joint){.kernel = e, .in = first, .r = r, .col = col, .first = true});
  if (below && above) last = send_chunk(e, r, col, TG_DIR_NORTH, above);
  tg_join_channel(&made, &stage->joins[1],
                  &(tg_joint){.kernel = e, .in = last, .r = r, .col = col, .last = true});
  if (!e->g->prologue.stored) end_loop(last, 1, rounds(e), 0);
}

/* ---- stores ---- */

static void emit_store(emission *e, const tg_stage *stage, tg_queue *queue, uint32_t r, uint32_t col) {
  const tg_gemm *g = e->g;
  tg_instr *in = tg_build_push(&e->b, queue, TG_OP_agcu_store);
  tg_agcu_instr *store = &in->agcu;
  tg_walk_plan walk = {.tensor = tg_place_of(e->c, g->prologue.result),
                       .radix = {1, 1, g->k},
                       .stride = {0, 0, g->n},
                       .element_stride = 1,
                       .columns = g->n};
  tg_buffer at_agcu = place_at_agcu(e, r);
  tg_fill_walk(store, &walk, e->prologue.output_base, e->prologue.output_rest);
  store->rows = e->t.prologue_sent;
  store->take = e->t.nt;
  store->m_first = (int64_t)producer_of(e, r) * e->t.kc;
  store->m_delta[1] = (int64_t)e->t.producers * e->t.kc;
  store->m_delta[2] = e->t.prologue_sent;
  store->k_first = tg_gemm_col_first(e, r, col);
  store->convert = g->prologue.result_kind == TG_STREAM_FP32 ? TG_CVT_32 : TG_CVT_16;
  tg_set_operand(&store->src, &at_agcu, false);
  tg_gemm_meet(e, stage, TG_ALL_CHANNELS, in, r, col, true, true);
}

void tg_gemm_emit_producer_stores(emission *e, const tg_stage *stage, tg_queue *queue, uint32_t col) {
  const uint32_t loops[3] = {1, rounds(e), e->t.kc / e->t.prologue_sent};
  for (uint32_t r = 0; r < e->b.m->rows; r++) emit_store(e, stage, queue, r, col);
  tg_set_loops(&queue->instrs[queue->count - 1], loops);
}
