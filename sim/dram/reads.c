#include "sim/dram/reads.h"

#include "frontend/base/math.h"

#include <assert.h>
#include <string.h>

static uint16_t *bucket_of(tg_reads *r, uint64_t atom) {
  return &r->bucket[atom * 0x9E3779B97F4A7C15u >> 58];
}

void tg_reads_init(tg_reads *r, uint32_t waiting, tg_arena *arena) {
  r->size = waiting + TG_READS_DECIDED;
  r->slots = TG_NEW_ARRAY(arena, tg_read, r->size);
}

void tg_reads_reset(tg_reads *r) {
  memset(r->bucket, 0xFF, sizeof r->bucket); /* TG_NO_READ */
  memset(r->decided, 0xFF, sizeof r->decided);
  r->oldest = 0;
  r->unused = 0;
  for (uint32_t i = 0; i < r->size; i++)
    r->slots[i] = (tg_read){.next = i + 1 < r->size ? (uint16_t)(i + 1) : (uint16_t)TG_NO_READ};
}

uint16_t tg_reads_begin(tg_reads *r, uint64_t atom, uint32_t accesses, uint32_t port, uint32_t piece) {
  uint16_t slot = r->unused, *bucket = bucket_of(r, atom);
  assert(slot != TG_NO_READ);
  tg_read *read = &r->slots[slot];
  r->unused = read->next;
  read->atom = atom;
  read->done = 0;
  read->ports = 1u << port;
  read->piece[port] = piece;
  read->left = (uint16_t)accesses;
  read->open = true;
  read->next = *bucket;
  *bucket = slot;
  return slot;
}

tg_read *tg_reads_find(tg_reads *r, uint64_t atom, uint32_t port, uint64_t time) {
  for (uint16_t slot = *bucket_of(r, atom); slot != TG_NO_READ; slot = r->slots[slot].next) {
    tg_read *read = &r->slots[slot];
    if (read->atom != atom) continue;
    bool comes = read->open && (read->left || read->done > time) && !(read->ports >> port & 1);
    return comes ? read : NULL;
  }
  return NULL;
}

static void forget(tg_reads *r, uint16_t slot) {
  uint16_t *link = bucket_of(r, r->slots[slot].atom);
  while (*link != slot) link = &r->slots[*link].next;
  *link = r->slots[slot].next;
  r->slots[slot].next = r->unused;
  r->unused = slot;
}

bool tg_reads_decide(tg_reads *r, uint16_t slot, uint64_t done) {
  tg_read *read = &r->slots[slot];
  read->done = tg_later(read->done, done);
  if (--read->left) return false;
  uint16_t *last = &r->decided[r->oldest];
  if (*last != TG_NO_READ) forget(r, *last);
  *last = slot;
  r->oldest = (r->oldest + 1) % TG_READS_DECIDED;
  return true;
}

void tg_reads_close(tg_reads *r, uint64_t atom) {
  for (uint16_t slot = *bucket_of(r, atom); slot != TG_NO_READ; slot = r->slots[slot].next)
    if (r->slots[slot].atom == atom) r->slots[slot].open = false;
}
