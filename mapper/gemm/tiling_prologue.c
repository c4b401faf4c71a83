/* Tilings of products with a prologue. */
#include "mapper/gemm/tiling_search.h"

#include "frontend/base/math.h"
#include "mapper/gemm/layout.h"
#include "mapper/gemm/prologue.h"

typedef tg_tiling_search search;

static void consider_prologue_egress(search *s, tg_gemm_tiling t) {
  const tg_params *m = s->m;
  uint32_t column_sums = (uint32_t)s->g->column_sums.count * tg_gemm_column_sum_flits(m, &t),
           share = tg_egress_share(m, t.egress, 1) >> s->g->prologue.stored,
           row = tg_kind_flits(m, s->g->out_kind[0], t.nt);
  if (2 * share <= column_sums) return;
  uint32_t most = (2 * share - column_sums) / 2;
  if (tg_gemm_drains_last(&t)) {
    t.mr = t.sent = tg_search_rows_sent(t.mt, row, most);
  } else {
    uint32_t each = t.mr / tg_gemm_chunks_a_drain_tile(&t) * row;
    t.sent = tg_search_rows_sent(t.mr, row, most < each ? most : each);
  }
  t.prologue_sent = tg_search_rows_sent(t.mt / t.alike, tg_kind_flits(m, s->g->prologue.result_kind, t.kc),
                                        tg_gemm_prologue_share(m, &t));
  if (!t.sent || !t.prologue_sent || !tg_gemm_prologue_sends_fit(s->g, &t)) return;
  for (int whole = 0; whole <= tg_search_chunks_share_out(s->m, s->g, &t); whole++) {
    t.whole_b = whole;
    tg_search_consider(s, t, TG_RESIDENT_NONE);
  }
}

/* Tiles that have all of their rows to themselves load by both kinds of ports, and store so; else the west
 * loads, and of what leaves there are shares that balance that. */
static void consider_prologue_blocks(search *s, tg_gemm_tiling t) {
  bool shares = t.alike > 1 || t.split == TG_SPLIT_OUTPUT;
  if (!tg_gemm_prologue_parts(s->m, s->g, &t) || tg_search_is_slower(s, &t)) return;
  for (t.egress = TG_EGRESS_BOTH; t.egress < (shares ? TG_EGRESS_COUNT : TG_EGRESS_WEST); t.egress++) {
    if (!tg_egress_possible(s->m, t.egress)) continue;
    t.prologue_egress = shares ? TG_EGRESS_NORTH : TG_EGRESS_BOTH;
    consider_prologue_egress(s, t);
    t.prologue_egress = TG_EGRESS_BOTH;
    if (shares && s->g->prologue.stored) consider_prologue_egress(s, t);
  }
}

static bool fits_accumulator(const search *s, const tg_gemm_tiling *t) {
  return t->mt <= TG_SEARCH_ROWS && t->mt * (t->nt / tg_lanes(s->m)) <= tg_acc_rows(s->m);
}

/* A block of the next pass is made between the drain tiles of this one: it has as many as chunks, or those that column sums
 * are of. */
static void consider_passes(search *s, tg_gemm_tiling t, int64_t rows) {
  uint32_t block = (uint32_t)s->g->column_sums.block, unit = block ? block : t.chunks * t.alike;
  for (t.mt = unit; t.mt < rows && fits_accumulator(s, &t); t.mt += unit) {
    t.mr = block ? block : t.mt / t.chunks;
    t.passes_m = (uint32_t)tg_div_up(rows, t.mt);
    if (t.mt % t.alike == 0 && t.chunks % (t.mt / t.mr) == 0) consider_prologue_blocks(s, t);
  }
}

/* All rows at once, which are as many as pass the vector unit side by side, or more. */
static void consider_one_pass(search *s, tg_gemm_tiling t, int64_t rows) {
  uint32_t before = 0;
  t.passes_m = 1;
  for (uint32_t at_once = TG_PROLOGUE_UNROLL * s->m->fma_latency; at_once > 0; at_once /= 2) {
    uint32_t unit = t.split == TG_SPLIT_ROWS && at_once % t.alike ? at_once * t.alike : at_once;
    if (rows > TG_SEARCH_ROWS) return;
    t.mr = t.mt = (uint32_t)(tg_div_up(rows, unit) * unit);
    if (t.mt != before && fits_accumulator(s, &t)) consider_prologue_blocks(s, t);
    before = t.mt;
  }
}

