/* Emission of attention. With unit i's scores S(i), its softmax in the VOPs M(i) and N(i), its second product
 * C(i) and drain D(i), the units of a tile work at the same time, between M(i - 1) and M(i + 1):
 *
 *   mx:  C(i - 1)  S(i + 1)          scores and result of unit i are in half i modulo 2 of the accumulator
 *   vx:  M(i)  N(i)  D(i - 1)
 *
 * C(i - 1) waits for N(i - 1); so the half that it and S(i + 1) write is drained, since D(i - 3) and M(i - 1)
 * come before. D(i - 1) waits for S(i + 1), which ends last in its half. */
#include "mapper/attention/attention.h"
#include "mapper/gemm/layout.h"
#include "mapper/kernel/class.h"
#include "mapper/section/channel.h"

#include <string.h>

typedef struct input {
  const tg_matrices *at;
  tg_buffer buffer; /* of the operands of fused nodes, which come by one channel, each has its own */
  int entry;        /* of the base table */
  int64_t residue;
} input;

typedef struct emission {
  tg_build b;
  tg_compile *c;
  const tg_attention *a;
  input q, k, v, epilogue_operand[TG_EPILOGUE_OPERANDS];
  tg_buffer exps, sums, out;
  tg_channel queries, keys, values, epilogue_operands; /* from the AGCUs */
  tg_channel scores, weights, context;                 /* from mx to vx, back, and again */
  int out_entry;
  int64_t out_residue;
  uint32_t out_take; /* elements of a row as they leave */
} emission;

/* ---- room ---- */

static void add_base(emission *e, input *in, const tg_matrices *at) {
  in->at = at;
  in->entry = tg_build_base(&e->b, tg_place_of(e->c, at->value), 0, &in->residue);
}

static void allocate_bases(emission *e) {
  const tg_attention *a = e->a;
  add_base(e, &e->q, &a->q);
  add_base(e, &e->k, &a->k);
  add_base(e, &e->v, &a->v);
  for (int x = 0; x < a->scores.epilogue_operand_count; x++)
    add_base(e, &e->epilogue_operand[x], &a->epilogue_operand[x]);
  e->out_entry = tg_build_base(&e->b, tg_place_of(e->c, a->out.value), 0, &e->out_residue);
}

static bool allocate(emission *e) {
  const tg_params *m = e->b.m;
  tg_room rooms[TG_ATTENTION_ROLES];
  tg_buffer *buffers[TG_ATTENTION_ROLES] = {&e->q.buffer, &e->k.buffer,     &e->v.buffer,
                                            &e->exps,     &e->weights.ring, &e->out};
  for (int x = 0; x < e->a->scores.epilogue_operand_count; x++)
    buffers[TG_ROLE_SCORED + x] = &e->epilogue_operand[x].buffer;
  tg_attention_lay_out(m, e->a, rooms);
  if (!tg_build_rooms(&e->b, rooms, TG_ATTENTION_ROLES, buffers)) return false;
  /* The inverse sums lie behind the exps, perhaps in the same bank: both are written, then read. */
  e->sums = e->exps;
  e->sums.base += tg_attention_exp_rows(m, e->a);
  e->sums.banks -= e->sums.base / tg_bank_rows(m) - e->exps.base / tg_bank_rows(m);
  return true;
}

static void open_loads(emission *e, tg_channel *channel) {
  tg_channel_open_full(&e->b, channel);
  tg_channel_open_credits(&e->b, channel, (int)e->a->copies);
}

/* The halves of the accumulator are free when they are written (see above). */
static void open_channels(emission *e) {
  open_loads(e, &e->queries);
  open_loads(e, &e->keys);
  open_loads(e, &e->values);
  open_loads(e, &e->epilogue_operands);
  tg_channel_open_full(&e->b, &e->scores);
  tg_channel_open_full(&e->b, &e->context);
  tg_channel_open(&e->b, &e->weights, 1);
}

/* ---- which tile computes what ---- */

static uint32_t first_product(const emission *e, uint32_t r, uint32_t col) {
  return (r * e->b.m->cols + col) / e->a->group;
}

