/* A simple model of a product's time: of the matrix unit, the vector unit and the two kinds of DRAM ports,
 * the slowest sets the time of a pass; the first load and the last drain are exposed. Contexts of a port take
 * turns burst by burst, so that a drain, as long as it lasts, takes from the loads of the next block what is
 * over their share. */
#include "frontend/base/math.h"
#include "mapper/gemm/layout.h"
#include "mapper/gemm/prologue.h"

enum {
  HOPS = 24, /* cycles of credits, requests and lanes on the way of a chunk, roughly */
};
#define CHUNK_CYCLES 8.0  /* of each chunk, over what its units take; where tiles make it, over mx's */
#define HELD_UP      1.15 /* of its time: a way through three units, each of which waits for others, too */
#define HANDING_ON   2.0  /* of each piece whose column sums go on: its short buffers ride out less */
#define TRAFFIC_WEIGHT                                                                                       \
  0.05 /* of port cycles that hide behind computing: of equally fast tilings, the lighter one */

typedef struct model {
  const tg_params *m;
  const tg_gemm *g;
  const tg_gemm_tiling *t;
} model;

/* Runs of `bytes` that are `stride` bytes apart, in atoms: if they are not all aligned alike, what a run of
 * elements of `each` bytes touches on average. */
static double port_cycles(const model *s, double runs, double bytes, int64_t stride, double each) {
  double atoms = stride % 64 ? (bytes - each) / 64 + 1 : (double)tg_div_up((int64_t)bytes, 64);
  return runs * atoms * tg_atom_cycles(s->m);
}

/* Rows of `length` elements of a walk whose runs have atoms of their own. */
static double load_cycles(const model *s, const tg_value *value, double rows, double length,
                          const int64_t radix[3], const int64_t row_stride[3]) {
  double run = radix[2] > 0 ? (double)radix[2] : 1, each = tg_value_bytes_each(value);
  int64_t stride = row_stride[2] * (int64_t)tg_value_bytes_each(value);
  return length > run ? port_cycles(s, rows * length / run, run * each, stride, each)
                      : port_cycles(s, rows, length * each, stride, each);
}

/* Cycles of a west and of a north port at most: for one chunk, and for the drain of a block, in which so many
 * contexts take turns with the one that loads. */
typedef struct side {
  double load, drain;
  int drains;
} side;
typedef struct traffic {
  side west, north;
} traffic;

/* What a prologue makes of a chunk leaves beside the loads. */
static void add_prologue(const model *s, traffic *all) {
  double z = tg_value_bytes_each(s->g->prologue.result),
         out = port_cycles(s, s->t->mt / s->t->alike, s->t->kc * z, s->g->k * (int64_t)z, z);
  all->west.load += tg_west_egress(s->m, s->t->prologue_egress) * out;
  all->north.load += tg_north_egress(s->m, s->t->prologue_egress, 1) * out;
}

/* What a prologue of B reads, and others do of what they make, of a chunk: each tile makes one of as many
 * as there are makers. */
static void add_made(const model *s, traffic *all) {
  const tg_gemm_prologue *f = &s->g->prologue;
  double prologue_inputs = 0, scalars = 0, out = 0, makers = s->t->makers;
  for (int i = 0; i < f->input_count; i++) {
    if (f->inputs[i].lane) continue;
    double z = tg_value_bytes_each(f->inputs[i].name.value), take = tg_prologue_input_take(s->g, s->t, i);
    *(tg_gemm_prologue_is_scalar(s->g, i) ? &scalars : &prologue_inputs) +=
        port_cycles(s, s->t->kc, take * z, s->g->n * (int64_t)z, z);
  }
  if (f->stored) {
    double z = tg_value_bytes_each(f->result);
    out = port_cycles(s, s->t->kc, s->t->nt * z, s->g->n * (int64_t)z, z);
  }
  all->west.load += (tg_west_egress(s->m, s->t->prologue_inputs) * prologue_inputs + scalars) / makers;
  all->north.load +=
      (tg_north_egress(s->m, s->t->prologue_inputs, 1) * prologue_inputs + s->m->rows * out) / makers;
}

