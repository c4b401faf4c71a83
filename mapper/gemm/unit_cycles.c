/* Cycles of the units of a product's tiles: mx for a chunk, vx for a block. */
#include "frontend/base/math.h"
#include "mapper/gemm/layout.h"
#include "mapper/gemm/patch.h"
#include "mapper/gemm/stages.h"

typedef struct product {
  const tg_params *m;
  const tg_gemm *g;
  const tg_gemm_tiling *t;
} product;

/* Stationary blocks along k of a chunk, on average: with those that K tiles cut. */
static double k_blocks(const tg_params *m, const tg_gemm *g, const tg_gemm_tiling *t) {
  int64_t side = tg_mx_stationary(m, g->format), tile = g->k_tile, k = g->part;
  double blocks = (double)tg_div_up(t->kc, side), cuts = 0;
  if (tg_gemm_joined(t) > 1) /* the last chunk may have fewer */
    blocks +=
        (double)(tg_div_up(tg_patch_chunk(g, t, t->chunks - 1), side) - tg_div_up(t->kc, side)) / t->chunks;
  if (!tile || tile >= k) return blocks;
  for (uint32_t chunk = 0; t->patch && chunk < t->chunks; chunk++)
    cuts += tg_chain_cuts(tg_chain_after((tg_chain){0}, (uint32_t)tile, chunk * t->kc), (uint32_t)tile,
                          (uint32_t)(t->joined > 1 ? tg_patch_chunk(g, t, chunk) : t->kc), (uint32_t)side);
  if (!t->patch) {                 /* ends of tiles that are none of blocks */
    int64_t common = tile & -tile; /* sides are powers of two */
    int64_t both = tile * (common < side ? side / common : 1);
    cuts = (double)((k - 1) / tile - (k - 1) / both);
  }
  return blocks + cuts / t->chunks;
}

double tg_gemm_multiply_cycles(const tg_params *m, const tg_gemm *g, const tg_gemm_tiling *t) {
  uint32_t stationary = tg_mx_stationary(m, g->format);
  if (t->swapped) {
    int64_t columns = g->b_transposed ? t->nt : tg_div_up(t->nt, stationary) * stationary;
    double blocks = k_blocks(m, g, t) * tg_gemm_swapped_blocks(m, g, t);
    return blocks * (double)tg_mx_pitch(m, g->format, (uint64_t)columns);
  }
  int64_t streamed = g->a_transposed ? tg_div_up(t->mt, stationary) * stationary : t->mt;
  double blocks = k_blocks(m, g, t) * tg_gemm_all_column_blocks(m, g, t);
  return blocks * (double)tg_mx_pitch(m, g->format, (uint64_t)streamed);
}

/* Of VOPs that go down the rows of a drain tile: groups of rows in flight may not be full, and the first one waits
 * for the instruction, the last one for its last operation. */
static double column_sums_cycles(const product *s) {
  const tg_gemm_tiling *t = s->t;
  uint32_t blocks = tg_gemm_column_sums_a_drain_tile(s->g, t), latency = s->m->fma_latency;
  int64_t rows = tg_div_up((int64_t)blocks * t->nt / tg_lanes(s->m), latency) * latency;
  double iterations = (double)(t->mr / blocks) / s->g->column_sums.unroll,
         words = s->g->column_sums.words + iterations * s->g->drain_words[TG_DRAIN_FINISH];
  return (double)t->mt / t->mr * ((double)rows * words + 2 * latency + 2);
}

/* Where members reduce in a ring: rows go in groups, and of every VOP the way in and out of the pipeline, and
 * semaphores, are seen; and so is the egress of a drain tile, if there is room for one only. */
static double ring_cycles(const product *s) {
  const tg_gemm_tiling *t = s->t;
  uint32_t latency = s->m->fma_latency, rows = tg_gemm_ring_rows(t), at_once = tg_gemm_at_once(s->m, t);
  const int *words = at_once > 1 ? s->g->ring_words : s->g->drain_words;
  double columns = t->nt / tg_lanes(s->m), vop = 2 * latency + 4, out = 0;
  double add = (double)tg_div_up((int64_t)(t->members * rows * columns / at_once), latency) * latency *
               words[TG_DRAIN_ADD],
         finish = (double)tg_div_up((int64_t)(t->mr * columns), latency) * latency * words[TG_DRAIN_FINISH];
  if (t->one_out) out = (double)tg_gemm_results_before(s->m, s->g, t, s->g->outs) + TG_GEMM_HOPS;
  return (double)t->mt / (t->members * rows) * (add + vop + t->ring_drain_tiles * (finish + vop + out));
}

