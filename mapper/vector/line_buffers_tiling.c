/* Blocks of pools and depthwise convolutions: what fits, and what it takes. */
#include "mapper/section/need.h"
#include "mapper/vector/line_product.h"
#include "mapper/vector/line_totals.h"

#include "frontend/base/math.h"

#include <string.h>

enum {
  MOST_TAKEN = 65535,       /* elements of a load, and rows of a VOP: fields of 16 bits */
  MOST_STEP = 32767,        /* of a bounded coordinate, and of a stream's address: signed */
  MOST_UNROLLED = 6,        /* columns of results at a time */
  MOST_PARTS = 16,          /* of a window's rows */
  MOST_APART = 2,           /* columns that are finished at a time */
  MOST_WORDS_OF_A_ZERO = 2, /* of microcode that stores one */
  LATENCIES = 40 /* cycles from one unit to the next, and across the array, at the begin and at the end */
};

/* ---- what fits ---- */

/* Drain tiles of a block, which fit the egress: whole rows, or, where results lie as they leave, positions. */
static bool set_drain_tiles(const tg_params *m, const tg_line_kernel *k, tg_line_tiling *t) {
  uint32_t share = tg_egress_share(m, TG_EGRESS_BOTH, 1), position = tg_line_moved(m, k, t, k->result_kind),
           run = t->run * position, unit = tg_line_is_dense(t) ? position : run,
           totals = tg_line_totals_flits(m, k, t);
  if (share <= totals) return false;
  share -= totals;
  uint64_t units = (uint64_t)(tg_line_result_rows(k, t) * tg_line_result_columns(k, t)) * position / unit,
           most = share / unit;
  if (!most) return false;
  uint64_t drain_tiles = (units + most - 1) / most;
  if (drain_tiles >= 1 << 20) return false;
  t->drain_tiles = (uint32_t)drain_tiles;
  t->drain_flits = (uint32_t)((units + drain_tiles - 1) / drain_tiles) * unit;
  return true;
}

/* Steps of addresses and coordinates that fields have bits for. */
static bool fields_fit(const tg_params *m, const tg_line_kernel *k, const tg_line_tiling *t) {
  const tg_windows *w = k->windows;
  uint64_t channels = (uint64_t)w->image->dims[3].size,
           taken = (uint64_t)tg_line_image_rows(k, t) * tg_line_loaded_columns(k, t) * tg_line_take_of(m, t),
           stored =
               (uint64_t)(tg_line_result_rows(k, t) * tg_line_result_columns(k, t)) * tg_line_take_of(m, t),
           weights = (uint64_t)tg_line_weights_positions(k) * tg_line_take_of(m, t),
           vectors = (uint64_t)tg_line_finished_rows(t) *
                     (t->depth ? tg_line_row_parts(t) : tg_line_groups(t)) * t->vectors;
  if (k->totals && (uint64_t)tg_line_totals(k, t) * tg_line_take_of(m, t) > MOST_TAKEN) return false;
  return taken <= MOST_TAKEN && stored <= MOST_TAKEN && weights <= MOST_TAKEN && vectors <= MOST_TAKEN &&
         tg_pad_rows(m) - 1 <= MOST_STEP && (int64_t)t->rows * w->row_step[0] <= MOST_STEP &&
         tg_line_result_rows(k, t) <= MOST_STEP &&
         (uint64_t)t->columns * (uint64_t)w->row_step[1] * channels < 1u << 23;
}

static bool fits(const tg_params *m, const tg_line_kernel *k, const tg_line_tiling *t,
                 const tg_stages *stages) {
  tg_channel_plan plans[TG_LINE_CHANNELS];
  tg_line_plan_channels(m, k, t, plans);
  tg_need need = tg_need_of_channels(m, plans, TG_LINE_CHANNELS);
  tg_need_stages(&need, stages);
  return tg_need_fits(m, &need);
}

/* Is the place of a tile's first pixel and channel an affine function of its loops? */
static bool places_fit(const tg_params *m, const tg_line_kernel *k, const tg_line_tiling *t) {
  uint32_t each = tg_tiles(m) / t->blocks[2];
  if (k->product) return tg_line_places_fit(m, k, t);
  if (!k->rounds || t->rounds == 1) return true;
  if (tg_tiles(m) % t->blocks[2]) return false;
  if (t->blocks[1] > 1) return each % t->blocks[1] == 0 || t->rows == 1;
  return k->windows->image->dims[0].size == 1 || each % t->blocks[0] == 0 ||
         (int64_t)t->blocks[0] * t->rows == k->windows->rows[0];
}

