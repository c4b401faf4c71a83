/* A product's sections: how it is cut, of the tilings that the search found, one section after the other, and what invokes
 * them. */
#include "mapper/gemm/emission.h"
#include "mapper/gemm/gemm.h"
#include "mapper/gemm/layout.h"
#include "mapper/section/rehearsal.h"
#include "mapper/vector/vector.h"

#include <string.h>

typedef tg_gemm_emission emission;

enum { REPLAYED_STEPS = 1 << 16 };

/* Bytes of running sums that go down the columns and back in one invocation. */
static uint64_t sum_bytes(const emission *e) {
  const tg_gemm_tiling *t = &e->t;
  uint64_t blocks = (uint64_t)t->passes_m * t->passes_n / tg_gemm_strips(t);
  uint64_t down = (uint64_t)(t->members - 1) * t->parts * e->ring_steps *
                  e->channels[TG_ROLE_RECEIVED].ring.rows,
           back = t->ring ? (uint64_t)(t->members - 1) * e->ring_steps *
                                (e->channels[TG_ROLE_WHOLE].ring.rows / 2)
                  : t->members > 1 ? (uint64_t)(t->parts - 1) * e->channels[TG_ROLE_SUMS].ring.rows
                                   : 0;
  return blocks * (down + back) * tg_gemm_row_tiles(e) * e->b.m->cols * tg_flit_bytes(e->b.m);
}

/* Of `whole`, what strip number `strip` of `length` has. */
static int64_t strip_length(int64_t whole, uint32_t strip, int64_t length) {
  int64_t left = whole - strip * length;
  return left < 0 ? 0 : left < length ? left : length;
}

static void invoke(emission *e, const char *name) {
  tg_invocation *invocation = tg_build_invoke(&e->b, name);
  int64_t rows = e->g->m, cols = tg_gemm_useful_columns(e->g);
  if (tg_gemm_strips_columns(&e->t)) cols = strip_length(cols, e->strip, tg_gemm_cols_a_pass(e));
  uint64_t macs = (uint64_t)rows * (uint64_t)cols * (uint64_t)tg_gemm_useful_k(e->g);
  if (e->g->spread) macs *= (uint64_t)e->g->spread;
  invocation->macs[e->g->format] = macs;
  if (e->g->second) {
    invocation->macs[e->g->second->format] += (uint64_t)rows * (uint64_t)cols * (uint64_t)e->g->second->k;
    invocation->key_nodes[TG_KEY_SECOND] = (uint32_t)e->g->second->node->id;
  }
  if (e->t.members > 1) invocation->sum_bytes = sum_bytes(e);
  invocation->key_nodes[TG_KEY_PRODUCT] = (uint32_t)e->g->node->id;
  const tg_node *cast = tg_stochastic_store(e->kernel);
  if (cast) invocation->key_nodes[TG_KEY_STORE] = (uint32_t)cast->id;
}

/* Can `product` run in the section that was emitted for e->product, with another base table? Its addresses
 * must leave the same rest modulo 64, and rounding must not see the difference. */
static bool shares_section(emission *e, int64_t product) {
  if (e->g->k_tile || tg_gemm_strips(&e->t) > 1 || tg_gemm_rounds_results(e->g)) return false;
  if (e->g->sum_kind == TG_STREAM_BF16SR) return false;
  emission other = *e;
  other.b.bases = 0;
  tg_gemm_allocate_bases(&other, product);
  bool same = other.a_rest == e->a_rest && other.b_rest == e->b_rest;
  for (int k = 0; k < e->g->outs; k++) same = same && other.out_rest[k] == e->out_rest[k];
  for (int x = 0; x < e->g->epilogue_operand_count; x++)
    same = same && other.operands.rest[x] == e->operands.rest[x];
  if (same) memcpy(e->b.base_address, other.b.base_address, sizeof e->b.base_address);
  return same;
}

