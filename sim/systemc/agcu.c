/* AGCUs: LOAD and STORE, the DRAM port, the load buffers (docs/machine.md, section 7). */
#include "frontend/base/math.h"
#include "sim/systemc/chip.h"

static uint32_t port_of(const tg_chip *chip, const tg_unit_state *u) {
  return u->endpoint - tg_tiles(chip->m);
}

static uint32_t first_context(const tg_chip *chip, uint32_t port) {
  return chip->first_unit[tg_tiles(chip->m) + port];
}

static bool is_store(const tg_unit_state *u) { return u->now.in->common.op == TG_OP_agcu_store; }

/* Addresses do not depend on time, but the fault of a wrong one belongs to the cycle of its burst. */
static void look_ahead(tg_chip *chip, tg_unit_state *u) {
  const tg_agcu_instr *in = &u->now.in->agcu;
  tg_walk_begin(&u->walk, chip->m, in, u->now.index, chip->machine->bases[in->base]);
  int64_t low, high;
  tg_walk_reach(&u->walk, &low, &high);
  u->inside = low >= 0 && (uint64_t)high <= chip->dram->size;
}

void tg_agcu_issue(tg_chip *chip, uint32_t unit, const tg_execution *x) {
  tg_unit_state *u = &chip->unit[unit];
  const tg_agcu_instr *in = &x->in->agcu;
  uint32_t port = port_of(chip, u);
  u->now = *x;
  u->start = chip->now;
  u->busy = true;
  u->flit = 0;
  u->asked = chip->now + 1;
  u->flits = tg_agcu_flits(chip->m, in);
  tg_walk_begin(&u->addresses, chip->m, in, x->index,
                chip->program->invocations[chip->invocation].bases[in->base]);
  if (chip->values) look_ahead(chip, u);
  if (!is_store(u)) {
    u->transfer = tg_transfer_of(chip, u->endpoint, tg_is_west(chip->m, port) ? TG_DIR_EAST : TG_DIR_SOUTH,
                                 in->dst_mask);
    u->transfer.row = x->address[TG_AT_DST];
    u->transfer.inner = (uint32_t)in->dst_inner;
    u->transfer.stride = (int32_t)in->dst_stride;
    u->transfer.post = in->dst_post;
    u->transfer.semaphore = (uint32_t)in->dst_sem;
  }
  tg_chip_wake(chip, tg_agent_of_port(chip, port), tg_later(chip->now + 1, chip->port[port].free_at));
}

static bool waits_for_port(const tg_chip *chip, const tg_unit_state *u) {
  return u->busy && u->start < chip->now && u->flit < u->flits;
}

static bool buffer_free(tg_chip *chip, tg_port_state *p) {
  while (p->oldest != p->leaving && p->loads[p->oldest % chip->m->agcu_buffers].freed <= chip->now)
    p->oldest++;
  return p->newest - p->oldest < chip->m->agcu_buffers;
}

/* The lane request of the burst at the head of the FIFO. */
static void request(tg_chip *chip, tg_port_state *p) {
  const tg_load *load = &p->loads[p->leaving % chip->m->agcu_buffers];
  tg_lane_request(chip, &load->transfer, tg_later(load->complete, p->left_at + 1) + 1, load->flits);
}

void tg_port_complete(tg_chip *chip, uint32_t port, uint32_t number, uint64_t cycle) {
  tg_port_state *p = &chip->port[port];
  p->loads[number % chip->m->agcu_buffers].complete = cycle;
  if (number == p->leaving) request(chip, p);
}

static void push_load(tg_chip *chip, uint32_t port, uint32_t unit, uint32_t flits) {
  tg_port_state *p = &chip->port[port];
  tg_unit_state *u = &chip->unit[unit];
  p->loads[p->newest % chip->m->agcu_buffers] = (tg_load){.execution = u->now,
                                                          .transfer = u->transfer,
                                                          .start = u->start,
                                                          .complete = TG_NEVER,
                                                          .freed = TG_NEVER,
                                                          .unit = unit,
                                                          .first = u->flit,
                                                          .flits = flits,
                                                          .last = u->flit + flits == u->flits};
  p->newest++;
}

static void check_burst(tg_chip *chip, tg_unit_state *u) {
  tg_diag diag = {0};
  char name[40];
  if (tg_exec_check_burst(chip->machine, &u->walk, NULL, &diag))
    tg_chip_fault(chip, chip->now, "%s context %u pc %u: %s", tg_endpoint_name(chip, u->endpoint, name),
                  u->context, u->now.pc, diag.message);
}

void tg_port_done(tg_chip *chip, uint32_t port, uint64_t last) {
  tg_port_state *p = &chip->port[port];
  tg_port_walk *w = &p->walk;
  p->free_at = last + 1;
  tg_chip_wake(chip, tg_agent_of_port(chip, port), p->free_at);
  if (chip->options.observer) tg_observe_burst(chip, w->burst, last);
  if (w->store || !w->last) chip->unit[w->unit].asked = p->free_at; /* else it may have gone on */
  if (!w->store || !w->last) return;
  /* A STORE ends in the cycle behind its last burst. */
  tg_unit_let_next(chip, w->unit, p->free_at + 1);
  tg_chip_complete(chip, w->unit, &w->execution, w->start, p->free_at);
}

