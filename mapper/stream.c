#include "mapper/stream.h"

#include "mapper/expression.h"

#include <assert.h>
#include <math.h>
#include <string.h>

enum {
  ROW_VECTORS = 4,
  MOST_TAKEN = 65535 /* elements of a row of a load */
};

static bool is_wide(int kind) { return kind == TG_STREAM_FP32 || kind == TG_STREAM_SPLAT32; }

uint32_t tg_kind_flits(const tg_params *m, int kind, uint32_t elements) {
  uint32_t each = is_wide(kind) ? m->p : 2 * m->p;
  return (elements + each - 1) / each;
}

int tg_stream_convert(const tg_dram_tensor *tensor, int kind) {
  if (!is_wide(kind)) return TG_CVT_16;
  return tensor->storage == TG_STORE_BF16   ? TG_CVT_BF16_FP32
         : tensor->storage == TG_STORE_FP16 ? TG_CVT_FP16_FP32
                                            : TG_CVT_32;
}

void tg_fill_walk(tg_agcu_instr *in, const tg_walk_plan *walk, int entry, int64_t residue) {
  int64_t bytes = tg_storage_bytes(walk->tensor->storage);
  in->base[0] = entry;
  in->offset[0] = residue;
  for (int d = 0; d < 3; d++) {
    in->m_radix[d] = walk->radix[d];
    in->stride[d] = walk->stride[d] * bytes;
    in->k_radix[d] = 1;
  }
  in->k_radix[2] = walk->columns;
  in->stride[5] = walk->element_stride * bytes;
  in->y_size[0] = 1;
  in->x_size[0] = 1;
  if (walk->bounded) {
    static const int digit[] = {0, 1, 2, 5};
    for (int d = 0; d < 4; d++) {
      in->x_inc[digit[d]] = walk->x.step[d];
      in->y_inc[digit[d]] = walk->y.step[d];
    }
    in->x_org[0] = walk->x.origin;
    in->y_org[0] = walk->y.origin;
    in->x_size[0] = walk->x.size;
    in->y_size[0] = walk->y.size;
  }
  in->fill[0] = walk->fill;
  if (walk->linear_size) { /* x is the position in the run */
    in->x_inc[2] = walk->columns;
    in->x_inc[5] = 1;
    in->x_size[0] = walk->linear_size;
  }
}

void tg_space_walk(const tg_space *space, int operand, const tg_dram_tensor *tensor, int64_t offset,
                   int64_t column_block, tg_walk_plan *out_walk) {
  assert(space->rank <= 4);
  *out_walk = (tg_walk_plan){.tensor = tensor, .offset = offset, .radix = {1, 1, 1}};
  const int64_t *strides = space->strides[operand];
  if (space->rank == 1) {
    int64_t size = space->dims[0], columns = column_block < size ? column_block : size;
    out_walk->columns = columns;
    out_walk->element_stride = strides[0];
    out_walk->radix[2] = (size + columns - 1) / columns;
    out_walk->stride[2] = strides[0] * columns;
    out_walk->linear_size = size;
    return;
  }
  int last = space->rank - 1;
  out_walk->columns = space->dims[last];
  out_walk->element_stride = strides[last];
  for (int d = 0; d < last; d++) {
    out_walk->radix[3 - last + d] = space->dims[d];
    out_walk->stride[3 - last + d] = strides[d];
  }
}

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
  uint32_t lanes = tg_lanes(m), share = tg_exit_share(m, TG_EXITS_BOTH, 1) / (1 + (uint32_t)plan->more);
  uint32_t most_vectors = share / 2 ? share / 2 : 1; /* two flits of fp32 a vector */
  uint32_t room = m->banks / (2 * buffer_pairs(plan)) * tg_bank_rows(m), window = 1;
  for (int i = 0; i < plan->inputs; i++)
    if (window < plan->window[i]) window = plan->window[i];
  if (most_vectors > room / 2 / window) most_vectors = room / 2 / window;
  if (!most_vectors) most_vectors = 1;
  int64_t vectors = (columns + lanes - 1) / lanes;
  plan->take = (uint32_t)(vectors < most_vectors ? vectors : most_vectors) * lanes;
  plan->column_blocks = (uint32_t)((columns + plan->take - 1) / plan->take);
}

int64_t tg_space_block(const tg_params *m, const tg_space *space) {
  int64_t block = (int64_t)tg_lanes(m) * ROW_VECTORS, size = space->dims[space->rank - 1];
  return space->rank == 1 && size > block ? block : size;
}

/* ---- emission ---- */

typedef struct emission {
  tg_build b;
  const tg_stream_kernel *plan;
  uint32_t vectors;    /* of 2P lanes in a row block */
  uint32_t chunk_rows; /* rows of a chunk */
  uint32_t parts; /* pieces that leave one by one: 1 unless a chunk exceeds the share of the store memory */
  bool run; /* the chunk leaves as one run of elements, cut anywhere: its rows follow each other in DRAM */
  uint32_t loops[3]; /* chunks, column blocks, 1 */
  tg_buffer in[TG_STREAMS], vector[TG_STREAMS];
  tg_buffer kept, number; /* what the VOP before leaves: rows, and a vector for each */
  tg_exit exits[1 + TG_MORE_RESULTS];
  int in_full, vectors_full, west_credit, north_credit;
  int entry[2 * TG_STREAMS + 1]; /* of the base table, by number of the walk */
  int64_t residue[2 * TG_STREAMS + 1];
  uint32_t out_flits, piece_flits;
} emission;

