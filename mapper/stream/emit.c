/* A stream kernel's section: buffers, loads, VOPs, stores. */
#include "mapper/expression/expression.h"
#include "mapper/section/egress.h"
#include "mapper/stream/tiling.h"

#include <assert.h>
#include <string.h>

/* The channels of its section; what they hold lies where tg_stream_lay_out has it. */
enum {
  INPUTS,
  VECTORS,                              /* which come once */
  RESULTS,                              /* from vx to tx, by number of the result, */
  AWAY = RESULTS + 1 + TG_MORE_RESULTS, /* and to the AGCU */
  CHANNELS = AWAY + 1 + TG_MORE_RESULTS
};

typedef struct emission {
  tg_build b;
  const tg_stream_kernel *plan;
  tg_stream_tiling t;
  tg_channel channels[CHANNELS];
  tg_buffer in[TG_STREAMS], vector[TG_STREAMS];
  tg_buffer kept, number; /* what the VOP before leaves: rows, and a vector for each */
  tg_store_port ports[1 + TG_MORE_RESULTS];
  int entry[2 * TG_STREAMS + 1]; /* of the base table, by number of the walk */
  int64_t residue[2 * TG_STREAMS + 1];
} emission;

/* By number: tg_stream_walks. */
static const tg_walk_plan *walk_of(const tg_stream_kernel *plan, int number) {
  if (number < plan->inputs) return &plan->input[number];
  if (number == plan->inputs) return &plan->output;
  number -= plan->inputs + 1;
  return number < plan->vectors ? &plan->vector[number] : &plan->more_output[number - plan->vectors];
}

/* Number of the store port of result `x`, and the other way round. */
static int port_of(const tg_stream_kernel *plan, int x) {
  return !tg_stream_is_windowed(plan) ? x : x == plan->more ? 0 : x + 1;
}

static int result_of(const tg_stream_kernel *plan, int port) {
  return !tg_stream_is_windowed(plan) ? port : port ? port - 1 : plan->more;
}

/* The AGCU on the other side of the one that the tile's results leave by. */
static bool loads_from_north(uint32_t r, uint32_t col) { return tg_egress_is_west(r, col); }

static tg_queue *load_queue(const emission *e, uint32_t r, uint32_t col) {
  return loads_from_north(r, col) ? tg_north_queue(&e->b, col, TG_CTX_LOAD)
                                  : tg_west_queue(&e->b, r, TG_CTX_LOAD);
}

/* The tile on the lane that its loads come by. */
static uint32_t load_position(uint32_t r, uint32_t col) { return (loads_from_north(r, col) ? r : col) + 1; }

/* Elements of a row block that are loaded and stored: no more than there are columns, since what lies beyond
 * costs a port as much as what counts. Whole rows are loaded with their zeros. */
static uint32_t moved(const emission *e) {
  const tg_stream_kernel *plan = e->plan;
  bool part = plan->column_blocks == 1 && !plan->whole_rows && e->t.parts == 1 && !plan->output.linear_size;
  return part && plan->output.columns < plan->take ? (uint32_t)plan->output.columns : plan->take;
}

/* Inputs, or vectors, that lie side by side are parts of one buffer. */
static void place_beside(emission *e, const tg_buffer *inputs, const tg_buffer *vectors) {
  const tg_stream_kernel *plan = e->plan;
  const tg_params *m = e->b.m;
  uint32_t at = 0;
  for (int i = 0; i < plan->inputs; i++) {
    if (!plan->beside[i]) continue;
    uint32_t rows = e->t.chunk_rows * tg_stream_input_flits(m, plan, i) * plan->window[i];
    e->in[i] = tg_buffer_part(m, inputs, at, rows);
    at += rows;
  }
  at = 0;
  for (int v = 0; v < plan->vectors && plan->vectors_beside; v++) {
    uint32_t flits = tg_stream_vector_flits(m, plan, v);
    e->vector[v] = tg_buffer_part(m, vectors, at, flits);
    at += flits;
  }
}

