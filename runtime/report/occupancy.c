#include "runtime/report/occupancy.h"
#include "frontend/base/math.h"
#include "sim/machine/mx_shape.h"
#include "sim/machine/walk.h"

#include <stdlib.h>

static uint64_t mx_cycles(const tg_params *m, const tg_mx_instr *in) {
  tg_mx_shape shape = tg_mx_shape_of(m, in);
  return shape.blocks * shape.pitch;
}

static uint64_t vx_cycles(const tg_params *m, const tg_vx_instr *in) {
  uint64_t words = 0, repeats = (uint64_t)(in->j_count[0] * in->j_count[1]);
  for (int q = 0; q < TG_SEGMENTS; q++)
    words += (uint64_t)in->seg_len[q] * (in->seg_repeat >> q & 1 ? repeats : 1);
  uint64_t groups = tg_div_up(in->rows, m->fma_latency);
  return groups * words * m->fma_latency;
}

static uint64_t port_cycles(const tg_params *m, const tg_agcu_instr *in, uint64_t base) {
  static const uint32_t start[TG_LEVELS] = {0};
  tg_walk walk;
  tg_walk_begin(&walk, m, in, start, base);
  uint64_t cycles = 0;
  uint32_t all = tg_agcu_flits(m, in);
  for (uint32_t left = all; left;) {
    uint32_t flits = left < m->burst_flits ? left : m->burst_flits, atoms = 0;
    cycles += tg_index_cycles(m, in, (uint32_t)in->index_base, all - left, flits);
    uint32_t pieces = tg_walk_burst(&walk, flits, NULL, &atoms);
    cycles += tg_burst_cycles(m, pieces, atoms);
    left -= flits;
  }
  return cycles;
}

static void send(tg_lane_flits *l, int direction, uint32_t lane, int source, int64_t destinations,
                 uint64_t flits) {
  bool ahead = direction == TG_DIR_EAST || direction == TG_DIR_SOUTH;
  int farthest = source;
  for (int position = 0; position < TG_MOST_SEGMENTS; position++)
    if (destinations >> position & 1 && (ahead ? position > farthest : position < farthest))
      farthest = position;
  int low = ahead ? source : farthest, high = ahead ? farthest : source;
  for (int segment = low; segment < high; segment++) l->flits[direction][lane][segment] += flits;
}

static void count_tile(const tg_params *m, const tg_tile_program *tile, uint32_t row, uint32_t col,
                       tg_occupancy *total, tg_lane_flits *l) {
  uint64_t mx = 0, vx = 0;
  for (uint32_t pc = 0; pc < tile->mx.count; pc++)
    if (tile->mx.instrs[pc].common.op != TG_OP_sync)
      mx += tg_queue_executions(&tile->mx, pc) * mx_cycles(m, &tile->mx.instrs[pc].mx);
  for (uint32_t pc = 0; pc < tile->vx.count; pc++)
    if (tile->vx.instrs[pc].common.op != TG_OP_sync)
      vx += tg_queue_executions(&tile->vx, pc) * vx_cycles(m, &tile->vx.instrs[pc].vx);
  for (uint32_t pc = 0; pc < tile->tx.count; pc++) {
    const tg_tx_instr *in = &tile->tx.instrs[pc].tx;
    if (in->op == TG_OP_sync) continue;
    bool along_row = in->dir == TG_DIR_EAST || in->dir == TG_DIR_WEST;
    send(l, (int)in->dir, along_row ? row : col, (int)(along_row ? col : row) + 1, in->dst_mask,
         tg_queue_executions(&tile->tx, pc) * (uint64_t)in->flits);
  }
  if (mx > total->mx) total->mx = mx;
  if (vx > total->vx) total->vx = vx;
}

