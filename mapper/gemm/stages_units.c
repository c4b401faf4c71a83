/* A product's stages in the units of its tiles: mx multiplies, vx makes chunks of a prologue, sums partial products and
 * drains blocks, tx sends. What each empties and fills, and its cycles. */
#include "frontend/base/math.h"
#include "mapper/gemm/layout.h"
#include "mapper/gemm/prologue.h"
#include "mapper/gemm/stages_list.h"

static bool makes_a(const tg_stages_list *s) { return s->g->prologue.result && !s->g->prologue.of_b; }
/* Loops over parts of K hold loops over their chunks. */
static bool is_nested(const tg_gemm_tiling *t) {
  return t->parts > 1 && t->chunks > 1 && !tg_gemm_unrolls(t);
}

/* ---- mx ---- */

/* Its chunks, each of which has an instruction of its own, or is one in a loop. */
static uint32_t multiplications(const tg_stages_list *s) {
  const tg_gemm_tiling *t = s->t;
  uint32_t each = tg_gemm_parts_columns(s->m, s->g, t) ? 2 : 1;
  if (t->producers) return t->producers;
  if (tg_gemm_has_rows_apart(t) || tg_gemm_cuts(t) > 1) return t->chunks / tg_gemm_cuts(t) * each;
  if (tg_gemm_has_resident_chunks(t)) {
    uint32_t outer = t->resident == TG_RESIDENT_B ? t->passes_n : t->passes_m;
    return t->chunks * ((outer > 1 ? 2 : 0) + outer % 2);
  }
  if (is_nested(t)) return t->chunks > 2 ? 3 : 2;
  return tg_gemm_unrolled_chunks(t) * each;
}

/* An operand that is resident with several chunks is given back with the last one, and waited for once, or chunk by chunk as
 * it is loaded. A slab is there for all chunks of its block, and so is a patch whose kernel rows have several; a chunk for all
 * of its instructions. */
static tg_join join_of_operand(const tg_stages_list *s, tg_gemm_role role) {
  const tg_gemm_tiling *t = s->t;
  bool resident = t->resident == (role == TG_ROLE_B ? TG_RESIDENT_B : TG_RESIDENT_A);
  bool by_chunk = tg_gemm_loads_resident_chunks(s->m, s->g, t);
  bool slab = role == TG_ROLE_A && (tg_gemm_has_rows_apart(t) || tg_gemm_cuts(t) > 1);
  bool parted = tg_gemm_parts_columns(s->m, s->g, t);
  int8_t slot = role == TG_ROLE_B;
  return (tg_join){.channel = (uint8_t)role,
                   .once = resident || (role == TG_ROLE_A && t->patch),
                   .waits = slab || parted || (resident && !by_chunk) ? TG_OF_ENDS : TG_OF_EACH,
                   .posts = slab || parted || resident ? TG_OF_ENDS : TG_OF_EACH,
                   .wait = slot,
                   .post = slot};
}

/* Every part of K begins with a free half of the accumulator and ends with a full one. */
static void add_multiply(const tg_stages_list *s) {
  const tg_gemm_tiling *t = s->t;
  bool nested = is_nested(t),
       rows =
           tg_gemm_has_rows_apart(t) || tg_gemm_cuts(t) > 1, /* kernel rows have instructions of their own */
      ends_chain = (t->parts > 1 && !nested) || t->resident; /* with every execution */
  tg_stage stage = {.kind = TG_STAGE_MULTIPLY,
                    .seat = TG_UNIT_MX,
                    .rate = nested || rows ? TG_RATE_PASS : TG_RATE_STEP,
                    .nest = t->producers                                            ? TG_NEST_ROUNDS
                            : tg_gemm_has_resident_chunks(t) || tg_gemm_cuts(t) > 1 ? TG_NEST_OWN
                                                                                    : TG_NEST_CHUNKS,
                    .slots = multiplications(s),
                    .cycles = tg_gemm_multiply_cycles(s->m, s->g, t)};
  tg_stage_join(&stage, join_of_operand(s, TG_ROLE_A));
  if (!t->whole_b) tg_stage_join(&stage, join_of_operand(s, TG_ROLE_B));
  tg_stage_join(&stage, (tg_join){.channel = TG_ROLE_ACCUMULATOR,
                                  .fills = true,
                                  .once = !ends_chain,
                                  .waits = TG_OF_ENDS,
                                  .posts = TG_OF_ENDS,
                                  .wait = 2,
                                  .post = 2});
  if (tg_gemm_a_both_ways(s->m, s->g, t))
    tg_stage_join(
        &stage,
        (tg_join){.channel = TG_ROLE_A_NORTH, .once = t->resident == TG_RESIDENT_A, .wait = 3, .post = 3});
  tg_stages_add(s->out, &stage);
}