static bool allocate(emission *e) {
  const tg_stream_kernel *plan = e->plan;
  tg_room rooms[TG_STREAM_ROLES];
  tg_buffer inputs, vectors,
      *buffers[TG_STREAM_ROLES] = {[TG_ROLE_KEPT_ROWS] = &e->kept,
                                   [TG_ROLE_KEPT_VECTORS] = &e->number,
                                   [TG_ROLE_INPUTS_BESIDE] = &inputs,
                                   [TG_ROLE_VECTORS_BESIDE] = &vectors};
  for (int i = 0; i < plan->inputs; i++) buffers[TG_ROLE_INPUTS + i] = &e->in[i];
  for (int v = 0; v < plan->vectors; v++) buffers[TG_ROLE_VECTORS + v] = &e->vector[v];
  for (int x = 0; x <= plan->more; x++) buffers[TG_ROLE_RESULTS + x] = &e->ports[port_of(plan, x)].buffer;
  tg_stream_lay_out(e->b.m, plan, &e->t, rooms);
  if (!tg_build_rooms(&e->b, rooms, TG_STREAM_ROLES, buffers)) return false;
  place_beside(e, &inputs, &vectors);
  return true;
}

/* ---- channels ---- */

/* A chunk of the inputs, from the AGCU that results do not leave by. */
static tg_post inputs_source(const void *kernel, const tg_channel *inputs, uint32_t r, uint32_t col) {
  (void)kernel;
  return tg_post_to_agcu(inputs, !loads_from_north(r, col), r, col);
}

static void open_one(emission *e, const tg_channel_plan *plans, int channel, int ends) {
  const tg_channel_end end = {(uint8_t)channel, (uint8_t)ends};
  tg_channels_open(&e->b, plans, &end, 1, e->channels);
}

/* In the order of their numbers. Results that leave equally often arrive together, with the first of them. */
static void open_channels(emission *e) {
  const tg_stream_kernel *plan = e->plan;
  int first = tg_stream_is_windowed(plan) ? plan->more : 0;
  tg_channel_plan plans[CHANNELS] = {[INPUTS] = {.full = 1, .west = true, .north = true, .credits = 2},
                                     [VECTORS] = {.full = plan->vectors > 0}};
  for (int i = 0; i < CHANNELS; i++) e->channels[i] = TG_CHANNEL_NONE;
  for (int x = 0; x <= plan->more; x++) {
    plans[RESULTS + x] = (tg_channel_plan){.full = 1, .free = 1, .initial = 2};
    plans[AWAY + x] = (tg_channel_plan){.free = 1, .initial = 2, .west = true, .north = true};
    open_one(e, plans, RESULTS + x, TG_END_FULL | TG_END_FREE);
    open_one(e, plans, AWAY + x, TG_END_FREE);
  }
  open_one(e, plans, INPUTS, TG_END_FULL | TG_END_AGCU);
  open_one(e, plans, VECTORS, TG_END_FULL);
  open_one(e, plans, AWAY + first, TG_END_AGCU);
  if (first) open_one(e, plans, AWAY, TG_END_AGCU);
  for (int x = 1; x <= plan->more; x++) {
    if (x == first) continue;
    e->channels[AWAY + x].west = e->channels[AWAY].west;
    e->channels[AWAY + x].north = e->channels[AWAY].north;
  }
  e->channels[INPUTS].source = inputs_source;
}

static void meet(const emission *e, int channel, tg_join join, tg_instr *in, uint32_t r, uint32_t col) {
  tg_join_channel(&e->channels[channel], &join, &(tg_joint){.in = in, .r = r, .col = col});
}

