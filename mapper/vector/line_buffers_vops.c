/* The VOPs of a block of line buffers: streams that read shifted views of it. */
#include "mapper/vector/line_buffers_emission.h"

#include <string.h>

typedef tg_line_emission emission;

/* ---- a VOP for all positions of a window ---- */

/* Of window set number `set`, whose results lie between those of the others. */
static void set_streams(const emission *e, tg_vx_instr *vop, int64_t set) {
  const tg_line_kernel *k = e->k;
  const tg_line_tiling *t = e->t;
  const tg_windows *w = tg_line_window_set(k, set), *all = k->windows;
  const tg_params *m = e->b.m;
  int64_t offsets[TG_STREAMS],
      pixel = tg_line_position(m, t, k->image_kind), row = tg_line_image_columns(k, t) * pixel, weights = 0,
      first = 0, channels = all->image->dims[3].size, step[2] = {1, 1}, position[2] = {w->taps[1], 1};
  int64_t origin = (w->origin[0] - all->origin[0]) * row + (w->origin[1] - all->origin[1]) * pixel;
  int columns = tg_line_columns(k, t, offsets);
  for (int i = 0; i < columns; i++) {
    tg_stream *s = tg_line_set_stream(e, vop, i, k->image_kind, &e->channels[TG_LINE_IMAGE].ring,
                                      origin + offsets[i] * pixel);
    s->row[0] = w->row_step[0] * row;
    s->row[1] = t->unroll * w->row_step[1] * pixel;
    s->j[0] = w->tap_step[0] * row;
    s->j[1] = w->tap_step[1] * pixel;
  }
  if (k->weights) weights = tg_line_position(m, t, k->weights_kind);
  if (k->transposed) {
    first = w->weight_first / channels;
    for (int d = 0; d < 2; d++) position[d] = w->weight_step[d] / channels;
  }
  for (uint32_t q = 0; k->weights && q < t->taps; q++) {
    tg_stream *s =
        tg_line_set_stream(e, vop, tg_line_weights_stream(k, t, q), k->weights_kind,
                           &e->channels[TG_LINE_WEIGHTS].ring, (first + q * position[1]) * weights);
    for (int d = 0; d < 2; d++) s->j[d] = position[d] * weights;
  }
  if (k->bias)
    (void)tg_line_set_stream(e, vop, tg_line_bias_stream(k, t), k->bias_kind,
                             &e->channels[TG_LINE_WEIGHTS].ring, tg_line_weights_positions(k) * weights);
  for (int d = 0; d < 2 && k->transposed; d++) step[d] = k->transposed->step[d];
  int64_t result = tg_line_position(m, t, k->result_kind),
          result_row = tg_line_groups(t) * t->unroll * step[1] * result;
  first = set / step[1] * result_row + set % step[1] * result;
  for (uint32_t u = 0; u < t->unroll; u++) {
    tg_stream *s = tg_line_set_stream(e, vop, tg_line_result_stream(k, t, u), k->result_kind,
                                      &e->ports[0].buffer, first + u * step[1] * result);
    s->store = 1;
    s->row[0] = step[0] * result_row;
    s->row[1] = t->unroll * step[1] * result;
  }
}

typedef struct place {
  int64_t pixel, channel;
} place;

/* The first result of block number `number`. */
static place place_of(const emission *e, int64_t number) {
  const tg_line_tiling *t = e->t;
  int64_t rest = number / t->blocks[2], columns = e->k->windows->rows[1], rows = e->k->windows->rows[0];
  place at = {.channel = number % t->blocks[2] * tg_line_take_of(e->b.m, t)};
  if (t->blocks[1] > 1) /* of an image */
    at.pixel = rest / t->blocks[1] * t->rows * columns + rest % t->blocks[1] * t->columns;
  else
    at.pixel = (rest / t->blocks[0] * rows + rest % t->blocks[0] * t->rows) * columns;
  return at;
}

