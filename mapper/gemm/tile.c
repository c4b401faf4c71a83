/* Tiling of a product by exhaustive search under the model of time of cost.c. */
#include "frontend/base/math.h"
#include "mapper/gemm/layout.h"
#include "mapper/gemm/tiling_search.h"

enum {
  SHORT_DRAIN_TILE = 16,     /* rows of a drain tile that are worth halving */
  MOST_COLUMNS = 256,        /* of a block of very many columns */
  MOST_RING_DRAIN_TILES = 4, /* of a step */
};

#define CLEARLY                                                                                              \
  0.9 /* of its time: a tile adds alone what rows of tiles could only if that is so much faster */

typedef tg_tiling_search search;

/* May a part's chunks be loaded one by one beside an operand that is resident? All buffers of two begin anew
 * with each outer pass. */
static bool has_resident_chunks(const search *s, const tg_gemm_tiling *t) {
  return t->ring && t->chunks % 2 == 0 && t->chunks <= TG_GEMM_UNROLLED &&
         (int64_t)t->chunks * t->kc == s->g->part && t->kc % tg_mx_stationary(s->m, s->g->format) == 0;
}

/* May all chunks of B stay, while those of A come anew with each pass? They are loaded before the first one,
 * down the columns. */
static bool may_hold_whole_b(const search *s, const tg_gemm_tiling *t) {
  return t->members * t->parts == 1 && (t->chunks > 1 || t->sent || s->g->second) && !s->g->spread &&
         tg_search_may_hold_whole_b(s->m, s->g, t);
}

/* May all of B be there before the section begins, where it is looked for? Chunks of it must have banks of their own, or
 * there is one. Of several products each has its tiles. */
static bool may_keep_b(const search *s, const tg_gemm_tiling *t) {
  const tg_gemm *g = s->g;
  bool there = t->split == (tg_split)g->kept.split &&
               (g->keeps == TG_KEEPS_B_ANYWHERE || (t->nt == g->kept.columns && t->alike == g->kept.alike));
  bool in_chunks = (int64_t)t->chunks * t->kc == g->k && t->kc % tg_mx_stationary(s->m, g->format) == 0 &&
                   tg_search_chunks_share_out(s->m, s->g, t);
  bool one = g->spread ? t->passes_m == 1 : t->alike == 1;
  return there && one && t->passes_n == 1 && t->members * t->parts == 1 && !t->patch &&
         (t->chunks == 1 || in_chunks);
}

/* Do tiles side by side gain from loading their blocks together? Those must begin with whole stationary
 * blocks. */
static bool profits_from_pairs(const search *s, const tg_gemm_tiling *t) {
  const tg_gemm *g = s->g;
  if (s->m->rows % 2 || s->m->cols % 2) return false;
  if (t->split == TG_SPLIT_ROWS)
    return t->alike == 1 && g->a_transposed && t->mt % tg_mx_stationary(s->m, g->format) == 0 &&
           t->mt * tg_value_bytes_each(g->a) < 64;
  return t->split == TG_SPLIT_COLUMNS && !g->b_transposed && t->nt * tg_value_bytes_each(g->b) < 64;
}

/* May chunks be loaded one more ahead? One instruction multiplies them all. */
static bool may_prefetch(const tg_gemm_tiling *t) {
  return (uint64_t)t->passes_m * t->passes_n * t->chunks > 2 && t->members * t->parts == 1 &&
         (!t->resident || t->chunks == 1);
}

/* Loads are what a product with swapped operands waits for: of two tilings alike it has the one that is ahead. */
static void consider_prefetch(search *s, tg_gemm_tiling t, tg_resident resident) {
  t.resident = resident;
  bool may = may_prefetch(&t);
  for (int i = 0; i <= may; i++) {
    t.prefetch = may && i != t.swapped;
    tg_search_consider(s, t, resident);
  }
}

/* Can a tile have all rows of C, with B streamed past them? */
static bool may_swap(const search *s, const tg_gemm_tiling *t) {
  bool splits_columns = tg_gemm_has_own_columns(t) || t->split == TG_SPLIT_PRODUCTS || s->m->rows == 1;
  return s->g->swapped_words[TG_SWAPPED_FINISH] && splits_columns && t->split != TG_SPLIT_ROWS && !t->patch &&
         t->mt == s->g->m && t->nt <= tg_acc_rows(s->m);
}

