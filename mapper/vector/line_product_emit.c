/* A product in front of windows (line_product.h): its loads, the GEMMs of a block, and what vx does with the sums. */
#include "mapper/section/marks.h"
#include "mapper/vector/line_buffers_emission.h"
#include "sim/machine/mx_shape.h"

typedef tg_line_emission emission;

/* ---- who has what, and who loads it ---- */

static tg_post pixels_source(const void *kernel, const tg_channel *channel, uint32_t r, uint32_t col) {
  const emission *e = kernel;
  return tg_post_to_agcu(channel, !tg_line_from_north(e->b.m, e->t, r, col), r, col);
}
static tg_post filters_source(const void *kernel, const tg_channel *channel, uint32_t r, uint32_t col) {
  (void)kernel;
  return tg_post_to_agcu(channel, false, r, col);
}

void tg_line_set_made_sources(emission *e) {
  e->channels[TG_LINE_PIXELS].source = pixels_source;
  if (tg_line_has_marks(e->k, e->t)) e->channels[TG_LINE_MARKS].source = pixels_source;
  e->channels[TG_LINE_FILTERS].source = e->channels[TG_LINE_WEIGHTS].source = filters_source;
}

static void meet(const emission *e, const tg_stage *stage, int channel, tg_joint at) {
  at.kernel = e;
  tg_stage_meet(stage, e->channels, UINT64_C(1) << channel, &at);
}

/* ---- loads ---- */

/* The tiles of a row that have the same pixels, from this one on; or, from the north, the one. */
static int64_t all_from(const emission *e, uint32_t r, uint32_t col) {
  if (tg_line_from_north(e->b.m, e->t, r, col)) return INT64_C(1) << (r + 1);
  return ((INT64_C(1) << tg_line_columns_alike(e->b.m, e->t)) - 1) << (col + 1);
}

/* Rows of a block, from the first one that is made; columns of a whole row of the image. Coordinate x counts elements of
 * one: what lies behind the channels of its last pixel is out of bounds; of the others it is what comes next, and masked. */
static tg_instr *load_pixels(const emission *e, tg_queue *queue, uint32_t r, uint32_t col) {
  const tg_line_product *p = e->k->product;
  const tg_windows *w = e->k->windows;
  const tg_params *m = e->b.m;
  tg_line_made made = tg_line_made_of(e->k, e->t);
  int64_t bytes = tg_line_tensor_bytes(e, TG_LINE_TENSOR_PIXELS), taken = tg_line_pixel_taken(m, p),
          down = e->t->rows * w->row_step[0], above = w->origin[0] + made.row;
  bool runs = tg_line_pixel_runs(m, p);
  tg_instr *in =
      tg_line_push_load(e, queue, p->pixels_convert, &e->channels[TG_LINE_PIXELS].ring, all_from(e, r, col));
  tg_agcu_instr *load = &in->agcu;
  tg_line_set_blocks(e, load, TG_LINE_TENSOR_PIXELS, r * m->cols + col,
                     (tg_line_digits){.image = p->stride[0], .rows = down * p->stride[1]});
  tg_line_set_steps(e, load, (tg_line_digits){.rows = down}, (tg_line_digits){0});
  load->offset += above * p->stride[1] * bytes;
  load->k_radix[0] = made.rows;
  load->k_radix[1] = runs ? 1 : made.columns;
  load->k_radix[2] = runs ? made.columns * taken : taken;
  load->stride[3] = p->stride[1] * bytes;
  load->stride[4] = runs ? 0 : p->stride[2] * bytes;
  load->take = made.rows * made.columns * taken;
  load->y_inc[3] = 1;
  load->x_inc[4] = runs ? 0 : p->stride[2];
  load->y_org = above;
  load->y_size = w->image->dims[1].size;
  load->x_size = (w->image->dims[2].size - 1) * p->stride[2] + p->depth;
  return in;
}