/* In the order of results. */
static void set_ports(emission *e) {
  const tg_stream_kernel *plan = e->plan;
  for (int x = 0; x <= plan->more; x++) {
    uint32_t row = tg_kind_flits(e->b.m, tg_stream_result_kind(plan, x), tg_stream_out_take(plan)),
             sent = plan->out_take ? row : tg_kind_flits(e->b.m, tg_stream_result_kind(plan, x), moved(e)),
             pieces = e->t.parts > 1 ? e->t.parts : tg_stream_result_window(plan, x);
    tg_store_port *port = &e->ports[port_of(plan, x)];
    *port = (tg_store_port){.from = &e->channels[RESULTS + x],
                            .away = &e->channels[AWAY + x],
                            .flits = e->t.parts > 1 ? e->t.piece_flits : e->t.chunk_rows * sent,
                            .pieces = pieces,
                            .loops = {e->t.loops[0], e->t.loops[1], pieces},
                            .buffer = port->buffer};
    if (sent < row) port->inner = sent, port->stride = row;
  }
}

/* Rows of tile t in chunk i: (i*T + t) * chunk_rows on. Column block j: j*take on. */
static void set_rows(const emission *e, tg_agcu_instr *in, uint32_t tile, uint32_t take) {
  in->rows = e->t.chunk_rows;
  in->take = take;
  in->m_first = (int64_t)tile * e->t.chunk_rows;
  in->m_delta[0] = (int64_t)tg_tiles(e->b.m) * e->t.chunk_rows;
  in->k_delta[1] = e->plan->take;
}

static tg_agcu_instr *push_load(const emission *e, int input, uint32_t r, uint32_t col, bool last_window) {
  const tg_stream_kernel *plan = e->plan;
  tg_instr *in = tg_build_push(&e->b, load_queue(e, r, col), TG_OP_agcu_load);
  tg_agcu_instr *load = &in->agcu;
  tg_fill_walk(load, &plan->input[input], e->entry[input], e->residue[input]);
  bool number = plan->input_kind[input] == TG_STREAM_SPLAT32;
  set_rows(e, load, r * e->b.m->cols + col, number ? 1 : moved(e));
  if (number) load->k_delta[1] = 0;
  load->convert = tg_stream_convert(plan->input[input].tensor, plan->input_kind[input]);
  tg_set_operand(&load->dst, &e->in[input], !last_window);
  load->dst_inner = 65535;
  if (moved(e) < plan->take && !number) {
    load->dst_inner = tg_kind_flits(e->b.m, plan->input_kind[input], moved(e));
    load->dst_stride = tg_kind_flits(e->b.m, plan->input_kind[input], plan->take);
  }
  load->dst_mask = 1ll << load_position(r, col);
  if (plan->adjust_load) plan->adjust_load(plan->user, input, load);
  if (plan->window[input] > 1) {
    uint32_t step = e->t.chunk_rows * tg_stream_input_flits(e->b.m, plan, input);
    int64_t elements = number ? 1 : plan->window_step;
    if (last_window) {
      load->dst_base += (int64_t)step * (plan->window[input] - 1);
      load->k_first += elements * (plan->window[input] - 1);
    } else {
      load->dst_delta[2] = step;
      load->k_delta[2] = elements;
    }
  }
  return load;
}

/* Loads of one tile and chunk: credit first; the last load tells the tile that its chunk is complete. */
static void emit_loads(emission *e, uint32_t r, uint32_t col) {
  const tg_stream_kernel *plan = e->plan;
  tg_queue *queue = load_queue(e, r, col);
  tg_instr *sync = tg_build_push(&e->b, queue, TG_OP_agcu_sync);
  sync->common.credit_base = loads_from_north(r, col) ? e->channels[INPUTS].north : e->channels[INPUTS].west;
  sync->common.credit_mask = 1ll << load_position(r, col);
  for (int i = 0; i < plan->inputs; i++) {
    if (plan->window[i] > 1) {
      tg_agcu_instr *load = push_load(e, i, r, col, false);
      load->loop_count[2] = plan->window[i] - 1;
      load->loop_begin[2] = queue->count - 1;
    }
    tg_agcu_instr *load = push_load(e, i, r, col, true);
    if (i + 1 < plan->inputs) continue;
    tg_channel_deliver(&e->channels[INPUTS], load);
  }
}