static uint32_t first_row(const emission *e, uint32_t r, uint32_t col) {
  return (r * e->b.m->cols + col) % e->a->group * e->a->rows;
}

/* What a tile has alone, and what its group shares: if there are groups, the one comes from the north and the
 * other from the west; if not, both come from where the result does not leave. */
static bool own_from_west(const emission *e, uint32_t r, uint32_t col) {
  return e->a->group == 1 && !tg_egress_is_west(r, col);
}
static bool shared_from_west(const emission *e, uint32_t r, uint32_t col) {
  return e->a->group > 1 || !tg_egress_is_west(r, col);
}

/* A walk over rows of matrices, `radix` of each, of which those beyond its own are not there. */
static void set_walk(tg_agcu_instr *in, const tg_matrices *x, int64_t radix, int entry, int64_t residue) {
  int64_t z = tg_value_bytes_each(x->value);
  in->base[0] = entry;
  in->offset[0] = residue;
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
  in->y_size[0] = x->rows;
  in->x_size[0] = 1;
}

/* ---- loads ---- */

static tg_agcu_instr *push_load(emission *e, bool west, int context, uint32_t r, uint32_t col, uint32_t tiles,
                                const input *from, int64_t radix) {
  tg_queue *queue = west ? tg_west_queue(&e->b, r, context) : tg_north_queue(&e->b, col, context);
  tg_agcu_instr *load = &tg_build_push(&e->b, queue, TG_OP_agcu_load)->agcu;
  set_walk(load, from->at, radix, from->entry, from->residue);
  load->rows[0] = radix;
  load->m_first[0] = first_product(e, r, col) * radix;
  load->m_delta[0] = tg_attention_at_a_time(e->b.m, e->a) * radix;
  tg_set_operand(load->dst_base, &from->buffer, false);
  load->dst_inner[0] = 65535;
  load->dst_mask[0] = ((1ll << tiles) - 1) << ((west ? col : r) + 1);
  return load;
}

/* Rows of a block of the product's. */
static void set_block(const emission *e, tg_agcu_instr *in, uint32_t r, uint32_t col) {
  in->rows[0] = e->a->rows;
  in->m_first[0] += first_row(e, r, col);
  in->m_delta[1] = (int64_t)e->a->group * e->a->rows;
}

/* Elements of a row: those that are needed, or as many as fill its bank rows where these are more. */
static int64_t taken(const emission *e, const tg_gemm *g, int64_t needed, uint32_t bank_rows) {
  uint32_t element = tg_mx_elements(e->b.m, g->format);
  return (needed + element - 1) / element == bank_rows ? needed : (int64_t)bank_rows * element;
}

static void load_queries(emission *e, uint32_t r, uint32_t col) {
  const tg_attention *a = e->a;
  bool west = own_from_west(e, r, col);
  tg_gemm_tiling t = tg_attention_scores(a);
  tg_agcu_instr *load = push_load(e, west, TG_CTX_LOAD, r, col, 1, &e->q, tg_attention_padded(a));
  set_block(e, load, r, col);
  load->take[0] = taken(e, &a->scores, a->scores.k, tg_gemm_a_row(e->b.m, &a->scores, &t));
  load->convert[0] = a->scores.a_convert;
  tg_channel_ask(&e->queries, load, west);
  tg_channel_deliver(&e->queries, load);
}

/* A stationary operand: its rows are columns of the product if it is transposed. */
static tg_agcu_instr *load_shared(emission *e, int context, uint32_t r, uint32_t col, uint32_t tiles,
                                  const input *from, const tg_gemm *g, const tg_gemm_tiling *t) {
  bool transposed = g->b_transposed;
  tg_agcu_instr *load = push_load(e, shared_from_west(e, r, col), context, r, col, tiles, from,
                                  transposed ? t->nt : from->at->rows);
  load->take[0] = taken(e, g, from->at->columns, tg_gemm_b_row(e->b.m, g, t));
  load->convert[0] = g->b_convert;
  return load;
}