static void set_loops(emission *e) {
  const tg_gemm_tiling *t = &e->t;
  bool resident_b = t->resident == TG_RESIDENT_B;
  uint32_t passes_m = t->passes_m, chunks = t->chunks * t->parts / e->unrolled;
  uint32_t passes_n = tg_gemm_slabs(t) > 1 ? t->slabs : t->passes_n / tg_gemm_strips(t);
  uint32_t outer = resident_b ? passes_n : passes_m, inner = resident_b ? passes_m : passes_n;
  e->m_level = resident_b ? 1 : 0;
  e->n_level = resident_b ? 0 : 1;
  e->m_k_level = resident_b ? 2 : 0;
  e->n_k_level = resident_b ? 0 : t->resident ? 2 : 1;
  uint32_t k[] = {outer,
                  t->resident ? 1
                  : e->nested ? t->parts
                              : inner,
                  t->resident ? inner
                  : e->nested ? t->chunks
                              : chunks};
  uint32_t drain_tiles[] = {outer, e->t.pool_rows ? tg_gemm_pool_groups(&e->t) : inner, e->drain_tiles},
           ring_steps[] = {outer, inner, e->ring_steps};
  memcpy(e->k_loops, k, sizeof k);
  memcpy(e->drain_tile_loops, drain_tiles, sizeof drain_tiles);
  memcpy(e->ring_loops, ring_steps, sizeof ring_steps);
}

/* What follows from the tiling. */
static void prepare(emission *e) {
  e->stationary = tg_mx_stationary(e->c->m, e->g->format);
  e->drain_tiles =
      e->t.pool_rows ? tg_gemm_pool_parts(&e->t) : e->t.mt / e->t.mr / (e->t.ring ? e->t.members : 1);
  e->ring_steps = e->t.ring ? e->drain_tiles / e->t.ring_drain_tiles : e->drain_tiles;
  e->steps = tg_gemm_drain_tiles_of_column_sum(e->g, &e->t) > 1 ? e->drain_tiles : 1;
  e->unrolled = tg_gemm_unrolled_chunks(&e->t);
  e->nested = e->t.parts > 1 && e->t.chunks > 1 && !tg_gemm_unrolls(&e->t);
  set_loops(e);
  tg_gemm_list_stages(e->c->m, e->g, &e->t, &e->stages);
}

/* A section so tiled that nobody gets. */
typedef struct rehearsed {
  const tg_kernel *kernel;
  const tg_gemm *g;
  const tg_gemm_tiling *t;
} rehearsed;

static tg_status emit_one(tg_compile *c, const void *user) {
  const rehearsed *r = user;
  emission e = {.c = c, .kernel = r->kernel, .g = r->g, .t = *r->t};
  prepare(&e);
  tg_status status = tg_gemm_emit_section(&e, "", 0);
  if (!status) tg_build_invoke(&e.b, "");
  return status;
}

/* Its cycles; TG_NEVER: it is refused, or takes longer than `limit`. */
static double rehearsed_cycles(const tg_compile *c, const tg_kernel *kernel, const tg_gemm *g,
                               const tg_gemm_tiling *t, double limit) {
  const rehearsed one = {kernel, g, t};
  const tg_rehearsal rehearsal = {.emit = emit_one, .user = &one, .limit = limit, .steps = REPLAYED_STEPS};
  return tg_rehearse_sections(c, &rehearsal);
}

/* Of the tilings that the search found the one whose sections are replayed fastest; their cycles. `always`: a single one is
 * replayed, too. */
static double settle(const tg_compile *c, const tg_kernel *kernel, const tg_gemm *g, bool always,
                     tg_gemm_tiling *out) {
  tg_gemm_candidates near = tg_gemm_candidates_worth_a_replay(c, g);
  double best = TG_NEVER;
  *out = near.tiling[0];
  if (near.count == 1 && !always) return (double)g->products * (out->cycles + TG_SECTION_CYCLES);
  for (int i = 0; i < near.count; i++) {
    double strips = tg_gemm_strips(&near.tiling[i]), limit = tg_clearly_faster(c, best),
           cycles = strips * rehearsed_cycles(c, kernel, g, &near.tiling[i], limit / strips);
    if (cycles >= limit) continue;
    best = cycles;
    *out = near.tiling[i];
  }
  if (best >= TG_NEVER) return best;
  out->cycles = best - TG_SECTION_CYCLES;
  tg_gemm_settle(c, g, out);
  return best * (double)g->products;
}

/* Ways to emit a phase: the best one so far, and its cycles. */
typedef struct choice {
  emission *e;
  bool replays; /* ways of which estimates err by more than what they differ in */
  double best;
} choice;

/* Takes this way if it is the fastest so far. */
static void choose_if_faster(tg_compile *c, const tg_kernel *kernel, const tg_gemm *g, choice *of) {
  tg_diag unused = {""};
  tg_compile quiet = *c;
  tg_gemm_tiling tiling;
  quiet.diag = &unused;
  if (tg_tile_gemm(&quiet, g, &tiling)) return;
  double sections = settle(c, kernel, g, of->replays, &tiling);
  if (of->e->g && sections >= (of->replays ? tg_clearly_faster(c, of->best) : of->best)) return;
  of->best = sections;
  of->e->t = tiling;
  of->e->g = g;
}