static bool totals_fit(const tg_line_kernel *k, const tg_line_tiling *t) {
  tg_line_totals_vop unused[TG_LINE_MOST_TOTALS];
  return !k->totals || tg_line_totals_vops(k, t, unused);
}

/* ---- what it takes ---- */

static double cycles_of(const tg_params *m, const tg_line_kernel *k, const tg_line_tiling *t,
                        const tg_stages *stages) {
  if (k->product) return tg_line_product_cycles(m, k, t, stages);
  tg_port_time tile = tg_stages_port(stages, TG_SIDE_NORTH); /* of what comes with each block */
  const tg_stage *blocks = tg_stages_find(stages, TG_SIDE_NORTH, TG_STAGE_BLOCKS),
                 *weights = tg_stages_find(stages, TG_SIDE_WEST, TG_STAGE_WEIGHTS);
  double tiles = tg_checkerboard_share(m), vop = tg_stages_unit(stages, TG_UNIT_VX, TG_STAGE_VOP);
  double rounds = (double)t->rounds * tg_line_image_loops(k, t);
  double first = tiles * blocks->cycles + (weights ? weights->in_front : 0), last = tiles * tile.drain;
  double between = tg_max_double(tg_checkerboard_port(m, stages), vop);
  /* Of two buffers, one is asked for, loaded and taken in the time of two rounds. */
  double turn = (m->dram_latency + LATENCIES + blocks->cycles + vop) / 2;
  if (between < turn) between = turn;
  return m->dram_latency + LATENCIES + first + (rounds - 1) * between + vop + last;
}

/* ---- the search ---- */

typedef int words_of_totals[TG_LINE_TOTALS_SEGMENTS];
typedef struct search {
  tg_compile *c;
  const tg_line_kernel *k;
  tg_line_tiling best; /* of what an iteration makes now */
  bool found, through; /* the latter: only runs that go through rows, else none that do */
  tg_line_tilings all;
  tg_line_tiling
      apart[2]; /* the fastest ones that are finished so, if they say that they are: by `through` */
  uint32_t considered;
  uint32_t words;                     /* of the results' microcode */
  words_of_totals totals[TG_STREAMS]; /* by positions of an iteration */
  tg_line_made_words made;
} search;

/* Segments of a reduction are of the tiling, and so are those of a product. False: there are not as many words. */
static bool add_segments(const search *s, const tg_line_tiling *t, int words[TG_MC_SEGMENTS]) {
  uint32_t all = s->words;
  if (s->k->product) {
    const int *own = s->made.of[tg_line_has_marks(s->k, t)][t->made_at_once];
    for (int q = 0; q < TG_LINE_MADE_SEGMENTS; q++) all += (uint32_t)own[q];
    all += MOST_WORDS_OF_A_ZERO;
  }
  if (s->k->totals) {
    const int *own = s->totals[tg_line_totals_unroll(s->k, t)];
    for (int q = 0; q < TG_LINE_TOTALS_SEGMENTS; q++) all += (uint32_t)own[q];
    memcpy(words + tg_line_segments(s->k, t), own, sizeof(words_of_totals));
  }
  return all <= s->c->m->microcode_words;
}

static bool product_fits(const search *s, tg_line_tiling *t) {
  return !s->k->product || tg_line_choose_product(s->c->m, s->k, &s->made, t);
}

/* Does so much of a block take longer than the best tiling so far, or so long that nobody replays it? That changes no choice. */
static bool is_slower(const search *s, const tg_line_tiling *t, double cycles_of_block) {
  double rounds = (double)t->rounds * tg_line_image_loops(s->k, t), least = TG_NEVER;
  if (s->c->options.any_tiling) return false;
  if (s->found) least = s->best.cycles;
  if (t->apart && s->all.count)
    least = tg_min_double(least, TG_LINE_WORTH_A_REPLAY * s->all.tiling[0].cycles);
  return least < TG_NEVER && rounds * cycles_of_block >= least;
}

