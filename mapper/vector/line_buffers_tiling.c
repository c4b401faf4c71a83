/* Blocks of pools and depthwise convolutions: what fits, and what it takes. */
#include "mapper/vector/line_buffers.h"

#include "frontend/base/math.h"

#include <string.h>

enum {
  MOST_TAKEN = 65535, /* elements of a load, and rows of a VOP: fields of 16 bits */
  MOST_STEP = 32767,  /* of a bounded coordinate, and of a stream's address: signed */
  MOST_UNROLLED = 6,  /* columns of results at a time */
  LATENCIES = 40 /* cycles from one unit to the next, and across the array, at the begin and at the end */
};

/* ---- streams ---- */

int tg_line_columns(const tg_line_kernel *k, const tg_line_tiling *t, int64_t *out_offsets) {
  int count = 0;
  const tg_windows *w = k->windows;
  for (uint32_t u = 0; u < t->unroll; u++)
    for (uint32_t q = 0; q < t->taps; q++) {
      int64_t offset = u * w->row_step[1] + q * w->tap_step[1];
      int at = 0;
      while (at < count && out_offsets[at] < offset) at++;
      if (at < count && out_offsets[at] == offset) continue;
      if (count == TG_STREAMS) return TG_STREAMS + 1;
      memmove(&out_offsets[at + 1], &out_offsets[at], sizeof *out_offsets * (size_t)(count - at));
      out_offsets[at] = offset;
      count++;
    }
  return count;
}

int tg_line_weights_stream(const tg_line_kernel *k, const tg_line_tiling *t, uint32_t tap) {
  int64_t offsets[TG_STREAMS];
  return tg_line_columns(k, t, offsets) + (int)tap;
}

int tg_line_bias_stream(const tg_line_kernel *k, const tg_line_tiling *t) {
  return tg_line_weights_stream(k, t, k->weights ? t->taps : 0);
}

int tg_line_result_stream(const tg_line_kernel *k, const tg_line_tiling *t, uint32_t u) {
  return tg_line_bias_stream(k, t) + (k->bias ? 1 : 0) + (int)u;
}

void tg_line_each_tap(const tg_line_kernel *k, const tg_line_tiling *t, tg_line_take *take, void *user) {
  int64_t offsets[TG_STREAMS];
  int columns = tg_line_columns(k, t, offsets);
  const tg_windows *w = k->windows;
  for (int s = 0; s < columns; s++)
    for (uint32_t u = 0; u < t->unroll; u++)
      for (uint32_t q = 0; q < t->taps; q++)
        if (u * w->row_step[1] + q * w->tap_step[1] == offsets[s]) take(user, s, u, q);
}

/* ---- sizes ---- */

uint32_t tg_line_groups(const tg_line_tiling *t) { return (t->columns + t->unroll - 1) / t->unroll; }

static int64_t reach(const tg_windows *w, int d, int64_t results) {
  return (results - 1) * w->row_step[d] + (w->taps[d] - 1) * w->tap_step[d] + 1;
}

uint32_t tg_line_loaded_columns(const tg_line_kernel *k, const tg_line_tiling *t) {
  return (uint32_t)reach(k->windows, 1, t->columns);
}

uint32_t tg_line_image_columns(const tg_line_kernel *k, const tg_line_tiling *t) {
  return (uint32_t)reach(k->windows, 1, (int64_t)tg_line_groups(t) * t->unroll);
}

uint32_t tg_line_image_rows(const tg_line_kernel *k, const tg_line_tiling *t) {
  return (uint32_t)reach(k->windows, 0, t->rows);
}

uint32_t tg_line_take_of(const tg_params *m, const tg_line_tiling *t) { return t->vectors * tg_lanes(m); }

uint32_t tg_line_position(const tg_params *m, const tg_line_tiling *t, int kind) {
  return tg_kind_flits(m, kind, tg_line_take_of(m, t));
}

