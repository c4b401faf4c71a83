/* Ports, the way from ports to channels, and the cycles of the array around the channels' picoseconds. */
#include "sim/dram/controller.h"
#include "sim/dram/address.h"
#include "sim/dram/channel.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { TURN = 8 /* atoms that a port hands to a channel before another port is asked */ };
enum { MOST_ATOMS = 3 /* of a piece: 8P bytes from anywhere on, P = 16 */ };
enum { MOST_CHANNELS = 256, WORDS = MOST_CHANNELS / 64, NO_ATOM = 0xFFFF };

/* A set of channels. */
typedef struct channel_set {
  uint64_t word[WORDS];
} channel_set;

/* An atom that waits at its port, in a slot. */
typedef struct atom {
  uint64_t number; /* address / 64 */
  tg_place place;
  uint32_t piece, order; /* order: running number of the port's atoms */
  uint16_t next;         /* slot of the next one for the same channel, or of the next free one */
  bool write;
} atom;

/* Atoms of a port for one channel, oldest first. */
typedef struct atom_list {
  uint16_t first, last;
} atom_list;

/* A piece of a load, until its data are there. */
typedef struct piece {
  uint64_t sent, done; /* cycles; done: of its atoms so far, then when it arrives */
  uint32_t left;       /* accesses */
} piece;

typedef struct port {
  atom *atoms;      /* device.port_queue slots */
  atom_list *lists; /* of each channel */
  uint32_t count, order;
  uint16_t unused;             /* list of free slots */
  uint16_t fresh, fresh_count; /* sent in this cycle: not to cross before the next. Linked, oldest first */
  uint16_t freshest;
  channel_set oldest[2]; /* channels for which an atom waits whose oldest one is a read, a write */
  piece *pieces;         /* ring */
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
  uint64_t cycle, begin, end;       /* the cycle advanced to; when it begins, and when the next one does */
  uint32_t ports, pieces, accesses; /* pieces: room of a ring, a power of two; accesses of an atom */
  uint32_t words;                   /* of a set of channels */
  uint32_t waiting, fresh;          /* masks of ports with atoms that may cross, with fresh ones */
  port *port;
  tg_channel *channel;
  uint32_t *wanted;    /* by channel: ports whose atom it could take; 0 between cycles */
  channel_set room[2]; /* channels with room for an atom to read, to write */
  uint64_t *decide;    /* of each channel: its next decision, copied to be searched */
  uint64_t soonest;    /* no decision is earlier */
  uint64_t clock;      /* MHz */
  tg_address_map map;
};

/* ---- sets ---- */

static void set_add(channel_set *set, uint32_t channel) { set->word[channel / 64] |= 1ull << channel % 64; }
static void set_remove(channel_set *set, uint32_t channel) {
  set->word[channel / 64] &= ~(1ull << channel % 64);
}
static void set_put(channel_set *set, uint32_t channel, bool in) {
  uint64_t *word = &set->word[channel / 64], bit = channel % 64;
  *word = (*word & ~(1ull << bit)) | (uint64_t)in << bit;
}

/* ---- time ---- */

