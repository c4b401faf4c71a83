/* Strips of columns for AGCUs, and the channels and stages of their sums. */
#include "frontend/base/math.h"
#include "mapper/rows/scatter.h"
#include "mapper/section/need.h"

#include <string.h>

enum { WAY_OF_A_ROW = 60 }; /* cycles of credits, lanes and the vector unit's pipeline, roughly */

bool tg_scatter_way(const tg_params *m, uint32_t agcu, tg_rows_way *out) {
  bool west = tg_is_west(m, agcu);
  uint32_t line = west ? agcu : agcu - m->rows;
  *out = west ? (tg_rows_way){true, line, line % m->cols} : (tg_rows_way){false, (line + 1) % m->rows, line};
  return west || out->r % m->cols != out->col;
}

uint32_t tg_scatter_ways_before(const tg_params *m, uint32_t agcu) {
  uint32_t count = 0;
  tg_rows_way way;
  for (uint32_t a = 0; a < agcu; a++) count += tg_scatter_way(m, a, &way);
  return count;
}

void tg_scatter_plan_channels(const tg_scatter_tiling *t, tg_channel_plan plans[TG_SCATTER_ROLES]) {
  const tg_channel_plan at_agcu = {.west = true, .north = true};
  plans[TG_ROLE_ZEROS] = (tg_channel_plan){.room = {(uint64_t)t->zeros * t->row_flits, 1}, .full = 1};
  plans[TG_ROLE_INDICES] = (tg_channel_plan){.room = {t->index_flits, 2}, .full = 1};
  plans[TG_ROLE_SUM] = plans[TG_ROLE_MADE] = (tg_channel_plan){.room = {t->row_flits, 1}, .full = 1};
  plans[TG_ROLE_UPDATES] = (tg_channel_plan){
      .room = {(uint64_t)t->rows * t->row_flits, 2}, .full = 1, .west = true, .north = true, .credits = 2};
  plans[TG_ROLE_ZEROS_AWAY] = plans[TG_ROLE_INDICES_AWAY] = plans[TG_ROLE_MADE_AWAY] = plans[TG_ROLE_FILLED] =
      plans[TG_ROLE_NEXT] = at_agcu;
  plans[TG_ROLE_INDICES].bases = plans[TG_ROLE_UPDATES].bases = 1;
  plans[TG_ROLE_MADE_AWAY].bases = 1; /* the result, of which rows come back, too */
  plans[TG_ROLE_INDICES_AWAY].free = plans[TG_ROLE_INDICES_AWAY].initial = plans[TG_ROLE_NEXT].credits = 1;
}

enum { MOST_CHUNKS = (1 << 20) - 1 };

bool tg_tile_scatter(const tg_params *m, int64_t count, int64_t columns, tg_scatter_tiling *t,
                     tg_shortage *out_lacks) {
  uint32_t lanes = tg_lanes(m), ways = tg_scatter_ways_before(m, tg_agcus(m)), bank = tg_bank_rows(m);
  uint32_t most = (uint32_t)tg_min(bank, tg_store_rows(m) / 4) * m->p / lanes * lanes;
  int64_t strip = tg_div_up(columns, ways);
  strip = tg_min(tg_round_up(strip, lanes), most);
  if (!strip && bank * m->p < lanes) return tg_shortage_note(out_lacks, "rows of a bank", lanes / m->p, bank);
  if (!strip)
    return tg_shortage_note(out_lacks, "flits of a store memory", 4 * (lanes / m->p), tg_store_rows(m));
  *t = (tg_scatter_tiling){.strip = (uint32_t)strip, .row_flits = (uint32_t)strip / m->p};
  t->ways = (uint32_t)tg_min(tg_div_up(columns, strip), ways);
  uint32_t store = tg_store_rows(m);
  t->zeros = (uint32_t)tg_min(store / 2, bank) / t->row_flits;
  t->rows = (uint32_t)tg_min(tg_min(count, 8 * m->p), bank / t->row_flits); /* in one bank */
  t->index_flits = tg_div_up(t->rows, m->p);
  int64_t chunks = tg_div_up(count, t->rows);
  t->chunks = (uint32_t)chunks;
  tg_channel_plan plans[TG_SCATTER_ROLES];
  tg_scatter_plan_channels(t, plans);
  tg_need need = tg_need_of_channels(m, plans, TG_SCATTER_ROLES);
  tg_stages stages;
  tg_scatter_list_stages(m, t, &stages);
  tg_need_stages(&need, &stages);
  if (!tg_need_fits(m, &need)) {
    tg_need_note(m, &need, out_lacks);
    return false;
  }
  if (chunks > MOST_CHUNKS)
    return tg_shortage_note(out_lacks, "chunks of updates", (uint64_t)chunks, MOST_CHUNKS);
  uint64_t flits = (uint64_t)(t->zeros + 1) * t->row_flits + t->index_flits;
  if (flits > store) return tg_shortage_note(out_lacks, "flits of a store memory", flits, store);
  return t->zeros;
}

/* ---- stages */

static void add_at_agcus(const tg_stage *stage, tg_stages *out) {
  tg_stage at = *stage;
  for (tg_seat side = TG_SIDE_WEST; side < TG_SIDES; side++) {
    at.seat = (uint8_t)side;
    tg_stages_add(out, &at);
  }
}

static tg_stage make(int kind, int context, tg_rate rate, int nest) {
  return (tg_stage){.kind = (uint8_t)kind,
                    .context = (uint8_t)context,
                    .rate = (uint8_t)rate,
                    .nest = (uint8_t)nest,
                    .slots = 1};
}

