/* A product as stages: which loads and stores its AGCUs have, in the order of their queues, and how long they take
 * the ports. A and B: stages_operands.c. */
#include "frontend/base/math.h"
#include "mapper/gemm/layout.h"
#include "mapper/gemm/prologue.h"
#include "mapper/gemm/stages_list.h"

/* ---- prologues ---- */

/* What several LOADs fill together. */
static tg_join join_of_ends(tg_gemm_role role) {
  return (tg_join){.channel = (uint8_t)role, .fills = true, .waits = TG_OF_ENDS, .posts = TG_OF_ENDS};
}

static void add_prologue_vectors(const tg_stages_list *s) {
  uint32_t apart = s->g->prologue.of_b ? s->t->alike : 1;
  tg_stage vectors = {.kind = TG_STAGE_PROLOGUE_VECTORS, .context = TG_CTX_LOAD, .rate = TG_RATE_ONCE};
  tg_stage_join(&vectors, join_of_ends(TG_ROLE_PROLOGUE_VECTORS));
  tg_stages_add_load(s, vectors, TG_SIDE_NORTH,
                     (tg_side_share){(uint32_t)s->g->prologue.vector_count * apart, 0});
}

/* What a cooperative prologue reads of a chunk: each tile makes one of as many as there are producers. */
static void add_prologue_inputs(const tg_stages_list *s, tg_seat side) {
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
    *(scalar ? &scalars : &inputs) += tg_port_cycles(s, t->kc, take * z, s->g->n * (int64_t)z, z);
  }
  tg_stage stage = {.kind = TG_STAGE_PROLOGUE_INPUTS,
                    .context = TG_CTX_AUX,
                    .rate = TG_RATE_STEP,
                    .nest = TG_NEST_ROUNDS,
                    .cycles = inputs / t->producers,
                    .in_front = inputs / t->producers},
           of_scalars = stage;
  tg_stage_join(&stage, join_of_ends(TG_ROLE_PROLOGUE_INPUTS));
  tg_stages_add_load(s, stage, side, (tg_side_share){input_loads * tiles, tiles});
  if (!west) return;
  of_scalars.kind = TG_STAGE_PROLOGUE_SCALARS;
  of_scalars.context = TG_CTX_PROLOGUE;
  of_scalars.cycles = of_scalars.in_front = scalars / t->producers;
  tg_stage_join(&of_scalars, join_of_ends(TG_ROLE_SCALARS));
  tg_stages_add_load(s, of_scalars, side, (tg_side_share){scalar_loads, 1});
}

/* What others read of a chunk of a prologue's result, which leaves beside the loads. */
static void add_prologue_store(const tg_stages_list *s, tg_seat side) {
  const tg_gemm_tiling *t = s->t;
  double z = tg_value_bytes_each(s->g->prologue.result), out;
  uint32_t tiles = side == TG_SIDE_WEST ? tg_west_egress(s->m, t->prologue_egress)
                                        : tg_north_egress(s->m, t->prologue_egress, 1);
  if (t->producers)
    out = tg_port_cycles(s, t->kc, t->nt * z, s->g->n * (int64_t)z, z) / t->producers;
  else
    out = tg_port_cycles(s, t->mt / t->alike, t->kc * z, s->g->k * (int64_t)z, z);
  tg_stage stage = {.kind = TG_STAGE_PROLOGUE_STORE,
                    .context = TG_CTX_PROLOGUE,
                    .rate = TG_RATE_STEP,
                    .nest = TG_NEST_OWN,
                    .cycles = out,
                    .in_front = out};
  tg_stage_join(&stage, (tg_join){.channel = TG_ROLE_PROLOGUE_AWAY});
  tg_stages_add_load(s, stage, side, (tg_side_share){tiles, tiles});
}

/* ---- the drain ---- */

/* Of so many tiles those that have work, where there are fewer products than have tiles of their own. */
static double working_tiles(const tg_stages_list *s, uint32_t tiles) {
  const tg_gemm_tiling *t = s->t;
  int64_t room = t->split == TG_SPLIT_PRODUCTS ? tg_tiles(s->m) : s->m->rows / t->alike;
  return s->g->spread ? (double)tg_div_up(tiles * tg_min(s->g->spread, room), room) : tiles;
}