static void consider(search *s, tg_line_tiling t, const int *own_words) {
  const tg_params *m = s->c->m;
  const tg_windows *w = s->k->windows;
  uint64_t images = t.blocks[1] > 1 ? 1 : (uint64_t)w->image->dims[0].size,
           blocks = images * t.blocks[0] * t.blocks[1] * t.blocks[2];
  uint64_t rounds = (blocks + tg_tiles(m) - 1) / tg_tiles(m);
  if (rounds >= 1 << 20 || blocks >= 1u << 31 || w->image->dims[0].size >= 1 << 20) return;
  double drawn = 0;
  if (s->c->options.any_tiling) {
    drawn = tg_randomized_cycles(s->c, (uint32_t)w->rows[0], (uint32_t)w->rows[1], s->considered++);
    if (s->found && drawn >= s->best.cycles) return;
  }
  tg_stages stages;
  int words[TG_MC_SEGMENTS];
  memcpy(words, own_words, sizeof words);
  t.rounds = (uint32_t)rounds;
  if (s->k->product) {
    rounds = (uint64_t)tg_line_row_rounds(m, s->k, &t) * tg_line_channel_rounds(m, &t);
    if (rounds >= 1 << 20) return;
    t.rounds = (uint32_t)rounds;
  }
  if (s->through && !tg_line_choose_through(m, s->k, words, &t)) return; /* it is one of the others */
  if (t.depth && !s->through) tg_line_choose_run(m, s->k, words, &t);
  if (t.depth && is_slower(s, &t, tg_line_passes_cycles(m, s->k, &t, words))) return;
  if (t.apart && t.run % t.apart) return;
  if (s->k->transposed && !tg_line_is_dense(&t)) return;
  if (!totals_fit(s->k, &t) || !set_drain_tiles(m, s->k, &t) || !fields_fit(m, s->k, &t) ||
      !places_fit(m, s->k, &t) || !product_fits(s, &t) || !add_segments(s, &t, words))
    return;
  if (is_slower(s, &t, tg_line_vop_cycles(m, s->k, &t, words))) return;
  tg_line_list_stages(m, s->k, &t, words, &stages);
  if (!fits(m, s->k, &t, &stages)) return;
  t.cycles = s->c->options.any_tiling ? drawn : cycles_of(m, s->k, &t, &stages);
  if (s->found && t.cycles >= s->best.cycles) return;
  s->best = t;
  s->found = true;
}

/* Of a product in front: which tiles share pixels, and how many buffers there are. */
static void consider_shares(search *s, tg_line_tiling t, const int *words) {
  const tg_params *m = s->c->m;
  for (t.alike = 1; t.alike <= m->rows; t.alike++)
    for (t.abreast = 1; t.abreast <= (t.alike > 1 ? 1 : m->cols); t.abreast++)
      for (t.copies = 1; t.copies <= 2 && m->rows % t.alike + m->cols % t.abreast == 0; t.copies++)
        consider(s, t, words);
}

/* Blocks of every number of rows and vectors that makes a number of blocks of its own. */
static void consider_blocks(search *s, tg_line_tiling t, const int *words) {
  const tg_windows *w = s->k->windows;
  int64_t vectors = tg_div_up(w->image->dims[3].size, tg_lanes(s->c->m)), before = 0;
  for (int64_t v = 1; v <= vectors; v++) {
    if (tg_div_up(vectors, v) == before) continue;
    t.blocks[2] = (uint32_t)(before = tg_div_up(vectors, v));
    t.vectors = (uint32_t)v;
    int64_t rows_before = 0;
    for (int64_t rows = 1; rows <= w->rows[0]; rows++) {
      if (tg_div_up(w->rows[0], rows) == rows_before) continue;
      t.blocks[0] = (uint32_t)(rows_before = tg_div_up(w->rows[0], rows));
      t.rows = (uint32_t)rows;
      if ((uint64_t)tg_line_image_rows(s->k, &t) * tg_line_loaded_columns(s->k, &t) > MOST_TAKEN) break;
      (s->k->product ? consider_shares : consider)(s, t, words);
    }
  }
}

static void consider_columns(search *s, tg_line_tiling t, const int *words) {
  int64_t columns = s->k->windows->rows[1];
  for (int64_t parts = 1; parts <= columns; parts++) {
    if (columns % parts || (s->k->product && parts > 1)) continue;
    t.blocks[1] = (uint32_t)parts;
    t.columns = t.run = (uint32_t)(columns / parts);
    if (t.unroll > t.columns) continue;
    consider_blocks(s, t, words);
  }
}

/* Keeps the fastest ones in order; where tilings are randomized, one. Of those that are finished apart, the fastest ones, with
 * runs that go through rows and without, are further ones, which put none of the others out. */
