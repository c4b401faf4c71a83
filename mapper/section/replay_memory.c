/* The memory in a replay. Of a device each channel, and each group of banks of it, is as long busy as its accesses take, in
 * whatever order they come: the controller finds one whose group and row are free. */
#include "mapper/section/replay_state.h"

#include "frontend/base/math.h"
#include "sim/machine/dram_address.h"

enum { MOST_WAITING = 64, ALIKE = 1024, RECENT = 4096 };

typedef struct channel {
  double free_at;  /* cycles: when it is done with what it was asked */
  uint32_t writes; /* since it last wrote */
  bool reads;      /* has it read since? */
  uint32_t asked;  /* atoms to be written so far; the last ones wait: a read of one is answered at once */
  uint64_t waiting[MOST_WAITING];
  uint8_t alike[ALIKE]; /* of them, by the atom's last bits: most are not there at all */
} channel;

typedef struct bank {
  double free_at;
  uint32_t row;
  bool open;
} bank;

/* An atom that was read: other ports that ask for it until it has come have it then. */
typedef struct recent {
  uint64_t atom;
  double done;
  uint32_t ports; /* a bit for each that has it so */
} recent;

struct tg_replay_memory {
  tg_dram_address_map map;
  uint64_t near;           /* atoms of which the last place was one, without the last byte of their number */
  tg_dram_place near_part; /* what the other bytes contribute */
  uint32_t accesses, banks, groups; /* of an atom, of a group, of a channel */
  uint32_t bank_bits;               /* of the number of a group's banks, a power of two */
  double atom, same_group;          /* that an atom takes of its channel, and of its group: cycles */
  double activate, latency, turn;   /* cycles */
  double on_the_way;            /* cycles from what `done` is of an atom until its data have passed the bus */
  recent *recent;               /* by the atom's last bits */
  double read_room, write_room; /* that its queues have, in cycles */
  uint32_t batch;               /* accesses that are written at a time */
  uint32_t keeps;               /* atoms of a channel that wait until others are behind them */
  uint32_t all_channels;
  channel *channels;
  double *group; /* when it is free: of each channel */
  bank *all_banks;
};

tg_replay_memory *tg_replay_memory_new(const tg_params *m, tg_arena *arena) {
  const tg_dram_device *d = &m->dram;
  if (tg_dram_is_simple(d)) return NULL;
  tg_replay_memory *memory = TG_NEW(arena, tg_replay_memory);
  double cycle = 1e6 / m->clock_mhz, burst = tg_dram_burst(d),
         refreshed = d->tRFCpb ? 1 : 1 - (double)d->tRFC / d->tREFI;
  tg_dram_address_map_init(&memory->map, d);
  memory->accesses = TG_ATOM_BYTES / tg_dram_access_bytes(d);
  memory->banks = d->banks;
  memory->bank_bits = (uint32_t)__builtin_ctz(d->banks);
  memory->groups = d->groups;
  double access = tg_max_double(d->tCCD_S, burst) / cycle / refreshed;
  memory->atom = memory->accesses * access;
  memory->same_group = memory->accesses * (tg_max_double(d->tCCD_L, burst) / cycle / refreshed);
  memory->activate = tg_dram_activate(d) / cycle;
  memory->latency =
      (d->controller + d->tCL + burst) / cycle + 2; /* and a cycle each way between port and channel */
  memory->on_the_way = (d->tCL + burst) / cycle;
  memory->turn = tg_dram_turns(d) / cycle;
  memory->batch = tg_dram_batch(d);
  memory->keeps = d->write_low / memory->accesses;
  if (memory->keeps > MOST_WAITING) memory->keeps = MOST_WAITING;
  memory->all_channels = d->channels;
  memory->read_room = d->read_queue * access;
  memory->write_room = d->write_high * access;
  memory->recent = TG_NEW_ARRAY(arena, recent, RECENT);
  for (uint32_t i = 0; i < RECENT; i++) memory->recent[i].atom = UINT64_MAX;
  memory->channels = TG_NEW_ARRAY(arena, channel, d->channels);
  memory->group = TG_NEW_ARRAY(arena, double, (size_t)d->channels * d->groups);
  memory->all_banks = TG_NEW_ARRAY(arena, bank, (size_t)d->channels * d->groups * d->banks);
  return memory;
}

