/* The way from ports to channels. Each port offers one atom at a time, each channel takes one of a port in a cycle; what a port
 * offers is found anew only if its atoms, or the room of a channel that it has any for, have changed. */
#include "sim/dram/state.h"

enum { TURN = 8 /* atoms that a port hands to a channel before another port is asked */ };

/* The oldest atom of a port for a channel is `a`. */
static void set_head(tg_controller *m, uint32_t number, uint32_t channel, const atom *a) {
  set_add(&m->port[number].oldest[a->write], channel);
  m->heads[a->write][channel] |= 1u << number;
}

/* Atoms that were sent in a cycle that is over may cross. They are younger than all that the port could offer before. */
static void ripen(tg_controller *m, uint32_t number) {
  port *p = &m->port[number];
  for (; p->fresh_count; p->fresh_count--) {
    uint16_t slot = p->fresh;
    atom *a = &p->atoms[slot];
    uint32_t channel = tg_dram_place_channel(a->place);
    atom_list *l = &p->lists[channel];
    p->fresh = a->next;
    a->next = NO_ATOM;
    if (set_has(&p->oldest[0], channel) || set_has(&p->oldest[1], channel)) {
      p->atoms[l->last].next = slot;
    } else {
      l->first = slot;
      set_head(m, number, channel, a);
      if (p->offered == NO_CHANNEL) m->stale |= 1u << number;
    }
    l->last = slot;
  }
}

/* The channel of the oldest atom of a port that has room for it; an atom passes none for the same channel. */
static uint32_t find_offer(const tg_controller *m, const port *p) {
  uint32_t best = NO_CHANNEL, order = 0;
  for (uint32_t w = 0; w < m->words; w++) {
    uint64_t left = (p->oldest[0].word[w] & m->room[0].word[w]) | (p->oldest[1].word[w] & m->room[1].word[w]);
    for (; left; left &= left - 1) {
      uint32_t channel = w * 64 + (uint32_t)__builtin_ctzll(left),
               own = p->atoms[p->lists[channel].first].order;
      if (best != NO_CHANNEL && (int32_t)(own - order) > 0) continue;
      best = channel;
      order = own;
    }
  }
  return best;
}

static void offer(tg_controller *m, uint32_t number) {
  m->stale &= ~(1u << number);
  port *p = &m->port[number];
  uint32_t before = p->offered, channel = find_offer(m, p);
  if (channel == before) return;
  p->offered = channel;
  if (before != NO_CHANNEL && !(m->wanted[before] &= ~(1u << number))) set_remove(&m->asked, before);
  if (channel == NO_CHANNEL) return;
  m->wanted[channel] |= 1u << number;
  set_add(&m->asked, channel);
}

/* The oldest atom of a port for a channel leaves it. */
static atom pop(tg_controller *m, uint32_t number, uint32_t channel) {
  port *p = &m->port[number];
  atom_list *l = &p->lists[channel];
  uint16_t slot = l->first;
  atom a = p->atoms[slot];
  set_remove(&p->oldest[a.write], channel);
  m->heads[a.write][channel] &= ~(1u << number);
  if (a.next != NO_ATOM) set_head(m, number, channel, &p->atoms[a.next]);
  l->first = a.next;
  p->atoms[slot].next = p->unused;
  p->unused = slot;
  p->count--;
  if (p->count == p->fresh_count)
    offer(m, number); /* none any more */
  else
    m->stale |= 1u << number;
  note_count(m, number);
  return a;
}

static void put(tg_controller *m, tg_channel *c, const atom *a, uint32_t number) {
  tg_channel_refresh(c, &m->host, m->end);
  tg_access access = {.atom = a->number};
  if (!a->write) access.read = tg_reads_begin(&c->read, a->number, m->accesses, number, a->piece);
  for (uint32_t i = 0; i < m->accesses; i++) {
    tg_dram_place place = a->place ^ m->map.access[i];
    tg_channel_put(c, a->write, access, tg_dram_place_row(place), (uint16_t)tg_dram_place_bank(place));
  }
  tg_channel_arrive(c, m->end);
  note_room(m, c, a->write);
  note_decision(m, c);
}

/* A read has the data that another port's waits for. */
static void join(tg_controller *m, tg_channel *c, tg_read *read, const atom *a, uint32_t number) {
  c->counts.joined++;
  read->ports |= 1u << number;
  read->piece[number] = a->piece;
  if (!read->left) tg_controller_complete(m, number, a->piece, read->done);
}

/* The channel takes what the port offers. */
static void accept(tg_controller *m, tg_channel *c, uint32_t number) {
  atom a = pop(m, number, c->number);
  c->turn = c->granted != number ? 1 : c->turn < TURN ? c->turn + 1 : TURN;
  c->granted = (uint16_t)number;
  bool written = tg_channel_writes_atom(c, a.number);
  tg_read *other = a.write || written ? NULL : tg_reads_find(&c->read, a.number, number, m->end);
  if (a.write) tg_reads_close(&c->read, a.number);
  if (a.write && written) {
    c->counts.merged++;
  } else if (written) {
    c->counts.forwarded++;
    tg_controller_complete(m, number, a.piece, m->end);
  } else if (other) {
    join(m, c, other, &a, number);
  } else {
    put(m, c, &a, number);
  }
}

/* The port whose atom a channel takes: the one it took from last until its turn is over, else the next of `mask`. */
static uint32_t next_port(const tg_channel *c, uint32_t mask) {
  if (mask >> c->granted & 1 && c->turn < TURN) return c->granted;
  uint32_t after = mask & (uint32_t)(~0ull << (c->granted + 1));
  return (uint32_t)__builtin_ctz(after ? after : mask);
}

bool tg_controller_crossing(const tg_controller *m) {
  uint64_t any = m->fresh | m->stale;
  for (uint32_t w = 0; w < m->words; w++) any |= m->asked.word[w];
  return any != 0;
}

void tg_controller_cross(tg_controller *m) {
  while (m->stale) offer(m, (uint32_t)__builtin_ctz(m->stale));
  for (uint32_t w = 0; w < m->words; w++)
    for (uint64_t left = m->asked.word[w]; left; left &= left - 1) {
      tg_channel *c = &m->channel[w * 64 + (uint32_t)__builtin_ctzll(left)];
      accept(m, c, next_port(c, m->wanted[c->number]));
    }
  for (; m->fresh; m->fresh &= m->fresh - 1) ripen(m, (uint32_t)__builtin_ctz(m->fresh));
}
