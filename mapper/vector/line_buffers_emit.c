/* The section of a pool or depthwise convolution from line buffers: loads of blocks, VOPs, stores. */
#include "mapper/vector/line_buffers_emission.h"

typedef tg_line_emission emission;

static bool is_joined(const emission *e) { return tg_line_is_joined(e->b.m, e->k, e->t); }
static int64_t take_of(const emission *e) { return tg_line_take_of(e->b.m, e->t); }

/* ---- walks ---- */

/* A row of a block is columns of positions, each of its channels, or one run: digits k1 and e. */
static void set_row(const emission *e, tg_agcu_instr *in, int number, uint32_t rows, uint32_t columns,
                    const int64_t stride[TG_LINE_DIMS]) {
  int64_t channels = e->k->windows->image->dims[3].size, bytes = tg_line_tensor_bytes(e, number);
  bool joined = is_joined(e);
  int64_t position = joined ? channels : take_of(e);
  in->k_radix[0] = rows;
  in->k_radix[1] = joined ? 1 : columns;
  in->k_radix[2] = joined ? columns * position : position;
  in->stride[3] = stride[1] * bytes;
  in->stride[4] = joined ? 0 : stride[2] * bytes;
  in->take = rows * columns * position;
}

/* ---- loads ---- */

/* Coordinate x counts elements of a row of the image: channels left and right of it are out of bounds, and so is what
 * lies behind the last row. Lanes behind the last channel get those of other columns, and nobody stores them. */
static tg_instr *load_image(const emission *e, tg_queue *queue, uint32_t r, uint32_t col) {
  const tg_windows *w = e->k->windows;
  const tg_line_tiling *t = e->t;
  const int64_t *stride = e->k->image_stride;
  int64_t channels = w->image->dims[3].size, take = take_of(e), down = t->rows * w->row_step[0],
          along = t->columns * w->row_step[1];
  uint32_t position = tg_line_position(e->b.m, t, e->k->image_kind),
           moved = tg_line_moved(e->b.m, e->k, t, e->k->image_kind),
           columns = tg_line_loaded_columns(e->k, t), lie = tg_line_image_columns(e->k, t);
  tg_instr *in = tg_line_push_load(e, queue, tg_stream_convert(e->k->image, e->k->image_kind),
                                   &e->channels[TG_LINE_IMAGE].ring, tg_checkerboard_mask(r, col));
  tg_agcu_instr *load = &in->agcu;
  tg_line_set_blocks(e, load, TG_LINE_TENSOR_IMAGE, r * e->b.m->cols + col,
                     (tg_line_digits){stride[0], down * stride[1], along * stride[2], take});
  set_row(e, load, TG_LINE_TENSOR_IMAGE, tg_line_image_rows(e->k, t), columns, stride);
  load->offset +=
      (w->origin[0] * stride[1] + w->origin[1] * stride[2]) * tg_line_tensor_bytes(e, TG_LINE_TENSOR_IMAGE);
  tg_line_set_steps(e, load, (tg_line_digits){.rows = down},
                    (tg_line_digits){.columns = along * channels, .channels = take});
  load->y_inc[3] = 1;
  load->x_inc[4] = is_joined(e) ? 0 : channels;
  load->y_org = w->origin[0];
  load->x_org = w->origin[1] * channels;
  load->y_size = w->image->dims[1].size;
  load->x_size = w->image->dims[2].size * channels;
  load->fill = w->fill[0];
  if (moved < position) {
    load->dst_inner = moved;
    load->dst_stride = position;
  } else if (columns < lie) {
    load->dst_inner = columns * position;
    load->dst_stride = lie * position;
  }
  return in;
}

static void meet(const emission *e, const tg_stage *stage, tg_joint at) {
  tg_stage_meet(stage, e->channels, TG_ALL_CHANNELS, &at);
}

/* Loads of one tile and block: a SYNC asks for all of them; the last load tells the tile that its block is complete. */
static void emit_blocks(void *user, const tg_stage *stage, tg_queue *queue, uint32_t r, uint32_t col) {
  const emission *e = user;
  int64_t mask = tg_checkerboard_mask(r, col);
  uint32_t tile = r * e->b.m->cols + col;
  tg_instr *sync = tg_build_push(&e->b, queue, TG_OP_agcu_sync);
  meet(e, stage, (tg_joint){.in = sync, .r = r, .col = col, .first = true, .tiles = mask});
  tg_instr *last = load_image(e, queue, r, col);
  for (int number = TG_LINE_TENSOR_WEIGHTS;
       number <= TG_LINE_TENSOR_BIAS && !tg_line_loads_once(e->b.m, e->k, e->t); number++)
    if (tg_line_tensor(e, number)) last = tg_line_load_weights(e, queue, number, tile, mask);
  meet(e, stage, (tg_joint){.in = last, .r = r, .col = col, .last = true});
}

