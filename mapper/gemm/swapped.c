/* Products of few rows with their operands swapped. mx takes S + S L + P cycles at least for each S x S elements of what is
 * stationary, whatever goes by: of B, that is more than DRAM takes for them. So rows of A, of which there are few, are
 * stationary, and the columns of B go by, S elements a cycle: the accumulator has a row for each column of C. A VOP
 * transposes a block of them, for the epilogue, which goes along rows of C as those of any product do. */
#include "mapper/gemm/emission.h"
#include "mapper/gemm/layout.h"

/* Streams: the accumulator, and a row of C each. */
static int row_stream(int64_t row) { return 1 + (int)row; }

bool tg_gemm_may_swap(const tg_compile *c, const tg_gemm *g) {
  return g->m <= TG_SWAPPED_MOST && g->m <= tg_lanes(c->m) && g->partials == 1 && !g->column_sums.count;
}

/* Of 2P rows of the accumulator, from the last one to the first: the lane of a row of C goes to all lanes up to the
 * column's own. */
void tg_gemm_write_transposition(const tg_gemm *g, tg_mc *mc) {
  tg_mc_ref rows[TG_SWAPPED_MOST];
  tg_mc_next_segment(mc);
  for (int i = 0; i < (int)g->m; i++) {
    rows[i] = tg_mc_new(mc);
    tg_mc_assign(mc, rows[i], TG_ALU_mov, tg_mc_bits(mc, 0), TG_MC_NONE, TG_MC_NONE);
  }
  tg_mc_next_segment(mc); /* lanes 0 .. 2P - 1 - j are valid */
  tg_mc_ref column = tg_mc_load(mc, TG_DRAIN_ACCUMULATOR, false);
  for (int i = 0; i < (int)g->m; i++)
    tg_mc_assign_imm(mc, rows[i], TG_ALU_tail, tg_mc_alu_imm(mc, TG_ALU_bcast, column, TG_MC_NONE, i),
                     rows[i], 0);
  tg_mc_next_segment(mc);
  for (int i = 0; i < (int)g->m; i++) tg_mc_store(mc, row_stream(i), true, rows[i]);
}

tg_buffer tg_gemm_transposed_buffer(const tg_gemm_emission *e, uint32_t product) {
  const tg_buffer *all = &e->channels[TG_ROLE_ROUNDED].ring;
  uint32_t rows = all->rows / (e->second ? 2 : 1);
  return tg_buffer_part(e->b.m, all, product * rows, rows);
}

/* Of a product whose sums are from row number `first` of a half on. Rows of the VOP: groups of 2P columns. */
static void transpose(tg_gemm_emission *e, const tg_stage *stage, uint32_t r, uint32_t col, uint32_t product,
                      uint32_t first, bool last) {
  const tg_params *m = e->b.m;
  const tg_buffer sums = tg_gemm_transposed_buffer(e, product);
  uint32_t lanes = tg_lanes(m), vector = tg_kind_flits(m, TG_STREAM_FP32, lanes),
           length = tg_kind_flits(m, TG_STREAM_FP32, e->t.nt);
  tg_instr *in = tg_build_push(&e->b, &tg_build_tile(&e->b, r, col)->vx, TG_OP_vx_vop);
  tg_vx_instr *vop = &in->vx;
  for (int q = TG_SWAPPED_BEGIN; q < TG_SWAPPED_SEGMENTS; q++) {
    vop->seg_begin[q - TG_SWAPPED_BEGIN] = e->microcode.seg_begin[q];
    vop->seg_len[q - TG_SWAPPED_BEGIN] = e->microcode.seg_len[q];
  }
  vop->seg_repeat = 1 << (TG_SWAPPED_ROWS - TG_SWAPPED_BEGIN);
  vop->rows = vop->row_count[2] = e->t.nt / lanes;
  vop->row_count[0] = vop->row_count[1] = vop->j_count[0] = 1;
  vop->j_count[1] = lanes;
  vop->tail_step = 1;
  vop->tail_n = lanes;
  tg_stream *from = tg_stream_of_mut(vop, TG_DRAIN_ACCUMULATOR);
  tg_buffer halves = {.stride = tg_acc_rows(m), .count = 2};
  from->kind = TG_STREAM_ACC;
  tg_set_rotating(&from->at, &halves, 0, TG_ROTATE_EACH);
  from->at.base += first + lanes - 1;
  from->row[2] = lanes;
  from->j[1] = -1;
  for (uint32_t i = 0; i < e->t.mt; i++) {
    tg_stream *to = tg_stream_of_mut(vop, row_stream(i));
    to->kind = TG_STREAM_FP32;
    to->store = 1;
    tg_buffer row = tg_buffer_part(m, &sums, i * length, length);
    tg_set_operand(&to->at, &row, false);
    to->banks = row.banks;
    to->row[2] = vector;
  }
  tg_gemm_meet(e, stage, tg_gemm_bit(TG_ROLE_ACCUMULATOR), in, r, col, !product, last);
}

void tg_gemm_emit_transposition(tg_gemm_emission *e, const tg_stage *stage, uint32_t r, uint32_t col) {
  transpose(e, stage, r, col, 0, 0, !e->second);
  if (e->second) transpose(e, stage, r, col, 1, e->second->first_sum, true);
}
