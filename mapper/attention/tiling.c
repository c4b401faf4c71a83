/* Tiling of attention: all groups of tiles and blocks of rows under a simple model of time. A unit takes as
 * long as the slowest of vx, mx and the DRAM ports; the first loads and products and the last product are
 * exposed. */
#include "frontend/base/math.h"
#include "mapper/attention/attention.h"
#include "mapper/gemm/layout.h"

#include <string.h>

enum {
  BLOCKS = 64,      /* of a tile in a product, at most */
  MOST_ROWS = 4096, /* of a block */
  HANDOVER = 40,    /* cycles of posts, issues and pipelines from unit to unit, roughly */
};

uint32_t tg_attention_keys(const tg_attention *a) {
  return (uint32_t)tg_div_up(a->keys, TG_ROW_PARTIALS) * TG_ROW_PARTIALS;
}

uint32_t tg_attention_width(const tg_params *m, const tg_attention *a) {
  return (uint32_t)tg_div_up(a->context.n, tg_lanes(m)) * tg_lanes(m);
}

tg_gemm_tiling tg_attention_scores(const tg_attention *a) {
  return (tg_gemm_tiling){.mt = a->rows, .nt = tg_attention_keys(a), .kc = (uint32_t)a->scores.k};
}

tg_gemm_tiling tg_attention_context(const tg_params *m, const tg_attention *a) {
  return (tg_gemm_tiling){.mt = a->rows, .nt = tg_attention_width(m, a), .kc = (uint32_t)a->keys};
}

uint32_t tg_attention_exp_rows(const tg_params *m, const tg_attention *a) {
  return a->rows * tg_kind_flits(m, TG_STREAM_FP32, tg_attention_keys(a));
}

uint32_t tg_attention_kept_rows(const tg_params *m, const tg_attention *a) {
  return tg_attention_exp_rows(m, a) + a->rows * tg_kind_flits(m, TG_STREAM_FP32, tg_lanes(m));
}

uint32_t tg_attention_weight_rows(const tg_params *m, const tg_attention *a) {
  return a->rows * (tg_attention_keys(a) / tg_mx_elements(m, a->context.format));
}

uint32_t tg_attention_out_rows(const tg_params *m, const tg_attention *a) {
  return a->rows * tg_kind_flits(m, a->out_kind, tg_attention_width(m, a));
}

uint32_t tg_attention_epilogue_operand_take(const tg_attention *a, int epilogue_operand) {
  return a->epilogue_operand_kind[epilogue_operand] == TG_STREAM_SPLAT32 ? 1 : tg_attention_keys(a);
}

uint32_t tg_attention_epilogue_operand_rows(const tg_params *m, const tg_attention *a, int epilogue_operand) {
  uint32_t rows = a->epilogue_operand[epilogue_operand].rows == 1 ? 1 : a->rows;
  return rows * tg_kind_flits(m, a->epilogue_operand_kind[epilogue_operand],
                              tg_attention_epilogue_operand_take(a, epilogue_operand));
}

/* ---- room ---- */

/* From AGCUs of both kinds, a unit at a time. */
static void plan_load(const tg_attention *a, tg_channel_plan *plan) {
  plan->full = 1;
  plan->west = plan->north = true;
  plan->credits = (uint8_t)a->copies;
}

