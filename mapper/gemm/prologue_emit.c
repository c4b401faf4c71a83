/* The prologue of a product, elementwise nodes, computed on its tiles. A chunk of the tensor that they read
 * is loaded where A would be; the vector unit makes a block of A of it, which mx waits for, and, beside it,
 * what others read of the result. Between two chunks comes a drain tile of the block before:
 *
 *   vx   nodes of block 0;  then for each block, chunk by chunk: nodes of the next one, one of its drain tiles;
 *        the last block's drain
 *   tx   the same order: what the nodes made, then what the product made
 *
 * A drain tile that column sums are of is as long as several chunks, whose nodes come before it. Its column sums
 * leave first, and the rest in parts, before the chunks of the next drain tile, so that these need not wait for
 * all of it.
 *
 * Stores of what the nodes make have a context and half of the store memory of their own, so that neither of
 * the two waits for the other. */
#include "mapper/gemm/emission.h"
#include "mapper/gemm/prologue.h"

#include <string.h>

typedef tg_gemm_emission emission;

/* ---- the vector unit ---- */

/* A chunk of rows in `buffer`, one of as many as are handled at once, in stream `stream` and those behind. */
static void set_streams(const emission *e, tg_vx_instr *vop, int stream, int kind, const tg_buffer *buffer,
                        uint32_t first) {
  const tg_params *m = e->b.m;
  bool scalar = kind == TG_STREAM_SPLAT32;
  uint32_t row = tg_kind_flits(m, kind, scalar ? 1 : tg_gemm_prologue_width(e->g, &e->t)),
           parts = tg_gemm_prologue_parts(m, e->g, &e->t);
  for (uint32_t u = 0; u < e->g->prologue.unroll; u++) {
    tg_stream *s = tg_stream_of_mut(vop, stream + (int)u);
    s->kind = kind;
    tg_set_rotating(&s->at, buffer, first, TG_ROTATE_EACH);
    s->at.base += (int64_t)u * row;
    s->banks = buffer->banks;
    s->row[1] = (int64_t)tg_gemm_prologue_rows(e->g, &e->t) / parts * row;
    s->row[2] = scalar ? 0 : tg_kind_flits(m, kind, tg_lanes(m));
    s->j[1] = (int64_t)e->g->prologue.unroll * row;
    s->store = stream >= tg_prologue_block_stream(&e->g->prologue, 0);
  }
}

tg_buffer tg_prologue_input_buffer(const emission *e, int prologue_input) {
  bool scalar = tg_gemm_prologue_is_scalar(e->g, prologue_input);
  prologue_input -= e->g->prologue.inputs[prologue_input].lane; /* those of one run follow each other */
  uint32_t before = tg_prologue_inputs_before(e->b.m, e->g, &e->t, scalar, prologue_input);
  return tg_buffer_part(
      e->b.m, scalar ? &e->channels[TG_ROLE_SCALARS].ring : &e->channels[TG_ROLE_PROLOGUE_INPUTS].ring,
      before, tg_prologue_inputs_before(e->b.m, e->g, &e->t, scalar, prologue_input + 1) - before);
}

/* Those along k: chunks go on with level 1 in loops of `chunks`, else with level 2. */
static void set_vectors(const emission *e, tg_vx_instr *vop, uint32_t chunks) {
  const tg_params *m = e->b.m;
  const tg_gemm_prologue *f = &e->g->prologue;
  for (int v = 0; v < f->vector_count; v++) {
    int kind = tg_stream_kind(f->vectors[v].name.value);
    uint32_t before = tg_gemm_prologue_vectors_before(m, e->g, &e->t, v);
    tg_buffer vector = tg_buffer_part(m, &e->channels[TG_ROLE_PROLOGUE_VECTORS].ring, before,
                                      tg_gemm_prologue_vectors_before(m, e->g, &e->t, v + 1) - before);
    tg_stream *s = tg_stream_of_mut(vop, tg_prologue_vector_stream(f, v));
    s->kind = kind;
    tg_set_operand(&s->at, &vector, false);
    int64_t chunk = f->of_b ? 0 : tg_kind_flits(m, kind, e->t.kc);
    s->at.delta[2] = chunk * chunks;
    if (chunks > 1) s->at.delta[1] = chunk;
    s->banks = vector.banks;
    s->row[2] = tg_kind_flits(m, kind, tg_lanes(m));
  }
}

