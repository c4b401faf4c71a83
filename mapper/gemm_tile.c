/* Tiling of a product by exhaustive search over a simple model of time: of the matrix unit, the vector unit
 * and the two kinds of DRAM ports, the slowest sets the time of a pass; the first load and the last drain are
 * exposed. */
#include "mapper/gemm.h"

enum { SPLITS = 48 }; /* ways to cut a dimension into passes */
#define TRAFFIC_WEIGHT                                                                                       \
  0.05 /* of port cycles that hide behind computing: of equally fast tilings, the lighter one */

typedef struct search {
  const tg_compile *c;
  const tg_params *m;
  const tg_gemm *g;
  uint32_t share;                   /* flits that leave at once */
  uint32_t west_exits, north_exits; /* tiles that leave by an AGCU, at most */
  tg_gemm_tiling best;
  bool found;
} search;

static int64_t up(int64_t value, int64_t unit) { return (value + unit - 1) / unit; }
static double most(double a, double b) { return a > b ? a : b; }

static uint32_t kind_flits(const search *s, int kind, uint32_t elements) {
  return tg_kind_flits(s->m, kind, elements);
}

/* Blocks are whole stationary blocks deep: their last rows may be masked, but are read. */
static uint32_t depth(const tg_params *m, const tg_gemm *g, const tg_gemm_tiling *t) {
  uint32_t s = tg_mx_stationary(m, g->format);
  return (t->kc + s - 1) / s * s;
}

uint32_t tg_gemm_a_row(const tg_params *m, const tg_gemm *g, const tg_gemm_tiling *t) {
  uint32_t s = tg_mx_stationary(m, g->format);
  return (g->a_turned ? (t->mt + s - 1) / s * s : depth(m, g, t)) / tg_mx_elements(m, g->format);
}

uint32_t tg_gemm_b_row(const tg_params *m, const tg_gemm *g, const tg_gemm_tiling *t) {
  return (g->b_turned ? depth(m, g, t) : t->nt) / tg_mx_elements(m, g->format);
}

uint64_t tg_gemm_a_rows(const tg_params *m, const tg_gemm *g, const tg_gemm_tiling *t) {
  return (uint64_t)(g->a_turned ? depth(m, g, t) : t->mt) * tg_gemm_a_row(m, g, t);
}

uint64_t tg_gemm_b_rows(const tg_params *m, const tg_gemm *g, const tg_gemm_tiling *t) {
  return (uint64_t)(g->b_turned ? t->nt : depth(m, g, t)) * tg_gemm_b_row(m, g, t);
}

/* Scratchpad banks of a tiling. */
static bool fits(const search *s, const tg_gemm_tiling *t) {
  const tg_params *m = s->m;
  uint64_t rows[] = {tg_gemm_a_rows(m, s->g, t), tg_gemm_b_rows(m, s->g, t),
                     (uint64_t)t->mr * kind_flits(s, tg_stream_kind(s->g->out), t->nt)};
  uint64_t banks = 0;
  for (int i = 0; i < 3; i++) {
    if (rows[i] > tg_pad_rows(m)) return false;
    banks += 2ull * tg_banks_for(m, (uint32_t)rows[i]);
  }
  for (int e = 0; e < s->g->external_count; e++) {
    const tg_gemm_external *x = &s->g->externals[e];
    uint64_t flits = (uint64_t)kind_flits(s, x->kind, t->nt) * (x->row_vector ? 1 : t->mr);
    if (flits > tg_pad_rows(m)) return false;
    banks += 2ull * tg_banks_for(m, (uint32_t)flits);
  }
  return banks <= m->banks && (uint64_t)t->mt * (t->nt / tg_lanes(m)) <= tg_acc_rows(m);
}

static double port_cycles(const search *s, double rows, double bytes) {
  return rows * (double)up((int64_t)bytes, 64) * tg_atom_cycles(s->m);
}