/* It is there once for all. */
static void add_whole_b(const tg_stages_list *s) {
  if (!s->t->whole_b || s->t->kept) return;
  tg_stage wait = {.kind = TG_STAGE_WHOLE_B, .seat = TG_UNIT_MX, .nest = TG_NEST_CHUNKS, .slots = 1};
  tg_stage_join(&wait, (tg_join){.channel = TG_ROLE_B, .posts = TG_OF_NONE});
  tg_stages_add(s->out, &wait);
}

/* ---- vx ---- */

static bool has_vectors(const tg_stages_list *s) {
  for (int x = 0; x < s->g->epilogue_operand_count; x++)
    if (tg_gemm_loads_once(s->t, &s->g->epilogue_operands[x])) return true;
  return false;
}
static bool has_blocks(const tg_stages_list *s) {
  for (int x = 0; x < s->g->epilogue_operand_count; x++)
    if (!tg_gemm_loads_once(s->t, &s->g->epilogue_operands[x])) return true;
  return tg_gemm_pool_marks(s->g, s->t) > 0;
}

/* Vectors that stay are waited for once, by a SYNC. */
static void add_ready(const tg_stages_list *s) {
  bool prologue = s->g->prologue.vector_count > 0,
       own = has_vectors(s) && tg_gemm_has_resident_vectors(s->g, s->t);
  tg_stage stage = {.kind = TG_STAGE_VECTORS,
                    .seat = TG_UNIT_VX,
                    .nest = makes_a(s) ? TG_NEST_OWN : TG_NEST_BLOCKS,
                    .rate = s->t->producers ? TG_RATE_PASS : TG_RATE_ONCE,
                    .slots = prologue || own || makes_a(s)};
  if (prologue) tg_stage_join(&stage, (tg_join){.channel = TG_ROLE_PROLOGUE_VECTORS, .posts = TG_OF_NONE});
  if (own)
    tg_stage_join(&stage,
                  (tg_join){.channel = TG_ROLE_OPERANDS_ONCE, .posts = TG_OF_NONE, .wait = makes_a(s)});
  tg_stages_add(s->out, &stage);
}

/* Chunks of A, or of B, by its prologue. */
static void add_prologue(const tg_stages_list *s) {
  bool of_b = s->t->producers > 0;
  tg_stage stage = {.kind = TG_STAGE_PROLOGUE,
                    .seat = TG_UNIT_VX,
                    .nest = of_b ? TG_NEST_BLOCKS : TG_NEST_OWN,
                    .rate = TG_RATE_PASS,
                    .slots = of_b ? 1 : 2,
                    .cycles = tg_gemm_prologue_cycles(s->m, s->g, s->t)};
  tg_stage_join(&stage, (tg_join){.channel = TG_ROLE_PROLOGUE_INPUTS});
  tg_stage_join(&stage,
                (tg_join){.channel = of_b ? TG_ROLE_MADE : TG_ROLE_A, .fills = true, .wait = 1, .post = 1});
  if (s->g->prologue.stored)
    tg_stage_join(&stage, (tg_join){.channel = TG_ROLE_PROLOGUE_OUTPUT, .fills = true, .wait = 2, .post = 2});
  if (of_b && tg_gemm_prologue_scalars(s->g))
    tg_stage_join(&stage, (tg_join){.channel = TG_ROLE_SCALARS, .wait = 3, .post = 3});
  tg_stages_add(s->out, &stage);
}

/* What a VOP that sums, or drains, has to do with: the accumulator; where its sum or results go; sums so far. Which of
 * them, depends on the member and the part. */
