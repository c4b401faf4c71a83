/* Lanes: SEND, the arbiter of a lane, and what a granted burst does at its destinations (docs/machine.md,
 * section 6). */
#include "sim/systemc/chip.h"

#include <assert.h>

static uint32_t endpoint_at(const tg_chip *chip, const tg_lane_state *lane, uint32_t position) {
  uint32_t tiles = tg_tiles(chip->m);
  if (lane->row) return position ? lane->line * chip->m->cols + position - 1 : tiles + lane->line;
  return position ? (position - 1) * chip->m->cols + lane->line : tiles + chip->m->rows + lane->line;
}

static uint32_t lane_of(const tg_chip *chip, uint32_t line, int64_t direction) {
  uint32_t rows = chip->m->rows, cols = chip->m->cols;
  switch (direction) {
  case TG_DIR_EAST: return line;
  case TG_DIR_WEST: return rows + line;
  case TG_DIR_SOUTH: return 2 * rows + line;
  default: return 2 * rows + cols + line;
  }
}

tg_transfer tg_transfer_of(const tg_chip *chip, uint32_t endpoint, int64_t direction, int64_t mask) {
  uint32_t tiles = tg_tiles(chip->m), cols = chip->m->cols, line, position = 0;
  bool row = direction == TG_DIR_EAST || direction == TG_DIR_WEST,
       up = direction == TG_DIR_EAST || direction == TG_DIR_SOUTH;
  if (endpoint >= tiles) {
    line = row ? endpoint - tiles : endpoint - tiles - chip->m->rows;
  } else {
    line = row ? endpoint / cols : endpoint % cols;
    position = 1 + (row ? endpoint % cols : endpoint / cols);
  }
  uint32_t m = (uint32_t)mask;
  return (tg_transfer){.lane = lane_of(chip, line, direction),
                       .position = position,
                       .mask = m,
                       .farthest = (uint32_t)(up ? 31 - __builtin_clz(m) : __builtin_ctz(m))};
}

static uint32_t segments(const tg_request *r) { return ((2u << r->last) - 1) & ~((1u << r->first) - 1); }

/* First cycle from `from` on when no reservation stands against the request. */
static uint64_t unreserved(const tg_lane_state *lane, const tg_request *r, uint64_t from) {
  for (uint32_t s = r->first; s <= r->last; s++) {
    uint64_t hops = lane->up ? s - r->first : r->last - s;
    if (from + hops < lane->reserved[s]) from = lane->reserved[s] - hops;
  }
  return from;
}

/* The request that is granted first if nothing is added, and when; NULL: none waits. */
static const tg_request *next_grant(const tg_lane_state *lane, uint64_t from, uint64_t *out_cycle) {
  const tg_request *best = NULL;
  uint32_t wanted = 0;
  for (uint32_t i = 0; i < lane->count; i++) {
    const tg_request *r = &lane->requests[i];
    if (best && r->age >= *out_cycle) break; /* too young to be in time */
    uint32_t path = segments(r);
    if (!(path & wanted)) {
      uint64_t cycle = unreserved(lane, r, r->age > from ? r->age : from);
      if (!best || cycle < *out_cycle) {
        best = r;
        *out_cycle = cycle;
      }
    }
    wanted |= path;
  }
  return best;
}

static void plan(tg_chip *chip, uint32_t lane, uint64_t from) {
  uint64_t cycle;
  if (next_grant(&chip->lane[lane], from, &cycle)) tg_chip_wake(chip, tg_agent_of_lane(chip, lane), cycle);
}

void tg_lane_request(tg_chip *chip, const tg_transfer *t, uint64_t seen, uint32_t flits) {
  uint64_t age = seen + 1; /* the first cycle in which it may be granted */
  tg_lane_state *lane = &chip->lane[t->lane];
  assert(age > chip->now && lane->count < 17);
  tg_request r = {.age = age, .position = t->position, .flits = flits};
  r.first = lane->up ? t->position : t->farthest;
  r.last = (lane->up ? t->farthest : t->position) - 1;
  uint32_t at = lane->count++;
  while (at > 0 && (lane->requests[at - 1].age > age ||
                    (lane->requests[at - 1].age == age && lane->requests[at - 1].position > r.position))) {
    lane->requests[at] = lane->requests[at - 1];
    at--;
  }
  lane->requests[at] = r;
  plan(chip, t->lane, chip->now + 1);
}

