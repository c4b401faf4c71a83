#include "sim/dram/queue.h"

void tg_queue_init(tg_access_queue *q, uint32_t size, tg_arena *arena) {
  q->slots = TG_NEW_ARRAY(arena, tg_access, size);
  q->runs = TG_NEW_ARRAY(arena, tg_run, size);
  q->size = size;
}

void tg_queue_reset(tg_access_queue *q) {
  q->oldest = q->youngest = TG_NO_SLOT;
  q->free_slot = q->free_run = 0;
  q->count = q->bypassed = 0;
  for (uint32_t i = 0; i < q->size; i++)
    q->slots[i].younger = q->runs[i].younger = i + 1 < q->size ? (uint16_t)(i + 1) : (uint16_t)TG_NO_SLOT;
}

static tg_run *begin_run(tg_access_queue *q, uint32_t row, uint16_t bank, uint16_t group) {
  uint16_t number = q->free_run;
  tg_run *run = &q->runs[number];
  q->free_run = run->younger;
  *run = (tg_run){.row = row, .bank = bank, .group = group, .younger = TG_NO_SLOT, .older = q->youngest};
  if (q->youngest == TG_NO_SLOT)
    q->oldest = number;
  else
    q->runs[q->youngest].younger = number;
  q->youngest = number;
  return run;
}

void tg_queue_put(tg_access_queue *q, tg_access access, uint32_t row, uint16_t bank, uint16_t group) {
  uint16_t slot = q->free_slot;
  q->free_slot = q->slots[slot].younger;
  access.younger = TG_NO_SLOT;
  q->slots[slot] = access;
  tg_run *run = q->youngest == TG_NO_SLOT ? NULL : &q->runs[q->youngest];
  if (!run || run->bank != bank || run->row != row) run = begin_run(q, row, bank, group);
  if (run->count++)
    q->slots[run->last].younger = slot;
  else
    run->first = slot;
  run->last = slot;
  q->count++;
}

static void end_run(tg_access_queue *q, uint32_t number) {
  tg_run *run = &q->runs[number];
  if (run->older == TG_NO_SLOT)
    q->oldest = run->younger;
  else
    q->runs[run->older].younger = run->younger;
  if (run->younger == TG_NO_SLOT)
    q->youngest = run->older;
  else
    q->runs[run->younger].older = run->older;
  run->younger = q->free_run;
  q->free_run = (uint16_t)number;
}

const tg_access *tg_queue_take(tg_access_queue *q, uint32_t number) {
  tg_run *run = &q->runs[number];
  tg_access *a = &q->slots[run->first];
  uint16_t slot = run->first;
  q->bypassed = number != q->oldest ? q->bypassed + 1 : 0;
  run->first = a->younger;
  a->younger = q->free_slot;
  q->free_slot = slot;
  q->count--;
  if (!--run->count) end_run(q, number);
  return a;
}

bool tg_queue_has_atom(const tg_access_queue *q, uint64_t atom) {
  for (uint32_t r = q->oldest; r != TG_NO_SLOT; r = q->runs[r].younger)
    for (uint32_t i = q->runs[r].first; i != TG_NO_SLOT; i = q->slots[i].younger)
      if (q->slots[i].atom == atom) return true;
  return false;
}

bool tg_queue_has_row(const tg_access_queue *q, uint32_t row, uint16_t bank) {
  for (uint32_t r = q->oldest; r != TG_NO_SLOT; r = q->runs[r].younger)
    if (q->runs[r].bank == bank && q->runs[r].row == row) return true;
  return false;
}
