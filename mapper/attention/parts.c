#include "mapper/attention/parts.h"
#include "mapper/gemm/layout.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* ---- scores ---- */

tg_score_scale tg_attention_scale(const tg_kernel *scores) {
  const tg_node *node = scores && scores->fused_count == 1 ? scores->fused[0] : NULL;
  bool multiplies = node && node->op == TG_OP_MUL, divides = node && node->op == TG_OP_DIV;
  for (int i = 0; i < 2 && (multiplies || divides); i++) {
    if (!tg_is_scalar_constant(tg_in(node, i)) || (divides && !i)) continue;
    float number = tg_scalar_value(tg_in(node, i)), factor = divides ? 1 / number : number;
    int exponent;
    bool power = factor > 0 && factor <= 1 && frexpf(factor, &exponent) == 0.5f && 1 / factor <= FLT_MAX;
    return (tg_score_scale){.keeps_order = number > 0 && number <= FLT_MAX,
                            .exact = power && scores->output->dtype == TG_F32 ? factor : 0};
  }
  return (tg_score_scale){.keeps_order = false};
}

/* ---- cycles ---- */

double tg_attention_vop_cycles(const tg_params *m, double rows, double words) {
  double groups = (double)(uint32_t)tg_div_up((int64_t)rows, m->fma_latency);
  return groups * words * m->fma_latency + 2 * m->fma_latency + 1;
}

double tg_attention_gemm_cycles(const tg_params *m, const tg_gemm *g, const tg_gemm_tiling *t) {
  uint32_t stationary = tg_mx_stationary(m, g->format);
  return (double)(uint32_t)tg_div_up(t->kc, stationary) * (uint32_t)tg_div_up(t->nt, stationary) *
         (double)tg_mx_pitch(m, g->format, t->mt);
}

double tg_attention_port_cycles(const tg_params *m, const tg_matrices *x, double rows, int64_t columns) {
  return rows * (uint32_t)tg_div_up(columns * tg_value_bytes_each(x->value), TG_ATOM_BYTES) *
         tg_atom_cycles(m);
}

tg_attention_loads tg_attention_loads_of(const tg_params *m, const tg_attention_grid *x, tg_seat side) {
  bool west = side == TG_SIDE_WEST;
  uint32_t line = west ? m->cols : m->rows;
  if (x->group == 1) return (tg_attention_loads){(line + 1) / 2, (line + 1) / 2};
  return (tg_attention_loads){west ? 0 : line, !west ? 0 : x->group < m->cols ? m->cols / x->group : 1};
}

tg_stage tg_attention_results_stage(const tg_params *m, tg_seat side, uint8_t kind, double cycles) {
  uint32_t line = side == TG_SIDE_WEST ? m->cols : m->rows;
  return (tg_stage){.kind = kind,
                    .seat = (uint8_t)side,
                    .context = TG_CTX_STORE,
                    .rate = TG_RATE_STEP,
                    .nest = TG_NEST_OWN,
                    .drains = true,
                    .slots = (line + 1) / 2,
                    .cycles = (line + 1) / 2 * cycles};
}

/* ---- instructions ---- */

void tg_attention_add_input(tg_build *b, const tg_compile *c, tg_attention_input *in, const tg_matrices *at,
                            const tg_buffer *buffer) {
  in->at = at;
  in->buffer = buffer;
  in->entry = tg_build_base(b, tg_place_of(c, at->value), 0, &in->residue);
}

void tg_attention_set_walk(tg_agcu_instr *in, const tg_matrices *x, int64_t radix, int entry,
                           int64_t residue) {
  int64_t z = tg_value_bytes_each(x->value);
  in->base = entry;
  in->offset = residue;
  for (int d = 0; d < 2; d++) {
    in->m_radix[d] = x->radix[d];
    in->stride[d] = x->stride[d] * z;
    in->k_radix[d] = 1;
  }
  in->m_radix[2] = radix;
  in->stride[2] = x->row_stride * z;
  in->k_radix[2] = x->columns;
  in->stride[5] = x->column_stride * z;
  in->y_inc[2] = 1;
  in->y_size = x->rows;
  in->x_size = 1;
}

tg_instr *tg_attention_push_load(tg_build *b, const tg_attention_grid *x, tg_queue *queue, bool west,
                                 uint32_t r, uint32_t col, uint32_t tiles, const tg_attention_input *from,
                                 int64_t radix) {
  tg_instr *in = tg_build_push(b, queue, TG_OP_agcu_load);
  tg_agcu_instr *load = &in->agcu;
  tg_attention_set_walk(load, from->at, radix, from->entry, from->residue);
  load->rows = radix;
  load->m_first = tg_grid_first_product(b->m, x, r, col) * radix;
  load->m_delta[0] = tg_grid_at_a_time(b->m, x) * radix;
  tg_set_operand(&load->dst, from->buffer, false);
  load->dst_inner = 65535;
  load->dst_mask = ((1ll << tiles) - 1) << ((west ? col : r) + 1);
  return in;
}

