/* Reductions of a product's result by blocks of rows, in the drain ("column sums"): a VOP goes down the rows
 * of a drain tile for each group of 2P columns, and keeps what is reduced in registers. Where a block has several
 * drain tiles, each drain tile has a VOP of its own, and the next one takes up what the one before has put into the
 * scratchpad, into two buffers in turn, since a VOP does not read a bank that it writes; the last one puts
 * the column sum behind the results of its drain tile. Blocks and their order come from the graph, so no tiling
 * changes a bit. */
#include "mapper/gemm/emission.h"
#include "mapper/gemm/layout.h"
#include "mapper/microcode/moments.h"

#include <string.h>

typedef tg_gemm_emission emission;

/* ---- VOPs ---- */

/* A stream of rows, of which the VOP's rows are `down` apart, or of one row that all share: `down` 0. */
static tg_stream *set_stream(const emission *e, tg_instr *in, int stream, int kind, const tg_buffer *buffer,
                             uint32_t down) {
  tg_stream *s = tg_stream_of_mut(&in->vx, stream);
  uint32_t vector = kind == TG_STREAM_SPLAT32 ? 0 : tg_kind_flits(e->b.m, kind, tg_lanes(e->b.m)),
           row = vector ? vector * (e->t.nt / tg_lanes(e->b.m)) : 1;
  s->kind = kind;
  s->banks = buffer->banks;
  s->row[1] = (int64_t)row * down;
  s->row[2] = vector;
  s->j[1] = down ? row : 0;
  return s;
}

/* Rows of an iteration, and those that moments begin with. */
static void set_accumulator(const emission *e, tg_instr *in, uint32_t p, uint32_t down, uint32_t block) {
  tg_buffer halves = {.stride = tg_acc_rows(e->b.m), .count = 2};
  int rows = tg_gemm_first_rows(e->g);
  for (int u = 0; u < rows; u++) {
    tg_stream *s = tg_stream_of_mut(&in->vx, tg_gemm_accumulator_stream(e->g, u));
    s->kind = TG_STREAM_ACC;
    tg_set_rotating(&s->at, &halves, block % 2, TG_ROTATE_OUTER);
    s->at.base += (int64_t)p * e->t.mr + u;
    s->at.delta[2] = e->t.mr;
    s->row[1] = down;
    s->row[2] = e->t.mt;
    s->j[1] = u < e->g->column_sums.unroll ? e->g->column_sums.unroll : 0;
  }
}

static void set_epilogue_operands(const emission *e, tg_instr *in, uint32_t p, uint32_t down) {
  for (int x = 0; x < e->g->epilogue_operand_count; x++) {
    const tg_epilogue_operand *epilogue_operand = &e->g->epilogue_operands[x];
    tg_stream *s = set_stream(e, in, 1 + x, epilogue_operand->kind, &e->operands.buffers[x],
                              tg_is_row_vector(epilogue_operand) ? 0 : down);
    if (tg_is_row_vector(epilogue_operand))
      tg_set_rotating(&s->at, &e->operands.buffers[x], 0, TG_ROTATE_OUTER);
    else
      tg_set_rotation(&s->at, &e->operands.buffers[x], p, e->steps);
  }
}

/* Column sums go from VOP to VOP, and the last one of a block puts them where they leave. */
static void set_column_sums(emission *e, tg_instr *in, uint32_t p, uint32_t drain_tiles) {
  uint32_t row = tg_gemm_column_sum_flits(e->b.m, &e->t), at = p % drain_tiles;
  for (int i = 0; i < e->g->column_sums.count; i++) {
    tg_buffer before = tg_buffer_part(e->b.m, &e->channels[TG_ROLE_RUNNING].ring, row * (uint32_t)i, row),
              after = before;
    if (at + 1 == drain_tiles) after = e->column_sums.out[i];
    if (at)
      tg_set_rotating(&set_stream(e, in, tg_gemm_before_stream(e->g, i), TG_STREAM_FP32, &before, 1)->at,
                      &before, (at - 1) % 2, TG_ROTATE_NEVER);
    tg_stream *s = set_stream(e, in, tg_gemm_after_stream(e->g, i), TG_STREAM_FP32, &after, 1);
    s->store = 1;
    if (at + 1 == drain_tiles)
      tg_set_rotation(&s->at, &after, p, e->steps);
    else
      tg_set_rotating(&s->at, &after, at % 2, TG_ROTATE_NEVER);
  }
}