/* Walks by number, which is that of their streams: inputs, the output, vectors, further outputs. */
static const tg_walk_plan *walk_of(const tg_stream_kernel *plan, int number) {
  if (number < plan->inputs) return &plan->input[number];
  if (number == plan->inputs) return &plan->output;
  number -= plan->inputs + 1;
  return number < plan->vectors ? &plan->vector[number] : &plan->more_output[number - plan->vectors];
}

static int walk_count(const tg_stream_kernel *plan) { return plan->inputs + 1 + plan->vectors + plan->more; }

static int unroll_of(const tg_stream_kernel *plan) { return plan->unroll ? plan->unroll : 1; }

/* Does j change where the source, or the result, stands? */
static bool source_moves(const tg_stream_kernel *plan, int source) {
  if (source >= plan->inputs)
    return plan->whole_rows && plan->vector_kind[source - plan->inputs] != TG_STREAM_SPLAT32;
  return plan->whole_rows ? plan->input_kind[source] != TG_STREAM_SPLAT32 : plan->window[source] > 1;
}

static bool result_moves(const tg_stream_kernel *plan, int x) {
  if (plan->out_vectors > 1) return true;
  if (!plan->unrolled_result) return false;
  return plan->whole_rows || (x && plan->more_window[x - 1] > 1);
}

static int moving_sources(const tg_stream_kernel *plan, int before) {
  int count = 0;
  for (int i = 0; i < before; i++) count += source_moves(plan, i);
  return count;
}

static int moving_results(const tg_stream_kernel *plan, int before) {
  int count = 0;
  for (int x = 0; x < before; x++) count += result_moves(plan, x);
  return count;
}

int tg_source_stream(const tg_stream_kernel *plan, int source, int u) {
  if (!u || !source_moves(plan, source)) return source < plan->inputs ? source : source + 1;
  return walk_count(plan) + (u - 1) * moving_sources(plan, plan->inputs + plan->vectors) +
         moving_sources(plan, source);
}

int tg_result_stream(const tg_stream_kernel *plan, int x, int u) {
  if (!u || !result_moves(plan, x)) return x ? plan->inputs + plan->vectors + x : plan->inputs;
  return walk_count(plan) + (unroll_of(plan) - 1) * moving_sources(plan, plan->inputs + plan->vectors) +
         (u - 1) * moving_results(plan, 1 + plan->more) + moving_results(plan, x);
}

int tg_stream_count(const tg_stream_kernel *plan) {
  return walk_count(plan) + (unroll_of(plan) - 1) * (moving_sources(plan, plan->inputs + plan->vectors) +
                                                     moving_results(plan, 1 + plan->more));
}

static int result_kind(const tg_stream_kernel *plan, int x) {
  return x ? plan->more_kind[x - 1] : plan->output_kind;
}

/* Stores of result `x` a chunk. */
static uint32_t result_window(const tg_stream_kernel *plan, int x) {
  return x && plan->more_window[x - 1] ? plan->more_window[x - 1] : 1;
}

/* Is the last result one of many stores a chunk? Then it leaves first, and often; the others do seldom. */
static bool is_windowed(const tg_stream_kernel *plan) { return result_window(plan, plan->more) > 1; }

/* Number of the exit of result `x`, and the other way round. */
static int exit_of(const tg_stream_kernel *plan, int x) {
  return !is_windowed(plan) ? x : x == plan->more ? 0 : x + 1;
}

static int result_of(const tg_stream_kernel *plan, int exit) {
  return !is_windowed(plan) ? exit : exit ? exit - 1 : plan->more;
}

static uint32_t out_take(const tg_stream_kernel *plan) {
  return plan->out_take ? plan->out_take : plan->take;
}

static uint32_t least(uint64_t a, uint64_t b) { return (uint32_t)(a < b ? a : b); }

/* The AGCU on the other side of the one that the tile's results leave by. */
static bool loads_from_north(uint32_t r, uint32_t col) { return tg_exits_west(r, col); }

static tg_queue *load_queue(const emission *e, uint32_t r, uint32_t col) {
  return loads_from_north(r, col) ? tg_north_queue(&e->b, col, TG_CTX_LOAD)
                                  : tg_west_queue(&e->b, r, TG_CTX_LOAD);
}

/* The tile on the lane that its loads come by. */
static uint32_t load_position(uint32_t r, uint32_t col) { return (loads_from_north(r, col) ? r : col) + 1; }

/* Elements of a vector as they lie in the scratchpad: those of all column blocks. */
static uint32_t vector_elements(const tg_stream_kernel *plan, int v) {
  return plan->vector_kind[v] == TG_STREAM_SPLAT32 ? 1 : plan->take * plan->column_blocks;
}

/* Flits that a vector takes; beside others, whole blocks, so that none lies across two banks. */
static uint32_t vector_flits(const tg_params *m, const tg_stream_kernel *plan, int v) {
  uint32_t flits = tg_kind_flits(m, plan->vector_kind[v], vector_elements(plan, v)),
           block = tg_kind_flits(m, TG_STREAM_FP32, plan->take);
  return plan->vectors_beside ? (flits + block - 1) / block * block : flits;
}