tg_instr *tg_gemm_push_prologue(emission *e, uint32_t r, uint32_t col, const tg_buffer *block, uint32_t first,
                                uint32_t chunks) {
  const tg_gemm_prologue *f = &e->g->prologue;
  tg_instr *in = tg_build_push(&e->b, &tg_build_tile(&e->b, r, col)->vx, TG_OP_vx_vop);
  tg_vx_instr *vop = &in->vx;
  uint32_t parts = tg_gemm_prologue_parts(e->b.m, e->g, &e->t),
           vectors = tg_gemm_prologue_width(e->g, &e->t) / tg_lanes(e->b.m);
  memcpy(vop->seg_begin, e->prologue.code.seg_begin, sizeof vop->seg_begin);
  memcpy(vop->seg_len, e->prologue.code.seg_len, sizeof vop->seg_len);
  vop->seg_repeat = 1 << 1;
  vop->rows = parts * vectors;
  vop->row_count[0] = 1;
  vop->row_count[1] = parts;
  vop->row_count[2] = vectors;
  vop->j_count[0] = 1;
  vop->j_count[1] = tg_gemm_prologue_rows(e->g, &e->t) / (parts * f->unroll);
  for (int i = 0; i < f->input_count; i++) {
    tg_buffer prologue_input = tg_prologue_input_buffer(e, i);
    set_streams(e, vop, tg_prologue_input_stream(f, i, 0), f->inputs[i].kind, &prologue_input, first);
    for (uint32_t u = 0; u < f->unroll; u++)
      tg_stream_of_mut(vop, tg_prologue_input_stream(f, i, u))->lane = f->inputs[i].lane;
  }
  set_streams(e, vop, tg_prologue_block_stream(f, 0), f->block_kind, block, first);
  if (f->stored)
    set_streams(e, vop, tg_prologue_result_stream(f, 0), f->result_kind,
                &e->channels[TG_ROLE_PROLOGUE_OUTPUT].ring, first);
  set_vectors(e, vop, chunks);
  return in;
}

/* Chunks, the first of which is in buffer number `first`: those of a block in a loop of level 2, or so many
 * in one of level 1. */
static tg_instr *push_nodes(emission *e, const tg_stage *stage, uint32_t r, uint32_t col, uint32_t first,
                            uint32_t chunks) {
  tg_instr *in = tg_gemm_push_prologue(e, r, col, &e->channels[TG_ROLE_A].ring, first, chunks);
  tg_gemm_meet(e, stage, TG_ALL_CHANNELS, in, r, col, true, true);
  return in;
}

static void end_loop(tg_instr *in, int level, uint32_t count, uint32_t begin) {
  in->common.loop_count[level] = count;
  in->common.loop_begin[level] = begin;
}

/* ---- ways out ---- */

/* Rows of a chunk that a tile stores: of those that several tiles have, each has a share. */
static uint32_t stored_rows(const emission *e) { return e->t.mt / e->t.alike; }

static tg_buffer place_at_agcu(const emission *e, uint32_t r, uint32_t col) {
  uint32_t share = tg_gemm_prologue_share(e->b.m, &e->t);
  return (tg_buffer){.base =
                         tg_store_rows(e->b.m) / 2 + 2 * share * tg_egress_rank(e->t.prologue_egress, r, col),
                     .stride = share,
                     .rows = share,
                     .count = 2};
}

static uint32_t row_flits(const emission *e) {
  return tg_kind_flits(e->b.m, e->g->prologue.result_kind, e->t.kc);
}

/* Chunk number `chunk` of what the nodes make, in parts, in turn with others: of so many instructions for
 * each drain tile of the product's results it is one. */
