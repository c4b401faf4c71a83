/* Channels: a ring of buffers that one unit fills and another one empties. Who fills waits until one is free,
 * by a semaphore of the tile or by credits of an AGCU, and tells when it is full; who empties waits for that,
 * and gives it back. */
#ifndef TEGULA_MAPPER_SECTION_CHANNEL_H
#define TEGULA_MAPPER_SECTION_CHANNEL_H

#include "mapper/section/section.h"

/* Where a post goes: to the tile itself, or along its row or column to a position of the lane, 0: the AGCU. */
typedef struct tg_post {
  int kind; /* TG_POST_* */
  uint32_t position;
  int semaphore; /* TG_NO_SEM: nobody is told */
} tg_post;

/* Who fills what tile (r, col) empties: where a buffer that it gives back is free. */
struct tg_channel;
typedef tg_post tg_channel_source(const void *kernel, const struct tg_channel *channel, uint32_t r,
                                  uint32_t col);

typedef struct tg_channel {
  tg_buffer ring;
  int full; /* tile semaphore: a buffer is full */
  int free; /* tile semaphore, of what a tile fills: one is free */
  /* At AGCUs of rows or columns, one for each position of their lane: credits, of what they fill; arrivals, of what
   * they empty; and what one context tells another one. */
  int west, north;
  tg_channel_source *source; /* NULL: a unit of the tile itself */
} tg_channel;
/* A channel without semaphores: nobody waits, and nobody is told. */
#define TG_CHANNEL_NONE                                                                                      \
  ((tg_channel){.full = TG_NO_SEM, .free = TG_NO_SEM, .west = TG_NO_SEM, .north = TG_NO_SEM})
/* An AGCU's semaphore of the channel: of the west one of the tile's row, or of the north one of its column. */
static inline int tg_channel_at_agcu(const tg_channel *channel, bool west, uint32_t r, uint32_t col) {
  return west ? channel->west + (int)col + 1 : channel->north + (int)r + 1;
}
/* To the AGCU of the tile's row, or column, that fills the channel. */
tg_post tg_post_to_agcu(const tg_channel *channel, bool west, uint32_t r, uint32_t col);

/* Rows of one of so many copies, in banks of their own; 0 rows: there is none. */
typedef struct tg_room {
  uint64_t rows;
  uint32_t copies;
} tg_room;

/* What a channel takes. The one statement of it: what fits, and what a section opens, follow. */
typedef struct tg_channel_plan {
  tg_room room;     /* banks; 0 rows: it lies elsewhere, in the accumulator or in an AGCU's memory */
  uint16_t full;    /* tile semaphores that tell of full buffers: one for each who fills */
  uint16_t free;    /* and of free ones: one for each who asks */
  uint8_t initial;  /* of each of these */
  bool by_position; /* of the free ones, number 0 is that of an AGCU, which does not ask */
  bool west, north; /* has it semaphores at AGCUs, one for each position of their lane? */
  uint8_t credits;  /* of each of these at first; arrivals: 0 */
  uint8_t bases;    /* entries of the base table: tensors in DRAM that AGCUs fill it from, or empty it to */
} tg_channel_plan;

/* Semaphores that so many channels take: of a tile, and of an AGCU of a row, and of a column. */
typedef struct tg_semaphores {
  uint32_t tile, west, north;
} tg_semaphores;
tg_semaphores tg_channels_semaphores(const tg_params *m, const tg_channel_plan *plans, int count);
/* Banks of the rings, more than there are if one buffer has more rows than the scratchpad. */
uint64_t tg_channels_banks(const tg_params *m, const tg_channel_plan *plans, int count);

/* Gives the rings their banks, in this order; false: these do not suffice, which refuses the model with how many it needs. */
bool tg_channels_place(tg_build *b, const tg_channel_plan *plans, int count, tg_channel *channels);
/* Gives out semaphores of channel number `channel`, of the ends that are named. */
enum { TG_END_FULL = 1, TG_END_FREE = 2, TG_END_AGCU = 4 };
typedef struct tg_channel_end {
  uint8_t channel, ends;
} tg_channel_end;
void tg_channels_open(tg_build *b, const tg_channel_plan *plans, const tg_channel_end *order, int count,
                      tg_channel *channels);

/* What the instructions of a stage have to do with a channel. Who empties it waits for a full buffer, and gives it
 * back; who fills it waits for a free one, and tells that it is full. */
typedef enum tg_share { TG_OF_EACH, TG_OF_ENDS, TG_OF_NONE } tg_share;
typedef struct tg_join {
  uint8_t channel; /* the kernel's number of it */
  bool fills;      /* else it empties */
  /* a buffer is for all that is done in a loop of level 2: the first execution waits, the last posts */
  bool once;
  uint8_t waits, posts; /* each instruction; of those that share a buffer the first, or last one; none */
  int8_t wait, post;    /* slots, or TG_NEXT_SLOT */
} tg_join;
/* An instruction of tile (r, col), or of an AGCU for it, and whether it is the first, and last, of those that share a
 * buffer. */
typedef enum tg_joint_at { TG_AT_TILE, TG_AT_WEST, TG_AT_NORTH } tg_joint_at;
typedef struct tg_joint {
  const void *kernel; /* of tg_channel_source */
  tg_instr *in;
  uint32_t r, col;
  bool first, last;
  tg_joint_at place;
  /* positions of the lane whose buffers a LOAD, or a SYNC before several, asks for; 0: those it loads to */
  int64_t tiles;
} tg_joint;
/* Its waits and posts at this channel. An AGCU's LOAD that fills a tile's buffers asks for them by credits and tells
 * the tiles; what an AGCU empties has arrived from the tile, which may then send again. */
void tg_join_channel(const tg_channel *channel, const tg_join *join, const tg_joint *at);

#endif
