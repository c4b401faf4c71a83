/* GatherRows: each tile takes chunks of rows, which an AGCU of its row or column loads by their indices and the other one
 * stores, as those of stream kernels do. A stretch of indices, of some chunks, goes to the AGCU before the stretch's first
 * chunk is loaded. */
#include "frontend/base/math.h"
#include "mapper/kernel/class.h"
#include "mapper/rows/rows.h"
#include "mapper/section/checkerboard.h"
#include "mapper/section/need.h"

#include <string.h>

/* How the work is cut. */
typedef struct tiling {
  uint32_t rows, take;        /* of a chunk; elements of a row, of a block of columns */
  uint32_t blocks;            /* of columns */
  uint32_t chunks, stretches; /* of a stretch; of a tile */
  uint32_t row_flits;         /* of a block */
  uint32_t index_flits, slot; /* of a stretch; flits of a chunk's place in a store memory, at most */
  uint32_t line;              /* tiles that one AGCU loads for, or stores of, at most */
} tiling;

/* A stretch of indices, at the tile and on its way to the AGCU that loads; chunks of rows, and on their way to the one
 * that stores. */
enum { INDICES, ROWS, INDICES_AWAY, ROWS_AWAY, CHANNELS };
enum { STAGE_INDICES, STAGE_ARRIVALS, STAGE_ROWS };
enum { NEST_ROWS, NESTS };
enum { MOST_STRETCHES = (1 << 20) - 1, MOST_TAKEN = (1 << 20) - 1 };

typedef struct gather {
  tg_build b;
  tiling t;
  int64_t count, size, columns; /* of indices; rows and columns of the table */
  tg_rows_tensor table, indices, result;
  tg_channel channels[CHANNELS];
} gather;

/* ---- cutting */

static bool cut(const tg_params *m, int64_t count, int64_t columns, uint32_t bytes, tiling *t,
                tg_shortage *out_lacks) {
  uint32_t elements = tg_flit_bytes(m) / bytes, tiles = tg_tiles(m),
           most = (uint32_t)tg_max(m->rows, m->cols);
  *t = (tiling){.line = (most + 1) / 2};
  if (count < 1 || columns < 1) return false;
  uint32_t share = tg_store_rows(m) / t->line, reserved = share / 4 ? share / 4 : 1;
  int64_t each = tg_div_up(count, tiles);
  reserved = (uint32_t)tg_min(reserved, tg_div_up(each, m->p));
  uint32_t banks = tg_banks_for(m, reserved);
  if (share < reserved + 2) /* which is one where a share has less than eight */
    return tg_shortage_note(out_lacks, "flits of a store memory", (uint64_t)t->line * (reserved + 2),
                            tg_store_rows(m));
  if (banks + 2 > m->banks) return tg_shortage_note(out_lacks, "banks of a scratchpad", banks + 2, m->banks);
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
  if (stretches > MOST_STRETCHES)
    return tg_shortage_note(out_lacks, "stretches of rows", stretches, MOST_STRETCHES);
  if (t->take > MOST_TAKEN) return tg_shortage_note(out_lacks, "elements of a row", t->take, MOST_TAKEN);
  return t->rows;
}

/* ---- channels and stages */

static void plan_channels(const tiling *t, tg_channel_plan plans[CHANNELS]) {
  memset(plans, 0, CHANNELS * sizeof *plans);
  plans[INDICES] = (tg_channel_plan){.room = {t->index_flits, 1}, .full = 1, .bases = 1};
  plans[ROWS] = (tg_channel_plan){.room = {(uint64_t)t->rows * t->row_flits, 2},
                                  .full = 1,
                                  .west = true,
                                  .north = true,
                                  .credits = 2,
                                  .bases = 1};
  plans[ROWS_AWAY] = (tg_channel_plan){.free = 1, .initial = 2, .west = true, .north = true, .bases = 1};
}

/* Indices and rows arrive at different AGCUs, by semaphores of the same numbers. */
static bool open_channels(gather *g) {
  static const tg_channel_end order[] = {{INDICES, TG_END_FULL},
                                         {ROWS_AWAY, TG_END_FREE},
                                         {ROWS, TG_END_FULL | TG_END_AGCU},
                                         {ROWS_AWAY, TG_END_AGCU}};
  tg_channel_plan plans[CHANNELS];
  plan_channels(&g->t, plans);
  for (int i = 0; i < CHANNELS; i++) g->channels[i] = TG_CHANNEL_NONE;
  if (!tg_channels_place(&g->b, plans, CHANNELS, g->channels)) return false;
  tg_channels_open(&g->b, plans, order, (int)(sizeof order / sizeof *order), g->channels);
  g->channels[ROWS].source = tg_checkerboard_source;
  g->channels[INDICES_AWAY].west = g->channels[ROWS_AWAY].west;
  g->channels[INDICES_AWAY].north = g->channels[ROWS_AWAY].north;
  return true;
}

