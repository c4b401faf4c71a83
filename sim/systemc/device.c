/* Ports in front of a memory device: pieces of bursts as requests, arrivals, the link (docs/machine.md, sections 7
 * and 8). The memory itself is sim/dram. */
#include "frontend/base/math.h"
#include "sim/systemc/chip.h"

/* A piece has come. Its burst is complete when all have, and when the link has carried as many bytes as it takes for
 * them, one burst after the other. */
static void arrived(void *user, uint32_t port, uint64_t cycle) {
  tg_chip *chip = user;
  tg_port_state *p = &chip->port[port];
  tg_load *load = &p->loads[p->arriving % chip->m->agcu_buffers];
  if (load->linked == TG_NEVER) load->linked = tg_later(cycle, p->link + 1);
  if (--load->pieces) return;
  p->link = tg_later(cycle, load->linked + load->cycles - 1);
  tg_port_complete(chip, port, p->arriving++, p->link);
}

void tg_device_create(tg_chip *chip) {
  uint32_t elements = chip->m->burst_flits * tg_flit_bytes(chip->m) / 2; /* the most a burst has */
  tg_controller_host host = {chip, arrived, NULL};
  chip->memory = tg_controller_create(chip->m, &host);
  chip->spans.span = TG_NEW_ARRAY(&chip->arena, tg_span, elements);
  for (uint32_t p = 0; p < chip->ports; p++)
    chip->port[p].walk.pieces = TG_NEW_ARRAY(&chip->arena, tg_piece, elements);
}

/* The pieces of a span: its parts in each flit. */
static void add_pieces(tg_port_walk *w, const tg_walk *walk, const tg_span *span) {
  uint32_t valid_end = span->valid_first + span->valid_count, lane = span->lane;
  for (uint32_t from = 0, to; from < span->length; from = to, lane = 0) {
    to = from + walk->flit_elements - lane;
    if (to > span->length) to = span->length;
    uint32_t low = from > span->valid_first ? from : span->valid_first,
             high = to < valid_end ? to : valid_end;
    w->pieces[w->count++] = (tg_piece){.address = (uint64_t)span->address +
                                                  (uint64_t)(low - span->valid_first) * walk->memory_bytes,
                                       .bytes = high > low ? (high - low) * walk->memory_bytes : 0};
  }
}

/* The next piece of a port's burst, in a cycle that may be over. */
static void send(tg_chip *chip, uint32_t port, uint64_t cycle) {
  tg_port_walk *w = &chip->port[port].walk;
  tg_piece piece = w->pieces[w->sent];
  tg_controller_send(chip->memory, port, piece.address, piece.bytes, w->store, w->sent == 0);
  w->next = cycle + 1;
  if (++w->sent < w->count) return;
  w->active = false;
  chip->sending &= ~(1u << port);
  tg_port_done(chip, port, tg_later(cycle, w->begin + w->cycles - 1));
}

/* The memory follows the array at a distance: everything up to `cycle` happens there, with the pieces of bursts that were
 * granted before. */
static void follow(tg_chip *chip, uint64_t cycle) {
  for (; chip->followed < cycle && chip->sending; chip->followed++) {
    tg_controller_advance(chip->memory, chip->followed + 1);
    for (uint32_t left = chip->sending & ~tg_controller_full(chip->memory); left; left &= left - 1) {
      uint32_t port = (uint32_t)__builtin_ctz(left);
      bool due = chip->port[port].walk.next <= chip->followed + 1;
      if (due && tg_controller_ready(chip->memory, port)) send(chip, port, chip->followed + 1);
    }
  }
  if (chip->followed < cycle) tg_controller_advance(chip->memory, chip->followed = cycle);
}

/* The last piece of a port's burst is sent then, or the port is busy until then, or later: a piece a cycle, after this
 * one. */
static uint64_t sent_from(const tg_chip *chip, const tg_port_walk *w) {
  uint64_t next = tg_later(w->next, chip->now + 1);
  return tg_later(next + (w->count - w->sent) - 1, w->begin + w->cycles - 1);
}

/* The oldest burst that is not complete, all of its pieces being sent, is so then or later: what is not known yet arrives
 * after the memory's lookahead, a piece a cycle, and the link takes its time. */
static uint64_t complete_from(const tg_chip *chip, const tg_port_state *p) {
  const tg_load *load = &p->loads[p->arriving % chip->m->agcu_buffers];
  uint64_t next = chip->now + tg_controller_lookahead(chip->memory, (uint32_t)(p - chip->port));
  uint64_t linked = load->linked == TG_NEVER ? tg_later(next, p->link + 1) : load->linked;
  return tg_later(next + load->pieces - 1, linked + load->cycles - 1);
}

/* The memory is followed again before anything that it does can be seen. */
static void look_again(tg_chip *chip) {
  uint64_t next = TG_NEVER;
  for (uint32_t port = 0; port < chip->ports; port++) {
    const tg_port_state *p = &chip->port[port];
    bool loads = p->walk.active && !p->walk.store;
    uint64_t look = p->walk.active ? sent_from(chip, &p->walk) : p->walk.blocked ? chip->now + 1 : TG_NEVER;
    if (look < next) next = look;
    if (p->arriving + loads != p->newest && next > chip->now + 1) {
      look = complete_from(chip, p);
      if (look < next) next = look;
    }
  }
  if (next == TG_NEVER) return;
  tg_chip_wake(chip, tg_agent_of_memory(chip), tg_later(next, chip->now + 1));
}

bool tg_device_ready(tg_chip *chip, uint32_t port) {
  follow(chip, chip->now);
  if (tg_controller_ready(chip->memory, port)) return true;
  tg_chip_wake(chip, tg_agent_of_memory(chip), chip->now + 1); /* looks again */
  return false;
}

void tg_device_walk(tg_chip *chip, uint32_t port, uint64_t begin) {
  tg_port_state *p = &chip->port[port];
  tg_port_walk *w = &p->walk;
  const tg_walk *walk = &chip->unit[w->unit].addresses;
  for (uint32_t s = 0; s < chip->spans.count; s++) add_pieces(w, walk, &chip->spans.span[s]);
  if (!w->store) {
    tg_load *load = &p->loads[(p->newest - 1) % chip->m->agcu_buffers];
    load->linked = TG_NEVER;
    load->pieces = w->count;
    load->cycles = w->cycles;
  }
  w->active = true;
  w->begin = w->next = begin;
  p->free_at = TG_NEVER;
  chip->sending |= 1u << port;
  if (begin == chip->now) send(chip, port, chip->now);
  look_again(chip);
}

void tg_device_act(tg_chip *chip) {
  follow(chip, chip->now);
  for (uint32_t port = 0; port < chip->ports; port++) {
    tg_port_walk *w = &chip->port[port].walk;
    if (!w->blocked || !tg_controller_ready(chip->memory, port)) continue;
    w->blocked = false;
    tg_chip_wake(chip, tg_agent_of_port(chip, port), chip->now);
  }
  look_again(chip);
}

tg_dram_counts tg_device_count(tg_chip *chip) {
  follow(chip, chip->now);
  tg_dram_counts all = tg_controller_counts(chip->memory), more = tg_dram_since(all, chip->counted);
  chip->counted = all;
  return more;
}

uint64_t tg_device_finish(tg_chip *chip, tg_dram_counts *counts) {
  uint64_t written = tg_controller_drain(chip->memory);
  tg_dram_add(counts, tg_dram_since(tg_controller_counts(chip->memory), chip->counted));
  return written;
}