/* Pairs of tiles that a port loads for at most: of one row, or column, of squares of two by two tiles every
 * other one. */
typedef struct pairs_of_port {
  uint32_t west, north;
} pairs_of_port;
static pairs_of_port most_pairs(const tg_params *m) {
  return (pairs_of_port){.west = (m->cols / 2 + 1) / 2, .north = (m->rows / 2 + (m->cols > 2)) / 2};
}

/* `keeps`: an operand that is resident counts as part of each chunk that it is kept for. */
static void add_chunk(const model *s, bool keeps, traffic *all) {
  const tg_params *m = s->m;
  const tg_gemm *g = s->g;
  const tg_gemm_tiling *t = s->t;
  double k = (double)(g->part < t->kc ? g->part : t->kc); /* the rest is masked */
  uint32_t mates_a = tg_gemm_a_mates(t), mates_b = tg_gemm_b_mates(t);
  double a = g->a_transposed ? load_cycles(s, g->a, k, t->mt * mates_a, g->a_m_radix, g->a_k_stride)
                             : load_cycles(s, g->a, t->mt, k, g->a_k_radix, g->a_m_stride);
  double b = t->makers ? 0
             : g->b_transposed
                 ? load_cycles(s, g->b, g->n < t->nt ? g->n : t->nt, k, g->b_k_radix, g->b_n_stride)
                 : load_cycles(s, g->b, k, t->nt * mates_b, g->b_n_radix, g->b_k_stride);
  if (tg_gemm_b_in_blocks(m, g, t)) {
    double z = tg_value_bytes_each(g->b);
    b = port_cycles(s, 1, k * t->nt * z, 0, z);
  }
  bool whole = !keeps && t->resident &&
               !tg_gemm_loads_resident_chunks(m, g, t); /* the first chunk comes with all of them */
  if (whole) *(t->resident == TG_RESIDENT_A ? &a : &b) *= t->chunks;
  if (!keeps && t->whole_b) b *= t->chunks;
  if (keeps && t->resident == TG_RESIDENT_A) a /= t->passes_n;
  if (keeps && (t->resident == TG_RESIDENT_B || t->whole_b)) b /= t->passes_m;
  pairs_of_port pairs = most_pairs(m);
  switch (t->split) {
  case TG_SPLIT_OUTPUT:
    all->west.load = a, all->north.load = b * t->members * t->alike;
    if (t->makers) add_made(s, all);
    break;
  case TG_SPLIT_PRODUCTS: all->west.load = a * m->cols, all->north.load = b * m->rows; break;
  case TG_SPLIT_ROWS: /* each tile's rows come alone, to half of them from the north */
    all->west.load = a * (t->paired ? pairs.west : t->alike > 1 ? m->cols / t->alike : (m->cols + 1) / 2);
    all->north.load = b + a * (t->paired ? pairs.north : t->alike > 1 ? 0 : m->rows / 2);
    if (g->prologue.stored) add_prologue(s, all);
    break;
  case TG_SPLIT_COLUMNS: /* to half of the tiles from the west */
    all->north.load = tg_gemm_a_both_ways(g, t) ? a / 2 : 0;
    all->west.load = a - all->north.load + b * (t->paired ? pairs.west : m->cols / 2);
    all->north.load += b * (t->paired ? pairs.north : (m->rows + 1) / 2);
    break;
  }
}