/* `row_cycles`: of a port for a row of the table, or of the result. */
static void list_stages(const tg_params *m, const tiling *t, double row_cycles, tg_stages *out) {
  tg_stage indices = {.kind = STAGE_INDICES,
                      .context = TG_CTX_LOAD,
                      .rate = TG_RATE_ROUND,
                      .nest = NEST_ROWS,
                      .slots = 1},
           arrivals = indices, send_indices = indices, rows = indices;
  arrivals.kind = STAGE_ARRIVALS;
  send_indices.seat = TG_UNIT_TX;
  rows.kind = STAGE_ROWS;
  rows.rate = TG_RATE_STEP;
  rows.cycles = t->rows * row_cycles;
  tg_stage send_rows = rows, stores = rows;
  send_rows.seat = TG_UNIT_TX;
  stores.context = TG_CTX_STORE;
  stores.drains = true;
  tg_stage_join(&indices, (tg_join){.channel = INDICES, .fills = true});
  tg_stage_join(&arrivals, (tg_join){.channel = INDICES_AWAY});
  tg_stage_join(&rows, (tg_join){.channel = ROWS, .fills = true});
  tg_stage_join(&send_indices, (tg_join){.channel = INDICES});
  tg_stage_join(&send_rows, (tg_join){.channel = ROWS});
  tg_stage_join(&send_rows, (tg_join){.channel = ROWS_AWAY, .fills = true, .wait = 1, .posts = TG_OF_NONE});
  tg_stage_join(&stores, (tg_join){.channel = ROWS_AWAY});
  out->count = 0;
  tg_checkerboard_add(m, out, indices);
  tg_checkerboard_add(m, out, arrivals);
  tg_checkerboard_add(m, out, rows);
  tg_checkerboard_add(m, out, stores);
  tg_stages_add(out, &send_indices);
  tg_stages_add(out, &send_rows);
}

/* As cut, has the array what it needs? */
static bool fits(const tg_params *m, const tiling *t, const tg_stages *stages, tg_shortage *out_lacks) {
  tg_channel_plan plans[CHANNELS];
  plan_channels(t, plans);
  tg_need need = tg_need_of_channels(m, plans, CHANNELS);
  tg_need_stages(&need, stages);
  if (tg_need_fits(m, &need)) return true;
  tg_need_note(m, &need, out_lacks);
  return false;
}

/* ---- instructions */

/* Tile (r, col) has rows t * stretch on, and from there on those of every stretch of all tiles. */
static int64_t first_row(const gather *g, uint32_t r, uint32_t col) {
  return (int64_t)(r * g->b.m->cols + col) * g->t.rows * g->t.chunks;
}

/* Parts of a store memory: stretches of indices for the tiles it loads for, then two chunks of each that it stores for. */
static tg_buffer index_place(const gather *g, uint32_t r, uint32_t col) {
  uint32_t rank = tg_checkerboard_rank(tg_checkerboard_west(r, col), r, col);
  return (tg_buffer){.base = rank * g->t.index_flits, .rows = g->t.index_flits, .count = 1};
}
static tg_buffer chunk_place(const gather *g, uint32_t r, uint32_t col) {
  uint32_t rank = tg_checkerboard_rank(!tg_checkerboard_west(r, col), r, col);
  return (tg_buffer){.base = g->t.line * g->t.index_flits + 2 * rank * g->t.slot,
                     .stride = g->t.slot,
                     .rows = g->t.slot,
                     .count = 2};
}

static void set_rows(const gather *g, tg_agcu_instr *in, uint32_t r, uint32_t col) {
  in->rows = g->t.rows;
  in->take = g->t.take;
  in->m_first = first_row(g, r, col);
  in->m_delta[0] = (int64_t)tg_tiles(g->b.m) * g->t.rows * g->t.chunks;
  in->m_delta[1] = g->t.rows;
  in->k_delta[2] = g->t.take;
  in->convert = tg_storage_bytes(g->table.tensor->storage) == 4 ? TG_CVT_32 : TG_CVT_16;
}

static void fill_index_load(const gather *g, tg_agcu_instr *in, uint32_t r, uint32_t col) {
  tg_rows_walk_indices(in, &g->indices, g->count, g->t.rows * g->t.chunks);
  in->k_first = first_row(g, r, col);
  in->k_delta[0] = (int64_t)tg_tiles(g->b.m) * g->t.rows * g->t.chunks;
  tg_set_operand(&in->dst, &g->channels[INDICES].ring, false);
  in->dst_mask = tg_checkerboard_mask(r, col);
}

static void fill_row_load(const gather *g, tg_agcu_instr *in, uint32_t r, uint32_t col) {
  tg_buffer indices = index_place(g, r, col);
  tg_rows_walk(in, &g->table, g->count, g->columns);
  tg_rows_choose(in, &g->table, g->size, g->columns);
  set_rows(g, in, r, col);
  in->index_base = (int64_t)indices.base * g->b.m->p;
  in->index_delta[1] = g->t.rows;
  tg_set_operand(&in->dst, &g->channels[ROWS].ring, false);
  in->dst_mask = tg_checkerboard_mask(r, col);
}

