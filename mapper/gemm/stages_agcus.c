/* A product as stages: which loads and stores its AGCUs have, in the order of their queues, and how long they take
 * the ports. */
#include "frontend/base/math.h"
#include "mapper/gemm/layout.h"
#include "mapper/gemm/patch.h"
#include "mapper/gemm/prologue.h"
#include "mapper/gemm/stages.h"

typedef struct list {
  const tg_params *m;
  const tg_gemm *g;
  const tg_gemm_tiling *t;
  tg_stages *out;
} list;

/* Runs of `bytes` that are `stride` bytes apart, in atoms: if they are not all aligned alike, what a run of
 * elements of `each` bytes touches on average. */
static double port_cycles(const list *s, double runs, double bytes, int64_t stride, double each) {
  double atoms = stride % TG_ATOM_BYTES ? (bytes - each) / TG_ATOM_BYTES + 1
                                        : (double)tg_div_up((int64_t)bytes, TG_ATOM_BYTES);
  return runs * atoms * tg_atom_cycles(s->m);
}

/* Whole runs: atoms count from where a run begins, wherever that is. */
static double whole_runs(const list *s, double runs, double bytes) {
  return runs * (double)tg_div_up((int64_t)bytes, TG_ATOM_BYTES) * tg_atom_cycles(s->m);
}

/* Rows of `length` elements of a walk whose runs have atoms of their own. */
static double load_cycles(const list *s, const tg_value *value, double rows, double length,
                          const int64_t radix[3], const int64_t row_stride[3]) {
  double run = radix[2] > 0 ? (double)radix[2] : 1, each = tg_value_bytes_each(value);
  int64_t stride = row_stride[2] * (int64_t)tg_value_bytes_each(value);
  return length > run ? port_cycles(s, rows * length / run, run * each, stride, each)
                      : port_cycles(s, rows, length * each, stride, each);
}

/* A stage at either side: so many instructions in the fullest queue there, so many of what takes `cycles`. */
typedef struct share {
  uint32_t slots;
  double times;
} share;

static void add_load(const list *s, tg_stage stage, tg_seat side, share of) {
  stage.seat = (uint8_t)side;
  stage.slots = of.slots;
  stage.cycles *= of.times;
  stage.in_front *= of.times;
  tg_stages_add(s->out, &stage);
}

/* Pairs of tiles that a port loads for at most: of one row, or column, of squares of two by two tiles every
 * other one. */
static uint32_t pairs_of_west(const tg_params *m) { return (m->cols / 2 + 1) / 2; }
static uint32_t pairs_of_north(const tg_params *m) { return (m->rows / 2 + (m->cols > 2)) / 2; }

/* ---- A and B ---- */

/* Loads of all that a chunk of one of them takes: instructions of their own. */
static uint32_t chunk_loads(const list *s, tg_resident operand) {
  if (s->t->resident == operand) return tg_gemm_resident_loads(s->m, s->g, s->t);
  if (operand == TG_RESIDENT_A && tg_gemm_slabs(s->t) > 1)
    return 2; /* of the first slab, and of the others */
  return tg_gemm_unrolled_chunks(s->t);
}

static share share_of_a(const list *s, tg_seat side) {
  const tg_params *m = s->m;
  const tg_gemm_tiling *t = s->t;
  bool west = side == TG_SIDE_WEST, both = tg_gemm_a_both_ways(m, s->g, t);
  uint32_t loads = chunk_loads(s, TG_RESIDENT_A), tiles;
  switch (t->split) {
  case TG_SPLIT_OUTPUT: return west ? (share){loads, 1} : (share){0};
  case TG_SPLIT_PRODUCTS: return west ? (share){m->cols, m->cols} : (share){0};
  case TG_SPLIT_COLUMNS: return west ? (share){loads, both ? 0.5 : 1} : (share){both, 0.5};
  case TG_SPLIT_ROWS: break;
  }
  /* Each tile's rows come alone, to half of them from the north. */
  tiles = t->paired      ? west ? pairs_of_west(m) : pairs_of_north(m)
               : t->alike > 1 ? west ? m->cols / t->alike : 0
          : west         ? (m->cols + 1) / 2
                         : m->rows / 2;
  uint32_t most = !west && t->alike == 1 && !t->paired ? (m->rows + 1) / 2 : tiles;
  return (share){tg_gemm_slabs(t) > 1 ? loads * most : most, tiles};
}