static void add_drain(const model *s, traffic *all) {
  const tg_params *m = s->m;
  const tg_gemm *g = s->g;
  const tg_gemm_tiling *t = s->t;
  double blocks = 0, shared = 0, vectors = 0, column_sums = 0,
         out = 0; /* `shared`: of what tiles side by side share, from the west */
  for (int e = 0; e < g->epilogue_operand_count; e++) {
    const tg_epilogue_operand *x = &g->epilogue_operands[e];
    double z = tg_value_bytes_each(x->access.name.value),
           bytes = (double)tg_epilogue_operand_take(x, t->nt) * z;
    int64_t stride = x->stride[2] * (int64_t)tg_value_bytes_each(x->access.name.value);
    if (x->element_stride > 1) bytes *= 64.0 / z; /* an atom an element */
    if (tg_gemm_loads_once(t, x))
      vectors += port_cycles(s, 1, bytes, 0, z) * (t->split == TG_SPLIT_COLUMNS ? m->rows : 1);
    else
      *(tg_gemm_shares_scalars(t, x) ? &shared : &blocks) += port_cycles(s, t->mt, bytes, stride, z);
  }
  if (tg_gemm_has_resident_vectors(g, t)) vectors /= t->passes_m;
  if (g->column_sums.count) {
    double rows = (double)t->mt / (double)g->column_sums.block, z = 4;
    column_sums = g->column_sums.count * port_cycles(s, rows, t->nt * z, g->n * (int64_t)z, z);
  }
  for (int k = 0; k < g->outs; k++) {
    double z = tg_value_bytes_each(g->out[k]);
    out += port_cycles(s, t->mt, t->nt * z, g->out_stride[2] * (int64_t)z, z);
  }
  if (t->ring)
    blocks /= t->members, shared /= t->members, out /= t->members; /* of the block, so much is a tile's */
  uint32_t group = t->ring ? 1 : t->members;
  uint32_t finishing = m->rows / group, to_west = t->epilogue_operands_west ? m->cols : (m->cols + 1) / 2,
           to_north = t->epilogue_operands_west ? 0 : (finishing + 1) / 2;
  uint32_t west_egress = tg_west_egress(m, t->egress), north_egress = tg_north_egress(m, t->egress, group);
  all->west.drain =
      west_egress * out + tg_west_egress(m, t->column_sums_egress) * column_sums + to_west * blocks + shared;
  all->north.drain = north_egress * out + tg_north_egress(m, t->column_sums_egress, group) * column_sums +
                     to_north * (blocks + shared) + vectors;
  all->west.drains = (west_egress > 0) + (blocks + shared > 0);
  all->north.drains = (north_egress > 0) + (to_north * (blocks + shared) > 0);
}

/* The share of a port that loads for `cycles` of the matrix unit take. */
static double wanted(double loads, double cycles) { return loads < cycles ? loads / cycles : 1; }

/* How long the drain of a block, that takes the vector unit `vector` cycles, lasts beside loads that want
 * such a share of the port. */
static double drain_time(const side *port, double vector, double want) {
  double turn = 1.0 / (port->drains + 1), left = 1 - (want < turn ? want : turn);
  return port->drains ? tg_max_double(vector, port->drain / left) : vector;
}

/* What these loads lose to a drain of that length. */
static double lost(const side *port, double want, double drain) {
  double left = 1 - port->drain / tg_max_double(drain, 1);
  return left < want ? drain * (1 - left / want) : 0;
}

/* Of VOPs that go down the rows of a piece: groups of rows in flight may not be full, and the first one waits
 * for the instruction, the last one for its last operation. */
static double column_sums_cycles(const model *s) {
  const tg_gemm_tiling *t = s->t;
  uint32_t blocks = tg_gemm_column_sums_a_piece(s->g, t), latency = s->m->fma_latency;
  int64_t rows = tg_div_up((int64_t)blocks * t->nt / tg_lanes(s->m), latency) * latency;
  double iterations = (double)(t->mr / blocks) / s->g->column_sums.unroll,
         words = s->g->column_sums.words + iterations * s->g->drain_words[TG_DRAIN_FINISH];
  return (double)t->mt / t->mr * ((double)rows * words + 2 * latency + 2);
}

/* Of the vector unit for a block, where members reduce in a ring: rows go in groups, and of every VOP the way
 * in and out of the pipeline, and semaphores, are seen; and so is the way out of a piece, if there is room
 * for one only. */