/* The fastest of the ways into `e`, and its cycles. */
static tg_status choose(tg_compile *c, const tg_kernel *kernel, const tg_gemm_ways *ways, bool replays,
                        emission *e, double *out_cycles) {
  choice of = {.e = e, .replays = replays || ways->count > 1, .best = TG_NEVER};
  for (int i = 0; i < ways->count; i++) choose_if_faster(c, kernel, &ways->way[i], &of);
  *out_cycles = of.best;
  return e->g ? TG_OK : tg_tile_gemm(c, &ways->way[0], &e->t); /* which says why not */
}

/* All sections of what was chosen. */
static tg_status emit_chosen(tg_compile *c, const tg_kernel *kernel, emission *e) {
  prepare(e);
  if (tg_gemm_b_in_blocks(e->g, &e->t)) tg_gemm_order_b(c, e->g, &e->t);
  const tg_gemm_tiling second = tg_gemm_second_tiling(&e->t);
  if (e->g->second && tg_gemm_b_in_blocks(e->g->second, &second)) tg_gemm_order_b(c, e->g->second, &second);
  const char *name = tg_kernel_name(c, kernel);
  for (int64_t product = 0; product < e->g->products; product++)
    for (e->strip = 0; e->strip < tg_gemm_strips(&e->t); e->strip++) {
      tg_status status = TG_OK;
      if (product == 0 || !shares_section(e, product)) status = tg_gemm_emit_section(e, name, product);
      if (status) return status;
      invoke(e, name);
    }
  if (e->g->partials > 1) c->program->invocations[c->program->invocation_count - 1].sums = 1;
  return TG_OK;
}

/* Columns of the result as a product of their own; its cycles, TG_NEVER: they are none. */
static double choose_columns(tg_compile *c, const tg_kernel *kernel, const tg_columns *columns, bool replays,
                             tg_gemm *g, emission *e) {
  tg_diag unused = {""};
  tg_compile quiet = *c;
  quiet.diag = &unused;
  choice of = {.e = e, .replays = replays, .best = TG_NEVER};
  *e = (emission){.c = c, .kernel = kernel};
  if (!tg_gemm_describe_columns(&quiet, kernel, columns, g)) choose_if_faster(c, kernel, g, &of);
  return of.best;
}

/* Are sections of columns that are read apart clearly faster than those of the whole? */
static bool are_faster_apart(tg_compile *c, const tg_kernel *kernel, const tg_columns *parts, int count,
                             double whole) {
  tg_gemm g;
  emission e;
  double sum = 0, limit = tg_clearly_faster(c, whole);
  for (int i = 0; i < count && sum < limit; i++) sum += choose_columns(c, kernel, &parts[i], true, &g, &e);
  return sum < limit;
}

static tg_status emit_columns(tg_compile *c, const tg_kernel *kernel, const tg_gemm *whole,
                              const tg_columns *parts, int count) {
  if (tg_gemm_b_in_parts(whole)) tg_gemm_order_columns(c, whole, parts, count);
  for (int i = 0; i < count; i++) {
    tg_gemm g;
    emission e;
    choose_columns(c, kernel, &parts[i], false, &g, &e);
    tg_status status = emit_chosen(c, kernel, &e);
    if (status) return status;
  }
  return TG_OK;
}

static tg_status emit_phase(tg_compile *c, const tg_kernel *kernel, int64_t phase) {
  tg_gemm_ways ways;
  tg_columns parts[TG_MOST_COLUMN_PARTS];
  tg_status status = tg_gemm_list_ways(c, kernel, phase, &ways);
  emission e = {.c = c, .kernel = kernel};
  double cycles;
  if (status || !ways.count) return status;
  int count = tg_gemm_column_parts(kernel, parts);
  status = choose(c, kernel, &ways, count > 1, &e, &cycles);
  if (status) return status;
  if (count > 1 && are_faster_apart(c, kernel, parts, count, cycles))
    return emit_columns(c, kernel, &ways.way[0], parts, count);
  return emit_chosen(c, kernel, &e);
}

tg_status tg_emit_gemm(tg_compile *c, const tg_kernel *kernel) {
  for (int64_t phase = 0; phase < tg_gemm_phases(kernel->root); phase++) {
    tg_status status = emit_phase(c, kernel, phase);
    if (status) return status;
  }
  return kernel->column_sums ? tg_emit_remainder(c, kernel->column_sums) : TG_OK;
}
