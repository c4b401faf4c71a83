/* Execution of a GEMM instruction by its plan (gemm_plan.h): A and B are packed, widened, around the micro-kernels, with
 * chains of k in chunks, and sums are rounded at the ends of K tiles. */
#include "sim/functional/gemm_plan.h"
#include "sim/machine/mx_shape.h"
#include "sim/machine/numerics.h"

#include <string.h>

enum { MAX_PANEL = 3 * 16 };

typedef struct run {
  const tg_gemm_plan *plan;
  const tg_mx_instr *in; /* of this execution */
  const tg_execution *x;
  tg_gemm_setup g;
  const uint8_t *pad;
  float *acc;
  uint32_t m0, rows;      /* streamed rows of this chunk */
  uint32_t k0, k1, depth; /* k blocks of this chunk, and how many k are valid */
  tg_chain chain;         /* where they begin */
  float a[TG_GEMM_MC * TG_GEMM_LDA];
  float b[TG_GEMM_KC * MAX_PANEL];
} run;

static uint32_t valid_k(const run *r, uint32_t kb) {
  int64_t valid = (int64_t)r->g.k_left - (int64_t)kb * r->plan->s;
  return valid < 0 ? 0 : valid > r->plan->s ? r->plan->s : (uint32_t)valid;
}

static const uint8_t *row_at(const run *r, int64_t row) { return r->pad + row * r->plan->row_bytes; }

/* The same where A is stored by k: S elements of each k, transposed. */
static void pack_a_transposed(run *r, int64_t column_a) {
  const tg_gemm_plan *plan = r->plan;
  uint32_t s = plan->s, element = tg_mx_element_bytes(r->in->format);
  tg_gemm_widen *widen = plan->narrow->widen[r->in->format];
  float block[TG_MAX_LANES * TG_MAX_LANES];
  for (uint32_t kb = r->k0, valid; kb < r->k1 && (valid = valid_k(r, kb)) > 0; kb++) {
    int64_t base = r->x->address[TG_AT_A] + column_a + plan->ksteps[kb].a;
    for (uint32_t m = r->m0; m < r->m0 + r->rows; m += s) { /* whole groups: TG_GEMM_MC is a multiple of S */
      uint32_t count = r->m0 + r->rows - m < s ? r->m0 + r->rows - m : s;
      const uint8_t *from = row_at(r, base + m / s * r->in->a_m[0]);
      float *to = r->a + (size_t)(m - r->m0) * TG_GEMM_LDA + (kb - r->k0) * s;
      for (uint32_t piece = 0; piece < s; piece += plan->w)
        widen(from + piece * element, r->in->a_m[1] * plan->row_bytes, block + piece, s * 4, valid);
      for (uint32_t i = 0; i < count; i++)
        for (uint32_t k = 0; k < valid; k++) to[i * TG_GEMM_LDA + k] = block[k * s + i];
    }
  }
}

/* Rows m0 .. of A, all k of the chunk: [m][k]. `column_a`: what the column blocks add to the address. */
static void pack_a(run *r, int64_t column_a) {
  const tg_gemm_plan *plan = r->plan;
  uint32_t inner = (uint32_t)r->in->m_count[1], element = tg_mx_element_bytes(r->in->format);
  tg_gemm_widen *widen = plan->narrow->widen[r->in->format];
  for (uint32_t kb = r->k0; kb < r->k1 && valid_k(r, kb); kb++) {
    int64_t base = r->x->address[TG_AT_A] + column_a + plan->ksteps[kb].a;
    for (uint32_t m = r->m0; m < r->m0 + r->rows;) {
      uint32_t outer = m / inner, at = m % inner, count = inner - at;
      if (count > r->m0 + r->rows - m) count = r->m0 + r->rows - m;
      const uint8_t *from = row_at(r, base + outer * r->in->a_m[0] + at * r->in->a_m[1]);
      float *to = r->a + (size_t)(m - r->m0) * TG_GEMM_LDA + (kb - r->k0) * plan->s;
      for (uint32_t piece = 0; piece < plan->s; piece += plan->w)
        widen(from + piece * element, r->in->a_m[1] * plan->row_bytes, to + piece, TG_GEMM_LDA * 4, count);
      m += count;
    }
  }
}

static float widened(const uint8_t *from, int64_t format, uint32_t i) {
  uint32_t word;
  uint16_t half;
  if (tg_mx_element_bytes(format) == 4) {
    memcpy(&word, from + 4 * i, 4);
    return tg_bits_f32(format == TG_FMT_TF32 ? word & 0xffffe000u : word);
  }
  memcpy(&half, from + 2 * i, 2);
  return tg_bits_f32(format == TG_FMT_BF16 ? tg_bf16_to_f32(half) : tg_fp16_to_f32(half));
}

