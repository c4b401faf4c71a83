/* The arbiter: GEMM and VOP by their definitions, one element at a time. */
#include "sim/functional/exec.h"
#include "sim/machine/numerics.h"

#include <math.h>
#include <string.h>

/* Element `i` of a flit in a GEMM format, widened. */
static uint32_t element(const uint8_t *flit, int64_t format, uint32_t i) {
  uint32_t word;
  uint16_t half;
  if (format == TG_FMT_FP32 || format == TG_FMT_TF32) {
    memcpy(&word, flit + 4 * i, 4);
    return format == TG_FMT_TF32 ? word & 0xffffe000u : word;
  }
  memcpy(&half, flit + 2 * i, 2);
  return format == TG_FMT_BF16 ? tg_bf16_to_f32(half) : tg_fp16_to_f32(half);
}

static uint32_t fma32(uint32_t a, uint32_t b, uint32_t c) {
  return tg_canonical(tg_f32_bits(fmaf(tg_bits_f32(a), tg_bits_f32(b), tg_bits_f32(c))));
}

typedef struct block {
  int64_t a, b, c; /* rows of m = 0, j = 0, m = 0 */
  uint32_t kb, lane, valid, sr_col;
} block;

/* Block number `ordinal` in loop order. */
static block block_of(const tg_machine_state *state, const tg_execution *x, const tg_gemm_setup *g,
                      uint32_t ordinal) {
  const tg_mx_instr *in = &x->in->mx;
  block at = {
      .a = x->address[TG_AT_A], .b = x->address[TG_AT_B], .c = x->address[TG_AT_C], .sr_col = g->sr_col};
  uint32_t index[4], half = (uint32_t)in->col_half;
  for (int l = 3; l >= 0; l--) {
    index[l] = ordinal % (uint32_t)in->blk_count[l];
    ordinal /= (uint32_t)in->blk_count[l];
  }
  for (int l = 0; l < 4; l++) {
    at.a += index[l] * in->a_blk[l];
    at.b += index[l] * in->b_blk[l];
    at.c += index[l] * in->c_blk[l];
    at.sr_col += index[l] * (uint32_t)in->sr_col_blk[l];
    half += index[l] * (uint32_t)in->h_blk[l];
    if (in->k_loops >> l & 1) at.kb = at.kb * (uint32_t)in->blk_count[l] + index[l];
  }
  at.lane = in->format == TG_FMT_FP32 ? state->params.p * (half % 2) : 0;
  int64_t valid = (int64_t)g->k_left - (int64_t)at.kb * g->s;
  at.valid = valid < 0 ? 0 : valid > g->s ? g->s : (uint32_t)valid;
  return at;
}

/* Element k of streamed row m. */
static uint32_t streamed(const tg_machine_state *state, uint32_t tile, const tg_mx_instr *in, int64_t a,
                         uint32_t s, uint32_t m, uint32_t k) {
  int64_t row = in->a_transposed ? a + m / s * in->a_m[0] + k * in->a_m[1]
                                 : a + m / in->m_count[1] * in->a_m[0] + m % in->m_count[1] * in->a_m[1];
  return element(tg_pad_row(state, tile, (uint32_t)row), in->format, in->a_transposed ? m % s : k);
}

/* Does a K tile end behind so many k of this execution? */
static bool ends_tile(const tg_execution *x, uint32_t k) {
  return tg_chain_after(x->chain, (uint32_t)x->in->mx.sr_k, k).k == 0;
}

/* Where k is the last one of a K tile. */
static uint32_t rounded(const tg_execution *x, const tg_gemm_setup *g, const block *at, uint32_t m,
                        uint32_t n, uint32_t k, uint32_t acc) {
  const tg_mx_instr *in = &x->in->mx;
  uint32_t before = at->kb * g->s + k < g->k_left ? at->kb * g->s + k : g->k_left;
  uint32_t tile_key =
      tg_sr_tile_key(g->sr_key, g->sr_tile + tg_chain_after(x->chain, (uint32_t)in->sr_k, before).tile);
  uint32_t m0 = m / (uint32_t)in->m_count[1], row = g->sr_row + m + m0 * (uint32_t)in->sr_row_skip,
           col = at->sr_col + n;
  uint32_t r = in->sr_transposed ? tg_sr_r16(tg_sr_row_hash(tile_key, col), tg_sr_col_hash(tile_key, row))
                                 : tg_sr_r16(tg_sr_row_hash(tile_key, row), tg_sr_col_hash(tile_key, col));
  return tg_bf16_to_f32(tg_bf16_stochastic(acc, r));
}

