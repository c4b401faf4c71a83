/* Pools and depthwise convolutions from line buffers as channels and stages. */
#include "frontend/base/math.h"
#include "mapper/vector/line_product.h"
#include "mapper/vector/line_totals.h"

static uint64_t larger(uint64_t a, uint64_t b) { return a > b ? a : b; }

/* The steps of the last run go on behind the image, and so may its rows, and what stands for the padding behind the last. */
static uint64_t image_positions(const tg_line_kernel *k, const tg_line_tiling *t) {
  const tg_windows *w = k->windows;
  uint64_t rows = tg_line_image_rows(k, t), columns = tg_line_image_columns(k, t),
           loaded = tg_line_loaded_columns(k, t),
           results = t->columns - t->run + (uint64_t)tg_line_groups(t) * t->unroll,
           taken = t->depth ? results * (uint64_t)w->row_step[1] + (uint64_t)w->taps[1] - t->width : 0,
           all = (rows - 1) * columns + (taken > columns ? taken : columns);
  if (t->through < 2) return all;
  uint64_t last =
      (uint64_t)(tg_line_row_runs(t) - 1) * t->through + (uint64_t)((w->taps[0] - 1) * w->tap_step[0]);
  all = rows * columns + loaded - columns;
  if (columns < loaded) all = larger(all, rows * columns + (uint64_t)-w->origin[1]);
  return larger(all, last * columns + taken);
}

void tg_line_plan_channels(const tg_params *m, const tg_line_kernel *k, const tg_line_tiling *t,
                           tg_channel_plan plans[TG_LINE_CHANNELS]) {
  uint64_t image = image_positions(k, t) * tg_line_position(m, t, k->image_kind),
           positions = (uint64_t)tg_line_weights_positions(k), weights = 0;
  if (k->weights) weights += positions * tg_line_position(m, t, k->weights_kind);
  if (k->bias) weights += tg_line_position(m, t, k->bias_kind);
  uint64_t position = tg_line_position(m, t, k->result_kind),
           leaves = (uint64_t)t->drain_tiles * t->drain_flits;
  if (!tg_line_is_dense(t)) /* whole rows, of which the last columns stay */
    leaves = (leaves / (t->run * position) * tg_line_results_apart(t) + tg_line_results_lead(t)) * position;
  else
    leaves = leaves / tg_line_moved(m, k, t, k->result_kind) * position;
  if (t->apart) leaves = larger(leaves, (uint64_t)tg_line_finished_rows(t) * t->columns * position);
  bool once = tg_line_keeps_weights(m, t);
  for (int i = 0; i < TG_LINE_CHANNELS; i++) plans[i] = (tg_channel_plan){0};
  plans[TG_LINE_IMAGE] =
      (tg_channel_plan){.room = {image, 2}, .full = 1, .west = true, .north = true, .credits = 2, .bases = 1};
  plans[TG_LINE_WEIGHTS] = (tg_channel_plan){
      .room = {weights, once ? 1 : 2}, .full = once && weights, .bases = (uint8_t)(!!k->weights + !!k->bias)};
  plans[TG_LINE_SUMS] = (tg_channel_plan){.room = {tg_line_sums_rows(m, k, t), tg_line_sums_copies(k, t)}};
  plans[TG_LINE_RESULT] = (tg_channel_plan){.room = {leaves, 2}, .full = 1, .free = 1, .initial = 2};
  plans[TG_LINE_AWAY] = (tg_channel_plan){.free = 1, .initial = 2, .west = true, .north = true, .bases = 1};
  if (k->totals) {
    plans[TG_LINE_TOTAL] =
        (tg_channel_plan){.room = {tg_line_totals_flits(m, k, t), 2}, .full = 1, .free = 1, .initial = 2};
    plans[TG_LINE_TOTAL_AWAY] = plans[TG_LINE_AWAY];
  }
  if (k->product) tg_line_plan_product(m, k, t, plans);
}

/* ---- cycles ---- */

