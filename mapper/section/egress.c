#include "mapper/section/egress.h"

#include <assert.h>

enum { MOST_PORTS = 2 * (1 + TG_MORE_RESULTS) };

/* Of four diagonals, one behind the other, those whose tiles' results leave west, and how many these are. */
static const struct {
  uint8_t diagonals, count;
} leaves_west[TG_EGRESS_COUNT] = {
    [TG_EGRESS_BOTH] = {0x5, 2},      [TG_EGRESS_WEST] = {0xf, 4},       [TG_EGRESS_NORTH] = {0x0, 0},
    [TG_EGRESS_MOST_WEST] = {0x7, 3}, [TG_EGRESS_MOST_NORTH] = {0x1, 1},
};

bool tg_egress_possible(const tg_params *m, tg_egress egress) {
  return leaves_west[egress].count % 2 == 0 || (m->rows % 4 == 0 && m->cols % 4 == 0);
}

bool tg_leaves_west(tg_egress egress, uint32_t r, uint32_t col) {
  return leaves_west[egress].diagonals >> (r + col) % 4 & 1;
}

bool tg_egress_is_west(uint32_t r, uint32_t col) { return tg_leaves_west(TG_EGRESS_BOTH, r, col); }

typedef enum way { STAYS, LEAVES_WEST, LEAVES_NORTH } way;

static way way_out(const tg_build *b, uint32_t r, uint32_t col) {
  uint32_t members = b->members;
  if (tg_build_is_idle(b, r, col)) return STAYS;
  if (tg_leaves_west(b->egress, r, col)) return LEAVES_WEST;
  return r % members + 1 == members && r < b->m->rows / members * members ? LEAVES_NORTH : STAYS;
}

uint32_t tg_west_egress(const tg_params *m, tg_egress egress) {
  return (m->cols * leaves_west[egress].count + 3) / 4;
}

uint32_t tg_north_egress(const tg_params *m, tg_egress egress, uint32_t members) {
  return (m->rows / members * (4u - leaves_west[egress].count) + 3) / 4;
}

uint32_t tg_egress_share(const tg_params *m, tg_egress egress, uint32_t members) {
  return tg_store_rows(m) / tg_egress_parts(m, egress, members);
}

uint32_t tg_egress_parts(const tg_params *m, tg_egress egress, uint32_t members) {
  uint32_t west = tg_west_egress(m, egress), north = tg_north_egress(m, egress, members);
  return (west > north ? west : north) * 2;
}

uint32_t tg_egress_rank(tg_egress egress, uint32_t r, uint32_t col) {
  uint32_t rank = 0;
  bool west = tg_leaves_west(egress, r, col);
  for (uint32_t k = 0; k < (west ? col : r); k++)
    rank += tg_leaves_west(egress, west ? r : k, west ? k : col) == west;
  return rank;
}

/* SEND number `number` of `numbers` that each have an instruction of their own. */
static tg_instr *emit_send(const tg_build *b, const tg_store_port *port, uint32_t r, uint32_t col, bool west,
                           uint32_t number, uint32_t numbers) {
  tg_instr *in = tg_build_push(b, &tg_build_tile(b, r, col)->tx, TG_OP_tx_send);
  tg_tx_instr *tx = &in->tx;
  tx->dir = west ? TG_DIR_WEST : TG_DIR_NORTH;
  tx->flits = port->flits;
  if (port->drain_tiles > 1) {
    tg_set_operand(&tx->src, &port->buffer, true);
    tx->src_delta[2] = port->inner ? port->flits / port->inner * port->stride : port->flits;
  } else
    tg_set_rotation(&tx->src, &port->buffer, number, numbers);
  tx->src_inner = port->inner ? port->inner : 65535;
  tx->src_stride = port->stride;
  tx->dst_inner = 65535;
  tx->dst_mask = 1; /* position 0 */
  tx->dst_post = 1;
  bool several = port->drain_tiles > 1;
  const tg_join from = {.once = several,
                        .waits = port->shares ? TG_OF_NONE : TG_OF_EACH,
                        .posts = TG_OF_NONE},
                to = {.fills = true, .posts = TG_OF_NONE, .wait = 1};
  const tg_joint at = {.in = in, .r = r, .col = col};
  tg_join_channel(port->from, &from, &at);
  tg_join_channel(port->away, &to, &at);
  tx->dst_sem = tg_channel_at_agcu(port->away, west, r, col);
  return in;
}

