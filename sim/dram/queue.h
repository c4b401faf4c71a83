/* Accesses that wait at a channel. Those that came one after the other for the same row are a run: all of them can be
 * transferred at the same time, so a choice looks at runs. */
#ifndef TEGULA_DRAM_QUEUE_H
#define TEGULA_DRAM_QUEUE_H

#include "frontend/base/arena.h"

#include <stdbool.h>
#include <stdint.h>

enum { TG_NO_SLOT = 0xFFFF };

/* One access of the device, a part of an atom, in a slot of a queue. */
typedef struct tg_access {
  uint64_t atom;    /* number of the 64-byte atom */
  uint16_t read;    /* slot of a tg_read; reads only */
  uint16_t younger; /* slot of the next one of the run, or of the next free one; TG_NO_SLOT at the end */
} tg_access;

typedef struct tg_run {
  uint32_t row;
  uint16_t bank;           /* of the channel, group * banks + bank */
  uint16_t group, count;   /* count: accesses */
  uint16_t first, last;    /* slots of its oldest access and of its youngest one */
  uint16_t younger, older; /* runs; TG_NO_SLOT at the ends. Of a free one: younger is the next free one */
} tg_run;

typedef struct tg_access_queue {
  tg_access *slots;
  tg_run *runs;
  uint32_t size;             /* of both */
  uint16_t oldest, youngest; /* runs: the ends of the list in order of age */
  uint16_t free_slot, free_run;
  uint32_t count, bypassed; /* accesses; bypassed: younger ones that went before the oldest */
} tg_access_queue;

void tg_queue_init(tg_access_queue *queue, uint32_t size, tg_arena *arena);
void tg_queue_reset(tg_access_queue *queue);
/* An access comes into a queue that has room. */
void tg_queue_put(tg_access_queue *queue, tg_access access, uint32_t row, uint16_t bank, uint16_t group);
/* The oldest access of a run leaves the queue; valid until something comes into that, as is the run. */
const tg_access *tg_queue_take(tg_access_queue *queue, uint32_t run);
/* Whether accesses of an atom wait. */
bool tg_queue_has_atom(const tg_access_queue *queue, uint64_t atom);
/* ... or any to a row. */
bool tg_queue_has_row(const tg_access_queue *queue, uint32_t row, uint16_t bank);

#endif
