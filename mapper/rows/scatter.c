/* ScatterRows: at each of V rows the sum of its rows of the updates, in their order, from +0.
 *
 * An AGCU has a strip of columns of its own, and a tile that adds for it. It stores zeros over the strip, then takes one
 * update after the other: loads the row of sums by its index, to which the tile adds the update, and stores it by the
 * same index; only then comes the next one, which may be of the same row. Where all strips are not all columns, so many
 * sections follow each other. */
#include "mapper/rows/scatter.h"
#include "mapper/section/need.h"

#include "frontend/base/math.h"
#include "mapper/kernel/class.h"
#include "mapper/microcode/microcode.h"

#include <assert.h>

enum { STREAM_SUM, STREAM_UPDATE, STREAM_RESULT };

typedef struct scatter {
  tg_build b;
  tg_scatter_tiling t;
  int64_t count, size, columns; /* of updates; rows and columns of the result */
  int64_t first;                /* column of the first strip */
  tg_rows_tensor indices, updates, result;
  tg_channel channels[TG_SCATTER_ROLES];
  tg_vx_instr microcode;
} scatter;

/* ---- instructions */

/* Parts of a store memory: zeros, indices of a chunk, a row of sums. */
static tg_buffer place(uint32_t first, uint32_t rows) {
  return (tg_buffer){.base = first, .rows = rows, .count = 1};
}
static tg_buffer zeros_place(const scatter *s) { return place(0, s->t.zeros * s->t.row_flits); }
static tg_buffer index_place(const scatter *s) {
  return place(s->t.zeros * s->t.row_flits, s->t.index_flits);
}
static tg_buffer made_place(const scatter *s) {
  return place(s->t.zeros * s->t.row_flits + s->t.index_flits, s->t.row_flits);
}

/* Elements of the strip; what fills up its last vector is not there. */
static void bound_strip(const scatter *s, tg_agcu_instr *in, uint32_t rank) {
  int64_t first = s->first + (int64_t)rank * s->t.strip, left = s->columns - first;
  in->take = s->t.take;
  in->offset += first * in->stride[5];
  in->k_radix[2] = tg_min(left, s->t.strip);
}

static void load_to(tg_agcu_instr *in, tg_rows_way way, const tg_buffer *to) {
  tg_set_operand(&in->dst, to, false);
  in->dst_mask = 1ll << tg_rows_position(way);
}

static void fill_load(const scatter *s, int kind, tg_rows_way way, uint32_t rank, tg_agcu_instr *in) {
  if (kind == TG_STAGE_ZEROS) {
    tg_rows_walk(in, &s->result, s->size, s->columns);
    bound_strip(s, in, rank);
    in->rows = s->t.zeros;
    in->x_size = 0; /* nothing is there */
    load_to(in, way, &s->channels[TG_ROLE_ZEROS].ring);
  } else if (kind == TG_STAGE_INDICES) {
    tg_rows_walk_indices(in, &s->indices, s->count, s->t.rows);
    in->k_delta[1] = s->t.rows;
    load_to(in, way, &s->channels[TG_ROLE_INDICES].ring);
  } else {
    tg_rows_walk(in, &s->updates, s->count, s->columns);
    bound_strip(s, in, rank);
    in->rows = s->t.rows;
    in->m_delta[1] = s->t.rows;
    in->convert = tg_rows_widening(s->updates.tensor);
    load_to(in, way, &s->channels[TG_ROLE_UPDATES].ring);
  }
}

/* The row of an update's index, when the one before it is stored. */
static void walk_sums(const scatter *s, tg_agcu_instr *in, uint32_t rank) {
  tg_rows_walk(in, &s->result, s->count, s->columns);
  tg_rows_choose(in, &s->result, s->size, s->columns);
  bound_strip(s, in, rank);
  in->rows = 1;
  in->m_delta[1] = s->t.rows;
  in->m_delta[2] = 1;
  in->index_base = (int64_t)index_place(s).base * s->b.m->p;
  in->index_delta[2] = 1;
}

