#include "mapper/section/layout.h"

uint64_t tg_room_banks(const tg_params *m, tg_room room) {
  if (room.rows > tg_pad_rows(m)) return (uint64_t)m->banks + 1;
  return (uint64_t)room.copies * tg_banks_for(m, (uint32_t)room.rows);
}

uint64_t tg_rooms_banks(const tg_params *m, const tg_room *rooms, int count) {
  uint64_t banks = 0;
  for (int i = 0; i < count; i++) banks += tg_room_banks(m, rooms[i]);
  return banks;
}

bool tg_build_rooms(tg_build *b, const tg_room *rooms, int count, tg_buffer *const *out) {
  for (int i = 0; i < count; i++)
    if (rooms[i].rows && !tg_build_buffer(b, (uint32_t)rooms[i].rows, rooms[i].copies, out[i])) return false;
  return true;
}
