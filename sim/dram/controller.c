/* Ports, the way from ports to channels, and the cycles of the array around the channels' picoseconds. */
#include "sim/dram/controller.h"
#include "sim/dram/channel.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { TURN = 8 /* atoms that a port hands to a channel before another port is asked */ };
enum { ATOM = 64, MOST_ATOMS = 3 /* of a piece: 8P bytes from anywhere on, P = 16 */ };

/* An atom that waits at its port. */
typedef struct atom {
  uint64_t number, sent; /* address / 64; cycle */
  uint32_t piece;
  uint16_t channel;
  bool write;
} atom;

/* A piece of a load, until its data are there. */
typedef struct piece {
  uint64_t sent, done; /* cycles; done: of its atoms so far, then when it arrives */
  uint32_t left;       /* accesses */
} piece;

typedef struct port {
  atom *atoms;             /* up to device.port_queue, oldest first */
  uint32_t count, offered; /* offered: the one that may cross in this cycle */
  piece *pieces;           /* ring */
  uint32_t sent, known,
      returned;     /* running numbers: sent, arrival known, arrived before the cycle asked about */
  uint64_t arrival; /* of the last piece whose arrival is known */
  uint64_t last;    /* atom that the burst asked for last */
} port;

struct tg_controller {
  tg_arena arena;
  tg_params params;
  tg_dram_device device;
  tg_controller_host host;
  uint64_t cycle;
  uint32_t ports, pieces, accesses, tokens; /* pieces: room of a ring, a power of two; accesses of an atom */
  uint32_t waiting;                         /* mask of ports with atoms */
  port *port;
  tg_channel *channel;
  uint32_t *wanted;   /* by channel: ports whose atom it could take; 0 between cycles */
  uint64_t active[4]; /* mask of channels with a decision to come */
  tg_map_token token[TG_MAP_TOKENS];
  uint64_t clock; /* MHz */
};

/* ---- time ---- */

static uint64_t begin_of(const tg_controller *m, uint64_t cycle) {
  return TG_DRAM_EPOCH + cycle * 1000000 / m->clock;
}
/* The first cycle that begins at `time` or later. */
static uint64_t cycle_from(const tg_controller *m, uint64_t time) {
  return ((time - TG_DRAM_EPOCH) * m->clock + 999999) / 1000000;
}

/* ---- addresses ---- */

typedef struct place {
  uint32_t channel, group, bank, row;
} place;

static place locate(const tg_controller *m, uint64_t address) {
  uint32_t number[TG_MAP_KINDS] = {0};
  for (uint32_t t = 0; t < m->tokens; t++) {
    tg_map_token k = m->token[t];
    number[k.kind] |= (uint32_t)(address >> k.lsb & ((1ull << k.bits) - 1)) << k.from;
  }
  const tg_dram_device *d = &m->device;
  uint32_t row = number[TG_MAP_ROW];
  place p = {number[TG_MAP_CHANNEL], number[TG_MAP_GROUP], number[TG_MAP_BANK], row};
  if (d->hash == TG_HASH_NONE) return p;
  p.bank ^= row & (d->banks - 1);
  row /= d->banks;
  p.group ^= row & (d->groups - 1);
  row /= d->groups;
  if (d->hash == TG_HASH_ALL) p.channel ^= (row ^ number[TG_MAP_ROW]) & (d->channels - 1);
  return p;
}

/* ---- life ---- */

tg_controller *tg_controller_create(const tg_params *params, const tg_controller_host *host) {
  tg_controller *m = calloc(1, sizeof *m);
  if (!m) tg_die("out of memory");
  m->params = *params;
  m->device = params->dram;
  m->host = *host;
  m->clock = params->clock_mhz;
  m->ports = tg_agcus(params);
  m->accesses = ATOM / tg_dram_access_bytes(&m->device);
  m->tokens = tg_dram_map(&m->device, m->token);
  m->pieces = 1;
  while (m->pieces < params->dram_latency + 2) m->pieces *= 2;
  m->port = TG_NEW_ARRAY(&m->arena, port, m->ports);
  for (uint32_t p = 0; p < m->ports; p++) {
    m->port[p].atoms = TG_NEW_ARRAY(&m->arena, atom, m->device.port_queue);
    m->port[p].pieces = TG_NEW_ARRAY(&m->arena, piece, m->pieces);
  }
  m->wanted = TG_NEW_ARRAY(&m->arena, uint32_t, m->device.channels);
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
  m->waiting = 0;
  memset(m->active, 0, sizeof m->active);
  for (uint32_t p = 0; p < m->ports; p++) {
    port *own = &m->port[p];
    *own = (port){.atoms = own->atoms, .pieces = own->pieces};
  }
  for (uint32_t c = 0; c < m->device.channels; c++) tg_channel_reset(&m->channel[c]);
}

