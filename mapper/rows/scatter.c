/* ScatterRows: at each of V rows the sum of its rows of the updates, in their order, from +0.
 *
 * An AGCU has a strip of columns of its own, and a tile that adds for it. It stores zeros over the strip, then takes one
 * update after the other: loads the row of sums by its index, to which the tile adds the update, and stores it by the
 * same index; only then comes the next one, which may be of the same row. Where all strips are not all columns, so many
 * sections follow each other. */
#include "mapper/kernel/class.h"
#include "mapper/microcode/microcode.h"
#include "mapper/rows/rows.h"
#include "mapper/section/channel.h"

#include "frontend/base/math.h"

enum { STREAM_SUM, STREAM_UPDATE, STREAM_RESULT };

typedef struct tiling {
  uint32_t strip, row_flits; /* columns of an AGCU, a multiple of the lanes; flits of them */
  uint32_t take;             /* elements that are loaded: of the last strip, perhaps fewer */
  uint32_t rows, chunks;     /* updates that are loaded at once; loads of so many */
  uint32_t zeros;            /* rows of a strip that one STORE fills */
  uint32_t index_flits;      /* of a chunk */
  uint32_t ways;             /* AGCUs at work */
} tiling;

typedef struct scatter {
  tg_build b;
  tiling t;
  int64_t count, size, columns; /* of updates; rows and columns of the result */
  int64_t first;                /* column of the first strip */
  tg_rows_tensor indices, updates, result;
  tg_buffer zeros, index, sum, made;                            /* at each tile */
  tg_channel update;                                            /* chunks of updates */
  int zeros_full, index_full, sum_full, made_full, index_free;  /* of each tile */
  tg_rows_sems zeros_here, index_here, made_here, filled, next; /* of each AGCU */
} scatter;

/* ---- cutting */

/* AGCU `agcu` and the tile that adds for it: west ones take their row's on the diagonal, north ones the next in their column.
 * False: that tile is another one's. */
static bool way_of(const tg_params *m, uint32_t agcu, tg_rows_way *out) {
  bool west = tg_is_west(m, agcu);
  uint32_t line = west ? agcu : agcu - m->rows;
  *out = west ? (tg_rows_way){true, line, line % m->cols} : (tg_rows_way){false, (line + 1) % m->rows, line};
  return west || out->r % m->cols != out->col;
}

static uint32_t all_ways(const tg_params *m) {
  uint32_t count = 0;
  tg_rows_way way;
  for (uint32_t a = 0; a < tg_agcus(m); a++) count += way_of(m, a, &way);
  return count;
}

static bool cut(const tg_params *m, int64_t count, int64_t columns, tiling *t) {
  uint32_t lanes = tg_lanes(m), ways = all_ways(m), bank = tg_bank_rows(m);
  uint32_t most = (uint32_t)tg_min(bank, tg_store_rows(m) / 4) * m->p / lanes * lanes;
  int64_t strip = tg_div_up(columns, ways);
  strip = tg_min(tg_round_up(strip, lanes), most);
  if (!strip) return false;
  *t = (tiling){.strip = (uint32_t)strip, .row_flits = (uint32_t)strip / m->p};
  t->ways = (uint32_t)tg_min(tg_div_up(columns, strip), ways);
  uint32_t store = tg_store_rows(m), banks = m->banks;
  t->zeros = (uint32_t)tg_min(store / 2, bank) / t->row_flits;
  t->rows = (uint32_t)tg_min(tg_min(count, 8 * m->p), bank / t->row_flits); /* in one bank */
  t->index_flits = tg_div_up(t->rows, m->p);
  int64_t chunks = tg_div_up(count, t->rows);
  t->chunks = (uint32_t)chunks;
  return t->zeros && chunks < 1 << 20 && (t->zeros + 1) * t->row_flits + t->index_flits <= store &&
         banks >= 2 + 2 + 2 + tg_banks_for(m, t->zeros * t->row_flits);
}

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

/* The loops over chunks from instruction `chunk` on, and, if there are `each`, over their rows from the last one on. */
static void close_loops(const scatter *s, tg_queue *queue, uint32_t chunk, bool each) {
  tg_instr *last = &queue->instrs[queue->count - 1];
  last->common.loop_count[1] = s->t.chunks;
  last->common.loop_begin[1] = chunk;
  if (!each) return;
  last->common.loop_count[2] = s->t.rows;
  last->common.loop_begin[2] = queue->count - 1;
}