static uint64_t begin_of(const tg_controller *m, uint64_t cycle) {
  return TG_DRAM_EPOCH + cycle * 1000000 / m->clock;
}
/* The first cycle that begins at `time` or later. */
static uint64_t cycle_from(const tg_controller *m, uint64_t time) {
  return ((time - TG_DRAM_EPOCH) * m->clock + 999999) / 1000000;
}
static void set_cycle(tg_controller *m, uint64_t cycle) {
  m->begin = cycle == m->cycle + 1 ? m->end : begin_of(m, cycle);
  m->cycle = cycle;
  m->end = begin_of(m, cycle + 1);
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
  m->accesses = TG_ATOM_BYTES / tg_dram_access_bytes(&m->device);
  m->words = (m->device.channels + 63) / 64;
  tg_address_map_init(&m->map, &m->device);
  m->pieces = 1;
  while (m->pieces < params->dram_latency + 2) m->pieces *= 2;
  m->port = TG_NEW_ARRAY(&m->arena, port, m->ports);
  for (uint32_t p = 0; p < m->ports; p++) {
    m->port[p].atoms = TG_NEW_ARRAY(&m->arena, atom, m->device.port_queue);
    m->port[p].lists = TG_NEW_ARRAY(&m->arena, atom_list, m->device.channels);
    m->port[p].pieces = TG_NEW_ARRAY(&m->arena, piece, m->pieces);
  }
  m->wanted = TG_NEW_ARRAY(&m->arena, uint32_t, m->device.channels);
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
  m->begin = begin_of(m, 0);
  m->end = begin_of(m, 1);
  m->waiting = m->fresh = 0;
  m->soonest = TG_DRAM_NEVER;
  for (uint32_t p = 0; p < m->ports; p++) {
    port *own = &m->port[p];
    *own = (port){.atoms = own->atoms, .lists = own->lists, .pieces = own->pieces};
    for (uint32_t i = 0; i < m->device.port_queue; i++)
      own->atoms[i].next = i + 1 < m->device.port_queue ? (uint16_t)(i + 1) : (uint16_t)NO_ATOM;
  }
  for (uint32_t c = 0; c < m->device.channels; c++) {
    tg_channel_reset(&m->channel[c]);
    m->decide[c] = TG_DRAM_NEVER;
    set_add(&m->room[0], c);
    set_add(&m->room[1], c);
  }
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
  uint16_t slot = p->unused;
  p->unused = p->atoms[slot].next;
  p->atoms[slot] = (atom){.number = atom_number,
                          .place = tg_place_of(&m->map, atom_number),
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
  if (write) return;
  p->pieces[p->sent++ & (m->pieces - 1)] = (piece){.sent = m->cycle, .left = count * m->accesses};
  if (!count) settle(m, number);
}

/* ---- from ports to channels ---- */

/* Atoms that were sent in a cycle that is over may cross. */
static void ripen(port *p) {
  for (; p->fresh_count; p->fresh_count--) {
    uint16_t slot = p->fresh;
    atom *a = &p->atoms[slot];
    uint32_t channel = tg_place_channel(a->place);
    atom_list *l = &p->lists[channel];
    p->fresh = a->next;
    a->next = NO_ATOM;
    if ((p->oldest[0].word[channel / 64] | p->oldest[1].word[channel / 64]) >> channel % 64 & 1) {
      p->atoms[l->last].next = slot;
    } else {
      l->first = slot;
      set_add(&p->oldest[a->write], channel);
    }
    l->last = slot;
  }
}

/* The oldest atom of a port for a channel leaves it. */
static atom pop(port *p, uint32_t channel) {
  atom_list *l = &p->lists[channel];
  uint16_t slot = l->first;
  atom a = p->atoms[slot];
  set_remove(&p->oldest[a.write], channel);
  if (a.next != NO_ATOM) set_add(&p->oldest[p->atoms[a.next].write], channel);
  l->first = a.next;
  p->atoms[slot].next = p->unused;
  p->unused = slot;
  p->count--;
  return a;
}

/* Whether the channel's queues have room for an atom, after they have changed. */
static void note_room(tg_controller *m, const tg_channel *c) {
  set_put(&m->room[0], c->number, c->reads.count + m->accesses <= m->device.read_queue);
  set_put(&m->room[1], c->number, c->writes.count + m->accesses <= m->device.write_queue);
}

static void note_decision(tg_controller *m, const tg_channel *c) {
  m->decide[c->number] = c->decide;
  if (c->decide < m->soonest) m->soonest = c->decide;
}

static void put(tg_controller *m, tg_channel *c, const atom *a, uint32_t number) {
  for (uint32_t i = 0; i < m->accesses; i++) {
    tg_place place = a->place ^ m->map.access[i];
    tg_channel_put(c, a->write,
                   (tg_access){.atom = a->number,
                               .row = tg_place_row(place),
                               .bank = (uint16_t)tg_place_bank(place),
                               .piece = a->piece,
                               .port = (uint16_t)number},
                   m->end);
  }
  note_room(m, c);
  note_decision(m, c);
}

/* The channel takes what the port offers. */
static void accept(tg_controller *m, tg_channel *c, uint32_t number) {
  port *p = &m->port[number];
  atom a = pop(p, c->number);
  if (p->count == p->fresh_count) m->waiting &= ~(1u << number);
  c->turn = c->granted != number ? 1 : c->turn < TURN ? c->turn + 1 : TURN;
  c->granted = (uint16_t)number;
  bool written = tg_channel_writes_atom(c, a.number);
  if (a.write && written) {
    c->counts.merged++;
  } else if (written) {
    c->counts.forwarded++;
    complete(m, number, a.piece, m->accesses, m->end);
  } else {
    put(m, c, &a, number);
  }
}

/* The channel of the oldest atom of a port that has room for it; an atom passes none for the same channel. */
static uint32_t offer(const tg_controller *m, const port *p) {
  uint32_t best = MOST_CHANNELS, order = 0;
  for (uint32_t w = 0; w < m->words; w++) {
    uint64_t left = (p->oldest[0].word[w] & m->room[0].word[w]) | (p->oldest[1].word[w] & m->room[1].word[w]);
    for (; left; left &= left - 1) {
      uint32_t channel = w * 64 + (uint32_t)__builtin_ctzll(left),
               own = p->atoms[p->lists[channel].first].order;
      if (best != MOST_CHANNELS && (int32_t)(own - order) > 0) continue;
      best = channel;
      order = own;
    }
  }
  return best;
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
    uint32_t number = (uint32_t)__builtin_ctz(left), channel = offer(m, &m->port[number]);
    if (channel == MOST_CHANNELS) continue;
    if (!m->wanted[channel]) touched[count++] = (uint16_t)channel;
    m->wanted[channel] |= 1u << number;
  }
  for (uint32_t i = 0; i < count; i++) {
    tg_channel *c = &m->channel[touched[i]];
    uint32_t mask = m->wanted[touched[i]];
    m->wanted[touched[i]] = 0;
    accept(m, c, next_port(c, mask));
  }
  for (; m->fresh; m->fresh &= m->fresh - 1) {
    uint32_t number = (uint32_t)__builtin_ctz(m->fresh);
    ripen(&m->port[number]);
    m->waiting |= 1u << number;
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
        if (choice.access && !choice.write)
          complete(m, choice.access->port, choice.access->piece, 1, choice.done);
      }
      m->decide[i] = c->decide;
      note_room(m, c);
    }
    if (m->decide[i] < soonest) soonest = m->decide[i];
  }
  m->soonest = soonest;
}