/* With a LOAD for the marks of a pool behind each of a patch. */
static share share_of_patches(const list *s, tg_seat side) {
  share of = share_of_a(s, side);
  if (tg_gemm_pool_marks(s->g, s->t)) of.slots *= 2;
  return of;
}

static share share_of_b(const list *s, tg_seat side) {
  const tg_params *m = s->m;
  const tg_gemm_tiling *t = s->t;
  bool west = side == TG_SIDE_WEST;
  uint32_t loads = t->whole_b ? 1 : chunk_loads(s, TG_RESIDENT_B), apart = t->members * t->alike;
  switch (t->split) {
  case TG_SPLIT_OUTPUT: return west ? (share){0} : (share){loads * apart, apart};
  case TG_SPLIT_PRODUCTS: return west ? (share){0} : (share){m->rows, m->rows};
  case TG_SPLIT_ROWS: return west ? (share){0} : (share){loads, 1};
  case TG_SPLIT_COLUMNS: break;
  }
  /* Each tile's columns come alone, to half of them from the west: those of every other diagonal (place.c). */
  if (t->paired)
    return west ? (share){pairs_of_west(m), pairs_of_west(m)} : (share){pairs_of_north(m), pairs_of_north(m)};
  uint32_t blocks = (uint32_t)tg_min(tg_div_up(s->g->n, t->nt), tg_tiles(m)),
           diagonals = (uint32_t)tg_div_up(blocks, m->rows);
  return west ? (share){(m->cols + 1) / 2, diagonals / 2}
              : (share){(m->rows + 1) / 2, (double)tg_div_up((diagonals + 1) / 2 * m->rows, m->cols)};
}

/* A patch, which all chunks have in common. What fills its positions up costs no more atoms. */
static double patch_of_a(const list *s) {
  const tg_gemm_image *x = &s->g->image;
  double z = tg_value_bytes_each(s->g->a), runs;
  tg_agcu_instr walk = {0};
  tg_patch_fill_walk(s->m, s->g, s->t, (int64_t)z, &walk);
  int64_t run = walk.k_radix[2];
  runs = (double)(walk.rows * (walk.take / run));
  if (s->t->patch == TG_PATCH_RUNS) run = tg_min(run, x->taps[1] * x->channels);
  return whole_runs(s, runs, (double)run * z);
}

static double block_of_a(const list *s, double k) {
  const tg_gemm *g = s->g;
  const tg_gemm_tiling *t = s->t;
  if (tg_gemm_loads_runs(s->m, g, t)) {
    double z = tg_value_bytes_each(g->a);
    return whole_runs(s, 1, t->mt * k * z);
  }
  bool all = !g->a_transposed && t->chunks * t->parts * t->members == 1 && g->a_k_radix[2] > 0;
  if (all) { /* of K: no run is loaded in parts */
    double run = (double)g->a_k_radix[2];
    return whole_runs(s, t->mt * (k > run ? k / run : 1), (k > run ? run : k) * tg_value_bytes_each(g->a));
  }
  if (g->a_transposed)
    return load_cycles(s, g->a, k, t->mt * tg_gemm_a_mates(t), g->a_m_radix, g->a_k_stride);
  if (t->swapped && tg_gemm_a_both_ways(s->m, g, t))
    return 2 * load_cycles(s, g->a, t->mt, k / 2, g->a_k_radix, g->a_m_stride);
  return load_cycles(s, g->a, t->mt, k, g->a_k_radix, g->a_m_stride);
}