/* Columns of each tile where all have a part of C in one pass, if blocks of 2P do not come out even; 0: they do. Loads of
 * B by rows of n, and random numbers of results, go by whole blocks. */
static uint32_t even_columns(const search *s, const tg_gemm_tiling *t) {
  const tg_gemm *g = s->g;
  int64_t own = tg_div_up(g->n, t->split == TG_SPLIT_COLUMNS ? tg_tiles(s->m) : t->alike * s->m->cols);
  bool may = tg_gemm_has_own_columns(t) && t->passes_n == 1 && !t->patch && !g->b_transposed && !g->keeps &&
             !g->column_sums.count && !tg_gemm_rounds_results(g) && !tg_gemm_rounds_sums(g);
  return may && own < t->nt ? (uint32_t)own : 0;
}

static void consider_ways(search *s, tg_gemm_tiling t) {
  if (tg_search_is_slower(s, &t)) return;
  if (s->g->keeps) {
    t.whole_b = t.kept = true;
    if (may_keep_b(s, &t)) consider_prefetch(s, t, TG_RESIDENT_NONE);
    return;
  }
  consider_prefetch(s, t, TG_RESIDENT_NONE);
  t.own = even_columns(s, &t);
  if (t.own) consider_prefetch(s, t, TG_RESIDENT_NONE);
  t.own = 0;
  if (may_hold_whole_b(s, &t)) {
    t.whole_b = true;
    consider_prefetch(s, t, TG_RESIDENT_NONE);
    t.whole_b = false;
  }
  t.paired = profits_from_pairs(s, &t);
  if (t.paired) consider_prefetch(s, t, TG_RESIDENT_NONE);
  t.paired = false;
  bool apart = has_resident_chunks(s, &t);
  if ((t.chunks * t.parts > 1 && !apart) || s->g->spread || t.sent || t.patch) return;
  if (t.passes_n > 1 && (!apart || t.passes_m == 1 || t.passes_n % 2 == 0))
    consider_prefetch(s, t, TG_RESIDENT_A);
  if (t.passes_m > 1 && (!apart || t.passes_n == 1 || t.passes_m % 2 == 0))
    consider_prefetch(s, t, TG_RESIDENT_B);
}

static void consider(search *s, tg_gemm_tiling t) {
  if (s->g->partials > 1 && t.chunks == 1) t.kc = (uint32_t)s->g->part; /* not a row beyond the part */
  consider_ways(s, t);
  t.swapped = may_swap(s, &t);
  if (t.swapped) consider_ways(s, t);
}

/* K chunks: multiples of the stationary rows. */
static void consider_chunks(search *s, tg_gemm_tiling t) {
  uint32_t stationary = tg_mx_stationary(s->m, s->g->format);
  int64_t whole = tg_div_up(s->g->part, stationary) * stationary;
  if (s->g->keeps && whole < 1 << 20) { /* nobody waits for B: as one */
    t.chunks = 1;
    t.kc = (uint32_t)whole;
    consider(s, t);
  }
  for (int64_t n = 1; n * stationary <= whole && n * stationary < 1 << 20; n *= 2) {
    int64_t chunks = tg_div_up(whole, n * stationary);
    t.chunks = (uint32_t)chunks;
    t.kc = (uint32_t)(tg_div_up(whole / stationary, chunks) * stationary);
    consider(s, t);
  }
}

/* Drain tiles that are blocks, but leave bit by bit, behind them their column sums. */
static void consider_column_sums_whole(search *s, tg_gemm_tiling t, int64_t tile_rows, int64_t least) {
  const tg_gemm *g = s->g;
  uint32_t block = (uint32_t)g->column_sums.block,
           column_sums = (uint32_t)g->column_sums.count * tg_gemm_column_sum_flits(s->m, &t);
  if (g->outs > 1 || t.passes_n > 1 || s->share <= column_sums) return;
  t.sent = tg_search_rows_sent(block, tg_kind_flits(s->m, g->out_kind[0], t.nt), s->share - column_sums);
  if (!t.sent || t.sent == block) return;
  t.mr = block;
  t.mt = (uint32_t)(tg_div_up(least, block) * block);
  t.passes_m = (uint32_t)tg_div_up(tile_rows, t.mt);
  consider_chunks(s, t);
}

/* Of whole blocks that column sums are of; where those have drain tiles, each drain tile of all has
 * its instructions. */
