/* A simple model of a product's time: of the matrix unit, the vector unit and the two kinds of DRAM ports,
 * the slowest sets the time of a pass; the first load and the last drain are exposed. Contexts of a port take
 * turns burst by burst, so that a drain, as long as it lasts, takes from the loads of the next block what is
 * over their share. */
#include "frontend/base/math.h"
#include "mapper/gemm/layout.h"
#include "mapper/gemm/prologue.h"
#include "mapper/gemm/stages.h"

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

typedef struct ports {
  tg_port_time west, north;
} ports;

static ports ports_of(const tg_stages *stages) {
  return (ports){tg_stages_port(stages, TG_SIDE_WEST), tg_stages_port(stages, TG_SIDE_NORTH)};
}

/* The share of a port that loads for `cycles` of the matrix unit take. */
static double wanted(double loads, double cycles) { return loads < cycles ? loads / cycles : 1; }

/* How long the drain of a block, that takes the vector unit `vector` cycles, lasts beside loads that want
 * such a share of the port. */
static double drain_time(const tg_port_time *port, double vector, double want) {
  double turn = 1.0 / (port->drains + 1), left = 1 - (want < turn ? want : turn);
  return port->drains ? tg_max_double(vector, port->drain / left) : vector;
}

/* What these loads lose to a drain of that length. */
static double lost(const tg_port_time *port, double want, double drain) {
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
  uint32_t buffers = t->resident == TG_RESIDENT_A || t->patch ? 2u + t->prefetch : tg_gemm_a_blocks(t);
  uint32_t stationary = tg_mx_stationary(s->m, s->g->format);
  double mx = chunk_cycles(s) + (t->makers ? CHUNK_CYCLES : 0),
         chunks = (double)t->passes_m * t->passes_n * t->chunks * t->parts;
  double round_trip = s->m->dram_latency + load + 2 * stationary + HOPS;
  return chunks > 2 ? tg_max_double(mx, (mx + round_trip) / buffers) : mx;
}

/* Of the kind of ports that has more to do, for a block. */
static double port_period(const model *s, const ports *all) {
  double chunks = (double)s->t->chunks * s->t->parts;
  return tg_max_double(chunks * all->west.load + all->west.drain,
                       chunks * all->north.load + all->north.drain);
}

/* A patch's buffer is free when mx has read all of it. */
static double patch_period(const model *s, const ports *all) {
  const tg_gemm_tiling *t = s->t;
  double mx = t->chunks * (chunk_cycles(s) + CHUNK_CYCLES),
         load = t->chunks * tg_max_double(all->west.load, all->north.load);
  return (double)t->passes_m * t->passes_n > 1 ? (mx + s->m->dram_latency + load + HOPS) / t->patches : 0;
}

/* With per-row scalars, which come atom by atom for all tiles of a row at once, two blocks of A do not hide
 * how long DRAM takes for one: found by trying, like the factors above. */
static double wait_for_scalars(const model *s) {
  bool short_of_room = tg_gemm_prologue_scalars(s->g) && tg_gemm_a_blocks(s->t) == 2;
  return short_of_room ? s->m->dram_latency + HOPS : 0;
}

/* One half of the accumulator is drained while the next part is multiplied into the other; so the last drain
 * of several must end in the time of one. */
static double pass_cycles(const model *s, const ports *all) {
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
  if (t->patch) pass = tg_max_double(pass, patch_period(s, all));
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
  tg_stages stages;
  tg_gemm_list_stages(c->m, g, t, &stages);
  ports all = ports_of(&stages);
  return port_period(&s, &all);
}

double tg_gemm_cycles(const tg_compile *c, const tg_gemm *g, const tg_gemm_tiling *t,
                      const tg_stages *stages) {
  const tg_params *m = c->m;
  model s = {m, g, t};
  ports all = ports_of(stages);
  double vector = finish_cycles(&s), chunks = (double)t->chunks * t->parts;
  double ends = 2 * m->dram_latency + tg_max_double(all.west.in_front, all.north.in_front) +
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