static void keep(search *s, const tg_line_tiling *t) {
  tg_line_tilings *all = &s->all;
  int most = s->c->options.any_tiling ? 1 : TG_LINE_TILINGS - 2, at = all->count;
  if (t->apart && !s->c->options.any_tiling) {
    tg_line_tiling *best = &s->apart[t->through > 1];
    if (!best->apart || t->cycles < best->cycles) *best = *t;
    return;
  }
  while (at > 0 && t->cycles < all->tiling[at - 1].cycles) at--;
  if (at == most) return;
  if (all->count < most) all->count++;
  for (int i = all->count - 1; i > at; i--) all->tiling[i] = all->tiling[i - 1];
  all->tiling[at] = *t;
}

/* The best cut of what an iteration makes so. */
static void consider_unrolled(search *s, const tg_line_tiling *t) {
  const tg_line_kernel *k = s->k;
  tg_mc mc;
  int words[TG_MC_SEGMENTS] = {0};
  (t->depth ? k->write_passes : k->write)(k->user, k, t, &mc);
  if (!tg_mc_fits(&mc, s->c->m, words)) return;
  s->words = mc.words;
  if (k->totals) {
    tg_mc_next_segment(&mc);
    tg_line_write_totals(s->c, k, 1, &mc);
    if (!tg_mc_fits(&mc, s->c->m, words)) return;
  }
  if (k->product) { /* all together have a vector unit's constants */
    tg_mc_next_segment(&mc);
    tg_line_write_product(s->c, k, 1, true, &mc);
    if (!tg_mc_fits(&mc, s->c->m, words)) return;
  }
  for (int through = 0; through < (t->apart && tg_line_goes_through_rows(k) ? 2 : 1); through++) {
    s->through = through;
    s->found = false;
    consider_columns(s, *t, words);
    if (s->found) keep(s, &s->best);
  }
}

static void consider_passes(search *s, uint32_t unroll, uint32_t apart) {
  int64_t positions = s->k->windows->taps[1];
  tg_line_tiling t = {.unroll = unroll, .taps = (uint32_t)tg_min(positions, TG_STREAMS + 1), .apart = apart};
  for (uint32_t parts = 1; parts <= positions && parts <= MOST_PARTS; parts++)
    if (tg_line_choose_passes(s->k, parts, &t)) {
      consider_unrolled(s, &t);
      return;
    }
}

static bool measure_totals(search *s) {
  for (uint32_t unroll = 1; unroll < TG_STREAMS && s->k->totals; unroll++) {
    tg_mc mc;
    tg_mc_begin(&mc, s->c->arena);
    tg_line_write_totals(s->c, s->k, unroll, &mc);
    if (!tg_mc_fits(&mc, s->c->m, s->totals[unroll])) return false;
  }
  return true;
}

/* Columns of a window that a VOP may take at once: those of all windows are the same for one microcode. */
static int64_t taps_at_once(const tg_line_kernel *k) {
  const tg_windows *first = tg_line_window_set(k, 0);
  for (int64_t i = 1; i < tg_line_window_sets(k); i++) {
    const tg_windows *w = tg_line_window_set(k, i);
    if (w->taps[1] != first->taps[1] || w->tap_step[1] != first->tap_step[1]) return 1;
  }
  return tg_min(first->taps[1], TG_STREAMS + 1);
}

bool tg_line_tile(tg_compile *c, const tg_line_kernel *k, tg_line_tilings *out) {
  const tg_windows *w = k->windows;
  search s = {.c = c, .k = k};
  out->count = 0;
  if (k->by_window || k->result_kind == TG_STREAM_BF16SR || w->taps[0] < 1 || w->taps[1] < 1 ||
      w->rows[0] < 1 || w->rows[1] < 1 || w->image->dims[0].size < 1 || w->image->dims[3].size < 1 ||
      !measure_totals(&s))
    return false;
  if (k->product) s.made = tg_line_measure_product(c, k);
  for (uint32_t u = 1; u <= MOST_UNROLLED; u++)
    for (int all = 0; all < (taps_at_once(k) > 1 ? 2 : 1); all++) {
      tg_line_tiling t = {.unroll = u, .taps = all ? (uint32_t)taps_at_once(k) : 1};
      if (tg_line_result_stream(k, &t, u) <= TG_STREAMS) consider_unrolled(&s, &t);
    }
  for (uint32_t u = 1; u <= MOST_UNROLLED && k->write_passes; u++)
    for (uint32_t apart = 0; apart <= MOST_APART; apart++) consider_passes(&s, u, apart);
  *out = s.all;
  for (int through = 0; through < 2; through++)
    if (s.apart[through].apart) out->tiling[out->count++] = s.apart[through];
  return out->count > 0;
}
