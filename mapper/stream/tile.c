/* Column blocks and chunks of rows that scratchpads and the egress have room for, and what they take. */
#include "mapper/section/need.h"
#include "mapper/stream/tiling.h"

#include "frontend/base/math.h"

#include <math.h>
#include <string.h>

enum {
  ROW_VECTORS = 4,
  ATOM = 16,            /* elements, roughly: what a row pays at its ends, for each tensor */
  SPACE_RANK = 4,       /* of a section's walks */
  ROUNDS = 8,           /* of rows: then each tile has about as many as any other */
  SPREAD_SHARE = 90,    /* percent that rows which are cut may take of what whole ones do */
  MOST_TAKEN = 65535,   /* elements of a row of a load */
  MOST_VECTORS = 65535, /* of a chunk */
  MOST_CHUNKS = (1 << 20) - 1
};

/* Pairs of buffers: of inputs, of those side by side, of results. */
static uint32_t buffer_pairs(const tg_stream_kernel *plan) {
  uint32_t alone = 0, beside = 0;
  for (int i = 0; i < plan->inputs; i++)
    if (plan->beside[i])
      beside = 1;
    else
      alone++;
  return alone + beside + 1 + (uint32_t)plan->more;
}

void tg_choose_columns(const tg_params *m, tg_stream_kernel *plan, int64_t columns) {
  uint32_t lanes = tg_lanes(m), share = tg_egress_share(m, TG_EGRESS_BOTH, 1) / (1 + (uint32_t)plan->more);
  uint32_t most_vectors = share / 2 ? share / 2 : 1; /* two flits of fp32 a vector */
  uint32_t pairs = buffer_pairs(plan),
           banks = m->banks / (plan->single && m->banks < 2 * pairs ? pairs : 2 * pairs),
           room = banks * tg_bank_rows(m), window = 1;
  for (int i = 0; i < plan->inputs; i++)
    if (window < plan->window[i]) window = plan->window[i];
  if (most_vectors > room / 2 / window) most_vectors = room / 2 / window;
  if (!most_vectors) most_vectors = 1;
  int64_t vectors = tg_div_up(columns, lanes);
  plan->take = (uint32_t)(vectors < most_vectors ? vectors : most_vectors) * lanes;
  plan->column_blocks = (uint32_t)tg_div_up(columns, plan->take);
}

int64_t tg_space_block(const tg_params *m, const tg_space *space) {
  int64_t block = (int64_t)tg_lanes(m) * ROW_VECTORS, size = space->dims[space->rank - 1];
  return space->rank == 1 && size > block ? block : size;
}

/* What the tile with most rows of so many elements moves. */
static int64_t most_moved(const tg_params *m, const tg_space *space, int64_t rows, int64_t elements) {
  return tg_div_up(rows, tg_tiles(m)) * (elements + (int64_t)ATOM * space->operands);
}

void tg_space_spread(const tg_params *m, tg_space *space) {
  int last = space->rank - 1;
  int64_t size = space->dims[last], rows = 1, least = (int64_t)tg_lanes(m) * ROW_VECTORS, best = 1;
  if (space->rank < 2 || space->rank >= SPACE_RANK) return;
  for (int d = 0; d < last; d++) rows *= space->dims[d];
  if (rows >= ROUNDS * (int64_t)tg_tiles(m)) return;
  int64_t most = most_moved(m, space, rows, size) * SPREAD_SHARE / 100;
  for (int64_t parts = 2; parts <= ROUNDS * (int64_t)tg_tiles(m) && parts <= size / least; parts++) {
    if (size % parts) continue;
    int64_t moved = most_moved(m, space, rows * parts, size / parts);
    if (moved < most) most = moved, best = parts;
  }
  if (best == 1) return;
  space->dims[last] = best;
  space->dims[space->rank++] = size / best;
  for (int o = 0; o < space->operands; o++) {
    space->strides[o][last + 1] = space->strides[o][last];
    space->strides[o][last] *= size / best;
  }
}

/* Chunks of at most `limit` rows, fewer if that spreads the rows over more tiles; of whole rows, as many as
 * fill the groups of the vector unit. */