/* Of the first result, and from round to round. */
static void set_places(const emission *e, tg_vx_instr *vop, uint32_t r, uint32_t col) {
  const tg_line_tiling *t = e->t;
  const tg_params *m = e->b.m;
  int64_t columns = e->k->windows->rows[1], rows = e->k->windows->rows[0], tile = r * m->cols + col;
  if (e->k->product) {
    vop->sr_row = (uint32_t)(tg_line_first_row(t, tg_line_row_block(m, t, r, col), rows, t->rows) * columns);
    vop->sr_row_delta[2] = (uint32_t)(tg_line_rows_apart(m, t, rows, t->rows) * columns);
    vop->sr_col = tg_line_channel_block(m, t, r, col) * tg_line_take_of(m, t);
    vop->sr_col_delta[1] = tg_line_channel_blocks(m, t) * tg_line_take_of(m, t);
    return;
  }
  place first = place_of(e, tile), next = place_of(e, tile + tg_tiles(m));
  vop->sr_row = e->k->first_row + (uint32_t)first.pixel;
  vop->sr_col = e->k->first_column + (uint32_t)first.channel;
  vop->sr_row_delta[0] = t->blocks[1] > 1 ? (uint32_t)(rows * columns) : 0;
  vop->sr_row_delta[1] = t->rounds > 1 ? (uint32_t)(next.pixel - first.pixel) : 0;
}

static void set_rounding(const emission *e, tg_vx_instr *vop, uint32_t r, uint32_t col) {
  const tg_line_tiling *t = e->t;
  int64_t columns = e->k->windows->rows[1];
  set_places(e, vop, r, col);
  vop->sr_key = TG_KEY_PRODUCT;
  vop->sr_row_row[0] = (uint32_t)columns;
  vop->sr_row_row[1] = t->unroll;
  vop->sr_col_row[2] = tg_lanes(e->b.m);
}

static tg_instr *push_windows(const emission *e, tg_queue *queue, int64_t set, uint32_t r, uint32_t col) {
  const tg_line_tiling *t = e->t;
  tg_instr *in = tg_line_push_vop(e, queue, &e->microcode[0]);
  tg_vx_instr *vop = &in->vx;
  vop->row_count[1] = tg_line_groups(t);
  vop->rows = vop->row_count[0] * vop->row_count[1] * vop->row_count[2];
  vop->j_count[0] = tg_line_window_set(e->k, set)->taps[0];
  vop->j_count[1] = tg_line_window_set(e->k, set)->taps[1] / t->taps;
  set_streams(e, vop, set);
  if (e->k->rounds) set_rounding(e, vop, r, col);
  return in;
}

/* ---- a VOP for some rows of a window ---- */

/* Of positions of `kind`, in runs that have `lead` in front and are `apart`, from number `first` on, which may lie in front. */
static tg_stream *set_runs(const emission *e, tg_vx_instr *vop, int number, int kind, const tg_buffer *buffer,
                           uint32_t lead, uint32_t apart, int64_t first) {
  const tg_line_tiling *t = e->t;
  int64_t position = tg_line_position(e->b.m, t, kind);
  tg_stream *s = tg_line_set_stream(e, vop, number, kind, buffer, (lead + first) * position);
  s->row[1] = apart * position;
  s->row[0] = tg_line_row_parts(t) * s->row[1];
  s->j[0] = t->unroll * position;
  return s;
}

static tg_stream *set_sums(const emission *e, tg_vx_instr *vop, int number, const tg_buffer *buffer,
                           int64_t first) {
  return set_runs(e, vop, number, TG_STREAM_FP32, buffer, e->t->lead, tg_line_groups(e->t) * e->t->unroll,
                  first);
}

static tg_stream *set_results(const emission *e, tg_vx_instr *vop, int number, int64_t first) {
  return set_runs(e, vop, number, e->k->result_kind, &e->channels[TG_LINE_RESULT].ring,
                  tg_line_results_lead(e->t), tg_line_results_apart(e->t), first);
}

/* The copy of the sums that a pass writes; it does not change from block to block. */
static tg_buffer sums_of(const emission *e, uint32_t pass) {
  tg_buffer copy = e->channels[TG_LINE_SUMS].ring;
  copy.base += pass % 2 * copy.stride;
  copy.count = 1;
  return copy;
}