tg_instr *tg_attention_push_own_load(tg_build *b, const tg_attention_grid *x, tg_queue *queue, bool west,
                                     uint32_t r, uint32_t col, const tg_attention_input *from, bool one,
                                     int64_t take, int64_t convert) {
  tg_instr *in = tg_attention_push_load(b, x, queue, west, r, col, 1, from, one ? 1 : tg_grid_padded(x));
  if (!one) tg_grid_set_rows(b->m, x, &in->agcu, r, col);
  in->agcu.take = take;
  in->agcu.convert = convert;
  return in;
}

tg_instr *tg_attention_push_gemm(tg_build *b, tg_queue *queue, const tg_gemm *g, const tg_gemm_tiling *t) {
  const tg_params *m = b->m;
  uint32_t stationary = tg_mx_stationary(m, g->format), beats = tg_mx_beats(g->format),
           row = tg_gemm_b_row(m, g, t);
  tg_instr *in = tg_build_push(b, queue, TG_OP_mx_gemm);
  tg_mx_instr *mx = &in->mx;
  mx->format = g->format;
  mx->m_count[0] = 1;
  mx->m_count[1] = t->mt;
  mx->a_blk[0] = beats;
  mx->b_transposed = g->b_transposed;
  mx->b_row = row;
  /* blocks: k, then groups of 2P columns, then (fp32) their two halves */
  mx->blk_count[0] = (t->kc + stationary - 1) / stationary;
  mx->k_loops = 1;
  mx->blk_count[1] = t->nt / tg_lanes(m);
  mx->blk_count[2] = tg_lanes(m) / stationary;
  mx->blk_count[3] = 1;
  mx->b_blk[0] = g->b_transposed ? beats : (int64_t)stationary * row;
  mx->b_blk[1] = g->b_transposed ? (int64_t)tg_lanes(m) * row : tg_lanes(m) / tg_mx_elements(m, g->format);
  mx->b_blk[2] = g->b_transposed ? (int64_t)stationary * row : 1;
  mx->c_blk[1] = t->mt;
  mx->h_blk[2] = 1;
  mx->init = 1;
  mx->k_chunk = mx->k_total = t->kc;
  return in;
}

tg_instr *tg_attention_push_vop(tg_build *b, tg_queue *queue, const tg_vx_instr *microcode, uint32_t rows) {
  tg_instr *in = tg_build_push(b, queue, TG_OP_vx_vop);
  tg_vx_instr *vop = &in->vx;
  memcpy(vop->seg_begin, microcode->seg_begin, sizeof vop->seg_begin);
  memcpy(vop->seg_len, microcode->seg_len, sizeof vop->seg_len);
  vop->rows = vop->row_count[2] = rows;
  vop->row_count[0] = vop->row_count[1] = 1;
  vop->j_count[0] = vop->j_count[1] = 1;
  return in;
}

void tg_attention_plan_results(tg_build *b, const tg_compile *c, const tg_attention_grid *x,
                               tg_attention_results *out, const tg_matrices *at, int kind, uint32_t width,
                               uint32_t columns, const tg_channel *from, const tg_channel *away) {
  uint32_t drain_tiles = x->rows / x->drain_rows, row = tg_kind_flits(b->m, kind, width);
  *out = (tg_attention_results){.m = b->m, .grid = x, .at = at, .kind = kind};
  out->entry = tg_build_base(b, tg_place_of(c, at->value), 0, &out->residue);
  out->take = drain_tiles > 1 ? width : columns; /* drain tiles lie next to each other */
  uint32_t sent = tg_kind_flits(b->m, kind, out->take);
  out->port = (tg_store_port){.from = from,
                              .away = away,
                              .flits = x->drain_rows * sent,
                              .drain_tiles = drain_tiles,
                              .buffer = from->ring,
                              .loops = {x->passes, x->row_blocks, drain_tiles}};
  if (sent < row) out->port.inner = sent, out->port.stride = row;
  out->egress = (tg_egress_plan){.ports = &out->port, .count = 1, .often = 1, .every = 1, .steps = 1};
}

tg_post tg_attention_own_source(const void *kernel, const tg_channel *channel, uint32_t r, uint32_t col) {
  const tg_attention_results *results = kernel;
  return tg_post_to_agcu(channel, tg_grid_own_from_west(results->grid, r, col), r, col);
}

tg_post tg_attention_shared_source(const void *kernel, const tg_channel *channel, uint32_t r, uint32_t col) {
  const tg_attention_results *results = kernel;
  return tg_post_to_agcu(channel, tg_grid_shared_from_west(results->grid, r, col), r, col);
}

void tg_attention_fill_store(const void *user, int port, uint32_t r, uint32_t col, tg_agcu_instr *store) {
  const tg_attention_results *results = user;
  const tg_attention_grid *x = results->grid;
  (void)port; /* the only one */
  tg_attention_set_walk(store, results->at, tg_grid_padded(x), results->entry, results->residue);
  tg_grid_set_rows(results->m, x, store, r, col);
  store->rows = store->m_delta[2] = x->drain_rows;
  store->take = results->take;
  store->convert = results->kind == TG_STREAM_FP32 ? TG_CVT_32 : TG_CVT_16;
}