/* Of zeros, all of the strip. */
static void fill_store(const scatter *s, int kind, uint32_t rank, tg_queue *queue, tg_agcu_instr *in) {
  tg_buffer zeros = zeros_place(s), made = made_place(s);
  if (kind == TG_STAGE_SUMS) {
    walk_sums(s, in, rank);
    tg_set_operand(&in->src, &made, false);
    return;
  }
  tg_rows_walk(in, &s->result, s->size, s->columns);
  bound_strip(s, in, rank);
  in->rows = s->t.zeros;
  in->m_delta[2] = s->t.zeros;
  tg_set_operand(&in->src, &zeros, false);
  in->loop_count[2] = tg_div_up(s->size, s->t.zeros);
  in->loop_begin[2] = queue->count - 1;
}

static void set_stream(const scatter *s, tg_vx_instr *vop, int number, const tg_buffer *buffer, bool store) {
  tg_stream *stream = tg_stream_of_mut(vop, number);
  stream->kind = TG_STREAM_FP32;
  stream->store = store;
  tg_set_operand(&stream->at, buffer, true);
  stream->banks = buffer->banks;
  stream->row[2] = tg_kind_flits(s->b.m, TG_STREAM_FP32, tg_lanes(s->b.m));
}

static void fill_vop(const scatter *s, tg_vx_instr *vop) {
  for (int q = 0; q < TG_SEGMENTS; q++) {
    vop->seg_begin[q] = s->microcode.seg_begin[q];
    vop->seg_len[q] = s->microcode.seg_len[q];
  }
  vop->rows = vop->row_count[2] = s->t.row_flits * s->b.m->p / tg_lanes(s->b.m);
  vop->row_count[0] = vop->row_count[1] = vop->j_count[0] = vop->j_count[1] = 1;
  set_stream(s, vop, STREAM_SUM, &s->channels[TG_ROLE_SUM].ring, false);
  set_stream(s, vop, STREAM_UPDATE, &s->channels[TG_ROLE_UPDATES].ring, false);
  tg_stream_of_mut(vop, STREAM_UPDATE)->at.delta[2] = s->t.row_flits;
  set_stream(s, vop, STREAM_RESULT, &s->channels[TG_ROLE_MADE].ring, true);
}

static tg_instr *push_send(const scatter *s, int kind, tg_queue *queue, tg_rows_way way) {
  const tg_channel *c = s->channels;
  tg_buffer zeros = zeros_place(s), indices = index_place(s), made = made_place(s);
  if (kind == TG_STAGE_ZEROS)
    return tg_rows_send(&s->b, queue, way, &c[TG_ROLE_ZEROS].ring, &zeros, zeros.rows,
                        &c[TG_ROLE_ZEROS_AWAY]);
  if (kind == TG_STAGE_INDICES)
    return tg_rows_send(&s->b, queue, way, &c[TG_ROLE_INDICES].ring, &indices, indices.rows,
                        &c[TG_ROLE_INDICES_AWAY]);
  return tg_rows_send(&s->b, queue, way, &c[TG_ROLE_MADE].ring, &made, made.rows, &c[TG_ROLE_MADE_AWAY]);
}

/* The strip of an AGCU: the last one may be narrower. A vector is two flits, and both are loaded. */
static void narrow(scatter *s, uint32_t rank) {
  uint32_t lanes = tg_lanes(s->b.m);
  int64_t left = tg_min(s->columns - s->first - (int64_t)rank * s->t.strip, s->t.strip);
  uint32_t vectors = (uint32_t)tg_div_up(left, lanes);
  s->t.row_flits = tg_kind_flits(s->b.m, TG_STREAM_FP32, vectors * lanes);
  s->t.take = tg_kind_flits(s->b.m, TG_STREAM_FP32, (uint32_t)left) < s->t.row_flits ? vectors * lanes
                                                                                     : (uint32_t)left;
}

