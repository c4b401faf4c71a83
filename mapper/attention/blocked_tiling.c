/* Tiling of attention by blocks: all groups of tiles, blocks of rows and chunks under a simple model of time. A unit of
 * work takes as long as the slowest of vx, mx and the memory. */
#include "mapper/attention/blocked.h"
#include "mapper/gemm/layout.h"
#include "mapper/section/need.h"

enum {
  ROW_BLOCKS = 1024, /* of a tile in a product, at most */
  MOST_ROWS = 512,   /* of a block */
  MOST_CHUNKS = 64,
  MORE_DRAIN_TILES = 3,
  HANDOVER = 60,       /* cycles of posts, issues and pipelines from unit to unit, roughly, */
  CHUNK_HANDOVER = 12, /* and from chunk to chunk */
};

/* What it takes but for its stages. */
static tg_need need_of(const tg_params *m, const tg_blocked *a) {
  tg_channel_plan plans[TG_BLOCKED_ROLES];
  tg_blocked_plan_channels(m, a, plans);
  tg_need need = tg_need_of_channels(m, plans, TG_BLOCKED_ROLES);
  uint32_t columns = (tg_blocked_multiplies(a) ? a->block : 0) + tg_blocked_width(m, a);
  need.of[TG_LIMIT_ACCUMULATOR] = (uint64_t)a->grid.rows * columns / tg_lanes(m);
  tg_need_words(&need, a->words, 2 * TG_SEGMENTS);
  return need;
}

static void estimate(const tg_params *m, tg_blocked *a, const tg_stages *stages) {
  tg_port_time west = tg_stages_port(stages, TG_SIDE_WEST), north = tg_stages_port(stages, TG_SIDE_NORTH);
  double vector = tg_stages_unit(stages, TG_UNIT_VX, -1), multiply = tg_stages_unit(stages, TG_UNIT_MX, -1),
         out = tg_blocked_out_cycles(m, a);
  double memory = tg_grid_memory_cycles(m, stages);
  /* Of one copy, they come while the vector units have nothing to do. */
  if (a->operand_copies == 1) vector += tg_blocked_operands_cycles(m, a);
  double unit =
      tg_max_double(vector, tg_max_double(multiply, memory)) + HANDOVER + CHUNK_HANDOVER * a->chunks;
  double ends = 2 * m->dram_latency + tg_max_double(west.load, north.load) / a->chunks + multiply + out;
  a->cycles = unit * tg_grid_blocks(&a->grid) * a->blocks + ends;
}

static void consider(const tg_compile *c, const tg_blocked *at, tg_blocked *best) {
  const tg_params *m = c->m;
  tg_blocked a = *at;
  tg_stages stages;
  tg_need need = need_of(m, &a);
  bool fits = tg_need_fits(m, &need);
  if (fits) {
    tg_blocked_list_stages(m, &a, &stages);
    tg_need_stages(&need, &stages);
    fits = tg_need_fits(m, &need);
  }
  if (!fits) {
    tg_need_note(m, &need, &best->lacks);
    return;
  }
  estimate(m, &a, &stages);
  if (c->options.any_tiling) a.cycles = tg_randomized_cycles(c, a.grid.rows, a.grid.group, a.chunks);
  if (!best->copies || a.cycles < best->cycles) *best = a;
}

static void consider_copies(const tg_compile *c, tg_blocked a, tg_blocked *best) {
  for (a.operand_copies = a.operand_count ? 2 : 1; a.operand_copies > 0; a.operand_copies--)
    for (a.copies = 2; a.copies > 0; a.copies--) consider(c, &a, best);
}

/* A chunk is whole vectors, and the number of chunks of a block is 1 or even. */
static void consider_chunks(const tg_compile *c, tg_blocked a, tg_blocked *best) {
  for (a.chunks = 1; a.chunks <= MOST_CHUNKS && a.chunks <= a.block; a.chunks *= 2)
    if (a.block % (a.chunks * tg_lanes(c->m)) == 0) consider_copies(c, a, best);
}

static void consider_rows(const tg_compile *c, tg_blocked a, uint32_t drain_tiles, int64_t tile_rows,
                          tg_blocked *best) {
  a.grid.rows = a.grid.drain_rows * drain_tiles;
  if (a.grid.rows % (uint32_t)a.together) return;
  a.grid.row_blocks = (uint32_t)tg_div_up(tile_rows, a.grid.rows);
  consider_chunks(c, a, best);
}

/* Blocks of at most as many rows as can leave in equal drain tiles. */
static void consider_group(const tg_compile *c, tg_blocked a, tg_blocked *best) {
  const tg_params *m = c->m;
  uint32_t share = tg_egress_share(m, TG_EGRESS_BOTH, 1) / tg_blocked_out_row(m, &a);
  int64_t tile_rows = tg_div_up(a.queries, a.grid.group), last = 0;
  a.grid.passes = (uint32_t)tg_div_up(a.products, tg_grid_at_a_time(m, &a.grid));
  for (int64_t n = 1; n <= ROW_BLOCKS && share && n <= tile_rows; n++) {
    uint32_t rows = (uint32_t)tg_div_up(tile_rows, n), drain_tiles = (uint32_t)tg_div_up(rows, share);
    if (rows == last || rows > MOST_ROWS) continue;
    last = rows;
    for (uint32_t more = 0; more < MORE_DRAIN_TILES; more++) { /* which may fit the rows better */
      a.grid.drain_rows = (uint32_t)tg_div_up(rows, drain_tiles + more);
      consider_rows(c, a, drain_tiles + more, tile_rows, best);
    }
    /* vx takes as many rows at a time */
    const int64_t steps[] = {m->fma_latency, (int64_t)m->fma_latency * a.together, a.together};
    for (int i = 0; i < (a.together > 1 ? 3 : 1); i++) {
      a.grid.drain_rows = (uint32_t)tg_round_up(tg_div_up(rows, drain_tiles), steps[i]);
      if (a.grid.drain_rows <= share) consider_rows(c, a, drain_tiles, tile_rows, best);
    }
  }
}

bool tg_tile_blocked(const tg_compile *c, tg_blocked *a) {
  tg_blocked best = *a;
  best.copies = 0;
  for (a->grid.group = 0; (a->grid.group = tg_grid_next_group(c->m, a->grid.group)) > 0;)
    consider_group(c, *a, &best);
  *a = best;
  return best.copies > 0;
}