/* The cycle in which a time lies. */
static uint64_t cycle_of(const tg_controller *m, uint64_t time) {
  uint64_t cycle = cycle_from(m, time);
  return begin_of(m, cycle) > time ? cycle - 1 : cycle;
}

void tg_controller_advance(tg_controller *m, uint64_t cycle) {
  assert(cycle >= m->cycle);
  while (m->cycle < cycle) {
    if (!(m->waiting | m->fresh) && m->soonest >= m->end) { /* nothing until the next decision */
      uint64_t to = m->soonest == TG_DRAM_NEVER ? cycle : cycle_of(m, m->soonest);
      set_cycle(m, to < cycle ? to : cycle);
      continue;
    }
    if (m->soonest < m->end) decide(m);
    if (m->waiting | m->fresh) cross(m);
    set_cycle(m, m->cycle + 1);
  }
}

uint64_t tg_controller_next(const tg_controller *m) {
  if (m->waiting | m->fresh) return m->cycle + 1;
  if (m->soonest == TG_DRAM_NEVER) return UINT64_MAX;
  uint64_t cycle = cycle_of(m, m->soonest);
  return (cycle > m->cycle ? cycle : m->cycle) + 1;
}

/* Data are read after a decision in a cycle to come, or come from a write queue after one. */
uint64_t tg_controller_lookahead(const tg_controller *m) {
  uint64_t cycles = m->device.controller * m->clock / 1000000;
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
  return last > TG_DRAM_EPOCH ? cycle_from(m, last) - 1 : 0;
}