/* A flit for each row, of which the first element counts: the others are out of bounds, as are all of a row outside. */
static tg_instr *load_marks(const emission *e, tg_queue *queue, uint32_t r, uint32_t col) {
  const tg_windows *w = e->k->windows;
  const tg_params *m = e->b.m;
  int64_t rows = tg_line_image_rows(e->k, e->t);
  tg_instr *in =
      tg_line_push_load(e, queue, TG_CVT_32, &e->channels[TG_LINE_MARKS].ring, all_from(e, r, col));
  tg_agcu_instr *load = &in->agcu;
  tg_line_set_blocks(e, load, TG_LINE_TENSOR_MARKS, r * m->cols + col, (tg_line_digits){0});
  tg_line_set_steps(e, load, (tg_line_digits){.rows = e->t->rows * w->row_step[0]}, (tg_line_digits){0});
  load->k_radix[0] = rows;
  load->k_radix[1] = 1;
  load->k_radix[2] = m->p;
  load->take = rows * m->p;
  load->y_inc[3] = 1;
  load->y_org = w->origin[0];
  load->y_size = w->image->dims[1].size;
  load->x_size = 1;
  load->fill = TG_MARK_OUTSIDE;
  return in;
}

static void sync(const emission *e, const tg_stage *stage, tg_queue *queue, int op, int channel, tg_turn at) {
  tg_instr *in = tg_build_push(&e->b, queue, op);
  meet(e, stage, channel, (tg_joint){.in = in, .r = at.r, .col = at.col});
}

void tg_line_emit_pixels(const emission *e, const tg_stage *stage, tg_queue *queue, tg_turn at) {
  const tg_params *m = e->b.m;
  bool west = stage->seat == TG_SIDE_WEST;
  if (stage->seat == TG_UNIT_MX)
    sync(e, stage, queue, TG_OP_mx_sync, TG_LINE_PIXELS, at);
  else if (stage->seat == TG_UNIT_VX)
    sync(e, stage, queue, TG_OP_vx_sync, TG_LINE_MARKS, at);
  uint32_t tiles = stage->seat >= TG_SIDES ? 0
                   : west                  ? m->cols
                                           : m->rows,
           step = west ? tg_line_columns_alike(m, e->t) : 1;
  for (uint32_t i = 0; i < tiles; i += step) {
    uint32_t r = west ? at.r : i, col = west ? i : at.col;
    if (tg_line_from_north(m, e->t, r, col) == west) continue;
    meet(e, stage, TG_LINE_PIXELS, (tg_joint){.in = load_pixels(e, queue, r, col), .r = r, .col = col});
    if (tg_line_has_marks(e->k, e->t))
      meet(e, stage, TG_LINE_MARKS, (tg_joint){.in = load_marks(e, queue, r, col), .r = r, .col = col});
  }
}

/* Of tiles of the column that have the same channels, for each of those: filters, then what vx takes, of which the first
 * load asks for room and the last one tells. */
void tg_line_emit_filters(const emission *e, const tg_stage *stage, tg_queue *queue, uint32_t col) {
  static const int beside[] = {TG_LINE_TENSOR_WEIGHTS, TG_LINE_TENSOR_BIAS, TG_LINE_TENSOR_PRODUCT_BIAS};
  const tg_line_product *p = e->k->product;
  const tg_params *m = e->b.m;
  for (uint32_t first = 0; first < e->t->alike; first++) {
    int64_t mask = 0;
    for (uint32_t r = first; r < m->rows; r += e->t->alike) mask |= INT64_C(1) << (r + 1);
    tg_instr *in = tg_line_push_load(e, queue, p->filters_convert, &e->channels[TG_LINE_FILTERS].ring, mask);
    tg_line_walk_rows(e, &in->agcu, TG_LINE_TENSOR_FILTERS, p->depth, first * m->cols + col);
    meet(e, stage, TG_LINE_FILTERS, (tg_joint){.in = in, .col = col});
    tg_joint at = {.col = col, .first = true};
    for (size_t i = 0; i < sizeof beside / sizeof *beside; i++) {
      if (!tg_line_tensor(e, beside[i])) continue;
      if (at.in) meet(e, stage, TG_LINE_WEIGHTS, at), at.first = false;
      at.in = tg_line_load_weights(e, queue, beside[i], first * m->cols + col, mask);
    }
    at.last = true;
    meet(e, stage, TG_LINE_WEIGHTS, at);
  }
}

/* ---- mx ---- */

static uint32_t banks_from(const emission *e, const tg_buffer *ring, int64_t first) {
  return ring->banks - (uint32_t)((ring->base % tg_bank_rows(e->b.m) + first) / tg_bank_rows(e->b.m));
}

