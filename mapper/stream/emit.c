/* A stream kernel's section: channels, loads, stores. */
#include "mapper/expression/expression.h"
#include "mapper/section/need.h"
#include "mapper/stream/emission.h"

typedef tg_stream_emission emission;

/* Tiles that have no rows have no part in the section. Those that have are a corner of the array with its proportions: as many
 * west as north ports have work, and a configuration has few different rows of tiles. */
static void find_idle(emission *e) {
  const tg_params *m = e->b.m;
  uint32_t working = tg_stream_working_tiles(m, e->plan, &e->t);
  e->width = m->cols;
  if (working == tg_tiles(m)) return;
  while (e->width > 1 && (uint64_t)(e->width - 1) * (e->width - 1) * m->rows >= (uint64_t)working * m->cols)
    e->width--;
  bool *idle = TG_NEW_ARRAY(e->b.c->arena, bool, (size_t)tg_tiles(m));
  e->b.idle = idle;
  for (uint32_t i = 0; i < tg_tiles(m); i++)
    idle[i] = i % m->cols >= e->width || tg_stream_tile(e, i / m->cols, i % m->cols) >= working;
}

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

/* ---- channels ---- */

/* In the order of their numbers. */
static void open_channels(emission *e, const tg_channel_plan plans[TG_STREAM_ROLES]) {
  const tg_stream_kernel *plan = e->plan;
  tg_channel_end order[2 * (1 + TG_MORE_RESULTS) + 4];
  int count = 0, first = tg_stream_is_windowed(plan) ? plan->more : 0;
  for (int x = 0; x <= plan->more; x++) {
    order[count++] = (tg_channel_end){(uint8_t)(TG_ROLE_RESULTS + x), TG_END_FULL | TG_END_FREE};
    order[count++] = (tg_channel_end){(uint8_t)(TG_ROLE_AWAY + x), TG_END_FREE};
  }
  order[count++] = (tg_channel_end){TG_ROLE_LOADED, TG_END_FULL | TG_END_AGCU};
  order[count++] = (tg_channel_end){TG_ROLE_LOADED_ONCE, TG_END_FULL};
  order[count++] = (tg_channel_end){(uint8_t)(TG_ROLE_AWAY + first), TG_END_AGCU};
  if (first) order[count++] = (tg_channel_end){TG_ROLE_AWAY, TG_END_AGCU};
  tg_channels_open(&e->b, plans, order, count, e->channels);
  for (int x = 1; x <= plan->more; x++) {
    tg_channel *away = &e->channels[TG_ROLE_AWAY];
    if (x == first) continue;
    away[x].west = away->west;
    away[x].north = away->north;
  }
  e->channels[TG_ROLE_LOADED].source = tg_checkerboard_source;
}

static bool allocate(emission *e) {
  const tg_stream_kernel *plan = e->plan;
  tg_channel_plan plans[TG_STREAM_ROLES];
  for (int i = 0; i < TG_STREAM_ROLES; i++) e->channels[i] = TG_CHANNEL_NONE;
  tg_stream_plan_channels(e->b.m, plan, &e->t, plans);
  if (!tg_channels_place(&e->b, plans, TG_STREAM_ROLES, e->channels)) return false;
  for (int i = 0; i < plan->inputs; i++) e->in[i] = e->channels[TG_ROLE_INPUTS + i].ring;
  for (int v = 0; v < plan->vectors; v++) e->vector[v] = e->channels[TG_ROLE_VECTORS + v].ring;
  place_beside(e, &e->channels[TG_ROLE_INPUTS_BESIDE].ring, &e->channels[TG_ROLE_VECTORS_BESIDE].ring);
  open_channels(e, plans);
  return true;
}

