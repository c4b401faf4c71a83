/* What a tiling must fit, and how it is compared with the best one. */
#include "mapper/gemm/tiling_search.h"

#include "frontend/base/math.h"
#include "mapper/gemm/layout.h"
#include "mapper/gemm/prologue.h"
#include "mapper/gemm/stages.h"

typedef tg_tiling_search search;

enum { MOST_SECOND = 4 }; /* ways of a second product beside one of the first */

/* Of two tilings about as fast, that with less to load and store. */
#define TRAFFIC_WEIGHT 0.05

/* Has the array what is needed? If nothing was found yet, what lacks is kept. */
static bool suffices(search *s, const tg_need *need) {
  if (tg_need_fits(s->m, need)) return true;
  if (!s->found) tg_need_note(s->m, need, &s->lacks);
  return false;
}

/* What the tiling takes but for its stages. Most tilings have too many rows for the accumulator: once one is found, what
 * else those take does not matter. */
static tg_need need_of(const search *s, const tg_gemm_tiling *t) {
  const tg_params *m = s->m;
  tg_channel_plan plans[TG_GEMM_ROLES];
  tg_need need = {{0}};
  uint64_t rows = tg_gemm_all_sums(m, s->g, t);
  if (rows <= tg_acc_rows(m) || !s->found) {
    tg_gemm_plan_channels(m, s->g, t, plans);
    need = tg_need_of_channels(m, plans, TG_GEMM_ROLES);
  }
  need.of[TG_LIMIT_ACCUMULATOR] = rows;
  need.of[TG_LIMIT_WORDS] = s->g->words_in_all[tg_gemm_drain_way(t)];
  return need;
}

static bool fits(search *s, const tg_gemm_tiling *t) {
  tg_need need = need_of(s, t);
  return suffices(s, &need);
}

/* Where tilings are randomized: the number of this one, else 0. */
static double draw(search *s) {
  if (!s->c->options.any_tiling) return 0;
  return tg_randomized_cycles(s->c, (uint32_t)s->g->m, (uint32_t)s->g->n, s->considered++);
}

/* What tilings are compared by: cycles, or the numbers that were drawn. */
static double rank(const search *s, const tg_gemm_tiling *t, const tg_stages *stages, double drawn) {
  if (s->c->options.any_tiling) return drawn;
  return t->cycles + TRAFFIC_WEIGHT * tg_gemm_traffic(t, stages);
}

bool tg_search_is_slower(const search *s, const tg_gemm_tiling *t) {
  return s->found && !s->c->options.any_tiling && tg_gemm_least_cycles(s->c, s->g, t) >= s->rank;
}

/* Strips of the columns of results, but not of a pool's windows. */
static bool has_strips(const tg_gemm_tiling *t) { return t->strips > 1 && !t->pool_rows; }

/* Do they differ in no more than in chunks, and in how results leave, or in how many strips there are, and rows of each? */
static bool alike(const tg_gemm_tiling *a, const tg_gemm_tiling *b) {
  bool strips = has_strips(a) && has_strips(b);
  return a->split == b->split && a->patch == b->patch && a->resident == b->resident &&
         (strips || (a->mt == b->mt && a->strips == b->strips)) && a->nt == b->nt && a->own == b->own &&
         a->alike == b->alike && a->swapped == b->swapped && a->whole_b == b->whole_b &&
         a->paired == b->paired && a->producers == b->producers && tg_gemm_slabs(a) == tg_gemm_slabs(b) &&
         tg_gemm_loads_positions(a) == tg_gemm_loads_positions(b) && a->second.whole_b == b->second.whole_b;
}

/* Keeps the best of those that are alike. */
static void note(tg_gemm_candidates *near, const tg_gemm_tiling *t, double compared) {
  int at = 0;
  while (at < near->count && !alike(&near->tiling[at], t)) at++;
  if (at == TG_GEMM_CANDIDATES) at--; /* in place of the last one */
  if (at < near->count && near->rank[at] <= compared) return;
  if (at == near->count) near->count++;
  for (; at > 0 && near->rank[at - 1] > compared; at--) {
    near->tiling[at] = near->tiling[at - 1];
    near->rank[at] = near->rank[at - 1];
  }
  near->tiling[at] = *t;
  near->rank[at] = compared;
}

/* Sides that may bring blocks of the epilogue's operands: one where there are none. */
static int sides_of_blocks(const search *s, const tg_gemm_tiling *t) {
  for (int x = 0; x < s->g->epilogue_operand_count; x++)
    if (!tg_gemm_loads_once(t, &s->g->epilogue_operands[x])) return 2;
  return 1;
}

/* Estimates know less of the loads of joined kernel rows, and of columns that begin within atoms: such a tiling takes no
 * other one's place. */
static bool is_apart(const search *s, const tg_gemm_tiling *t) {
  return s->found && (t->joined > 1 || t->own) && !s->c->options.any_tiling;
}

/* Randomized tilings have their numbers before they are known to fit, and most are not looked at further; which of two
 * sides comes first is drawn as well. */
