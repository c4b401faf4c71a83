/* Loads of what the nodes fused behind a product read: row vectors once, blocks with each drain tile of the results. */
#include "mapper/gemm/emission.h"
#include "mapper/gemm/layout.h"

#include <string.h>

typedef tg_gemm_emission emission;

static tg_instr *load_epilogue_operand(emission *e, tg_queue *queue, int x, uint32_t r, uint32_t col,
                                       uint32_t mask) {
  const tg_gemm *g = e->g;
  const tg_epilogue_operand *epilogue_operand = &g->epilogue_operands[x];
  bool scalar = tg_is_splat(epilogue_operand->along), once = tg_gemm_loads_once(&e->t, epilogue_operand);
  tg_instr *in = tg_gemm_push_load(e, queue, &e->operands.buffers[x], mask);
  tg_agcu_instr *load = &in->agcu;
  tg_walk_plan walk = {.tensor = tg_place_of(e->c, epilogue_operand->access.name.value),
                       .element_stride = epilogue_operand->element_stride,
                       .columns = g->n};
  tg_gemm_walk_rows(e, epilogue_operand->stride, &walk);
  tg_fill_walk(load, &walk, e->operands.base[x], e->operands.rest[x]);
  if (once && g->run_own) { /* it has no rows, whatever bounds these have */
    memset(load->x_inc, 0, sizeof load->x_inc);
    memset(load->y_inc, 0, sizeof load->y_inc);
    load->y_size = 1;
  }
  if (!scalar)
    tg_gemm_walk_runs(g, epilogue_operand->run_stride,
                      tg_value_bytes_each(epilogue_operand->access.name.value), load);
  load->rows = once || (e->t.ring && tg_is_row_vector(epilogue_operand)) ? 1 : tg_gemm_ring_rows(&e->t);
  load->take = tg_epilogue_operand_take(epilogue_operand, tg_gemm_own_columns(&e->t));
  if (e->t.own && !scalar) { /* not what is another tile's, which may store it in the same place */
    load->dst_inner = tg_kind_flits(e->b.m, epilogue_operand->kind, e->t.own);
    load->dst_stride = tg_kind_flits(e->b.m, epilogue_operand->kind, e->t.nt);
  }
  load->k_first = scalar ? 0 : tg_gemm_col_first(e, r, col);
  load->k_delta[e->n_level] = scalar ? 0 : tg_gemm_col_delta(e);
  load->convert = tg_stream_convert(walk.tensor, epilogue_operand->kind);
  if (once) return in;
  tg_gemm_begin_strip(e, r, col, load);
  tg_gemm_place place = tg_gemm_place_of(e, r, col);
  load->m_first = place.row;
  memcpy(load->m_delta, place.row_delta, sizeof place.row_delta);
  load->m_delta[2] = tg_gemm_ring_rows(&e->t);
  if (!scalar && tg_gemm_walks_groups(e->b.m, g, &e->t)) {
    tg_gemm_walk_groups(g, &e->t, place.column, epilogue_operand->run_stride,
                        tg_value_bytes_each(epilogue_operand->access.name.value), load);
    load->dst_inner = tg_kind_flits(e->b.m, epilogue_operand->kind, (uint32_t)g->run_own);
    load->dst_stride = tg_kind_flits(e->b.m, epilogue_operand->kind, (uint32_t)g->run);
  }
  return in;
}

/* Row vectors come down the columns, once a pass, or once for all. */
static void load_vectors(emission *e, const tg_stage *stage, tg_queue *queue, uint32_t r, uint32_t col,
                         uint32_t mask) {
  int left = e->operands.vector_count;
  for (int x = 0; x < e->g->epilogue_operand_count; x++) {
    if (!tg_gemm_loads_once(&e->t, &e->g->epilogue_operands[x])) continue;
    tg_instr *load = load_epilogue_operand(e, queue, x, r, col, mask);
    tg_gemm_meet(e, stage, TG_ALL_CHANNELS, load, 0, 0, left == e->operands.vector_count, left == 1);
    left--;
  }
}