/* In the order of results. */
static void set_ports(emission *e) {
  const tg_stream_kernel *plan = e->plan;
  for (int x = 0; x <= plan->more; x++) {
    uint32_t row = tg_kind_flits(e->b.m, tg_stream_result_kind(plan, x), tg_stream_out_take(plan)),
             sent = plan->out_take ? row : tg_kind_flits(e->b.m, tg_stream_result_kind(plan, x), moved(e)),
             drain_tiles = e->t.parts > 1 ? e->t.parts : tg_stream_result_window(plan, x);
    tg_store_port *port = &e->ports[port_of(plan, x)];
    *port = (tg_store_port){.from = &e->channels[TG_ROLE_RESULTS + x],
                            .away = &e->channels[TG_ROLE_AWAY + x],
                            .flits = e->t.parts > 1 ? e->t.part_flits : e->t.chunk_rows * sent,
                            .drain_tiles = drain_tiles,
                            .loops = {e->t.loops[0], e->t.loops[1], drain_tiles},
                            .buffer = e->channels[TG_ROLE_RESULTS + x].ring};
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

/* Of the first position of a window. */
static tg_instr *push_load(const emission *e, tg_queue *queue, int input, uint32_t r, uint32_t col) {
  const tg_stream_kernel *plan = e->plan;
  tg_instr *in = tg_build_push(&e->b, queue, TG_OP_agcu_load);
  tg_agcu_instr *load = &in->agcu;
  tg_fill_walk(load, &plan->input[input], e->entry[input], e->residue[input]);
  bool number = plan->input_kind[input] == TG_STREAM_SPLAT32;
  set_rows(e, load, tg_stream_tile(e, r, col), number ? 1 : moved(e));
  if (number) load->k_delta[1] = 0;
  load->convert = tg_stream_convert(plan->input[input].tensor, plan->input_kind[input]);
  tg_set_operand(&load->dst, &e->in[input], false);
  load->dst_inner = 65535;
  if (moved(e) < plan->take && !number) {
    load->dst_inner = tg_kind_flits(e->b.m, plan->input_kind[input], moved(e));
    load->dst_stride = tg_kind_flits(e->b.m, plan->input_kind[input], plan->take);
  }
  load->dst_mask = tg_checkerboard_mask(r, col);
  if (plan->adjust_load) plan->adjust_load(plan->user, input, load);
  return in;
}

/* The LOADs of all positions of a window, in a loop but for the last one, which is returned; or one of all. */
static tg_instr *push_positions(const emission *e, tg_queue *queue, int input, uint32_t r, uint32_t col) {
  const tg_stream_kernel *plan = e->plan;
  uint32_t count = plan->window[input], step = e->t.chunk_rows * tg_stream_input_flits(e->b.m, plan, input);
  int64_t elements = plan->input_kind[input] == TG_STREAM_SPLAT32 ? 1 : plan->window_step;
  tg_instr *in = push_load(e, queue, input, r, col);
  if (count == 1 || tg_stream_join_positions(&in->agcu, e->t.chunk_rows, count)) return in;
  tg_set_operand(&in->agcu.dst, &e->in[input], true);
  in->agcu.dst_delta[2] = step;
  in->agcu.k_delta[2] = elements;
  in->common.loop_count[2] = count - 1;
  in->common.loop_begin[2] = queue->count - 1;
  in = push_load(e, queue, input, r, col);
  in->agcu.dst_base += (int64_t)step * (count - 1);
  in->agcu.k_first += elements * (count - 1);
  return in;
}

/* Loads of one tile and chunk: a SYNC asks for all of them; the last load tells the tile that its chunk is complete. */
static void emit_loads(void *user, const tg_stage *stage, tg_queue *queue, uint32_t r, uint32_t col) {
  const emission *e = user;
  const tg_stream_kernel *plan = e->plan;
  if (tg_build_is_idle(&e->b, r, col)) return;
  tg_joint at = {.in = tg_build_push(&e->b, queue, TG_OP_agcu_sync),
                 .r = r,
                 .col = col,
                 .first = true,
                 .tiles = tg_checkerboard_mask(r, col)};
  tg_stage_meet(stage, e->channels, TG_ALL_CHANNELS, &at);
  for (int i = 0; i < plan->inputs; i++) {
    at = (tg_joint){.in = push_positions(e, queue, i, r, col), .last = i + 1 == plan->inputs};
    tg_stage_meet(stage, e->channels, TG_ALL_CHANNELS, &at);
  }
}

/* What every row reads, to all tiles of a row of the array that have a part in it; the last load tells them. */
static void emit_vector_loads(const emission *e, const tg_stage *stage, tg_queue *queue, uint32_t r) {
  const tg_stream_kernel *plan = e->plan;
  int64_t mask = 0;
  for (uint32_t col = 0; col < e->b.m->cols; col++)
    if (!tg_build_is_idle(&e->b, r, col)) mask |= INT64_C(1) << (col + 1);
  for (int v = 0; v < plan->vectors && mask; v++) {
    tg_instr *in = tg_build_push(&e->b, queue, TG_OP_agcu_load);
    tg_agcu_instr *load = &in->agcu;
    tg_fill_walk(load, &plan->vector[v], e->entry[plan->inputs + 1 + v], e->residue[plan->inputs + 1 + v]);
    load->rows = 1;
    load->take = tg_stream_vector_elements(plan, v);
    load->convert = tg_stream_convert(plan->vector[v].tensor, plan->vector_kind[v]);
    tg_set_operand(&load->dst, &e->vector[v], false);
    load->dst_inner = 65535;
    load->dst_mask = mask;
    const tg_joint at = {.in = in, .first = !v, .last = v + 1 == plan->vectors};
    tg_stage_meet(stage, e->channels, TG_ALL_CHANNELS, &at);
  }
}

static void fill_store(const void *user, int port, uint32_t r, uint32_t col, tg_agcu_instr *store) {
  const emission *e = user;
  const tg_stream_kernel *plan = e->plan;
  int x = result_of(plan, port), number = tg_result_stream(plan, x, 0);
  tg_fill_walk(store, walk_of(plan, number), e->entry[number], e->residue[number]);
  set_rows(e, store, tg_stream_tile(e, r, col), plan->out_take ? plan->out_take : moved(e));
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
    store->k_first = tg_stream_tile(e, r, col) * elements;
    store->k_delta[0] = tg_tiles(e->b.m) * elements;
    store->k_delta[2] = store->take;
  } else if (e->t.parts > 1) {
    store->take = e->t.part_flits * (tg_flit_bytes(e->b.m) / tg_storage_bytes(plan->output.tensor->storage));
    store->k_delta[2] = store->take;
  } else if (tg_stream_result_window(plan, x) > 1) {
    store->k_delta[2] = plan->window_step;
    plan->adjust_store(plan->user, x - 1, store);
  }
}

static void plan_egress(emission *e) {
  const tg_stream_kernel *plan = e->plan;
  set_ports(e);
  e->egress = (tg_egress_plan){
      .ports = e->ports, .count = 1 + plan->more, .often = 1 + plan->more, .every = 1, .steps = 1};
  if (!tg_stream_is_windowed(plan)) return;
  e->egress.often = 1;
  e->egress.every = tg_stream_result_window(plan, plan->more);
  e->egress.steps = 0;
}

static void emit_stage(void *user, const tg_stage *stage, tg_queue *queue, tg_turn at) {
  emission *e = user;
  if (stage->kind == TG_STAGE_RESULTS)
    tg_egress_emit(&e->b, &e->egress, stage, queue, at, fill_store, e);
  else if (stage->seat == TG_UNIT_VX && tg_build_is_idle(&e->b, at.r, at.col))
    return;
  else if (stage->seat == TG_UNIT_VX)
    tg_stream_emit_vx(e, stage, queue, at);
  else if (stage->kind == TG_STAGE_VECTORS)
    emit_vector_loads(e, stage, queue, at.r);
  else
    tg_checkerboard_each(e->b.m, stage, queue, at, emit_loads, e);
}

static void allocate_bases(emission *e) {
  for (int i = 0; i < tg_stream_walks(e->plan); i++) {
    const tg_walk_plan *walk = walk_of(e->plan, i);
    int64_t bytes = walk->offset * (int64_t)tg_storage_bytes(walk->tensor->storage);
    int64_t before = bytes < 0 ? bytes : 0; /* the origin of a frame */
    e->entry[i] = tg_build_base(&e->b, walk->tensor, (uint64_t)(bytes - before), &e->residue[i]);
    e->residue[i] += before;
  }
}

tg_status tg_emit_stream_kernel(tg_compile *c, const tg_kernel *kernel, const tg_stream_kernel *plan,
                                tg_mc *mc, int repeat) {
  emission e = {.plan = plan, .repeat = repeat};
  const char *name = tg_kernel_name(c, kernel);
  tg_build_begin(&e.b, c, name);
  tg_shortage lacks = {0};
  if (!tg_tile_stream(c->m, plan, &e.t, &lacks))
    return tg_fail(c->diag, TG_INVALID,
                   "%s: a row of %u elements (window %u) does not fit this architecture%s", name, plan->take,
                   plan->window[0], tg_shortage_text(c->arena, &lacks));
  if (!allocate(&e)) return TG_INVALID; /* which says how many banks it needs */
  find_idle(&e);
  plan_egress(&e);
  allocate_bases(&e);
  tg_status status = tg_mc_pack_parts(mc, &plan->first_segments, plan->first_segments > 0, c->program,
                                      e.b.section, e.microcode, c->diag);
  if (status) {
    tg_diag_prefix(c->diag, "%s", name);
    return status;
  }
  tg_stages stages;
  const uint32_t *t = e.t.loops,
                 loops[TG_STREAM_NESTS][3] = {
                     [TG_NEST_LOADS] = {t[0], t[1], 0}, [TG_NEST_CHUNKS] = {t[0], t[1], t[2]}};
  tg_stream_list_stages(c->m, plan, &e.t, NULL, 0, &stages);
  tg_stages_emit(&e.b, &stages, c->m->rows, loops, emit_stage, &e);
  tg_invocation *invocation = tg_build_invoke(&e.b, name);
  const tg_node *cast = tg_stochastic_store(kernel);
  if (cast) invocation->key_nodes[TG_KEY_STORE] = (uint32_t)cast->id;
  if (plan->rounds) invocation->key_nodes[TG_KEY_PRODUCT] = (uint32_t)plan->rounds->id;
  return TG_OK;
}
