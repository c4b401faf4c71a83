/* The atoms that a channel reads, each with the ports that wait for it: a read of an atom that another port already asked for
 * joins it until its data have passed the bus (docs/machine.md, section 8). */
#ifndef TEGULA_DRAM_READS_H
#define TEGULA_DRAM_READS_H

#include "frontend/base/arena.h"

#include <stdbool.h>
#include <stdint.h>

enum {
  TG_READ_PORTS = 32,
  TG_NO_READ = 0xFFFF,
  TG_READS_DECIDED = 32, /* atoms decided last that can still be joined */
  TG_READ_BUCKETS = 64
};

typedef struct tg_read {
  uint64_t atom;                 /* number of the 64-byte atom */
  uint64_t done;                 /* ps: the end of its data, as far as accesses are decided */
  uint32_t ports;                /* a bit for each that waits, */
  uint32_t piece[TG_READ_PORTS]; /* of whose loads that is */
  uint16_t left;                 /* accesses to be decided */
  uint16_t next;                 /* of those with the same hash, or of the free ones */
  bool open;                     /* it can be joined: nobody wrote to the atom since, nor was it forgotten */
} tg_read;

typedef struct tg_reads {
  tg_read *slots;
  uint32_t size;
  uint16_t bucket[TG_READ_BUCKETS], unused; /* lists */
  uint16_t decided[TG_READS_DECIDED];       /* a ring: slots whose accesses are decided, or TG_NO_READ */
  uint32_t oldest;                          /* in it */
} tg_reads;

/* For so many atoms with accesses that wait. */
void tg_reads_init(tg_reads *reads, uint32_t waiting, tg_arena *arena);
void tg_reads_reset(tg_reads *reads);
/* An atom of so many accesses is asked for by a port; returns its slot. */
uint16_t tg_reads_begin(tg_reads *reads, uint64_t atom, uint32_t accesses, uint32_t port, uint32_t piece);
/* The read of an atom that the port may join at `time`, the youngest one; NULL: there is none. */
tg_read *tg_reads_find(tg_reads *reads, uint64_t atom, uint32_t port, uint64_t time);
/* An access of the slot's atom is decided, its data end at `done`. True: it was the last one. */
bool tg_reads_decide(tg_reads *reads, uint16_t slot, uint64_t done);
/* Somebody writes to the atom: no read that comes from now on joins one from before. */
void tg_reads_close(tg_reads *reads, uint64_t atom);

#endif