static void load_keys_and_values(emission *e, uint32_t r, uint32_t col, uint32_t tiles) {
  const tg_attention *a = e->a;
  bool west = shared_from_west(e, r, col);
  tg_gemm_tiling first = tg_attention_scores(a), second = tg_attention_context(e->b.m, a);
  tg_agcu_instr *load = load_shared(e, TG_CTX_LOAD, r, col, tiles, &e->k, &a->scores, &first);
  tg_channel_ask(&e->keys, load, west);
  tg_channel_deliver(&e->keys, load);
  load = load_shared(e, TG_CTX_AUX, r, col, tiles, &e->v, &a->context, &second);
  tg_channel_ask(&e->values, load, west);
  tg_channel_deliver(&e->values, load);
}

static void load_epilogue_operands(emission *e, uint32_t r, uint32_t col) {
  const tg_attention *a = e->a;
  bool west = own_from_west(e, r, col);
  for (int x = 0; x < a->scores.epilogue_operand_count; x++) {
    bool one = a->epilogue_operand[x].rows == 1;
    tg_agcu_instr *load =
        push_load(e, west, TG_CTX_LOAD, r, col, 1, &e->epilogue_operand[x], one ? 1 : tg_attention_padded(a));
    if (!one) set_block(e, load, r, col);
    load->take[0] = tg_attention_epilogue_operand_take(a, x);
    load->convert[0] =
        tg_stream_convert(tg_place_of(e->c, a->epilogue_operand[x].value), a->epilogue_operand_kind[x]);
    if (x == 0) tg_channel_ask(&e->epilogue_operands, load, west);
    if (x + 1 == a->scores.epilogue_operand_count) tg_channel_deliver(&e->epilogue_operands, load);
  }
}

static void emit_loads(emission *e) {
  const tg_params *m = e->b.m;
  uint32_t tiles = e->a->group < m->cols ? e->a->group : m->cols;
  for (uint32_t r = 0; r < m->rows; r++)
    for (uint32_t col = 0; col < m->cols; col++) {
      load_queries(e, r, col);
      if (col % tiles == 0) load_keys_and_values(e, r, col, tiles);
      load_epilogue_operands(e, r, col);
    }
  const uint32_t loops[] = {e->a->passes, e->a->blocks, 1};
  for (uint32_t i = 0; i < tg_agcus(m); i++)
    for (int context = TG_CTX_LOAD; context <= TG_CTX_AUX; context++) {
      tg_queue *queue = &tg_build_section(&e->b)->agcus[i].contexts[context];
      if (queue->count) tg_set_loops(&queue->instrs[queue->count - 1], loops);
    }
}

/* ---- instructions of a tile ---- */

/* An instruction for unit `first`, or for so many units from there on. */
typedef struct span {
  uint32_t first, count;
} span;

/* Each unit has the buffer of its number. */
static void set_turns(int64_t *base_field, const tg_buffer *buffer, span units) {
  tg_set_rotating(base_field, buffer, units.first % buffer->count,
                  units.count > 1 ? TG_ROTATE_EACH : TG_ROTATE_NEVER);
}

/* The instruction ends a loop over units that begins at slot `begin`. */
static void end_loop(tg_instr *in, span units, uint32_t begin) {
  in->common.loop_count[2] = units.count;
  in->common.loop_begin[2] = begin;
}

static void set_rounding(const emission *e, tg_mx_instr *mx, uint32_t r, uint32_t col, span units) {
  const tg_attention *a = e->a;
  int64_t step =
      a->blocks == 1 ? tg_attention_at_a_time(e->b.m, a) * a->queries : (int64_t)a->group * a->rows;
  mx->sr[0] = 1;
  mx->sr_row[0] = first_product(e, r, col) * a->queries + first_row(e, r, col) + units.first * step;
  mx->sr_row_delta[2] = units.count > 1 ? step : 0;
  mx->sr_col_blk[1] = tg_lanes(e->b.m);
  mx->sr_col_blk[2] = tg_mx_stationary(e->b.m, mx->format[0]);
}