static void join_sums(const tg_stages_list *s, tg_stage *stage, bool several) {
  tg_stage_join(stage, (tg_join){.channel = TG_ROLE_ACCUMULATOR,
                                 .once = several,
                                 .waits = TG_OF_ENDS,
                                 .posts = TG_OF_NONE,
                                 .wait = TG_NEXT_SLOT});
  tg_stage_join(stage,
                (tg_join){.channel = TG_ROLE_OUT, .fills = true, .wait = TG_NEXT_SLOT, .post = TG_NEXT_SLOT});
  if (s->t->members > 1)
    tg_stage_join(stage, (tg_join){.channel = TG_ROLE_SENT,
                                   .fills = true,
                                   .once = true,
                                   .wait = TG_NEXT_SLOT,
                                   .post = TG_NEXT_SLOT});
  tg_stage_join(stage, (tg_join){.channel = TG_ROLE_ACCUMULATOR,
                                 .once = several,
                                 .waits = TG_OF_NONE,
                                 .posts = TG_OF_ENDS,
                                 .post = TG_NEXT_SLOT});
  if (s->t->members == 1) return;
  tg_stage_join(stage, (tg_join){.channel = TG_ROLE_RECEIVED, .wait = TG_NEXT_SLOT, .post = TG_NEXT_SLOT});
  tg_stage_join(stage,
                (tg_join){.channel = TG_ROLE_SUMS, .once = true, .wait = TG_NEXT_SLOT, .posts = TG_OF_NONE});
}

/* Operands of the epilogue: in slots of their own, or the next ones. */
static void join_operands(const tg_stages_list *s, tg_stage *stage, bool in_slots) {
  bool vectors =
      has_vectors(s) && !tg_gemm_has_resident_vectors(s->g, s->t); /* else they are there from the start */
  int8_t first = in_slots ? 2 : TG_NEXT_SLOT, second = in_slots ? 3 : TG_NEXT_SLOT;
  uint8_t share = in_slots ? TG_OF_ENDS : TG_OF_EACH;
  if (vectors)
    tg_stage_join(stage, (tg_join){.channel = TG_ROLE_OPERANDS_ONCE,
                                   .once = true,
                                   .waits = share,
                                   .posts = share,
                                   .wait = first,
                                   .post = first});
  share = s->t->ring ? TG_OF_ENDS : TG_OF_EACH;
  if (has_blocks(s))
    tg_stage_join(
        stage,
        (tg_join){
            .channel = TG_ROLE_OPERANDS, .waits = share, .posts = share, .wait = second, .post = second});
}

/* The parts of K before the last one, and the rounding, or transposition, of a whole sum: instructions of each. */
static uint32_t sums(const tg_stages_list *s) {
  uint32_t rounded = s->g->sum_kind == TG_STREAM_BF16SR;
  uint32_t transposed = s->t->swapped ? 1 + (s->g->second != NULL) : 0;
  return (s->t->parts > 2 ? 2 : s->t->parts - 1) + rounded + transposed + (s->t->pool_rows > 0);
}

static void add_sums(const tg_stages_list *s) {
  const tg_gemm_tiling *t = s->t;
  tg_stage stage = {.kind = TG_STAGE_SUMS,
                    .seat = TG_UNIT_VX,
                    .nest = TG_NEST_BLOCKS,
                    .rate = t->pool_rows ? TG_RATE_ROUND : TG_RATE_PASS,
                    .slots = sums(s),
                    .cycles = (double)t->mt * (t->nt / tg_lanes(s->m)) * s->g->drain_words[TG_DRAIN_ADD]};
  join_sums(s, &stage, t->members > 1);
  if (t->pool_rows) join_operands(s, &stage, false);
  tg_stages_add(s->out, &stage);
}

/* Columns beside the image are written once: the VOPs that go down windows leave them alone. */
static void add_edges(const tg_stages_list *s) {
  tg_stage stage = {.kind = TG_STAGE_EDGES,
                    .seat = TG_UNIT_VX,
                    .nest = TG_NEST_BLOCKS,
                    .rate = TG_RATE_ONCE,
                    .slots = s->t->pool_rows && s->g->pool.leaves[1]};
  tg_stages_add(s->out, &stage);
}