/* What every row reads, to all tiles of a row of the array; the last load tells them. */
static void emit_vector_loads(emission *e, uint32_t r) {
  const tg_stream_kernel *plan = e->plan;
  for (int v = 0; v < plan->vectors; v++) {
    tg_agcu_instr *load = &tg_build_push(&e->b, tg_west_queue(&e->b, r, TG_CTX_AUX), TG_OP_agcu_load)->agcu;
    tg_fill_walk(load, &plan->vector[v], e->entry[plan->inputs + 1 + v], e->residue[plan->inputs + 1 + v]);
    load->rows = 1;
    load->take = tg_stream_vector_elements(plan, v);
    load->convert = tg_stream_convert(plan->vector[v].tensor, plan->vector_kind[v]);
    tg_set_operand(&load->dst, &e->vector[v], false);
    load->dst_inner = 65535;
    load->dst_mask = ((1 << e->b.m->cols) - 1) << 1;
    if (v + 1 < plan->vectors) continue;
    tg_channel_deliver(&e->channels[VECTORS], load);
  }
}

/* The streams of the VOP: a row of the VOP is a vector, or (whole_rows) a row of the kernel whose vectors
 * repeat by j, or (across) a vector of all rows, which repeat by j. */
static void set_stream(const emission *e, tg_stream *s, int kind, const tg_buffer *buffer, bool store,
                       uint32_t window) {
  uint32_t vector = tg_kind_flits(e->b.m, kind, tg_lanes(e->b.m)), row = vector * e->t.vectors;
  if (store && e->plan->out_take) row = tg_kind_flits(e->b.m, kind, e->plan->out_take);
  s->kind = kind;
  s->store = store;
  tg_set_operand(&s->at, buffer, false);
  s->banks = buffer->banks;
  if (kind == TG_STREAM_SPLAT32) {
    *(e->plan->across ? &s->j[1] : &s->row[e->plan->whole_rows ? 2 : 1]) = 1;
    if (window > 1) s->j[1] = e->t.chunk_rows;
    return;
  }
  s->row[1] = e->plan->across ? 0 : row;
  s->row[2] = e->plan->whole_rows ? row : vector;
  if (e->plan->whole_rows)
    s->j[1] = vector;
  else if (e->plan->across)
    s->j[1] = row;
  else if (window > 1)
    s->j[1] = (int64_t)row * e->t.chunk_rows;
}

static void set_vector(const emission *e, tg_stream *s, int v) {
  s->kind = e->plan->vector_kind[v];
  tg_set_operand(&s->at, &e->vector[v], false);
  s->banks = e->vector[v].banks;
  if (e->plan->vector_kind[v] == TG_STREAM_SPLAT32) return;
  *(e->plan->whole_rows ? &s->j[1] : &s->row[2]) =
      tg_kind_flits(e->b.m, e->plan->vector_kind[v], tg_lanes(e->b.m));
  if (e->plan->column_blocks == 1) return;
  uint32_t block = tg_kind_flits(e->b.m, e->plan->vector_kind[v], e->plan->take);
  s->at.delta[1] = block;
  s->banks = tg_banks_for(e->b.m, block);
}

/* The output is dense, so the place of an element among all of it is an affine function of the loops. */
static void set_rounding(const emission *e, tg_vx_instr *vop, uint32_t r, uint32_t col) {
  const tg_stream_kernel *plan = e->plan;
  const tg_walk_plan *out = &plan->output;
  int64_t row = out->columns, lanes = tg_lanes(e->b.m), chunk = row * e->t.chunk_rows, dense = row;
  for (int d = 2; d >= 0; d--) {
    assert(out->element_stride == 1 && (out->stride[d] == dense || out->radix[d] == 1));
    dense *= out->radix[d];
  }
  (void)dense; /* of the assertion only */
  vop->sr_key = TG_KEY_STORE;
  vop->sr_col = (uint32_t)(out->offset + (r * e->b.m->cols + col) * chunk);
  vop->sr_col_delta[0] = (uint32_t)(tg_tiles(e->b.m) * chunk);
  vop->sr_col_delta[1] = plan->take;
  vop->sr_col_row[1] = plan->across ? 0 : (uint32_t)row;
  vop->sr_col_row[2] = plan->whole_rows ? (uint32_t)row : lanes;
  vop->sr_col_j[1] = plan->whole_rows ? lanes : plan->across ? (uint32_t)row : 0;
}