static void set_results(const emission *e, tg_instr *in, uint32_t p, uint32_t down, uint32_t block) {
  for (int k = 0; k < e->g->outs; k++)
    for (int u = 0; u < e->g->column_sums.unroll; u++) {
      int stream = tg_gemm_result_stream(e->g, k, u);
      tg_stream *s = set_stream(e, in, stream, e->g->out_kind[k], &e->results[k], down);
      s->store = 1;
      tg_set_rotation(&s->at, &e->results[k], block * e->drain_tiles + p, e->steps);
      s->at.base += u * s->j[1];
      s->j[1] *= e->g->column_sums.unroll;
    }
}

/* Rows of the VOP: (block of rows, group of 2P columns), of which each goes down the rows. The first is of
 * the tile's block number `block`. */
static tg_instr *push_drain_tile(emission *e, uint32_t r, uint32_t col, uint32_t p, uint32_t drain_tiles,
                                 uint32_t block) {
  uint32_t groups = e->t.nt / tg_lanes(e->b.m), blocks = tg_gemm_column_sums_a_drain_tile(e->g, &e->t),
           down = e->t.mr / blocks;
  int segments[] = {TG_COLUMN_SUMS_HOLD, p % drain_tiles ? TG_COLUMN_SUMS_GO_ON : TG_COLUMN_SUMS_BEGIN,
                    TG_COLUMN_SUMS_ROWS, TG_COLUMN_SUMS_END};
  tg_instr *in = tg_build_push(&e->b, &tg_build_tile(&e->b, r, col)->vx, TG_OP_vx_vop);
  for (int q = 0; q < 4; q++) {
    in->vx.seg_begin[q] = e->microcode.seg_begin[segments[q]];
    in->vx.seg_len[q] = e->microcode.seg_len[segments[q]];
  }
  in->vx.seg_repeat = 1 << 2;
  in->vx.rows = blocks * groups;
  in->vx.row_count[0] = 1;
  in->vx.row_count[1] = blocks;
  in->vx.row_count[2] = groups;
  in->vx.j_count[0] = 1;
  in->vx.j_count[1] = down / (uint32_t)e->g->column_sums.unroll;
  set_accumulator(e, in, p, down, block);
  set_epilogue_operands(e, in, p, down);
  set_results(e, in, p, down, block);
  set_column_sums(e, in, p, drain_tiles);
  return in;
}

void tg_gemm_emit_column_sums(emission *e, const tg_stage *stage, uint32_t r, uint32_t col) {
  uint32_t drain_tiles = tg_gemm_drain_tiles_of_column_sum(e->g, &e->t);
  for (uint32_t p = 0; p < e->steps; p++)
    tg_gemm_meet(e, stage, TG_ALL_CHANNELS, push_drain_tile(e, r, col, p, drain_tiles, 0), r, col, !p,
                 p + 1 == e->steps);
}

tg_instr *tg_gemm_emit_block_column_sums(emission *e, const tg_stage *stage, uint32_t r, uint32_t col,
                                         uint32_t block) {
  tg_instr *in = push_drain_tile(e, r, col, 0, 1, block);
  tg_gemm_meet(e, stage, TG_ALL_CHANNELS, in, r, col, true, true);
  return in;
}

/* ---- egress ---- */

/* A row of column sums for each block of rows. */
void tg_gemm_fill_column_sums(const emission *e, int i, uint32_t r, uint32_t col, tg_agcu_instr *store) {
  const tg_gemm *g = e->g;
  tg_walk_plan walk = {.tensor = tg_place_of(e->c, g->column_sums.out[i]),
                       .radix = {1, 1, g->m / g->column_sums.block},
                       .stride = {0, 0, g->n},
                       .element_stride = 1,
                       .columns = g->n};
  tg_fill_walk(store, &walk, e->column_sums.base[i], e->column_sums.rest[i]);
  tg_gemm_place place = tg_gemm_place_of(e, r, col);
  store->rows = tg_gemm_column_sums_a_drain_tile(g, &e->t);
  store->m_first = place.row / g->column_sums.block;
  for (int l = 0; l < 2; l++) store->m_delta[l] = place.row_delta[l] / g->column_sums.block;
  store->m_delta[e->t.sent ? 1 : 2] = store->rows;
}