static uint32_t vector_banks(const tg_params *m, const tg_stream_kernel *plan) {
  uint32_t banks = 0, flits = 0;
  for (int v = 0; v < plan->vectors; v++) {
    flits += vector_flits(m, plan, v);
    banks += tg_banks_for(m, vector_flits(m, plan, v));
  }
  return plan->vectors_beside ? tg_banks_for(m, flits) : banks;
}

/* Elements of a row block of an input: one that is one number a row has nothing else. */
static uint32_t input_take(const tg_stream_kernel *plan, int input) {
  return plan->input_kind[input] == TG_STREAM_SPLAT32 ? 1 : plan->take;
}

static uint32_t input_flits(const tg_params *m, const tg_stream_kernel *plan, int input) {
  return tg_kind_flits(m, plan->input_kind[input], input_take(plan, input));
}

/* Flits of a row in the scratchpad: of input `i` by itself, of all inputs side by side, of result `x`. */
static uint64_t alone_flits(const tg_params *m, const tg_stream_kernel *plan, int i) {
  return plan->beside[i] ? 0 : (uint64_t)input_flits(m, plan, i) * plan->window[i];
}

static uint64_t beside_flits(const tg_params *m, const tg_stream_kernel *plan) {
  uint64_t flits = 0;
  for (int i = 0; i < plan->inputs; i++)
    if (plan->beside[i]) flits += (uint64_t)input_flits(m, plan, i) * plan->window[i];
  return flits;
}

static uint64_t result_flits(const tg_params *m, const tg_stream_kernel *plan, int x) {
  return (uint64_t)tg_kind_flits(m, result_kind(plan, x), out_take(plan)) * result_window(plan, x);
}

/* Elements of a row block that are loaded and stored: no more than there are columns, since what lies beyond
 * costs a port as much as what counts. Whole rows are loaded with their zeros. */
static uint32_t moved(const emission *e) {
  const tg_stream_kernel *plan = e->plan;
  bool part = plan->column_blocks == 1 && !plan->whole_rows && e->parts == 1 && !plan->output.linear_size;
  return part && plan->output.columns < plan->take ? (uint32_t)plan->output.columns : plan->take;
}

/* Chunks of at most `limit` rows, fewer if that spreads the rows over more tiles; of whole rows, as many as
 * fill the groups of the vector unit. */
static bool set_loops(emission *e, uint32_t limit) {
  const tg_stream_kernel *plan = e->plan;
  uint32_t tiles = tg_tiles(e->b.m), depth = e->b.m->fma_latency;
  uint64_t blocks = ((uint64_t)plan->rows + tiles - 1) / tiles;
  if (!e->run) e->chunk_rows = least(limit, blocks);
  if (plan->whole_rows && e->chunk_rows > depth) e->chunk_rows -= e->chunk_rows % depth;
  uint64_t per_round = (uint64_t)e->chunk_rows * tiles,
           chunks = ((uint64_t)plan->rows + per_round - 1) / per_round;
  if (chunks >= 1u << 20 || (uint64_t)e->chunk_rows * e->vectors > 65535) return false;
  e->loops[0] = (uint32_t)chunks;
  e->loops[1] = plan->column_blocks;
  e->loops[2] = 1;
  return true;
}

/* A VOP over few rows takes as long as one over L. Where rows are whole vectors and lie behind each other, L
 * of them can leave in equal pieces of which each fits the store memory. */
static void cut_run(emission *e, uint32_t share, uint64_t room) {
  const tg_stream_kernel *plan = e->plan;
  const tg_walk_plan *out = &plan->output;
  const tg_params *m = e->b.m;
  uint32_t rows = m->fma_latency, flits = rows * e->out_flits, piece = share < flits ? share : flits;
  bool dense =
      out->radix[0] == 1 && out->radix[1] == 1 && out->stride[2] == out->columns && out->element_stride == 1;
  if (plan->first_segments &&
      ((uint64_t)rows * tg_kind_flits(m, TG_STREAM_FP32, plan->take) > room || 2 * rows > tg_bank_rows(m)))
    return;
  if (!plan->whole_rows || plan->out_take || !dense || plan->take != out->columns || flits > room) return;
  if ((uint64_t)plan->rows < (uint64_t)rows * tg_tiles(m)) return; /* more tiles are better than full ones */
  for (int i = 0; i < plan->inputs; i++)
    if ((uint64_t)rows * input_flits(m, plan, i) * plan->window[i] > room) return;
  while (flits % piece) piece--;
  e->run = true;
  e->chunk_rows = rows;
  e->parts = flits / piece;
  e->piece_flits = piece;
}

/* Banks of all buffers with chunks of so many rows; `taken` by what is loaded once. */
static uint32_t banks_of(const emission *e, uint32_t taken, uint32_t rows) {
  const tg_stream_kernel *plan = e->plan;
  const tg_params *m = e->b.m;
  for (int i = 0; i < plan->inputs; i++)
    taken += 2 * tg_banks_for(m, rows * (uint32_t)alone_flits(m, plan, i));
  taken += 2 * tg_banks_for(m, rows * (uint32_t)beside_flits(m, plan));
  for (int x = 0; x <= plan->more; x++)
    taken += 2 * tg_banks_for(m, rows * (uint32_t)result_flits(m, plan, x));
  return taken;
}

/* Rows that make a load at least half a burst, of a window, which has a load for each position; and, of whole
 * rows, as many as hide the latency of the ALU. */