/* What all blocks of a tile read: of each tile its own, or to all tiles of a row of the array the same. */
static void emit_weights(const emission *e, const tg_stage *stage, tg_queue *queue, uint32_t tile,
                         int64_t mask) {
  tg_instr *last = NULL;
  for (int number = TG_LINE_TENSOR_WEIGHTS; number <= TG_LINE_TENSOR_BIAS; number++) {
    if (!tg_line_tensor(e, number)) continue;
    last = tg_line_load_weights(e, queue, number, tile, mask);
    last->agcu.m_first = tile % e->t->blocks[2];
    last->agcu.m_delta[1] = 0;
  }
  meet(e, stage, (tg_joint){.in = last, .last = true});
}

static void emit_own_weights(void *user, const tg_stage *stage, tg_queue *queue, uint32_t r, uint32_t col) {
  const emission *e = user;
  emit_weights(e, stage, queue, r * e->b.m->cols + col, tg_checkerboard_mask(r, col));
}

/* ---- stores ---- */

/* Coordinates are the block of the reduction, and the channel: the last rows of blocks may have some behind the image. */
static void fill_totals(const emission *e, uint32_t r, uint32_t col, tg_agcu_instr *store) {
  const tg_line_kernel *k = e->k;
  int64_t channels = k->windows->image->dims[3].size, take = take_of(e),
          bytes = tg_line_tensor_bytes(e, TG_LINE_TENSOR_TOTAL), rows = tg_line_totals(k, e->t),
          all = tg_out(k->totals->root)->dims[1].size;
  tg_line_set_blocks(e, store, TG_LINE_TENSOR_TOTAL, r * e->b.m->cols + col,
                     (tg_line_digits){all * channels, rows * channels, 0, take});
  tg_line_set_steps(e, store, (tg_line_digits){.rows = rows}, (tg_line_digits){.channels = take});
  store->k_radix[0] = rows;
  store->k_radix[1] = 1;
  store->k_radix[2] = take;
  store->stride[3] = channels * bytes;
  store->y_inc[3] = 1;
  store->y_size = all;
  store->x_size = channels;
  store->convert = k->total_kind == TG_STREAM_FP32 ? TG_CVT_32 : TG_CVT_16;
  store->take = rows * take;
}

static void fill_store(const void *user, int port, uint32_t r, uint32_t col, tg_agcu_instr *store) {
  const emission *e = user;
  if (port) {
    fill_totals(e, r, col, store);
    return;
  }
  const tg_windows *w = e->k->windows;
  const tg_line_tiling *t = e->t;
  const int64_t *stride = e->k->result_stride;
  int64_t channels = w->image->dims[3].size, take = take_of(e), rows = tg_line_result_rows(e->k, t),
          columns = tg_line_result_columns(e->k, t);
  tg_line_set_blocks(e, store, TG_LINE_TENSOR_RESULT, r * e->b.m->cols + col,
                     (tg_line_digits){stride[0], rows * stride[1], columns * stride[2], take});
  set_row(e, store, TG_LINE_TENSOR_RESULT, (uint32_t)rows, (uint32_t)columns, stride);
  tg_line_set_steps(e, store, (tg_line_digits){.rows = rows}, (tg_line_digits){.channels = take});
  if (is_joined(e)) store->x_inc[2] = store->x_inc[5] = 0;
  store->y_inc[3] = 1;
  store->y_size = e->k->transposed ? e->k->transposed->rows : w->rows[0];
  store->x_size = channels;
  store->convert = e->k->result_kind == TG_STREAM_FP32 ? TG_CVT_32 : TG_CVT_16;
  store->take = t->drain_flits * (tg_flit_bytes(e->b.m) / tg_line_tensor_bytes(e, TG_LINE_TENSOR_RESULT));
  store->k_delta[2] = store->take;
}

