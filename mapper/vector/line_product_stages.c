/* A product in front of windows as channels and stages, and how long its section takes. */
#include "frontend/base/math.h"
#include "mapper/vector/line_product.h"
#include "mapper/vector/line_totals.h"

enum {
  LATENCIES = 60 /* cycles from one unit to the next, and across the array, at the begin and at the end */
};

static uint32_t rounds_of(const tg_params *m, const tg_line_kernel *k, const tg_line_tiling *t) {
  return tg_line_row_rounds(m, k, t) * tg_line_channel_rounds(m, t);
}

/* Do pixels stay, since each tile has one block of rows? */
static bool pixels_stay(const tg_params *m, const tg_line_kernel *k, const tg_line_tiling *t) {
  return tg_line_row_rounds(m, k, t) == 1;
}

/* Buffers of filters and weights. Where rows have rounds inside of those of channels there is one: buffers rotate with each
 * instruction, or with the one that ends a loop, and there are several in it. */
static uint8_t channel_copies(const tg_params *m, const tg_line_kernel *k, const tg_line_tiling *t) {
  return pixels_stay(m, k, t) && tg_line_channel_rounds(m, t) > 1 ? (uint8_t)t->copies : 1;
}

/* The image is made in the tile, in one buffer, since vx both fills and empties it. */
void tg_line_plan_product(const tg_params *m, const tg_line_kernel *k, const tg_line_tiling *t,
                          tg_channel_plan plans[TG_LINE_CHANNELS]) {
  uint8_t rows = pixels_stay(m, k, t) ? 1 : (uint8_t)t->copies, channels = channel_copies(m, k, t),
          results = rounds_of(m, k, t) == 1 ? 1 : 2;
  bool north = t->abreast == m->cols;
  plans[TG_LINE_PIXELS] = (tg_channel_plan){.room = {tg_line_pixels(m, k, t), rows},
                                            .full = 1,
                                            .west = true,
                                            .north = north,
                                            .credits = rows,
                                            .bases = 1};
  plans[TG_LINE_FILTERS] = (tg_channel_plan){.room = {tg_line_filters(m, k, t), channels},
                                             .full = 1,
                                             .north = true,
                                             .credits = channels,
                                             .bases = 1};
  plans[TG_LINE_MULTIPLIED] = (tg_channel_plan){.full = 1, .free = 1, .initial = 2};
  if (tg_line_has_marks(k, t))
    plans[TG_LINE_MARKS] = (tg_channel_plan){.room = {tg_line_image_rows(k, t), rows},
                                             .full = 1,
                                             .west = true,
                                             .north = north,
                                             .credits = rows,
                                             .bases = 1};
  plans[TG_LINE_IMAGE] = (tg_channel_plan){.room = {plans[TG_LINE_IMAGE].room.rows, 1}};
  tg_channel_plan *weights = &plans[TG_LINE_WEIGHTS];
  weights->room.copies = channels;
  weights->full = 1;
  weights->north = true;
  weights->credits = channels;
  if (k->product->bias) {
    weights->room.rows += tg_line_position(m, t, k->product->bias_kind);
    weights->bases++;
  }
  plans[TG_LINE_RESULT].room.copies = plans[TG_LINE_RESULT].initial = results;
  if (k->totals) plans[TG_LINE_TOTAL].room.copies = plans[TG_LINE_TOTAL].initial = results;
}

/* ---- cycles ---- */

/* Pixels of whole rows, in runs of a row where they follow each other; marks, an atom each. */
static double pixels_cycles(const tg_params *m, const tg_line_kernel *k, const tg_line_tiling *t) {
  const tg_line_product *p = k->product;
  tg_line_made made = tg_line_made_of(k, t);
  uint32_t run = tg_line_pixel_runs(m, p) ? made.columns : 1;
  double cycles = tg_line_port_cycles(m, p->pixels, TG_STREAM_FP32, (double)made.rows * (made.columns / run),
                                      (double)run * (double)tg_line_pixel_taken(m, p));
  if (tg_line_has_marks(k, t)) cycles += tg_line_image_rows(k, t) * (double)tg_atom_cycles(m);
  return cycles;
}

/* Of the windows, too. */
static double filters_cycles(const tg_params *m, const tg_line_kernel *k, const tg_line_tiling *t) {
  const tg_line_product *p = k->product;
  uint32_t take = tg_line_take_of(m, t);
  double cycles = tg_line_port_cycles(m, p->filters, TG_STREAM_FP32, (double)p->depth, take);
  if (p->bias) cycles += tg_line_port_cycles(m, p->bias, p->bias_kind, 1, take);
  if (k->bias) cycles += tg_line_port_cycles(m, k->bias, k->bias_kind, 1, take);
  if (k->weights)
    cycles += tg_line_port_cycles(m, k->weights, k->weights_kind,
                                  (double)(k->windows->taps[0] * k->windows->taps[1]), take);
  return cycles;
}

static double load_cycles(const tg_stages *stages, tg_seat side, int kind) {
  const tg_stage *stage = tg_stages_find(stages, side, kind);
  return stage ? stage->cycles : 0;
}