static double block_of_b(const list *s, double k) {
  const tg_gemm *g = s->g;
  const tg_gemm_tiling *t = s->t;
  if (tg_gemm_b_in_blocks(g, t)) {
    double z = tg_value_bytes_each(g->b);
    return port_cycles(s, 1, k * t->nt * z, 0, z);
  }
  return g->b_transposed ? load_cycles(s, g->b, g->n < t->nt ? g->n : t->nt, k, g->b_k_radix, g->b_n_stride)
                         : load_cycles(s, g->b, k, t->nt * tg_gemm_b_mates(t), g->b_n_radix, g->b_k_stride);
}

/* An operand that is resident counts as part of each chunk that it is there for; in front of the first one,
 * it comes as a whole. */
static tg_stage stage_of_a(const list *s, tg_seat side, double k) {
  const tg_gemm_tiling *t = s->t;
  uint64_t marks = tg_gemm_pool_marks(s->g, t);
  double a = t->patch ? patch_of_a(s) + (double)marks * tg_atom_cycles(s->m) : block_of_a(s, k);
  bool resident = t->resident == TG_RESIDENT_A;
  bool whole = resident && !tg_gemm_loads_resident_chunks(s->m, s->g, t);
  tg_stage stage = {.kind = TG_STAGE_A,
                    .context = TG_CTX_LOAD,
                    .rate = resident || t->patch ? TG_RATE_PASS : TG_RATE_STEP,
                    .nest = tg_gemm_slabs(t) > 1 ? TG_NEST_OWN : TG_NEST_CHUNKS,
                    .cycles = t->patch   ? a / (t->chunks * tg_gemm_slabs(t))
                              : resident ? a / t->passes_n
                                         : a,
                    .in_front = whole      ? a * t->chunks
                                : t->patch ? a * tg_patch_first_slab(s->g, t) / tg_patch_height(s->g, t)
                                           : a};
  /* Of chunks that are resident together, the first one asks. Rows from the north tell by themselves; and what a prologue
   * is made of goes to a buffer of its own, once there is one for what it makes. */
  uint8_t to = s->g->prologue.result && !s->g->prologue.of_b                 ? TG_ROLE_PROLOGUE_INPUTS
               : side == TG_SIDE_NORTH && tg_gemm_a_both_ways(s->m, s->g, t) ? TG_ROLE_A_NORTH
                                                                             : TG_ROLE_A;
  tg_stage_join(&stage, (tg_join){.channel = TG_ROLE_A,
                                  .fills = true,
                                  .waits = resident ? TG_OF_ENDS : TG_OF_EACH,
                                  .posts = TG_OF_NONE});
  tg_stage_join(&stage, (tg_join){.channel = to, .fills = true, .waits = TG_OF_NONE});
  if (marks) tg_stage_join(&stage, (tg_join){.channel = TG_ROLE_OPERANDS, .fills = true});
  return stage;
}

static tg_stage stage_of_b(const list *s, double k) {
  const tg_gemm_tiling *t = s->t;
  double b = block_of_b(s, k);
  bool resident = t->resident == TG_RESIDENT_B;
  bool whole = t->whole_b || (resident && !tg_gemm_loads_resident_chunks(s->m, s->g, t));
  tg_stage stage = {.kind = TG_STAGE_B,
                    .context = TG_CTX_LOAD,
                    .rate = t->whole_b ? TG_RATE_ONCE
                            : resident ? TG_RATE_PASS
                                       : TG_RATE_STEP,
                    .nest = TG_NEST_CHUNKS,
                    .cycles = resident || t->whole_b ? b / tg_gemm_row_blocks(t) : b,
                    .in_front = whole ? b * t->chunks : b};
  tg_stage_join(&stage,
                (tg_join){.channel = TG_ROLE_B, .fills = true, .waits = resident ? TG_OF_ENDS : TG_OF_EACH});
  return stage;
}