/* A product whose streamed operand has rows `a_row` apart; its result begins at row `at` of a half. */
static tg_instr *push_product(emission *e, uint32_t r, uint32_t col, int number, uint32_t a_row, uint32_t at,
                              span units) {
  const tg_params *m = e->b.m;
  const tg_attention *a = e->a;
  const tg_gemm *g = number ? &a->context : &a->scores;
  tg_gemm_tiling t = number ? tg_attention_context(m, a) : tg_attention_scores(a);
  const tg_buffer *streamed = number ? &e->weights.ring : &e->q.buffer,
                  *block = number ? &e->v.buffer : &e->k.buffer;
  uint32_t stationary = tg_mx_stationary(m, g->format), beats = tg_mx_beats(g->format),
           b_row = tg_gemm_b_row(m, g, &t);
  tg_instr *in = tg_build_push(&e->b, &tg_build_tile(&e->b, r, col)->mx, TG_OP_mx_gemm);
  tg_mx_instr *mx = &in->mx;
  mx->format[0] = g->format;
  mx->m_count[0] = 1;
  mx->m_count[1] = t.mt;
  set_turns(mx->a_base, streamed, units);
  mx->a_m[1] = a_row;
  mx->a_blk[0] = beats;
  mx->a_banks[0] = streamed->banks;
  set_turns(mx->b_base, block, units);
  mx->b_transposed[0] = g->b_transposed;
  mx->b_row[0] = b_row;
  mx->b_blk[0] = g->b_transposed ? beats : (int64_t)stationary * b_row;
  mx->b_banks[0] = block->banks;
  tg_buffer halves = {.base = at, .stride = tg_acc_rows(m), .count = 2};
  set_turns(mx->c_base, &halves, units);
  /* blocks: k, then groups of 2P columns, then (fp32) their two halves */
  mx->blk_count[0] = (t.kc + stationary - 1) / stationary;
  mx->k_loops[0] = 1;
  mx->blk_count[1] = t.nt / tg_lanes(m);
  mx->blk_count[2] = tg_lanes(m) / stationary;
  mx->blk_count[3] = 1;
  mx->b_blk[1] = g->b_transposed ? (int64_t)tg_lanes(m) * b_row : tg_lanes(m) / tg_mx_elements(m, g->format);
  mx->b_blk[2] = g->b_transposed ? (int64_t)stationary * b_row : 1;
  mx->c_blk[1] = t.mt;
  mx->h_blk[2] = 1;
  mx->init[0] = 1;
  mx->k_chunk[0] = mx->k_total[0] = t.kc;
  mx->sr_blocks[0] = a->sr_blocks[number];
  mx->sr_key[0] = number;
  if (a->sr_blocks[number]) set_rounding(e, mx, r, col, units);
  return in;
}

static tg_instr *push_scores(emission *e, uint32_t r, uint32_t col, span units) {
  tg_gemm_tiling t = tg_attention_scores(e->a);
  tg_instr *in = push_product(e, r, col, 0, tg_gemm_a_row(e->b.m, &e->a->scores, &t), 0, units);
  tg_channel_take(&e->queries, in, 0, false);
  tg_channel_take(&e->keys, in, 1, false);
  tg_channel_return(&e->queries, in, 0, own_from_west(e, r, col), r, col, false);
  tg_channel_return(&e->keys, in, 1, shared_from_west(e, r, col), r, col, false);
  tg_channel_fill(&e->scores, in, 2, false);
  return in;
}

static tg_instr *push_context(emission *e, uint32_t r, uint32_t col, span units) {
  const tg_attention *a = e->a;
  uint32_t row = tg_attention_weight_rows(e->b.m, a) / a->rows,
           scores = a->rows * (tg_attention_keys(a) / tg_lanes(e->b.m));
  tg_instr *in = push_product(e, r, col, 1, row, scores, units);
  tg_channel_take(&e->weights, in, 0, false);
  tg_channel_take(&e->values, in, 1, false);
  tg_channel_return(&e->values, in, 0, shared_from_west(e, r, col), r, col, false);
  tg_channel_release(&e->weights, in, 1, false);
  return in;
}

