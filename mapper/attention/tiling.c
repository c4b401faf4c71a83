/* Tiling of attention: all groups of tiles and blocks of rows under a simple model of time. A unit takes as
 * long as the slowest of vx, mx and the memory; the first loads and products and the last product are
 * exposed. */
#include "frontend/base/math.h"
#include "mapper/attention/attention.h"
#include "mapper/gemm/layout.h"
#include "mapper/section/need.h"

enum {
  BLOCKS = 64,      /* of a tile in a product, at most */
  MOST_ROWS = 4096, /* of a block */
  HANDOVER = 40,    /* cycles of posts, issues and pipelines from unit to unit, roughly */
};

/* What it takes but for its stages. */
static tg_need need_of(const tg_params *m, const tg_attention *a) {
  tg_channel_plan plans[TG_ATTENTION_ROLES];
  tg_attention_plan_channels(m, a, plans);
  tg_need need = tg_need_of_channels(m, plans, TG_ATTENTION_ROLES);
  uint32_t columns = tg_attention_keys(a) + tg_attention_width(m, a);
  need.of[TG_LIMIT_ACCUMULATOR] = (uint64_t)a->grid.rows * columns / tg_lanes(m);
  tg_need_words(&need, a->words, 2 * TG_SEGMENTS);
  return need;
}

/* ---- time ---- */

/* A unit takes as long as the busiest of units and ports; the first loads and products and the last product are
 * exposed. */
static void estimate(const tg_params *m, tg_attention *a, const tg_stages *stages) {
  tg_port_time west = tg_stages_port(stages, TG_SIDE_WEST), north = tg_stages_port(stages, TG_SIDE_NORTH);
  double vector = tg_stages_unit(stages, TG_UNIT_VX, -1), multiply = tg_stages_unit(stages, TG_UNIT_MX, -1),
         out = tg_attention_out_cycles(m, a);
  double memory = tg_grid_memory_cycles(m, stages);
  double unit = tg_max_double(vector, tg_max_double(multiply, memory)) + HANDOVER;
  double ends = 2 * m->dram_latency + tg_max_double(west.load, north.load) / 2 + multiply + out;
  a->cycles = unit * tg_grid_blocks(&a->grid) + ends;
}

/* ---- search ---- */

static void consider(const tg_compile *c, const tg_attention *at, tg_attention *best) {
  const tg_params *m = c->m;
  tg_attention a = *at;
  tg_stages stages;
  tg_need need;
  for (a.copies = 2; a.copies > 0; a.copies--) {
    need = need_of(m, &a);
    if (tg_need_fits(m, &need)) break;
  }
  /* Random numbers go by rows: from unit to unit, all steps must be the same. */
  if (!a.copies || ((a.scores.k_tile || a.context.k_tile) && a.grid.row_blocks > 1 && a.grid.passes > 1))
    return;
  tg_attention_list_stages(m, &a, &stages);
  tg_need_stages(&need, &stages);
  if (!tg_need_fits(m, &need)) return;
  estimate(m, &a, &stages);
  if (c->options.any_tiling) a.cycles = tg_randomized_cycles(c, a.grid.rows, a.grid.group, a.grid.row_blocks);
  if (!best->copies || a.cycles < best->cycles) *best = a;
}

/* Blocks of at most as many rows as can leave in equal drain tiles. */
static void consider_group(const tg_compile *c, tg_attention a, tg_attention *best) {
  const tg_params *m = c->m;
  uint32_t share =
      tg_egress_share(m, TG_EGRESS_BOTH, 1) / tg_kind_flits(m, a.out_kind, tg_attention_width(m, &a));
  int64_t tile_rows = (uint32_t)tg_div_up(a.queries, a.grid.group), last = 0;
  a.grid.passes = (uint32_t)tg_div_up(a.products, tg_grid_at_a_time(m, &a.grid));
  for (int64_t n = 1; n <= BLOCKS && share; n++) {
    uint32_t rows = (uint32_t)tg_div_up(tile_rows, n), drain_tiles = (uint32_t)tg_div_up(rows, share);
    if (rows == last || rows > MOST_ROWS) continue;
    last = rows;
    a.grid.drain_rows = (uint32_t)tg_div_up(rows, drain_tiles);
    a.grid.rows = a.grid.drain_rows * drain_tiles;
    a.grid.row_blocks = (uint32_t)tg_div_up(tile_rows, a.grid.rows);
    consider(c, &a, best);
  }
}

bool tg_tile_attention(const tg_compile *c, tg_attention *a) {
  tg_attention best = *a;
  best.copies = 0;
  for (a->grid.group = 0; (a->grid.group = tg_grid_next_group(c->m, a->grid.group)) > 0;)
    consider_group(c, *a, &best);
  *a = best;
  return best.copies > 0;
}