static void consider_column_sums(search *s, tg_gemm_tiling t, int64_t tile_rows, int64_t least) {
  int64_t block = s->g->column_sums.block, blocks = tg_div_up(least, block),
          rows = tg_search_rows_out(s, t.nt);
  int64_t drain_tiles = rows < block ? blocks * (block / rows) : tg_div_up(blocks, rows / block);
  if (rows < block) consider_column_sums_whole(s, t, tile_rows, least);
  if (rows < block && s->g->column_sums.whole) return;
  t.mr = (uint32_t)(rows < block ? rows : tg_div_up(blocks, drain_tiles) * block);
  t.mt = (uint32_t)(t.mr * drain_tiles);
  t.passes_m = (uint32_t)tg_div_up(tile_rows, t.mt);
  consider_chunks(s, t);
}

/* Steps of a block are even, since buffers of two begin anew with each, and more than a member is ahead. */
static void consider_rings(search *s, tg_gemm_tiling t, int64_t tile_rows, int64_t least) {
  int64_t rows = tg_search_rows_out(s, t.nt), each = tg_div_up(least, t.members),
          fewest = tg_gemm_ring_lead(&t, 0) / 2 * 2 + 2;
  for (t.ring_drain_tiles = 2; t.ring_drain_tiles <= MOST_RING_DRAIN_TILES; t.ring_drain_tiles *= 2) {
    int64_t steps = tg_div_up(each, 2 * t.ring_drain_tiles * rows) * 2;
    if (steps < fewest) steps = fewest;
    t.mr = (uint32_t)tg_div_up(each, steps * t.ring_drain_tiles);
    t.mt = (uint32_t)(t.members * steps * t.ring_drain_tiles * t.mr);
    t.passes_m = (uint32_t)tg_div_up(tile_rows, t.mt);
    if ((uint64_t)steps * t.passes_m * t.passes_n < 1 << 20) consider_chunks(s, t); /* one loop of SENDs */
  }
}

/* Blocks of at least `least` rows. */
static void consider_block(search *s, tg_gemm_tiling t, int64_t tile_rows, int64_t least) {
  if (t.ring) {
    consider_rings(s, t, tile_rows, least);
    return;
  }
  int64_t rows = tg_search_rows_out(s, t.nt);
  if (s->g->column_sums.count) {
    consider_column_sums(s, t, tile_rows, least);
    return;
  }
  int64_t drain_tiles = tg_div_up(least, rows < least ? rows : least);
  bool halves = t.split == TG_SPLIT_COLUMNS && drain_tiles > 1; /* of A, which come from two sides */
  /* all VOPs of partial sums begin with the same buffers */
  if (halves || (t.parts > 1 && t.members > 1)) drain_tiles = tg_div_up(drain_tiles, 2) * 2;
  t.mr = (uint32_t)tg_div_up(least, drain_tiles);
  t.mt = (uint32_t)(t.mr * drain_tiles);
  t.passes_m = (uint32_t)tg_div_up(tile_rows, t.mt);
  consider_chunks(s, t);
  if (t.split != TG_SPLIT_COLUMNS || t.mr % 2 || t.mr < SHORT_DRAIN_TILE) return;
  t.mr /= 2; /* one pass or few: the last drain tile's egress counts */
  consider_chunks(s, t);
}

/* Equal passes; of very many rows, blocks of powers of two and the sizes halfway between them. */
static void consider_rows(search *s, tg_gemm_tiling t, int64_t tile_rows) {
  if (!tg_search_rows_out(s, t.nt)) return;
  int64_t last = 1;
  for (int64_t i = 1; i <= TG_SEARCH_SPLITS; i++) {
    last = tg_div_up(tile_rows, i);
    if (last <= TG_SEARCH_ROWS) consider_block(s, t, tile_rows, last);
    if (last == 1) return;
  }
  for (int64_t rows = TG_SEARCH_ROWS; rows >= 8; rows /= 2) {
    if (rows < last) consider_block(s, t, tile_rows, rows);
    if (rows / 4 * 3 < last) consider_block(s, t, tile_rows, rows / 4 * 3);
  }
}

/* All rows of a product at once, so that the rows of the next product follow, and all of its columns, which `tiles` tiles
 * have. `at_once`: products. */
