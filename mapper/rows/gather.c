/* GatherRows: each tile takes chunks of rows, which an AGCU of its row or column loads by their indices and the other one
 * stores, as those of stream kernels do. A stretch of indices, of some chunks, goes to the AGCU before the stretch's first
 * chunk is loaded. */
#include "mapper/kernel/class.h"
#include "mapper/rows/rows.h"
#include "mapper/section/channel.h"

#include "frontend/base/math.h"

/* How the work is cut. */
typedef struct tiling {
  uint32_t rows, take;        /* of a chunk; elements of a row, of a block of columns */
  uint32_t blocks;            /* of columns */
  uint32_t chunks, stretches; /* of a stretch; of a tile */
  uint32_t row_flits;         /* of a block */
  uint32_t index_flits, slot; /* of a stretch; flits of a chunk's place in a store memory, at most */
  uint32_t line;              /* tiles that one AGCU loads for, or stores of, at most */
} tiling;

typedef struct gather {
  tg_build b;
  tiling t;
  int64_t count, size, columns; /* of indices; rows and columns of the table */
  tg_rows_tensor table, indices, result;
  tg_buffer index;      /* at each tile */
  tg_channel rows;      /* chunks on their way from the AGCU that loads to the tile */
  int index_full, room; /* of each tile; room: at the AGCU that stores */
  tg_rows_sems here;    /* at the AGCU that loads: a stretch; at the one that stores: a chunk */
} gather;

/* ---- cutting */

static bool cut(const tg_params *m, int64_t count, int64_t columns, uint32_t bytes, tiling *t) {
  uint32_t elements = tg_flit_bytes(m) / bytes, tiles = tg_tiles(m),
           most = m->rows > m->cols ? m->rows : m->cols;
  *t = (tiling){.line = (most + 1) / 2};
  uint32_t share = tg_store_rows(m) / t->line, reserved = share / 4 ? share / 4 : 1;
  int64_t each = tg_div_up(count, tiles);
  reserved = (uint32_t)tg_min(reserved, tg_div_up(each, m->p));
  uint32_t banks = tg_banks_for(m, reserved);
  if (share < reserved + 2 || banks + 2 > m->banks) return false;
  t->slot = (share - reserved) / 2;
  uint32_t limit = (uint32_t)tg_min(t->slot, (uint64_t)((m->banks - banks) / 2) * tg_bank_rows(m));
  uint64_t flits = tg_div_up(columns, elements);
  t->blocks = (uint32_t)tg_div_up(flits, limit);
  t->row_flits = (uint32_t)tg_div_up(flits, t->blocks);
  t->take = t->blocks > 1 ? t->row_flits * elements : (uint32_t)columns;
  uint32_t stretch = (uint32_t)tg_min((uint64_t)each, (uint64_t)reserved * m->p);
  t->rows = (uint32_t)tg_min(t->blocks > 1 ? 1 : limit / t->row_flits, stretch);
  t->chunks = tg_div_up(stretch, t->rows);
  t->rows = tg_div_up(stretch, t->chunks);
  if (t->rows * t->chunks > reserved * m->p)
    t->rows--; /* which leaves as many: a stretch of several chunks */
  stretch = t->rows * t->chunks;
  t->index_flits = tg_div_up(stretch, m->p);
  uint64_t stretches = ((uint64_t)count + (uint64_t)tiles * stretch - 1) / ((uint64_t)tiles * stretch);
  t->stretches = (uint32_t)stretches;
  return t->rows && stretches < 1u << 20 && t->take < 1u << 20;
}

/* ---- who works for whom */

static tg_rows_way loads_by(uint32_t r, uint32_t col) {
  return (tg_rows_way){!tg_egress_is_west(r, col), r, col};
}
static tg_rows_way stores_by(uint32_t r, uint32_t col) {
  return (tg_rows_way){tg_egress_is_west(r, col), r, col};
}

/* Tile (r, col) has rows t * stretch on, and from there on those of every stretch of all tiles. */
static int64_t first_row(const gather *g, uint32_t r, uint32_t col) {
  return (int64_t)(r * g->b.m->cols + col) * g->t.rows * g->t.chunks;
}

/* Tiles that work, of the AGCU's lane, and that the AGCU does this for. */
static uint32_t tiles_of(const gather *g, uint32_t agcu, bool loading, tg_rows_way out[TG_MOST_LINE]) {
  const tg_params *m = g->b.m;
  bool west = tg_is_west(m, agcu);
  uint32_t count = 0;
  for (uint32_t i = 0; i < (west ? m->cols : m->rows); i++) {
    uint32_t r = west ? agcu : i, col = west ? i : agcu - m->rows;
    tg_rows_way way = loading ? loads_by(r, col) : stores_by(r, col);
    if (way.west == west && first_row(g, r, col) < g->count) out[count++] = way;
  }
  return count;
}