static void count_agcu(const tg_params *m, const tg_agcu_program *agcu, uint32_t number,
                       const uint64_t *bases, tg_occupancy *total, tg_lane_flits *l) {
  uint64_t port = 0;
  bool west = tg_is_west(m, number);
  for (uint32_t c = 0; c < m->agcu_contexts; c++)
    for (uint32_t pc = 0; pc < agcu->contexts[c].count; pc++) {
      const tg_agcu_instr *in = &agcu->contexts[c].instrs[pc].agcu;
      if (in->op == TG_OP_sync) continue;
      uint64_t times = tg_queue_executions(&agcu->contexts[c], pc);
      port += times * port_cycles(m, in, bases[in->base]);
      if (in->op == TG_OP_agcu_load)
        send(l, west ? TG_DIR_EAST : TG_DIR_SOUTH, west ? number : number - m->rows, 0, in->dst_mask,
             times * tg_agcu_flits(m, in));
    }
  if (port > total->dram) total->dram = port;
}

tg_occupancy tg_section_occupancy(const tg_program *program, uint32_t section, tg_lane_flits *lanes) {
  const tg_params *m = &program->params;
  const tg_section *s = &program->sections[section];
  static const uint64_t no_bases[TG_BASES] = {
      0}; /* addresses are aligned: they do not change what a walk costs */
  tg_occupancy total = {0};
  tg_lane_flits *l = calloc(1, sizeof *l);
  if (!l) tg_die("out of memory");
  for (uint32_t t = 0; t < tg_tiles(m); t++) count_tile(m, &s->tiles[t], t / m->cols, t % m->cols, &total, l);
  for (uint32_t a = 0; a < tg_agcus(m); a++) count_agcu(m, &s->agcus[a], a, no_bases, &total, l);
  for (int k = 0; k < TG_LANE_DIRECTIONS; k++)
    for (int n = 0; n < TG_MOST_LANES; n++)
      for (int g = 0; g < TG_MOST_SEGMENTS; g++)
        if (l->flits[k][n][g] > total.lane) total.lane = l->flits[k][n][g];
  if (lanes) *lanes = *l;
  free(l);
  return total;
}

const char *tg_occupancy_bound(const tg_occupancy *o) {
  uint64_t most = o->mx;
  const char *name = "mx";
  if (o->vx > most) most = o->vx, name = "vx";
  if (o->dram > most) most = o->dram, name = "dram";
  if (o->lane > most) name = "lane";
  return name;
}

static json_t *direction(const tg_lane_flits *sum, int way, uint32_t lanes, uint32_t segments) {
  json_t *list = json_array();
  for (uint32_t n = 0; n < lanes; n++) {
    json_t *one = json_array();
    for (uint32_t s = 0; s < segments; s++)
      json_array_append_new(one, json_integer((json_int_t)sum->flits[way][n][s]));
    json_array_append_new(list, one);
  }
  return list;
}

json_t *tg_report_lanes(const tg_program *program) {
  const tg_params *m = &program->params;
  tg_arena arena = {0};
  uint64_t *times = TG_NEW_ARRAY(&arena, uint64_t, program->section_count);
  tg_lane_flits *sum = TG_NEW(&arena, tg_lane_flits), *one = TG_NEW(&arena, tg_lane_flits);
  for (uint32_t i = 0; i < program->invocation_count; i++) times[program->invocations[i].section]++;
  for (uint32_t s = 0; s < program->section_count; s++) {
    if (!times[s]) continue;
    (void)tg_section_occupancy(program, s, one);
    for (int k = 0; k < TG_LANE_DIRECTIONS; k++)
      for (int n = 0; n < TG_MOST_LANES; n++)
        for (int g = 0; g < TG_MOST_SEGMENTS; g++) sum->flits[k][n][g] += times[s] * one->flits[k][n][g];
  }
  json_t *lanes = json_pack("{s:o, s:o, s:o, s:o}", "east", direction(sum, TG_DIR_EAST, m->rows, m->cols),
                            "west", direction(sum, TG_DIR_WEST, m->rows, m->cols), "north",
                            direction(sum, TG_DIR_NORTH, m->cols, m->rows), "south",
                            direction(sum, TG_DIR_SOUTH, m->cols, m->rows));
  tg_arena_release(&arena);
  return lanes;
}