static bool set_loops(const tg_params *m, const tg_stream_kernel *plan, uint32_t limit, tg_stream_tiling *t,
                      tg_shortage *out_lacks) {
  uint32_t tiles = tg_tiles(m), depth = m->fma_latency;
  uint64_t blocks = tg_div_up(plan->rows, tiles);
  if (!t->run) t->chunk_rows = (uint32_t)tg_min(limit, blocks);
  if (plan->whole_rows && t->chunk_rows > depth) t->chunk_rows -= t->chunk_rows % depth;
  uint64_t per_round = (uint64_t)t->chunk_rows * tiles, chunks = tg_div_up(plan->rows, per_round);
  if (chunks > MOST_CHUNKS) return tg_shortage_note(out_lacks, "chunks of rows", chunks, MOST_CHUNKS);
  uint64_t vectors = (uint64_t)t->chunk_rows * t->vectors;
  if (vectors > MOST_VECTORS) return tg_shortage_note(out_lacks, "vectors of a chunk", vectors, MOST_VECTORS);
  t->loops[0] = (uint32_t)chunks;
  t->loops[1] = plan->column_blocks;
  t->loops[2] = 1;
  return true;
}

/* A VOP over few rows takes as long as one over L. Where rows are whole vectors and lie behind each other, L
 * of them can leave in equal parts of which each fits the store memory. */
static void cut_run(const tg_params *m, const tg_stream_kernel *plan, uint32_t share, uint64_t room,
                    tg_stream_tiling *t) {
  const tg_walk_plan *out = &plan->output;
  uint32_t rows = m->fma_latency, flits = rows * t->out_flits, part = share < flits ? share : flits;
  bool dense = out->radix[0] == 1 && out->radix[1] == 1 && out->stride[2] == out->columns &&
               out->element_stride == 1 && !out->inner;
  if (plan->first_segments &&
      ((uint64_t)rows * tg_kind_flits(m, TG_STREAM_FP32, plan->take) > room || 2 * rows > tg_bank_rows(m)))
    return;
  if (!plan->whole_rows || plan->out_take || !dense || plan->take != out->columns || flits > room) return;
  if ((uint64_t)plan->rows < (uint64_t)rows * tg_tiles(m)) return; /* more tiles are better than full ones */
  for (int i = 0; i < plan->inputs; i++)
    if ((uint64_t)rows * tg_stream_input_flits(m, plan, i) * plan->window[i] > room) return;
  while (flits % part) part--;
  t->run = true;
  t->chunk_rows = rows;
  t->parts = flits / part;
  t->part_flits = part;
}

/* Do all buffers fit with chunks of so many rows? */
static bool rows_fit(const tg_params *m, const tg_stream_kernel *plan, uint32_t copies, uint32_t rows,
                     tg_shortage *out_lacks) {
  tg_channel_plan plans[TG_STREAM_ROLES];
  tg_stream_plan_channels(m, plan, &(tg_stream_tiling){.copies = copies, .chunk_rows = rows}, plans);
  tg_need need = tg_need_of_channels(m, plans, TG_STREAM_ROLES);
  if (tg_need_fits(m, &need)) return true;
  tg_need_note(m, &need, out_lacks);
  return false;
}

/* Rows that make a load at least half a burst, of a window, which has a load for each position; and, of whole
 * rows, as many as hide the latency of the ALU. */
static uint32_t rows_wanted(const tg_params *m, const tg_stream_kernel *plan) {
  uint32_t rows = plan->whole_rows ? m->fma_latency : 1;
  for (int i = 0; i < plan->inputs; i++) {
    uint32_t flits = tg_stream_input_flits(m, plan, i), half = tg_div_up(m->burst_flits / 2, flits);
    if (plan->window[i] > 1 && rows < half) rows = half;
  }
  return rows;
}

