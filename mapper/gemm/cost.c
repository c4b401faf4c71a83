/* A simple model of a product's time: of the matrix unit, the vector unit and the two kinds of DRAM ports,
 * the slowest sets the time of a pass; the first load and the last drain are exposed. Contexts of a port take
 * turns burst by burst, so that a drain, as long as it lasts, takes from the loads of the next block what is
 * over their share. */
#include "frontend/base/math.h"
#include "mapper/gemm/layout.h"
#include "mapper/gemm/prologue.h"
#include "mapper/gemm/stages.h"
#include "mapper/kernel/class.h"

#define CHUNK_CYCLES 8.0  /* of each chunk, over what its units take; where tiles make it, over mx's */
#define HELD_UP      1.15 /* of its time: a way through three units, each of which waits for others, too */
#define HANDING_ON   2.0  /* of each drain tile whose column sums go on: its short buffers ride out less */

typedef struct model {
  const tg_params *m;
  const tg_gemm *g;
  const tg_gemm_tiling *t;
  double multiply, prologue, sums, drain; /* cycles of units: for a chunk, two; for a block, two */
  double second_multiply, second_load; /* of a second product, for a chunk: of mx, and of the busiest port */
} model;

/* Of a second product, whose stages have the cycles that are a chunk's of the first one. */
static double of_second(const tg_gemm_tiling *t, const tg_stages *stages, tg_seat seat) {
  if (!t->second.chunks) return 0;
  double sum = tg_stages_unit(stages, seat, TG_STAGE_SECOND_A) +
               tg_stages_unit(stages, seat, TG_STAGE_SECOND_B) +
               tg_stages_unit(stages, seat, TG_STAGE_SECOND_MULTIPLY);
  return sum * t->chunks / t->second.chunks;
}

/* Of the units, as the stages have them. */
static model model_of(const tg_params *m, const tg_gemm *g, const tg_gemm_tiling *t,
                      const tg_stages *stages) {
  return (model){.m = m,
                 .g = g,
                 .t = t,
                 .multiply = tg_stages_unit(stages, TG_UNIT_MX, TG_STAGE_MULTIPLY),
                 .prologue = tg_stages_unit(stages, TG_UNIT_VX, TG_STAGE_PROLOGUE),
                 .sums = tg_stages_unit(stages, TG_UNIT_VX, TG_STAGE_SUMS),
                 .drain = tg_stages_unit(stages, TG_UNIT_VX, TG_STAGE_DRAIN),
                 .second_multiply = of_second(t, stages, TG_UNIT_MX),
                 .second_load =
                     tg_max_double(of_second(t, stages, TG_SIDE_WEST), of_second(t, stages, TG_SIDE_NORTH))};
}

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
  double share = 1.0 / (port->drains + 1), left = 1 - (want < share ? want : share);
  return port->drains ? tg_max_double(vector, port->drain / left) : vector;
}

/* What these loads lose to a drain of that length. */
static double lost(const tg_port_time *port, double want, double drain) {
  double left = 1 - port->drain / tg_max_double(drain, 1);
  return left < want ? drain * (1 - left / want) : 0;
}

/* Of a round of chunks that tiles make in turn, from one to the next in the same banks: they are the producer's,
 * then on their way, then mx's. */
static double way_of_chunk(const model *s) {
  uint32_t sends = s->t->producers > 2 ? 2 : s->t->producers - 1;
  double sending = (double)sends * s->t->kc * tg_kind_flits(s->m, s->g->prologue.block_kind, s->t->nt);
  return s->prologue + sending + s->multiply + 2 * TG_GEMM_HOPS;
}
static double round_cycles(const model *s) {
  return tg_max_double(s->prologue, HELD_UP * way_of_chunk(s) / s->t->made);
}

/* A chunk's buffer is free when mx has read it; the chunk that it is for is there a DRAM access later. Of
 * short chunks, or if the ports have as much to do as mx, two in flight do not hide that. */
static double chunk_period(const model *s, double load) {
  const tg_gemm_tiling *t = s->t;
  uint32_t buffers = t->resident == TG_RESIDENT_A || t->patch ? 2u + t->prefetch : tg_gemm_a_blocks(t);
  uint32_t stationary = tg_mx_stationary(s->m, s->g->format);
  double mx = s->multiply + (t->producers ? CHUNK_CYCLES : 0),
         chunks = (double)t->passes_m * t->passes_n * t->chunks * t->parts;
  if (t->patch && t->whole_b) return mx; /* nothing comes by chunks */
  double round_trip = s->m->dram_latency + load + 2 * stationary + TG_GEMM_HOPS;
  return chunks > 2 ? tg_max_double(mx, (mx + round_trip) / buffers) : mx;
}

