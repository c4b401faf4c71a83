#include "mapper/section/replay.h"

#include "frontend/base/math.h"
#include "mapper/section/replay_state.h"
#include "sim/machine/mx_shape.h"

#include <math.h>
#include <string.h>

/* Of long sections: at so many steps, and then at twice as many each time, a replay looks at its pace, and once each tile has
 * had its share, each unit has issued, and LEAST_STEPS are made, it ends where the pace has changed by less than STEADY. Of a
 * section whose loads all come before the first operation the loads alone would go on alike. */
enum { FIRST_LOOK = 1 << 10, LEAST_STEPS = 1 << 14, LEAST_STEPS_A_TILE = 1 << 6 };
#define STEADY 0.002

/* ---- units ---- */

static uint64_t vop_cycles(const tg_params *m, const tg_vx_instr *in) {
  uint64_t fma = m->fma_latency, words = 0, repeats = (uint64_t)(in->j_count[0] * in->j_count[1]);
  for (int q = 0; q < TG_SEGMENTS; q++)
    words += (uint64_t)in->seg_len[q] * (in->seg_repeat >> q & 1 ? repeats : 1);
  return (uint64_t)tg_div_up(in->rows, (int64_t)fma) * words * fma;
}

static void multiply(const tg_replay *r, tg_replay_unit *u, uint64_t *out_end) {
  const tg_mx_instr *in = &u->now.in->mx;
  tg_mx_shape shape = tg_mx_shape_run(r->m, &u->now);
  *out_end = tg_mx_times_of(r->m, &shape, in, r->now, &u->gemm).end;
  u->ready = r->now + 1;
  u->computed += shape.blocks * shape.pitch;
}

static void compute(const tg_replay *r, tg_replay_unit *u, uint64_t *out_end) {
  const tg_vx_instr *in = &u->now.in->vx;
  uint64_t cycles = vop_cycles(r->m, in);
  *out_end = r->now + 2 * (uint64_t)r->m->fma_latency + cycles;
  u->ready = *out_end + 1;
  u->computed += cycles;
}

static void issue(tg_replay *r, uint32_t unit) {
  tg_replay_unit *u = &r->unit[unit];
  tg_replay_take(r, u);
  tg_execution x = u->now;
  uint64_t end = r->now;
  u->planned = TG_REPLAY_NEVER;
  u->begun = r->now + TG_WALK_LEAD;
  if (!u->issued) r->silent--;
  u->issued = true;
  bool moves = x.in->common.op != TG_OP_sync && (u->kind == TG_TX || u->kind == TG_AGCU);
  if (moves) {
    tg_replay_issue_move(r, unit);
  } else {
    if (x.in->common.op == TG_OP_sync)
      u->ready = r->now + 1;
    else if (u->kind == TG_MX)
      multiply(r, u, &end);
    else
      compute(r, u, &end);
  }
  tg_sequencer_step(u->sequencer);
  if (!moves && !tg_sequencer_done(u->sequencer)) u->now = tg_sequencer_peek(u->sequencer);
  if (!moves) tg_replay_end(r, u, &x, end);
  tg_replay_plan(r, unit);
}

/* ---- the section ---- */

static void add_unit(tg_replay *r, tg_unit kind, uint32_t endpoint, uint32_t context, const tg_queue *queue) {
  tg_replay_unit *u = &r->unit[r->units++];
  u->kind = kind;
  u->endpoint = endpoint;
  u->context = context;
  u->planned = TG_REPLAY_NEVER;
  u->gemm.format = -1;
  if (!queue->count) return;
  r->silent++;
  u->sequencer = TG_NEW(&r->arena, tg_sequencer);
  tg_sequencer_init(u->sequencer, kind, queue);
  u->now = tg_sequencer_peek(u->sequencer);
}

static void set_semaphores(const tg_replay *r, uint32_t endpoint, const uint8_t *initial) {
  for (uint32_t i = 0; i < r->m->semaphores; i++) tg_replay_semaphore_of(r, endpoint, i)->count = initial[i];
}

static void build(tg_replay *r, const tg_section *section) {
  const tg_params *m = r->m;
  uint32_t tiles = tg_tiles(m), agcus = tg_agcus(m);
  r->unit = TG_NEW_ARRAY(&r->arena, tg_replay_unit, 3 * (size_t)tiles + (size_t)agcus * m->agcu_contexts);
  r->port = TG_NEW_ARRAY(&r->arena, tg_replay_port, agcus);
  r->lane = TG_NEW_ARRAY(&r->arena, tg_replay_lane, 4 * (size_t)(m->rows + m->cols));
  r->semaphore = TG_NEW_ARRAY(&r->arena, tg_replay_semaphore, (size_t)(tiles + agcus) * m->semaphores);
  TG_PUSH(&r->arena, r->tokens, r->token_count, r->token_capacity,
          (tg_replay_token){0}); /* 0 stands for none */
  for (uint32_t t = 0; t < tiles; t++) {
    const tg_tile_program *tile = &section->tiles[t];
    add_unit(r, TG_MX, t, 0, &tile->mx);
    add_unit(r, TG_VX, t, 0, &tile->vx);
    add_unit(r, TG_TX, t, 0, &tile->tx);
    set_semaphores(r, t, tile->sem_init);
  }
  r->first_context = r->units;
  for (uint32_t a = 0; a < agcus; a++) {
    for (uint32_t c = 0; c < m->agcu_contexts; c++)
      add_unit(r, TG_AGCU, tiles + a, c, &section->agcus[a].contexts[c]);
    set_semaphores(r, tiles + a, section->agcus[a].sem_init);
    r->port[a].planned = TG_REPLAY_NEVER;
  }
  if (r->memory) r->spans.span = TG_NEW_ARRAY(&r->arena, tg_span, m->burst_flits * tg_flit_bytes(m) / 2);
}

