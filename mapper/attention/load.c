/* Loads of attention: queries of each tile, keys and values of its group, operands of the fused nodes. */
#include "mapper/attention/emission.h"
#include "mapper/gemm/layout.h"

typedef tg_attention_emission emission;

/* Of the LOADs of a channel that come together, the first one asks, and the last one tells. */
static void meet(const emission *e, const tg_stage *stage, tg_attention_role role, tg_instr *load, bool first,
                 bool last) {
  const tg_joint at = {.kernel = &e->results, .in = load, .first = first, .last = last};
  tg_stage_meet(stage, e->channels, UINT64_C(1) << role, &at);
}

static void load_queries(emission *e, const tg_stage *stage, tg_queue *queue, uint32_t r, uint32_t col) {
  const tg_attention *a = e->a;
  bool west = tg_grid_own_from_west(&e->a->grid, r, col);
  tg_gemm_tiling t = tg_attention_scores(a);
  int64_t take = tg_gemm_taken(e->b.m, &a->scores, a->scores.k, tg_gemm_a_row(e->b.m, &a->scores, &t));
  tg_instr *in = tg_attention_push_own_load(&e->b, &a->grid, queue, west, r, col, &e->q, false, take,
                                            a->scores.a_convert);
  meet(e, stage, TG_ROLE_QUERIES, in, true, true);
}

/* A stationary operand: its rows are columns of the product if it is transposed. */
static tg_instr *load_shared(emission *e, tg_queue *queue, uint32_t r, uint32_t col, uint32_t tiles,
                             const tg_attention_input *from, const tg_gemm *g, const tg_gemm_tiling *t) {
  bool transposed = g->b_transposed;
  tg_instr *in =
      tg_attention_push_load(&e->b, &e->a->grid, queue, tg_grid_shared_from_west(&e->a->grid, r, col), r, col,
                             tiles, from, transposed ? t->nt : from->at->rows);
  in->agcu.take = tg_gemm_taken(e->b.m, g, from->at->columns, tg_gemm_b_row(e->b.m, g, t));
  in->agcu.convert = g->b_convert;
  return in;
}

static void load_keys(emission *e, const tg_stage *stage, tg_queue *queue, uint32_t r, uint32_t col,
                      uint32_t tiles) {
  tg_gemm_tiling t = tg_attention_scores(e->a);
  tg_instr *load = load_shared(e, queue, r, col, tiles, &e->k, &e->a->scores, &t);
  meet(e, stage, TG_ROLE_KEYS, load, true, true);
}

static void load_values(emission *e, const tg_stage *stage, tg_queue *queue, uint32_t r, uint32_t col,
                        uint32_t tiles) {
  tg_gemm_tiling t = tg_attention_context(e->b.m, e->a);
  tg_instr *load = load_shared(e, queue, r, col, tiles, &e->v, &e->a->context, &t);
  meet(e, stage, TG_ROLE_VALUES, load, true, true);
}

static void load_epilogue_operands(emission *e, const tg_stage *stage, tg_queue *queue, uint32_t r,
                                   uint32_t col) {
  const tg_attention *a = e->a;
  bool west = tg_grid_own_from_west(&e->a->grid, r, col);
  for (int x = 0; x < a->scores.epilogue_operand_count; x++) {
    tg_instr *in = tg_attention_push_own_load(
        &e->b, &a->grid, queue, west, r, col, &e->epilogue_operand[x], a->epilogue_operand[x].rows == 1,
        tg_attention_epilogue_operand_take(a, x),
        tg_stream_convert(tg_place_of(e->c, a->epilogue_operand[x].value), a->epilogue_operand_kind[x]));
    meet(e, stage, TG_ROLE_SCORED_ALL, in, !x, x + 1 == a->scores.epilogue_operand_count);
  }
}

/* Of the tiles of a row, or of a column, one after the other. */
void tg_attention_emit_loads(emission *e, const tg_stage *stage, tg_queue *queue, tg_turn at) {
  const tg_params *m = e->b.m;
  uint32_t tiles = tg_grid_sharing(m, &e->a->grid);
  bool west = stage->seat == TG_SIDE_WEST;
  for (uint32_t i = 0; i < (west ? m->cols : m->rows); i++) {
    uint32_t r = west ? at.r : i, col = west ? i : at.col;
    bool own = tg_grid_own_from_west(&e->a->grid, r, col) == west,
         shared = col % tiles == 0 && tg_grid_shared_from_west(&e->a->grid, r, col) == west;
    if (stage->kind == TG_STAGE_VALUES) {
      if (shared) load_values(e, stage, queue, r, col, tiles);
      continue;
    }
    if (own) load_queries(e, stage, queue, r, col);
    if (shared) load_keys(e, stage, queue, r, col, tiles);
    if (own) load_epilogue_operands(e, stage, queue, r, col);
  }
}
