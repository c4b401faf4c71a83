/* Loads of attention by blocks: queries and operands of each tile, chunks of keys and values of its group. */
#include "mapper/attention/blocked_emission.h"
#include "mapper/gemm/layout.h"

typedef tg_blocked_emission emission;

/* Of the LOADs of a stage that come together, the first one asks, and the last one tells. */
static void meet(const emission *e, const tg_stage *stage, tg_instr *load, bool first, bool last) {
  const tg_joint at = {.kernel = &e->results, .in = load, .first = first, .last = last};
  tg_stage_meet(stage, e->channels, TG_ALL_CHANNELS, &at);
}

static void load_queries(emission *e, const tg_stage *stage, tg_queue *queue, bool west, uint32_t r,
                         uint32_t col) {
  const tg_blocked *a = e->a;
  tg_gemm_tiling t = tg_blocked_scores(a);
  int64_t take = tg_gemm_taken(e->b.m, &a->scores, a->scores.k, tg_gemm_a_row(e->b.m, &a->scores, &t));
  tg_instr *in = tg_attention_push_own_load(&e->b, &a->grid, queue, west, r, col, &e->q, false, take,
                                            a->scores.a_convert);
  meet(e, stage, in, true, true);
}

/* Chunk after chunk of all blocks of keys, which are rows of the matrix, or columns. */
static void load_chunks(emission *e, const tg_stage *stage, tg_queue *queue, bool west, uint32_t r,
                        uint32_t col, const tg_attention_input *from, const tg_gemm *g,
                        const tg_gemm_tiling *t, bool by_keys) {
  const tg_blocked *a = e->a;
  uint32_t tiles = tg_grid_sharing(e->b.m, &a->grid);
  int64_t rows = from == &e->v && g->b_transposed ? t->nt : from->at->rows;
  tg_instr *in = tg_attention_push_load(&e->b, &e->a->grid, queue, west, r, col, tiles, from,
                                        by_keys ? (int64_t)a->block * a->blocks : rows);
  tg_agcu_instr *load = &in->agcu;
  if (by_keys) {
    load->rows = load->m_delta[2] = tg_blocked_chunk(a);
    load->take = tg_gemm_taken(e->b.m, g, from->at->columns, tg_gemm_b_row(e->b.m, g, t));
  } else {
    load->take = load->k_delta[2] = tg_blocked_chunk(a);
  }
  load->convert = g->b_convert;
  meet(e, stage, in, true, true);
}

static void load_operands(emission *e, const tg_stage *stage, tg_queue *queue, bool west, uint32_t r,
                          uint32_t col) {
  const tg_blocked *a = e->a;
  for (int x = 0; x < a->operand_count; x++) {
    int kind = a->operand_kind[x];
    tg_instr *in = tg_attention_push_own_load(
        &e->b, &a->grid, queue, west, r, col, &e->operand[x], a->operand[x].rows == 1,
        tg_blocked_operand_take(a, x), tg_stream_convert(tg_place_of(e->c, a->operand[x].value), kind));
    if (kind != TG_STREAM_SPLAT32) in->agcu.k_delta[2] = a->block;
    meet(e, stage, in, !x, x + 1 == a->operand_count);
  }
}

/* Of the tiles of a row, or of a column, one after the other. */
void tg_blocked_emit_loads(emission *e, const tg_stage *stage, tg_queue *queue, tg_turn at) {
  const tg_params *m = e->b.m;
  const tg_blocked *a = e->a;
  uint32_t tiles = tg_grid_sharing(m, &a->grid);
  bool west = stage->seat == TG_SIDE_WEST;
  tg_gemm_tiling scores = tg_blocked_scores(a), context = tg_blocked_context(m, a);
  for (uint32_t i = 0; i < (west ? m->cols : m->rows); i++) {
    uint32_t r = west ? at.r : i, col = west ? i : at.col;
    bool own = tg_grid_own_from_west(&e->a->grid, r, col) == west,
         shared = col % tiles == 0 && tg_grid_shared_from_west(&e->a->grid, r, col) == west;
    if (stage->kind == TG_BLOCKED_LOAD_QUERIES && own) load_queries(e, stage, queue, west, r, col);
    if (stage->kind == TG_BLOCKED_LOAD_OPERANDS && own) load_operands(e, stage, queue, west, r, col);
    if (stage->kind == TG_BLOCKED_LOAD_KEYS && shared)
      load_chunks(e, stage, queue, west, r, col, &e->k, &a->scores, &scores, a->scores.b_transposed);
    if (stage->kind == TG_BLOCKED_LOAD_VALUES && shared)
      load_chunks(e, stage, queue, west, r, col, &e->v, &a->context, &context, !a->context.b_transposed);
  }
}