static uint32_t rows_wanted(const emission *e) {
  const tg_stream_kernel *plan = e->plan;
  uint32_t rows = plan->whole_rows ? e->b.m->fma_latency : 1;
  for (int i = 0; i < plan->inputs; i++) {
    uint32_t flits = input_flits(e->b.m, plan, i), half = (e->b.m->burst_flits / 2 + flits - 1) / flits;
    if (plan->window[i] > 1 && rows < half) rows = half;
  }
  return rows;
}

/* Rows of a chunk: as many as the exit and the banks allow. */
static bool size_chunks(emission *e) {
  const tg_stream_kernel *plan = e->plan;
  const tg_params *m = e->b.m;
  uint32_t share = tg_exit_share(m, TG_EXITS_BOTH, 1) / (1 + (uint32_t)plan->more);
  e->vectors = plan->take / tg_lanes(m);
  e->out_flits = tg_kind_flits(m, plan->output_kind, out_take(plan));
  for (int x = 1; x <= plan->more; x++) { /* the widest decides */
    uint32_t flits = tg_kind_flits(m, plan->more_kind[x - 1], out_take(plan));
    if (e->out_flits < flits) e->out_flits = flits;
  }
  e->parts = 1;
  e->piece_flits = e->out_flits;
  uint32_t limit = share / e->out_flits;
  if (!limit) { /* a row leaves in parts of whole vectors */
    uint32_t vector_flits = e->out_flits / e->vectors, per_part = share / vector_flits;
    if (!per_part || plan->column_blocks > 1 || plan->more || plan->out_take) return false;
    e->parts = (e->vectors + per_part - 1) / per_part;
    e->piece_flits = per_part * vector_flits;
    limit = 1;
  }
  uint32_t taken = vector_banks(m, plan);
  bool keeps = plan->first_segments > 0;
  taken += keeps; /* the vectors of rows: one bank */
  if (taken >= m->banks) return false;
  uint32_t banks = (m->banks - taken) / (2 * buffer_pairs(plan) + keeps);
  uint64_t room = (uint64_t)banks * tg_bank_rows(m);
  if (keeps) {
    uint32_t flits = tg_kind_flits(m, TG_STREAM_FP32, plan->take);
    if (flits > room || tg_bank_rows(m) < 2) return false;
    limit = least(least(limit, room / flits), tg_bank_rows(m) / 2);
  }
  uint32_t most = limit;
  uint64_t beside = beside_flits(m, plan);
  for (int i = 0; i < plan->inputs; i++)
    if (!plan->beside[i]) limit = least(limit, room / alone_flits(m, plan, i));
  if (beside) limit = least(limit, room / beside);
  if (!limit && (keeps || e->parts > 1)) return false;
  if (limit < m->fma_latency && !plan->more) cut_run(e, share, room);
  if (e->run) return set_loops(e, e->chunk_rows);
  if (e->parts > 1) return (uint64_t)e->parts * e->piece_flits <= room && set_loops(e, limit);
  for (int x = 0; x <= plan->more; x++) limit = least(limit, room / result_flits(m, plan, x));
  if (!keeps) { /* where rows of inputs differ in size, their shares of the banks may as well */
    most = least(most, rows_wanted(e));
    while (most > limit && banks_of(e, taken, most) > m->banks) most--;
    if (limit < most) limit = most;
  }
  return limit && set_loops(e, limit);
}

/* An AGCU loads for every other tile of its lane, and what is stored seldom has a context of its own. */
static bool queues_fit(const tg_params *m, const tg_stream_kernel *plan) {
  uint32_t lane = m->rows > m->cols ? m->rows : m->cols, loads = 1;
  for (int i = 0; i < plan->inputs; i++) loads += plan->window[i] > 1 ? 2 : 1;
  if (is_windowed(plan) && m->agcu_contexts <= TG_CTX_TOTALS) return false;
  return (lane + 1) / 2 * loads <= m->queue_depth;
}

/* A block of a vector lies in banks that hold whole blocks, or in whole banks: the VOP owns no others. */
bool tg_stream_vectors_fit(const tg_params *m, const tg_stream_kernel *plan) {
  emission e = {.plan = plan, .b.m = m};
  if ((uint64_t)plan->take * plan->column_blocks > MOST_TAKEN) return false;
  for (int v = 0; v < plan->vectors; v++) {
    uint32_t block = tg_kind_flits(m, plan->vector_kind[v], plan->take);
    if (plan->vector_kind[v] != TG_STREAM_SPLAT32 && tg_bank_rows(m) % block && block % tg_bank_rows(m))
      return false;
  }
  return banks_of(&e, vector_banks(m, plan), 1) <= m->banks;
}

bool tg_stream_kernel_fits(const tg_compile *c, const tg_stream_kernel *plan) {
  emission e = {.plan = plan, .b.m = c->m};
  return queues_fit(c->m, plan) && size_chunks(&e);
}

/* Cycles of a port for rows of a chunk. */
static double row_cycles(const emission *e, int kind, uint32_t elements, uint32_t window) {
  uint32_t bytes = elements * (is_wide(kind) ? 4 : 2);
  return (double)e->chunk_rows * window * ((bytes + 63) / 64) * tg_atom_cycles(e->b.m);
}