static void step(tg_replay *r, const tg_replay_event *event) {
  switch ((tg_replay_kind)event->kind) {
  case TG_REPLAY_ISSUE:
    if (r->unit[event->which].planned == event->time) issue(r, event->which);
    break;
  case TG_REPLAY_PORT: tg_replay_serve_port(r, event->which); break;
  case TG_REPLAY_SEND: tg_replay_send(r, event->which); break;
  case TG_REPLAY_LEAVE: tg_replay_leave(r, event->which); break;
  }
}

/* That ports move from the first to the last instruction. */
static uint64_t flits_of(const tg_params *m, const tg_section *section) {
  uint64_t flits = 0;
  for (uint32_t a = 0; a < tg_agcus(m); a++)
    for (uint32_t c = 0; c < m->agcu_contexts; c++) {
      const tg_queue *queue = &section->agcus[a].contexts[c];
      for (uint32_t pc = 0; pc < queue->count; pc++)
        if (queue->instrs[pc].common.op != TG_OP_sync)
          flits += tg_queue_executions(queue, pc) * tg_agcu_flits(m, &queue->instrs[pc].agcu);
    }
  return flits;
}

/* What had been moved by when. */
typedef struct pace {
  double now, moved; /* cycles, flits */
} pace;

/* Did the second half of the steps move flits as fast as the quarter before? */
static bool goes_on_alike(const tg_replay *r, const pace so_far[2]) {
  double moved = (double)r->moved - so_far[1].moved, before = so_far[1].moved - so_far[0].moved;
  if (!so_far[0].moved || !moved) return false;
  double ratio = ((double)r->now - so_far[1].now) / moved * before / (so_far[1].now - so_far[0].now);
  return ratio > 1 - STEADY && ratio < 1 + STEADY;
}

/* Cycles of all that a tile's unit computes, one execution behind the other. */
static uint64_t computed_by(const tg_params *m, tg_unit kind, const tg_queue *queue) {
  uint64_t cycles = 0;
  for (uint32_t pc = 0; pc < queue->count; pc++) {
    const tg_instr *in = &queue->instrs[pc];
    if (in->common.op == TG_OP_sync) continue;
    tg_mx_shape shape = kind == TG_MX ? tg_mx_shape_of(m, &in->mx) : (tg_mx_shape){0};
    cycles += tg_queue_executions(queue, pc) *
              (kind == TG_MX ? shape.blocks * shape.pitch : vop_cycles(m, &in->vx));
  }
  return cycles;
}

/* What the busiest unit has left to compute. */
static uint64_t left_to_compute(const tg_replay *r, const tg_section *section) {
  uint64_t most = 0;
  for (uint32_t u = 0; u < r->first_context; u++) {
    const tg_replay_unit *unit = &r->unit[u];
    const tg_tile_program *tile = &section->tiles[unit->endpoint];
    if (!unit->sequencer || unit->kind == TG_TX) continue;
    uint64_t all = computed_by(r->m, unit->kind, unit->kind == TG_MX ? &tile->mx : &tile->vx);
    if (all > unit->computed && all - unit->computed > most) most = all - unit->computed;
  }
  return most;
}

/* The rest moves as fast as the second half of the steps, or, where that moved nothing, as all of them, and no faster than
 * units compute: first loads come faster than what is made of them. */
static uint64_t end_at_this_pace(const tg_replay *r, const tg_section *section, pace half) {
  if ((double)r->moved == half.moved) half = (pace){0, 0};
  double left = (double)flits_of(r->m, section) - (double)r->moved,
         moving = left * ((double)r->now - half.now) / ((double)r->moved - half.moved);
  return r->now + (uint64_t)tg_max_double(moving, (double)left_to_compute(r, section));
}

uint64_t tg_replay_section(const tg_params *params, const tg_section *section, const uint64_t *bases,
                           tg_replay_memory *memory, tg_replay_limits limits, tg_arena *scratch) {
  tg_replay r = {.m = params, .arena = tg_arena_within(scratch), .bases = bases, .memory = memory};
  build(&r, section);
  for (uint32_t u = 0; u < r.units; u++) tg_replay_plan(&r, u);
  int64_t least = tg_max(LEAST_STEPS, LEAST_STEPS_A_TILE * (int64_t)tg_tiles(params));
  pace so_far[2] = {{0, 0}, {0, 0}}; /* when a quarter and a half of the steps were done */
  for (uint32_t steps = 0, next = FIRST_LOOK; r.event_count && r.now <= limits.cycles; steps++) {
    if (steps == next) {
      if (steps >= limits.steps || (steps >= least && !r.silent && goes_on_alike(&r, so_far))) break;
      so_far[0] = so_far[1];
      so_far[1] = (pace){(double)r.now, (double)r.moved};
      next *= 2;
    }
    tg_replay_event event = tg_replay_next(&r);
    r.now = event.time;
    step(&r, &event);
  }
  uint64_t cycles = r.event_count && r.moved ? end_at_this_pace(&r, section, so_far[1]) : r.end;
  tg_replay_memory_pass(memory, r.event_count ? HUGE_VAL : (double)cycles);
  tg_arena_release(&r.arena);
  return r.event_count && r.now > limits.cycles ? r.now : cycles;
}