/* W columns of a block's valid rows, to `to` with `ldb` floats from k to k. */
static void pack_block(const run *r, const tg_gemm_column *c, uint32_t sub, uint32_t kb, float *to,
                       uint32_t ldb) {
  const tg_gemm_plan *plan = r->plan;
  int64_t base = r->x->address[TG_AT_B] + c->b + plan->ksteps[kb].b, stride = r->in->b_row;
  uint32_t valid = valid_k(r, kb), element = tg_mx_element_bytes(r->in->format);
  if (!r->in->b_transposed) {
    plan->narrow->widen[r->in->format](row_at(r, base) + sub * element, stride * plan->row_bytes, to, ldb * 4,
                                       valid);
    return;
  }
  for (uint32_t n = 0; n < plan->w; n++) {
    const uint8_t *from = row_at(r, base + (sub + n) * stride);
    for (uint32_t k = 0; k < valid; k++) to[k * ldb + n] = widened(from, r->in->format, k);
  }
}

/* Columns of `count` units, all k of the chunk: [k][unit][V]. */
static void pack_b(run *r, const tg_gemm_vector *units, uint32_t count) {
  const tg_gemm_plan *plan = r->plan;
  uint32_t ldb = count * plan->v;
  for (uint32_t kb = r->k0; kb < r->k1 && valid_k(r, kb); kb++) {
    float *to = r->b + (size_t)(kb - r->k0) * plan->s * ldb;
    for (uint32_t u = 0; u < count; u++) {
      const tg_gemm_column *c = &plan->columns[units[u].column];
      pack_block(r, c, units[u].sub, kb, to + u * plan->v, ldb);
      if (plan->paired) pack_block(r, c + 1, 0, kb, to + u * plan->v + plan->w, ldb);
    }
  }
}

/* Where a unit's lanes of streamed row m lie. */
static float *unit_acc(const run *r, const tg_gemm_vector *u, uint32_t m) {
  const tg_gemm_column *c = &r->plan->columns[u->column];
  return r->acc + (r->x->address[TG_AT_C] + c->c + m) * r->plan->acc_lanes + c->lane + u->sub;
}

/* Some k of a chunk: the first of them, and how many. */
typedef struct segment {
  uint32_t first, depth;
  bool init;
} segment;

/* The last rows of a chunk, fewer than a register block: by way of a full one. The surplus rows of A are
 * whatever the buffer holds, and so are their results. */
static void ragged(run *r, const tg_gemm_vector *units, uint32_t count, uint32_t m, uint32_t rows,
                   const segment *k) {
  const tg_gemm_plan *plan = r->plan;
  float block[8 * TG_MAX_LANES * TG_GEMM_MAX_UNITS];
  float *c[TG_GEMM_MAX_UNITS];
  memset(block, 0, sizeof block);
  for (uint32_t u = 0; u < count; u++) {
    c[u] = block + (size_t)u * 8 * plan->acc_lanes;
    for (uint32_t i = 0; i < rows; i++)
      memcpy(c[u] + i * plan->acc_lanes, unit_acc(r, &units[u], m + i), plan->v * 4);
  }
  plan->wide->micro[count - 1](r->a + (size_t)(m - r->m0) * TG_GEMM_LDA + k->first,
                               r->b + (size_t)k->first * count * plan->v, c, k->depth, k->init);
  for (uint32_t u = 0; u < count; u++)
    for (uint32_t i = 0; i < rows; i++)
      memcpy(unit_acc(r, &units[u], m + i), c[u] + i * plan->acc_lanes, plan->v * 4);
}

static void multiply(run *r, const tg_gemm_vector *units, uint32_t count, const segment *k) {
  const tg_gemm_plan *plan = r->plan;
  for (uint32_t m = r->m0; m < r->m0 + r->rows; m += plan->block_rows) {
    uint32_t left = r->m0 + r->rows - m;
    if (left < plan->block_rows) {
      ragged(r, units, count, m, left, k);
      return;
    }
    float *c[TG_GEMM_MAX_UNITS];
    for (uint32_t u = 0; u < count; u++) c[u] = unit_acc(r, &units[u], m);
    plan->wide->micro[count - 1](r->a + (size_t)(m - r->m0) * TG_GEMM_LDA + k->first,
                                 r->b + (size_t)k->first * count * plan->v, c, k->depth, k->init);
  }
}

