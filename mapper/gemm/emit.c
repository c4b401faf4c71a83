/* Emission of a product: A multicast along rows, B along columns, where tiles share them; one GEMM a K chunk,
 * one VOP a drain tile (drain.c). Loops of every unit: passes over m, passes over n, and inside
 * them K chunks (loads, mx) or drain tiles of the block (vx, tx, stores). Where a chunk is all of K, the operand
 * of the outer loop over passes, either one, is loaded once for all passes of the inner one: its GEMMs wait
 * for it where the inner loop begins and give it back where it ends. Where a tile multiplies all parts of K
 * in turn, parts take the place of chunks, each of which has instructions of its own; where it multiplies
 * some of them, or parts of too many chunks, parts take the place of the passes over n, each of which is a
 * section (a strip) then. */
#include "mapper/gemm/emission.h"
#include "mapper/gemm/gemm.h"
#include "mapper/gemm/layout.h"
#include "mapper/gemm/prologue.h"

#include <assert.h>
#include <string.h>

typedef tg_gemm_emission emission;

/* Operands that arrive and are read together lie side by side in banks of their own, or beside the vectors of
 * a prologue. */
static void place_operands(emission *e, bool once) {
  const tg_gemm *g = e->g;
  const tg_params *m = e->b.m;
  tg_buffer all = e->channels[once ? TG_ROLE_OPERANDS_ONCE : TG_ROLE_OPERANDS].ring;
  if (once && tg_gemm_makes_a(e))
    all = tg_buffer_part(m, &e->channels[TG_ROLE_PROLOGUE_VECTORS].ring,
                         tg_gemm_prologue_vector_rows(m, g, &e->t),
                         (uint32_t)tg_epilogue_operands_before(m, g, &e->t, once, g->epilogue_operand_count));
  for (int x = 0; x < g->epilogue_operand_count; x++) {
    if (tg_gemm_loads_once(&e->t, &g->epilogue_operands[x]) != once) continue;
    uint32_t before = (uint32_t)tg_epilogue_operands_before(m, g, &e->t, once, x);
    e->operands.buffers[x] =
        tg_buffer_part(m, &all, before, (uint32_t)tg_epilogue_operand_rows(m, g, &e->t, x));
    *(once ? &e->operands.vector_count : &e->operands.block_count) += 1;
  }
}

/* Results of a drain tile, and behind them its column sums, which may have a buffer of their own. */
static void place_results(emission *e) {
  const tg_buffer *column_sums = &e->channels[TG_ROLE_COLUMN_SUMS].ring;
  const tg_gemm *g = e->g;
  const tg_params *m = e->b.m;
  for (int k = 0; k < g->outs; k++)
    e->results[k] =
        tg_buffer_part(m, &e->channels[TG_ROLE_OUT].ring, (uint32_t)tg_gemm_results_before(m, g, &e->t, k),
                       (uint32_t)tg_gemm_result_rows(m, g, &e->t, k));
  uint32_t rows = tg_gemm_column_sums_a_drain_tile(g, &e->t) * tg_gemm_column_sum_flits(m, &e->t),
           first = column_sums->rows ? 0 : (uint32_t)tg_gemm_results_before(m, g, &e->t, g->outs);
  for (int i = 0; i < g->column_sums.count; i++)
    e->column_sums.out[i] =
        tg_buffer_part(m, column_sums->rows ? column_sums : &e->channels[TG_ROLE_OUT].ring,
                       first + rows * (uint32_t)i, rows);
}

/* Opens the channels that the tiling was found to have room for. */
static bool open_channels(emission *e) {
  tg_channel_plan plans[TG_GEMM_ROLES];
  for (int i = 0; i < TG_GEMM_ROLES; i++) e->channels[i] = TG_CHANNEL_NONE;
  tg_gemm_plan_channels(e->b.m, e->g, &e->t, plans);
  if (!tg_channels_place(&e->b, plans, TG_GEMM_ROLES, e->channels)) return false;
  if (e->t.kept) e->channels[TG_ROLE_B].ring = tg_gemm_kept_buffer(e->b.m, &e->g->kept);
  tg_gemm_open_channels(&e->b, plans, e->channels);
  tg_gemm_set_sources(e);
  place_results(e);
  place_operands(e, true);
  place_operands(e, false);
  return true;
}

static int64_t bytes_of(const tg_value *value, int64_t elements) {
  return elements * tg_value_bytes_each(value);
}

