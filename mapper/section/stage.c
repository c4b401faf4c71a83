#include "mapper/section/stage.h"

#include <assert.h>

void tg_stages_add(tg_stages *stages, const tg_stage *stage) {
  assert(stages->count < TG_MOST_STAGES);
  if (stage->slots) stages->list[stages->count++] = *stage;
}

void tg_stage_join(tg_stage *stage, tg_join join) {
  assert(stage->join_count < TG_STAGE_JOINS);
  stage->joins[stage->join_count++] = join;
}

const tg_stage *tg_stages_find(const tg_stages *stages, tg_seat seat, int kind) {
  for (int i = 0; i < stages->count; i++)
    if (stages->list[i].seat == seat && stages->list[i].kind == kind) return &stages->list[i];
  return NULL;
}

void tg_stage_meet(const tg_stage *stage, const tg_channel *channels, uint64_t which, const tg_joint *at) {
  static const tg_joint_at places[TG_SEATS] = {[TG_SIDE_WEST] = TG_AT_WEST, [TG_SIDE_NORTH] = TG_AT_NORTH};
  tg_joint joint = *at;
  joint.place = places[stage->seat];
  for (int i = 0; i < stage->join_count; i++) {
    const tg_join *join = &stage->joins[i];
    if (which >> join->channel & 1) tg_join_channel(&channels[join->channel], join, &joint);
  }
}