/* Elements of the strip; what fills up its last vector is not there. */
static void bound_strip(const scatter *s, tg_agcu_instr *in, uint32_t rank) {
  int64_t first = s->first + (int64_t)rank * s->t.strip, left = s->columns - first;
  in->take = s->t.take;
  in->offset += first * in->stride[5];
  in->k_radix[2] = tg_min(left, s->t.strip);
}

static tg_agcu_instr *push(const scatter *s, tg_rows_way way, int context, int op) {
  return &tg_build_push(&s->b, tg_rows_queue(&s->b, way, context), op)->agcu;
}

static void deliver(tg_agcu_instr *in, tg_rows_way way, const tg_buffer *to, int semaphore) {
  tg_set_operand(&in->dst, to, false);
  in->dst_mask = 1ll << tg_rows_position(way);
  in->dst_post = 1;
  in->dst_sem = semaphore;
}

/* Zeros, then chunks of indices and updates. */
static void emit_loads(const scatter *s, tg_rows_way way, uint32_t rank) {
  tg_agcu_instr *in = push(s, way, TG_CTX_LOAD, TG_OP_agcu_load);
  tg_rows_walk(in, &s->result, s->size, s->columns);
  bound_strip(s, in, rank);
  in->rows = s->t.zeros;
  in->x_size = 0; /* nothing is there */
  deliver(in, way, &s->zeros, s->zeros_full);
  in = push(s, way, TG_CTX_LOAD, TG_OP_agcu_load);
  tg_rows_walk_indices(in, &s->indices, s->count, s->t.rows);
  in->k_delta[1] = s->t.rows;
  deliver(in, way, &s->index, s->index_full);
  tg_channel_ask(&s->update, in, way.west);
  in = push(s, way, TG_CTX_LOAD, TG_OP_agcu_load);
  tg_rows_walk(in, &s->updates, s->count, s->columns);
  bound_strip(s, in, rank);
  in->rows = s->t.rows;
  in->m_delta[1] = s->t.rows;
  in->convert = tg_rows_widening(s->updates.tensor);
  deliver(in, way, &s->update.ring, s->update.full);
  close_loops(s, tg_rows_queue(&s->b, way, TG_CTX_LOAD), 1, false);
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

static void emit_sum_loads(const scatter *s, tg_rows_way way, uint32_t rank) {
  tg_instr *sync = tg_build_push(&s->b, tg_rows_queue(&s->b, way, TG_CTX_AUX), TG_OP_agcu_sync);
  tg_set_wait(sync, TG_NEXT_SLOT, tg_rows_sem(s->filled, way), false);
  tg_agcu_instr *in = push(s, way, TG_CTX_AUX, TG_OP_agcu_load);
  walk_sums(s, in, rank);
  tg_set_wait((tg_instr *)(void *)in, TG_NEXT_SLOT, tg_rows_sem(s->index_here, way), true);
  tg_set_wait((tg_instr *)(void *)in, TG_NEXT_SLOT, tg_rows_sem(s->next, way), false);
  deliver(in, way, &s->sum, s->sum_full);
  close_loops(s, tg_rows_queue(&s->b, way, TG_CTX_AUX), 1, true);
}

static void emit_stores(const scatter *s, tg_rows_way way, uint32_t rank) {
  tg_queue *queue = tg_rows_queue(&s->b, way, TG_CTX_STORE);
  tg_buffer zeros = zeros_place(s), made = made_place(s);
  tg_instr *sync = tg_build_push(&s->b, queue, TG_OP_agcu_sync);
  tg_set_wait(sync, TG_NEXT_SLOT, tg_rows_sem(s->zeros_here, way), false);
  tg_agcu_instr *in = push(s, way, TG_CTX_STORE, TG_OP_agcu_store);
  tg_rows_walk(in, &s->result, s->size, s->columns);
  bound_strip(s, in, rank);
  in->rows = s->t.zeros;
  in->m_delta[2] = s->t.zeros;
  tg_set_operand(&in->src, &zeros, false);
  in->loop_count[2] = tg_div_up(s->size, s->t.zeros);
  in->loop_begin[2] = queue->count - 1;
  tg_set_post((tg_instr *)(void *)in, TG_NEXT_SLOT, TG_POST_LOCAL, 0, tg_rows_sem(s->filled, way), true);
  in = push(s, way, TG_CTX_STORE, TG_OP_agcu_store);
  walk_sums(s, in, rank);
  tg_set_operand(&in->src, &made, false);
  tg_set_wait((tg_instr *)(void *)in, TG_NEXT_SLOT, tg_rows_sem(s->made_here, way), false);
  tg_set_post((tg_instr *)(void *)in, TG_NEXT_SLOT, TG_POST_LOCAL, 0, tg_rows_sem(s->next, way), false);
  tg_set_post((tg_instr *)(void *)in, TG_NEXT_SLOT, way.west ? TG_POST_ROW : TG_POST_COL,
              tg_rows_position(way), s->index_free, true);
  close_loops(s, queue, 2, true);
}

static void emit_sends(const scatter *s, tg_rows_way way) {
  tg_queue *queue = &tg_build_tile(&s->b, way.r, way.col)->tx;
  tg_buffer zeros = zeros_place(s), indices = index_place(s), made = made_place(s);
  tg_instr *in = tg_rows_send(&s->b, way, &s->zeros, &zeros, zeros.rows, tg_rows_sem(s->zeros_here, way));
  tg_set_wait(in, TG_NEXT_SLOT, s->zeros_full, false);
  in = tg_rows_send(&s->b, way, &s->index, &indices, indices.rows, tg_rows_sem(s->index_here, way));
  tg_set_wait(in, TG_NEXT_SLOT, s->index_full, false);
  tg_set_wait(in, TG_NEXT_SLOT, s->index_free, false);
  in = tg_rows_send(&s->b, way, &s->made, &made, made.rows, tg_rows_sem(s->made_here, way));
  tg_set_wait(in, TG_NEXT_SLOT, s->made_full, false);
  close_loops(s, queue, 1, true);
}

static void set_stream(const scatter *s, tg_vx_instr *vop, int number, const tg_buffer *buffer, bool store) {
  tg_stream *stream = tg_stream_of_mut(vop, number);
  stream->kind = TG_STREAM_FP32;
  stream->store = store;
  tg_set_operand(&stream->at, buffer, true);
  stream->banks = buffer->banks;
  stream->row[2] = tg_kind_flits(s->b.m, TG_STREAM_FP32, tg_lanes(s->b.m));
}

static void emit_sums(const scatter *s, tg_rows_way way, const tg_vx_instr *microcode) {
  tg_queue *queue = &tg_build_tile(&s->b, way.r, way.col)->vx;
  tg_instr *in = tg_build_push(&s->b, queue, TG_OP_vx_vop);
  tg_vx_instr *vop = &in->vx;
  for (int q = 0; q < TG_SEGMENTS; q++) {
    vop->seg_begin[q] = microcode->seg_begin[q];
    vop->seg_len[q] = microcode->seg_len[q];
  }
  vop->rows = vop->row_count[2] = s->t.row_flits * s->b.m->p / tg_lanes(s->b.m);
  vop->row_count[0] = vop->row_count[1] = vop->j_count[0] = vop->j_count[1] = 1;
  set_stream(s, vop, STREAM_SUM, &s->sum, false);
  set_stream(s, vop, STREAM_UPDATE, &s->update.ring, false);
  tg_stream_of_mut(vop, STREAM_UPDATE)->at.delta[2] = s->t.row_flits;
  set_stream(s, vop, STREAM_RESULT, &s->made, true);
  tg_set_wait(in, TG_NEXT_SLOT, s->sum_full, false);
  tg_channel_take(&s->update, in, TG_NEXT_SLOT, true);
  tg_set_post(in, TG_NEXT_SLOT, TG_POST_LOCAL, 0, s->made_full, false);
  tg_channel_return(&s->update, in, TG_NEXT_SLOT, way.west, way.r, way.col, true);
  close_loops(s, queue, 0, true);
}

static void open_semaphores(scatter *s) {
  tg_build *b = &s->b;
  s->zeros_full = tg_tile_sem(b, 0);
  s->index_full = tg_tile_sem(b, 0);
  s->index_free = tg_tile_sem(b, 1);
  s->sum_full = tg_tile_sem(b, 0);
  s->made_full = tg_tile_sem(b, 0);
  tg_channel_open_full(b, &s->update);
  tg_channel_open_credits(b, &s->update, 2);
  s->zeros_here = tg_rows_agcu_sems(b, 0);
  s->index_here = tg_rows_agcu_sems(b, 0);
  s->made_here = tg_rows_agcu_sems(b, 0);
  s->filled = tg_rows_agcu_sems(b, 0);
  s->next = tg_rows_agcu_sems(b, 1);
}

static bool allocate(scatter *s) {
  const tiling *t = &s->t;
  return tg_build_buffer(&s->b, t->zeros * t->row_flits, 1, &s->zeros) &&
         tg_build_buffer(&s->b, t->index_flits, 2, &s->index) &&
         tg_build_buffer(&s->b, t->row_flits, 1, &s->sum) &&
         tg_build_buffer(&s->b, t->row_flits, 1, &s->made) &&
         tg_build_buffer(&s->b, t->rows * t->row_flits, 2, &s->update.ring);
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

/* Of the columns from `first` on; *out_next is the first that is left. */
static tg_status emit_strips(tg_compile *c, const tg_kernel *kernel, int64_t first, int64_t *out_next) {
  const tg_node *node = kernel->root;
  const char *name = tg_kernel_name(c, kernel);
  scatter s = {.count = tg_value_elements(tg_in(node, 1)),
               .size = tg_out(node)->dims[0].size,
               .columns = tg_out(node)->dims[1].size,
               .first = first};
  tg_build_begin(&s.b, c, name);
  if (!cut(c->m, s.count, s.columns - first, &s.t) || !allocate(&s))
    return tg_fail(
        c->diag, TG_INVALID,
        "%s: sums of rows do not fit the scratchpads (%u banks of %u flits) and store memories (%u flits) of "
        "this architecture",
        name, c->m->banks, tg_bank_rows(c->m), tg_store_rows(c->m));
  s.updates = tg_rows_open(&s.b, tg_place_of(c, tg_in(node, 0)));
  s.indices = tg_rows_open(&s.b, tg_place_of(c, tg_in(node, 1)));
  s.result = tg_rows_open(&s.b, tg_place_of(c, tg_out(node)));
  open_semaphores(&s);
  tg_mc mc;
  tg_vx_instr microcode = {0};
  tg_mc_begin(&mc, c->arena);
  tg_mc_ref sum = tg_mc_load(&mc, STREAM_SUM, true), update = tg_mc_load(&mc, STREAM_UPDATE, true);
  tg_mc_store(&mc, STREAM_RESULT, true, tg_mc_alu(&mc, TG_ALU_add, sum, update, TG_MC_NONE));
  tg_status status = tg_mc_pack(&mc, c->program, s.b.section, &microcode, c->diag);
  if (status) return status;
  uint32_t rank = 0;
  for (uint32_t a = 0; a < tg_agcus(c->m) && rank < s.t.ways; a++) {
    tg_rows_way way;
    if (!way_of(c->m, a, &way)) continue;
    scatter strip = s;
    narrow(&strip, rank);
    emit_loads(&strip, way, rank);
    emit_sum_loads(&strip, way, rank);
    emit_stores(&strip, way, rank);
    emit_sends(&strip, way);
    emit_sums(&strip, way, &microcode);
    rank++;
  }
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

/* The zeros, and a round trip for each update: the memory's latency, and about what it takes to arrive, to be added and to
 * leave again. */
static double cycles(tg_compile *c, const tg_kernel *kernel) {
  const tg_value *y = kernel->output;
  tiling t;
  if (!cut(c->m, tg_value_elements(tg_in(kernel->root, 1)), y->dims[1].size, &t)) return TG_NEVER;
  double atoms = (double)t.strip / 16 * tg_atom_cycles(c->m),
         trip = c->m->dram_latency + 2 * atoms + 2.0 * t.row_flits + 60;
  return TG_SECTION_CYCLES + (double)y->dims[0].size * atoms +
         (double)tg_value_elements(tg_in(kernel->root, 1)) * trip;
}

const tg_kernel_class tg_scatter_class = {
    .name = "scatter",
    .accepts = accepts,
    .cycles = cycles,
    .emit = emit,
};