static void round_units(run *r, const tg_gemm_vector *units, uint32_t count, uint32_t tile) {
  const tg_gemm_plan *plan = r->plan;
  uint32_t tile_key = tg_sr_tile_key(r->g.sr_key, r->g.sr_tile + tile), hash[TG_MAX_LANES],
           row_hash[TG_GEMM_MC];
  bool transposed = r->in->sr_transposed;
  for (uint32_t m = 0; m < r->rows; m++) {
    uint32_t at = r->m0 + m, skipped = at / (uint32_t)r->in->m_count[1] * (uint32_t)r->in->sr_row_skip,
             row = r->g.sr_row + at + skipped;
    row_hash[m] = transposed ? tg_sr_col_hash(tile_key, row) : tg_sr_row_hash(tile_key, row);
  }
  for (uint32_t u = 0; u < count; u++) {
    for (uint32_t i = 0; i < plan->v; i++) {
      const tg_gemm_column *c = &plan->columns[units[u].column + i / plan->s];
      uint32_t col = r->g.sr_col + c->sr_col + units[u].sub + i % plan->s;
      hash[i] = transposed ? tg_sr_row_hash(tile_key, col) : tg_sr_col_hash(tile_key, col);
    }
    plan->wide->round(unit_acc(r, &units[u], r->m0), r->rows, row_hash, hash);
  }
}

/* The k of a chunk, rounded where K tiles end; `ends`: behind the last one, too. */
static void multiply_tiles(run *r, const tg_gemm_vector *units, uint32_t count, bool ends) {
  bool rounds = r->in->sr;
  uint32_t length = (uint32_t)r->in->sr_k;
  tg_chain at = r->chain;
  segment k = {.first = 0, .depth = r->depth, .init = r->g.init && r->k0 == 0};
  for (uint32_t left = r->depth; rounds && left > 0 && tg_chain_room(at, length) <= left;) {
    k.depth = tg_chain_room(at, length);
    multiply(r, units, count, &k);
    round_units(r, units, count, at.tile);
    at = tg_chain_after(at, length, k.depth);
    left -= k.depth;
    k = (segment){.first = k.first + k.depth, .depth = left};
  }
  if (k.depth > 0 || k.init) multiply(r, units, count, &k);
  bool ended = k.first > 0 && k.depth == 0; /* with the last k */
  if (rounds && ends && !ended) round_units(r, units, count, at.tile);
}

/* One chunk of k for the units of [first, last), which share A. */
static void chunk(run *r, uint32_t first, uint32_t last) {
  const tg_gemm_plan *plan = r->plan;
  bool ends = r->k1 == plan->kblocks && tg_execution_ends_tile(r->x);
  uint32_t before = r->k0 * plan->s < r->g.k_left ? r->k0 * plan->s : r->g.k_left;
  r->depth = 0;
  for (uint32_t kb = r->k0; kb < r->k1; kb++) r->depth += valid_k(r, kb);
  if (r->in->sr) r->chain = tg_chain_after(r->x->chain, (uint32_t)r->in->sr_k, before);
  (r->in->a_transposed ? pack_a_transposed : pack_a)(r, plan->columns[plan->units[first].column].a);
  for (uint32_t u = first; u < last; u += plan->block_units) {
    uint32_t count = last - u < plan->block_units ? last - u : plan->block_units;
    pack_b(r, &plan->units[u], count);
    multiply_tiles(r, &plan->units[u], count, ends);
  }
}

/* All k for the streamed rows of this chunk and the units of [first, last). */
static void all_k(run *r, uint32_t first, uint32_t last) {
  uint32_t most = TG_GEMM_KC / r->plan->s;
  for (r->k0 = 0; r->k0 < r->plan->kblocks; r->k0 = r->k1) {
    r->k1 = r->k0 + most < r->plan->kblocks ? r->k0 + most : r->plan->kblocks;
    chunk(r, first, last);
  }
}

void tg_gemm_plan_run(const tg_gemm_plan *plan, tg_machine_state *state, uint32_t tile,
                      const tg_execution *x) {
  run r; /* large, and only what is packed gets touched */
  r.plan = plan;
  r.in = &x->in->mx;
  r.x = x;
  r.g = tg_gemm_setup_of(state, x);
  r.pad = state->tiles[tile].pad;
  r.acc = (float *)(void *)state->tiles[tile].acc;
  for (uint32_t first = 0, last; first < plan->unit_count; first = last) {
    last = tg_gemm_end_of_shared_a(plan, first);
    for (r.m0 = 0; r.m0 < r.g.m; r.m0 += TG_GEMM_MC) {
      r.rows = r.g.m - r.m0 < TG_GEMM_MC ? r.g.m - r.m0 : TG_GEMM_MC;
      all_k(&r, first, last);
    }
  }
}