static void fill_store(const gather *g, tg_agcu_instr *in, uint32_t r, uint32_t col) {
  tg_buffer chunks = chunk_place(g, r, col);
  tg_rows_walk(in, &g->result, g->count, g->columns);
  set_rows(g, in, r, col);
  tg_set_operand(&in->src, &chunks, false);
}

static void meet(const gather *g, const tg_stage *stage, tg_instr *in, uint32_t r, uint32_t col) {
  tg_stage_meet(stage, g->channels, TG_ALL_CHANNELS, &(tg_joint){.in = in, .r = r, .col = col});
}

/* For a tile, if it has any rows. */
static void emit_at_agcu(void *user, const tg_stage *stage, tg_queue *queue, uint32_t r, uint32_t col) {
  const gather *g = user;
  if (first_row(g, r, col) >= g->count) return;
  int op = stage->drains                   ? TG_OP_agcu_store
           : stage->kind == STAGE_ARRIVALS ? TG_OP_agcu_sync
                                           : TG_OP_agcu_load;
  tg_instr *in = tg_build_push(&g->b, queue, op);
  if (stage->drains)
    fill_store(g, &in->agcu, r, col);
  else if (stage->kind == STAGE_INDICES)
    fill_index_load(g, &in->agcu, r, col);
  else if (stage->kind == STAGE_ROWS)
    fill_row_load(g, &in->agcu, r, col);
  meet(g, stage, in, r, col);
}

/* A tile sends its indices once they have come, then chunk by chunk. */
static void emit_send(const gather *g, const tg_stage *stage, tg_queue *queue, uint32_t r, uint32_t col) {
  bool loads_west = tg_checkerboard_west(r, col), indices = stage->kind == STAGE_INDICES;
  if (first_row(g, r, col) >= g->count) return;
  tg_buffer to = indices ? index_place(g, r, col) : chunk_place(g, r, col);
  tg_rows_way way = {loads_west == indices, r, col};
  tg_instr *in = tg_rows_send(&g->b, queue, way, &g->channels[indices ? INDICES : ROWS].ring, &to,
                              indices ? g->t.index_flits : g->t.rows * g->t.row_flits,
                              &g->channels[indices ? INDICES_AWAY : ROWS_AWAY]);
  meet(g, stage, in, r, col);
}

static void emit_stage(void *user, const tg_stage *stage, tg_queue *queue, tg_turn at) {
  const gather *g = user;
  if (stage->seat == TG_UNIT_TX)
    emit_send(g, stage, queue, at.r, at.col);
  else
    tg_checkerboard_each(g->b.m, stage, queue, at, emit_at_agcu, user);
}

static tg_status emit(tg_compile *c, const tg_kernel *kernel) {
  const tg_node *node = kernel->root;
  const tg_value *table = tg_in(node, 0);
  const char *name = tg_kernel_name(c, kernel);
  gather g = {.count = tg_value_elements(tg_in(node, 1)),
              .size = table->dims[0].size,
              .columns = table->dims[1].size};
  tg_shortage lacks = {0};
  tg_stages stages;
  tg_build_begin(&g.b, c, name);
  bool good = cut(c->m, g.count, g.columns, tg_value_bytes_each(table), &g.t, &lacks);
  if (good) list_stages(c->m, &g.t, 0, &stages);
  if (!good || !fits(c->m, &g.t, &stages, &lacks))
    return tg_fail(
        c->diag, TG_INVALID,
        "%s: %lld rows of %lld elements do not fit the scratchpads (%u banks of %u flits) and store "
        "memories (%u flits) of this architecture%s",
        name, (long long)g.count, (long long)g.columns, c->m->banks, tg_bank_rows(c->m), tg_store_rows(c->m),
        tg_shortage_text(c->arena, &lacks));
  if (!open_channels(&g)) return TG_INVALID; /* which says how many banks it needs */
  g.table = tg_rows_open(&g.b, tg_place_of(c, table));
  g.indices = tg_rows_open(&g.b, tg_place_of(c, tg_in(node, 1)));
  g.result = tg_rows_open(&g.b, tg_place_of(c, tg_out(node)));
  const uint32_t loops[NESTS][3] = {[NEST_ROWS] = {g.t.stretches, g.t.chunks, g.t.blocks}};
  tg_stages_emit(&g.b, &stages, c->m->rows, loops, emit_stage, &g);
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
  tiling t;
  tg_stages stages;
  tg_shortage unused = {0};
  if (!cut(c->m, y->dims[0].size, y->dims[1].size, tg_value_bytes_each(y), &t, &unused)) return TG_NEVER;
  list_stages(c->m, &t, atoms * tg_atom_cycles(c->m), &stages);
  if (!fits(c->m, &t, &stages, &unused)) return TG_NEVER;
  tg_port_time tile = tg_stages_port(&stages, TG_SIDE_WEST);
  return TG_SECTION_CYCLES + (double)y->dims[0].size / t.rows * (tile.load + tile.drain) / tg_agcus(c->m);
}

const tg_kernel_class tg_gather_class = {
    .name = "gather",
    .accepts = accepts,
    .cycles = cycles,
    .emit = emit,
};
