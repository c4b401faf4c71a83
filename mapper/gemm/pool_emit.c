/* The instructions of a pool in the drain (pool.c). */
#include "frontend/base/math.h"
#include "mapper/gemm/emission.h"
#include "mapper/gemm/layout.h"
#include "mapper/gemm/patch.h"
#include "mapper/section/marks.h"

typedef tg_gemm_emission emission;

/* ---- VOPs ---- */

static void set_segments(tg_vx_instr *vop, const tg_vx_instr *code, int count) {
  for (int q = 0; q < count; q++) {
    vop->seg_begin[q] = code->seg_begin[q];
    vop->seg_len[q] = code->seg_len[q];
  }
}

/* A VOP of so many rows and columns, of groups of 2P channels; its second segment is repeated. */
static tg_instr *push_vop(emission *e, uint32_t r, uint32_t col, const tg_vx_instr *code,
                          const uint32_t count[3], int64_t taps) {
  tg_instr *in = tg_build_push(&e->b, &tg_build_tile(&e->b, r, col)->vx, TG_OP_vx_vop);
  tg_vx_instr *vop = &in->vx;
  set_segments(vop, code, 3);
  vop->seg_repeat = 1 << 1;
  vop->rows = (int64_t)count[0] * count[1] * count[2];
  for (int d = 0; d < 3; d++) vop->row_count[d] = count[d];
  vop->j_count[0] = 1;
  vop->j_count[1] = taps;
  return in;
}

static void set_stream(tg_stream *s, int kind, const tg_buffer *buffer, const int64_t row[3], int64_t tap) {
  s->kind = kind;
  tg_set_operand(&s->at, buffer, false);
  s->banks = buffer->banks;
  for (int d = 0; d < 3; d++) s->row[d] = row[d];
  s->j[1] = tap;
}

/* Rows, columns and groups of what lies between the VOPs. */
static void between(const emission *e, int64_t out_rows[3]) {
  const tg_params *m = e->b.m;
  out_rows[0] = tg_gemm_pool_row(m, e->g, &e->t);
  out_rows[1] = tg_gemm_pool_position(m, e->g, &e->t);
  out_rows[2] = tg_kind_flits(m, e->g->pool.kind, tg_lanes(m));
}

void tg_gemm_emit_edges(emission *e, uint32_t r, uint32_t col) {
  const tg_buffer *all = &e->channels[TG_ROLE_ROUNDED].ring;
  int64_t rows[3];
  between(e, rows);
  tg_instr *in = tg_build_push(&e->b, &tg_build_tile(&e->b, r, col)->vx, TG_OP_vx_vop);
  tg_vx_instr *vop = &in->vx;
  set_segments(vop, &e->pool_codes[1], 1);
  vop->rows = e->t.pool_rows * (rows[0] / rows[2]);
  vop->row_count[0] = 1;
  vop->row_count[1] = e->t.pool_rows;
  vop->row_count[2] = rows[0] / rows[2];
  vop->j_count[0] = vop->j_count[1] = 1;
  tg_stream *s = tg_stream_of_mut(vop, 0);
  set_stream(s, e->g->pool.kind, all, (int64_t[]){0, rows[0], rows[2]}, 0);
  s->store = 1;
}

static void set_operands(const emission *e, tg_vx_instr *vop) {
  const tg_params *m = e->b.m;
  for (int x = 0; x < e->g->epilogue_operand_count; x++) {
    const tg_epilogue_operand *operand = &e->g->epilogue_operands[x];
    bool scalar = tg_is_splat(operand->along);
    const int64_t rows[3] = {0, 0, scalar ? 0 : tg_kind_flits(m, operand->kind, tg_lanes(m))};
    tg_stream *s = tg_stream_of_mut(vop, 1 + x);
    set_stream(s, operand->kind, &e->operands.buffers[x], rows, 0);
    tg_set_rotating(&s->at, &e->operands.buffers[x], 0, TG_ROTATE_OUTER);
  }
}