static void gemm(const tg_kernels *kernels, tg_machine_state *state, uint32_t tile, const tg_execution *x) {
  (void)kernels;
  const tg_mx_instr *in = &x->in->mx;
  tg_gemm_setup g = tg_gemm_setup_of(state, x);
  for (uint32_t o = 0; o < g.blocks; o++) {
    block at = block_of(state, x, &g, o);
    bool end = in->sr && at.kb + 1 == g.kblocks && tg_execution_ends_tile(x);
    for (uint32_t m = 0; m < g.m; m++) {
      uint32_t *c = tg_acc_row(state, tile, (uint32_t)(at.c + m)) + at.lane;
      for (uint32_t n = 0; n < g.s; n++) {
        uint32_t acc = g.init && at.kb == 0 ? 0 : c[n];
        for (uint32_t k = 0; k < at.valid; k++) {
          uint32_t row = in->b_transposed ? n : k, col = in->b_transposed ? k : n;
          const uint8_t *b = tg_pad_row(state, tile, (uint32_t)(at.b + row * in->b_row));
          acc = fma32(streamed(state, tile, in, at.a, g.s, m, k), element(b, in->format, col), acc);
          if (in->sr && k + 1 < at.valid && ends_tile(x, at.kb * g.s + k + 1))
            acc = rounded(x, &g, &at, m, n, k, acc);
        }
        if (end || (in->sr && at.valid && ends_tile(x, at.kb * g.s + at.valid)))
          acc = rounded(x, &g, &at, m, n, at.valid ? at.valid - 1 : 0, acc);
        c[n] = acc;
      }
    }
  }
}

/* ---- vector unit ---- */

typedef struct slot { /* a row in flight */
  uint32_t reg[TG_VX_REGS][TG_MAX_LANES];
} slot;

typedef struct vop {
  tg_machine_state *state;
  const tg_execution *x;
  const tg_vx_instr *in;
  uint32_t tile, lanes;
} vop;

static int32_t to_integer(uint32_t a) {
  float f = tg_bits_f32(a);
  if (tg_is_nan_bits(a)) return 0;
  if (f >= 2147483648.0f) return INT32_MAX;
  if (f < -2147483648.0f) return INT32_MIN;
  return (int32_t)nearbyintf(f);
}

static uint32_t minimum(uint32_t a, uint32_t b) {
  float x = tg_bits_f32(a), y = tg_bits_f32(b);
  if (tg_is_nan_bits(a) || tg_is_nan_bits(b)) return 0x7fc00000u;
  if (x == y) return a | b; /* -0 if either is */
  return x < y ? a : b;
}

static uint32_t maximum(uint32_t a, uint32_t b) {
  float x = tg_bits_f32(a), y = tg_bits_f32(b);
  if (tg_is_nan_bits(a) || tg_is_nan_bits(b)) return 0x7fc00000u;
  if (x == y) return a & b;
  return x > y ? a : b;
}

/* One lane of an operation that does not look at other lanes. */
static uint32_t alu(tg_alu op, uint32_t a, uint32_t b, uint32_t c, const uint32_t *constants) {
  float x = tg_bits_f32(a), y = tg_bits_f32(b);
  switch (op) {
  case TG_ALU_mov: return a;
  case TG_ALU_fma: return fma32(a, b, c);
  case TG_ALU_add: return tg_canonical(tg_f32_bits(x + y));
  case TG_ALU_sub: return tg_canonical(tg_f32_bits(x - y));
  case TG_ALU_mul: return tg_canonical(tg_f32_bits(x * y));
  case TG_ALU_min: return minimum(a, b);
  case TG_ALU_max: return maximum(a, b);
  case TG_ALU_cmplt: return x < y ? 0xffffffffu : 0;
  case TG_ALU_cmple: return x <= y ? 0xffffffffu : 0;
  case TG_ALU_cmpeq: return x == y ? 0xffffffffu : 0;
  case TG_ALU_icmplt: return (int32_t)a < (int32_t)b ? 0xffffffffu : 0;
  case TG_ALU_select: return a >> 31 ? b : c;
  case TG_ALU_and: return a & b;
  case TG_ALU_or: return a | b;
  case TG_ALU_xor: return a ^ b;
  case TG_ALU_shl: return a << (b & 31);
  case TG_ALU_shr: return a >> (b & 31);
  case TG_ALU_sra: return (uint32_t)((int64_t)(int32_t)a >> (b & 31));
  case TG_ALU_iadd: return a + b;
  case TG_ALU_isub: return a - b;
  case TG_ALU_f2i: return (uint32_t)to_integer(a);
  case TG_ALU_i2f: return tg_f32_bits((float)(int32_t)a);
  case TG_ALU_rcpseed: return tg_rcpseed(a);
  case TG_ALU_rsqseed: return tg_rsqseed(a);
  case TG_ALU_clamp: return minimum(maximum(a, b), c);
  case TG_ALU_scale: return tg_scale(a, b);
  case TG_ALU_exponent: return tg_exponent(a);
  case TG_ALU_mantissa: return tg_mantissa(a);
  case TG_ALU_rndbf16: return tg_bf16_to_f32(tg_bf16_from_f32(a));
  case TG_ALU_rndtf32: return tg_tf32_from_f32(a);
  case TG_ALU_rndfp16: return tg_fp16_to_f32(tg_fp16_from_f32(a));
  case TG_ALU_lut: return constants[32 + (a & 31)];
  default: return 0;
  }
}