static void consider_products(search *s, tg_gemm_tiling t, uint32_t tiles, uint32_t at_once) {
  const tg_params *m = s->m;
  int64_t lanes = tg_lanes(m), nt = tg_div_up(tg_div_up(s->g->n, tiles), lanes) * lanes;
  if (s->g->m > TG_SEARCH_ROWS || nt > 65536) return;
  t.mt = (uint32_t)s->g->m;
  t.nt = (uint32_t)nt;
  t.passes_n = t.members = t.parts = 1;
  t.passes_m = (uint32_t)tg_div_up(s->g->spread, at_once);
  s->share = tg_egress_share(m, t.egress, 1);
  uint32_t rows = tg_search_rows_out(s, t.nt);
  for (t.mr = rows < t.mt ? rows : t.mt; t.mr > 0 && t.mt % t.mr; t.mr--) {
  }
  if (t.mr > 0) consider_chunks(s, t);
}

/* A product a tile: A comes from the west and B from the north, so that of the two kinds of ports one may have more time for
 * results. Or, where there are fewer products than tiles, some rows of tiles each. */
static void consider_spread(search *s) {
  const tg_params *m = s->m;
  for (tg_egress egress = TG_EGRESS_BOTH; egress < TG_EGRESS_COUNT; egress++) {
    if (!tg_egress_possible(m, egress)) continue;
    tg_gemm_tiling t = {.split = TG_SPLIT_PRODUCTS, .egress = egress, .alike = 1};
    consider_products(s, t, 1, tg_tiles(m));
    t.split = TG_SPLIT_PRODUCT_ROWS;
    for (t.alike = 1; t.alike <= m->rows; t.alike++)
      if (m->rows % t.alike == 0 && s->g->spread < (int64_t)tg_tiles(m))
        consider_products(s, t, t.alike * m->cols, m->rows / t.alike);
  }
}

/* Windows of a pool are rows of patches, and several groups have their channels in patches. */
static bool patches_only(const tg_gemm *g) {
  return g->pool.kernel || g->image.groups > 1 || tg_gemm_pads(g);
}

/* `t`: the split and the egress; `members` rows of tiles in a group, each with some of K's parts, or `alike`
 * ones, or such tiles of a row, each with some columns. */
static void consider_split(search *s, tg_gemm_tiling t) {
  const tg_params *m = s->m;
  tg_split split = t.split;
  uint32_t tiles = tg_tiles(m), members = t.members, row_tiles = m->rows / (members * t.alike),
           col_tiles = m->cols * t.alike;
  if (split == TG_SPLIT_ROWS) row_tiles = tiles / t.alike, col_tiles = t.alike;
  if (split == TG_SPLIT_COLUMNS) row_tiles = 1, col_tiles = tiles;
  t.parts = (uint32_t)tg_div_up(s->g->partials, members);
  s->share = tg_egress_share(m, t.egress, t.ring ? 1 : members);
  int64_t tile_rows = tg_div_up(s->g->m, row_tiles), tile_cols = tg_div_up(s->g->n, col_tiles);
  int64_t lanes = tg_lanes(m), last = 0;
  for (int64_t j = 1; j <= TG_SEARCH_SPLITS; j++) {
    int64_t nt = tg_div_up(tg_div_up(tile_cols, j), lanes) * lanes;
    if (nt == last || nt > 65536) continue;
    last = nt;
    t.nt = (uint32_t)nt;
    t.passes_n = (uint32_t)tg_div_up(tile_cols, nt);
    if (!patches_only(s->g)) consider_rows(s, t, tile_rows);
    tg_search_patches(s, t, row_tiles, consider);
    if (nt == lanes) return;
  }
  /* A dimension too long for TG_SEARCH_SPLITS equal passes of any length that fits. */
  for (int64_t nt = last - lanes < MOST_COLUMNS ? last - lanes : MOST_COLUMNS; nt > 0 && !patches_only(s->g);
       nt -= lanes) {
    t.nt = (uint32_t)nt;
    t.passes_n = (uint32_t)tg_div_up(tile_cols, nt);
    consider_rows(s, t, tile_rows);
  }
}

