/* What moves in a replay: LOADs and STOREs at their ports, SENDs, and lanes. */
#include "mapper/section/replay_state.h"

/* ---- lanes ---- */

typedef struct way {
  tg_replay_lane *lane;
  uint32_t position; /* of the source */
  bool up;
} way;

static way way_of(const tg_replay *r, uint32_t endpoint, int64_t direction) {
  uint32_t tiles = tg_tiles(r->m), cols = r->m->cols, line, position = 0;
  bool row = direction == TG_DIR_EAST || direction == TG_DIR_WEST,
       up = direction == TG_DIR_EAST || direction == TG_DIR_SOUTH;
  if (endpoint >= tiles) {
    line = row ? endpoint - tiles : endpoint - tiles - r->m->rows;
  } else {
    line = row ? endpoint / cols : endpoint % cols;
    position = 1 + (row ? endpoint % cols : endpoint / cols);
  }
  uint32_t number = 2 * (row ? line : r->m->rows + line) + up;
  return (way){&r->lane[number], position, up};
}

/* The first cycle from `age` on in which nothing else is on the way, which is then reserved. */
static uint64_t grant(way w, uint32_t mask, uint64_t age, uint32_t flits) {
  uint32_t farthest = w.up ? 31 - (uint32_t)__builtin_clz(mask) : (uint32_t)__builtin_ctz(mask);
  uint32_t first = w.up ? w.position : farthest, last = w.up ? farthest : w.position;
  for (uint32_t s = first; s < last; s++) {
    uint64_t hops = w.up ? s - first : last - 1 - s;
    if (age + hops < w.lane->reserved[s]) age = w.lane->reserved[s] - hops;
  }
  for (uint32_t s = first; s < last; s++)
    w.lane->reserved[s] = age + (w.up ? s - first : last - 1 - s) + flits;
  return age;
}

/* The last burst arrives, granted at `granted`. */
static void arrive(tg_replay *r, uint32_t endpoint, way w, int64_t direction, uint32_t mask,
                   uint32_t semaphore, uint64_t granted, uint32_t flits) {
  for (; mask; mask &= mask - 1) {
    uint32_t position = (uint32_t)__builtin_ctz(mask);
    uint64_t hops = w.up ? position - w.position : w.position - position;
    tg_replay_post(r, tg_lane_endpoint(r->m, endpoint, (uint32_t)direction, position), semaphore,
                   granted + 2 + hops + flits);
  }
}

static uint32_t next_burst(const tg_replay *r, const tg_replay_unit *u) {
  uint32_t left = u->flits - u->flit;
  return left < r->m->burst_flits ? left : r->m->burst_flits;
}

static void go_on(tg_replay *r, uint32_t unit, uint64_t ready) {
  tg_replay_unit *u = &r->unit[unit];
  u->busy = false;
  u->ready = ready;
  if (!tg_sequencer_done(u->sequencer)) u->now = tg_sequencer_peek(u->sequencer);
  tg_replay_plan(r, unit);
}

void tg_replay_send(tg_replay *r, uint32_t unit) {
  tg_replay_unit *u = &r->unit[unit];
  tg_execution x = u->now;
  const tg_tx_instr *in = &x.in->tx;
  uint32_t flits = next_burst(r, u), mask = (uint32_t)in->dst_mask;
  way w = way_of(r, u->endpoint, in->dir);
  uint64_t granted = grant(w, mask, r->now, flits);
  u->flit += flits;
  if (u->flit < u->flits) {
    tg_replay_at(r, granted + 3, TG_REPLAY_SEND, unit);
    return;
  }
  if (in->dst_post) arrive(r, u->endpoint, w, in->dir, mask, (uint32_t)in->dst_sem, granted, flits);
  go_on(r, unit, granted + flits + 1);
  tg_replay_end(r, u, &x, granted + flits);
}

/* ---- ports ---- */

static uint32_t first_unit(const tg_replay *r, uint32_t port) {
  return r->first_context + port * r->m->agcu_contexts;
}