static double weights_cycles(const tg_params *m, const tg_line_kernel *k, const tg_line_tiling *t) {
  uint32_t take = tg_line_take_of(m, t);
  double cycles = 0;
  if (k->weights)
    cycles += tg_line_port_cycles(m, k->weights, k->weights_kind, (double)tg_line_weights_positions(k), take);
  if (k->bias) cycles += tg_line_port_cycles(m, k->bias, k->bias_kind, 1, take);
  return cycles;
}

/* ---- stages ---- */

/* Once: to all tiles of a row of the array, if these have the same channels; else of each tile its own. */
static void add_weights(const tg_params *m, const tg_line_tiling *t, uint32_t loads, double cycles,
                        tg_stages *out) {
  tg_stage stage = {.kind = TG_STAGE_WEIGHTS, .context = TG_CTX_AUX, .nest = TG_NEST_OWN, .slots = loads};
  bool same = t->blocks[2] == 1;
  stage.in_front = cycles * (same ? 1 : tg_checkerboard_share(m));
  tg_stage_join(&stage, (tg_join){.channel = TG_LINE_WEIGHTS, .fills = true, .posts = TG_OF_ENDS});
  if (same)
    tg_stages_add(out, &stage); /* from the west */
  else
    tg_checkerboard_add(m, out, stage);
  tg_stage wait = {.kind = TG_STAGE_WEIGHTS, .seat = TG_UNIT_VX, .nest = TG_NEST_BLOCKS, .slots = 1};
  tg_stage_join(&wait, (tg_join){.channel = TG_LINE_WEIGHTS, .posts = TG_OF_NONE});
  tg_stages_add(out, &wait);
}

void tg_line_list_stages(const tg_params *m, const tg_line_kernel *k, const tg_line_tiling *t,
                         const int *words, tg_stages *out) {
  if (k->product) {
    tg_line_list_product(m, k, t, words, out);
    return;
  }
  uint32_t weights = (k->weights ? 1 : 0) + (k->bias ? 1 : 0),
           with_each = tg_line_loads_once(m, k, t) ? 0 : weights;
  double load = tg_line_positions_cycles(m, k, t, k->image, k->image_kind, tg_line_image_rows(k, t),
                                         tg_line_loaded_columns(k, t));
  tg_stage blocks = {.kind = TG_STAGE_BLOCKS,
                     .context = TG_CTX_LOAD,
                     .rate = TG_RATE_STEP,
                     .nest = TG_NEST_BLOCKS,
                     .slots = 2 + with_each, /* and a SYNC that asks for them */
                     .cycles = with_each ? load + weights_cycles(m, k, t) : load};
  tg_stage vop = {.kind = TG_STAGE_VOP,
                  .seat = TG_UNIT_VX,
                  .rate = TG_RATE_STEP,
                  .nest = TG_NEST_BLOCKS,
                  .slots = t->depth ? tg_line_passes(k, t) + (t->apart > 0)
                                    : (uint32_t)tg_line_window_sets(k), /* and those of a reduction */
                  .cycles = tg_line_vop_cycles(m, k, t, words)};
  tg_stage_join(&blocks,
                (tg_join){.channel = TG_LINE_IMAGE, .fills = true, .waits = TG_OF_ENDS, .posts = TG_OF_ENDS});
  tg_line_totals_vop unused[TG_LINE_MOST_TOTALS];
  if (k->totals) vop.slots += (uint32_t)tg_line_totals_vops(k, t, unused);
  tg_stage_join(&vop, (tg_join){.channel = TG_LINE_IMAGE, .waits = TG_OF_ENDS, .posts = TG_OF_ENDS});
  tg_line_join_results(k, &vop);
  out->count = 0;
  tg_checkerboard_add(m, out, blocks);
  if (weights && !with_each) add_weights(m, t, weights, weights_cycles(m, k, t), out);
  tg_stages_add(out, &vop);
  tg_checkerboard_add_results(m, out, TG_STAGE_RESULTS, 1, tg_line_store_cycles(m, k, t), k->totals ? 1 : 0,
                              tg_line_totals_store_cycles(m, k, t));
}