static tg_instr *push_send(emission *e, const tg_stage *stage, uint32_t r, uint32_t col, uint32_t chunk,
                           uint32_t rounds) {
  tg_buffer at_agcu = place_at_agcu(e, r, col);
  bool west = tg_leaves_west(e->t.prologue_egress, r, col);
  uint32_t sends = stored_rows(e) / e->t.prologue_sent;
  tg_queue *queue = &tg_build_tile(&e->b, r, col)->tx;
  tg_instr *in = tg_build_push(&e->b, queue, TG_OP_tx_send);
  tg_tx_instr *tx = &in->tx;
  tx->dir = west ? TG_DIR_WEST : TG_DIR_NORTH;
  tx->flits = e->t.prologue_sent * row_flits(e);
  tg_set_rotating(&tx->src, &e->channels[TG_ROLE_PROLOGUE_OUTPUT].ring, chunk % 2,
                  rounds % 2 ? TG_ROTATE_OUTER : TG_ROTATE_NEVER);
  tx->src_base += (int64_t)(col % e->t.alike) * stored_rows(e) * row_flits(e);
  tx->src_delta[2] = tx->flits;
  tx->src_inner = tx->dst_inner = 65535;
  tg_set_rotating(&tx->dst, &at_agcu, chunk * sends % 2,
                  rounds % 2 || sends % 2 == 0 ? TG_ROTATE_EACH : TG_ROTATE_NEVER);
  tx->dst_mask = 1;
  tx->dst_post = 1;
  tx->dst_sem = (west ? e->channels[TG_ROLE_PROLOGUE_AWAY].west : e->channels[TG_ROLE_PROLOGUE_AWAY].north) +
                (int)(west ? col : r) + 1;
  tg_gemm_meet(e, stage, TG_ALL_CHANNELS, in, r, col, true, true);
  end_loop(in, 2, sends, queue->count - 1);
  return in;
}

/* Before the SENDs of the product's results: those of block 0, and of chunks that come before the first
 * drain tile. */
void tg_gemm_emit_prologue_sends(emission *e, const tg_stage *stage, uint32_t r, uint32_t col) {
  end_loop(push_send(e, stage, r, col, 0, 1), 1, e->t.chunks, 0);
  if (tg_gemm_drains_last(&e->t)) return;
  uint32_t rounds = tg_gemm_chunks_a_drain_tile(&e->t);
  for (uint32_t i = 0; i < rounds; i++) push_send(e, stage, r, col, e->t.chunks + i, rounds);
}

/* Goes on where `before` executions have left an operand of two buffers. */
static void go_on(tg_row_operand *operand, uint32_t before) {
  if (before % 2 == 0) return;
  operand->base += operand->rot_stride;
  operand->rot_stride = -operand->rot_stride;
}

/* SENDs of a drain tile of the product's results: part number `part` of so many equal ones, from drain tile number
 * `drain_tile` on. The last one gives the buffer back. */
static tg_instr *push_results(emission *e, uint32_t r, uint32_t col, const tg_instr *all, uint32_t drain_tile,
                              uint32_t part, uint32_t parts) {
  tg_queue *queue = &tg_build_tile(&e->b, r, col)->tx;
  uint32_t sends = e->t.mr / e->t.sent, own = sends / parts;
  tg_instr *in = tg_build_push(&e->b, queue, TG_OP_tx_send);
  *in = *all;
  go_on(&in->tx.src, drain_tile);
  in->tx.src_base += (int64_t)part * own * in->tx.src_delta[2];
  go_on(&in->tx.dst, drain_tile * sends + part * own);
  if (own % 2 && parts % 2 == 0) in->tx.dst_rot_count = in->tx.dst_rot_stride = 0;
  if (part + 1 < parts) in->common.post_kind[0] = in->common.post_sem[0] = in->common.post_last[0] = 0;
  for (int l = 0; l < 2; l++) end_loop(in, l, 0, 0);
  end_loop(in, 2, own, queue->count - 1);
  return in;
}

static tg_instr *push_column_sums(emission *e, uint32_t r, uint32_t col, const tg_instr *all,
                                  uint32_t drain_tile) {
  tg_instr *in = NULL;
  for (int i = 0; i < e->g->column_sums.count; i++) {
    in = tg_build_push(&e->b, &tg_build_tile(&e->b, r, col)->tx, TG_OP_tx_send);
    *in = all[i];
    go_on(&in->tx.dst, drain_tile);
  }
  return in;
}

/* In place of the SENDs of the product's results, and column sums, which go over all blocks: those of all but
 * the last block, in a loop with what the nodes make, and others. Drain tiles with column sums are long: each
 * leaves between the chunks that come before the next one, so that the nodes need not wait for all of it. */