/* What leaves at once: rows, the return value, or, where not even one fits, a part of one; 0: neither can. */
static uint32_t set_parts(const tg_params *m, const tg_stream_kernel *plan, uint32_t share,
                          tg_stream_tiling *t, tg_shortage *out_lacks) {
  t->vectors = plan->take / tg_lanes(m);
  for (int x = 0; x <= plan->more; x++) { /* the widest decides */
    uint32_t flits = tg_kind_flits(m, tg_stream_result_kind(plan, x), tg_stream_out_take(plan));
    if (t->out_flits < flits) t->out_flits = flits;
  }
  t->parts = 1;
  t->part_flits = t->out_flits;
  if (share >= t->out_flits) return share / t->out_flits;
  uint32_t least = t->out_flits;
  if (t->vectors && t->out_flits >= t->vectors && plan->column_blocks <= 1 && !plan->more && !plan->out_take)
    least = t->out_flits / t->vectors; /* of less than a flit a vector there are no parts */
  if (share < least) {
    uint64_t shares = (uint64_t)tg_egress_parts(m, TG_EGRESS_BOTH, 1) * (1 + (uint32_t)plan->more);
    tg_shortage_note(out_lacks, "flits of a store memory", shares * least, tg_store_rows(m));
    return 0;
  }
  uint32_t vector_flits = least, per_part = share / vector_flits;
  t->parts = tg_div_up(t->vectors, per_part); /* of whole vectors */
  t->part_flits = per_part * vector_flits;
  return 1;
}

/* Flits of one row in the largest buffer of those that are read, and of results. */
static uint64_t largest_read(const tg_params *m, const tg_stream_kernel *plan) {
  uint64_t flits = tg_stream_beside_flits(m, plan);
  for (int i = 0; i < plan->inputs; i++) flits = tg_later(flits, tg_stream_alone_flits(m, plan, i));
  return flits;
}

static uint64_t largest_result(const tg_params *m, const tg_stream_kernel *plan) {
  uint64_t flits = 0;
  for (int x = 0; x <= plan->more; x++) flits = tg_later(flits, tg_stream_result_flits(m, plan, x));
  return flits;
}

/* Banks that no buffer of rows has, and how many equal shares there are of the others. */
typedef struct rows_of {
  uint64_t taken, shares;
} rows_of;

/* False, with the banks that shares of so many flits need: as many as make a share's room, which is banks left over shares. */
static bool lacks_banks(const tg_params *m, const rows_of *of, uint64_t flits, tg_shortage *out_lacks) {
  uint64_t each = (flits + tg_bank_rows(m) - 1) / tg_bank_rows(m);
  tg_need need = {{[TG_LIMIT_BANKS] = of->taken + of->shares * each}};
  tg_need_note(m, &need, out_lacks);
  return false;
}

/* The tiling of a kernel whose instructions run `copies` times at once; false if none fits. What remains of a tile's banks
 * once the vectors of rows have theirs is divided among the buffers, `copies` of each, in equal shares of `room` flits; what a
 * reduction keeps until its second pass takes a share, too. The rows of a chunk are then the most that fit every share: of
 * the tensors that are read, alone or side by side, and of the results. Two forms go other ways: rows too long for a
 * chunk of fma_latency of them are cut into runs, rows longer than a share into parts. Where no reduction keeps anything, shares
 * need not be equal: rows are then added for as long as all buffers together fit. */
static bool tile(const tg_params *m, const tg_stream_kernel *plan, uint32_t copies, tg_stream_tiling *t,
                 tg_shortage *out_lacks) {
  *t = (tg_stream_tiling){.copies = copies};
  uint32_t share = tg_egress_share(m, TG_EGRESS_BOTH, 1) / (1 + (uint32_t)plan->more),
           limit = set_parts(m, plan, share, t, out_lacks);
  if (!limit) return false;
  bool keeps = plan->first_segments > 0;
  tg_channel_plan vectors[TG_STREAM_ROLES];
  memset(vectors, 0, sizeof vectors);
  tg_stream_plan_vectors(m, plan, vectors);
  uint64_t taken = tg_channels_banks(m, vectors, TG_STREAM_ROLES);
  rows_of of = {taken + keeps, (uint64_t)copies * buffer_pairs(plan) + keeps};
  uint64_t kept = keeps ? tg_kind_flits(m, TG_STREAM_FP32, plan->take) : 0, read = largest_read(m, plan),
           made = largest_result(m, plan);
  if (of.taken >= m->banks) return lacks_banks(m, &of, 1, out_lacks); /* the vectors of rows: one bank */
  uint32_t banks = (m->banks - (uint32_t)of.taken) / (uint32_t)of.shares;
  uint64_t room = (uint64_t)banks * tg_bank_rows(m);
  if (keeps) {
    if (kept > room) return lacks_banks(m, &of, kept, out_lacks);
    if (tg_bank_rows(m) < 2) return tg_shortage_note(out_lacks, "rows of a bank", 2, tg_bank_rows(m));
    limit = (uint32_t)tg_min((uint32_t)tg_min(limit, room / kept), tg_bank_rows(m) / 2);
  }
  uint32_t most = limit;
  if (read) limit = (uint32_t)tg_min(limit, room / read);
  if (!limit && (keeps || t->parts > 1)) return lacks_banks(m, &of, read, out_lacks);
  if (limit < m->fma_latency && !plan->more) cut_run(m, plan, share, room, t);
  if (t->run) return set_loops(m, plan, t->chunk_rows, t, out_lacks);
  if (t->parts > 1) made = (uint64_t)t->parts * t->part_flits;
  if (made > room && (keeps || t->parts > 1)) return lacks_banks(m, &of, made, out_lacks);
  if (t->parts > 1) return set_loops(m, plan, limit, t, out_lacks);
  limit = (uint32_t)tg_min(limit, room / made);
  if (!keeps) { /* where rows of inputs differ in size, their shares of the banks may as well */
    most = (uint32_t)tg_min(most, rows_wanted(m, plan));
    while (most > limit && !rows_fit(m, plan, copies, most, out_lacks)) most--;
    if (limit < most) limit = most;
  }
  return limit && set_loops(m, plan, limit, t, out_lacks);
}