/* Flits of a run go to positions of whole vectors, or come from them, in equal parts: of rows without a gap. */
bool tg_line_is_joined(const tg_params *m, const tg_line_kernel *k, const tg_line_tiling *t) {
  int64_t channels = k->windows->image->dims[3].size;
  bool whole = channels % (tg_stream_is_wide(k->image_kind) ? m->p : tg_lanes(m)) == 0 &&
               channels % (tg_stream_is_wide(k->result_kind) ? m->p : tg_lanes(m)) == 0;
  return t->blocks[2] == 1 && whole && (channels == tg_line_take_of(m, t) || tg_line_is_dense(t));
}

uint32_t tg_line_moved(const tg_params *m, const tg_line_kernel *k, const tg_line_tiling *t, int kind) {
  if (!tg_line_is_joined(m, k, t)) return tg_line_position(m, t, kind);
  return tg_kind_flits(m, kind, (uint32_t)k->windows->image->dims[3].size);
}

void tg_line_plan_channels(const tg_params *m, const tg_line_kernel *k, const tg_line_tiling *t,
                           tg_channel_plan plans[TG_LINE_CHANNELS]) {
  uint64_t image = (uint64_t)tg_line_image_rows(k, t) * tg_line_image_columns(k, t) *
                   tg_line_position(m, t, k->image_kind),
           positions = (uint64_t)(k->windows->taps[0] * k->windows->taps[1]), weights = 0;
  if (k->weights) weights += positions * tg_line_position(m, t, k->weights_kind);
  if (k->bias) weights += tg_line_position(m, t, k->bias_kind);
  uint64_t position = tg_line_position(m, t, k->result_kind), leaves = (uint64_t)t->pieces * t->piece_flits;
  if (!tg_line_is_dense(t)) /* whole rows, of which the last columns stay */
    leaves = leaves / (t->columns * position) * tg_line_groups(t) * t->unroll * position;
  else
    leaves = leaves / tg_line_moved(m, k, t, k->result_kind) * position;
  bool once = tg_line_keeps_weights(m, t);
  plans[TG_LINE_IMAGE] =
      (tg_channel_plan){.room = {image, 2}, .full = 1, .west = true, .north = true, .credits = 2};
  plans[TG_LINE_WEIGHTS] = (tg_channel_plan){.room = {weights, once ? 1 : 2}, .full = once && weights};
  plans[TG_LINE_RESULT] = (tg_channel_plan){.room = {leaves, 2}, .full = 1, .free = 1, .initial = 2};
  plans[TG_LINE_AWAY] = (tg_channel_plan){.free = 1, .initial = 2, .west = true, .north = true};
}

/* ---- what fits ---- */

/* Pieces of a block that fit the way out: whole rows, or, where results lie as they leave, positions. */
static bool set_pieces(const tg_params *m, const tg_line_kernel *k, tg_line_tiling *t) {
  uint32_t share = tg_egress_share(m, TG_EGRESS_BOTH, 1), position = tg_line_moved(m, k, t, k->result_kind),
           row = t->columns * position, unit = tg_line_is_dense(t) ? position : row;
  uint64_t units = (uint64_t)t->rows * row / unit, most = share / unit;
  if (!most) return false;
  uint64_t pieces = (units + most - 1) / most;
  if (pieces >= 1 << 20) return false;
  t->pieces = (uint32_t)pieces;
  t->piece_flits = (uint32_t)((units + pieces - 1) / pieces) * unit;
  return true;
}

/* Instructions of an AGCU: it serves every other tile of its lane. */
static bool queues_fit(const tg_params *m, const tg_line_kernel *k, const tg_line_tiling *t) {
  uint32_t lane = m->rows > m->cols ? m->rows : m->cols, tiles = (lane + 1) / 2,
           vectors = (k->weights ? 1 : 0) + (k->bias ? 1 : 0), loads = 2;
  if (!tg_line_keeps_weights(m, t)) loads += vectors;
  return tiles * (loads > vectors ? loads : vectors) <= m->queue_depth;
}