/* Parts of a store memory: stretches of indices for the tiles it loads for, then two chunks of each that it stores for. */
static tg_buffer index_place(const gather *g, uint32_t rank) {
  return (tg_buffer){.base = rank * g->t.index_flits, .rows = g->t.index_flits, .count = 1};
}
static tg_buffer chunk_place(const gather *g, uint32_t rank) {
  return (tg_buffer){.base = g->t.line * g->t.index_flits + 2 * rank * g->t.slot,
                     .stride = g->t.slot,
                     .rows = g->t.slot,
                     .count = 2};
}

/* ---- instructions */

/* Loops of a queue whose instructions from `inner` on are done for each chunk and block of columns, all of them for each
 * stretch; of tx and AGCUs alike. */
static void close_loops(const gather *g, tg_queue *queue, uint32_t inner) {
  const uint32_t counts[] = {g->t.stretches, g->t.chunks, g->t.blocks};
  tg_instr *last = &queue->instrs[queue->count - 1];
  for (int l = 0; l < 3; l++) {
    last->common.loop_count[l] = counts[l];
    last->common.loop_begin[l] = l ? inner : 0;
  }
}

static void set_rows(const gather *g, tg_agcu_instr *in, tg_rows_way way) {
  in->rows = g->t.rows;
  in->take = g->t.take;
  in->m_first = first_row(g, way.r, way.col);
  in->m_delta[0] = (int64_t)tg_tiles(g->b.m) * g->t.rows * g->t.chunks;
  in->m_delta[1] = g->t.rows;
  in->k_delta[2] = g->t.take;
  in->convert = tg_storage_bytes(g->table.tensor->storage) == 4 ? TG_CVT_32 : TG_CVT_16;
}

static void load_stretch(const gather *g, tg_rows_way way) {
  tg_agcu_instr *in = &tg_build_push(&g->b, tg_rows_queue(&g->b, way, TG_CTX_LOAD), TG_OP_agcu_load)->agcu;
  tg_rows_walk_indices(in, &g->indices, g->count, g->t.rows * g->t.chunks);
  in->k_first = first_row(g, way.r, way.col);
  in->k_delta[0] = (int64_t)tg_tiles(g->b.m) * g->t.rows * g->t.chunks;
  tg_set_operand(&in->dst, &g->index, false);
  in->dst_mask = 1ll << tg_rows_position(way);
  in->dst_post = 1;
  in->dst_sem = g->index_full;
}

static void load_chunk(const gather *g, tg_rows_way way, uint32_t rank) {
  tg_agcu_instr *in = &tg_build_push(&g->b, tg_rows_queue(&g->b, way, TG_CTX_LOAD), TG_OP_agcu_load)->agcu;
  tg_rows_walk(in, &g->table, g->count, g->columns);
  tg_rows_choose(in, &g->table, g->size, g->columns);
  set_rows(g, in, way);
  in->index_base = (int64_t)index_place(g, rank).base * g->b.m->p;
  in->index_delta[1] = g->t.rows;
  tg_set_operand(&in->dst, &g->rows.ring, false);
  in->dst_mask = 1ll << tg_rows_position(way);
  tg_channel_ask(&g->rows, in, way.west);
  tg_channel_deliver(&g->rows, in);
}

static void emit_loads(const gather *g, uint32_t agcu) {
  tg_rows_way ways[TG_MOST_LINE];
  uint32_t count = tiles_of(g, agcu, true, ways);
  if (!count) return;
  for (uint32_t i = 0; i < count; i++) load_stretch(g, ways[i]);
  tg_queue *queue = tg_rows_queue(&g->b, ways[0], TG_CTX_LOAD);
  for (uint32_t i = 0; i < count; i++)
    tg_set_wait(tg_build_push(&g->b, queue, TG_OP_agcu_sync), TG_NEXT_SLOT, tg_rows_sem(g->here, ways[i]),
                false);
  uint32_t inner = queue->count;
  for (uint32_t i = 0; i < count; i++) load_chunk(g, ways[i], i);
  close_loops(g, queue, inner);
}