/* Cycles of vx for the first block, from its first sums on, and for one of many: mx multiplies a tile of sums in so many of
 * its cycles, has two halves of an accumulator, and goes on while vx reads the image that it made of the block before. */
typedef struct turns {
  double first, next;
} turns;

static turns turns_of(const tg_line_tiling *t, double multiply, double vop) {
  enum { ROUNDS = 4 };
  double each = multiply / t->made_tiles, take = t->made_cycles / t->made_tiles, freed[2] = {0}, end[ROUNDS],
         ready = -each, done = 0;
  for (uint32_t round = 0, tile = 0; round < ROUNDS; round++) {
    for (uint32_t i = 0; i < t->made_tiles; i++, tile++) {
      ready = (tile ? tg_max_double(ready, freed[tile % 2]) : ready) + each;
      done = freed[tile % 2] = tg_max_double(done, ready) + take;
    }
    end[round] = done += vop - t->made_cycles;
  }
  return (turns){end[0], end[ROUNDS - 1] - end[ROUNDS - 2]};
}

double tg_line_product_cycles(const tg_params *m, const tg_line_kernel *k, const tg_line_tiling *t,
                              const tg_stages *stages) {
  bool stay = pixels_stay(m, k, t);
  double rows = tg_line_row_rounds(m, k, t), channels = tg_line_channel_rounds(m, t),
         rounds = rows * channels, vop = tg_stages_unit(stages, TG_UNIT_VX, TG_STAGE_VOP),
         multiply = tg_stages_unit(stages, TG_UNIT_MX, TG_STAGE_MULTIPLY),
         west = load_cycles(stages, TG_SIDE_WEST, TG_STAGE_PIXELS),
         north = load_cycles(stages, TG_SIDE_NORTH, TG_STAGE_PIXELS),
         filters = load_cycles(stages, TG_SIDE_NORTH, TG_STAGE_FILTERS),
         latency = m->dram_latency + LATENCIES,
         stores = tg_checkerboard_share(m) * tg_max_double(tg_stages_port(stages, TG_SIDE_WEST).drain,
                                                           tg_stages_port(stages, TG_SIDE_NORTH).drain),
         port = tg_max_double(stay ? 0 : west, (stay ? 0 : north) + filters / rows) + stores, unit, waits = 0;
  const turns turn = turns_of(t, multiply, vop);
  unit = tg_max_double(turn.next, multiply);
  if (!stay && t->copies == 1) unit = tg_max_double(unit, multiply + latency + tg_max_double(west, north));
  if (channels > 1 && channel_copies(m, k, t) == 1)
    waits = (channels - 1) * (latency + filters + multiply / t->made_tiles);
  double begin = tg_max_double(west, north + filters) + multiply / t->made_tiles;
  return latency + begin + (rounds - 1) * tg_max_double(port, unit) + waits + turn.first + stores;
}

/* ---- stages ---- */

/* Loads at a side; those of tiles alone come from both. */
static void add_pixels(const tg_params *m, const tg_line_kernel *k, const tg_line_tiling *t, tg_seat side,
                       tg_stages *out) {
  bool marks = tg_line_has_marks(k, t), alone = t->abreast == m->cols;
  uint32_t share = alone ? ((side == TG_SIDE_WEST ? m->cols : m->rows) + 1) / 2 : t->abreast;
  tg_stage pixels = {.kind = TG_STAGE_PIXELS,
                     .seat = (uint8_t)side,
                     .context = TG_CTX_LOAD,
                     .rate = pixels_stay(m, k, t) ? TG_RATE_ONCE : TG_RATE_STEP,
                     .nest = TG_NEST_CHANNELS,
                     .slots = share * (1 + marks),
                     .cycles = share * pixels_cycles(m, k, t)};
  if (side == TG_SIDE_NORTH && !alone) return;
  tg_stage_join(&pixels, (tg_join){.channel = TG_LINE_PIXELS, .fills = true});
  tg_stage_join(&pixels, (tg_join){.channel = TG_LINE_MARKS, .fills = true});
  tg_stages_add(out, &pixels);
}

/* Where pixels stay, units wait for them once. */
static void add_waits(const tg_line_kernel *k, const tg_line_tiling *t, tg_stages *out) {
  tg_stage wait = {.kind = TG_STAGE_PIXELS, .seat = TG_UNIT_MX, .nest = TG_NEST_CHANNELS, .slots = 1};
  tg_stage_join(&wait, (tg_join){.channel = TG_LINE_PIXELS, .posts = TG_OF_NONE});
  tg_stages_add(out, &wait);
  wait = (tg_stage){.kind = TG_STAGE_PIXELS,
                    .seat = TG_UNIT_VX,
                    .nest = TG_NEST_CHANNELS,
                    .slots = tg_line_has_marks(k, t)};
  tg_stage_join(&wait, (tg_join){.channel = TG_LINE_MARKS, .posts = TG_OF_NONE});
  tg_stages_add(out, &wait);
}