static uint32_t operand(const vop *v, const slot *s, uint32_t which, uint32_t lane) {
  if (which < TG_VX_REGS) return s->reg[which][lane];
  return which >= TG_CONST0 ? v->state->tiles[v->tile].constants[which - TG_CONST0] : 0;
}

/* The random number of lane i in the row and j that round now, `further` logical rows from the row's. */
static uint32_t drawn(const vop *v, uint32_t rho, uint32_t j, uint32_t further, uint32_t i) {
  const tg_vx_instr *in = v->in;
  uint32_t r2 = rho % (uint32_t)in->row_count[2], rest = rho / (uint32_t)in->row_count[2];
  uint32_t r1 = rest % (uint32_t)in->row_count[1], r0 = rest / (uint32_t)in->row_count[1];
  uint32_t j1 = j % (uint32_t)in->j_count[1], j0 = j / (uint32_t)in->j_count[1];
  uint32_t column = (uint32_t)in->sr_col + tg_execution_advance(v->x, in->sr_col_delta) +
                    r0 * (uint32_t)in->sr_col_row[0] + r1 * (uint32_t)in->sr_col_row[1] +
                    r2 * (uint32_t)in->sr_col_row[2] + j0 * (uint32_t)in->sr_col_j[0] +
                    j1 * (uint32_t)in->sr_col_j[1] + i;
  uint32_t tile = (uint32_t)in->sr_tile + tg_execution_advance(v->x, in->sr_tile_delta);
  uint32_t tile_key = tg_sr_tile_key(v->state->keys[in->sr_key], tile);
  uint32_t row = (uint32_t)in->sr_row + tg_execution_advance(v->x, in->sr_row_delta) +
                 r0 * (uint32_t)in->sr_row_row[0] + r1 * (uint32_t)in->sr_row_row[1] +
                 r2 * (uint32_t)in->sr_row_row[2] + further;
  return tg_sr_r16(tg_sr_row_hash(tile_key, row), tg_sr_col_hash(tile_key, column));
}

static void compute(const vop *v, const slot *s, const tg_ucode *w, uint32_t rho, uint32_t j, uint32_t *out) {
  for (uint32_t i = 0; i < v->lanes; i++) {
    uint32_t element = j * (uint32_t)v->in->tail_step + w->alu_c * v->lanes + i;
    switch (w->alu_op) {
    case TG_ALU_rot: out[i] = operand(v, s, w->alu_a, (i + w->alu_c) % v->lanes); break;
    case TG_ALU_bcast: out[i] = operand(v, s, w->alu_a, w->alu_c % v->lanes); break;
    case TG_ALU_tail: out[i] = operand(v, s, element < v->in->tail_n ? w->alu_a : w->alu_b, i); break;
    case TG_ALU_rndsr:
      out[i] = tg_bf16_to_f32(tg_bf16_stochastic(operand(v, s, w->alu_a, i), drawn(v, rho, j, w->alu_c, i)));
      break;
    default:
      out[i] = alu((tg_alu)w->alu_op, operand(v, s, w->alu_a, i), operand(v, s, w->alu_b, i),
                   operand(v, s, w->alu_c, i), v->state->tiles[v->tile].constants);
    }
  }
}

static uint32_t stream_address(const vop *v, uint32_t t, uint32_t rho, uint32_t j, uint32_t half) {
  const tg_stream *s = tg_stream_of(v->in, (int)t);
  int64_t r2 = rho % v->in->row_count[2], rest = rho / v->in->row_count[2];
  int64_t r1 = rest % v->in->row_count[1], r0 = rest / v->in->row_count[1];
  int64_t j1 = j % v->in->j_count[1], j0 = j / v->in->j_count[1];
  int64_t at =
      v->x->address[t] + r0 * s->row[0] + r1 * s->row[1] + r2 * s->row[2] + j0 * s->j[0] + j1 * s->j[1];
  return (uint32_t)(at + (s->kind == TG_STREAM_FP32 ? half : 0));
}

