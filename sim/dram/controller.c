/* Ports, arrivals, and the cycles of the array around the channels' picoseconds. */
#include "sim/dram/controller.h"
#include "frontend/base/math.h"
#include "sim/dram/state.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* ---- time ---- */

static void set_cycle(tg_controller *m, uint64_t cycle) {
  m->begin = cycle == m->cycle + 1 ? m->end : tg_cycle_begin(m, cycle);
  m->cycle = cycle;
  m->end = m->period ? m->begin + m->period : tg_cycle_begin(m, cycle + 1);
}

/* ---- life ---- */

tg_controller *tg_controller_create(const tg_params *params, const tg_controller_host *host) {
  tg_controller *m = calloc(1, sizeof *m);
  if (!m) tg_die("out of memory");
  m->params = *params;
  m->device = params->dram;
  m->host = *host;
  m->clock = params->clock_mhz;
  m->period = 1000000 % m->clock ? 0 : 1000000 / m->clock;
  m->ports = tg_agcus(params);
  m->accesses = TG_ATOM_BYTES / tg_dram_access_bytes(&m->device);
  m->words = (m->device.channels + 63) / 64;
  tg_dram_address_map_init(&m->map, &m->device);
  m->pieces = 1;
  while (m->pieces < params->dram_latency + 2) m->pieces *= 2;
  m->port = TG_NEW_ARRAY(&m->arena, port, m->ports);
  for (uint32_t p = 0; p < m->ports; p++) {
    m->port[p].atoms = TG_NEW_ARRAY(&m->arena, atom, m->device.port_queue);
    m->port[p].lists = TG_NEW_ARRAY(&m->arena, atom_list, m->device.channels);
    m->port[p].pieces = TG_NEW_ARRAY(&m->arena, piece, m->pieces);
  }
  m->wanted = TG_NEW_ARRAY(&m->arena, uint32_t, m->device.channels);
  for (int write = 0; write < 2; write++)
    m->heads[write] = TG_NEW_ARRAY(&m->arena, uint32_t, m->device.channels);
  m->decide = TG_NEW_ARRAY(&m->arena, uint64_t, m->device.channels);
  m->channel = TG_NEW_ARRAY(&m->arena, tg_channel, m->device.channels);
  for (uint32_t c = 0; c < m->device.channels; c++) tg_channel_init(&m->channel[c], &m->device, c, &m->arena);
  tg_controller_reset(m);
  return m;
}

void tg_controller_destroy(tg_controller *m) {
  if (!m) return;
  tg_arena_release(&m->arena);
  free(m);
}

void tg_controller_reset(tg_controller *m) {
  m->cycle = 0;
  m->begin = tg_cycle_begin(m, 0);
  m->end = tg_cycle_begin(m, 1);
  m->fresh = m->stale = m->full = 0;
  m->asked = (channel_set){{0}};
  m->soonest = TG_DRAM_NEVER;
  for (uint32_t p = 0; p < m->ports; p++) {
    port *own = &m->port[p];
    *own = (port){.atoms = own->atoms, .lists = own->lists, .pieces = own->pieces, .offered = NO_CHANNEL};
    for (uint32_t i = 0; i < m->device.port_queue; i++)
      own->atoms[i].next = i + 1 < m->device.port_queue ? (uint16_t)(i + 1) : (uint16_t)NO_ATOM;
  }
  for (uint32_t c = 0; c < m->device.channels; c++) {
    tg_channel_reset(&m->channel[c]);
    m->decide[c] = TG_DRAM_NEVER;
    m->wanted[c] = m->heads[0][c] = m->heads[1][c] = 0;
    set_add(&m->room[0], c);
    set_add(&m->room[1], c);
  }
}

/* ---- ports ---- */

bool tg_controller_ready(tg_controller *m, uint32_t number) {
  if (m->full >> number & 1) return false;
  port *p = &m->port[number];
  while (p->returned != p->known && p->pieces[p->returned & (m->pieces - 1)].done < m->cycle) p->returned++;
  return p->sent - p->returned <= m->params.dram_latency;
}

uint32_t tg_controller_full(const tg_controller *m) { return m->full; }

/* Of atoms near each other most bytes of the number are the same. */
static tg_dram_place place_of(const tg_controller *m, port *p, uint64_t atom_number) {
  uint64_t change = atom_number ^ p->placed;
  p->place = change < 256 ? p->place ^ m->map.table[0][change] : tg_dram_place_of(&m->map, atom_number);
  p->placed = atom_number;
  return p->place;
}

static void push(tg_controller *m, uint32_t number, uint64_t atom_number, bool write) {
  port *p = &m->port[number];
  uint16_t slot = p->unused;
  p->unused = p->atoms[slot].next;
  p->atoms[slot] = (atom){.number = atom_number,
                          .place = place_of(m, p, atom_number),
                          .piece = p->sent,
                          .order = p->order++,
                          .next = NO_ATOM,
                          .write = write};
  if (p->fresh_count++)
    p->atoms[p->freshest].next = slot;
  else
    p->fresh = slot;
  p->freshest = slot;
  p->count++;
  p->last = atom_number;
  m->fresh |= 1u << number;
}