/* From the north for tiles that have the same channels. */
static void add_filters(const tg_params *m, const tg_line_kernel *k, const tg_line_tiling *t,
                        tg_stages *out) {
  uint32_t loads = 1 + (k->product->bias != NULL) + (k->weights != NULL) + (k->bias != NULL);
  tg_stage filters = {.kind = TG_STAGE_FILTERS,
                      .seat = TG_SIDE_NORTH,
                      .context = TG_CTX_LOAD,
                      .rate = TG_RATE_PASS,
                      .nest = TG_NEST_CHANNELS,
                      .slots = loads * t->alike,
                      .cycles = t->alike * filters_cycles(m, k, t)};
  tg_stage_join(&filters, (tg_join){.channel = TG_LINE_FILTERS, .fills = true});
  tg_stage_join(
      &filters,
      (tg_join){.channel = TG_LINE_WEIGHTS, .fills = true, .waits = TG_OF_ENDS, .posts = TG_OF_ENDS});
  tg_stages_add(out, &filters);
}

/* The first GEMM of a block waits for what it multiplies, and the last one gives it back. */
static void add_multiply(const tg_params *m, const tg_line_kernel *k, const tg_line_tiling *t,
                         tg_stages *out) {
  tg_share pixels = pixels_stay(m, k, t) ? TG_OF_NONE : TG_OF_ENDS;
  tg_stage multiply = {.kind = TG_STAGE_MULTIPLY,
                       .seat = TG_UNIT_MX,
                       .rate = TG_RATE_STEP,
                       .nest = TG_NEST_CHANNELS,
                       .slots = t->made_tiles,
                       .cycles = tg_line_multiply_cycles(m, k, t)};
  tg_stage_join(&multiply,
                (tg_join){.channel = TG_LINE_PIXELS, .waits = (uint8_t)pixels, .posts = (uint8_t)pixels});
  tg_stage_join(&multiply, (tg_join){.channel = TG_LINE_MULTIPLIED, .fills = true, .wait = 1, .post = 1});
  tg_stage_join(&multiply, (tg_join){.channel = TG_LINE_FILTERS,
                                     .waits = TG_OF_ENDS,
                                     .posts = TG_OF_ENDS,
                                     .once = true,
                                     .wait = 2,
                                     .post = 2});
  tg_stages_add(out, &multiply);
}

static void add_vops(const tg_params *m, const tg_line_kernel *k, const tg_line_tiling *t, const int *words,
                     tg_stages *out) {
  tg_line_edge unused[TG_LINE_MOST_EDGES];
  tg_line_totals_vop totals[TG_LINE_MOST_TOTALS];
  tg_share marks = pixels_stay(m, k, t) ? TG_OF_NONE : TG_OF_ENDS;
  tg_stage edges = {.kind = TG_STAGE_EDGES,
                    .seat = TG_UNIT_VX,
                    .nest = TG_NEST_CHANNELS,
                    .slots = (uint32_t)tg_line_edges(k, t, unused)},
           vop = {.kind = TG_STAGE_VOP,
                  .seat = TG_UNIT_VX,
                  .rate = TG_RATE_STEP,
                  .nest = TG_NEST_CHANNELS,
                  .slots = t->made_tiles + (t->depth ? tg_line_passes(k, t) + (t->apart > 0) : 1),
                  .cycles = tg_line_vop_cycles(m, k, t, words)};
  if (k->totals) vop.slots += (uint32_t)tg_line_totals_vops(k, t, totals);
  tg_stage_join(&vop, (tg_join){.channel = TG_LINE_MULTIPLIED});
  tg_line_join_results(k, &vop);
  tg_stage_join(&vop, (tg_join){.channel = TG_LINE_WEIGHTS,
                                .waits = TG_OF_ENDS,
                                .posts = TG_OF_ENDS,
                                .once = true,
                                .wait = 1,
                                .post = 3});
  tg_stage_join(
      &vop,
      (tg_join){
          .channel = TG_LINE_MARKS, .waits = (uint8_t)marks, .posts = (uint8_t)marks, .wait = 3, .post = 3});
  tg_stages_add(out, &edges);
  tg_stages_add(out, &vop);
}

void tg_line_list_product(const tg_params *m, const tg_line_kernel *k, const tg_line_tiling *t,
                          const int *words, tg_stages *out) {
  bool stay = pixels_stay(m, k, t); /* then they are loaded in front of the loops that filters are in */
  out->count = 0;
  add_pixels(m, k, t, TG_SIDE_WEST, out);
  if (stay) add_pixels(m, k, t, TG_SIDE_NORTH, out);
  add_filters(m, k, t, out);
  if (!stay) add_pixels(m, k, t, TG_SIDE_NORTH, out);
  if (stay) add_waits(k, t, out);
  add_multiply(m, k, t, out);
  add_vops(m, k, t, words, out);
  tg_checkerboard_add_results(m, out, TG_STAGE_RESULTS, 1, tg_line_store_cycles(m, k, t), k->totals ? 1 : 0,
                              tg_line_totals_store_cycles(m, k, t));
}