/* An operand that is resident comes first. */
static void add_operands(const list *s, tg_seat side) {
  const tg_gemm_tiling *t = s->t;
  double k = (double)(s->g->part < t->kc ? s->g->part : t->kc); /* the rest is masked */
  tg_stage a = stage_of_a(s, side, k);
  bool a_first = t->resident == TG_RESIDENT_A || t->patch ||
                 (t->resident == TG_RESIDENT_NONE && (side == TG_SIDE_WEST || t->split == TG_SPLIT_COLUMNS));
  if (a_first && !t->whole_b) add_load(s, a, side, share_of_patches(s, side));
  if (!t->producers && !t->kept) add_load(s, stage_of_b(s, k), side, share_of_b(s, side));
  if (!a_first || t->whole_b) add_load(s, a, side, share_of_patches(s, side));
}

/* ---- prologues ---- */

/* What several LOADs fill together. */
static tg_join join_of_ends(tg_gemm_role role) {
  return (tg_join){.channel = (uint8_t)role, .fills = true, .waits = TG_OF_ENDS, .posts = TG_OF_ENDS};
}

static void add_prologue_vectors(const list *s) {
  uint32_t apart = s->g->prologue.of_b ? s->t->alike : 1;
  tg_stage vectors = {.kind = TG_STAGE_PROLOGUE_VECTORS, .context = TG_CTX_LOAD, .rate = TG_RATE_ONCE};
  tg_stage_join(&vectors, join_of_ends(TG_ROLE_PROLOGUE_VECTORS));
  add_load(s, vectors, TG_SIDE_NORTH, (share){(uint32_t)s->g->prologue.vector_count * apart, 0});
}

/* What a cooperative prologue reads of a chunk: each tile makes one of as many as there are producers. */
static void add_prologue_inputs(const list *s, tg_seat side) {
  const tg_gemm_prologue *f = &s->g->prologue;
  const tg_gemm_tiling *t = s->t;
  bool west = side == TG_SIDE_WEST;
  double inputs = 0, scalars = 0;
  uint32_t input_loads = 0, scalar_loads = (uint32_t)tg_gemm_prologue_scalars(s->g),
           tiles =
               west ? tg_west_egress(s->m, t->prologue_inputs) : tg_north_egress(s->m, t->prologue_inputs, 1);
  for (int i = 0; i < f->input_count; i++) {
    bool scalar = tg_gemm_prologue_is_scalar(s->g, i);
    input_loads += !scalar;
    if (f->inputs[i].lane) continue;
    double z = tg_value_bytes_each(f->inputs[i].name.value), take = tg_prologue_input_take(s->g, t, i);
    *(scalar ? &scalars : &inputs) += port_cycles(s, t->kc, take * z, s->g->n * (int64_t)z, z);
  }
  tg_stage stage = {.kind = TG_STAGE_PROLOGUE_INPUTS,
                    .context = TG_CTX_AUX,
                    .rate = TG_RATE_STEP,
                    .nest = TG_NEST_ROUNDS,
                    .cycles = inputs / t->producers,
                    .in_front = inputs / t->producers},
           of_scalars = stage;
  tg_stage_join(&stage, join_of_ends(TG_ROLE_PROLOGUE_INPUTS));
  add_load(s, stage, side, (share){input_loads * tiles, tiles});
  if (!west) return;
  of_scalars.kind = TG_STAGE_PROLOGUE_SCALARS;
  of_scalars.context = TG_CTX_PROLOGUE;
  of_scalars.cycles = of_scalars.in_front = scalars / t->producers;
  tg_stage_join(&of_scalars, join_of_ends(TG_ROLE_SCALARS));
  add_load(s, of_scalars, side, (share){scalar_loads, 1});
}

/* What others read of a chunk of a prologue's result, which leaves beside the loads. */
static void add_prologue_store(const list *s, tg_seat side) {
  const tg_gemm_tiling *t = s->t;
  double z = tg_value_bytes_each(s->g->prologue.result), out;
  uint32_t tiles = side == TG_SIDE_WEST ? tg_west_egress(s->m, t->prologue_egress)
                                        : tg_north_egress(s->m, t->prologue_egress, 1);
  if (t->producers)
    out = port_cycles(s, t->kc, t->nt * z, s->g->n * (int64_t)z, z) / t->producers;
  else
    out = port_cycles(s, t->mt / t->alike, t->kc * z, s->g->k * (int64_t)z, z);
  tg_stage stage = {.kind = TG_STAGE_PROLOGUE_STORE,
                    .context = TG_CTX_PROLOGUE,
                    .rate = TG_RATE_STEP,
                    .nest = TG_NEST_OWN,
                    .cycles = out,
                    .in_front = out};
  tg_stage_join(&stage, (tg_join){.channel = TG_ROLE_PROLOGUE_AWAY});
  add_load(s, stage, side, (share){tiles, tiles});
}