/* The stream takes vectors u, u + unroll .. of a row. It has nothing to do with the banks before
 * the first. */
static void take_every(const tg_params *m, tg_stream *s, int u, int unroll) {
  int64_t first = s->at.base / tg_bank_rows(m);
  s->at.base += u * s->j[1];
  s->banks -= s->at.base / tg_bank_rows(m) - first;
  s->j[1] *= unroll;
}

/* Vectors u, u + unroll .. of each row as stream first + u. */
static void set_unrolled(const emission *e, tg_vx_instr *vop, int first, int kind, const tg_buffer *buffer,
                         bool store, int unroll) {
  for (int u = 0; u < unroll; u++) {
    tg_stream *s = tg_stream_of_mut(vop, first + u);
    set_stream(e, s, kind, buffer, store, 1);
    if (unroll > 1) take_every(e->b.m, s, u, unroll);
  }
}

static void set_number(const emission *e, tg_vx_instr *vop, int stream, bool store) {
  tg_stream *s = tg_stream_of_mut(vop, stream);
  s->kind = TG_STREAM_FP32;
  s->store = store;
  tg_set_operand(&s->at, &e->number, false);
  s->banks = e->number.banks;
  s->row[2] = tg_kind_flits(e->b.m, TG_STREAM_FP32, tg_lanes(e->b.m));
}

static tg_instr *push_vop(const emission *e, tg_queue *queue, const tg_vx_instr *microcode, int repeat,
                          int unroll) {
  const tg_stream_kernel *plan = e->plan;
  tg_instr *in = tg_build_push(&e->b, queue, TG_OP_vx_vop);
  tg_vx_instr *vop = &in->vx;
  memcpy(vop->seg_begin, microcode->seg_begin, sizeof vop->seg_begin);
  memcpy(vop->seg_len, microcode->seg_len, sizeof vop->seg_len);
  vop->seg_repeat = repeat;
  vop->row_count[0] = 1;
  vop->row_count[1] = plan->whole_rows || plan->across ? 1 : e->t.chunk_rows;
  vop->row_count[2] = plan->whole_rows ? e->t.chunk_rows : e->t.vectors;
  vop->rows = vop->row_count[1] * vop->row_count[2];
  vop->j_count[0] = 1;
  uint32_t window = 1;
  for (int i = 0; i < plan->inputs; i++)
    if (window < plan->window[i]) window = plan->window[i];
  vop->j_count[1] = plan->whole_rows ? e->t.vectors / (uint32_t)unroll
                    : plan->across   ? e->t.chunk_rows
                                     : window / (uint32_t)unroll;
  vop->tail_step = tg_lanes(e->b.m) * (plan->first_segments ? 1 : (uint32_t)unroll);
  vop->tail_n = plan->tail_n;
  return in;
}

static void emit_first_vop(const emission *e, uint32_t r, uint32_t col, const tg_vx_instr *microcode) {
  const tg_stream_kernel *plan = e->plan;
  int unroll = plan->first_unroll;
  tg_instr *in = push_vop(e, &tg_build_tile(&e->b, r, col)->vx, microcode, plan->first_repeat, unroll);
  set_unrolled(e, &in->vx, 0, plan->input_kind[0], &e->in[0], false, unroll);
  set_unrolled(e, &in->vx, unroll, TG_STREAM_FP32, &e->kept, true, unroll);
  set_number(e, &in->vx, 2 * unroll, true);
  meet(e, INPUTS, (tg_join){0}, in, r, col);
}