static void set_pass_images(const emission *e, tg_vx_instr *vop, const tg_line_pass *pass) {
  const tg_line_kernel *k = e->k;
  const tg_line_tiling *t = e->t;
  const tg_windows *w = k->windows;
  int64_t pixel = tg_line_position(e->b.m, t, k->image_kind), columns = tg_line_image_columns(k, t),
          behind = tg_line_turns(k, pass) - 1;
  for (uint32_t i = 0; i < pass->rows; i++)
    for (uint32_t u = 0; u < t->unroll; u++)
      for (uint32_t phase = 0; phase < tg_line_phases(k); phase++) {
        int64_t result = tg_line_is_carried(t, u) ? t->unroll - 1 : u - (t->unroll > 1),
                row = (pass->row + i) * w->tap_step[0],
                column = pass->tap + (result - i * behind) * w->row_step[1] + phase;
        tg_stream *s = tg_line_set_stream(e, vop, tg_line_pass_image(k, t, i, u, phase), k->image_kind,
                                          &e->channels[TG_LINE_IMAGE].ring, (row * columns + column) * pixel);
        s->row[0] = tg_max(t->through, 1) * w->row_step[0] * columns * pixel;
        s->row[1] = t->run * w->row_step[1] * pixel;
        s->j[0] = t->unroll * w->row_step[1] * pixel;
      }
}

static void set_pass_weights(const emission *e, tg_vx_instr *vop, const tg_line_pass *pass) {
  const tg_line_kernel *k = e->k;
  const tg_buffer *ring = &e->channels[TG_LINE_WEIGHTS].ring;
  int64_t taps = k->windows->taps[1], weights = tg_line_position(e->b.m, e->t, k->weights_kind);
  for (uint32_t i = 0; i < pass->rows; i++)
    for (uint32_t q = 0; q < pass->taps; q++)
      (void)tg_line_set_stream(e, vop, tg_line_pass_weights(k, e->t, pass, i, q), k->weights_kind, ring,
                               ((pass->row + i) * taps + pass->tap + q) * weights);
  if (pass->ends && k->bias)
    (void)tg_line_set_stream(e, vop, tg_line_pass_bias(k, e->t, pass), k->bias_kind, ring,
                             k->windows->taps[0] * taps * weights);
}

static tg_instr *push_pass(const emission *e, tg_queue *queue, uint32_t number) {
  const tg_line_kernel *k = e->k;
  const tg_line_tiling *t = e->t;
  tg_line_pass pass = tg_line_pass_of(k, t, number);
  tg_instr *in = tg_line_push_vop(e, queue, &e->microcode[pass.part]);
  tg_vx_instr *vop = &in->vx;
  tg_buffer from = sums_of(e, number + 1), to = sums_of(e, number);
  int64_t ahead = t->unroll > 1, lead = tg_line_lead(k, t, &pass);
  vop->row_count[0] = tg_line_row_runs(t);
  vop->row_count[1] = tg_line_row_parts(t);
  vop->rows = vop->row_count[0] * vop->row_count[1] * vop->row_count[2];
  vop->j_count[0] = tg_line_steps(k, t, &pass);
  vop->j_count[1] = 1;
  set_pass_images(e, vop, &pass);
  set_pass_weights(e, vop, &pass);
  for (uint32_t u = 0; u < t->unroll; u++) {
    int number_out = tg_line_pass_result(k, t, &pass, u);
    if (!pass.begins) (void)set_sums(e, vop, tg_line_pass_sums(k, t, &pass, u), &from, u - ahead);
    (pass.ends ? set_results(e, vop, number_out, u - lead) : set_sums(e, vop, number_out, &to, u - lead))
        ->store = 1;
  }
  return in;
}

/* Results of whole sums. */
static tg_instr *push_finish(const emission *e, tg_queue *queue) {
  const tg_line_kernel *k = e->k;
  const tg_line_tiling *t = e->t;
  tg_instr *in = tg_line_push_vop(e, queue, &e->microcode[tg_line_parts(k, t)]);
  tg_vx_instr *vop = &in->vx;
  tg_buffer from = sums_of(e, tg_line_passes(k, t) - 1);
  int64_t sum = tg_line_position(e->b.m, t, TG_STREAM_FP32),
          position = tg_line_position(e->b.m, t, k->result_kind);
  vop->row_count[0] = tg_line_row_runs(t);
  vop->row_count[1] = t->through > 1 ? t->through : tg_line_row_parts(t);
  vop->rows = vop->row_count[0] * vop->row_count[1] * vop->row_count[2];
  vop->j_count[0] = t->run / t->apart;
  vop->j_count[1] = 1;
  for (uint32_t u = 0; u < t->apart; u++) {
    tg_stream *sums = set_sums(e, vop, tg_line_finished_sums(u), &from, u),
              *result = set_results(e, vop, tg_line_finished_result(t, u), u);
    if (t->through > 1) {
      sums->row[1] = t->pitch * sum;
      result->row[0] = t->through * result->row[1];
    }
    sums->j[0] = t->apart * sum;
    result->j[0] = t->apart * position;
    result->store = 1;
  }
  if (k->bias)
    (void)tg_line_set_stream(
        e, vop, tg_line_finished_bias(t), k->bias_kind, &e->channels[TG_LINE_WEIGHTS].ring,
        k->windows->taps[0] * k->windows->taps[1] * tg_line_position(e->b.m, t, k->weights_kind));
  return in;
}