/* ---- the drain ---- */

/* Behind a prologue of A every other tile's results are stored by the context that has nothing to load. */
static bool stores_together(const list *s) { return s->g->prologue.result && !s->g->prologue.of_b; }

static void add_results(const list *s, tg_seat side) {
  const tg_params *m = s->m;
  const tg_gemm *g = s->g;
  const tg_gemm_tiling *t = s->t;
  uint32_t group = t->ring ? 1 : t->members;
  bool west = side == TG_SIDE_WEST;
  double out = 0;
  for (int k = 0; k < g->outs; k++) {
    double z = tg_value_bytes_each(g->out[k]);
    if (tg_gemm_stores_runs(m, g, t, k))
      out += whole_runs(s, 1, (double)t->mt * (double)g->n * z);
    else if (g->n <= t->nt)
      out += whole_runs(s, tg_gemm_block_results(t), (double)g->n * z);
    else
      out += port_cycles(s, tg_gemm_block_results(t), t->nt * z, g->out_stride[2] * (int64_t)z, z);
  }
  if (t->ring) out /= t->members; /* of the block, so much is a tile's */
  uint32_t tiles = west ? tg_west_egress(m, t->egress) : tg_north_egress(m, t->egress, group);
  tg_stage stage = {.kind = TG_STAGE_RESULTS,
                    .context = TG_CTX_STORE,
                    .rate = TG_RATE_STEP,
                    .nest = TG_NEST_OWN,
                    .drains = true,
                    .cycles = out};
  uint32_t sums = west ? tg_west_egress(m, t->column_sums_egress)
                       : tg_north_egress(m, t->column_sums_egress, group),
           stores = (uint32_t)g->outs * tiles;
  if (stores_together(s)) stores = (stores + (uint32_t)g->column_sums.count * sums + 1) / 2 + 1;
  add_load(s, stage, side, (share){stores, tiles});
  if (stores_together(s)) {
    tg_stage other = {.kind = TG_STAGE_RESULTS, .context = TG_CTX_AUX, .nest = TG_NEST_OWN, .drains = true};
    add_load(s, other, side, (share){stores, 0});
  }
  if (!g->column_sums.count) return;
  double rows = (double)t->mt / (double)g->column_sums.block, z = 4;
  stage.kind = TG_STAGE_COLUMN_SUMS;
  stage.context = TG_CTX_COLUMN_SUMS;
  stage.rate = TG_RATE_PASS;
  stage.cycles = g->column_sums.count * port_cycles(s, rows, t->nt * z, g->n * (int64_t)z, z);
  add_load(s, stage, side, (share){(uint32_t)g->column_sums.count * sums, sums});
}

/* Operands of the epilogue: row vectors, blocks, and scalars of rows that tiles side by side share. */
typedef struct operands {
  double vectors, blocks, shared;
  uint32_t vector_count, block_count, shared_count;
} operands;

static operands operands_of(const list *s) {
  const tg_gemm *g = s->g;
  const tg_gemm_tiling *t = s->t;
  operands sum = {0};
  for (int e = 0; e < g->epilogue_operand_count; e++) {
    const tg_epilogue_operand *x = &g->epilogue_operands[e];
    double z = tg_value_bytes_each(x->access.name.value),
           bytes = (double)tg_epilogue_operand_take(x, t->nt) * z;
    int64_t stride = x->stride[2] * (int64_t)tg_value_bytes_each(x->access.name.value);
    if (x->element_stride > 1) bytes *= (double)TG_ATOM_BYTES / z; /* an atom an element */
    if (tg_gemm_loads_once(t, x)) {
      sum.vectors += port_cycles(s, 1, bytes, 0, z) * (t->split == TG_SPLIT_COLUMNS ? s->m->rows : 1);
      sum.vector_count++;
    } else if (tg_gemm_shares_scalars(t, x)) {
      sum.shared += port_cycles(s, t->mt, bytes, stride, z);
      sum.shared_count++;
    } else {
      sum.blocks += port_cycles(s, t->mt, bytes, stride, z);
      sum.block_count++;
    }
  }
  if (tg_gemm_has_resident_vectors(g, t)) sum.vectors /= tg_gemm_row_blocks(t);
  if (t->ring) sum.blocks /= t->members, sum.shared /= t->members;
  return sum;
}