/* Inputs, and what is loaded once. */
static void set_sources(const emission *e, tg_vx_instr *vop, int unroll) {
  const tg_stream_kernel *plan = e->plan;
  for (int u = 0; u < unroll; u++)
    for (int i = 0; i < plan->inputs + plan->vectors; i++) {
      bool moves = tg_stream_source_moves(plan, i);
      if (u && !moves) continue;
      tg_stream *s = tg_stream_of_mut(vop, tg_source_stream(plan, i, u));
      if (i < plan->inputs)
        set_stream(e, s, plan->input_kind[i], &e->in[i], false, plan->window[i]);
      else
        set_vector(e, s, i - plan->inputs);
      if (unroll > 1 && moves) take_every(e->b.m, s, u, unroll);
    }
}

static void set_result(const emission *e, tg_vx_instr *vop, int x, int unroll) {
  const tg_stream_kernel *plan = e->plan;
  int count = plan->out_vectors > 1 ? plan->out_vectors : tg_stream_result_moves(plan, x) ? unroll : 1;
  for (int u = 0; u < count; u++) {
    tg_stream *s = tg_stream_of_mut(vop, tg_result_stream(plan, x, u));
    set_stream(e, s, tg_stream_result_kind(plan, x), &e->ports[port_of(plan, x)].buffer, true,
               tg_stream_result_window(plan, x));
    if (count > 1) take_every(e->b.m, s, u, count);
  }
}

static void emit_vop(emission *e, uint32_t r, uint32_t col, const tg_vx_instr microcode[2], int repeat) {
  const tg_stream_kernel *plan = e->plan;
  bool second = plan->first_segments > 0;
  int unroll = tg_stream_unroll(plan);
  tg_queue *queue = &tg_build_tile(&e->b, r, col)->vx;
  if (plan->vectors)
    meet(e, VECTORS, (tg_join){.posts = TG_OF_NONE}, tg_build_push(&e->b, queue, TG_OP_vx_sync), r, col);
  if (second) emit_first_vop(e, r, col, &microcode[0]);
  tg_instr *in = push_vop(e, queue, &microcode[second], repeat, unroll);
  tg_vx_instr *vop = &in->vx;
  if (second) {
    set_unrolled(e, vop, 0, TG_STREAM_FP32, &e->kept, false, unroll);
    set_number(e, vop, 2 * unroll, false);
  } else {
    meet(e, INPUTS, (tg_join){0}, in, r, col);
    set_sources(e, vop, unroll);
  }
  for (int x = 0; x <= plan->more; x++) {
    const tg_store_port *port = &e->ports[port_of(plan, x)];
    if (second)
      set_unrolled(e, vop, unroll, tg_stream_result_kind(plan, x), &port->buffer, true, unroll);
    else
      set_result(e, vop, x, unroll);
    if (tg_stream_result_kind(plan, x) == TG_STREAM_BF16SR) set_rounding(e, vop, r, col);
    meet(e, RESULTS + x, (tg_join){.fills = true, .wait = (int8_t)(1 + x), .post = (int8_t)(1 + x)}, in, r,
         col);
  }
  tg_set_loops(in, e->t.loops);
  for (int l = 0; l < TG_LEVELS && plan->vectors; l++) in->common.loop_begin[l] = 1; /* behind the SYNC */
}

