/* The state of a controller: what is behind controller.h, for controller.c and crossing.c alone. */
#ifndef TEGULA_DRAM_STATE_H
#define TEGULA_DRAM_STATE_H

#include "sim/dram/channel.h"
#include "sim/machine/dram_address.h"

enum { MOST_ATOMS = 3 /* of a piece: 8P bytes from anywhere on, P = 16 */ };
enum { MOST_CHANNELS = 256, WORDS = MOST_CHANNELS / 64, NO_CHANNEL = MOST_CHANNELS, NO_ATOM = 0xFFFF };

/* A set of channels. */
typedef struct channel_set {
  uint64_t word[WORDS];
} channel_set;

/* An atom that waits at its port, in a slot. */
typedef struct atom {
  uint64_t number; /* address / 64 */
  tg_dram_place place;
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
  uint32_t left;       /* atoms */
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
  uint64_t placed;  /* atom whose place was found last, and that */
  tg_dram_place place;
  uint32_t offered; /* channel that takes an atom of it if no other port goes first; NO_CHANNEL */
} port;

struct tg_controller {
  tg_arena arena;
  tg_params params;
  tg_dram_device device;
  tg_controller_host host;
  uint64_t cycle, begin, end;       /* the cycle advanced to; when it begins, and when the next one does */
  uint32_t ports, pieces, accesses; /* pieces: room of a ring, a power of two; accesses of an atom */
  uint32_t words;                   /* of a set of channels */
  uint32_t fresh, stale,
      full; /* masks of ports: with fresh atoms; whose offer is to be found anew; without room */
  port *port;
  tg_channel *channel;
  uint32_t *wanted;    /* by channel: ports that offer it an atom */
  uint32_t *heads[2];  /* by channel: ports whose oldest atom for it is a read, a write */
  channel_set asked;   /* channels with such ports */
  channel_set room[2]; /* channels with room for an atom to read, to write */
  uint64_t *decide;    /* of each channel: its next decision, copied to be searched */
  uint64_t soonest;    /* no decision is earlier */
  uint64_t clock;      /* MHz */
  uint64_t period;     /* of it, if that is a whole number; else 0 */
  tg_dram_address_map map;
};

static inline void set_add(channel_set *set, uint32_t channel) {
  set->word[channel / 64] |= 1ull << channel % 64;
}
static inline void set_remove(channel_set *set, uint32_t channel) {
  set->word[channel / 64] &= ~(1ull << channel % 64);
}
static inline bool set_has(const channel_set *set, uint32_t channel) {
  return set->word[channel / 64] >> channel % 64 & 1;
}

/* Whether the port has room for a piece's atoms, after their count has changed. */
static inline void note_count(tg_controller *m, uint32_t number) {
  uint32_t full = m->port[number].count + MOST_ATOMS > m->device.port_queue;
  m->full = (m->full & ~(1u << number)) | full << number;
}

/* Whether a queue of the channel has room for an atom, after it has changed. */
static inline void note_room(tg_controller *m, const tg_channel *c, bool write) {
  const tg_access_queue *q = write ? &c->writes : &c->reads;
  uint64_t room = q->count + m->accesses <= q->size, *word = &m->room[write].word[c->number / 64];
  if ((*word >> c->number % 64 & 1) == room) return;
  *word ^= 1ull << c->number % 64;
  m->stale |= m->heads[write][c->number];
}

static inline void note_decision(tg_controller *m, const tg_channel *c) {
  m->decide[c->number] = c->decide;
  if (c->decide < m->soonest) m->soonest = c->decide;
}

/* Cycles of the array around the channels' picoseconds: when one begins, and the first that begins at `time` or later. */
static inline uint64_t tg_cycle_begin(const tg_controller *m, uint64_t cycle) {
  return TG_DRAM_EPOCH + cycle * 1000000 / m->clock;
}
static inline uint64_t tg_cycle_from(const tg_controller *m, uint64_t time) {
  return ((time - TG_DRAM_EPOCH) * m->clock + 999999) / 1000000;
}

/* What the host is told of a port's loads that are complete: pieces arrive in order, one a cycle, a cycle after they were
 * sent at the earliest. */
void tg_controller_settle(tg_controller *m, uint32_t port);
/* An atom of a piece of the port's loads is there from `time` on. */
void tg_controller_complete(tg_controller *m, uint32_t port, uint32_t piece, uint64_t time);

/* Whether the end of this cycle can change anything. */
bool tg_controller_crossing(const tg_controller *m);
/* The end of a cycle: each channel takes an atom of one port; atoms that were sent in it may cross from the next on. */
void tg_controller_cross(tg_controller *m);

#endif
