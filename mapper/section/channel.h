/* Channels: a ring of buffers that one unit fills and another one empties. Who fills waits until one is free,
 * by a semaphore of the tile or by credits of an AGCU, and tells when it is full; who empties waits for that,
 * and gives it back. */
#ifndef TEGULA_MAPPER_SECTION_CHANNEL_H
#define TEGULA_MAPPER_SECTION_CHANNEL_H

#include "mapper/section/section.h"

typedef struct tg_channel {
  tg_buffer ring;
  int full;        /* tile semaphore: a buffer is full */
  int free;        /* tile semaphore, of what a tile fills: one is free */
  int west, north; /* credits, of what AGCUs of rows or columns fill */
} tg_channel;

/* Semaphores of a ring that nothing is in: `full` alone, or with it that so many buffers are free. */
void tg_channel_open_full(tg_build *b, tg_channel *channel);
void tg_channel_open(tg_build *b, tg_channel *channel, int buffers);
/* Credits of AGCUs for so many buffers of each tile. */
void tg_channel_open_credits(tg_build *b, tg_channel *channel, int buffers);

/* A LOAD that fills a buffer, or part of one: asks for it, by credits of its AGCU, and, if it is the last one
 * that does, tells the tiles that it is full. */
void tg_channel_ask(const tg_channel *channel, tg_agcu_instr *load, bool west);
void tg_channel_deliver(const tg_channel *channel, tg_agcu_instr *load);

/* Waits and posts of an instruction in its slot number `slot`, or TG_NEXT_SLOT. `once`: for all that it does
 * in a loop of level 2, with the first, or last, execution. */
/* Who fills waits for a buffer, and says that it is full. */
void tg_channel_claim(const tg_channel *channel, tg_instr *in, int slot, bool once);
void tg_channel_fill(const tg_channel *channel, tg_instr *in, int slot, bool once);
/* Who empties waits for a full one, and gives it back: to the tile's own unit, or, from tile (r, col), to the
 * AGCU. */
void tg_channel_take(const tg_channel *channel, tg_instr *in, int slot, bool once);
void tg_channel_release(const tg_channel *channel, tg_instr *in, int slot, bool once);
void tg_channel_return(const tg_channel *channel, tg_instr *in, int slot, bool west, uint32_t r, uint32_t col,
                       bool once);

#endif