static void fill_store(const void *user, int port, uint32_t r, uint32_t col, tg_agcu_instr *store) {
  const emission *e = user;
  const tg_stream_kernel *plan = e->plan;
  int x = result_of(plan, port), number = tg_result_stream(plan, x, 0);
  tg_fill_walk(store, walk_of(plan, number), e->entry[number], e->residue[number]);
  set_rows(e, store, r * e->b.m->cols + col, plan->out_take ? plan->out_take : moved(e));
  store->convert = tg_stream_result_kind(plan, x) == TG_STREAM_FP32 ? TG_CVT_32 : TG_CVT_16;
  if (e->t.run) {
    int64_t elements = (int64_t)e->t.chunk_rows * plan->take;
    store->rows = 1;
    store->take = elements / e->t.parts;
    store->m_radix[2] = 1;
    store->stride[2] = 0;
    store->m_first = store->m_delta[0] = store->k_delta[1] = 0;
    store->k_radix[0] = plan->rows;
    store->stride[3] = plan->take * (int64_t)tg_storage_bytes(plan->output.tensor->storage);
    store->k_first = (r * e->b.m->cols + col) * elements;
    store->k_delta[0] = tg_tiles(e->b.m) * elements;
    store->k_delta[2] = store->take;
  } else if (e->t.parts > 1) {
    store->take = e->t.piece_flits * (tg_flit_bytes(e->b.m) / tg_storage_bytes(plan->output.tensor->storage));
    store->k_delta[2] = store->take;
  } else if (tg_stream_result_window(plan, x) > 1) {
    store->k_delta[2] = plan->window_step;
    plan->adjust_store(plan->user, x - 1, store);
  }
}

static void emit_exits(const emission *e) {
  const tg_stream_kernel *plan = e->plan;
  tg_egress_plan egress = {
      .ports = e->ports, .count = 1 + plan->more, .often = 1 + plan->more, .every = 1, .steps = 1};
  if (tg_stream_is_windowed(plan)) {
    egress.often = 1;
    egress.every = tg_stream_result_window(plan, plan->more);
    egress.steps = 0;
  }
  tg_egress_emit(&e->b, &egress, fill_store, e);
}

tg_status tg_emit_stream_kernel(tg_compile *c, const tg_kernel *kernel, const tg_stream_kernel *plan,
                                tg_mc *mc, int repeat) {
  emission e = {.plan = plan};
  const char *name = tg_kernel_name(c, kernel);
  tg_build_begin(&e.b, c, name);
  if (!tg_tile_stream(c->m, plan, &e.t) || !allocate(&e))
    return tg_fail(
        c->diag, TG_INVALID,
        "%s: a row of %u elements (window %u) does not fit in the scratchpads of this architecture", name,
        plan->take, plan->window[0]);
  open_channels(&e);
  set_ports(&e);
  for (int i = 0; i < tg_stream_walks(plan); i++) {
    const tg_walk_plan *walk = walk_of(plan, i);
    int64_t bytes = walk->offset * (int64_t)tg_storage_bytes(walk->tensor->storage);
    int64_t before = bytes < 0 ? bytes : 0; /* the origin of a frame */
    e.entry[i] = tg_build_base(&e.b, walk->tensor, (uint64_t)(bytes - before), &e.residue[i]);
    e.residue[i] += before;
  }
  tg_vx_instr microcode[2] = {0};
  tg_status status = tg_mc_pack_parts(mc, &plan->first_segments, plan->first_segments > 0, c->program,
                                      e.b.section, microcode, c->diag);
  if (status) {
    tg_diag_prefix(c->diag, "%s", name);
    return status;
  }
  for (uint32_t r = 0; r < c->m->rows; r++)
    for (uint32_t col = 0; col < c->m->cols; col++) {
      emit_loads(&e, r, col);
      emit_vop(&e, r, col, microcode, repeat);
    }
  for (uint32_t a = 0; a < tg_agcus(c->m); a++) {
    tg_queue *queue = &tg_build_section(&e.b)->agcus[a].contexts[TG_CTX_LOAD];
    if (!queue->count) continue;
    tg_instr *last = &queue->instrs[queue->count - 1];
    last->common.loop_count[0] = e.t.loops[0];
    last->common.loop_count[1] = e.t.loops[1];
  }
  for (uint32_t r = 0; r < c->m->rows; r++) emit_vector_loads(&e, r);
  emit_exits(&e);
  tg_invocation *invocation = tg_build_invoke(&e.b, name);
  const tg_node *cast = tg_stochastic_store(kernel);
  if (cast) invocation->key_nodes[TG_KEY_STORE] = (uint32_t)cast->id;
  return TG_OK;
}