/* The chunks of a second product, whose loads go on while those of the first one are multiplied. */
static double second_part(const model *s) {
  const tg_gemm_tiling *t = s->t;
  uint32_t stationary = s->g->second ? tg_mx_stationary(s->m, s->g->second->format) : 0;
  double round_trip = s->m->dram_latency + s->second_load + 2 * stationary + TG_GEMM_HOPS,
         period = (s->second_multiply + round_trip) / (2 + t->prefetch);
  return t->second.chunks * tg_max_double(s->second_multiply, t->second.chunks > 2 ? period : 0);
}

/* Of the kind of ports that has more to do, for a block. */
static double port_period(const model *s, const ports *all) {
  double chunks = (double)s->t->chunks * s->t->parts;
  return tg_max_double(chunks * all->west.load + all->west.drain,
                       chunks * all->north.load + all->north.drain);
}

/* Of a chunk of the first product, on the ports that have more of it to do. */
static double first_load(const model *s, const ports *all) {
  double both = tg_max_double(all->west.load, all->north.load),
         second = s->second_load * s->t->second.chunks / s->t->chunks;
  return tg_max_double(both - second, 0);
}

/* A patch's buffer is free when mx has read all of it. */
static double patch_period(const model *s, const ports *all) {
  const tg_gemm_tiling *t = s->t;
  double mx = t->chunks * (s->multiply + CHUNK_CYCLES), load = t->chunks * first_load(s, all);
  double way = mx + s->m->dram_latency + load + TG_GEMM_HOPS;
  if (tg_gemm_slabs(t) > 1) return t->passes_m > 1 ? way / tg_gemm_a_credits(s->g, t) : 0;
  return (double)t->passes_m * t->passes_n > 1 ? way / t->patches : 0;
}

/* With per-row scalars, which come atom by atom for all tiles of a row at once, two blocks of A do not hide
 * how long DRAM takes for one: found by trying, like the factors above. */
static double wait_for_scalars(const model *s) {
  bool short_of_room = tg_gemm_prologue_scalars(s->g) && tg_gemm_a_blocks(s->t) == 2;
  return short_of_room ? s->m->dram_latency + TG_GEMM_HOPS : 0;
}

/* One half of the accumulator is drained while the next part is multiplied into the other; so the last drain
 * of several must end in the time of one. Alone: nothing is drained beside it. */
static double pass_cycles(const model *s, const ports *all, bool alone) {
  const tg_gemm_tiling *t = s->t;
  double chunks = (double)t->chunks * t->parts, vector = s->drain;
  double part = t->chunks * chunk_period(s, first_load(s, all)) + second_part(s), whole = part * t->parts;
  double from_west = wanted(chunks * all->west.load, whole),
         from_north = wanted(chunks * all->north.load, whole);
  double west = drain_time(&all->west, vector, from_west),
         north = drain_time(&all->north, vector, from_north);
  double less = tg_max_double(lost(&all->west, from_west, west), lost(&all->north, from_north, north));
  double last = part + (alone ? 0 : less);
  last = tg_max_double(last, t->parts > 1 ? tg_max_double(west, north) : vector);
  double pass = (t->parts - 1) * tg_max_double(part, s->sums) + last;
  if (t->producers) {
    pass = tg_max_double(pass, chunks / t->producers * round_cycles(s) + vector);
    pass =
        tg_max_double(pass, chunks * (tg_max_double(all->west.load, all->north.load) + wait_for_scalars(s)));
  } else if (s->g->prologue.result)
    pass = tg_max_double(pass, vector + chunks * s->prologue);
  return t->patch ? tg_max_double(pass, patch_period(s, all)) : pass;
}

double tg_gemm_least_cycles(const tg_compile *c, const tg_gemm *g, const tg_gemm_tiling *t) {
  double chunks = (double)t->chunks * t->parts, multiply = tg_gemm_multiply_cycles(c->m, g, t),
         drain = tg_gemm_drain_cycles(c->m, g, t);
  double all = chunks * multiply;
  if (g->second) {
    tg_gemm_tiling second = *t;
    second.second.chunks = 1;
    second.second.kc = (uint32_t)g->second->k;
    second = tg_gemm_second_tiling(&second);
    all += tg_gemm_multiply_cycles(c->m, g->second, &second);
  }
  return (double)tg_gemm_row_blocks(t) * t->passes_n * (tg_max_double(all, drain) + chunks * CHUNK_CYCLES);
}