/* ---- arrivals ---- */

/* Pieces arrive in order, one a cycle, a cycle after they were sent at the earliest. */
static void settle(tg_controller *m, uint32_t number) {
  port *p = &m->port[number];
  while (p->known != p->sent) {
    piece *next = &p->pieces[p->known & (m->pieces - 1)];
    if (next->left) return;
    if (next->done <= next->sent) next->done = next->sent + 1;
    if (next->done <= p->arrival) next->done = p->arrival + 1;
    p->arrival = next->done;
    p->known++;
    m->host.arrived(m->host.user, number, p->arrival);
  }
}

static void complete(tg_controller *m, uint32_t number, uint32_t which, uint32_t accesses, uint64_t time) {
  piece *own = &m->port[number].pieces[which & (m->pieces - 1)];
  uint64_t cycle = cycle_from(m, time + m->device.controller);
  if (own->done < cycle) own->done = cycle;
  own->left -= accesses;
  if (!own->left) settle(m, number);
}

/* ---- ports ---- */

bool tg_controller_ready(tg_controller *m, uint32_t number) {
  port *p = &m->port[number];
  while (p->returned != p->known && p->pieces[p->returned & (m->pieces - 1)].done < m->cycle) p->returned++;
  return p->count + MOST_ATOMS <= m->device.port_queue && p->sent - p->returned <= m->params.dram_latency;
}

static void push(tg_controller *m, uint32_t number, uint64_t atom_number, bool write) {
  port *p = &m->port[number];
  place place = locate(m, atom_number * ATOM);
  p->atoms[p->count++] = (atom){atom_number, m->cycle, p->sent, (uint16_t)place.channel, write};
  p->last = atom_number;
  m->waiting |= 1u << number;
}

void tg_controller_send(tg_controller *m, uint32_t number, uint64_t address, uint32_t bytes, bool write,
                        bool first) {
  port *p = &m->port[number];
  uint32_t count = 0;
  if (first) p->last = UINT64_MAX;
  if (bytes)
    for (uint64_t a = address / ATOM; a <= (address + bytes - 1) / ATOM; a++) {
      if (a == p->last) continue;
      push(m, number, a, write);
      count++;
    }
  assert(count <= MOST_ATOMS && p->count <= m->device.port_queue);
  if (write) return;
  p->pieces[p->sent++ & (m->pieces - 1)] = (piece){.sent = m->cycle, .left = count * m->accesses};
  if (!count) settle(m, number);
}

/* ---- from ports to channels ---- */

static bool has_atom(const tg_access_queue *q, uint64_t number) {
  for (uint32_t i = 0; i < q->count; i++)
    if (q->entries[i].atom == number) return true;
  return false;
}

static void put(tg_controller *m, tg_channel *c, tg_access_queue *q, const atom *a, uint32_t number) {
  for (uint32_t i = 0; i < m->accesses; i++) {
    place place = locate(m, a->number * ATOM + i * tg_dram_access_bytes(&m->device));
    q->entries[q->count++] = (tg_access){.atom = a->number,
                                         .row = place.row,
                                         .bank = (uint16_t)(place.group * m->device.banks + place.bank),
                                         .group = (uint16_t)place.group,
                                         .piece = a->piece,
                                         .port = (uint16_t)number};
  }
  tg_channel_arrive(c, begin_of(m, m->cycle + 1));
  m->active[c->number / 64] |= 1ull << c->number % 64;
}

/* The channel takes what the port offers. */
static void accept(tg_controller *m, tg_channel *c, uint32_t number) {
  port *p = &m->port[number];
  atom a = p->atoms[p->offered];
  memmove(p->atoms + p->offered, p->atoms + p->offered + 1, (--p->count - p->offered) * sizeof a);
  if (!p->count) m->waiting &= ~(1u << number);
  c->turn = c->granted == number ? c->turn + 1 : 1;
  c->granted = (uint16_t)number;
  bool written = has_atom(&c->writes, a.number);
  if (a.write && written) {
    c->counts.merged++;
  } else if (a.write) {
    put(m, c, &c->writes, &a, number);
  } else if (written) {
    c->counts.forwarded++;
    complete(m, number, a.piece, m->accesses, begin_of(m, m->cycle + 1));
  } else {
    put(m, c, &c->reads, &a, number);
  }
}

static bool has_room(const tg_controller *m, const atom *a) {
  const tg_channel *c = &m->channel[a->channel];
  return a->write ? c->writes.count + m->accesses <= m->device.write_queue
                  : c->reads.count + m->accesses <= m->device.read_queue;
}