static void plan_egress(emission *e) {
  const tg_line_tiling *t = e->t;
  uint32_t position = tg_line_position(e->b.m, t, e->k->result_kind),
           moved = tg_line_moved(e->b.m, e->k, t, e->k->result_kind),
           front = tg_line_results_lead(t) * position;
  const tg_buffer *ring = &e->channels[TG_LINE_RESULT].ring;
  e->ports[0] = (tg_store_port){.from = &e->channels[TG_LINE_RESULT],
                                .away = &e->channels[TG_LINE_AWAY],
                                .flits = t->drain_flits,
                                .drain_tiles = t->drain_tiles,
                                .loops = {tg_line_image_loops(e->k, t), t->rounds, t->drain_tiles},
                                .buffer = tg_buffer_part(e->b.m, ring, front, ring->rows - front)};
  if (!tg_line_is_dense(t)) {
    e->ports[0].inner = t->run * position;
    e->ports[0].stride = tg_line_results_apart(t) * position;
  } else if (moved < position) {
    e->ports[0].inner = moved;
    e->ports[0].stride = position;
  }
  if (e->k->product) {
    e->ports[0].loops[0] = tg_line_channel_rounds(e->b.m, t);
    e->ports[0].loops[1] = tg_line_row_rounds(e->b.m, e->k, t);
  }
  e->egress = (tg_egress_plan){.ports = e->ports, .count = 1, .often = 1, .every = 1, .steps = 1};
  if (!e->k->totals) return;
  e->ports[1] = (tg_store_port){
      .from = &e->channels[TG_LINE_TOTAL],
      .away = &e->channels[TG_LINE_TOTAL_AWAY],
      .flits = tg_line_totals_flits(e->b.m, e->k, t),
      .drain_tiles = 1,
      .loops = {e->ports[0].loops[0], e->ports[0].loops[1], 1},
      .buffer = e->channels[TG_LINE_TOTAL].ring,
  };
  e->egress.count = 2;
  e->egress.every = t->drain_tiles;
  e->egress.steps = 0;
}

/* ---- the section ---- */

static bool allocate(emission *e) {
  static const tg_channel_end order[] = {{TG_LINE_RESULT, TG_END_FULL | TG_END_FREE},
                                         {TG_LINE_AWAY, TG_END_FREE},
                                         {TG_LINE_IMAGE, TG_END_FULL | TG_END_AGCU},
                                         {TG_LINE_WEIGHTS, TG_END_FULL | TG_END_AGCU},
                                         {TG_LINE_AWAY, TG_END_AGCU},
                                         {TG_LINE_PIXELS, TG_END_FULL | TG_END_AGCU},
                                         {TG_LINE_FILTERS, TG_END_FULL | TG_END_AGCU},
                                         {TG_LINE_MULTIPLIED, TG_END_FULL | TG_END_FREE},
                                         {TG_LINE_MARKS, TG_END_FULL | TG_END_AGCU},
                                         {TG_LINE_TOTAL, TG_END_FULL | TG_END_FREE},
                                         {TG_LINE_TOTAL_AWAY, TG_END_FREE | TG_END_AGCU}};
  tg_channel_plan plans[TG_LINE_CHANNELS];
  tg_line_plan_channels(e->b.m, e->k, e->t, plans);
  for (int i = 0; i < TG_LINE_CHANNELS; i++) e->channels[i] = TG_CHANNEL_NONE;
  if (!tg_channels_place(&e->b, plans, TG_LINE_CHANNELS, e->channels)) return false;
  tg_channels_open(&e->b, plans, order, (int)(sizeof order / sizeof *order), e->channels);
  e->channels[TG_LINE_IMAGE].source = e->k->product ? NULL : tg_checkerboard_source;
  if (e->k->product) tg_line_set_made_sources(e);
  return true;
}