static tg_instr *push_at_agcu(const scatter *s, const tg_stage *stage, tg_queue *queue, tg_rows_way way,
                              uint32_t rank) {
  if (stage->kind == TG_STAGE_FILLED) return tg_build_push(&s->b, queue, TG_OP_agcu_sync);
  tg_instr *in = tg_build_push(&s->b, queue, stage->drains ? TG_OP_agcu_store : TG_OP_agcu_load);
  if (stage->drains) {
    fill_store(s, stage->kind, rank, queue, &in->agcu);
  } else if (stage->kind == TG_STAGE_SUMS) {
    walk_sums(s, &in->agcu, rank);
    load_to(&in->agcu, way, &s->channels[TG_ROLE_SUM].ring);
  } else
    fill_load(s, stage->kind, way, rank, &in->agcu);
  return in;
}

static tg_instr *push_in_tile(const scatter *s, const tg_stage *stage, tg_queue *queue, tg_rows_way way) {
  if (stage->seat == TG_UNIT_TX) return push_send(s, stage->kind, queue, way);
  tg_instr *in = tg_build_push(&s->b, queue, TG_OP_vx_vop);
  fill_vop(s, &in->vx);
  return in;
}

/* The AGCU that tile (r, col) adds for; false: there is none. */
static bool agcu_of(const tg_params *m, uint32_t r, uint32_t col, uint32_t *out) {
  tg_rows_way way;
  *out = r % m->cols == col ? r : m->rows + col;
  return tg_scatter_way(m, *out, &way) && way.r == r && way.col == col;
}

static void emit_stage(void *user, const tg_stage *stage, tg_queue *queue, tg_turn at) {
  const scatter *s = user;
  const tg_params *m = s->b.m;
  bool tile = stage->seat >= TG_SIDES;
  uint32_t agcu = stage->seat == TG_SIDE_WEST ? at.r : m->rows + at.col;
  tg_rows_way way;
  if (tile && !agcu_of(m, at.r, at.col, &agcu)) return;
  if (!tg_scatter_way(m, agcu, &way) || tg_scatter_ways_before(m, agcu) >= s->t.ways) return;
  scatter strip = *s;
  uint32_t rank = tg_scatter_ways_before(m, agcu);
  narrow(&strip, rank);
  tg_instr *in =
      tile ? push_in_tile(&strip, stage, queue, way) : push_at_agcu(&strip, stage, queue, way, rank);
  const tg_joint joint = {.kernel = s, .in = in, .r = way.r, .col = way.col};
  tg_stage_meet(stage, s->channels, TG_ALL_CHANNELS, &joint);
}

/* Updates come from the AGCU that the tile adds for. */
static tg_post updates_source(const void *kernel, const tg_channel *updates, uint32_t r, uint32_t col) {
  const scatter *s = kernel;
  uint32_t agcu;
  bool adds = agcu_of(s->b.m, r, col, &agcu);
  assert(adds);
  (void)adds;
  return tg_post_to_agcu(updates, tg_is_west(s->b.m, agcu), r, col);
}

static bool open_channels(scatter *s) {
  static const tg_channel_end order[] = {
      {TG_ROLE_ZEROS, TG_END_FULL},        {TG_ROLE_INDICES, TG_END_FULL},
      {TG_ROLE_INDICES_AWAY, TG_END_FREE}, {TG_ROLE_SUM, TG_END_FULL},
      {TG_ROLE_MADE, TG_END_FULL},         {TG_ROLE_UPDATES, TG_END_FULL | TG_END_AGCU},
      {TG_ROLE_ZEROS_AWAY, TG_END_AGCU},   {TG_ROLE_INDICES_AWAY, TG_END_AGCU},
      {TG_ROLE_MADE_AWAY, TG_END_AGCU},    {TG_ROLE_FILLED, TG_END_AGCU},
      {TG_ROLE_NEXT, TG_END_AGCU}};
  tg_channel_plan plans[TG_SCATTER_ROLES];
  tg_scatter_plan_channels(&s->t, plans);
  for (int i = 0; i < TG_SCATTER_ROLES; i++) s->channels[i] = TG_CHANNEL_NONE;
  if (!tg_channels_place(&s->b, plans, TG_SCATTER_ROLES, s->channels)) return false;
  tg_channels_open(&s->b, plans, order, (int)(sizeof order / sizeof *order), s->channels);
  s->channels[TG_ROLE_UPDATES].source = updates_source;
  return true;
}