/* The oldest atom of a port that its channel has room for and that passes none for the same channel. */
static const atom *offer(const tg_controller *m, port *p) {
  uint64_t full[4] = {0};
  for (uint32_t i = 0; i < p->count && p->atoms[i].sent < m->cycle; i++) {
    const atom *a = &p->atoms[i];
    uint64_t *word = &full[a->channel / 64], bit = 1ull << a->channel % 64;
    if (!(*word & bit) && has_room(m, a)) {
      p->offered = i;
      return a;
    }
    *word |= bit;
  }
  return NULL;
}

/* The port whose atom a channel takes: the one it took from last until its turn is over, else the next of `mask`. */
static uint32_t next_port(const tg_channel *c, uint32_t mask) {
  if (mask >> c->granted & 1 && c->turn < TURN) return c->granted;
  uint32_t after = mask & (uint32_t)(~0ull << (c->granted + 1));
  return (uint32_t)__builtin_ctz(after ? after : mask);
}

/* The end of a cycle: each channel takes an atom of one port. */
static void cross(tg_controller *m) {
  uint16_t touched[32];
  uint32_t count = 0;
  for (uint32_t left = m->waiting; left; left &= left - 1) {
    uint32_t number = (uint32_t)__builtin_ctz(left);
    const atom *a = offer(m, &m->port[number]);
    if (!a) continue;
    if (!m->wanted[a->channel]) touched[count++] = a->channel;
    m->wanted[a->channel] |= 1u << number;
  }
  for (uint32_t i = 0; i < count; i++) {
    tg_channel *c = &m->channel[touched[i]];
    uint32_t mask = m->wanted[touched[i]];
    m->wanted[touched[i]] = 0;
    accept(m, c, next_port(c, mask));
  }
}

/* Decisions before `end`. */
static void decide(tg_controller *m, uint64_t end) {
  for (uint32_t w = 0; w < 4; w++) {
    for (uint64_t left = m->active[w]; left; left &= left - 1) {
      tg_channel *c = &m->channel[w * 64 + (uint32_t)__builtin_ctzll(left)];
      while (c->decide < end) {
        tg_choice choice = tg_channel_decide(c, &m->host);
        if (choice.any && !choice.write) complete(m, choice.access.port, choice.access.piece, 1, choice.done);
      }
      if (c->decide == TG_DRAM_NEVER) m->active[w] &= ~(1ull << c->number % 64);
    }
  }
}

static uint64_t first_decision(const tg_controller *m) {
  uint64_t first = TG_DRAM_NEVER;
  for (uint32_t w = 0; w < 4; w++)
    for (uint64_t left = m->active[w]; left; left &= left - 1) {
      const tg_channel *c = &m->channel[w * 64 + (uint32_t)__builtin_ctzll(left)];
      if (c->decide < first) first = c->decide;
    }
  return first;
}

/* The cycle in which a time lies. */
static uint64_t cycle_of(const tg_controller *m, uint64_t time) {
  uint64_t cycle = cycle_from(m, time);
  return begin_of(m, cycle) > time ? cycle - 1 : cycle;
}

void tg_controller_advance(tg_controller *m, uint64_t cycle) {
  assert(cycle >= m->cycle);
  while (m->cycle < cycle) {
    if (!m->waiting) { /* nothing until the next decision */
      uint64_t first = first_decision(m), to = first == TG_DRAM_NEVER ? cycle : cycle_of(m, first);
      if (to > m->cycle) m->cycle = to < cycle ? to : cycle;
      if (m->cycle == cycle) return;
    }
    decide(m, begin_of(m, m->cycle + 1));
    if (m->waiting) cross(m);
    m->cycle++;
  }
}

uint64_t tg_controller_next(const tg_controller *m) {
  if (m->waiting) return m->cycle + 1;
  uint64_t first = first_decision(m);
  if (first == TG_DRAM_NEVER) return UINT64_MAX;
  uint64_t cycle = cycle_of(m, first);
  return (cycle > m->cycle ? cycle : m->cycle) + 1;
}

/* ---- the run ---- */

tg_dram_counts tg_controller_counts(const tg_controller *m) {
  tg_dram_counts all = {0};
  for (uint32_t i = 0; i < m->device.channels; i++) tg_dram_add(&all, m->channel[i].counts);
  return all;
}

uint64_t tg_controller_drain(tg_controller *m) {
  uint64_t now = begin_of(m, m->cycle), last = 0;
  for (uint32_t i = 0; i < m->device.channels; i++) {
    tg_channel *c = &m->channel[i];
    c->draining = true;
    if (c->writes.count) {
      tg_channel_arrive(c, now);
      m->active[i / 64] |= 1ull << i % 64;
    }
  }
  while (tg_controller_next(m) != UINT64_MAX) tg_controller_advance(m, tg_controller_next(m));
  for (uint32_t i = 0; i < m->device.channels; i++)
    if (m->channel[i].written > last) last = m->channel[i].written;
  return last > TG_DRAM_EPOCH ? cycle_from(m, last) - 1 : 0;
}