void tg_attention_plan_channels(const tg_params *m, const tg_attention *a,
                                tg_channel_plan plans[TG_ATTENTION_ROLES]) {
  tg_gemm_tiling first = tg_attention_scores(a), second = tg_attention_context(m, a);
  memset(plans, 0, TG_ATTENTION_ROLES * sizeof *plans);
  plans[TG_ROLE_QUERIES].room = (tg_room){tg_gemm_a_rows(m, &a->scores, &first), a->copies};
  plans[TG_ROLE_KEYS].room = (tg_room){tg_gemm_b_rows(m, &a->scores, &first), a->copies};
  plans[TG_ROLE_VALUES].room = (tg_room){tg_gemm_b_rows(m, &a->context, &second), a->copies};
  plans[TG_ROLE_KEPT].room = (tg_room){tg_attention_kept_rows(m, a), 1};
  plans[TG_ROLE_WEIGHTS].room = (tg_room){tg_attention_weight_rows(m, a), 1};
  plans[TG_ROLE_CONTEXT].room = (tg_room){tg_attention_out_rows(m, a), 2};
  for (int x = 0; x < a->scores.epilogue_operand_count; x++)
    plans[TG_ROLE_SCORED + x].room = (tg_room){tg_attention_epilogue_operand_rows(m, a, x), a->copies};
  plan_load(a, &plans[TG_ROLE_QUERIES]);
  plan_load(a, &plans[TG_ROLE_KEYS]);
  plan_load(a, &plans[TG_ROLE_VALUES]);
  plan_load(a, &plans[TG_ROLE_SCORED_ALL]);
  /* The halves of the accumulator are free when they are written (emit.c). */
  plans[TG_ROLE_SCORES].full = plans[TG_ROLE_PRODUCT].full = 1;
  plans[TG_ROLE_WEIGHTS].full = plans[TG_ROLE_WEIGHTS].free = plans[TG_ROLE_WEIGHTS].initial = 1;
  plans[TG_ROLE_CONTEXT].full = plans[TG_ROLE_CONTEXT].free = 1;
  plans[TG_ROLE_CONTEXT].initial = 2;
  plans[TG_ROLE_CONTEXT_AWAY] = (tg_channel_plan){.free = 1, .initial = 2, .west = true, .north = true};
}

static bool fits(const tg_params *m, const tg_attention *a) {
  tg_channel_plan plans[TG_ATTENTION_ROLES];
  tg_attention_plan_channels(m, a, plans);
  tg_semaphores semaphores = tg_channels_semaphores(m, plans, TG_ATTENTION_ROLES);
  uint32_t columns = tg_attention_keys(a) + tg_attention_width(m, a);
  return tg_channels_fit(m, plans, TG_ATTENTION_ROLES) && tg_semaphores_fit(m, &semaphores) &&
         (uint64_t)a->rows * columns / tg_lanes(m) <= tg_acc_rows(m);
}

/* Do queues hold what loads need, and what the units of a tile do? */
static bool queues_fit(const tg_params *m, const tg_attention *a) {
  uint32_t longest = m->rows > m->cols ? m->rows : m->cols,
           operands = 2 + (uint32_t)a->scores.epilogue_operand_count;
  return longest * operands <= m->queue_depth && m->queue_depth >= 8;
}

/* ---- time ---- */

static double vop_cycles(const tg_params *m, double rows, double words) {
  double groups = (double)(uint32_t)tg_div_up((int64_t)rows, m->fma_latency);
  return groups * words * m->fma_latency + 2 * m->fma_latency + 1;
}

static double vector_cycles(const tg_params *m, const tg_attention *a) {
  const int *w = a->words;
  double vectors = (double)tg_attention_keys(a) / tg_lanes(m), each = vectors / a->unroll;
  double first = w[0] + each * w[1] + w[2] + each * w[3] + w[4],
         second = w[5] + vectors / a->own_unroll * w[6];
  double drained = (double)a->rows * tg_attention_width(m, a) / tg_lanes(m);
  return vop_cycles(m, a->rows, first) + vop_cycles(m, a->rows, second) +
         vop_cycles(m, drained, w[TG_ATTENTION_DRAIN]);
}

static double gemm_cycles(const tg_params *m, const tg_gemm *g, const tg_gemm_tiling *t) {
  uint32_t stationary = tg_mx_stationary(m, g->format);
  return (double)(uint32_t)tg_div_up(t->kc, stationary) * (uint32_t)tg_div_up(t->nt, stationary) *
         (double)tg_mx_pitch(m, g->format, t->mt);
}