void tg_gemm_allocate_bases(emission *e, int64_t product) {
  const tg_gemm *g = e->g;
  e->product = product;
  e->a_base = tg_build_base(&e->b, tg_place_of(e->c, g->a), (uint64_t)bytes_of(g->a, g->a_offsets[product]),
                            &e->a_rest);
  if (!tg_gemm_makes_b(e) && !e->t.kept)
    e->b_base = tg_build_base(&e->b, tg_place_of(e->c, g->b), (uint64_t)bytes_of(g->b, g->b_offsets[product]),
                              &e->b_rest);
  if (g->second) {
    e->second_bases.a = tg_build_base(&e->b, tg_place_of(e->c, g->second->a),
                                      (uint64_t)bytes_of(g->second->a, g->second->a_offsets[product]),
                                      &e->second_bases.a_rest);
    e->second_bases.b = tg_build_base(&e->b, tg_place_of(e->c, g->second->b),
                                      (uint64_t)bytes_of(g->second->b, g->second->b_offsets[product]),
                                      &e->second_bases.b_rest);
  }
  if (tg_gemm_has_prologue(e)) tg_gemm_allocate_prologue_bases(e);
  if (tg_gemm_pool_marks(g, &e->t)) tg_gemm_allocate_marks(e);
  for (int k = 0; k < g->outs; k++)
    e->out_base[k] = tg_build_base(&e->b, tg_place_of(e->c, g->out[k]),
                                   (uint64_t)bytes_of(g->out[k], g->out_offsets[product]), &e->out_rest[k]);
  for (int i = 0; i < g->column_sums.count; i++)
    e->column_sums.base[i] =
        tg_build_base(&e->b, tg_place_of(e->c, g->column_sums.out[i]), 0, &e->column_sums.rest[i]);
  for (int x = 0; x < g->epilogue_operand_count; x++) {
    tg_value *value = g->epilogue_operands[x].access.name.value;
    e->operands.base[x] = tg_build_base(&e->b, tg_place_of(e->c, value),
                                        (uint64_t)bytes_of(value, g->epilogue_operands[x].offsets[product]),
                                        &e->operands.rest[x]);
  }
}

/* ---- stores ---- */

/* Columns of a block that a tile stores: if N has fewer, it is one block. */
static uint32_t stored_columns(const emission *e) {
  return (uint32_t)tg_min(e->g->n, tg_gemm_own_columns(&e->t));
}

static void fill_result(const emission *e, int k, uint32_t r, uint32_t col, tg_agcu_instr *store) {
  const tg_gemm *g = e->g;
  tg_walk_plan walk = {.tensor = tg_place_of(e->c, g->out[k]), .element_stride = 1, .columns = g->n};
  tg_gemm_walk_rows(e, g->out_stride, &walk);
  tg_fill_walk(store, &walk, e->out_base[k], e->out_rest[k]);
  tg_gemm_walk_runs(g, g->out_run_stride, tg_value_bytes_each(g->out[k]), store);
  store->rows = e->t.sent ? e->t.sent : e->t.mr;
  tg_gemm_place place = tg_gemm_place_of(e, r, col);
  store->m_first = place.row;
  memcpy(store->m_delta, place.row_delta, sizeof place.row_delta);
  if (e->t.sent) store->m_delta[1] = e->t.mr, store->m_delta[2] = e->t.sent;
  store->convert = g->out_kind[k] == TG_STREAM_FP32 ? TG_CVT_32 : TG_CVT_16;
  tg_gemm_begin_strip(e, r, col, store);
}

static void fill_store(const void *user, int port, uint32_t r, uint32_t col, tg_agcu_instr *store) {
  const emission *e = user;
  if (port < e->g->outs)
    fill_result(e, port, r, col, store);
  else
    tg_gemm_fill_column_sums(e, port - e->g->outs, r, col, store);
  tg_gemm_place place = tg_gemm_place_of(e, r, col);
  store->take = stored_columns(e);
  store->k_first = place.column;
  memcpy(store->k_delta, place.column_delta, sizeof place.column_delta);
  if (e->t.sent) store->k_delta[1] = 0; /* the level is that of drain tiles */
  if (port < e->g->outs && !place.column && tg_gemm_stores_runs(e->b.m, e->g, &e->t, port))
    tg_gemm_join_rows(e->g->m, e->g->n, bytes_of(e->g->out[port], 1), store);
  if (tg_gemm_walks_groups(e->b.m, e->g, &e->t))
    tg_gemm_walk_groups(e->g, &e->t, place.column, e->g->out_run_stride, bytes_of(e->g->out[port], 1), store);
}

/* ---- sections and invocations ---- */

/* The results of a drain tile are full, and free, together, and with them its column sums: the first SEND waits for
 * it, and the last one tells. A drain tile that does not leave as a whole has the innermost loop, and its column
 * sums leave behind it; or, if they have a buffer of their own, that is soon free, before. */
