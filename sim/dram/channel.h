/* A channel of a memory device: its queues, banks and buses. Times are picoseconds. */
#ifndef TEGULA_DRAM_CHANNEL_H
#define TEGULA_DRAM_CHANNEL_H

#include "sim/dram/controller.h"

#define TG_DRAM_NEVER UINT64_MAX

/* Times begin here, later than any parameter is long, so that "long ago" is 0. */
#define TG_DRAM_EPOCH ((uint64_t)1 << 40)

/* One access of the device, a part of an atom. */
typedef struct tg_access {
  uint64_t atom; /* number of the 64-byte atom */
  uint32_t row;
  uint16_t bank, group; /* bank: of the channel, group * banks + bank */
  uint32_t piece;       /* of the port's loads; reads only */
  uint16_t port;
} tg_access;

/* In order of age. */
typedef struct tg_access_queue {
  tg_access *entries;
  uint32_t count, bypassed; /* younger ones that went before the oldest */
} tg_access_queue;

typedef struct tg_dram_bank {
  bool open;
  uint32_t row;
  uint64_t activate, column, precharge; /* earliest times of the next such command */
} tg_dram_bank;

/* The last commands of a bank group; element [groups] of a channel's array is the whole channel. */
typedef struct tg_dram_group {
  uint64_t activated, read, written;
} tg_dram_group;

typedef struct tg_channel {
  const tg_dram_device *device;
  uint32_t number;
  uint64_t burst; /* of data on the bus */
  tg_access_queue reads, writes;
  tg_dram_bank *banks;
  tg_dram_group *groups;
  uint64_t window[4]; /* the last four activates, a ring */
  uint32_t oldest;
  uint64_t decide;  /* when the next access is chosen; TG_DRAM_NEVER: nothing is to be done */
  uint64_t refresh; /* when the next one is due */
  uint64_t written; /* end of the data written last */
  uint64_t column;  /* the last read or write */
  bool writing, draining;
  uint16_t granted, turn; /* port whose atom it took last, and how many in a row */
  tg_dram_counts counts;
} tg_channel;

/* What a decision did. */
typedef struct tg_choice {
  bool any, write;
  tg_access access;
  uint64_t done; /* end of its data */
} tg_choice;

void tg_channel_init(tg_channel *channel, const tg_dram_device *device, uint32_t number, tg_arena *arena);
void tg_channel_reset(tg_channel *channel);
/* The decision that is due at channel->decide: an access leaves its queue, its commands get their times. */
tg_choice tg_channel_decide(tg_channel *channel, const tg_controller_host *host);
/* Something has come into a queue, to be seen from `time` on. */
void tg_channel_arrive(tg_channel *channel, uint64_t time);

#endif