/* Of a ring of members: steps of a sum, and drain tiles of what a member finishes. */
static void add_ring(const tg_stages_list *s) {
  const tg_gemm_tiling *t = s->t;
  uint32_t run = 2 * (t->ring_drain_tiles + 1);
  tg_stage add = {.kind = TG_STAGE_SUMS, .seat = TG_UNIT_VX, .nest = TG_NEST_OWN, .slots = 2};
  tg_stage_join(
      &add, (tg_join){.channel = TG_ROLE_SENT, .fills = true, .wait = TG_NEXT_SLOT, .post = TG_NEXT_SLOT});
  tg_stage_join(&add, (tg_join){.channel = TG_ROLE_ACCUMULATOR,
                                .once = true,
                                .waits = TG_OF_ENDS,
                                .posts = TG_OF_ENDS,
                                .wait = TG_NEXT_SLOT,
                                .post = TG_NEXT_SLOT});
  tg_stage_join(&add, (tg_join){.channel = TG_ROLE_RECEIVED, .wait = TG_NEXT_SLOT, .post = TG_NEXT_SLOT});
  tg_stages_add(s->out, &add);
  tg_stage drain = {.kind = TG_STAGE_DRAIN,
                    .seat = TG_UNIT_VX,
                    .nest = TG_NEST_OWN,
                    .slots = 4 * run,
                    .cycles = tg_gemm_ring_cycles(s->m, s->g, s->t)};
  tg_stage_join(&drain,
                (tg_join){.channel = TG_ROLE_OUT, .fills = true, .wait = TG_NEXT_SLOT, .post = TG_NEXT_SLOT});
  join_operands(s, &drain, false);
  tg_stage_join(&drain, (tg_join){.channel = TG_ROLE_WHOLE,
                                  .waits = TG_OF_ENDS,
                                  .posts = TG_OF_ENDS,
                                  .wait = TG_NEXT_SLOT,
                                  .post = TG_NEXT_SLOT});
  tg_stages_add(s->out, &drain);
}

static void join_column_sums(const tg_stages_list *s, tg_stage *stage) {
  tg_stage_join(
      stage,
      (tg_join){.channel = TG_ROLE_ACCUMULATOR, .once = true, .waits = TG_OF_ENDS, .posts = TG_OF_ENDS});
  tg_stage_join(stage, (tg_join){.channel = TG_ROLE_OUT, .fills = true, .wait = 1, .post = 1});
  if (s->g->prologue.result) /* they have a buffer of their own */
    tg_stage_join(stage,
                  (tg_join){.channel = TG_ROLE_COLUMN_SUMS, .fills = true, .posts = TG_OF_NONE, .wait = 2});
  join_operands(s, stage, true);
}

static void add_drain(const tg_stages_list *s) {
  const tg_gemm_tiling *t = s->t;
  uint32_t drain_tiles = tg_gemm_drain_tiles_of_column_sum(s->g, t) > 1 ? t->mt / t->mr : 1;
  tg_stage stage = {.kind = TG_STAGE_DRAIN,
                    .seat = TG_UNIT_VX,
                    .nest = makes_a(s) ? TG_NEST_OWN : TG_NEST_BLOCKS,
                    .rate = TG_RATE_STEP,
                    .slots = makes_a(s) ? 2 : drain_tiles,
                    .cycles = tg_gemm_drain_cycles(s->m, s->g, s->t)};
  if (s->g->column_sums.count) {
    join_column_sums(s, &stage);
  } else {
    join_sums(s, &stage, true);
    join_operands(s, &stage, false);
  }
  tg_stages_add(s->out, &stage);
}

/* ---- tx ---- */