static void set_ports(emission *e) {
  const tg_gemm *g = e->g;
  int all_ports = g->outs + g->column_sums.count,
      first = tg_gemm_has_prologue(e) && g->column_sums.count ? g->outs : 0;
  for (int k = 0; k < all_ports; k++) {
    bool column_sum = k >= g->outs;
    int kind = column_sum ? TG_STREAM_FP32 : g->out_kind[k];
    bool groups = tg_gemm_walks_groups(e->b.m, g, &e->t);
    uint32_t row = tg_kind_flits(e->b.m, kind, groups ? (uint32_t)g->run : e->t.nt),
             sent = tg_kind_flits(e->b.m, kind, groups ? (uint32_t)g->run_own : stored_columns(e)),
             rows = groups ? e->t.nt / (uint32_t)g->run : 1;
    bool last = first ? k + 1 == first : k + 1 == all_ports || (k + 1 == g->outs && !e->t.sent);
    tg_store_port *port = &e->ports[k];
    *port = (tg_store_port){.from = &e->channels[first && column_sum ? TG_ROLE_COLUMN_SUMS : TG_ROLE_OUT],
                            .away = &e->channels[TG_ROLE_AWAY + k],
                            .shares = k != first,
                            .keeps = !last,
                            .flits = (column_sum  ? tg_gemm_column_sums_a_drain_tile(g, &e->t)
                                      : e->t.sent ? e->t.sent
                                                  : e->t.mr) *
                                     sent * rows,
                            .drain_tiles = e->t.sent && !column_sum ? e->t.mr / e->t.sent : 1,
                            .buffer = column_sum ? e->column_sums.out[k - g->outs] : e->results[k]};
    if (sent < row) port->inner = sent, port->stride = row;
    if (first && k + 1 == all_ports) port->keeps = false;
    memcpy(port->loops, e->drain_tile_loops, sizeof port->loops);
    if (e->t.sent) port->loops[1] = e->drain_tiles, port->loops[2] = e->t.mr / e->t.sent;
  }
}

static void plan_egress(emission *e) {
  set_ports(e);
  e->egress = (tg_egress_plan){.ports = e->ports,
                               .count = e->g->outs + e->g->column_sums.count,
                               .often = e->g->outs,
                               .every = tg_gemm_drain_tiles_of_column_sum(e->g, &e->t),
                               .steps = e->steps,
                               .together = tg_gemm_stores_together(e->g),
                               .seldom = e->t.column_sums_egress};
  if (e->t.sent && e->g->column_sums.count) e->egress.every = e->t.mr / e->t.sent, e->egress.steps = 0;
}

/* What a prologue makes and others read: from tx, and by AGCUs. */
static void emit_prologue_store(emission *e, const tg_stage *stage, tg_queue *queue, uint32_t r,
                                uint32_t col) {
  bool west = stage->seat == TG_SIDE_WEST, made = tg_gemm_makes_b(e);
  if (stage->seat == TG_UNIT_TX)
    (made ? tg_gemm_emit_made_away : tg_gemm_emit_prologue_sends)(e, stage, r, col);
  else if (made)
    tg_gemm_emit_producer_stores(e, stage, queue, col);
  else
    tg_gemm_emit_prologue_stores(e, stage, queue, west ? r : col);
}

/* Behind the SENDs of results, those of sums, or of a prologue's chunks, are put between them. */
static void emit_result_sends(emission *e, const tg_stage *stage, tg_queue *queue, tg_turn at) {
  uint32_t r = at.r, col = at.col;
  tg_egress_emit(&e->b, &e->egress, stage, queue, at, fill_store, e);
  if (e->t.ring) tg_gemm_skew_egress(e, r, col);
  if (e->g->prologue.stored && tg_gemm_makes_a(e)) tg_gemm_share_sends(e, r, col);
}

static void emit_sync(emission *e, const tg_stage *stage, tg_queue *queue, int op, uint32_t r, uint32_t col) {
  tg_gemm_meet(e, stage, TG_ALL_CHANNELS, tg_build_push(&e->b, queue, op), r, col, true, true);
}