static void load(const vop *v, slot *s, const tg_ucode *w, uint32_t rho, uint32_t j) {
  const tg_stream *stream = tg_stream_of(v->in, w->ld_stream);
  uint32_t at = stream_address(v, w->ld_stream, rho, j, w->ld_half), *dst = s->reg[w->ld_dst];
  uint32_t p = v->lanes / 2;
  if (stream->kind == TG_STREAM_ACC) {
    memcpy(dst, tg_acc_row(v->state, v->tile, at), v->lanes * 4);
    return;
  }
  const uint8_t *flit = tg_pad_row(v->state, v->tile, at);
  if (stream->kind == TG_STREAM_FP32) memcpy(dst + (w->ld_half ? p : 0), flit, p * 4);
  for (uint32_t i = 0; i < v->lanes; i++) {
    if (stream->kind == TG_STREAM_BF16) dst[i] = element(flit, TG_FMT_BF16, i);
    if (stream->kind == TG_STREAM_FP16) dst[i] = element(flit, TG_FMT_FP16, i);
    if (stream->kind == TG_STREAM_SPLAT32) dst[i] = element(flit, TG_FMT_FP32, (uint32_t)stream->lane);
  }
}

static uint16_t narrowed(const vop *v, int64_t kind, uint32_t value, uint32_t rho, uint32_t j, uint32_t i) {
  if (kind == TG_STREAM_BF16SR) return tg_bf16_stochastic(value, drawn(v, rho, j, 0, i));
  return kind == TG_STREAM_BF16 ? tg_bf16_from_f32(value) : tg_fp16_from_f32(value);
}

static void store(const vop *v, const uint32_t *value, const tg_ucode *w, uint32_t rho, uint32_t j) {
  const tg_stream *stream = tg_stream_of(v->in, w->st_stream);
  uint8_t *flit = tg_pad_row(v->state, v->tile, stream_address(v, w->st_stream, rho, j, w->st_half));
  uint32_t p = v->lanes / 2;
  for (uint32_t i = 0; stream->kind == TG_STREAM_FP32 && i < p; i++) {
    uint32_t bits = tg_canonical(value[i + (w->st_half ? p : 0)]);
    memcpy(flit + 4 * i, &bits, 4);
  }
  for (uint32_t i = 0; stream->kind != TG_STREAM_FP32 && i < v->lanes; i++) {
    uint16_t half = narrowed(v, stream->kind, value[i], rho, j, i);
    memcpy(flit + 2 * i, &half, 2);
  }
}

/* The three slots of a word read the state before it; where load and ALU write one register, the ALU wins. */
static void step(const vop *v, slot *s, const tg_ucode *w, uint32_t rho, uint32_t j) {
  uint32_t result[TG_MAX_LANES] = {0}, stored[TG_MAX_LANES] = {0};
  if (w->alu_op != TG_ALU_nop) compute(v, s, w, rho, j, result);
  for (uint32_t i = 0; w->st_on && i < v->lanes; i++) stored[i] = operand(v, s, w->st_src, i);
  if (w->ld_on) load(v, s, w, rho, j);
  if (w->alu_op != TG_ALU_nop) memcpy(s->reg[w->alu_dst], result, v->lanes * 4);
  if (w->st_on) store(v, stored, w, rho, j);
}

static void vop_group(const vop *v, slot *slots, uint32_t first, uint32_t rows) {
  const uint64_t *words = v->state->section->tiles[v->tile].words;
  for (int q = 0; q < TG_SEGMENTS; q++) {
    bool repeat = v->in->seg_repeat >> q & 1;
    uint32_t times = repeat ? (uint32_t)(v->in->j_count[0] * v->in->j_count[1]) : 1;
    if (!v->in->seg_len[q]) continue;
    for (uint32_t j = 0; j < times; j++)
      for (int64_t i = 0; i < v->in->seg_len[q]; i++) {
        tg_ucode w = tg_ucode_decode(words[v->in->seg_begin[q] + i]);
        for (uint32_t r = 0; r < rows; r++) step(v, &slots[r], &w, first + r, j);
      }
  }
}

static void vop_run(const tg_kernels *kernels, tg_machine_state *state, uint32_t tile,
                    const tg_execution *x) {
  (void)kernels;
  vop v = {.state = state, .x = x, .in = &x->in->vx, .tile = tile, .lanes = tg_lanes(&state->params)};
  uint32_t in_flight = state->params.fma_latency, rows = (uint32_t)v.in->rows;
  slot slots[8]; /* the largest fma_latency */
  for (uint32_t first = 0; first < rows; first += in_flight) {
    memset(slots, 0, sizeof slots);
    vop_group(&v, slots, first, rows - first < in_flight ? rows - first : in_flight);
  }
}

static const tg_kernels reference = {.name = "reference", .gemm = gemm, .vop = vop_run};
const tg_kernels *tg_kernels_reference(void) { return &reference; }