static tg_status pack(tg_compile *c, scatter *s) {
  tg_mc mc;
  tg_mc_begin(&mc, c->arena);
  tg_mc_ref sum = tg_mc_load(&mc, STREAM_SUM, true), update = tg_mc_load(&mc, STREAM_UPDATE, true);
  tg_mc_store(&mc, STREAM_RESULT, true, tg_mc_alu(&mc, TG_ALU_add, sum, update, TG_MC_NONE));
  return tg_mc_pack(&mc, c->program, s->b.section, &s->microcode, c->diag);
}

/* Of the columns from `first` on; *out_next is the first that is left. */
static tg_status emit_strips(tg_compile *c, const tg_kernel *kernel, int64_t first, int64_t *out_next) {
  const tg_node *node = kernel->root;
  const char *name = tg_kernel_name(c, kernel);
  scatter s = {.count = tg_value_elements(tg_in(node, 1)),
               .size = tg_out(node)->dims[0].size,
               .columns = tg_out(node)->dims[1].size,
               .first = first};
  tg_shortage lacks = {0};
  tg_build_begin(&s.b, c, name);
  if (!tg_tile_scatter(c->m, s.count, s.columns - first, &s.t, &lacks))
    return tg_fail(
        c->diag, TG_INVALID,
        "%s: sums of rows do not fit the scratchpads (%u banks of %u flits) and store memories (%u flits) of "
        "this architecture%s",
        name, c->m->banks, tg_bank_rows(c->m), tg_store_rows(c->m), tg_shortage_text(c->arena, &lacks));
  if (!open_channels(&s)) return TG_INVALID; /* which says how many banks it needs */
  s.updates = tg_rows_open(&s.b, tg_place_of(c, tg_in(node, 0)));
  s.indices = tg_rows_open(&s.b, tg_place_of(c, tg_in(node, 1)));
  s.result = tg_rows_open(&s.b, tg_place_of(c, tg_out(node)));
  tg_status status = pack(c, &s);
  if (status) return status;
  tg_stages stages;
  const uint32_t loops[TG_SCATTER_NESTS][3] = {
      [TG_NEST_CHUNKS] = {0, s.t.chunks, 0}, [TG_NEST_ROWS] = {0, s.t.chunks, s.t.rows}};
  tg_scatter_list_stages(c->m, &s.t, &stages);
  tg_stages_emit(&s.b, &stages, c->m->rows, loops, emit_stage, &s);
  tg_build_invoke(&s.b, name);
  *out_next = first + (int64_t)s.t.ways * s.t.strip;
  return TG_OK;
}

static tg_status emit(tg_compile *c, const tg_kernel *kernel) {
  int64_t first = 0, columns = kernel->output->dims[1].size;
  tg_status status = TG_OK;
  while (first < columns && !status) status = emit_strips(c, kernel, first, &first);
  return status;
}

static bool accepts(const tg_compile *c, const tg_node *node) {
  (void)c;
  return node->op == TG_OP_SCATTER_ROWS;
}

/* The zeros, and a round trip for each update: the memory's latency, and what it takes to arrive, to be added and to
 * leave again. */
static double cycles(tg_compile *c, const tg_kernel *kernel) {
  const tg_value *y = kernel->output;
  tg_scatter_tiling t;
  tg_stages stages;
  tg_shortage unused = {0};
  if (!tg_tile_scatter(c->m, tg_value_elements(tg_in(kernel->root, 1)), y->dims[1].size, &t, &unused))
    return TG_NEVER;
  tg_scatter_list_stages(c->m, &t, &stages);
  tg_port_time port = tg_stages_port(&stages, TG_SIDE_WEST);
  double units = tg_stages_unit(&stages, TG_UNIT_VX, -1) + tg_stages_unit(&stages, TG_UNIT_TX, -1),
         trip = c->m->dram_latency + port.load + port.drain + units;
  return TG_SECTION_CYCLES + (double)y->dims[0].size * port.drain +
         (double)tg_value_elements(tg_in(kernel->root, 1)) * trip;
}

const tg_kernel_class tg_scatter_class = {
    .name = "scatter",
    .accepts = accepts,
    .cycles = cycles,
    .emit = emit,
};