bool tg_tile_stream(const tg_params *m, const tg_stream_kernel *plan, tg_stream_tiling *t,
                    tg_shortage *out_lacks) {
  return tile(m, plan, 2, t, out_lacks) ||
         (plan->single && tile(m, plan, 1, t, out_lacks) && t->loops[0] * t->loops[1] == 1);
}

/* A block of a vector lies in banks that hold whole blocks, or in whole banks: the VOP owns no others. */
bool tg_stream_vectors_fit(const tg_params *m, const tg_stream_kernel *plan) {
  if ((uint64_t)plan->take * plan->column_blocks > MOST_TAKEN) return false;
  for (int v = 0; v < plan->vectors; v++) {
    uint32_t block = tg_kind_flits(m, plan->vector_kind[v], plan->take);
    if (plan->vector_kind[v] != TG_STREAM_SPLAT32 && tg_bank_rows(m) % block && block % tg_bank_rows(m))
      return false;
  }
  tg_shortage unused = {0};
  return rows_fit(m, plan, 2, 1, &unused);
}

uint32_t tg_stream_working_tiles(const tg_params *m, const tg_stream_kernel *plan,
                                 const tg_stream_tiling *t) {
  return (uint32_t)tg_min(tg_div_up(plan->rows, t->chunk_rows), tg_tiles(m));
}

/* As cut, has the array what it needs? */
static bool fits(const tg_params *m, const tg_stream_kernel *plan, const int *words, int repeat,
                 tg_stream_tiling *t, tg_stages *stages) {
  tg_shortage unused = {0};
  if (!tg_tile_stream(m, plan, t, &unused)) return false;
  tg_stream_list_stages(m, plan, t, words, repeat, stages);
  tg_channel_plan plans[TG_STREAM_ROLES];
  tg_stream_plan_channels(m, plan, t, plans);
  tg_need need = tg_need_of_channels(m, plans, TG_STREAM_ROLES);
  tg_need_stages(&need, stages);
  return tg_need_fits(m, &need);
}

bool tg_stream_kernel_fits(const tg_compile *c, const tg_stream_kernel *plan) {
  tg_stream_tiling t;
  tg_stages stages;
  return fits(c->m, plan, NULL, 0, &t, &stages);
}

double tg_stream_cycles(const tg_compile *c, const tg_stream_kernel *plan, const int *words, int repeat) {
  tg_stream_tiling t;
  tg_stages stages;
  if (!fits(c->m, plan, words, repeat, &t, &stages)) return INFINITY;
  tg_port_time tile = tg_stages_port(&stages, TG_SIDE_WEST); /* both sides take turns */
  uint32_t working = tg_stream_working_tiles(c->m, plan, &t);
  double tiles_a_port = (double)tg_max(working, tg_agcus(c->m)) / tg_agcus(c->m),
         port = (tile.load + tile.drain) * tiles_a_port, vx = tg_stages_unit(&stages, TG_UNIT_VX, -1);
  return (double)t.loops[0] * t.loops[1] * (port > vx ? port : vx) + port;
}