/* ---- a reduction of results ---- */

static tg_instr *push_totals(const emission *e, tg_queue *queue, const tg_line_totals_vop *v) {
  const tg_line_kernel *k = e->k;
  const tg_line_tiling *t = e->t;
  int64_t from = tg_line_position(e->b.m, t, k->result_kind), to = tg_line_position(e->b.m, t, k->total_kind);
  uint32_t unroll = tg_line_totals_unroll(k, t);
  tg_instr *in = tg_line_push_vop(e, queue, &e->microcode[e->totals]);
  tg_vx_instr *vop = &in->vx;
  vop->row_count[0] = v->count[0];
  vop->row_count[1] = v->count[1];
  vop->rows = (int64_t)v->count[0] * v->count[1] * t->vectors;
  vop->j_count[0] = v->repeats[0];
  vop->j_count[1] = v->repeats[1] / unroll;
  for (uint32_t u = 0; u < unroll; u++) {
    tg_stream *s =
        tg_line_set_stream(e, vop, (int)u, k->result_kind, &e->ports[0].buffer, (v->first + u) * from);
    for (int d = 0; d < 2; d++) s->row[d] = v->step[d] * from;
    s->j[0] = v->along * from;
    s->j[1] = unroll * from;
  }
  tg_stream *s =
      tg_line_set_stream(e, vop, (int)unroll, k->total_kind, &e->channels[TG_LINE_TOTAL].ring, v->to * to);
  s->store = 1;
  s->row[0] = v->count[1] * to;
  s->row[1] = to;
  return in;
}

/* The image, with which a bias may come, is read by those that make results, which leave when the reduction has read them.
 * Where it is made, each tile of sums has a VOP in front of these, whose weights are those of a round of channels: the VOP
 * that ends the loop over its rows gives them back, since no other one knows its last execution. */
void tg_line_emit_vops(const emission *e, const tg_stage *stage, tg_queue *queue, uint32_t r, uint32_t col) {
  tg_line_totals_vop totals[TG_LINE_MOST_TOTALS];
  const uint32_t apart = e->t->apart > 0, made = e->k->product ? e->t->made_tiles : 0;
  uint32_t own = stage->slots - (e->k->totals ? (uint32_t)tg_line_totals_vops(e->k, e->t, totals) : 0);
  bool rows_have_rounds = e->k->product && tg_line_row_rounds(e->b.m, e->k, e->t) > 1;
  bool bias_comes_with_blocks = e->k->bias && !tg_line_loads_once(e->b.m, e->k, e->t);
  const struct {
    int channel;
    uint32_t first, end;
  } used[] = {{TG_LINE_IMAGE, 0, bias_comes_with_blocks ? own : own - apart},
              {TG_LINE_MARKS, 0, made},
              {TG_LINE_WEIGHTS, 0, rows_have_rounds ? stage->slots : own},
              {TG_LINE_RESULT, apart ? own - 1 : made, stage->slots},
              {TG_LINE_TOTAL, own, stage->slots}};
  for (uint32_t i = 0; i < stage->slots; i++) {
    tg_joint at = {.kernel = e, .r = r, .col = col};
    if (i < made)
      at.in = tg_line_push_made(e, queue, i);
    else if (i >= own)
      at.in = push_totals(e, queue, &totals[i - own]);
    else if (i + apart == own && apart)
      at.in = push_finish(e, queue);
    else
      at.in = e->t->depth ? push_pass(e, queue, i - made) : push_windows(e, queue, i - made, r, col);
    if (i < made) tg_stage_meet(stage, e->channels, UINT64_C(1) << TG_LINE_MULTIPLIED, &at);
    for (size_t n = 0; n < sizeof used / sizeof *used; n++) {
      at.first = i == used[n].first;
      at.last = i + 1 == used[n].end;
      tg_stage_meet(stage, e->channels, UINT64_C(1) << used[n].channel, &at);
    }
  }
}