static double ring_cycles(const model *s) {
  const tg_gemm_tiling *t = s->t;
  uint32_t latency = s->m->fma_latency, rows = tg_gemm_ring_rows(t), at_once = tg_gemm_at_once(s->m, t);
  const int *words = at_once > 1 ? s->g->ring_words : s->g->drain_words;
  double columns = t->nt / tg_lanes(s->m), vop = 2 * latency + 4, out = 0;
  double add = (double)tg_div_up((int64_t)(t->members * rows * columns / at_once), latency) * latency *
               words[TG_DRAIN_ADD],
         finish = (double)tg_div_up((int64_t)(t->mr * columns), latency) * latency * words[TG_DRAIN_FINISH];
  if (t->one_out) out = (double)tg_gemm_results_before(s->m, s->g, t, s->g->outs) + HOPS;
  return (double)t->mt / (t->members * rows) * (add + vop + t->ring_pieces * (finish + vop + out));
}

/* Of the vector unit for a block: the last part, and one that is only added. */
static double finish_cycles(const model *s) {
  if (s->g->column_sums.count) return column_sums_cycles(s);
  if (s->t->ring) return ring_cycles(s);
  bool apart = s->g->sum_kind == TG_STREAM_BF16SR; /* the whole sum is stored and loaded once more */
  return (double)s->t->mt * (s->t->nt / tg_lanes(s->m)) *
         (s->g->drain_words[TG_DRAIN_FINISH] + (apart ? s->g->drain_words[TG_DRAIN_ADD] : 0));
}
static double sum_cycles(const model *s) {
  return (double)s->t->mt * (s->t->nt / tg_lanes(s->m)) * s->g->drain_words[TG_DRAIN_ADD];
}

/* Of the matrix unit for a chunk. */
static double chunk_cycles(const model *s) {
  uint32_t stationary = tg_mx_stationary(s->m, s->g->format);
  int64_t streamed = s->g->a_transposed ? tg_div_up(s->t->mt, stationary) * stationary : s->t->mt;
  double blocks = (double)tg_div_up(s->t->kc, stationary) * (s->t->nt / stationary);
  return blocks * (double)tg_mx_pitch(s->m, s->g->format, (uint64_t)streamed);
}

/* Of a round of chunks that tiles make in turn, from one to the next in the same banks: they are the maker's,
 * then on their way, then mx's. */
static double way_of_chunk(const model *s) {
  uint32_t sends = s->t->makers > 2 ? 2 : s->t->makers - 1;
  double sending = (double)sends * s->t->kc * tg_kind_flits(s->m, s->g->prologue.block_kind, s->t->nt);
  return tg_gemm_prologue_cycles(s->m, s->g, s->t) + sending + chunk_cycles(s) + 2 * HOPS;
}
static double round_cycles(const model *s) {
  return tg_max_double(tg_gemm_prologue_cycles(s->m, s->g, s->t), HELD_UP * way_of_chunk(s) / s->t->made);
}

/* A chunk's buffer is free when mx has read it; the chunk that it is for is there a DRAM access later. Of
 * short chunks, or if the ports have as much to do as mx, two in flight do not hide that. */
static double chunk_period(const model *s, double load) {
  const tg_gemm_tiling *t = s->t;
  uint32_t stationary = tg_mx_stationary(s->m, s->g->format);
  double mx = chunk_cycles(s) + (t->makers ? CHUNK_CYCLES : 0),
         chunks = (double)t->passes_m * t->passes_n * t->chunks * t->parts;
  double round_trip = s->m->dram_latency + load + 2 * stationary + HOPS;
  return chunks > 2 ? tg_max_double(mx, (mx + round_trip) /
                                            (double)(t->makers ? tg_gemm_a_blocks(t) : 2u + t->prefetch))
                    : mx;
}

/* Of the kind of ports that has more to do, for a block. */
static double port_period(const model *s, const traffic *all) {
  double chunks = (double)s->t->chunks * s->t->parts;
  return tg_max_double(chunks * all->west.load + all->west.drain,
                       chunks * all->north.load + all->north.drain);
}

/* With per-row scalars, which come atom by atom for all tiles of a row at once, two blocks of A do not hide
 * how long DRAM takes for one: found by trying, like the factors above. */