/* Of a VOP that transposes a block, for each product, and those that finish its drain tiles: groups of rows in flight
 * may not be full. */
static double swapped_cycles(const product *s) {
  const tg_gemm_tiling *t = s->t;
  const int *words = s->g->swapped_words;
  uint32_t latency = s->m->fma_latency, columns = t->nt / tg_lanes(s->m);
  double transposed = words[TG_SWAPPED_BEGIN] + (double)words[TG_SWAPPED_ROWS] * tg_lanes(s->m) +
                      words[TG_SWAPPED_END],
         vop = 2 * latency + 2;
  return ((double)tg_div_up(columns, latency) * latency * transposed + vop) * (s->g->second ? 2 : 1) +
         (double)t->mt / t->mr *
             ((double)tg_div_up(t->mr * columns, latency) * latency * words[TG_SWAPPED_FINISH] + vop);
}

/* Of a VOP that goes down the windows of a block, and those that go across them. */
static double pool_cycles(const product *s) {
  const tg_gemm_tiling *t = s->t;
  const tg_gemm_pool *pool = &s->g->pool;
  const int *words = pool->words;
  uint32_t latency = s->m->fma_latency, groups = t->nt / tg_lanes(s->m);
  double vop = 2 * latency + 2,
         down = words[TG_POOL_BEGIN] + (double)(words[TG_POOL_ROW] * pool->taps[0]) + words[TG_POOL_END],
         across =
             words[TG_POOL_ACROSS] + (double)(words[TG_POOL_COLUMN] * pool->taps[1]) + words[TG_POOL_RESULT];
  return (double)tg_div_up((int64_t)t->pool_rows * t->patch_columns * groups, latency) * latency * down +
         vop +
         (double)tg_gemm_block_results(t) / t->mr *
             ((double)tg_div_up(t->mr * groups, latency) * latency * across + vop);
}

/* Of the VOP that finishes a drain tile, 1 << i rows at a time: groups of rows in flight may not be full. */
static int64_t drain_tile_cycles(const tg_params *m, const tg_gemm *g, const tg_gemm_tiling *t, int i) {
  int64_t rows = (int64_t)(t->mr >> i) * (t->nt / tg_lanes(m));
  return tg_div_up(rows, m->fma_latency) * m->fma_latency * g->finish_words[i];
}

/* Which is the fastest. */
static int best_unroll(const tg_params *m, const tg_gemm *g, const tg_gemm_tiling *t) {
  int best = 0;
  if (g->prologue.result || tg_gemm_drain_way(t) != TG_DRAIN_OF_ACCUMULATOR) return best;
  for (int i = 1; i < TG_DRAIN_UNROLLS && g->finish_words[i] && t->mr % (1u << i) == 0; i++)
    if (drain_tile_cycles(m, g, t, i) < drain_tile_cycles(m, g, t, best)) best = i;
  return best;
}

uint32_t tg_gemm_rows_at_once(const tg_params *m, const tg_gemm *g, const tg_gemm_tiling *t) {
  return 1u << best_unroll(m, g, t);
}

static double drain_cycles(const product *s) {
  if (s->t->pool_rows) return pool_cycles(s);
  if (s->t->swapped) return swapped_cycles(s);
  if (s->g->column_sums.count) return column_sums_cycles(s);
  if (s->t->ring) return ring_cycles(s);
  bool apart = s->g->sum_kind == TG_STREAM_BF16SR; /* the whole sum is stored and loaded once more */
  return (double)s->t->mt * (s->t->nt / tg_lanes(s->m)) *
         (s->g->drain_words[TG_DRAIN_FINISH] + (apart ? s->g->drain_words[TG_DRAIN_ADD] : 0));
}

double tg_gemm_drain_cycles(const tg_params *m, const tg_gemm *g, const tg_gemm_tiling *t) {
  return drain_cycles(&(product){m, g, t});
}

double tg_gemm_ring_cycles(const tg_params *m, const tg_gemm *g, const tg_gemm_tiling *t) {
  return ring_cycles(&(product){m, g, t});
}
