/* What a section takes of the array, and whether the array has it: all limits, in one place. What a kernel needs follows
 * from its channels and stages, and from its microcode; a search for a tiling takes only what fits, and, where nothing
 * does, says what the closest one lacks. */
#ifndef TEGULA_MAPPER_SECTION_NEED_H
#define TEGULA_MAPPER_SECTION_NEED_H

#include "mapper/section/stage.h"

typedef enum tg_limit {
  TG_LIMIT_BANKS,
  TG_LIMIT_ACCUMULATOR, /* rows */
  TG_LIMIT_TILE_SEMAPHORES,
  TG_LIMIT_AGCU_SEMAPHORES,
  TG_LIMIT_QUEUE, /* instructions of the fullest one */
  TG_LIMIT_CONTEXTS,
  TG_LIMIT_BASES,
  TG_LIMIT_WORDS,
  TG_LIMITS
} tg_limit;

/* 0: none, or not known yet. */
typedef struct tg_need {
  uint64_t of[TG_LIMITS];
} tg_need;

/* What channels take: banks, semaphores and entries of the base table. */
tg_need tg_need_of_channels(const tg_params *m, const tg_channel_plan *plans, int count);
/* Adds what stages take: instructions of queues and contexts. */
void tg_need_stages(tg_need *need, const tg_stages *stages);
/* Adds the words of so many segments of microcode. */
void tg_need_words(tg_need *need, const int *segments, int count);

bool tg_need_fits(const tg_params *m, const tg_need *need);
/* Keeps what is lacking in `out`, if it is the least so far in relation to what there is. */
void tg_need_note(const tg_params *m, const tg_need *need, tg_shortage *out);

/* The same of what is no limit of tg_need: so much of something is needed where there is so much. False always: what asked for
 * it does not fit. */
bool tg_shortage_note(tg_shortage *out, const char *of, uint64_t needed, uint32_t available);

/* "; the closest one needs 11 banks of a scratchpad, the array has 8", on the arena; nothing if nothing lacks. */
const char *tg_shortage_text(tg_arena *arena, const tg_shortage *shortage);

#endif