/* Steps of addresses and coordinates that fields have bits for. */
static bool fields_fit(const tg_params *m, const tg_line_kernel *k, const tg_line_tiling *t) {
  const tg_windows *w = k->windows;
  uint64_t channels = (uint64_t)w->image->dims[3].size,
           taken = (uint64_t)tg_line_image_rows(k, t) * tg_line_loaded_columns(k, t) * tg_line_take_of(m, t),
           stored = (uint64_t)t->rows * t->columns * tg_line_take_of(m, t),
           weights = (uint64_t)(w->taps[0] * w->taps[1]) * tg_line_take_of(m, t),
           vectors = (uint64_t)t->rows * tg_line_groups(t) * t->vectors;
  return taken <= MOST_TAKEN && stored <= MOST_TAKEN && weights <= MOST_TAKEN && vectors <= MOST_TAKEN &&
         tg_pad_rows(m) <= MOST_STEP && (int64_t)t->rows * w->row_step[0] <= MOST_STEP &&
         (uint64_t)t->columns * (uint64_t)w->row_step[1] * channels < 1u << 23;
}

static bool fits(const tg_params *m, const tg_line_kernel *k, const tg_line_tiling *t) {
  tg_channel_plan plans[TG_LINE_CHANNELS];
  if (!fields_fit(m, k, t) || !queues_fit(m, k, t)) return false;
  tg_line_plan_channels(m, k, t, plans);
  tg_semaphores needed = tg_channels_semaphores(m, plans, TG_LINE_CHANNELS);
  return tg_channels_fit(m, plans, TG_LINE_CHANNELS) && tg_semaphores_fit(m, &needed);
}

/* ---- what it takes ---- */

/* Cycles of a port for runs of so many elements, of which the flits of `kind` are pieces. */
static double port_cycles(const tg_params *m, const tg_dram_tensor *tensor, int kind, double runs,
                          double elements) {
  double atoms = runs * (double)tg_div_up((int64_t)elements * (int64_t)tg_storage_bytes(tensor->storage), 64),
         pieces = runs * tg_kind_flits(m, kind, (uint32_t)elements), cycles = atoms * tg_atom_cycles(m);
  return cycles > pieces ? cycles : pieces;
}

static double positions_cycles(const tg_params *m, const tg_line_kernel *k, const tg_line_tiling *t,
                               const tg_dram_tensor *tensor, int kind, uint32_t rows, uint32_t columns) {
  if (tg_line_is_joined(m, k, t))
    return port_cycles(m, tensor, kind, rows, (double)columns * (double)k->windows->image->dims[3].size);
  uint32_t take = tg_line_take_of(m, t);
  return port_cycles(m, tensor, kind, (double)rows * columns, take);
}

/* The busiest AGCU of a lane of n tiles loads for half of them and stores what the others make. */
static double busiest(uint32_t n, double load, double store) {
  double more = (n + 1) / 2, less = n / 2;
  double a = more * load + less * store, b = less * load + more * store;
  return a > b ? a : b;
}