/* In chunks that are whole vectors. */
static void consider_prologue_split(search *s, tg_gemm_tiling t, uint32_t row_tiles, uint32_t col_tiles) {
  int64_t lanes = tg_lanes(s->m), nt = tg_div_up(tg_div_up(s->g->n, col_tiles), lanes) * lanes,
          rows = tg_div_up(s->g->m, row_tiles);
  if (nt > 65536) return;
  t.nt = (uint32_t)nt;
  for (int64_t kc = lanes; kc <= s->g->k && kc < 1 << 16; kc += lanes) {
    if (s->g->k % kc || s->g->k / kc > TG_SEARCH_SPLITS) continue;
    t.kc = (uint32_t)kc;
    t.chunks = (uint32_t)(s->g->k / kc);
    consider_passes(s, t, rows);
    if (!s->g->column_sums.count) consider_one_pass(s, t, rows);
  }
}

/* A prologue: some tiles side by side, or each by itself, have rows of their own, and all columns at once; or, where
 * nobody else reads what the nodes make, all tiles of a row of the array, or of several. */
void tg_search_prologues_of_a(search *s) {
  const tg_params *m = s->m;
  tg_gemm_tiling t = {.split = TG_SPLIT_ROWS, .members = 1, .parts = 1, .passes_n = 1};
  for (t.alike = 1; t.alike <= m->cols; t.alike *= 2)
    if (m->cols % t.alike == 0) consider_prologue_split(s, t, tg_tiles(m) / t.alike, t.alike);
  t.split = TG_SPLIT_OUTPUT;
  for (t.alike = 1; t.alike <= m->rows && !s->g->prologue.stored && !s->g->column_sums.count; t.alike *= 2)
    if (m->rows % t.alike == 0) consider_prologue_split(s, t, m->rows / t.alike, m->cols * t.alike);
}

static void consider_prologue_inputs(search *s, tg_gemm_tiling t) {
  for (t.prologue_inputs = TG_EGRESS_BOTH; t.prologue_inputs < TG_EGRESS_COUNT; t.prologue_inputs++)
    if (tg_egress_possible(s->m, t.prologue_inputs)) tg_search_consider(s, t, TG_RESIDENT_NONE);
}

/* Chunks of which all producers make the same number. */
static void consider_made_chunks(search *s, tg_gemm_tiling t) {
  const tg_params *m = s->m;
  uint32_t stationary = tg_mx_stationary(m, s->g->format),
           row = tg_kind_flits(m, s->g->prologue.result_kind, t.nt);
  for (int64_t kc = stationary; kc * t.producers <= s->g->k && kc <= TG_SEARCH_ROWS; kc *= 2) {
    t.kc = (uint32_t)kc;
    if (s->g->k % (kc * t.producers) || s->g->k / kc >= 1 << 20 || !tg_gemm_prologue_parts(m, s->g, &t))
      continue;
    t.chunks = (uint32_t)(s->g->k / kc);
    t.prologue_sent = tg_search_rows_sent(t.kc, row, tg_gemm_prologue_share(m, &t));
    if (!t.prologue_sent) continue;
    for (t.made = t.producers > 1 ? 1 : 2; t.made <= 2; t.made++) {
      t.prefetch = false;
      if (t.producers == 1 || t.producers % 2 == 0) consider_prologue_inputs(s, t);
      t.prefetch = true;
      consider_prologue_inputs(s, t);
    }
  }
}

/* The prologue of B, which rows of tiles compute in turn, all of them or every one of `alike`: one pass, in
 * which each tile has rows and columns of its own, and whole chunks of all. */
void tg_search_prologues_of_b(search *s, uint32_t alike) {
  const tg_params *m = s->m;
  int64_t blocks = m->cols * alike, nt = s->g->n / blocks, least = tg_div_up(s->g->m, m->rows / alike);
  if (s->g->n % (blocks * tg_lanes(m)) || nt > 65536 || least > TG_SEARCH_ROWS) return;
  tg_gemm_tiling t = {.members = 1,
                      .alike = alike,
                      .parts = 1,
                      .producers = m->rows / alike,
                      .prologue_egress = TG_EGRESS_NORTH,
                      .nt = (uint32_t)nt,
                      .passes_m = 1,
                      .passes_n = 1};
  for (t.egress = TG_EGRESS_BOTH; t.egress < TG_EGRESS_COUNT; t.egress++) {
    if (!tg_egress_possible(m, t.egress)) continue;
    s->share = tg_egress_share(m, t.egress, 1) >> s->g->prologue.stored;
    int64_t rows = tg_search_rows_out(s, t.nt);
    if (!rows) continue;
    int64_t drain_tiles = tg_div_up(least, rows < least ? rows : least);
    t.mr = (uint32_t)tg_div_up(least, drain_tiles);
    t.mt = (uint32_t)(t.mr * drain_tiles);
    consider_made_chunks(s, t);
  }
}
