#include "mapper/section/stage.h"

#include <assert.h>

void tg_stages_add(tg_stages *stages, const tg_stage *stage) {
  assert(stages->count < TG_MOST_STAGES);
  if (stage->slots) stages->list[stages->count++] = *stage;
}

bool tg_stages_fit(const tg_params *m, const tg_stages *stages) {
  for (int i = 0; i < stages->count; i++) {
    const tg_stage *first = &stages->list[i];
    uint64_t slots = 0;
    for (int k = 0; k < stages->count; k++)
      if (stages->list[k].side == first->side && stages->list[k].context == first->context)
        slots += stages->list[k].slots;
    if (slots > m->queue_depth) return false;
  }
  return true;
}

tg_port_time tg_stages_port(const tg_stages *stages, tg_side side) {
  tg_port_time sum = {0};
  for (int i = 0; i < stages->count; i++) {
    const tg_stage *stage = &stages->list[i];
    if (stage->side != side) continue;
    if (stage->drains) {
      sum.drain += stage->cycles;
      sum.drains += stage->rate == TG_RATE_STEP && stage->cycles > 0;
    } else {
      sum.load += stage->cycles;
      sum.in_front += stage->in_front;
    }
  }
  return sum;
}

/* Loops around the instructions from slot `begin` on, the innermost from slot `inner` on, if there is any. */
static void end_nest(tg_queue *queue, const uint32_t loops[3], uint32_t begin, uint32_t inner) {
  if (queue->count == begin) return;
  tg_instr *last = &queue->instrs[queue->count - 1];
  tg_set_loops(last, loops);
  for (int l = 0; l < TG_LEVELS; l++) last->common.loop_begin[l] = begin;
  if (inner < queue->count)
    last->common.loop_begin[2] = inner;
  else
    last->common.loop_count[2] = 1;
}

static void emit_queue(const tg_stages *stages, tg_side side, int context, const uint32_t (*loops)[3],
                       tg_stage_emit *emit, void *user, tg_queue *queue, uint32_t at) {
  uint32_t begin = queue->count, inner = UINT32_MAX;
  int nest = -1;
  for (int i = 0; i < stages->count; i++) {
    const tg_stage *stage = &stages->list[i];
    if (stage->stores || stage->side != side || stage->context != context) continue;
    if (nest >= 0 && stage->nest != nest) {
      end_nest(queue, loops[nest], begin, inner);
      begin = queue->count, inner = UINT32_MAX;
    }
    nest = stage->nest;
    uint32_t before = queue->count;
    emit(user, stage, queue, at);
    assert(queue->count - before <= stage->slots);
    if (stage->rate == TG_RATE_ONCE) begin = queue->count;
    if (stage->rate == TG_RATE_STEP && inner == UINT32_MAX && queue->count > before) inner = before;
  }
  if (nest >= 0) end_nest(queue, loops[nest], begin, inner);
}

void tg_stages_emit(const tg_build *b, const tg_stages *stages, const uint32_t (*loops)[3],
                    tg_stage_emit *emit, void *user) {
  for (int side = 0; side < TG_SIDES; side++)
    for (uint32_t at = 0; at < (side == TG_SIDE_WEST ? b->m->rows : b->m->cols); at++)
      for (int context = 0; context < TG_CONTEXTS; context++) {
        bool any = false;
        for (int i = 0; i < stages->count && !any; i++)
          any = !stages->list[i].stores && stages->list[i].side == side && stages->list[i].context == context;
        if (!any) continue;
        tg_queue *queue =
            side == TG_SIDE_WEST ? tg_west_queue(b, at, context) : tg_north_queue(b, at, context);
        emit_queue(stages, (tg_side)side, context, loops, emit, user, queue, at);
      }
}