static void emit_unit(emission *e, const tg_stage *stage, tg_queue *queue, uint32_t r, uint32_t col) {
  switch (stage->kind) {
  case TG_STAGE_MULTIPLY:
    (e->second ? tg_gemm_multiply_both : tg_gemm_emit_multiply)(e, stage, r, col);
    break;
  case TG_STAGE_SECOND_MULTIPLY: tg_gemm_multiply_both(e, stage, r, col); break;
  case TG_STAGE_WHOLE_B: emit_sync(e, stage, queue, TG_OP_mx_sync, r, col); break;
  case TG_STAGE_SECOND_WHOLE_B: emit_sync(e->second, stage, queue, TG_OP_mx_sync, r, col); break;
  case TG_STAGE_VECTORS: emit_sync(e, stage, queue, TG_OP_vx_sync, r, col); break;
  case TG_STAGE_PROLOGUE:
    (tg_gemm_makes_b(e) ? tg_gemm_emit_making : tg_gemm_emit_prologue)(e, stage, r, col);
    break;
  case TG_STAGE_SUMS:
    (stage->seat == TG_UNIT_VX ? tg_gemm_emit_sums : tg_gemm_emit_sum_sends)(e, stage, r, col);
    break;
  case TG_STAGE_DRAIN: tg_gemm_emit_drain(e, stage, r, col); break;
  case TG_STAGE_EDGES: tg_gemm_emit_edges(e, r, col); break;
  case TG_STAGE_AROUND: tg_gemm_emit_around(e, stage, r, col); break;
  case TG_STAGE_RETURNS: tg_gemm_emit_returns(e, stage, r, col); break;
  case TG_STAGE_PROLOGUE_STORE: emit_prologue_store(e, stage, queue, r, col); break;
  case TG_STAGE_RESULTS: emit_result_sends(e, stage, queue, (tg_turn){.r = r, .col = col}); break;
  default: assert(false); /* no other stage is in a unit */
  }
}

static void emit_stage(void *user, const tg_stage *stage, tg_queue *queue, tg_turn turn) {
  emission *e = user;
  bool west = stage->seat == TG_SIDE_WEST;
  uint32_t r = turn.r, col = turn.col, at = west ? r : col;
  if (stage->seat >= TG_SIDES) {
    if (!tg_build_is_idle(&e->b, r, col)) emit_unit(e, stage, queue, r, col);
  } else if (stage->kind == TG_STAGE_PROLOGUE_STORE)
    emit_prologue_store(e, stage, queue, r, col);
  else if (stage->kind == TG_STAGE_RESULTS || stage->kind == TG_STAGE_COLUMN_SUMS)
    tg_egress_emit(&e->b, &e->egress, stage, queue, turn, fill_store, e);
  else if (stage->kind == TG_STAGE_SECOND_A || stage->kind == TG_STAGE_SECOND_B)
    tg_gemm_load_second(e, stage, queue, at);
  else
    tg_gemm_emit_load(e, stage, queue, at);
}

void tg_gemm_find_idle(emission *e) {
  bool *idle = TG_NEW_ARRAY(e->c->arena, bool, (size_t)tg_tiles(e->b.m));
  for (uint32_t i = 0; i < tg_tiles(e->b.m); i++)
    idle[i] = tg_gemm_is_idle(e, i / e->b.m->cols, i % e->b.m->cols);
  e->b.idle = idle;
}

tg_status tg_gemm_emit_section(emission *e, const char *name, int64_t product) {
  tg_build_begin(&e->b, e->c, name);
  e->b.egress = e->t.egress;
  e->b.members = e->t.ring ? 1 : e->t.members;
  e->b.half_store = e->g->prologue.stored;
  e->operands.vector_count = e->operands.block_count = 0;
  if (!open_channels(e)) return TG_INVALID; /* which says how many banks it needs */
  tg_gemm_find_idle(e);
  tg_gemm_allocate_bases(e, product);
  plan_egress(e);
  tg_status status = tg_gemm_pack_drain(e);
  if (status) return status;
  emission second;
  if (e->g->second) {
    tg_gemm_begin_second(e, &second);
    e->second = &second;
  }
  const uint32_t *k = e->k_loops, *steps = e->ring_loops, *drain_tiles = e->drain_tile_loops;
  const uint32_t loops[TG_GEMM_NESTS][3] = {
      [TG_NEST_CHUNKS] = {k[0], k[1], k[2]},
      [TG_NEST_DRAIN_TILES] = {steps[0], steps[1], steps[2]},
      [TG_NEST_BLOCKS] = {drain_tiles[0], drain_tiles[1], drain_tiles[2] / e->steps},
      [TG_NEST_ROUNDS] = {0, 0, e->t.producers ? e->t.chunks / e->t.producers : 0},
      [TG_NEST_SECOND] = {k[0], k[1], e->t.second.chunks},
  };
  tg_stages_emit(&e->b, &e->stages, tg_gemm_used_rows(e), loops, emit_stage, e);
  e->second = NULL;
  return TG_OK;
}