static void serve(tg_chip *chip, uint32_t port, uint32_t unit) {
  tg_port_state *p = &chip->port[port];
  tg_unit_state *u = &chip->unit[unit];
  uint32_t left = u->flits - u->flit, flits = left < chip->m->burst_flits ? left : chip->m->burst_flits;
  uint32_t atoms, pieces = tg_walk_burst(&u->addresses, flits, chip->memory ? &chip->spans : NULL, &atoms);
  bool store = is_store(u), done = flits == left;
  uint32_t fetch = tg_index_cycles(chip->m, &u->now.in->agcu, u->now.address[TG_AT_INDEX], u->flit, flits);
  p->walk = (tg_port_walk){.pieces = p->walk.pieces,
                           .unit = unit,
                           .cycles = atoms * tg_atom_cycles(chip->m),
                           .store = store,
                           .last = done,
                           .execution = u->now,
                           .start = u->start};
  if (chip->options.observer)
    p->walk.burst = tg_observe_port(chip, port, u, flits, atoms, p->free_at, p->granted);
  p->granted = u->context;
  if (chip->values && !u->inside) check_burst(chip, u);
  tg_actions_burst(chip->actions, fetch, store ? pieces : 0);
  *(store ? &chip->dram->written : &chip->dram->read) += (uint64_t)TG_ATOM_BYTES * atoms;
  if (!store) push_load(chip, port, unit, flits);
  u->flit += flits;
  if (chip->memory) {
    tg_device_walk(chip, port, chip->now + fetch);
  } else {
    uint64_t last = chip->now + fetch + tg_burst_cycles(chip->m, pieces, atoms) - 1;
    if (!store) tg_port_complete(chip, port, p->newest - 1, last + chip->m->dram_latency);
    tg_port_done(chip, port, last);
  }
  if (done && !store) tg_unit_let_next(chip, unit, chip->now + 1);
}

enum { NO_UNIT = UINT32_MAX };

/* The unit that the port serves if it can: the first candidate after the context granted last. `*out_starved`: one before it
 * lacks a buffer. */
static uint32_t next_unit(const tg_chip *chip, uint32_t port, bool buffer, bool *out_starved) {
  uint32_t contexts = chip->m->agcu_contexts, first = first_context(chip, port);
  for (uint32_t i = 1; i <= contexts; i++) {
    uint32_t unit = first + (chip->port[port].granted + i) % contexts;
    const tg_unit_state *u = &chip->unit[unit];
    if (!waits_for_port(chip, u)) continue;
    if (is_store(u) || buffer) return unit;
    *out_starved = true;
  }
  return NO_UNIT;
}

void tg_port_act(tg_chip *chip, uint32_t port) {
  tg_port_state *p = &chip->port[port];
  uint32_t contexts = chip->m->agcu_contexts, first = first_context(chip, port);
  if (p->walk.active) return; /* its end wakes the port */
  if (chip->now < p->free_at) {
    tg_chip_wake(chip, tg_agent_of_port(chip, port), p->free_at);
    return;
  }
  for (uint32_t c = 0; c < contexts; c++) {
    const tg_unit_state *u = &chip->unit[first + c];
    if (u->busy && u->start == chip->now) tg_chip_wake(chip, tg_agent_of_port(chip, port), chip->now + 1);
  }
  bool starved = false;
  uint32_t unit = next_unit(chip, port, buffer_free(chip, p), &starved);
  if (unit != NO_UNIT) {
    p->walk.blocked = chip->memory && !tg_device_ready(chip, port);
    if (!p->walk.blocked) serve(chip, port, unit);
    return;
  }
  if (starved && p->oldest != p->leaving)
    tg_chip_wake(chip, tg_agent_of_port(chip, port), p->loads[p->oldest % chip->m->agcu_buffers].freed);
}

void tg_port_granted(tg_chip *chip, uint32_t port) {
  tg_port_state *p = &chip->port[port];
  tg_load *load = &p->loads[p->leaving++ % chip->m->agcu_buffers];
  p->left_at = chip->now;
  load->freed = chip->now + load->flits + 1;
  if (load->last) tg_chip_complete(chip, load->unit, &load->execution, load->start, chip->now + load->flits);
  if (p->leaving != p->newest && p->loads[p->leaving % chip->m->agcu_buffers].complete != TG_NEVER)
    request(chip, p);
  /* the port may have found no buffer free; with one or none free it looks again, and if the oldest is free
   * already, in the next cycle */
  uint64_t look = tg_later(p->free_at, chip->now + 1);
  if (!p->walk.active && p->newest - p->oldest == chip->m->agcu_buffers)
    tg_chip_wake(chip, tg_agent_of_port(chip, port),
                 tg_later(look, p->loads[p->oldest % chip->m->agcu_buffers].freed));
}