static void plan_port(tg_replay *r, uint32_t port, uint64_t time) {
  tg_replay_port *p = &r->port[port];
  if (time < p->free_at) time = p->free_at;
  if (time >= p->planned) return;
  p->planned = time;
  tg_replay_at(r, time, TG_REPLAY_PORT, port);
}

void tg_replay_issue_move(tg_replay *r, uint32_t unit) {
  tg_replay_unit *u = &r->unit[unit];
  u->busy = true;
  u->start = r->now;
  u->flit = 0;
  if (u->kind == TG_TX) {
    u->flits = (uint32_t)u->now.in->tx.flits;
    tg_replay_at(r, r->now + 2, TG_REPLAY_SEND, unit);
    return;
  }
  u->flits = tg_agcu_flits(r->m, &u->now.in->agcu);
  tg_walk_begin(&u->walk, r->m, &u->now.in->agcu, u->now.index, r->bases[u->now.in->agcu.base]);
  plan_port(r, u->endpoint - tg_tiles(r->m), r->now + 1);
}

static bool has_buffer(tg_replay *r, tg_replay_port *p) {
  while (p->oldest != p->leaving && p->bursts[p->oldest % r->m->agcu_buffers].freed <= r->now) p->oldest++;
  return p->newest - p->oldest < r->m->agcu_buffers;
}

/* The oldest burst asks for the lane as soon as it is complete and the one before it has left. */
static void ask(tg_replay *r, uint32_t port) {
  tg_replay_port *p = &r->port[port];
  uint64_t complete = p->bursts[p->leaving % r->m->agcu_buffers].complete,
           time = complete > p->left_at ? complete : p->left_at + 1;
  tg_replay_at(r, time + 2, TG_REPLAY_LEAVE, port);
}

/* Pieces of the port's loads that have not come in cycle `time`; no more than the latency are sent ahead. */
static double sent_ahead(const tg_replay *r, const tg_replay_port *p, uint32_t pieces, double time) {
  uint32_t flying = pieces;
  for (uint32_t n = p->newest; n != p->oldest && p->newest - n < r->m->agcu_buffers; n--) {
    const tg_replay_burst *burst = &p->bursts[(n - 1) % r->m->agcu_buffers];
    if ((double)burst->complete <= time) break;
    flying += burst->pieces;
    if (flying > r->m->dram_latency + 1) return (double)burst->complete;
  }
  return time;
}

/* When the memory has all of a burst whose port is busy until `last`; `*out_free`: when the port may go on. */
static uint64_t pass_device(tg_replay *r, tg_replay_port *p, const tg_walk *walk, uint32_t pieces,
                            uint32_t atoms, bool store, uint64_t first, uint64_t last, uint64_t *out_free) {
  double step = (double)(last + 1 - first) / (r->spans.count ? atoms : 1), held = 0, asked = (double)first,
         done = asked;
  uint64_t last_atom = UINT64_MAX;
  uint32_t port = (uint32_t)(p - r->port);
  if (!store) held = sent_ahead(r, p, pieces, (double)last);
  for (uint32_t i = 0; i < r->spans.count; i++) {
    const tg_span *span = &r->spans.span[i];
    uint64_t bytes = (uint64_t)span->valid_count * walk->memory_bytes;
    if (!bytes) continue;
    double there =
        tg_replay_ask(r->memory, port, (uint64_t)span->address, bytes, asked, step, store, &last_atom, &held);
    if (there > done) done = there;
    asked += step * (double)(bytes + 63) / 64;
    if (asked > (double)last) asked = (double)last;
  }
  if (held > (double)last) *out_free = (uint64_t)held + 1;
  if (store) return last;
  uint64_t carried = p->linked + (uint64_t)atoms * tg_atom_cycles(r->m), there = (uint64_t)done;
  p->linked = there > carried ? there : carried;
  return p->linked;
}

/* The same of a memory with or without a device. */
static uint64_t pass_memory(tg_replay *r, tg_replay_port *p, const tg_walk *walk, uint32_t pieces,
                            uint32_t atoms, bool store, uint64_t first, uint64_t *out_free) {
  uint64_t last = first + tg_burst_cycles(r->m, pieces, atoms) - 1;
  *out_free = last + 1;
  if (!r->memory) return last + r->m->dram_latency;
  return pass_device(r, p, walk, pieces, atoms, store, first, last, out_free);
}