static void consider(search *s, tg_gemm_tiling t) {
  tg_stages stages;
  const double drawn = draw(s);
  if (s->found && s->c->options.any_tiling && drawn >= s->rank) return;
  t.column_sums_egress = t.egress;
  t.one_out = false;
  if (t.ring || t.producers) t.one_out = !fits(s, &t);
  if (t.patch) {
    t.patches = t.passes_m * t.passes_n > 1 && tg_gemm_slabs(&t) == 1 ? 2 : 1;
    if (t.patches > 1 && !fits(s, &t)) t.patches = 1;
  }
  const tg_need need = need_of(s, &t);
  if (!suffices(s, &need)) return;
  for (int side = 0, sides = sides_of_blocks(s, &t); side < sides; side++) {
    t.epilogue_operands_west = sides > 1 && (side + (int)drawn) % 2;
    tg_gemm_list_stages(s->m, s->g, &t, &stages);
    tg_need all = need;
    tg_need_stages(&all, &stages);
    if (!suffices(s, &all)) continue;
    s->fitting++;
    t.cycles = tg_gemm_cycles(s->c, s->g, &t, &stages);
    double compared = rank(s, &t, &stages, drawn);
    if (is_apart(s, &t)) {
      if (s->apart_rank > 0 && s->apart_rank <= compared) continue;
      s->apart_rank = compared;
      s->apart = t;
      continue;
    }
    note(&s->near, &t, compared);
    if (s->found && compared >= s->rank) continue;
    s->rank = compared;
    s->best = t;
    s->found = true;
  }
}

bool tg_search_chunks_share_out(const tg_params *m, const tg_gemm *g, const tg_gemm_tiling *t) {
  uint32_t chunk = t->kc * tg_gemm_b_row(m, g, t), bank = tg_bank_rows(m);
  return g->b_transposed || chunk % bank == 0 || bank % chunk == 0;
}

bool tg_search_may_hold_whole_b(const tg_params *m, const tg_gemm *g, const tg_gemm_tiling *t) {
  return (t->split == TG_SPLIT_ROWS || (t->split == TG_SPLIT_OUTPUT && t->alike == 1)) && t->passes_n == 1 &&
         t->passes_m > 1 && (int64_t)t->chunks * t->kc == g->k &&
         t->kc % tg_mx_stationary(m, g->format) == 0 && tg_search_chunks_share_out(m, g, t);
}

/* What a second product has of its own: chunks of K, a power of two of them, as few as have room and twice as many; and
 * all of its B, or a chunk at a time. */
static void consider_second(search *s, tg_gemm_tiling t) {
  const tg_gemm *g = s->g->second;
  int64_t side = tg_mx_stationary(s->m, g->format), blocks = tg_div_up(g->k, side);
  uint32_t before = s->fitting;
  for (int64_t chunks = 1, last = 0; chunks <= blocks && s->fitting < before + MOST_SECOND; chunks *= 2) {
    t.second.kc = (uint32_t)(tg_div_up(blocks, chunks) * side);
    t.second.chunks = (uint32_t)tg_div_up(g->k, t.second.kc);
    t.second.whole_b = false;
    if (t.second.chunks == last || t.second.kc >= 1 << 20) continue;
    last = t.second.chunks;
    consider(s, t);
    const tg_gemm_tiling own = tg_gemm_second_tiling(&t);
    t.second.whole_b = tg_search_may_hold_whole_b(s->m, g, &own);
    if (t.second.whole_b) consider(s, t);
  }
}

void tg_search_consider(search *s, tg_gemm_tiling t, tg_resident resident) {
  t.resident = resident;
  if (!s->g->second)
    consider(s, t);
  else if (tg_gemm_may_have_second(s->g, &t) && tg_gemm_all_sums(s->m, s->g, &t) <= tg_acc_rows(s->m))
    consider_second(s, t);
}

/* Does so much of a drain tile fit a tile's share of a store memory? If nothing was found yet, what lacks is kept. */
static bool has_share(search *s, uint32_t flits) {
  if (flits <= s->share) return true;
  if (!s->found) tg_shortage_note(&s->no_share, "flits of a tile's share of a store memory", flits, s->share);
  return false;
}

/* Rows that leave at once, in whole blocks that column sums are of, or the largest part of one that all of it
 * consists of, of rows of `flits` in all results. */
static uint32_t whole_blocks_out(search *s, uint32_t nt, uint32_t flits) {
  const tg_gemm_column_sums *column_sums = &s->g->column_sums;
  uint32_t block = (uint32_t)column_sums->block,
           column_sum = (uint32_t)column_sums->count * tg_kind_flits(s->m, TG_STREAM_FP32, nt);
  if (!has_share(s, column_sum + flits)) return 0;
  uint32_t rows = (s->share - column_sum) / flits;
  if (rows >= block) return s->share / (column_sum + block * flits) * block;
  while (block % rows) rows--;
  return rows;
}

uint32_t tg_search_rows_out(search *s, uint32_t nt) {
  uint32_t widest = 1;
  for (int k = 0; k < s->g->outs; k++) {
    uint32_t flits = tg_kind_flits(s->m, s->g->out_kind[k], nt);
    if (widest < flits) widest = flits;
  }
  uint32_t outs = (uint32_t)s->g->outs;
  if (s->g->column_sums.count) return whole_blocks_out(s, nt, widest * outs);
  return has_share(s, widest * outs) ? s->share / outs / widest : 0;
}

uint32_t tg_search_rows_sent(uint32_t rows, uint32_t row_flits, uint32_t most) {
  for (uint32_t sent = rows; sent > 0; sent--)
    if (rows % sent == 0 && sent * row_flits <= most) return sent;
  return 0;
}
