/* A channel of a memory device: its queues, banks and buses. Times are picoseconds. */
#ifndef TEGULA_DRAM_CHANNEL_H
#define TEGULA_DRAM_CHANNEL_H

#include "sim/dram/controller.h"
#include "sim/dram/queue.h"
#include "sim/dram/reads.h"

#define TG_DRAM_NEVER UINT64_MAX

/* Times begin here, later than any parameter is long, so that "long ago" is 0. */
#define TG_DRAM_EPOCH ((uint64_t)1 << 40)

typedef struct tg_dram_bank {
  bool open;
  uint32_t row;
  uint64_t activate, column, precharge; /* earliest times of the next such command */
  uint32_t waiting;                     /* accesses in the queues */
  bool refreshed;                       /* in this round of refreshes of single banks */
} tg_dram_bank;

/* The last commands of a bank group; element [groups] of a channel's array is the whole channel. */
typedef struct tg_dram_group {
  uint64_t activated, read, written;
} tg_dram_group;

typedef struct tg_channel {
  const tg_dram_device *device;
  uint32_t number;
  uint64_t burst;      /* of data on the bus */
  uint32_t group_bits; /* bank number >> group_bits is its group */
  tg_access_queue reads, writes;
  tg_reads read;    /* what accesses in `reads` belong to */
  uint16_t *filter; /* accesses in `writes` by hash of their atoms: 0 says that an atom is not there */
  tg_dram_bank *banks;
  tg_dram_group *groups;
  uint64_t window[4]; /* the last four activates, a ring */
  uint32_t oldest;
  uint64_t decide;            /* when the next access is chosen; TG_DRAM_NEVER: nothing is to be done */
  uint64_t refresh, interval; /* when the next one is due; from one to the next */
  uint32_t owed;              /* that were due and are still to be done */
  uint64_t idle_since;        /* the last decision: nobody waits behind it, if none is to come */
  uint32_t refreshed;         /* banks of this round */
  struct {
    uint32_t round;      /* refreshes until each bank has had one */
    uint32_t idle, most; /* that are owed: so many are done when nobody waits, and though somebody does */
    uint64_t patience;   /* so long nobody has to have waited */
  } refreshes;
  uint64_t written; /* end of the data written last */
  uint64_t column;  /* the last read or write */
  bool writing, draining;
  uint16_t granted, turn; /* port whose atom it took last, and how many in a row */
  tg_dram_counts counts;
  struct { /* sums of the device's times: from a read or write to the next read or write of ... */
    uint64_t gap, same;     /* the same kind: any group; the same group */
    uint64_t read_to_write; /* the other kind */
    uint64_t write_to_read, write_to_read_same;
    uint64_t ahead; /* a decision comes so long before a read or write */
  } after;
} tg_channel;

/* What a decision did. */
typedef struct tg_choice {
  const tg_access *
      access; /* no longer in its queue; valid until something comes into that. NULL: nothing was to be done */
  bool write;
  uint64_t done; /* end of its data */
} tg_choice;

void tg_channel_init(tg_channel *channel, const tg_dram_device *device, uint32_t number, tg_arena *arena);
void tg_channel_reset(tg_channel *channel);
/* The decision that is due at channel->decide: an access leaves its queue, its commands get their times. */
tg_choice tg_channel_decide(tg_channel *channel, const tg_controller_host *host);
/* Refreshes due before `time`; to be called before anything comes then. What comes later has no say in which bank it is. */
void tg_channel_refresh(tg_channel *channel, const tg_controller_host *host, uint64_t time);
/* An access comes into a queue that has room, not to be seen before tg_channel_arrive. */
void tg_channel_put(tg_channel *channel, bool write, tg_access access, uint32_t row, uint16_t bank);
/* Whether accesses of an atom wait to be written. */
bool tg_channel_writes_atom(const tg_channel *channel, uint64_t atom);
/* There is something to decide from `time` on. */
void tg_channel_arrive(tg_channel *channel, uint64_t time);

#endif