static void emit_stage(void *user, const tg_stage *stage, tg_queue *queue, tg_turn at) {
  const emission *e = user;
  const tg_params *m = e->b.m;
  tg_joint unit = {.r = at.r, .col = at.col};
  switch ((tg_line_stage)stage->kind) {
  case TG_STAGE_BLOCKS: tg_checkerboard_each(m, stage, queue, at, emit_blocks, user); break;
  case TG_STAGE_WEIGHTS:
    if (stage->seat == TG_UNIT_VX)
      unit.in = tg_build_push(&e->b, queue, TG_OP_vx_sync), meet(e, stage, unit);
    else if (e->t->blocks[2] == 1)
      emit_weights(e, stage, queue, at.r * m->cols, ((INT64_C(1) << m->cols) - 1) << 1);
    else
      tg_checkerboard_each(m, stage, queue, at, emit_own_weights, user);
    break;
  case TG_STAGE_PIXELS: tg_line_emit_pixels(e, stage, queue, at); break;
  case TG_STAGE_FILTERS: tg_line_emit_filters(e, stage, queue, at.col); break;
  case TG_STAGE_EDGES: tg_line_emit_edges(e, queue); break;
  case TG_STAGE_MULTIPLY: tg_line_emit_multiply(e, stage, queue, at.r, at.col); break;
  case TG_STAGE_VOP: tg_line_emit_vops(e, stage, queue, at.r, at.col); break;
  case TG_STAGE_RESULTS: tg_egress_emit(&e->b, &e->egress, stage, queue, at, fill_store, e); break;
  }
}

/* Microcode of all VOPs, of which each has segments of its own. */
static tg_status write_microcode(emission *e) {
  const tg_line_kernel *lines = e->k;
  const tg_line_tiling *t = e->t;
  tg_compile *c = e->b.c;
  int splits[TG_LINE_MOST_PARTS + 3], further = 0, segments = tg_line_segments(lines, t);
  tg_mc mc;
  (t->depth ? lines->write_passes : lines->write)(lines->user, lines, t, &mc);
  for (int parts = t->depth ? segments / 2 : 1; further + 1 < parts; further++)
    splits[further] = 2 * (further + 1);
  if (lines->totals) {
    tg_mc_next_segment(&mc);
    tg_line_write_totals(c, lines, tg_line_totals_unroll(lines, t), &mc);
    splits[further++] = segments;
    segments += TG_LINE_TOTALS_SEGMENTS;
    e->totals = further;
  }
  if (lines->product) {
    tg_mc_next_segment(&mc);
    tg_line_write_product(c, lines, t->made_at_once, tg_line_has_marks(lines, t), &mc);
    splits[further++] = segments;
    segments += TG_LINE_MADE_SEGMENTS;
    e->made = further;
    tg_mc_next_segment(&mc);
    tg_line_write_zero(lines, &mc);
    splits[further++] = segments;
  }
  return tg_mc_pack_parts(&mc, splits, further, c->program, e->b.section, e->microcode, c->diag);
}

tg_status tg_emit_lines(tg_compile *c, const tg_kernel *kernel, const tg_line_kernel *lines,
                        const tg_line_tiling *t) {
  emission e = {.k = lines, .t = t};
  const char *name = tg_kernel_name(c, kernel);
  tg_build_begin(&e.b, c, name);
  if (!allocate(&e)) return TG_INVALID; /* which says how many banks it needs */
  plan_egress(&e);
  for (int i = 0; i < TG_LINE_TENSORS; i++)
    if (tg_line_tensor(&e, i)) {
      int64_t first = i == TG_LINE_TENSOR_RESULT ? lines->result_first * tg_line_tensor_bytes(&e, i) : 0;
      e.entry[i] = tg_build_base(&e.b, tg_line_tensor(&e, i), (uint64_t)first, &e.residue[i]);
    }
  tg_status status = write_microcode(&e);
  if (status) {
    tg_diag_prefix(c->diag, "%s", name);
    return status;
  }
  tg_stages stages;
  const uint32_t loops[TG_LINE_NESTS][3] = {
      [TG_NEST_BLOCKS] = {tg_line_image_loops(lines, t), t->rounds, 0},
      [TG_NEST_CHANNELS] = {0, lines->product ? tg_line_channel_rounds(c->m, t) : 0,
                            lines->product ? tg_line_row_rounds(c->m, lines, t) : 0}};
  tg_line_list_stages(c->m, lines, t, NULL, &stages);
  tg_stages_emit(&e.b, &stages, c->m->rows, loops, emit_stage, &e);
  tg_invocation *invocation = tg_build_invoke(&e.b, name);
  if (lines->rounds) invocation->key_nodes[TG_KEY_PRODUCT] = (uint32_t)lines->rounds->id;
  if (lines->product && lines->product->k_tile)
    invocation->key_nodes[TG_KEY_SECOND] = (uint32_t)lines->product->kernel->root->id;
  return TG_OK;
}