static tg_join empties(int channel) {
  return (tg_join){.channel = (uint8_t)channel, .wait = TG_NEXT_SLOT, .post = TG_NEXT_SLOT};
}
static tg_join fills(int channel) {
  tg_join join = empties(channel);
  join.fills = true;
  return join;
}
static tg_join only_waits(tg_join join) { return join.posts = TG_OF_NONE, join; }
static tg_join only_posts(tg_join join) { return join.waits = TG_OF_NONE, join; }
static tg_join once(tg_join join) { return join.once = true, join; }

/* Zeros, then chunks of indices and updates, which are asked for together. */
static void add_loads(tg_stages *out) {
  tg_stage zeros = make(TG_STAGE_ZEROS, TG_CTX_LOAD, TG_RATE_ONCE, TG_NEST_CHUNKS),
           indices = make(TG_STAGE_INDICES, TG_CTX_LOAD, TG_RATE_PASS, TG_NEST_CHUNKS),
           updates = make(TG_STAGE_UPDATES, TG_CTX_LOAD, TG_RATE_PASS, TG_NEST_CHUNKS);
  tg_stage_join(&zeros, fills(TG_ROLE_ZEROS));
  tg_stage_join(&indices, fills(TG_ROLE_INDICES));
  tg_stage_join(&indices, only_waits(fills(TG_ROLE_UPDATES)));
  tg_stage_join(&updates, only_posts(fills(TG_ROLE_UPDATES)));
  add_at_agcus(&zeros, out);
  add_at_agcus(&indices, out);
  add_at_agcus(&updates, out);
}

/* The row of an update's index, when the one before it is stored; and its way back. `atoms`: cycles of a port for it. */
static void add_sums(double atoms, tg_stages *out) {
  tg_stage filled = make(TG_STAGE_FILLED, TG_CTX_AUX, TG_RATE_ONCE, TG_NEST_ROWS),
           load = make(TG_STAGE_SUMS, TG_CTX_AUX, TG_RATE_STEP, TG_NEST_ROWS),
           arrived = make(TG_STAGE_FILLED, TG_CTX_STORE, TG_RATE_ONCE, TG_NEST_ROWS),
           zeros = make(TG_STAGE_ZEROS, TG_CTX_STORE, TG_RATE_ONCE, TG_NEST_ROWS),
           store = make(TG_STAGE_SUMS, TG_CTX_STORE, TG_RATE_STEP, TG_NEST_ROWS);
  load.cycles = store.cycles = atoms;
  arrived.drains = zeros.drains = store.drains = true;
  tg_stage_join(&filled, empties(TG_ROLE_FILLED));
  tg_stage_join(&load, once(only_waits(empties(TG_ROLE_INDICES_AWAY))));
  tg_stage_join(&load, empties(TG_ROLE_NEXT));
  tg_stage_join(&load, fills(TG_ROLE_SUM));
  tg_stage_join(&arrived, empties(TG_ROLE_ZEROS_AWAY));
  tg_stage_join(&zeros, once(only_posts(fills(TG_ROLE_FILLED))));
  tg_stage_join(&store, empties(TG_ROLE_MADE_AWAY));
  tg_stage_join(&store, only_posts(fills(TG_ROLE_NEXT)));
  tg_stage_join(&store, once(only_posts(empties(TG_ROLE_INDICES_AWAY))));
  add_at_agcus(&filled, out);
  add_at_agcus(&load, out);
  add_at_agcus(&arrived, out);
  add_at_agcus(&zeros, out);
  add_at_agcus(&store, out);
}

static void add_units(const tg_scatter_tiling *t, tg_stages *out) {
  tg_stage sum = make(TG_STAGE_SUMS, 0, TG_RATE_STEP, TG_NEST_ROWS),
           zeros = make(TG_STAGE_ZEROS, 0, TG_RATE_ONCE, TG_NEST_ROWS),
           indices = make(TG_STAGE_INDICES, 0, TG_RATE_PASS, TG_NEST_ROWS), made = sum;
  sum.seat = TG_UNIT_VX;
  sum.cycles = t->row_flits + WAY_OF_A_ROW;
  zeros.seat = indices.seat = made.seat = TG_UNIT_TX;
  made.cycles = t->row_flits;
  tg_stage_join(&sum, empties(TG_ROLE_SUM));
  tg_stage_join(&sum, once(only_waits(empties(TG_ROLE_UPDATES))));
  tg_stage_join(&sum, fills(TG_ROLE_MADE));
  tg_stage_join(&sum, once(only_posts(empties(TG_ROLE_UPDATES))));
  tg_stage_join(&zeros, empties(TG_ROLE_ZEROS));
  tg_stage_join(&indices, empties(TG_ROLE_INDICES));
  tg_stage_join(&indices, only_waits(fills(TG_ROLE_INDICES_AWAY)));
  tg_stage_join(&made, empties(TG_ROLE_MADE));
  tg_stages_add(out, &sum);
  tg_stages_add(out, &zeros);
  tg_stages_add(out, &indices);
  tg_stages_add(out, &made);
}

void tg_scatter_list_stages(const tg_params *m, const tg_scatter_tiling *t, tg_stages *out) {
  out->count = 0;
  add_loads(out);
  add_sums((double)t->strip / 16 * tg_atom_cycles(m), out);
  add_units(t, out);
}