/* Of a port, for so many rows. */
static double port_cycles(const tg_params *m, const tg_matrices *x, double rows) {
  return rows * (uint32_t)tg_div_up(x->columns * tg_value_bytes_each(x->value), 64) * tg_atom_cycles(m);
}

static void estimate(const tg_params *m, tg_attention *a) {
  tg_gemm_tiling first = tg_attention_scores(a), second = tg_attention_context(m, a);
  double scores = gemm_cycles(m, &a->scores, &first), context = gemm_cycles(m, &a->context, &second),
         vector = vector_cycles(m, a);
  double shared = port_cycles(m, &a->k, (double)a->k.rows) + port_cycles(m, &a->v, (double)a->v.rows),
         own = port_cycles(m, &a->q, a->rows), out = port_cycles(m, &a->out, a->rows);
  for (int x = 0; x < a->scores.epilogue_operand_count; x++)
    own += port_cycles(m, &a->epilogue_operand[x], a->epilogue_operand[x].rows == 1 ? 1 : a->rows);
  double west, north, exits_west = (m->cols + 1) / 2, exits_north = (m->rows + 1) / 2;
  if (a->group == 1) {
    west = (m->cols + 1) / 2 * (own + shared);
    north = (m->rows + 1) / 2 * (own + shared);
  } else {
    west = (a->group < m->cols ? m->cols / a->group : 1) * shared;
    north = m->rows * own;
  }
  double port = tg_max_double(west + exits_west * out, north + exits_north * out);
  double unit = tg_max_double(vector, tg_max_double(scores + context, port)) + HANDOVER;
  double ends = 2 * m->dram_latency + tg_max_double(west, north) / 2 + scores + context + out;
  a->cycles = unit * tg_attention_units(a) + ends;
}

/* ---- search ---- */

static void consider(const tg_compile *c, const tg_attention *at, tg_attention *best) {
  const tg_params *m = c->m;
  tg_attention a = *at;
  for (a.copies = 2; a.copies > 0 && !fits(m, &a); a.copies--) {
  }
  /* Random numbers go by rows: from unit to unit, all steps must be the same. */
  if (!a.copies || ((a.sr_blocks[0] || a.sr_blocks[1]) && a.blocks > 1 && a.passes > 1)) return;
  estimate(m, &a);
  if (c->options.any_tiling) a.cycles = tg_randomized_cycles(c, a.rows, a.group, a.blocks);
  if (!best->copies || a.cycles < best->cycles) *best = a;
}

/* Blocks of at most as many rows as can leave in equal pieces. */
static void consider_group(const tg_compile *c, tg_attention a, tg_attention *best) {
  const tg_params *m = c->m;
  uint32_t share =
      tg_egress_share(m, TG_EGRESS_BOTH, 1) / tg_kind_flits(m, a.out_kind, tg_attention_width(m, &a));
  int64_t tile_rows = (uint32_t)tg_div_up(a.queries, a.group), last = 0;
  a.passes = (uint32_t)tg_div_up(a.products, tg_attention_at_a_time(m, &a));
  for (int64_t n = 1; n <= BLOCKS && share; n++) {
    uint32_t rows = (uint32_t)tg_div_up(tile_rows, n), pieces = (uint32_t)tg_div_up(rows, share);
    if (rows == last || rows > MOST_ROWS) continue;
    last = rows;
    a.piece = (uint32_t)tg_div_up(rows, pieces);
    a.rows = a.piece * pieces;
    a.blocks = (uint32_t)tg_div_up(tile_rows, a.rows);
    consider(c, &a, best);
  }
}

bool tg_tile_attention(const tg_compile *c, tg_attention *a) {
  const tg_params *m = c->m;
  tg_attention best = *a;
  best.copies = 0;
  if (!queues_fit(m, a)) return false;
  for (a->group = 1; a->group <= m->cols; a->group++)
    if (m->cols % a->group == 0) consider_group(c, *a, &best);
  a->group = tg_tiles(m);
  if (m->rows > 1) consider_group(c, *a, &best);
  *a = best;
  return best.copies > 0;
}