static void add_results(const tg_stages_list *s, tg_seat side) {
  const tg_params *m = s->m;
  const tg_gemm *g = s->g;
  const tg_gemm_tiling *t = s->t;
  uint32_t group = t->ring ? 1 : t->members;
  bool west = side == TG_SIDE_WEST;
  double out = 0;
  for (int k = 0; k < g->outs; k++) {
    double z = tg_value_bytes_each(g->out[k]);
    if (tg_gemm_walks_groups(m, g, t)) { /* a flit or more for each group of a row */
      double groups = (double)t->nt / (double)g->run, rows = tg_gemm_block_results(t);
      out += tg_max_double(rows * groups * tg_kind_flits(m, g->out_kind[k], (uint32_t)g->run_own),
                           tg_port_whole_runs(s, rows, groups * (double)g->run_own * z));
    } else if (tg_gemm_stores_runs(m, g, t, k))
      out += tg_port_whole_runs(s, 1, (double)t->mt * (double)g->n * z);
    else if (g->n <= tg_gemm_own_columns(t))
      out += tg_port_whole_runs(s, tg_gemm_block_results(t), (double)g->n * z);
    else
      out += tg_port_cycles(s, tg_gemm_block_results(t), tg_gemm_own_columns(t) * z,
                            g->out_stride[2] * (int64_t)z, z);
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
  if (tg_gemm_stores_together(g)) stores = (stores + (uint32_t)g->column_sums.count * sums + 1) / 2 + 1;
  tg_stages_add_load(s, stage, side, (tg_side_share){stores, working_tiles(s, tiles)});
  if (tg_gemm_stores_together(g)) {
    tg_stage other = {.kind = TG_STAGE_RESULTS, .context = TG_CTX_AUX, .nest = TG_NEST_OWN, .drains = true};
    tg_stages_add_load(s, other, side, (tg_side_share){stores, 0});
  }
  if (!g->column_sums.count) return;
  double rows = (double)t->mt / (double)g->column_sums.block, z = 4;
  stage.kind = TG_STAGE_COLUMN_SUMS;
  stage.context = TG_CTX_COLUMN_SUMS;
  stage.rate = TG_RATE_PASS;
  stage.cycles = g->column_sums.count * tg_port_cycles(s, rows, t->nt * z, g->n * (int64_t)z, z);
  tg_stages_add_load(s, stage, side, (tg_side_share){(uint32_t)g->column_sums.count * sums, sums});
}

/* Operands of the epilogue: row vectors, blocks, and scalars of rows that tiles side by side share. */
typedef struct operands {
  double vectors, blocks, shared;
  uint32_t vector_count, block_count, shared_count;
} operands;

static operands operands_of(const tg_stages_list *s) {
  const tg_gemm *g = s->g;
  const tg_gemm_tiling *t = s->t;
  operands sum = {0};
  for (int e = 0; e < g->epilogue_operand_count; e++) {
    const tg_epilogue_operand *x = &g->epilogue_operands[e];
    double z = tg_value_bytes_each(x->access.name.value),
           bytes = (double)tg_epilogue_operand_take(x, tg_gemm_own_columns(t)) * z;
    int64_t stride = x->stride[2] * (int64_t)tg_value_bytes_each(x->access.name.value);
    if (x->element_stride > 1) bytes *= (double)TG_ATOM_BYTES / z; /* an atom an element */
    if (tg_gemm_loads_once(t, x)) {
      sum.vectors += tg_port_cycles(s, 1, bytes, 0, z) * (t->split == TG_SPLIT_COLUMNS ? s->m->rows : 1);
      sum.vector_count++;
    } else if (tg_gemm_shares_scalars(t, x)) {
      sum.shared += tg_port_cycles(s, t->mt, bytes, stride, z);
      sum.shared_count++;
    } else {
      sum.blocks += tg_port_cycles(s, t->mt, bytes, stride, z);
      sum.block_count++;
    }
  }
  if (tg_gemm_has_resident_vectors(g, t)) sum.vectors /= tg_gemm_row_blocks(t);
  if (t->ring) sum.blocks /= t->members, sum.shared /= t->members;
  return sum;
}

static void add_vectors(const tg_stages_list *s, const operands *x) {
  const tg_gemm_tiling *t = s->t;
  bool makes_a = s->g->prologue.result && !s->g->prologue.of_b;
  bool alike = t->split == TG_SPLIT_OUTPUT || t->split == TG_SPLIT_PRODUCT_ROWS;
  uint32_t apart = t->split == TG_SPLIT_COLUMNS ? s->m->rows : alike ? t->alike : 1;
  tg_stage stage = {.kind = TG_STAGE_VECTORS,
                    .context = makes_a ? TG_CTX_LOAD : TG_CTX_AUX,
                    .rate = tg_gemm_has_resident_vectors(s->g, t) ? TG_RATE_ONCE : TG_RATE_PASS,
                    .nest = makes_a ? TG_NEST_CHUNKS : TG_NEST_DRAIN_TILES,
                    .drains = true,
                    .cycles = x->vectors};
  tg_join join = join_of_ends(TG_ROLE_OPERANDS_ONCE);
  if (stage.rate == TG_RATE_ONCE) join.waits = TG_OF_NONE; /* there is room for them */
  tg_stage_join(&stage, join);
  tg_stages_add_load(s, stage, TG_SIDE_NORTH, (tg_side_share){x->vector_count * apart, 1});
}

/* To the rows of tiles that finish: half of them from the west, or all. */
static void add_blocks(const tg_stages_list *s, const operands *x, tg_seat side) {
  const tg_params *m = s->m;
  const tg_gemm_tiling *t = s->t;
  uint32_t finishing = m->rows / (t->ring ? 1 : t->members), half = (m->rows + 1) / 2;
  tg_stage stage = {.kind = TG_STAGE_BLOCKS,
                    .context = TG_CTX_AUX,
                    .rate = TG_RATE_STEP,
                    .nest = TG_NEST_DRAIN_TILES,
                    .drains = true};
  tg_stage_join(&stage, join_of_ends(TG_ROLE_OPERANDS));
  if (side == TG_SIDE_WEST) {
    uint32_t tiles = t->epilogue_operands_west ? m->cols : (m->cols + 1) / 2;
    stage.cycles = tiles * x->blocks + x->shared;
    tg_stages_add_load(s, stage, side, (tg_side_share){x->block_count * tiles + x->shared_count, 1});
  } else if (!t->epilogue_operands_west) {
    stage.cycles = (finishing + 1) / 2 * (x->blocks + x->shared);
    tg_stages_add_load(
        s, stage, side,
        (tg_side_share){(x->block_count + x->shared_count) * (uint32_t)tg_min(finishing, half), 1});
  }
}

/* In the order of each queue. */
void tg_gemm_list_stages(const tg_params *m, const tg_gemm *g, const tg_gemm_tiling *t, tg_stages *out) {
  tg_stages_list s = {m, g, t, out};
  operands x = operands_of(&s);
  bool prologue = g->prologue.result, makes_a = prologue && !g->prologue.of_b;
  out->count = 0;
  if (prologue) add_prologue_vectors(&s);
  if (makes_a) add_vectors(&s, &x);
  for (tg_seat side = TG_SIDE_WEST; side < TG_SIDES; side++) {
    tg_stages_add_operands(&s, side);
    if (g->second) tg_stages_add_second_operands(&s, side);
    if (t->producers) add_prologue_inputs(&s, side);
    if (g->prologue.stored) add_prologue_store(&s, side);
    add_results(&s, side);
    if (side == TG_SIDE_NORTH && !makes_a) add_vectors(&s, &x);
    add_blocks(&s, &x, side);
  }
  tg_gemm_list_units(m, g, t, out);
}