static tg_buffer halves(const emission *e) { return (tg_buffer){.stride = tg_acc_rows(e->b.m), .count = 2}; }

static void set_pixels(const emission *e, tg_mx_instr *mx, uint32_t tile) {
  const tg_buffer *ring = &e->channels[TG_LINE_PIXELS].ring;
  const tg_line_product *p = e->k->product;
  tg_line_made made = tg_line_made_of(e->k, e->t);
  int64_t pixel = tg_line_pixel(e->b.m, p), row = made.columns * pixel,
          first = (int64_t)tile * e->t->made_rows * row;
  tg_set_operand(&mx->a, ring, false);
  mx->a_base += first;
  mx->a_banks = banks_from(e, ring, first);
  mx->m_count[0] = tg_line_made_tile_rows(e->k, e->t, tile);
  mx->m_count[1] = made.columns;
  mx->a_m[0] = row;
  mx->a_m[1] = pixel;
  mx->a_blk[0] = tg_mx_beats(p->format);
}

static void set_filters(const emission *e, tg_mx_instr *mx) {
  const tg_buffer *ring = &e->channels[TG_LINE_FILTERS].ring;
  const tg_line_product *p = e->k->product;
  const tg_params *m = e->b.m;
  tg_set_operand(&mx->b, ring, false);
  mx->b_banks = ring->banks;
  mx->b_row = tg_line_filter(m, p, e->t);
  mx->b_blk[0] = (int64_t)tg_mx_stationary(m, p->format) * mx->b_row;
  mx->b_blk[1] = tg_lanes(m) / tg_mx_elements(m, p->format);
  mx->b_blk[2] = 1;
}

/* Blocks: k, then groups of 2P channels, then, of FP32, their two halves. */
static void set_blocks(const emission *e, tg_mx_instr *mx) {
  const tg_line_product *p = e->k->product;
  const tg_params *m = e->b.m;
  uint32_t s = tg_mx_stationary(m, p->format);
  mx->blk_count[0] = tg_line_pixel_taken(m, p) / s;
  mx->blk_count[1] = e->t->vectors;
  mx->blk_count[2] = tg_lanes(m) / s;
  mx->blk_count[3] = 1;
  mx->k_loops = 1;
  mx->k_chunk = mx->k_total = p->depth;
  mx->c_blk[1] = mx->m_count[0] * mx->m_count[1];
  mx->h_blk[2] = 1;
  mx->init = 1;
}

/* Sums are rounded at the ends of K tiles, and at that of all channels, by their pixel and channel: those of a row of the image
 * that no window takes are left out. */
static void set_rounding(const emission *e, tg_mx_instr *mx, uint32_t tile, uint32_t r, uint32_t col) {
  const tg_windows *w = e->k->windows;
  const tg_line_tiling *t = e->t;
  const tg_params *m = e->b.m;
  tg_line_made made = tg_line_made_of(e->k, t);
  int64_t rows = w->image->dims[1].size, columns = w->image->dims[2].size, apart = t->rows * w->row_step[0],
          first = tg_line_first_row(t, tg_line_row_block(m, t, r, col), rows, apart) + w->origin[0] +
                  made.row + (int64_t)tile * t->made_rows;
  mx->sr = 1;
  mx->sr_key = TG_KEY_SECOND;
  mx->sr_k = e->k->product->k_tile;
  mx->sr_end = 1;
  mx->sr_row = (uint32_t)(first * columns);
  mx->sr_row_delta[2] = (uint32_t)(tg_line_rows_apart(m, t, rows, apart) * columns);
  mx->sr_row_skip = (uint32_t)(columns - made.columns);
  mx->sr_col = tg_line_channel_block(m, t, r, col) * tg_line_take_of(m, t);
  mx->sr_col_delta[1] = tg_line_channel_blocks(m, t) * tg_line_take_of(m, t);
  mx->sr_col_blk[1] = tg_lanes(m);
  mx->sr_col_blk[2] = tg_mx_stationary(m, e->k->product->format);
}