void tg_gemm_share_sends(emission *e, uint32_t r, uint32_t col) {
  const tg_stage *stage = tg_stages_find(&e->stages, TG_UNIT_TX, TG_STAGE_PROLOGUE_STORE);
  tg_queue *queue = &tg_build_tile(&e->b, r, col)->tx;
  if (tg_gemm_drains_last(&e->t)) { /* they follow those of all chunks */
    for (int l = 0; l < 3; l++) queue->instrs[queue->count - 1].common.loop_begin[l] = queue->count - 1;
    return;
  }
  tg_instr all[1 + TG_GEMM_RESULTS];
  uint32_t column_sums = (uint32_t)e->g->column_sums.count, rounds = tg_gemm_chunks_a_drain_tile(&e->t),
           drain_tiles = e->drain_tiles, steps = (e->t.passes_m - 1) * drain_tiles, begin;
  queue->count -= column_sums + 1;
  memcpy(all, &queue->instrs[queue->count], sizeof *all * (column_sums + 1));
  const tg_instr *results = &all[column_sums];
  begin = queue->count;
  push_column_sums(e, r, col, all, 0);
  if (column_sums) begin = queue->count;
  for (uint32_t i = 0; i < rounds && steps > 1; i++) {
    push_results(e, r, col, results, 0, i, rounds);
    tg_instr *last = push_send(e, stage, r, col, e->t.chunks + rounds + i, rounds);
    if (!column_sums && i + 1 == rounds) end_loop(last, 1, steps - 1, begin);
  }
  if (column_sums && steps > 1) end_loop(push_column_sums(e, r, col, all, 1), 1, steps - 1, begin);
  push_results(e, r, col, results, steps - 1, 0, 1);
  begin = queue->count;
  push_column_sums(e, r, col, all, steps);
  end_loop(push_results(e, r, col, results, steps, 0, 1), 1, drain_tiles, begin);
}

static void emit_store(emission *e, const tg_stage *stage, tg_queue *queue, uint32_t r, uint32_t col) {
  const tg_gemm *g = e->g;
  uint32_t rows = stored_rows(e);
  tg_instr *in = tg_build_push(&e->b, queue, TG_OP_agcu_store);
  tg_agcu_instr *store = &in->agcu;
  tg_walk_plan walk = {.tensor = tg_place_of(e->c, g->prologue.result),
                       .radix = {1, 1, g->m},
                       .stride = {0, 0, g->k},
                       .element_stride = 1,
                       .columns = g->k};
  tg_buffer at_agcu = place_at_agcu(e, r, col);

  tg_fill_walk(store, &walk, e->prologue.output_base, e->prologue.output_rest);
  store->rows = e->t.prologue_sent;
  store->take = e->t.kc;
  store->m_first = tg_gemm_row_first(e, r, col) + (int64_t)(col % e->t.alike) * rows;
  store->m_delta[0] = tg_gemm_rows_a_pass(e);
  store->m_delta[2] = e->t.prologue_sent;
  store->k_delta[1] = e->t.kc;
  store->convert = g->prologue.result_kind == TG_STREAM_FP32 ? TG_CVT_32 : TG_CVT_16;
  tg_set_operand(&store->src, &at_agcu, false);
  tg_gemm_meet(e, stage, TG_ALL_CHANNELS, in, r, col, true, true);
}

void tg_gemm_emit_prologue_stores(emission *e, const tg_stage *stage, tg_queue *queue, uint32_t at) {
  bool west = stage->seat == TG_SIDE_WEST;
  const uint32_t loops[3] = {e->t.passes_m, e->t.chunks, stored_rows(e) / e->t.prologue_sent};
  for (uint32_t i = 0; i < (west ? e->b.m->cols : e->b.m->rows); i++) {
    uint32_t r = west ? at : i, col = west ? i : at;
    if (tg_leaves_west(e->t.prologue_egress, r, col) == west) emit_store(e, stage, queue, r, col);
  }
  if (queue->count) tg_set_loops(&queue->instrs[queue->count - 1], loops);
}

/* ---- the section ---- */