void tg_controller_send(tg_controller *m, uint32_t number, uint64_t address, uint32_t bytes, bool write,
                        bool first) {
  port *p = &m->port[number];
  uint32_t count = 0;
  if (first) p->last = UINT64_MAX;
  if (bytes)
    for (uint64_t a = address / TG_ATOM_BYTES; a <= (address + bytes - 1) / TG_ATOM_BYTES; a++) {
      if (a == p->last) continue;
      push(m, number, a, write);
      count++;
    }
  assert(count <= MOST_ATOMS && p->count <= m->device.port_queue);
  note_count(m, number);
  if (write) return;
  p->pieces[p->sent++ & (m->pieces - 1)] = (piece){.sent = m->cycle, .left = count};
  if (!count) tg_controller_settle(m, number);
}

/* The data of an atom are decided: all that wait for it have them. */
static void complete(tg_controller *m, const tg_read *read) {
  for (uint32_t left = read->ports; left; left &= left - 1) {
    uint32_t port = (uint32_t)__builtin_ctz(left);
    tg_controller_complete(m, port, read->piece[port], read->done);
  }
}

/* Decisions of this cycle. */
static void decide(tg_controller *m) {
  uint64_t soonest = TG_DRAM_NEVER;
  for (uint32_t i = 0; i < m->device.channels; i++) {
    if (m->decide[i] < m->end) {
      tg_channel *c = &m->channel[i];
      while (c->decide < m->end) {
        tg_choice choice = tg_channel_decide(c, &m->host);
        if (!choice.access) break; /* nothing is to be done */
        note_room(m, c, choice.write);
        if (!choice.write && tg_reads_decide(&c->read, choice.access->read, choice.done))
          complete(m, &c->read.slots[choice.access->read]);
      }
      m->decide[i] = c->decide;
    }
    if (m->decide[i] < soonest) soonest = m->decide[i];
  }
  m->soonest = soonest;
}

/* The cycle in which a time lies. */
static uint64_t cycle_of(const tg_controller *m, uint64_t time) {
  uint64_t cycle = tg_cycle_from(m, time);
  return tg_cycle_begin(m, cycle) > time ? cycle - 1 : cycle;
}

void tg_controller_advance(tg_controller *m, uint64_t cycle) {
  assert(cycle >= m->cycle);
  while (m->cycle < cycle) {
    if (m->soonest >= m->end && !tg_controller_crossing(m)) { /* nothing until the next decision */
      uint64_t to = m->soonest == TG_DRAM_NEVER ? cycle : cycle_of(m, m->soonest);
      set_cycle(m, to < cycle ? to : cycle);
      continue;
    }
    if (m->soonest < m->end) decide(m);
    tg_controller_cross(m);
    set_cycle(m, m->cycle + 1);
  }
}

uint64_t tg_controller_next(const tg_controller *m) {
  if (tg_controller_crossing(m)) return m->cycle + 1;
  if (m->soonest == TG_DRAM_NEVER) return UINT64_MAX;
  uint64_t cycle = cycle_of(m, m->soonest);
  return (cycle > m->cycle ? cycle : m->cycle) + 1;
}

/* What waits at its port may come from a write queue in a cycle to come, other data are read after a decision in one. */
uint64_t tg_controller_lookahead(const tg_controller *m, uint32_t number) {
  uint64_t cycles = (m->device.controller + (m->port[number].count ? 0 : m->device.tCL)) * m->clock / 1000000;
  return cycles ? cycles : 1;
}

/* ---- the run ---- */

tg_dram_counts tg_controller_counts(const tg_controller *m) {
  tg_dram_counts all = {0};
  for (uint32_t i = 0; i < m->device.channels; i++) tg_dram_add(&all, m->channel[i].counts);
  return all;
}

uint64_t tg_controller_drain(tg_controller *m) {
  uint64_t last = 0;
  for (uint32_t i = 0; i < m->device.channels; i++) {
    tg_channel *c = &m->channel[i];
    c->draining = true;
    if (c->writes.count) {
      tg_channel_arrive(c, m->begin);
      note_decision(m, c);
    }
  }
  while (tg_controller_next(m) != UINT64_MAX) tg_controller_advance(m, tg_controller_next(m));
  for (uint32_t i = 0; i < m->device.channels; i++)
    if (m->channel[i].written > last) last = m->channel[i].written;
  /* A channel that nobody asks is refreshed like others: these are counted, there is no command that depends on them. */
  const tg_controller_host nobody = {0};
  for (uint32_t i = 0; i < m->device.channels; i++)
    tg_channel_refresh(&m->channel[i], &nobody, tg_later(m->begin, last));
  return last > TG_DRAM_EPOCH ? tg_cycle_from(m, last) - 1 : 0;
}