/* S(0) S(1) [C(i) S(i + 2)] C(n - 2) C(n - 1) */
static void emit_products(emission *e, uint32_t r, uint32_t col) {
  uint32_t n = tg_attention_units(e->a);
  push_scores(e, r, col, (span){0, 1});
  if (n > 1) push_scores(e, r, col, (span){1, 1});
  if (n > 2) {
    push_context(e, r, col, (span){0, n - 2});
    tg_instr *in = push_scores(e, r, col, (span){2, n - 2});
    tg_channel_fill(&e->context, in, 3, false);
    end_loop(in, (span){2, n - 2}, 2);
  }
  for (uint32_t i = n > 1 ? n - 2 : 0; i < n; i++)
    tg_channel_fill(&e->context, push_context(e, r, col, (span){i, 1}), 2, false);
}

/* ---- vector unit ---- */

static tg_instr *push_vop(emission *e, uint32_t r, uint32_t col, const tg_vx_instr *microcode) {
  tg_instr *in = tg_build_push(&e->b, &tg_build_tile(&e->b, r, col)->vx, TG_OP_vx_vop);
  tg_vx_instr *vop = &in->vx;
  memcpy(vop->seg_begin, microcode->seg_begin, sizeof vop->seg_begin);
  memcpy(vop->seg_len, microcode->seg_len, sizeof vop->seg_len);
  vop->rows[0] = vop->row_count[2] = e->a->rows;
  vop->row_count[0] = vop->row_count[1] = 1;
  vop->j_count[0] = vop->j_count[1] = 1;
  return in;
}

/* Vectors u, u + unroll .. of each row of a buffer as stream first + u. */
static void set_streams(const emission *e, tg_vx_instr *vop, int first, int unroll, int kind, bool store,
                        const tg_buffer *buffer, uint32_t row, span units) {
  uint32_t vector = tg_kind_flits(e->b.m, kind, tg_lanes(e->b.m));
  for (int u = 0; u < unroll; u++) {
    tg_stream *s = tg_stream_of_mut(vop, first + u);
    s->kind[0] = kind;
    s->store[0] = store;
    set_turns(s->at.base, buffer, units);
    s->at.base[0] += u * (int64_t)vector;
    s->banks[0] = buffer->banks;
    s->row[2] = row;
    s->j[1] = (int64_t)vector * unroll;
  }
}

static void set_accumulator(const emission *e, tg_stream *s, uint32_t at, span units) {
  tg_buffer halves = {.base = at, .stride = tg_acc_rows(e->b.m), .count = 2};
  s->kind[0] = TG_STREAM_ACC;
  set_turns(s->at.base, &halves, units);
}

static void set_sums(const emission *e, tg_vx_instr *vop, int stream, bool store) {
  set_streams(e, vop, stream, 1, TG_STREAM_FP32, store, &e->sums,
              tg_kind_flits(e->b.m, TG_STREAM_FP32, tg_lanes(e->b.m)), (span){0, 1});
  tg_stream_of_mut(vop, stream)->j[1] = 0;
}

static void set_epilogue_operands(const emission *e, tg_vx_instr *vop, span units) {
  const tg_attention *a = e->a;
  for (int x = 0; x < a->scores.epilogue_operand_count; x++) {
    bool number = a->epilogue_operand_kind[x] == TG_STREAM_SPLAT32;
    uint32_t rows = tg_attention_epilogue_operand_rows(e->b.m, a, x);
    int first = (1 + x) * a->unroll;
    set_streams(e, vop, first, a->unroll, a->epilogue_operand_kind[x], false, &e->epilogue_operand[x].buffer,
                a->epilogue_operand[x].rows == 1 ? 0 : rows / a->rows, units);
    for (int u = 0; u < a->unroll && number; u++) {
      tg_stream *s = tg_stream_of_mut(vop, first + u);
      s->at.base[0] = tg_stream_of_mut(vop, first)->at.base[0];
      s->j[1] = 0;
    }
  }
}