void tg_gemm_emit_prologue(emission *e, const tg_stage *stage, uint32_t r, uint32_t col) {
  uint32_t chunks = e->t.chunks, blocks = e->t.passes_m;
  const tg_stage *drain = tg_stages_find(&e->stages, TG_UNIT_VX, TG_STAGE_DRAIN);
  const tg_queue *queue = &tg_build_tile(&e->b, r, col)->vx;
  end_loop(push_nodes(e, stage, r, col, 0, 1), 2, chunks, 1);
  if (!tg_gemm_drains_last(&e->t)) {
    uint32_t between = tg_gemm_chunks_a_drain_tile(&e->t);
    tg_instr *in = push_nodes(e, stage, r, col, chunks % 2, between);
    if (between > 1) end_loop(in, 1, between, 2);
    in = tg_gemm_emit_block_drain(e, drain, r, col, 0);
    end_loop(in, 2, e->drain_tiles, 2);
    end_loop(in, 0, blocks - 1, 2);
  }
  tg_instr *last = tg_gemm_emit_block_drain(e, drain, r, col, blocks - 1);
  end_loop(last, 2, e->drain_tiles, queue->count - 1);
}

static int base_of(emission *e, const tg_value *value, int64_t first, int64_t *out_rest) {
  return tg_build_base(&e->b, tg_place_of(e->c, value), (uint64_t)first * tg_value_bytes_each(value),
                       out_rest);
}

void tg_gemm_allocate_prologue_bases(emission *e) {
  const tg_gemm_prologue *f = &e->g->prologue;
  if (f->stored)
    e->prologue.output_base = tg_build_base(&e->b, tg_place_of(e->c, f->result), 0, &e->prologue.output_rest);
  for (int i = 0; f->of_b && i < f->input_count; i++)
    e->prologue.input_base[i] =
        base_of(e, f->inputs[i].name.value, f->inputs[i].first, &e->prologue.input_rest[i]);
  for (int v = 0; v < f->vector_count; v++)
    e->prologue.vector_base[v] =
        base_of(e, f->vectors[v].name.value, f->vectors[v].first, &e->prologue.vector_rest[v]);
}

/* For the tiles of `mask`, which have the columns from number `first` on. */
static void load_vector(emission *e, const tg_stage *stage, tg_queue *queue, int v, uint32_t mask,
                        int64_t first) {
  const tg_gemm_prologue *f = &e->g->prologue;
  tg_instr *in = tg_build_push(&e->b, queue, TG_OP_agcu_load);
  tg_agcu_instr *load = &in->agcu;
  tg_buffer vector = e->channels[TG_ROLE_PROLOGUE_VECTORS].ring;
  tg_walk_plan walk = {.tensor = tg_place_of(e->c, f->vectors[v].name.value),
                       .radix = {1, 1, 1},
                       .element_stride = f->vectors[v].element_stride,
                       .columns = f->of_b ? e->g->n : e->g->k};
  vector.base += tg_gemm_prologue_vectors_before(e->b.m, e->g, &e->t, v);
  tg_set_operand(&load->dst, &vector, false);
  load->dst_inner = 65535;
  load->dst_mask = mask;
  tg_fill_walk(load, &walk, e->prologue.vector_base[v], e->prologue.vector_rest[v]);
  load->rows = 1;
  load->take = tg_gemm_prologue_vector_length(e->g, &e->t);
  load->k_first = first;
  load->convert = tg_stream_kind(f->vectors[v].name.value) == TG_STREAM_FP32 ? TG_CVT_32 : TG_CVT_16;
  tg_gemm_meet(e, stage, TG_ALL_CHANNELS, in, 0, 0, !v, v + 1 == f->vector_count);
}

/* Vectors come down the columns once: of those along n a tile needs its columns. */
void tg_gemm_load_prologue_vectors(emission *e, const tg_stage *stage, tg_queue *queue, uint32_t col) {
  const tg_gemm_prologue *f = &e->g->prologue;
  uint32_t apart = f->of_b ? e->t.alike : 1;
  for (uint32_t d = 0; d < apart; d++) {
    uint32_t mask = 0;
    for (uint32_t r = d; r < e->b.m->rows; r += apart) mask |= 2u << r;
    for (int v = 0; v < f->vector_count; v++)
      load_vector(e, stage, queue, v, mask, f->of_b ? tg_gemm_col_first(e, d, col) : 0);
  }
}