/* Chunks of a prologue: to the other producers, and to memory. */
static void add_prologue_sends(const tg_stages_list *s) {
  const tg_gemm_tiling *t = s->t;
  bool of_b = t->producers > 0;
  tg_stage around = {
      .kind = TG_STAGE_AROUND, .seat = TG_UNIT_TX, .nest = TG_NEST_OWN, .slots = t->producers > 1 ? 2 : 0};
  tg_stage_join(&around, (tg_join){.channel = TG_ROLE_MADE, .waits = TG_OF_ENDS, .posts = TG_OF_NONE});
  tg_stage_join(&around,
                (tg_join){.channel = TG_ROLE_B, .fills = true, .waits = TG_OF_NONE, .posts = TG_OF_ENDS});
  tg_stages_add(s->out, &around);
  if (!s->g->prologue.stored) return;
  int8_t own = of_b ? 1 : 0;
  tg_stage away = {.kind = TG_STAGE_PROLOGUE_STORE,
                   .seat = TG_UNIT_TX,
                   .nest = TG_NEST_OWN,
                   .slots = of_b || tg_gemm_drains_last(t) ? 1 : 1 + tg_gemm_chunks_a_drain_tile(t)};
  tg_stage_join(&away, (tg_join){.channel = TG_ROLE_PROLOGUE_OUTPUT, .once = true, .wait = own, .post = own});
  tg_stage_join(
      &away,
      (tg_join){.channel = TG_ROLE_PROLOGUE_AWAY, .fills = true, .wait = (int8_t)!own, .posts = TG_OF_NONE});
  tg_stages_add(s->out, &away);
}

/* Sums of partial products: down the column, and, whole or of blocks, back. */
static void add_sum_sends(const tg_stages_list *s) {
  const tg_gemm_tiling *t = s->t;
  tg_stage down = {
      .kind = TG_STAGE_SUMS, .seat = TG_UNIT_TX, .nest = TG_NEST_OWN, .slots = t->ring ? 2 * t->members : 1};
  tg_stage_join(&down, (tg_join){.channel = t->ring ? TG_ROLE_SENT : TG_ROLE_OUT,
                                 .waits = TG_OF_ENDS,
                                 .posts = TG_OF_ENDS,
                                 .wait = TG_NEXT_SLOT,
                                 .post = TG_NEXT_SLOT});
  tg_stage_join(
      &down,
      (tg_join){.channel = TG_ROLE_RECEIVED, .fills = true, .posts = TG_OF_NONE, .wait = TG_NEXT_SLOT});
  tg_stages_add(s->out, &down);
  if (t->ring) return;
  tg_stage back = {.kind = TG_STAGE_RETURNS,
                   .seat = TG_UNIT_TX,
                   .nest = TG_NEST_OWN,
                   .slots = t->parts > 2 ? 2 : t->parts - 1};
  tg_stage_join(&back, (tg_join){.channel = TG_ROLE_SENT, .wait = TG_NEXT_SLOT, .post = TG_NEXT_SLOT});
  tg_stages_add(s->out, &back);
}

static uint32_t result_sends(const tg_stages_list *s) {
  const tg_gemm_tiling *t = s->t;
  uint32_t outs = (uint32_t)s->g->outs, column_sums = (uint32_t)s->g->column_sums.count,
           drain_tiles = t->mt / t->mr;
  if (t->ring) return 5 * outs + 2 * t->members;
  if (makes_a(s) && !tg_gemm_drains_last(t)) /* beside those of its chunks before */
    return s->g->prologue.stored ? 3 * (column_sums + 1) + 2 * tg_gemm_chunks_a_drain_tile(t) - 1
                                 : outs + column_sums;
  if (tg_gemm_drain_tiles_of_column_sum(s->g, t) == 1) return outs + column_sums;
  return outs * drain_tiles + column_sums * (drain_tiles / tg_gemm_drain_tiles_of_column_sum(s->g, t));
}

void tg_gemm_list_units(const tg_params *m, const tg_gemm *g, const tg_gemm_tiling *t, tg_stages *out) {
  tg_stages_list s = {m, g, t, out};
  if (g->second) {
    tg_stages_multiply_both(&s, add_whole_b, add_multiply);
  } else {
    add_whole_b(&s);
    add_multiply(&s);
  }
  if (!t->ring) add_ready(&s);
  add_edges(&s);
  if (g->prologue.result) add_prologue(&s);
  if (t->ring)
    add_ring(&s);
  else {
    add_sums(&s);
    add_drain(&s);
  }
  if (g->prologue.result) add_prologue_sends(&s);
  if (t->members > 1) add_sum_sends(&s);
  tg_stage results = {
      .kind = TG_STAGE_RESULTS, .seat = TG_UNIT_TX, .nest = TG_NEST_OWN, .slots = result_sends(&s)};
  tg_stages_add(out, &results);
}