/* A tile sends its indices once they have come, then chunk by chunk. */
static void emit_sends(const gather *g, tg_rows_way way, uint32_t rank) {
  tg_rows_way loads = loads_by(way.r, way.col), of_agcu[TG_MOST_LINE];
  uint32_t loading = 0, agcu = loads.west ? way.r : g->b.m->rows + way.col;
  tiles_of(g, agcu, true, of_agcu);
  while (of_agcu[loading].r != way.r || of_agcu[loading].col != way.col) loading++;
  tg_buffer indices = index_place(g, loading), chunks = chunk_place(g, rank);
  tg_instr *in =
      tg_rows_send(&g->b, loads, &g->index, &indices, g->t.index_flits, tg_rows_sem(g->here, loads));
  tg_set_wait(in, TG_NEXT_SLOT, g->index_full, false);
  in =
      tg_rows_send(&g->b, way, &g->rows.ring, &chunks, g->t.rows * g->t.row_flits, tg_rows_sem(g->here, way));
  tg_channel_take(&g->rows, in, TG_NEXT_SLOT, false);
  tg_channel_return(&g->rows, in, TG_NEXT_SLOT, loads.west, way.r, way.col, false);
  tg_set_wait(in, TG_NEXT_SLOT, g->room, false);
  close_loops(g, &tg_build_tile(&g->b, way.r, way.col)->tx, 1);
}

static void emit_stores(const gather *g, uint32_t agcu) {
  tg_rows_way ways[TG_MOST_LINE];
  uint32_t count = tiles_of(g, agcu, false, ways);
  for (uint32_t i = 0; i < count; i++) {
    tg_queue *queue = tg_rows_queue(&g->b, ways[i], TG_CTX_STORE);
    tg_instr *in = tg_build_push(&g->b, queue, TG_OP_agcu_store);
    tg_buffer chunks = chunk_place(g, i);
    tg_rows_walk(&in->agcu, &g->result, g->count, g->columns);
    set_rows(g, &in->agcu, ways[i]);
    tg_set_operand(&in->agcu.src, &chunks, false);
    tg_set_wait(in, TG_NEXT_SLOT, tg_rows_sem(g->here, ways[i]), false);
    tg_set_post(in, TG_NEXT_SLOT, ways[i].west ? TG_POST_ROW : TG_POST_COL, tg_rows_position(ways[i]),
                g->room, false);
    if (i + 1 == count) close_loops(g, queue, 0);
    emit_sends(g, ways[i], i);
  }
}

static tg_status emit(tg_compile *c, const tg_kernel *kernel) {
  const tg_node *node = kernel->root;
  const tg_value *table = tg_in(node, 0);
  const char *name = tg_kernel_name(c, kernel);
  gather g = {.count = tg_value_elements(tg_in(node, 1)),
              .size = table->dims[0].size,
              .columns = table->dims[1].size};
  tg_build_begin(&g.b, c, name);
  bool fits = cut(c->m, g.count, g.columns, tg_value_bytes_each(table), &g.t) &&
              tg_build_buffer(&g.b, g.t.index_flits, 1, &g.index) &&
              tg_build_buffer(&g.b, g.t.rows * g.t.row_flits, 2, &g.rows.ring);
  if (!fits)
    return tg_fail(
        c->diag, TG_INVALID,
        "%s: %lld rows of %lld elements do not fit the scratchpads (%u banks of %u flits) and store "
        "memories (%u flits) of this architecture",
        name, (long long)g.count, (long long)g.columns, c->m->banks, tg_bank_rows(c->m), tg_store_rows(c->m));
  g.table = tg_rows_open(&g.b, tg_place_of(c, table));
  g.indices = tg_rows_open(&g.b, tg_place_of(c, tg_in(node, 1)));
  g.result = tg_rows_open(&g.b, tg_place_of(c, tg_out(node)));
  g.index_full = tg_tile_sem(&g.b, 0);
  g.room = tg_tile_sem(&g.b, 2);
  tg_channel_open_full(&g.b, &g.rows);
  tg_channel_open_credits(&g.b, &g.rows, 2);
  g.here = tg_rows_agcu_sems(&g.b, 0);
  for (uint32_t a = 0; a < tg_agcus(c->m); a++) {
    emit_loads(&g, a);
    emit_stores(&g, a);
  }
  tg_build_invoke(&g.b, name);
  return TG_OK;
}

static bool accepts(const tg_compile *c, const tg_node *node) {
  (void)c;
  return node->op == TG_OP_GATHER_ROWS;
}

/* Atoms in and out by all ports. */
static double cycles(tg_compile *c, const tg_kernel *kernel) {
  const tg_value *y = kernel->output;
  double row = (double)y->dims[1].size * tg_value_bytes_each(y), atoms = row < 64 ? 1 : row / 64;
  return TG_SECTION_CYCLES + (double)y->dims[0].size * 2 * atoms * tg_atom_cycles(c->m) / tg_agcus(c->m);
}

const tg_kernel_class tg_gather_class = {
    .name = "gather",
    .accepts = accepts,
    .cycles = cycles,
    .emit = emit,
};
