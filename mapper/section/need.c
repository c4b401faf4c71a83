#include "mapper/section/need.h"

tg_need tg_need_of_channels(const tg_params *m, const tg_channel_plan *plans, int count) {
  tg_semaphores semaphores = tg_channels_semaphores(m, plans, count);
  tg_need need = {{0}};
  need.of[TG_LIMIT_BANKS] = tg_channels_banks(m, plans, count);
  need.of[TG_LIMIT_TILE_SEMAPHORES] = semaphores.tile;
  need.of[TG_LIMIT_AGCU_SEMAPHORES] = semaphores.west > semaphores.north ? semaphores.west : semaphores.north;
  for (int i = 0; i < count; i++) need.of[TG_LIMIT_BASES] += plans[i].bases;
  return need;
}

/* Of a unit of each tile, or of a context of each AGCU of one side. */
static uint64_t slots_of(const tg_stages *stages, const tg_stage *queue) {
  uint64_t slots = 0;
  for (int i = 0; i < stages->count; i++)
    if (stages->list[i].seat == queue->seat && stages->list[i].context == queue->context)
      slots += stages->list[i].slots;
  return slots;
}

void tg_need_stages(tg_need *need, const tg_stages *stages) {
  for (int i = 0; i < stages->count; i++) {
    const tg_stage *stage = &stages->list[i];
    uint64_t slots = slots_of(stages, stage), contexts = stage->seat < TG_SIDES ? stage->context + 1u : 0;
    if (need->of[TG_LIMIT_QUEUE] < slots) need->of[TG_LIMIT_QUEUE] = slots;
    if (need->of[TG_LIMIT_CONTEXTS] < contexts) need->of[TG_LIMIT_CONTEXTS] = contexts;
  }
}

void tg_need_words(tg_need *need, const int *segments, int count) {
  for (int i = 0; i < count; i++) need->of[TG_LIMIT_WORDS] += (uint64_t)segments[i];
}

static uint32_t available(const tg_params *m, tg_limit limit) {
  switch (limit) {
  case TG_LIMIT_BANKS: return m->banks;
  case TG_LIMIT_ACCUMULATOR: return (uint32_t)tg_acc_rows(m);
  case TG_LIMIT_TILE_SEMAPHORES:
  case TG_LIMIT_AGCU_SEMAPHORES: return m->semaphores;
  case TG_LIMIT_QUEUE: return m->queue_depth;
  case TG_LIMIT_CONTEXTS: return m->agcu_contexts;
  case TG_LIMIT_BASES: return TG_BASES;
  default: return m->microcode_words;
  }
}

bool tg_need_fits(const tg_params *m, const tg_need *need) {
  for (tg_limit limit = 0; limit < TG_LIMITS; limit++)
    if (need->of[limit] > available(m, limit)) return false;
  return true;
}

bool tg_shortage_note(tg_shortage *out, const char *of, uint64_t needed, uint32_t available) {
  if (out->of && (double)needed / available >= (double)out->needed / out->available) return false;
  *out = (tg_shortage){
      .of = of, .needed = needed > UINT32_MAX ? UINT32_MAX : (uint32_t)needed, .available = available};
  return false;
}

/* What a need lacks is the limit that it exceeds the most. */
void tg_need_note(const tg_params *m, const tg_need *need, tg_shortage *out) {
  static const char *const names[TG_LIMITS] = {
      "banks of a scratchpad", "rows of an accumulator", "semaphores of a tile",      "semaphores of an AGCU",
      "slots of a queue",      "contexts of an AGCU",    "entries of the base table", "microcode words"};
  tg_limit worst = TG_LIMIT_BANKS;
  double most = 0;
  for (tg_limit limit = 0; limit < TG_LIMITS; limit++) {
    double times = (double)need->of[limit] / available(m, limit);
    if (times > most) most = times, worst = limit;
  }
  tg_shortage_note(out, names[worst], need->of[worst], available(m, worst));
}

const char *tg_shortage_text(tg_arena *arena, const tg_shortage *shortage) {
  if (!shortage->of) return "";
  return tg_arena_printf(arena, "; the closest one needs %u %s, the array has %u", shortage->needed,
                         shortage->of, shortage->available);
}