static double cycles_of(const tg_params *m, const tg_line_kernel *k, const tg_line_tiling *t,
                        const int *words) {
  const tg_windows *w = k->windows;
  uint32_t take = tg_line_take_of(m, t), lane = m->rows > m->cols ? m->rows : m->cols, depth = m->fma_latency;
  double load = positions_cycles(m, k, t, k->image, k->image_kind, tg_line_image_rows(k, t),
                                 tg_line_loaded_columns(k, t)),
         weights = 0, store = positions_cycles(m, k, t, k->result, k->result_kind, t->rows, t->columns);
  if (k->weights)
    weights += port_cycles(m, k->weights, k->weights_kind, (double)(w->taps[0] * w->taps[1]), take);
  if (k->bias) weights += port_cycles(m, k->bias, k->bias_kind, 1, take);
  bool once = tg_line_keeps_weights(m, t);
  if (!once) load += weights;
  double repeats = (double)(w->taps[0] * w->taps[1]) / t->taps;
  double vectors = (double)tg_div_up((int64_t)t->rows * tg_line_groups(t) * t->vectors, depth) * depth;
  double vop = vectors * (words[0] + repeats * words[1] + words[2]) + 2.0 * depth + 2;
  double rounds = (double)t->rounds * tg_line_image_loops(k, t);
  double port = busiest(m->rows, load, store), other = busiest(m->cols, load, store);
  if (port < other) port = other;
  double first = (lane + 1) / 2 * load + (once ? weights * (t->blocks[2] == 1 ? 1 : (lane + 1) / 2) : 0),
         last = (lane + 1) / 2 * store;
  double between = port > vop ? port : vop;
  /* Of two buffers, one is asked for, loaded and taken in the time of two rounds. */
  double turn = (m->dram_latency + LATENCIES + load + vop) / 2;
  if (between < turn) between = turn;
  return m->dram_latency + LATENCIES + first + (rounds - 1) * between + vop + last;
}

/* ---- the search ---- */

typedef struct search {
  tg_compile *c;
  const tg_line_kernel *k;
  tg_line_tiling best;
  bool found;
  uint32_t considered;
} search;

static void consider(search *s, tg_line_tiling t, const int *words) {
  const tg_params *m = s->c->m;
  const tg_windows *w = s->k->windows;
  uint64_t images = t.blocks[1] > 1 ? 1 : (uint64_t)w->image->dims[0].size,
           blocks = images * t.blocks[0] * t.blocks[1] * t.blocks[2];
  uint64_t rounds = (blocks + tg_tiles(m) - 1) / tg_tiles(m);
  if (rounds >= 1 << 20 || blocks >= 1u << 31 || w->image->dims[0].size >= 1 << 20) return;
  t.rounds = (uint32_t)rounds;
  if (!set_pieces(m, s->k, &t) || !fits(m, s->k, &t)) return;
  t.cycles = s->c->options.any_tiling
                 ? tg_randomized_cycles(s->c, (uint32_t)w->rows[0], (uint32_t)w->rows[1], s->considered++)
                 : cycles_of(m, s->k, &t, words);
  if (s->found && t.cycles >= s->best.cycles) return;
  s->best = t;
  s->found = true;
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
      consider(s, t, words);
    }
  }
}

static void consider_columns(search *s, tg_line_tiling t, const int *words) {
  int64_t columns = s->k->windows->rows[1];
  for (int64_t parts = 1; parts <= columns; parts++) {
    if (columns % parts) continue;
    t.blocks[1] = (uint32_t)parts;
    t.columns = (uint32_t)(columns / parts);
    if (t.unroll > t.columns) continue;
    consider_blocks(s, t, words);
  }
}

bool tg_line_tile(tg_compile *c, const tg_line_kernel *k, tg_line_tiling *out) {
  const tg_windows *w = k->windows;
  search s = {.c = c, .k = k};
  if (k->by_window || k->result_kind == TG_STREAM_BF16SR || w->taps[0] < 1 || w->taps[1] < 1 ||
      w->rows[0] < 1 || w->rows[1] < 1 || w->image->dims[0].size < 1 || w->image->dims[3].size < 1)
    return false;
  for (uint32_t u = 1; u <= MOST_UNROLLED; u++)
    for (int all = 0; all < (w->taps[1] > 1 ? 2 : 1); all++) {
      tg_line_tiling t = {.unroll = u, .taps = all ? (uint32_t)tg_min(w->taps[1], TG_STREAMS + 1) : 1};
      if (tg_line_result_stream(k, &t, u) > TG_STREAMS) continue;
      tg_mc mc;
      int words[TG_SEGMENTS] = {0};
      k->write(k->user, k, &t, &mc);
      if (!tg_mc_fits(&mc, c->m, words)) continue;
      consider_columns(&s, t, words);
    }
  *out = s.best;
  return s.found;
}