void tg_gemm_emit_pool_rows(emission *e, const tg_stage *stage, uint32_t r, uint32_t col) {
  const tg_params *m = e->b.m;
  const tg_gemm_pool *pool = &e->g->pool;
  const tg_buffer halves = {.stride = tg_acc_rows(m), .count = 2},
                  *columns = &e->channels[TG_ROLE_ROUNDED].ring;
  const int64_t width = e->t.patch_columns, down = pool->step[0], tap = pool->tap_step[0],
                begin = tg_gemm_first_column(e, r, col) * pool->step[1] - pool->before[1],
                first = begin < 0 ? tg_min(-begin, width) : 0,
                end = tg_max(tg_min(e->g->image.pixels[1] - begin, width), first);
  const uint32_t count[3] = {e->t.pool_rows, (uint32_t)(end - first), e->t.nt / tg_lanes(m)};
  int64_t rows[3];
  between(e, rows);
  tg_instr *in = push_vop(e, r, col, &e->microcode, count, pool->taps[0]);
  tg_vx_instr *vop = &in->vx;
  tg_stream *from = tg_stream_of_mut(vop, TG_DRAIN_ACCUMULATOR);
  set_stream(from, TG_STREAM_ACC, &halves, (int64_t[]){down * width, 1, e->t.mt}, tap * width);
  tg_set_rotating(&from->at, &halves, 0, TG_ROTATE_EACH);
  from->at.base += first;
  set_operands(e, vop);
  if (pool->leaves[0])
    set_stream(tg_stream_of_mut(vop, tg_gemm_marks_stream(e->g)), TG_STREAM_SPLAT32,
               &e->channels[TG_ROLE_OPERANDS].ring, (int64_t[]){down, 0, 0}, tap);
  tg_stream *to = tg_stream_of_mut(vop, tg_gemm_columns_stream(e->g));
  set_stream(to, pool->kind, columns, rows, 0);
  to->at.base += first * rows[1];
  to->store = 1;
  uint64_t operands = tg_gemm_bit(TG_ROLE_OPERANDS_ONCE) | tg_gemm_bit(TG_ROLE_OPERANDS);
  tg_gemm_meet(e, stage, tg_gemm_bit(TG_ROLE_ACCUMULATOR) | operands, in, r, col, true, true);
}

void tg_gemm_emit_pool_columns(emission *e, const tg_stage *stage, uint32_t r, uint32_t col) {
  const tg_params *m = e->b.m;
  const tg_gemm_pool *pool = &e->g->pool;
  const tg_gemm_tiling *t = &e->t;
  uint32_t parts = tg_gemm_pool_parts(t), down = parts > 1 ? 1 : t->mr / t->pool_columns,
           across = t->pool_columns / parts, groups = t->nt / tg_lanes(m);
  const uint32_t count[3] = {down, across, groups};
  int64_t rows[3], result = tg_kind_flits(m, e->g->out_kind[0], tg_lanes(m));
  between(e, rows);
  tg_instr *in = push_vop(e, r, col, &e->pool_codes[0], count, pool->taps[1]);
  tg_stream *from = tg_stream_of_mut(&in->vx, 0), *to = tg_stream_of_mut(&in->vx, 1);
  set_stream(from, pool->kind, &e->channels[TG_ROLE_ROUNDED].ring,
             (int64_t[]){rows[0], pool->step[1] * rows[1], rows[2]}, pool->tap_step[1] * rows[1]);
  from->at.delta[1] = down * rows[0];
  from->at.delta[2] = parts > 1 ? across * pool->step[1] * rows[1] : 0;
  set_stream(to, e->g->out_kind[0], &e->results[0],
             (int64_t[]){across * groups * result, groups * result, result}, 0);
  to->store = 1;
  tg_gemm_meet(e, stage, tg_gemm_bit(TG_ROLE_OUT), in, r, col, true, true);
}

/* ---- marks ---- */

void tg_gemm_allocate_marks(emission *e) {
  e->marks_base = tg_build_base(&e->b, tg_marks_of(e->c->program), 0, &e->marks_rest);
}

void tg_gemm_load_marks(emission *e, const tg_stage *stage, tg_queue *queue, uint32_t r, uint32_t col,
                        uint32_t mask) {
  const tg_gemm_pool *pool = &e->g->pool;
  int64_t blocks = tg_div_up(pool->windows[0], e->t.pool_rows), rows = e->t.patch_rows;
  tg_instr *in = tg_gemm_push_load(e, queue, &e->channels[TG_ROLE_OPERANDS].ring, mask);
  tg_agcu_instr *load = &in->agcu;
  load->base = e->marks_base;
  load->offset = e->marks_rest;
  load->rows = rows;
  load->take = 1;
  load->m_radix[0] = e->g->image.images;
  load->m_radix[1] = blocks;
  load->m_radix[2] = rows;
  for (int d = 0; d < 3; d++) load->k_radix[d] = 1;
  load->stride[5] = 4;
  load->y_org = -pool->before[0];
  load->y_inc[1] = e->t.pool_rows * pool->step[0];
  load->y_inc[2] = 1;
  load->y_size = e->g->image.pixels[0];
  load->x_size = 1;
  load->m_first = tg_gemm_row_first(e, r, col) / tg_gemm_block_results(&e->t) * rows;
  load->m_delta[e->m_k_level] = tg_gemm_rows_a_pass(e) / tg_gemm_block_results(&e->t) * rows;
  load->convert = TG_CVT_32;
  load->fill = TG_MARK_OUTSIDE;
  tg_gemm_meet(e, stage, tg_gemm_bit(TG_ROLE_OPERANDS), in, r, col, true, true);
}