void tg_line_emit_multiply(const emission *e, const tg_stage *stage, tg_queue *queue, uint32_t r,
                           uint32_t col) {
  const tg_buffer sums = halves(e);
  for (uint32_t tile = 0; tile < e->t->made_tiles; tile++) {
    tg_instr *in = tg_build_push(&e->b, queue, TG_OP_mx_gemm);
    tg_mx_instr *mx = &in->mx;
    mx->format = e->k->product->format;
    set_pixels(e, mx, tile);
    set_filters(e, mx);
    set_blocks(e, mx);
    tg_set_operand(&mx->c, &sums, false);
    tg_set_rotation(&mx->c, &sums, tile, e->t->made_tiles);
    if (e->k->product->k_tile) set_rounding(e, mx, tile, r, col);
    tg_stage_meet(stage, e->channels, TG_ALL_CHANNELS,
                  &(tg_joint){.kernel = e,
                              .in = in,
                              .r = r,
                              .col = col,
                              .first = tile == 0,
                              .last = tile + 1 == e->t->made_tiles});
  }
}

/* ---- vx ---- */

tg_instr *tg_line_push_made(const emission *e, tg_queue *queue, uint32_t tile) {
  const tg_line_product *p = e->k->product;
  const tg_line_tiling *t = e->t;
  const tg_params *m = e->b.m;
  const tg_buffer sums = halves(e);
  tg_line_made made = tg_line_made_of(e->k, t);
  uint32_t rows = tg_line_made_tile_rows(e->k, t, tile), first = tile * t->made_rows,
           unroll = t->made_at_once, part = made.columns / t->made_parts;
  int64_t position = tg_line_position(m, t, e->k->image_kind),
          row = tg_line_image_columns(e->k, t) * position;
  tg_instr *in = tg_line_push_vop(e, queue, &e->microcode[e->made]);
  tg_vx_instr *vop = &in->vx;
  vop->row_count[0] = rows;
  vop->row_count[1] = t->made_parts;
  vop->rows = vop->row_count[0] * vop->row_count[1] * vop->row_count[2];
  vop->j_count[0] = part / unroll;
  vop->j_count[1] = 1;
  for (uint32_t u = 0; u < unroll; u++) {
    tg_stream *s = tg_stream_of_mut(vop, (int)u);
    s->kind = TG_STREAM_ACC;
    tg_set_operand(&s->at, &sums, false);
    tg_set_rotation(&s->at, &sums, tile, t->made_tiles);
    s->at.base += u;
    s->row[0] = made.columns;
    s->row[1] = part;
    s->row[2] = (int64_t)rows * made.columns;
    s->j[0] = unroll;
    s = tg_line_set_stream(e, vop, tg_line_made_result(unroll, u), e->k->image_kind,
                           &e->channels[TG_LINE_IMAGE].ring,
                           (made.row + first) * row + (made.column + u) * position);
    s->row[0] = row;
    s->row[1] = part * position;
    s->j[0] = unroll * position;
    s->store = 1;
  }
  if (p->bias)
    (void)tg_line_set_stream(e, vop, tg_line_made_bias(unroll), p->bias_kind,
                             &e->channels[TG_LINE_WEIGHTS].ring, tg_line_product_bias_row(m, e->k, t));
  if (tg_line_has_marks(e->k, t)) {
    tg_stream *marks = tg_line_set_stream(e, vop, tg_line_made_marks(unroll), TG_STREAM_SPLAT32,
                                          &e->channels[TG_LINE_MARKS].ring, first);
    marks->row[0] = 1;
    marks->row[2] = 0;
  }
  return in;
}

void tg_line_emit_edges(const emission *e, tg_queue *queue) {
  tg_line_edge edges[TG_LINE_MOST_EDGES];
  int64_t position = tg_line_position(e->b.m, e->t, e->k->image_kind);
  int count = tg_line_edges(e->k, e->t, edges);
  for (int i = 0; i < count; i++) {
    tg_instr *in = tg_line_push_vop(e, queue, &e->microcode[e->made + 1]);
    tg_vx_instr *vop = &in->vx;
    vop->seg_repeat = 0;
    vop->row_count[0] = edges[i].rows;
    vop->row_count[1] = edges[i].columns;
    vop->rows = vop->row_count[0] * vop->row_count[1] * vop->row_count[2];
    vop->j_count[0] = vop->j_count[1] = 1;
    tg_stream *s = tg_line_set_stream(e, vop, 0, e->k->image_kind, &e->channels[TG_LINE_IMAGE].ring,
                                      edges[i].first * position);
    s->row[0] = edges[i].apart * position;
    s->row[1] = position;
    s->store = 1;
  }
}