static void add_vectors(const list *s, const operands *x) {
  const tg_gemm_tiling *t = s->t;
  bool makes_a = s->g->prologue.result && !s->g->prologue.of_b;
  uint32_t apart = t->split == TG_SPLIT_COLUMNS ? s->m->rows : t->split == TG_SPLIT_OUTPUT ? t->alike : 1;
  tg_stage stage = {.kind = TG_STAGE_VECTORS,
                    .context = makes_a ? TG_CTX_LOAD : TG_CTX_AUX,
                    .rate = tg_gemm_has_resident_vectors(s->g, t) ? TG_RATE_ONCE : TG_RATE_PASS,
                    .nest = makes_a ? TG_NEST_CHUNKS : TG_NEST_PIECES,
                    .drains = true,
                    .cycles = x->vectors};
  tg_join join = join_of_ends(TG_ROLE_OPERANDS_ONCE);
  if (stage.rate == TG_RATE_ONCE) join.waits = TG_OF_NONE; /* there is room for them */
  tg_stage_join(&stage, join);
  add_load(s, stage, TG_SIDE_NORTH, (share){x->vector_count * apart, 1});
}

/* To the rows of tiles that finish: half of them from the west, or all. */
static void add_blocks(const list *s, const operands *x, tg_seat side) {
  const tg_params *m = s->m;
  const tg_gemm_tiling *t = s->t;
  uint32_t finishing = m->rows / (t->ring ? 1 : t->members), half = (m->rows + 1) / 2;
  tg_stage stage = {.kind = TG_STAGE_BLOCKS,
                    .context = TG_CTX_AUX,
                    .rate = TG_RATE_STEP,
                    .nest = TG_NEST_PIECES,
                    .drains = true};
  tg_stage_join(&stage, join_of_ends(TG_ROLE_OPERANDS));
  if (side == TG_SIDE_WEST) {
    uint32_t tiles = t->epilogue_operands_west ? m->cols : (m->cols + 1) / 2;
    stage.cycles = tiles * x->blocks + x->shared;
    add_load(s, stage, side, (share){x->block_count * tiles + x->shared_count, 1});
  } else if (!t->epilogue_operands_west) {
    stage.cycles = (finishing + 1) / 2 * (x->blocks + x->shared);
    add_load(s, stage, side,
             (share){(x->block_count + x->shared_count) * (uint32_t)tg_min(finishing, half), 1});
  }
}

/* In the order of each queue. */
void tg_gemm_list_stages(const tg_params *m, const tg_gemm *g, const tg_gemm_tiling *t, tg_stages *out) {
  list s = {m, g, t, out};
  operands x = operands_of(&s);
  bool prologue = g->prologue.result, makes_a = prologue && !g->prologue.of_b;
  out->count = 0;
  if (prologue) add_prologue_vectors(&s);
  if (makes_a) add_vectors(&s, &x);
  for (tg_seat side = TG_SIDE_WEST; side < TG_SIDES; side++) {
    add_operands(&s, side);
    if (t->producers) add_prologue_inputs(&s, side);
    if (g->prologue.stored) add_prologue_store(&s, side);
    add_results(&s, side);
    if (side == TG_SIDE_NORTH && !makes_a) add_vectors(&s, &x);
    add_blocks(&s, &x, side);
  }
  tg_gemm_list_units(m, g, t, out);
}