/* `flits` flits from `first` on, granted now, at every destination. */
static void deliver(tg_chip *chip, const tg_transfer *t, uint32_t first, uint32_t flits, bool last) {
  const tg_lane_state *lane = &chip->lane[t->lane];
  for (uint32_t mask = t->mask; mask; mask &= mask - 1) {
    uint32_t position = (uint32_t)__builtin_ctz(mask), endpoint = endpoint_at(chip, lane, position);
    uint64_t hops = lane->up ? position - t->position : t->position - position, cycle = chip->now + 2 + hops;
    if (position) tg_bank_own_rows(chip, endpoint, TG_PORT_LANE + lane->direction, t, first, flits, cycle);
    if (last && t->post)
      tg_semaphore_post(chip, endpoint * chip->m->semaphores + t->semaphore, cycle + flits);
  }
}

static uint32_t next_burst(const tg_chip *chip, const tg_unit_state *u) {
  uint32_t left = u->flits - u->flit;
  return left < chip->m->burst_flits ? left : chip->m->burst_flits;
}

void tg_tx_issue(tg_chip *chip, uint32_t unit, const tg_execution *x) {
  tg_unit_state *u = &chip->unit[unit];
  const tg_tx_instr *in = &x->in->tx;
  u->now = *x;
  u->start = chip->now;
  u->busy = true;
  u->flit = 0;
  u->flits = (uint32_t)in->flits;
  u->transfer = tg_transfer_of(chip, u->endpoint, in->dir, in->dst_mask);
  u->transfer.row = x->address[TG_AT_DST];
  u->transfer.inner = (uint32_t)in->dst_inner;
  u->transfer.stride = (int32_t)in->dst_stride;
  u->transfer.post = in->dst_post;
  u->transfer.semaphore = (uint32_t)in->dst_sem;
  tg_lane_request(chip, &u->transfer, chip->now + 1, next_burst(chip, u));
}

/* A burst of a SEND, asked for since `asked`, leaves. */
static void send(tg_chip *chip, uint32_t unit, uint64_t asked) {
  tg_unit_state *u = &chip->unit[unit];
  const tg_tx_instr *in = &u->now.in->tx;
  uint32_t flits = next_burst(chip, u), first = u->flit;
  bool last = first + flits == u->flits;
  if (chip->options.observer) tg_observe_lane(chip, u->transfer.lane, unit, &u->now, asked, flits);
  tg_transfer source = {
      .row = u->now.address[TG_AT_SRC], .inner = (uint32_t)in->src_inner, .stride = (int32_t)in->src_stride};
  tg_bank_own_rows(chip, u->endpoint, TG_PORT_TX, &source, first, flits, chip->now + 1);
  deliver(chip, &u->transfer, first, flits, last);
  u->flit += flits;
  if (!last) {
    tg_lane_request(chip, &u->transfer, chip->now + 2, next_burst(chip, u));
    return;
  }
  uint64_t end = chip->now + flits;
  tg_execution x = u->now;
  uint64_t start = u->start;
  tg_unit_let_next(chip, unit, end + 1);
  tg_chip_complete(chip, unit, &x, start, end);
}

/* A burst of a LOAD leaves the head of the port's FIFO. */
static void leave(tg_chip *chip, uint32_t port, uint64_t asked) {
  tg_port_state *p = &chip->port[port];
  const tg_load *load = &p->loads[p->leaving % chip->m->agcu_buffers];
  if (chip->options.observer)
    tg_observe_lane(chip, load->transfer.lane, load->unit, &load->execution, asked, load->flits);
  deliver(chip, &load->transfer, load->first, load->flits, load->last);
  tg_port_granted(chip, port);
}

static void grant(tg_chip *chip, uint32_t index, const tg_request *request) {
  tg_lane_state *lane = &chip->lane[index];
  tg_request r = *request;
  for (uint32_t s = r.first; s <= r.last; s++)
    lane->reserved[s] = chip->now + (lane->up ? s - r.first : r.last - s) + r.flits;
  uint32_t at = (uint32_t)(request - lane->requests);
  lane->count--;
  for (; at < lane->count; at++) lane->requests[at] = lane->requests[at + 1];
  uint32_t endpoint = endpoint_at(chip, lane, r.position);
  if (r.position)
    send(chip, chip->first_unit[endpoint] + TG_TX, r.age);
  else
    leave(chip, endpoint - tg_tiles(chip->m), r.age);
}

void tg_lane_act(tg_chip *chip, uint32_t index) {
  uint64_t cycle, from = chip->now;
  const tg_request *r = next_grant(&chip->lane[index], chip->now, &cycle);
  if (r && cycle == chip->now) {
    grant(chip, index, r);
    from++; /* one grant a cycle */
  }
  plan(chip, index, from);
}