static double wait_for_scalars(const model *s) {
  bool short_of_room = tg_gemm_prologue_scalars(s->g) && tg_gemm_a_blocks(s->t) == 2;
  return short_of_room ? s->m->dram_latency + HOPS : 0;
}

/* One half of the accumulator is drained while the next part is multiplied into the other; so the last drain
 * of several must end in the time of one. */
static double pass_cycles(const model *s, const traffic *all) {
  const tg_gemm_tiling *t = s->t;
  double chunks = (double)t->chunks * t->parts, vector = finish_cycles(s);
  double part = t->chunks * chunk_period(s, tg_max_double(all->west.load, all->north.load)),
         whole = part * t->parts;
  double from_west = wanted(chunks * all->west.load, whole),
         from_north = wanted(chunks * all->north.load, whole);
  double west = drain_time(&all->west, vector, from_west),
         north = drain_time(&all->north, vector, from_north);
  double less = tg_max_double(lost(&all->west, from_west, west), lost(&all->north, from_north, north));
  double last = part + less;
  last = tg_max_double(last, t->parts > 1 ? tg_max_double(west, north) : vector);
  double pass = (t->parts - 1) * tg_max_double(part, sum_cycles(s)) + last;
  if (t->makers) {
    pass = tg_max_double(pass, chunks / t->makers * round_cycles(s) + vector);
    pass =
        tg_max_double(pass, chunks * (tg_max_double(all->west.load, all->north.load) + wait_for_scalars(s)));
  } else if (s->g->prologue.result)
    pass = tg_max_double(pass, vector + chunks * tg_gemm_prologue_cycles(s->m, s->g, t));
  return tg_max_double(pass, port_period(s, all));
}

double tg_gemm_least_cycles(const tg_compile *c, const tg_gemm *g, const tg_gemm_tiling *t) {
  model s = {c->m, g, t};
  double chunks = (double)t->chunks * t->parts;
  return (double)t->passes_m * t->passes_n *
         (tg_max_double(chunks * chunk_cycles(&s), finish_cycles(&s)) + chunks * CHUNK_CYCLES);
}

double tg_gemm_port_cycles(const tg_compile *c, const tg_gemm *g, const tg_gemm_tiling *t) {
  model s = {c->m, g, t};
  traffic all = {.west = {0}};
  add_chunk(&s, true, &all);
  add_drain(&s, &all);
  return port_period(&s, &all);
}

double tg_gemm_cycles(const tg_compile *c, const tg_gemm *g, const tg_gemm_tiling *t) {
  const tg_params *m = c->m;
  model s = {m, g, t};
  traffic all = {.west = {0}}, first = all;
  add_chunk(&s, true, &all);
  add_chunk(&s, false, &first);
  add_drain(&s, &all);
  double vector = finish_cycles(&s), chunks = (double)t->chunks * t->parts;
  double ends = 2 * m->dram_latency + tg_max_double(first.west.load, first.north.load) +
                tg_mx_stationary(m, g->format) * m->fma_latency;
  if (t->makers) ends += way_of_chunk(&s);
  /* Ports and vector unit work on pieces in turn; sums follow each other down the column, a piece behind. */
  double ports = tg_max_double(all.west.drain, all.north.drain), piece = (double)t->mr / t->mt;
  double drain = tg_max_double(vector, ports) + piece * (vector + ports) +
                 (t->ring ? 0 : (t->members - 1) * vector * piece);
  double passes = (double)t->passes_m * t->passes_n, strips = tg_gemm_strips(t);
  double weight = passes * (chunks * (all.west.load + all.north.load) + all.west.drain + all.north.drain);
  double handing_on = tg_gemm_pieces_of_column_sum(g, t) > 1 ? passes * t->mt / t->mr * HANDING_ON : 0;
  return passes * pass_cycles(&s, &all) + strips * (ends + drain) + (strips - 1) * TG_SECTION_CYCLES +
         (t->makers ? 0 : passes * chunks * CHUNK_CYCLES) + handing_on + TRAFFIC_WEIGHT * weight;
}