static double estimate(const search *s, const tg_gemm_tiling *t) {
  const tg_params *m = s->m;
  const tg_gemm *g = s->g;
  uint32_t stationary = tg_mx_stationary(m, g->format);
  int64_t streamed = g->a_turned ? up(t->mt, stationary) * stationary : t->mt;
  double blocks = (double)up(t->kc, stationary) * (t->nt / stationary),
         chunk = blocks * (double)tg_mx_pitch(m, g->format, (uint64_t)streamed);
  double a_block = g->a_turned ? port_cycles(s, t->kc, (double)t->mt * tg_value_bytes_each(g->a))
                               : port_cycles(s, t->mt, (double)t->kc * tg_value_bytes_each(g->a)),
         runs = (double)t->kc / (double)(g->a_k_radix[2] ? g->a_k_radix[2] : 1);
  if (runs > 1)
    a_block = port_cycles(s, t->mt * runs,
                          (double)g->a_k_radix[2] *
                              tg_value_bytes_each(g->a)); /* each run of K has atoms of its own */
  /* Row split: each tile's rows come alone, to half of them from the north. */
  double a = a_block, a_north = 0;
  if (t->split == TG_SPLIT_ROWS) {
    a *= (m->cols + 1) / 2;
    a_north = a_block * (m->rows / 2);
  } else if (t->split == TG_SPLIT_PRODUCTS)
    a *= m->cols;
  double b = g->b_turned ? port_cycles(s, t->nt, (double)t->kc * tg_value_bytes_each(g->b))
                         : port_cycles(s, t->kc, (double)t->nt * tg_value_bytes_each(g->b));
  if (t->split == TG_SPLIT_PRODUCTS) b *= m->rows;
  double out = port_cycles(s, t->mt, (double)t->nt * tg_value_bytes_each(g->out));
  double aux_west = 0, aux_north = 0;
  for (int e = 0; e < g->external_count; e++) {
    const tg_gemm_external *x = &g->externals[e];
    double bytes = (double)t->nt * tg_value_bytes_each(x->value);
    if (x->element_stride != 1) bytes *= 64.0 / tg_value_bytes_each(x->value); /* an atom an element */
    if (x->row_vector)
      aux_north += port_cycles(s, 1, bytes);
    else
      aux_west += port_cycles(s, t->mt, bytes) * m->cols;
  }
  double vector = (double)t->mt * (t->nt / tg_lanes(m)) * g->drain_words;
  double pass = most(t->chunks * chunk, vector);
  pass = most(pass, t->chunks * a + s->west_exits * out + aux_west);
  pass = most(pass, t->chunks * (b + a_north) + s->north_exits * out + aux_north);
  double ends = 2 * m->dram_latency + most(a, b) + stationary * m->fma_latency;
  double drain = vector + most(s->west_exits, s->north_exits) * out;
  double passes = (double)t->passes_m * t->passes_n;
  double traffic = passes * (t->chunks * (a + b) + (s->west_exits + s->north_exits) * out);
  return passes * pass + ends + drain + passes * t->chunks * 8.0 + TRAFFIC_WEIGHT * traffic;
}

static void consider(search *s, tg_gemm_tiling t) {
  if (!fits(s, &t)) return;
  t.cycles = estimate(s, &t);
  if (s->found && t.cycles >= s->best.cycles) return;
  s->best = t;
  s->found = true;
}

/* Length of the K tiles that accumulation rounds at; 0: it does not. */
static int64_t rounded_tile(const search *s) {
  const tg_node *node = s->g->node;
  int64_t own = node->op == TG_OP_MATMUL ? tg_attr_int(node, TG_ATTR_ACCUMULATION) : TG_ACCUMULATE_AS_ASKED;
  if (own == TG_ACCUMULATE_BF16SR_EACH) return 1;
  return own == TG_ACCUMULATE_AS_ASKED && s->c->options.accum_bf16sr ? s->c->options.k_tile : 0;
}

/* K chunks: multiples of the stationary rows; where accumulation rounds at K tiles, of those, or one K tile
 * exactly. */
static void consider_chunks(search *s, tg_gemm_tiling t) {
  uint32_t stationary = tg_mx_stationary(s->m, s->g->format);
  int64_t tile = rounded_tile(s);
  bool rounding = tile > 0;
  bool aligned = rounding && tile % stationary == 0;
  int64_t unit = !rounding ? stationary : tile, whole = up(s->g->k > 0 ? s->g->k : 1, unit) * unit;
  if (rounding && s->g->k <= tile) { /* one K tile, as long as the product is */
    t.chunks = 1;
    t.kc = (uint32_t)(up(s->g->k > 0 ? s->g->k : 1, stationary) * stationary);
    t.sr_blocks = t.kc / stationary;
    consider(s, t);
    return;
  }
  for (int64_t n = 1; n * unit <= whole && n * unit < 1 << 20; n *= 2) {
    if (rounding && !aligned && n > 1) return;
    int64_t chunks = up(whole, n * unit);
    t.chunks = (uint32_t)chunks;
    t.kc = (uint32_t)(up(up(whole, unit), chunks) * unit);
    t.sr_blocks = rounding ? (uint32_t)up(tile, stationary) : 0;
    consider(s, t);
  }
}