void tg_replay_memory_pass(tg_replay_memory *y, double cycles) {
  if (!y) return;
  for (uint32_t i = 0; i < RECENT; i++) y->recent[i].done -= cycles;
  for (uint32_t c = 0; c < y->all_channels; c++)
    y->channels[c].free_at = tg_max_double(y->channels[c].free_at - cycles, 0);
  for (uint32_t g = 0; g < y->all_channels * y->groups; g++)
    y->group[g] = tg_max_double(y->group[g] - cycles, 0);
  for (uint32_t b = 0; b < y->all_channels * y->groups * y->banks; b++)
    y->all_banks[b].free_at = tg_max_double(y->all_banks[b].free_at - cycles, 0);
}

static uint32_t last_bits(uint64_t atom) { return (uint32_t)(atom ^ atom >> 10) % ALIKE; }

static bool waits(const tg_replay_memory *y, const channel *c, uint64_t atom) {
  if (!c->alike[last_bits(atom)]) return false;
  for (uint32_t i = 0; i < y->keeps && i < c->asked; i++)
    if (c->waiting[i] == atom) return true;
  return false;
}

static void wait_written(const tg_replay_memory *y, channel *c, uint64_t atom) {
  uint64_t *place = &c->waiting[c->asked % y->keeps];
  if (c->asked++ >= y->keeps) c->alike[last_bits(*place)]--;
  *place = atom;
  c->alike[last_bits(atom)]++;
}

/* Atoms that follow each other mostly differ in their last byte. */
static tg_dram_place place_of(tg_replay_memory *y, uint64_t atom) {
  if (atom >> 8 != y->near) {
    y->near = atom >> 8;
    y->near_part = tg_dram_place_of(&y->map, atom & ~(uint64_t)0xFF);
  }
  return y->near_part ^ y->map.table[0][atom & 0xFF];
}

/* What the channel does for an atom that is asked for in cycle `asked`: when it is done. */
static double serve(tg_replay_memory *y, uint32_t port, uint64_t atom, double asked, bool write) {
  tg_dram_place place = place_of(y, atom);
  uint32_t number = tg_dram_place_channel(place), of_channel = tg_dram_place_bank(place);
  channel *c = &y->channels[number];
  double *group = &y->group[number * y->groups + (of_channel >> y->bank_bits)];
  bank *b = &y->all_banks[number * y->groups * y->banks + of_channel];
  recent *last = &y->recent[(atom ^ atom >> 12) % RECENT];
  if (waits(y, c, atom)) return asked;
  if (!write && last->atom == atom && !(last->ports >> port & 1) && asked < last->done + y->on_the_way) {
    last->ports |= 1u << port;
    return last->done;
  }
  if (write && y->keeps) wait_written(y, c, atom);
  if (write) {
    c->writes += y->accesses;
    if (c->writes >= y->batch) {
      if (c->reads) c->free_at += y->turn;
      c->writes = 0;
      c->reads = false;
    }
  } else {
    c->reads = true;
  }
  double ready = asked;
  if (!b->open || b->row != tg_dram_place_row(place)) {
    ready = tg_max_double(ready, b->free_at) + y->activate;
    b->open = true;
    b->row = tg_dram_place_row(place);
  }
  c->free_at = tg_max_double(c->free_at, asked) + y->atom;
  *group = tg_max_double(*group, asked) + y->same_group;
  double done = tg_max_double(ready + y->atom, tg_max_double(c->free_at, *group));
  b->free_at = done;
  if (!write || last->atom == atom) *last = (recent){write ? UINT64_MAX : atom, done, 1u << port};
  return done;
}

double tg_replay_ask(tg_replay_memory *y, uint32_t port, uint64_t address, uint64_t bytes, double asked,
                     double step, bool write, uint64_t *last_atom, double *io_held) {
  double done = asked;
  for (uint64_t atom = address / TG_ATOM_BYTES; atom <= (address + bytes - 1) / TG_ATOM_BYTES; atom++) {
    if (atom == *last_atom) continue;
    *last_atom = atom;
    double served = serve(y, port, atom, asked, write),
           held = served - (write ? y->write_room : y->read_room);
    done = tg_max_double(done, served);
    *io_held = tg_max_double(*io_held, held);
    asked += step;
  }
  return write ? done : done + y->latency;
}