/* The SEND is the last one that reads the buffer. */
static void give_back(const tg_store_port *port, tg_instr *in, uint32_t r, uint32_t col) {
  const tg_join from = {.once = port->drain_tiles > 1, .waits = TG_OF_NONE};
  tg_join_channel(port->from, &from, &(tg_joint){.in = in, .r = r, .col = col});
}

/* What leaves often, and seldom: by which AGCUs, or the tile's. */
typedef struct tile_port {
  tg_egress egress;
  bool west;
} tile_port;

/* The store ports of one tile, each of which has its part of the tile's share of the AGCU's store memory. */
typedef struct tile_ports {
  const tg_build *b;
  const tg_egress_plan *plan;
  uint32_t r, col;
  tg_buffer at_agcu[MOST_PORTS];
  tile_port often, seldom;
} tile_ports;

static const tile_port *port_of(const tile_ports *t, int x) {
  return x < t->plan->often ? &t->often : &t->seldom;
}

static void place_at_agcu(tile_ports *t) {
  const tg_egress_plan *plan = t->plan;
  uint32_t room = 2 * (tg_egress_share(t->b->m, t->b->egress, t->b->members) >> t->b->half_store),
           left = room, at = 0, copies = plan->together ? 1 : 2;
  for (int x = plan->often; x < plan->count; x++) left -= copies * plan->ports[x].flits;
  for (int x = 0; x < plan->count; x++) {
    bool often = x < plan->often;
    uint32_t rank = tg_egress_rank(port_of(t, x)->egress, t->r, t->col) / t->b->members,
             share = often ? left / 2 / (uint32_t)plan->often : plan->ports[x].flits;
    t->at_agcu[x] =
        (tg_buffer){.base = room * rank + at, .stride = share, .rows = share, .count = often ? 2 : copies};
    at += t->at_agcu[x].count * share;
  }
}

/* Of drain tile number `step`. What is sent seldom leaves with the last one of `every`. */
static tg_instr *emit_sends(const tile_ports *t, uint32_t step) {
  const tg_egress_plan *plan = t->plan;
  bool all = (step + 1) % plan->every == 0;
  int count = all ? plan->count : plan->often;
  tg_instr *in = NULL;
  for (int x = 0; x < count; x++) {
    const tg_store_port *port = &plan->ports[x];
    bool often = x < plan->often;
    in = emit_send(t->b, port, t->r, t->col, port_of(t, x)->west, step, plan->steps);
    tg_set_rotation(&in->tx.dst, &t->at_agcu[x], often ? step : step / plan->every,
                    often ? plan->steps : (plan->steps + plan->every - 1) / plan->every);
    if (!port->keeps && (x + 1 == count || x + 1 != plan->often)) give_back(port, in, t->r, t->col);
  }
  return in;
}

/* All drain tiles of the first store port, and the others behind them, or, where one context stores them all,
 * before. */
static void emit_looped_sends(const tile_ports *t) {
  tg_instr *in = NULL;
  for (int n = 0; n < t->plan->count; n++) {
    int x = t->plan->together ? (n + 1) % t->plan->count : n;
    const tg_store_port *port = &t->plan->ports[x];
    uint32_t slot = tg_build_tile(t->b, t->r, t->col)->tx.count;
    in = emit_send(t->b, port, t->r, t->col, port_of(t, x)->west, 0, 1);
    tg_set_operand(&in->tx.dst, &t->at_agcu[x], false);
    if (!port->keeps) give_back(port, in, t->r, t->col);
    if (x) continue;
    in->common.loop_count[2] = port->drain_tiles;
    in->common.loop_begin[2] = slot;
  }
  in->common.loop_count[0] = t->plan->ports[0].loops[0];
  in->common.loop_count[1] = t->plan->ports[0].loops[1];
}

/* A STORE issues when the one before has left the port, and asks for it a cycle later: of two contexts that
 * take turns, one asks while the other has it. */
static int store_context(const tile_ports *t, bool often) {
  const tile_port *port = often ? &t->often : &t->seldom;
  if (t->plan->together) return tg_egress_rank(port->egress, t->r, t->col) % 2 ? TG_CTX_AUX : TG_CTX_STORE;
  return often ? TG_CTX_STORE : TG_CTX_COLUMN_SUMS;
}