tg_port_time tg_stages_port(const tg_stages *stages, tg_seat side) {
  tg_port_time sum = {0};
  for (int i = 0; i < stages->count; i++) {
    const tg_stage *stage = &stages->list[i];
    if (stage->seat != side) continue;
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

double tg_stages_unit(const tg_stages *stages, tg_seat unit, int kind) {
  double sum = 0;
  for (int i = 0; i < stages->count; i++)
    if (stages->list[i].seat == unit && (kind < 0 || stages->list[i].kind == kind))
      sum += stages->list[i].cycles;
  return sum;
}

/* Loops around the instructions from slot begin[level] on; a level without any is one iteration of the outermost's. */
static void end_nest(tg_queue *queue, const uint32_t loops[TG_LEVELS], const uint32_t begin[TG_LEVELS]) {
  if (queue->count == begin[0]) return;
  tg_common_instr *last = &queue->instrs[queue->count - 1].common;
  for (int l = 0; l < TG_LEVELS; l++) {
    if (!loops[l]) continue;
    bool any = begin[l] < queue->count;
    last->loop_count[l] = any ? loops[l] : 1;
    last->loop_begin[l] = any ? begin[l] : begin[0];
  }
}

typedef struct walker {
  const tg_build *b;
  const tg_stages *stages;
  const uint32_t (*loops)[3];
  tg_stage_emit *emit;
  void *user;
} walker;

static bool is_of(const tg_stage *stage, tg_seat seat, int context) {
  return stage->seat == seat && (seat >= TG_SIDES || stage->context == context);
}

static void close_nest(const walker *w, int nest, tg_queue *queue, const uint32_t begin[TG_LEVELS]) {
  if (nest >= 0 && nest != TG_NEST_OWN) end_nest(queue, w->loops[nest], begin);
}

/* Loops that a stage of this rate is not in begin behind it. */
static void begin_behind(const tg_queue *queue, int rate, uint32_t begin[TG_LEVELS]) {
  for (int l = rate; l < TG_LEVELS; l++) begin[l] = queue->count;
}

/* Stages number `begin` to `end` - 1 of a unit, at step `step` of their skewed loop and so many more: those that have
 * such iterations. */
static void emit_steps(const walker *w, int begin, int end, tg_queue *queue, tg_turn at, uint32_t step,
                       uint32_t count) {
  for (int i = begin; i < end; i++) {
    const tg_stage *stage = &w->stages->list[i];
    if (step < stage->lag || step - stage->lag >= w->loops[stage->nest][2]) continue;
    at.first = step - stage->lag;
    at.count = count;
    w->emit(w->user, stage, queue, at);
  }
}

static void emit_skewed(const walker *w, int begin, int end, tg_queue *queue, tg_turn at) {
  const tg_stage *first = &w->stages->list[begin];
  uint32_t n = w->loops[first->nest][2], most = 0;
  for (int i = begin; i < end; i++)
    if (most < w->stages->list[i].lag) most = w->stages->list[i].lag;
  for (uint32_t step = 0; step < n + most; step++) {
    bool all = step == most && n > most;
    uint32_t slot = queue->count;
    emit_steps(w, begin, end, queue, at, step, all ? n - most : 1);
    if (!all) continue;
    tg_common_instr *last = &queue->instrs[queue->count - 1].common;
    last->loop_count[2] = n - most;
    last->loop_begin[2] = slot;
    step = n - 1;
  }
}

/* The first stage behind number `begin` that is not of the same skewed loop. */
static int end_of_skewed(const tg_stages *stages, int begin) {
  const tg_stage *first = &stages->list[begin];
  int end = begin + 1;
  while (end < stages->count && stages->list[end].seat == first->seat &&
         stages->list[end].nest == first->nest)
    end++;
  return end;
}

static void emit_queue(const walker *w, tg_seat seat, int context, tg_queue *queue, tg_turn at) {
  uint32_t begin[TG_LEVELS], most = queue->count;
  int nest = -1;
  begin_behind(queue, TG_RATE_ONCE, begin);
  for (int i = 0; i < w->stages->count; i++) {
    const tg_stage *stage = &w->stages->list[i];
    if (!is_of(stage, seat, context)) continue;
    most += stage->slots;
    if (nest >= 0 && stage->nest != nest) {
      close_nest(w, nest, queue, begin);
      begin_behind(queue, TG_RATE_ONCE, begin);
    }
    if (stage->skewed) {
      int end = end_of_skewed(w->stages, i);
      emit_skewed(w, i, end, queue, at);
      for (nest = -1; i + 1 < end; i++) most += w->stages->list[i + 1].slots;
      continue;
    }
    nest = stage->nest;
    w->emit(w->user, stage, queue, at);
    begin_behind(queue, stage->rate, begin);
  }
  close_nest(w, nest, queue, begin);
  assert(queue->count <= most);
  (void)most; /* of the assertion only */
}

static bool has_any(const tg_stages *stages, tg_seat seat, int context) {
  for (int i = 0; i < stages->count; i++)
    if (is_of(&stages->list[i], seat, context)) return true;
  return false;
}

static void emit_tile(const walker *w, tg_turn at) {
  tg_tile_program *tile = tg_build_tile(w->b, at.r, at.col);
  emit_queue(w, TG_UNIT_MX, 0, &tile->mx, at);
  emit_queue(w, TG_UNIT_VX, 0, &tile->vx, at);
  emit_queue(w, TG_UNIT_TX, 0, &tile->tx, at);
}

void tg_stages_emit(const tg_build *b, const tg_stages *stages, uint32_t rows, const uint32_t (*loops)[3],
                    tg_stage_emit *emit, void *user) {
  walker w = {b, stages, loops, emit, user};
  for (int context = 0; context < TG_CONTEXTS; context++) {
    for (uint32_t r = 0; r < b->m->rows && has_any(stages, TG_SIDE_WEST, context); r++)
      emit_queue(&w, TG_SIDE_WEST, context, tg_west_queue(b, r, context), (tg_turn){.r = r});
    for (uint32_t col = 0; col < b->m->cols && has_any(stages, TG_SIDE_NORTH, context); col++)
      emit_queue(&w, TG_SIDE_NORTH, context, tg_north_queue(b, col, context), (tg_turn){.col = col});
  }
  for (uint32_t r = 0; r < rows; r++)
    for (uint32_t col = 0; col < b->m->cols; col++) emit_tile(&w, (tg_turn){.r = r, .col = col});
}