/* Block x, once a drain tile, behind `count` blocks of the tile. */
static void load_block(emission *e, const tg_stage *stage, tg_queue *queue, int x, uint32_t r, uint32_t col,
                       uint32_t mask, int *count) {
  if (tg_gemm_loads_once(&e->t, &e->g->epilogue_operands[x])) return;
  tg_instr *load = load_epilogue_operand(e, queue, x, r, col, mask);
  tg_gemm_meet(e, stage, TG_ALL_CHANNELS, load, 0, 0, !*count, *count + 1 == e->operands.block_count);
  ++*count;
}

static bool blocks_from_west(const emission *e, uint32_t r, uint32_t col) {
  return tg_epilogue_operands_west(e, r, col) && !tg_build_is_idle(&e->b, r, col);
}

/* From the west, to all tiles of the row or to half of them: what they share first. */
static void load_blocks_west(emission *e, const tg_stage *stage, tg_queue *queue, uint32_t r) {
  const tg_gemm *g = e->g;
  uint32_t mask = 0, one = 0;
  int shared = 0;
  for (uint32_t col = e->b.m->cols; col-- > 0;)
    if (blocks_from_west(e, r, col)) mask |= 1u << (col + 1), one = col;
  for (int x = 0; x < g->epilogue_operand_count && mask; x++)
    if (tg_gemm_shares_scalars(&e->t, &g->epilogue_operands[x]))
      load_block(e, stage, queue, x, r, one, mask, &shared);
  for (uint32_t col = 0; col < e->b.m->cols; col++) {
    int count = shared;
    for (int x = 0; x < g->epilogue_operand_count && blocks_from_west(e, r, col); x++)
      if (!tg_gemm_shares_scalars(&e->t, &g->epilogue_operands[x]))
        load_block(e, stage, queue, x, r, col, 1u << (col + 1), &count);
  }
}

static void load_blocks_north(emission *e, const tg_stage *stage, tg_queue *queue, uint32_t r, uint32_t col) {
  int count = 0;
  for (int x = 0; x < e->g->epilogue_operand_count; x++)
    load_block(e, stage, queue, x, r, col, 1u << (r + 1), &count);
}

/* The tiles of a column that have a part in the section, as LOADs from the north name them. */
static uint32_t working(const emission *e, uint32_t col) {
  uint32_t mask = 0;
  for (uint32_t r = 0; r < e->b.m->rows; r++)
    if (!tg_build_is_idle(&e->b, r, col)) mask |= 1u << (r + 1);
  return mask;
}

/* Those of a column: of all rows of tiles, or of those that have the same columns. */
void tg_gemm_load_vectors(emission *e, const tg_stage *stage, tg_queue *queue, uint32_t col) {
  uint32_t rows = e->b.m->rows, all = working(e, col);
  bool alone = e->t.split == TG_SPLIT_COLUMNS,
       apart = (e->t.split == TG_SPLIT_OUTPUT || e->t.split == TG_SPLIT_PRODUCT_ROWS) && e->t.alike > 1;
  for (uint32_t d = 0; d < (alone ? rows : apart ? e->t.alike : 1); d++) {
    uint32_t mask = (alone ? 1u << (d + 1) : apart ? tg_gemm_rows_like(e, d) : ~0u) & all;
    if (mask) load_vectors(e, stage, queue, d, col, mask);
  }
}

static void load_blocks_of_column(emission *e, const tg_stage *stage, tg_queue *queue, uint32_t col) {
  for (uint32_t r = 0; r < tg_gemm_used_rows(e); r++)
    if (tg_gemm_finishes(e, r) && !tg_epilogue_operands_west(e, r, col) && !tg_build_is_idle(&e->b, r, col))
      load_blocks_north(e, stage, queue, r, col);
}

void tg_gemm_load_blocks(emission *e, const tg_stage *stage, tg_queue *queue, bool west, uint32_t at) {
  if (!west)
    load_blocks_of_column(e, stage, queue, at);
  else if (tg_gemm_finishes(e, at))
    load_blocks_west(e, stage, queue, at);
}