/* It waits for what arrives, and then the tile may send again. */
static void join_store(const tg_channel *away, bool west, tg_instr *store, uint32_t r, uint32_t col) {
  const tg_joint at = {
      .in = store, .r = r, .col = col, .first = true, .last = true, .place = west ? TG_AT_WEST : TG_AT_NORTH};
  tg_join_channel(away, &(tg_join){0}, &at);
}

static void emit_stores(const tile_ports *t, bool often, tg_queue *queue, tg_store_fill *fill,
                        const void *user) {
  const tile_port *port = often ? &t->often : &t->seldom;
  int first = often ? 0 : t->plan->often, end = often ? t->plan->often : t->plan->count;
  for (int x = first; x < end; x++) {
    tg_instr *in = tg_build_push(t->b, queue, TG_OP_agcu_store);
    fill(user, x, t->r, t->col, &in->agcu);
    tg_set_operand(&in->agcu.src, &t->at_agcu[x], false);
    join_store(t->plan->ports[x].away, port->west, in, t->r, t->col);
  }
}

static void emit_all_sends(const tile_ports *t) {
  const tg_egress_plan *plan = t->plan;
  uint32_t first = tg_build_tile(t->b, t->r, t->col)->tx.count;
  tg_instr *last = NULL;
  for (uint32_t step = 0; step < plan->steps; step++) last = emit_sends(t, step);
  tg_set_loops(last, plan->ports[0].loops);
  last->common.loop_count[2] /= plan->steps;
  last->common.loop_begin[2] = first; /* behind what is sent before in each pass */
}

static void emit_tile_sends(const tile_ports *t) {
  if (t->plan->steps)
    emit_all_sends(t);
  else
    emit_looped_sends(t);
}

/* The store ports of tile (r, col). False: it has none. */
static bool begin_tile(const tg_build *b, const tg_egress_plan *plan, uint32_t r, uint32_t col,
                       tile_ports *out) {
  if (way_out(b, r, col) == STAYS) return false;
  *out = (tile_ports){.b = b,
                      .plan = plan,
                      .r = r,
                      .col = col,
                      .often = {b->egress, tg_leaves_west(b->egress, r, col)},
                      .seldom = {plan->seldom, tg_leaves_west(plan->seldom, r, col)}};
  place_at_agcu(out);
  return true;
}

static void send(const tg_build *b, const tg_egress_plan *plan, uint32_t r, uint32_t col) {
  tile_ports t;
  if (begin_tile(b, plan, r, col, &t)) emit_tile_sends(&t);
}

/* What leaves seldom stays in front of the loop over drain tiles, which begins at slot `often`, if one context stores both. */
static void end_loops(const tg_egress_plan *plan, tg_queue *queue, uint32_t often, uint32_t every) {
  tg_instr *last = &queue->instrs[queue->count - 1];
  tg_set_loops(last, plan->ports[0].loops);
  last->common.loop_count[2] /= every;
  if (!plan->together) return;
  last->common.loop_begin[2] = often;
  if (often == queue->count) last->common.loop_count[2] = 0;
}

static void store(const tg_build *b, const tg_egress_plan *plan, const tg_stage *stage, tg_queue *queue,
                  tg_turn at, tg_store_fill *fill, const void *user) {
  bool west = stage->seat == TG_SIDE_WEST;
  uint32_t begin = queue->count, behind = 0;
  for (int often = plan->count == plan->often; often < 2; often++) {
    behind = queue->count;
    for (uint32_t i = 0; i < (west ? b->m->cols : b->m->rows); i++) {
      tile_ports t;
      if (!begin_tile(b, plan, west ? at.r : i, west ? i : at.col, &t)) continue;
      if ((often ? &t.often : &t.seldom)->west != west || store_context(&t, often) != stage->context)
        continue;
      emit_stores(&t, often, queue, fill, user);
    }
  }
  if (queue->count == begin) return;
  end_loops(plan, queue, behind, stage->context == TG_CTX_COLUMN_SUMS ? plan->every : 1);
}

void tg_egress_emit(const tg_build *b, const tg_egress_plan *plan, const tg_stage *stage, tg_queue *queue,
                    tg_turn at, tg_store_fill *fill, const void *user) {
  if (stage->seat == TG_UNIT_TX)
    send(b, plan, at.r, at.col);
  else
    store(b, plan, stage, queue, at, fill, user);
}
