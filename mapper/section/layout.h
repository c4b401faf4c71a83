/* What a tile has in its scratchpad: rooms, each so many rows, so many times, in banks of their own. A tiling
 * states them once: whether it fits and where its buffers are follow. */
#ifndef TEGULA_MAPPER_SECTION_LAYOUT_H
#define TEGULA_MAPPER_SECTION_LAYOUT_H

#include "mapper/section/section.h"

/* Rows of one of so many copies; 0 rows: there is none. */
typedef struct tg_room {
  uint64_t rows;
  uint32_t copies;
} tg_room;

/* Banks that it takes; more than there are if one copy has more rows than the scratchpad. */
uint64_t tg_room_banks(const tg_params *m, tg_room room);
/* Banks that they take; more than there are if one of them has more rows than the scratchpad. */
uint64_t tg_rooms_banks(const tg_params *m, const tg_room *rooms, int count);
static inline bool tg_rooms_fit(const tg_params *m, const tg_room *rooms, int count) {
  return tg_rooms_banks(m, rooms, count) <= m->banks;
}
/* Their buffers, in this order; `out[i]` may be NULL where there is none. False: the banks do not suffice. */
bool tg_build_rooms(tg_build *b, const tg_room *rooms, int count, tg_buffer *const *out);

#endif