/* Partial sums: K's parts over two rows of tiles or more, where there are as many, or all in one tile. */
static void consider_partials(search *s) {
  uint32_t rows = s->m->rows;
  for (uint32_t members = 2; members <= rows && members <= s->g->partials; members++)
    if (tg_div_up(s->g->partials, tg_div_up(s->g->partials, members)) == members)
      consider_split(s, (tg_gemm_tiling){.egress = TG_EGRESS_NORTH, .members = members, .alike = 1});
  int64_t partials = s->g->partials;
  bool rounds = s->g->sum_kind == TG_STREAM_BF16SR || tg_gemm_rounds_results(s->g),
       ring_fits =
           !rounds && partials <= rows && rows % partials == 0 && s->g->ring_words[TG_DRAIN_FINISH] > 0;
  tg_gemm_tiling ring = {.members = (uint32_t)partials, .alike = 1, .ring = true};
  for (ring.egress = TG_EGRESS_BOTH; ring.egress < TG_EGRESS_COUNT; ring.egress++)
    if (ring_fits && tg_egress_possible(s->m, ring.egress)) consider_split(s, ring);
  bool shared = s->found;
  tg_gemm_tiling lanes = s->best;
  consider_split(s, (tg_gemm_tiling){.members = 1, .alike = 1});
  if (shared && s->best.cycles > CLEARLY * lanes.cycles) s->best = lanes;
}

/* Column sums are little beside the results: if there is room, they leave where the ports have less to do. */
static tg_egress column_sums_egress(const search *s, tg_gemm_tiling t) {
  bool fits = tg_egress_share(s->m, TG_EGRESS_BOTH, 1) >= tg_egress_share(s->m, t.egress, 1);
  double along = tg_gemm_port_cycles(s->c, s->g, &t);
  t.column_sums_egress = TG_EGRESS_BOTH;
  return s->g->column_sums.count && fits && tg_gemm_port_cycles(s->c, s->g, &t) < along ? TG_EGRESS_BOTH
                                                                                        : t.egress;
}

/* Every tile has rows of its own, or so do `alike` ones side by side, each of which has some columns: products with fewer
 * columns than the tiles of a row have blocks for. What several tiles have in common comes from the west, B down the
 * columns, and results leave where that leaves ports idle. */
static void consider_rows_apart(search *s) {
  const tg_params *m = s->m;
  tg_gemm_tiling t = {.split = TG_SPLIT_ROWS, .members = 1, .alike = 1};
  if (m->cols == 1) return;
  consider_split(s, t);
  for (t.alike = 2; t.alike < m->cols; t.alike++)
    for (t.egress = TG_EGRESS_BOTH; m->cols % t.alike == 0 && t.egress < TG_EGRESS_COUNT; t.egress++)
      if (tg_egress_possible(m, t.egress)) consider_split(s, t);
}

static void consider_all(search *s) {
  const tg_params *m = s->m;
  const tg_gemm *gemm = s->g;
  if (gemm->prologue.of_b) {
    for (uint32_t alike = 1; alike <= m->rows; alike *= 2)
      if (m->rows % alike == 0) tg_search_prologues_of_b(s, alike);
  } else if (gemm->prologue.result) {
    tg_search_prologues_of_a(s);
  } else if (gemm->spread) {
    consider_spread(s);
  } else if (gemm->partials > 1) {
    consider_partials(s);
  } else {
    tg_gemm_tiling t = {.members = 1, .alike = 1};
    for (t.egress = TG_EGRESS_BOTH; t.egress < TG_EGRESS_COUNT; t.egress++)
      for (t.alike = 1; t.alike <= m->rows; t.alike++)
        if (m->rows % t.alike == 0 && tg_egress_possible(m, t.egress)) consider_split(s, t);
    consider_rows_apart(s);
    t = (tg_gemm_tiling){.split = TG_SPLIT_COLUMNS, .members = 1, .alike = 1};
    if (tg_tiles(m) > 1 && m->rows > 1) consider_split(s, t);
  }
}

void tg_search_tiling(const tg_compile *c, const tg_gemm *gemm, tg_gemm_candidates *out,
                      tg_shortage *out_lacks) {
  search s = {.c = c, .m = c->m, .g = gemm, .share = tg_egress_share(c->m, TG_EGRESS_BOTH, 1)};
  consider_all(&s);
  *out = s.near;
  if (s.apart_rank > 0) {
    out->rank[out->count] = s.apart_rank;
    out->tiling[out->count++] = s.apart;
  }
  *out_lacks = s.lacks.of ? s.lacks : s.no_share;
  if (!s.found) return;
  /* Where tilings are randomized, or sums are chosen among by more than their estimates, there is one. */
  if (c->options.any_tiling || gemm->partials > 1) out->count = 1, out->tiling[0] = s.best;
  for (int i = 0; i < out->count; i++)
    out->tiling[i].column_sums_egress = column_sums_egress(&s, out->tiling[i]);
}