static void push_first(emission *e, uint32_t r, uint32_t col, const tg_vx_instr *microcode, span units) {
  const tg_attention *a = e->a;
  tg_instr *in = push_vop(e, r, col, microcode);
  tg_vx_instr *vop = &in->vx;
  vop->seg_repeat[0] = TG_SOFTMAX_FIRST_REPEAT;
  vop->j_count[1] = tg_attention_keys(a) / tg_lanes(e->b.m) / (uint32_t)a->unroll;
  vop->tail_step[0] = (int64_t)tg_lanes(e->b.m) * a->unroll;
  vop->tail_n[0] = a->keys;
  for (int u = 0; u < a->unroll; u++) {
    tg_stream *s = tg_stream_of_mut(vop, u);
    set_accumulator(e, s, (uint32_t)u * a->rows, units);
    s->row[2] = 1;
    s->j[1] = (int64_t)a->rows * a->unroll;
  }
  set_epilogue_operands(e, vop, units);
  int kept = (1 + a->scores.epilogue_operand_count) * a->unroll;
  uint32_t row = tg_attention_exp_rows(e->b.m, a) / a->rows;
  set_streams(e, vop, kept, a->unroll, TG_STREAM_FP32, true, &e->exps, row, (span){0, 1});
  set_sums(e, vop, kept + a->unroll, true);
  tg_channel_take(&e->scores, in, 0, false);
  if (!a->scores.epilogue_operand_count) return;
  tg_channel_take(&e->epilogue_operands, in, 1, false);
  tg_channel_return(&e->epilogue_operands, in, 0, own_from_west(e, r, col), r, col, false);
}

static void push_second(emission *e, uint32_t r, uint32_t col, const tg_vx_instr *microcode) {
  const tg_attention *a = e->a;
  const span any = {0, 1};
  tg_instr *in = push_vop(e, r, col, microcode);
  tg_vx_instr *vop = &in->vx;
  vop->seg_repeat[0] = TG_SOFTMAX_REPEAT;
  vop->j_count[1] = tg_attention_keys(a) / tg_lanes(e->b.m) / (uint32_t)a->own_unroll;
  int kind = a->weights == TG_BF16 ? TG_STREAM_BF16 : a->weights == TG_F16 ? TG_STREAM_FP16 : TG_STREAM_FP32;
  set_streams(e, vop, 0, a->own_unroll, TG_STREAM_FP32, false, &e->exps,
              tg_attention_exp_rows(e->b.m, a) / a->rows, any);
  set_streams(e, vop, a->own_unroll, a->own_unroll, kind, true, &e->weights.ring,
              tg_attention_weight_rows(e->b.m, a) / a->rows, any);
  set_sums(e, vop, 2 * a->own_unroll, false);
  tg_channel_claim(&e->weights, in, 0, false);
  tg_channel_fill(&e->weights, in, 0, false);
}

static tg_instr *push_drain(emission *e, uint32_t r, uint32_t col, const tg_vx_instr *microcode,
                            const tg_store_port *port, span units) {
  const tg_attention *a = e->a;
  uint32_t lanes = tg_lanes(e->b.m), groups = tg_attention_width(e->b.m, a) / lanes;
  tg_instr *in = push_vop(e, r, col, microcode);
  tg_vx_instr *vop = &in->vx;
  vop->rows[0] = a->rows * groups;
  vop->row_count[1] = a->rows;
  vop->row_count[2] = groups;
  tg_stream *s = tg_stream_of_mut(vop, 0);
  set_accumulator(e, s, a->rows * (tg_attention_keys(a) / lanes), units);
  s->row[1] = 1;
  s->row[2] = a->rows;
  set_streams(e, vop, 1, 1, a->out_kind, true, &e->out, 0, units);
  s = tg_stream_of_mut(vop, 1);
  s->row[1] = tg_attention_out_rows(e->b.m, a) / a->rows;
  s->row[2] = s->j[1];
  s->j[1] = 0;
  tg_channel_take(&e->context, in, 0, false);
  tg_set_wait(in, 1, port->out_free, false);
  tg_set_post(in, 0, TG_POST_LOCAL, 0, port->out_full, false);
  return in;
}

/* M(0) N(0) [M(i) N(i) D(i - 1)] D(n - 1) */
static void emit_vops(emission *e, uint32_t r, uint32_t col, const tg_vx_instr microcode[3],
                      const tg_store_port *port) {
  uint32_t n = tg_attention_units(e->a);
  push_first(e, r, col, &microcode[0], (span){0, 1});
  push_second(e, r, col, &microcode[1]);
  if (n > 1) {
    push_first(e, r, col, &microcode[0], (span){1, n - 1});
    push_second(e, r, col, &microcode[1]);
    end_loop(push_drain(e, r, col, &microcode[2], port, (span){0, n - 1}), (span){0, n - 1}, 2);
  }
  push_drain(e, r, col, &microcode[2], port, (span){n - 1, 1});
}