double tg_gemm_port_cycles(const tg_compile *c, const tg_gemm *g, const tg_gemm_tiling *t) {
  tg_stages stages;
  tg_gemm_list_stages(c->m, g, t, &stages);
  model s = model_of(c->m, g, t, &stages);
  ports all = ports_of(&stages);
  return port_period(&s, &all);
}

double tg_gemm_traffic(const tg_gemm_tiling *t, const tg_stages *stages) {
  double chunks = (double)t->chunks * t->parts, passes = (double)tg_gemm_row_blocks(t) * t->passes_n;
  ports all = ports_of(stages);
  return passes * (chunks * (all.west.load + all.north.load) + all.west.drain + all.north.drain);
}

/* Of all ports of a side, for a block: of stores alone, or of all. */
static double side_cycles(const tg_gemm_tiling *t, const tg_stages *stages, tg_seat side, bool stores) {
  double chunks = (double)t->chunks * t->parts, sum = 0;
  for (int i = 0; i < stages->count; i++) {
    const tg_stage *stage = &stages->list[i];
    bool stored = stage->kind == TG_STAGE_RESULTS || stage->kind == TG_STAGE_COLUMN_SUMS ||
                  stage->kind == TG_STAGE_PROLOGUE_STORE;
    if (stage->seat == side && (stored || !stores)) sum += (stage->drains ? 1 : chunks) * stage->cycles;
  }
  return sum;
}

double tg_gemm_memory_cycles(const tg_compile *c, const tg_gemm *g, const tg_gemm_tiling *t) {
  const tg_params *m = c->m;
  if (tg_dram_is_simple(&m->dram)) return 0;
  tg_stages stages;
  tg_gemm_list_stages(m, g, t, &stages);
  double blocks = (double)tg_gemm_row_blocks(t) * t->passes_n * m->port_bytes, bytes[2];
  for (int stores = 0; stores < 2; stores++)
    bytes[stores] = blocks * (m->rows * side_cycles(t, &stages, TG_SIDE_WEST, stores) +
                              m->cols * side_cycles(t, &stages, TG_SIDE_NORTH, stores));
  return tg_device_cycles(m, bytes[0] - bytes[1], bytes[1]);
}

double tg_gemm_cycles(const tg_compile *c, const tg_gemm *g, const tg_gemm_tiling *t,
                      const tg_stages *stages) {
  const tg_params *m = c->m;
  model s = model_of(m, g, t, stages);
  ports all = ports_of(stages);
  double vector = s.drain, chunks = (double)t->chunks * t->parts;
  double ends = 2 * m->dram_latency + tg_max_double(all.west.in_front, all.north.in_front) +
                tg_mx_stationary(m, g->format) * m->fma_latency;
  if (t->producers) ends += way_of_chunk(&s);
  /* Ports store a drain tile while the vector unit works on the next one; sums follow each other down the column, one
   * tile of them behind. */
  double ports = tg_max_double(all.west.drain, all.north.drain),
         drain_tile = (double)t->mr / tg_gemm_block_results(t);
  double drain = tg_max_double(vector, ports) + drain_tile * (vector < ports ? vector : ports) +
                 (t->ring ? 0 : (t->members - 1) * vector * drain_tile);
  double passes = (double)tg_gemm_row_blocks(t) * t->passes_n, strips = tg_gemm_strips(t);
  double handing_on = tg_gemm_drain_tiles_of_column_sum(g, t) > 1 ? passes * t->mt / t->mr * HANDING_ON : 0;
  /* The first pass has nothing to store. */
  double period = tg_max_double(pass_cycles(&s, &all, false), port_period(&s, &all)),
         load = tg_max_double(all.west.load, all.north.load), first = period;
  if (!t->producers)
    first = tg_max_double(pass_cycles(&s, &all, true), (chunks - 1) * load + s.multiply +
                                                           (load - first_load(&s, &all)) + s.second_multiply);
  return strips * (ends + first + drain) + (passes - strips) * period + (strips - 1) * TG_SECTION_CYCLES +
         (t->producers ? 0 : passes * (chunks + t->second.chunks) * CHUNK_CYCLES) + handing_on;
}