static void consider_rows(search *s, tg_gemm_tiling t, int64_t tile_rows) {
  uint32_t out_flits = kind_flits(s, tg_stream_kind(s->g->out), t.nt);
  if (out_flits > s->share) return;
  for (int64_t i = 1; i <= SPLITS; i++) {
    int64_t mt = up(tile_rows, i), rows = s->share / out_flits;
    if (mt > 4096) continue;
    int64_t pieces = up(mt, rows < mt ? rows : mt);
    t.mr = (uint32_t)up(mt, pieces);
    t.mt = (uint32_t)(t.mr * pieces);
    t.passes_m = (uint32_t)up(tile_rows, t.mt);
    consider_chunks(s, t);
    if (mt == 1) return;
  }
}

/* A product a tile: all its rows and columns at once, so that the rows of the next product follow. */
static void consider_products(search *s) {
  const tg_params *m = s->m;
  int64_t lanes = tg_lanes(m), nt = up(s->g->n, lanes) * lanes;
  if (s->g->m > 4096 || nt > 65536) return;
  tg_gemm_tiling t = {.split = TG_SPLIT_PRODUCTS, .mt = (uint32_t)s->g->m, .nt = (uint32_t)nt, .passes_n = 1};
  t.passes_m = (uint32_t)up(s->g->spread, tg_tiles(m));
  uint32_t rows = s->share / kind_flits(s, tg_stream_kind(s->g->out), t.nt);
  for (t.mr = rows < t.mt ? rows : t.mt; t.mr > 0 && t.mt % t.mr; t.mr--) {
  }
  if (t.mr > 0) consider_chunks(s, t);
}

static void consider_split(search *s, tg_split split) {
  const tg_params *m = s->m;
  tg_gemm_tiling t = {.split = split};
  bool split_rows = split == TG_SPLIT_ROWS;
  int64_t tile_rows = up(s->g->m, split_rows ? tg_tiles(m) : m->rows),
          tile_cols = up(s->g->n, split_rows ? 1 : m->cols);
  int64_t lanes = tg_lanes(m), last = 0;
  for (int64_t j = 1; j <= SPLITS; j++) {
    int64_t nt = up(up(tile_cols, j), lanes) * lanes;
    if (nt == last || nt > 65536) continue;
    last = nt;
    t.nt = (uint32_t)nt;
    t.passes_n = (uint32_t)up(tile_cols, nt);
    consider_rows(s, t, tile_rows);
    if (nt == lanes) return;
  }
  /* A dimension too long for SPLITS passes of any length that fits: one vector at a time. */
  t.nt = (uint32_t)lanes;
  t.passes_n = (uint32_t)up(tile_cols, lanes);
  consider_rows(s, t, tile_rows);
}

tg_status tg_tile_gemm(const tg_compile *c, const tg_gemm *gemm, tg_gemm_tiling *out) {
  search s = {.c = c,
              .m = c->m,
              .g = gemm,
              .share = tg_exit_share(c->m),
              .west_exits = (c->m->cols + 1) / 2,
              .north_exits = (c->m->rows + 1) / 2};
  if (gemm->spread) {
    consider_products(&s);
  } else {
    consider_split(&s, TG_SPLIT_OUTPUT);
    if (tg_tiles(c->m) > 1 && c->m->cols > 1) consider_split(&s, TG_SPLIT_ROWS);
  }
  if (!s.found)
    return tg_fail(
        c->diag, TG_INVALID,
        "node \"%s\": no tiling of a %lld x %lld x %lld product fits in the scratchpads of this architecture",
        gemm->node->name, (long long)gemm->m, (long long)gemm->n, (long long)gemm->k);
  *out = s.best;
  return TG_OK;
}