static void load(tg_replay *r, uint32_t port, uint32_t unit, uint32_t flits, uint32_t pieces,
                 uint64_t complete) {
  tg_replay_port *p = &r->port[port];
  tg_replay_unit *u = &r->unit[unit];
  uint32_t number = p->newest++;
  p->bursts[number % r->m->agcu_buffers] = (tg_replay_burst){.complete = complete,
                                                             .freed = TG_REPLAY_NEVER,
                                                             .unit = unit,
                                                             .flits = flits,
                                                             .pieces = pieces,
                                                             .last = u->flit + flits == u->flits,
                                                             .execution = u->now};
  if (number == p->leaving) ask(r, port);
}

static void serve(tg_replay *r, uint32_t port, uint32_t unit) {
  tg_replay_port *p = &r->port[port];
  tg_replay_unit *u = &r->unit[unit];
  tg_execution x = u->now;
  const tg_agcu_instr *in = &x.in->agcu;
  uint32_t flits = next_burst(r, u), atoms = 0,
           fetch = tg_index_cycles(r->m, in, x.address[TG_AT_INDEX], u->flit, flits),
           pieces = tg_walk_burst(&u->walk, flits, r->memory ? &r->spans : NULL, &atoms);
  bool store = in->op == TG_OP_agcu_store, done = u->flit + flits == u->flits;
  uint64_t free_at, complete = pass_memory(r, p, &u->walk, pieces, atoms, store, r->now + fetch, &free_at);
  p->granted = u->context;
  p->free_at = free_at;
  if (!store) load(r, port, unit, flits, pieces, complete);
  u->flit += flits;
  r->moved += flits;
  plan_port(r, port, p->free_at);
  if (!done) return;
  go_on(r, unit, store ? p->free_at + 1 : r->now + 1);
  if (store) tg_replay_end(r, u, &x, p->free_at);
}

void tg_replay_serve_port(tg_replay *r, uint32_t port) {
  tg_replay_port *p = &r->port[port];
  if (p->planned != r->now) return;
  p->planned = TG_REPLAY_NEVER;
  uint32_t contexts = r->m->agcu_contexts;
  bool buffer = has_buffer(r, p), starved = false;
  for (uint32_t i = 1; i <= contexts; i++) {
    uint32_t unit = first_unit(r, port) + (p->granted + i) % contexts;
    tg_replay_unit *u = &r->unit[unit];
    if (!u->busy) continue;
    if (u->start >= r->now) {
      plan_port(r, port, r->now + 1);
      continue;
    }
    if (u->now.in->common.op != TG_OP_agcu_store && !buffer) {
      starved = true;
      continue;
    }
    serve(r, port, unit);
    return;
  }
  if (starved && p->oldest != p->leaving) plan_port(r, port, p->bursts[p->oldest % r->m->agcu_buffers].freed);
}

void tg_replay_leave(tg_replay *r, uint32_t port) {
  tg_replay_port *p = &r->port[port];
  tg_replay_burst *burst = &p->bursts[p->leaving++ % r->m->agcu_buffers];
  tg_replay_unit *u = &r->unit[burst->unit];
  const tg_agcu_instr *in = &burst->execution.in->agcu;
  int64_t direction = tg_is_west(r->m, port) ? TG_DIR_EAST : TG_DIR_SOUTH;
  way w = way_of(r, u->endpoint, direction);
  uint32_t mask = (uint32_t)in->dst_mask;
  uint64_t granted = grant(w, mask, r->now, burst->flits);
  p->left_at = granted;
  burst->freed = granted + burst->flits + 1;
  if (burst->last && in->dst_post)
    arrive(r, u->endpoint, w, direction, mask, (uint32_t)in->dst_sem, granted, burst->flits);
  if (burst->last) tg_replay_end(r, u, &burst->execution, granted + burst->flits);
  if (p->leaving != p->newest) ask(r, port);
  plan_port(r, port, burst->freed);
}