double tg_stream_cycles(const tg_compile *c, const tg_stream_kernel *plan, const int *words, int repeat) {
  emission e = {.plan = plan, .b.m = c->m};
  if (!queues_fit(c->m, plan) || !size_chunks(&e)) return INFINITY;
  double loads = 0, stores = 0, tiles_a_port = (double)tg_tiles(c->m) / tg_agcus(c->m), vx = 0;
  uint32_t j = 1, depth = c->m->fma_latency;
  for (int i = 0; i < plan->inputs; i++) {
    loads += row_cycles(&e, plan->input_kind[i], input_take(plan, i), plan->window[i]);
    if (j < plan->window[i]) j = plan->window[i];
  }
  for (int x = 0; x <= plan->more; x++)
    stores += row_cycles(&e, result_kind(plan, x), out_take(plan), result_window(plan, x));
  if (plan->whole_rows) j = e.vectors;
  j /= (uint32_t)unroll_of(plan);
  for (int q = 0; q < TG_SEGMENTS; q++) vx += (double)words[q] * (repeat >> q & 1 ? j : 1);
  uint32_t rows = e.chunk_rows * (plan->whole_rows ? 1 : e.vectors);
  vx *= (rows + depth - 1) / depth * depth;
  double port = (loads + stores) * tiles_a_port;
  return (double)e.loops[0] * e.loops[1] * (port > vx ? port : vx) + (loads + stores) * tiles_a_port;
}

static bool allocate_inputs(emission *e) {
  const tg_stream_kernel *plan = e->plan;
  uint64_t beside = e->chunk_rows * beside_flits(e->b.m, plan);
  uint32_t at = 0;
  tg_buffer shared;
  for (int i = 0; i < plan->inputs; i++)
    if (!plan->beside[i] &&
        !tg_build_buffer(&e->b, e->chunk_rows * (uint32_t)alone_flits(e->b.m, plan, i), 2, &e->in[i]))
      return false;
  if (!beside) return true;
  if (!tg_build_buffer(&e->b, (uint32_t)beside, 2, &shared)) return false;
  for (int i = 0; i < plan->inputs; i++) {
    if (!plan->beside[i]) continue;
    uint32_t rows = e->chunk_rows * input_flits(e->b.m, plan, i) * plan->window[i];
    e->in[i] = tg_buffer_part(e->b.m, &shared, at, rows);
    at += rows;
  }
  return true;
}

static bool allocate_vectors(emission *e) {
  const tg_stream_kernel *plan = e->plan;
  const tg_params *m = e->b.m;
  uint32_t all = 0, at = 0;
  tg_buffer shared;
  for (int v = 0; v < plan->vectors; v++) all += vector_flits(m, plan, v);
  if (plan->vectors_beside && !tg_build_buffer(&e->b, all, 1, &shared)) return false;
  for (int v = 0; v < plan->vectors; v++) {
    uint32_t flits = vector_flits(m, plan, v);
    if (plan->vectors_beside)
      e->vector[v] = tg_buffer_part(m, &shared, at, flits), at += flits;
    else if (!tg_build_buffer(&e->b, flits, 1, &e->vector[v]))
      return false;
  }
  return true;
}

static bool allocate(emission *e) {
  const tg_stream_kernel *plan = e->plan;
  uint32_t kept = e->chunk_rows * tg_kind_flits(e->b.m, TG_STREAM_FP32, plan->take);
  if (plan->first_segments && (!tg_build_buffer(&e->b, kept, 1, &e->kept) ||
                               !tg_build_buffer(&e->b, 2 * e->chunk_rows, 1, &e->number)))
    return false;
  if (!allocate_inputs(e) || !allocate_vectors(e)) return false;
  for (int x = 0; x <= plan->more; x++) {
    uint32_t row = tg_kind_flits(e->b.m, result_kind(plan, x), out_take(plan)),
             sent = plan->out_take ? row : tg_kind_flits(e->b.m, result_kind(plan, x), moved(e)),
             pieces = e->parts > 1 ? e->parts : result_window(plan, x);
    tg_exit *exit = &e->exits[exit_of(plan, x)];
    *exit = (tg_exit){.flits = e->parts > 1 ? e->piece_flits : e->chunk_rows * sent,
                      .pieces = pieces,
                      .loops = {e->loops[0], e->loops[1], pieces}};
    if (sent < row) exit->inner = sent, exit->stride = row;
    if (!tg_build_buffer(&e->b, pieces * (e->parts > 1 ? e->piece_flits : e->chunk_rows * row), 2,
                         &exit->buffer))
      return false;
    tg_exit_init(&e->b, exit, 2);
  }
  return true;
}