/* ---- stores ---- */

static void fill_store(const void *user, int port, uint32_t r, uint32_t col, tg_agcu_instr *store) {
  const emission *e = user;
  const tg_attention *a = e->a;
  (void)port; /* the only one */
  int64_t padded = tg_attention_padded(a);
  set_walk(store, &a->out, padded, e->out_entry, e->out_residue);
  store->m_first[0] = first_product(e, r, col) * padded;
  store->m_delta[0] = tg_attention_at_a_time(e->b.m, a) * padded;
  set_block(e, store, r, col);
  store->rows[0] = store->m_delta[2] = a->piece;
  store->take[0] = e->out_take;
  store->convert[0] = a->out_kind == TG_STREAM_FP32 ? TG_CVT_32 : TG_CVT_16;
}

static tg_store_port port_of(emission *e) {
  const tg_attention *a = e->a;
  uint32_t width = tg_attention_width(e->b.m, a), pieces = a->rows / a->piece,
           row = tg_kind_flits(e->b.m, a->out_kind, width);
  e->out_take = pieces > 1 ? width : (uint32_t)a->context.n; /* pieces lie next to each other */
  uint32_t sent = tg_kind_flits(e->b.m, a->out_kind, e->out_take);
  tg_store_port port = {
      .flits = a->piece * sent, .pieces = pieces, .buffer = e->out, .loops = {a->passes, a->blocks, pieces}};
  if (sent < row) port.inner = sent, port.stride = row;
  tg_store_port_init(&e->b, &port, 2);
  return port;
}

static void invoke(emission *e, const char *name) {
  const tg_attention *a = e->a;
  tg_invocation *invocation = tg_build_invoke(&e->b, name);
  const tg_gemm *products[] = {&a->scores, &a->context};
  for (int i = 0; i < 2; i++) {
    uint64_t rows = (uint64_t)a->products * (uint64_t)a->queries;
    invocation->macs[products[i]->format] += rows * (uint64_t)products[i]->n * (uint64_t)products[i]->k;
    invocation->key_nodes[i] = (uint32_t)products[i]->node->id;
  }
}

static tg_status emit(tg_compile *c, const tg_kernel *kernel) {
  tg_attention a;
  emission e = {.c = c, .a = &a};
  const char *name = tg_kernel_name(c, kernel);
  bool good = tg_describe_attention(c, kernel, &a); /* as when it was formed */
  tg_build_begin(&e.b, c, name);
  if (!good || !allocate(&e)) return tg_fail(c->diag, TG_INVALID, "%s: the scratchpads are too small", name);
  allocate_bases(&e);
  open_channels(&e);
  tg_store_port port = port_of(&e);
  static const int splits[] = {TG_SOFTMAX_FIRST_SEGMENTS, TG_ATTENTION_DRAIN};
  tg_vx_instr microcode[3] = {0};
  tg_mc mc;
  if (!tg_attention_microcode(c, &a, &mc)) return TG_INVALID;
  tg_status status = tg_mc_pack_parts(&mc, splits, 2, c->program, e.b.section, microcode, c->diag);
  if (status) {
    tg_diag_prefix(c->diag, "%s", name);
    return status;
  }
  emit_loads(&e);
  for (uint32_t r = 0; r < c->m->rows; r++)
    for (uint32_t col = 0; col < c->m->cols; col++) {
      emit_products(&e, r, col);
      emit_vops(&e, r, col, microcode, &port);
    }
  tg_store_ports_emit(&e.b, &port, 1, fill_store, &e);
  invoke(&e, name);
  return TG_OK;
}

static bool fits(tg_compile *c, const tg_kernel *kernel) {
  tg_attention unused;
  return tg_describe_attention(c, kernel, &unused);
}

const tg_kernel_class tg_attention_class = {
    .name = "attention",
    .fits = fits,
    .emit = emit,
};