/* Rows of tile t in chunk i: (i*T + t) * chunk_rows on. Column block j: j*take on. */
static void set_rows(const emission *e, tg_agcu_instr *in, uint32_t tile, uint32_t take) {
  in->rows[0] = e->chunk_rows;
  in->take[0] = take;
  in->m_first[0] = (int64_t)tile * e->chunk_rows;
  in->m_delta[0] = (int64_t)tg_tiles(e->b.m) * e->chunk_rows;
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
  load->convert[0] = tg_stream_convert(plan->input[input].tensor, plan->input_kind[input]);
  tg_set_operand(load->dst_base, &e->in[input], !last_window);
  load->dst_inner[0] = 65535;
  if (moved(e) < plan->take && !number) {
    load->dst_inner[0] = tg_kind_flits(e->b.m, plan->input_kind[input], moved(e));
    load->dst_stride[0] = tg_kind_flits(e->b.m, plan->input_kind[input], plan->take);
  }
  load->dst_mask[0] = 1ll << load_position(r, col);
  if (plan->adjust_load) plan->adjust_load(plan->user, input, load);
  if (plan->window[input] > 1) {
    uint32_t step = e->chunk_rows * input_flits(e->b.m, plan, input);
    int64_t elements = number ? 1 : plan->window_step;
    if (last_window) {
      load->dst_base[0] += (int64_t)step * (plan->window[input] - 1);
      load->k_first[0] += elements * (plan->window[input] - 1);
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
  sync->common.credit_base[0] = loads_from_north(r, col) ? e->north_credit : e->west_credit;
  sync->common.credit_mask[0] = 1ll << load_position(r, col);
  for (int i = 0; i < plan->inputs; i++) {
    if (plan->window[i] > 1) {
      tg_agcu_instr *load = push_load(e, i, r, col, false);
      load->loop_count[2] = plan->window[i] - 1;
      load->loop_begin[2] = queue->count - 1;
    }
    tg_agcu_instr *load = push_load(e, i, r, col, true);
    if (i + 1 < plan->inputs) continue;
    load->dst_post[0] = 1;
    load->dst_sem[0] = e->in_full;
  }
}

/* What every row reads, to all tiles of a row of the array; the last load tells them. */
static void emit_vector_loads(emission *e, uint32_t r) {
  const tg_stream_kernel *plan = e->plan;
  for (int v = 0; v < plan->vectors; v++) {
    tg_agcu_instr *load = &tg_build_push(&e->b, tg_west_queue(&e->b, r, TG_CTX_AUX), TG_OP_agcu_load)->agcu;
    tg_fill_walk(load, &plan->vector[v], e->entry[plan->inputs + 1 + v], e->residue[plan->inputs + 1 + v]);
    load->rows[0] = 1;
    load->take[0] = vector_elements(plan, v);
    load->convert[0] = tg_stream_convert(plan->vector[v].tensor, plan->vector_kind[v]);
    tg_set_operand(load->dst_base, &e->vector[v], false);
    load->dst_inner[0] = 65535;
    load->dst_mask[0] = ((1 << e->b.m->cols) - 1) << 1;
    if (v + 1 < plan->vectors) continue;
    load->dst_post[0] = 1;
    load->dst_sem[0] = e->vectors_full;
  }
}

/* The streams of the VOP: a row of the VOP is a vector, or (whole_rows) a row of the kernel whose vectors
 * repeat by j, or (across) a vector of all rows, which repeat by j. */
static void set_stream(const emission *e, tg_stream *s, int kind, const tg_buffer *buffer, bool store,
                       uint32_t window) {
  uint32_t vector = tg_kind_flits(e->b.m, kind, tg_lanes(e->b.m)), row = vector * e->vectors;
  if (store && e->plan->out_take) row = tg_kind_flits(e->b.m, kind, e->plan->out_take);
  s->kind[0] = kind;
  s->store[0] = store;
  tg_set_operand(s->at.base, buffer, false);
  s->banks[0] = buffer->banks;
  if (kind == TG_STREAM_SPLAT32) {
    *(e->plan->across ? &s->j[1] : &s->row[e->plan->whole_rows ? 2 : 1]) = 1;
    if (window > 1) s->j[1] = e->chunk_rows;
    return;
  }
  s->row[1] = e->plan->across ? 0 : row;
  s->row[2] = e->plan->whole_rows ? row : vector;
  if (e->plan->whole_rows)
    s->j[1] = vector;
  else if (e->plan->across)
    s->j[1] = row;
  else if (window > 1)
    s->j[1] = (int64_t)row * e->chunk_rows;
}

static void set_vector(const emission *e, tg_stream *s, int v) {
  s->kind[0] = e->plan->vector_kind[v];
  tg_set_operand(s->at.base, &e->vector[v], false);
  s->banks[0] = e->vector[v].banks;
  if (e->plan->vector_kind[v] == TG_STREAM_SPLAT32) return;
  *(e->plan->whole_rows ? &s->j[1] : &s->row[2]) =
      tg_kind_flits(e->b.m, e->plan->vector_kind[v], tg_lanes(e->b.m));
  if (e->plan->column_blocks == 1) return;
  uint32_t block = tg_kind_flits(e->b.m, e->plan->vector_kind[v], e->plan->take);
  s->at.delta[1] = block;
  s->banks[0] = tg_banks_for(e->b.m, block);
}

/* The output is dense, so the place of an element among all of it is an affine function of the loops. */
static void set_rounding(const emission *e, tg_vx_instr *vop, uint32_t r, uint32_t col) {
  const tg_stream_kernel *plan = e->plan;
  const tg_walk_plan *out = &plan->output;
  int64_t row = out->columns, lanes = tg_lanes(e->b.m), chunk = row * e->chunk_rows, dense = row;
  for (int d = 2; d >= 0; d--) {
    assert(out->element_stride == 1 && (out->stride[d] == dense || out->radix[d] == 1));
    dense *= out->radix[d];
  }
  (void)dense; /* of the assertion only */
  vop->sr_key[0] = TG_KEY_STORE;
  vop->sr_col[0] = (uint32_t)(out->offset + (r * e->b.m->cols + col) * chunk);
  vop->sr_col_delta[0] = (uint32_t)(tg_tiles(e->b.m) * chunk);
  vop->sr_col_delta[1] = plan->take;
  vop->sr_col_row[1] = plan->across ? 0 : (uint32_t)row;
  vop->sr_col_row[2] = plan->whole_rows ? (uint32_t)row : lanes;
  vop->sr_col_j[1] = plan->whole_rows ? lanes : plan->across ? (uint32_t)row : 0;
}

/* The stream takes vectors u, u + unroll .. of a row. */
static void take_every(tg_stream *s, int u, int unroll) {
  s->at.base[0] += u * s->j[1];
  s->j[1] *= unroll;
}

/* Vectors u, u + unroll .. of each row as stream first + u. */
static void set_unrolled(const emission *e, tg_vx_instr *vop, int first, int kind, const tg_buffer *buffer,
                         bool store, int unroll) {
  for (int u = 0; u < unroll; u++) {
    tg_stream *s = tg_stream_of_mut(vop, first + u);
    set_stream(e, s, kind, buffer, store, 1);
    if (unroll > 1) take_every(s, u, unroll);
  }
}

static void set_number(const emission *e, tg_vx_instr *vop, int stream, bool store) {
  tg_stream *s = tg_stream_of_mut(vop, stream);
  s->kind[0] = TG_STREAM_FP32;
  s->store[0] = store;
  tg_set_operand(s->at.base, &e->number, false);
  s->banks[0] = e->number.banks;
  s->row[2] = tg_kind_flits(e->b.m, TG_STREAM_FP32, tg_lanes(e->b.m));
}

static tg_instr *push_vop(const emission *e, tg_queue *queue, const tg_vx_instr *microcode, int repeat,
                          int unroll) {
  const tg_stream_kernel *plan = e->plan;
  tg_instr *in = tg_build_push(&e->b, queue, TG_OP_vx_vop);
  tg_vx_instr *vop = &in->vx;
  memcpy(vop->seg_begin, microcode->seg_begin, sizeof vop->seg_begin);
  memcpy(vop->seg_len, microcode->seg_len, sizeof vop->seg_len);
  vop->seg_repeat[0] = repeat;
  vop->row_count[0] = 1;
  vop->row_count[1] = plan->whole_rows || plan->across ? 1 : e->chunk_rows;
  vop->row_count[2] = plan->whole_rows ? e->chunk_rows : e->vectors;
  vop->rows[0] = vop->row_count[1] * vop->row_count[2];
  vop->j_count[0] = 1;
  uint32_t window = 1;
  for (int i = 0; i < plan->inputs; i++)
    if (window < plan->window[i]) window = plan->window[i];
  vop->j_count[1] = plan->whole_rows ? e->vectors / (uint32_t)unroll
                    : plan->across   ? e->chunk_rows
                                     : window / (uint32_t)unroll;
  vop->tail_step[0] = tg_lanes(e->b.m) * (plan->first_segments ? 1 : (uint32_t)unroll);
  vop->tail_n[0] = plan->tail_n;
  return in;
}

/* Takes a chunk, and gives its place back. */
static void take_chunk(const emission *e, tg_instr *in, uint32_t r, uint32_t col) {
  tg_set_wait(in, 0, e->in_full, false);
  if (loads_from_north(r, col))
    tg_set_post(in, 0, TG_POST_COL, 0, e->north_credit + (int)r + 1, false);
  else
    tg_set_post(in, 0, TG_POST_ROW, 0, e->west_credit + (int)col + 1, false);
}

static void emit_first_vop(const emission *e, uint32_t r, uint32_t col, const tg_vx_instr *microcode) {
  const tg_stream_kernel *plan = e->plan;
  int unroll = plan->first_unroll;
  tg_instr *in = push_vop(e, &tg_build_tile(&e->b, r, col)->vx, microcode, plan->first_repeat, unroll);
  set_unrolled(e, &in->vx, 0, plan->input_kind[0], &e->in[0], false, unroll);
  set_unrolled(e, &in->vx, unroll, TG_STREAM_FP32, &e->kept, true, unroll);
  set_number(e, &in->vx, 2 * unroll, true);
  take_chunk(e, in, r, col);
}

/* Inputs, and what is loaded once. */
static void set_sources(const emission *e, tg_vx_instr *vop, int unroll) {
  const tg_stream_kernel *plan = e->plan;
  for (int u = 0; u < unroll; u++)
    for (int i = 0; i < plan->inputs + plan->vectors; i++) {
      bool moves = source_moves(plan, i);
      if (u && !moves) continue;
      tg_stream *s = tg_stream_of_mut(vop, tg_source_stream(plan, i, u));
      if (i < plan->inputs)
        set_stream(e, s, plan->input_kind[i], &e->in[i], false, plan->window[i]);
      else
        set_vector(e, s, i - plan->inputs);
      if (unroll > 1 && moves) take_every(s, u, unroll);
    }
}

static void set_result(const emission *e, tg_vx_instr *vop, int x, int unroll) {
  const tg_stream_kernel *plan = e->plan;
  int count = plan->out_vectors > 1 ? plan->out_vectors : result_moves(plan, x) ? unroll : 1;
  for (int u = 0; u < count; u++) {
    tg_stream *s = tg_stream_of_mut(vop, tg_result_stream(plan, x, u));
    set_stream(e, s, result_kind(plan, x), &e->exits[exit_of(plan, x)].buffer, true, result_window(plan, x));
    if (count > 1) take_every(s, u, count);
  }
}

static void emit_vop(emission *e, uint32_t r, uint32_t col, const tg_vx_instr microcode[2], int repeat) {
  const tg_stream_kernel *plan = e->plan;
  bool second = plan->first_segments > 0;
  int unroll = plan->unroll ? plan->unroll : 1;
  tg_queue *queue = &tg_build_tile(&e->b, r, col)->vx;
  if (plan->vectors) tg_set_wait(tg_build_push(&e->b, queue, TG_OP_vx_sync), 0, e->vectors_full, false);
  if (second) emit_first_vop(e, r, col, &microcode[0]);
  tg_instr *in = push_vop(e, queue, &microcode[second], repeat, unroll);
  tg_vx_instr *vop = &in->vx;
  if (second) {
    set_unrolled(e, vop, 0, TG_STREAM_FP32, &e->kept, false, unroll);
    set_number(e, vop, 2 * unroll, false);
  } else {
    take_chunk(e, in, r, col);
    set_sources(e, vop, unroll);
  }
  for (int x = 0; x <= plan->more; x++) {
    const tg_exit *exit = &e->exits[exit_of(plan, x)];
    if (second)
      set_unrolled(e, vop, unroll, result_kind(plan, x), &exit->buffer, true, unroll);
    else
      set_result(e, vop, x, unroll);
    if (result_kind(plan, x) == TG_STREAM_BF16SR) set_rounding(e, vop, r, col);
    tg_set_wait(in, 1 + x, exit->out_free, false);
    tg_set_post(in, 1 + x, TG_POST_LOCAL, 0, exit->out_full, false);
  }
  tg_set_loops(in, e->loops);
  for (int l = 0; l < TG_LEVELS && plan->vectors; l++) in->common.loop_begin[l] = 1; /* behind the SYNC */
}

static void fill_store(const void *user, int exit, uint32_t r, uint32_t col, tg_agcu_instr *store) {
  const emission *e = user;
  const tg_stream_kernel *plan = e->plan;
  int x = result_of(plan, exit), number = tg_result_stream(plan, x, 0);
  tg_fill_walk(store, walk_of(plan, number), e->entry[number], e->residue[number]);
  set_rows(e, store, r * e->b.m->cols + col, plan->out_take ? plan->out_take : moved(e));
  store->convert[0] = result_kind(plan, x) == TG_STREAM_FP32 ? TG_CVT_32 : TG_CVT_16;
  if (e->run) {
    int64_t elements = (int64_t)e->chunk_rows * plan->take;
    store->rows[0] = 1;
    store->take[0] = elements / e->parts;
    store->m_radix[2] = 1;
    store->stride[2] = 0;
    store->m_first[0] = store->m_delta[0] = store->k_delta[1] = 0;
    store->k_radix[0] = plan->rows;
    store->stride[3] = plan->take * (int64_t)tg_storage_bytes(plan->output.tensor->storage);
    store->k_first[0] = (r * e->b.m->cols + col) * elements;
    store->k_delta[0] = tg_tiles(e->b.m) * elements;
    store->k_delta[2] = store->take[0];
  } else if (e->parts > 1) {
    store->take[0] =
        e->piece_flits * (tg_flit_bytes(e->b.m) / tg_storage_bytes(plan->output.tensor->storage));
    store->k_delta[2] = store->take[0];
  } else if (result_window(plan, x) > 1) {
    store->k_delta[2] = plan->window_step;
    plan->adjust_store(plan->user, x - 1, store);
  }
}

static void emit_exits(emission *e) {
  const tg_stream_kernel *plan = e->plan;
  tg_exits_plan windowed = {
      .exits = e->exits, .count = 1 + plan->more, .often = 1, .every = result_window(plan, plan->more)};
  if (is_windowed(plan))
    tg_exits_emit(&e->b, &windowed, fill_store, e);
  else
    tg_exit_emit(&e->b, e->exits, 1 + plan->more, fill_store, e);
}

tg_status tg_emit_stream_kernel(tg_compile *c, const tg_kernel *kernel, const tg_stream_kernel *plan,
                                tg_mc *mc, int repeat) {
  emission e = {.plan = plan};
  const char *name = tg_kernel_name(c, kernel);
  tg_build_begin(&e.b, c, name);
  if (!size_chunks(&e) || !allocate(&e))
    return tg_fail(
        c->diag, TG_INVALID,
        "%s: a row of %u elements (window %u) does not fit in the scratchpads of this architecture", name,
        plan->take, plan->window[0]);
  for (int i = 0; i < walk_count(plan); i++) {
    const tg_walk_plan *walk = walk_of(plan, i);
    int64_t bytes = walk->offset * (int64_t)tg_storage_bytes(walk->tensor->storage);
    int64_t before = bytes < 0 ? bytes : 0; /* the origin of a frame */
    e.entry[i] = tg_build_base(&e.b, walk->tensor, (uint64_t)(bytes - before), &e.residue[i]);
    e.residue[i] += before;
  }
  e.in_full = tg_tile_sem(&e.b, 0);
  if (plan->vectors) e.vectors_full = tg_tile_sem(&e.b, 0);
  e.west_credit = tg_west_credits(&e.b, 2);
  e.north_credit = tg_north_credits(&e.b, 2);
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
    last->common.loop_count[0] = e.loops[0];
    last->common.loop_count[1] = e.loops[1];
  }
  for (uint32_t r = 0; r < c->m->rows; r++) emit_vector_loads(&e, r);
  emit_exits(&e);
  tg_invocation *invocation = tg_build_invoke(&e.b, name);
  const tg_node *cast = tg_stochastic_store(kernel);
  if (cast) invocation->key_nodes[TG_KEY_STORE] = (uint32_t)cast->id;
  return TG_OK;
}
