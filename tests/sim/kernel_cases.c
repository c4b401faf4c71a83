#include "tests/sim/kernel_cases.h"

#include "sim/machine/mx_shape.h"
#include "sim/machine/numerics.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

uint32_t kernel_random_bits(kernel_random *r) {
  uint64_t z = r->state += 0x9e3779b97f4a7c15ull;
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
  z = (z ^ z >> 27) * 0x94d049bb133111ebull;
  return (uint32_t)(z >> 32);
}
uint32_t kernel_random_below(kernel_random *r, uint32_t bound) {
  return (uint32_t)((uint64_t)kernel_random_bits(r) * bound >> 32);
}

tg_program *kernel_program(uint32_t p) {
  tg_params params;
  char assignment[32];
  snprintf(assignment, sizeof assignment, "p=%u", p);
  const char *const settings[] = {"rows=1", "cols=1", "bank_bytes=32768", "acc_bytes=65536", assignment};
  if (tg_params_load("tiny", &params, NULL)) abort();
  for (size_t i = 0; i < sizeof settings / sizeof *settings; i++) {
    tg_diag diag = {""};
    if (tg_params_set(&params, settings[i], &diag)) tg_die("%s", diag.message);
  }
  tg_program *program = tg_program_create(&params);
  tg_program_add_section(program, "cases");
  tg_invocation *invocation = tg_program_add_invocation(program);
  for (uint32_t i = 0; i < TG_BASES; i++) invocation->key_nodes[i] = 100 + i;
  return program;
}

static int64_t between(kernel_random *r, int64_t low, int64_t high) {
  return low + kernel_random_below(r, (uint32_t)(high - low + 1));
}

/* Block loops: two of columns and two of k in any order; columns write disjoint accumulators. */
static void gemm_blocks(tg_mx_instr *in, kernel_random *r, int64_t m) {
  bool fp32 = in->format == TG_FMT_FP32, halves = fp32 && kernel_random_below(r, 2);
  in->k_loops = (int64_t[]){3, 5, 9, 6, 10, 12}[kernel_random_below(r, 6)];
  int64_t rows = m;
  bool alternates = halves;
  for (int l = 3; l >= 0; l--) {
    bool k = in->k_loops >> l & 1;
    in->blk_count[l] = between(r, 1, k ? 5 : 4);
    in->a_blk[l] = between(r, -7, 40);
    in->b_blk[l] = between(r, -9, 70);
    if (k) continue;
    in->sr_col_blk[l] = between(r, 0, 64);
    if (alternates) { /* innermost column loop: the other half of the same rows */
      in->blk_count[l] = 2;
      in->h_blk[l] = 1;
      alternates = false;
      continue;
    }
    in->c_blk[l] = rows;
    rows *= in->blk_count[l];
  }
  in->col_half = fp32 && !halves ? between(r, 0, 1) : 0;
}

void kernel_add_gemm(tg_program *program, kernel_random *r, int format, unsigned style) {
  uint32_t s = tg_mx_stationary(&program->params, format);
  tg_mx_instr *in = &tg_queue_push(program, &program->sections[0].tiles[0].mx)->mx;
  in->op = TG_OP_mx_gemm;
  in->format = format;
  in->m_count[0] = between(r, 1, 3);
  in->m_count[1] = between(r, 1, 50);
  gemm_blocks(in, r, in->m_count[0] * in->m_count[1]);
  int64_t ksteps = 1;
  for (int l = 0; l < 4; l++)
    if (in->k_loops >> l & 1) ksteps *= in->blk_count[l];
  in->a_base = 400;
  in->b_base = 1200;
  in->c_base = between(r, 0, 9);
  in->a_m[0] = between(r, -5, 60);
  in->a_m[1] = between(r, -2, 3);
  in->b_row = between(r, 1, 3);
  in->a_transposed = between(r, 0, 2) == 0;
  in->b_transposed = (style & KERNEL_TRANSPOSED) != 0;
  in->init = between(r, 0, 1);
  in->init_levels = between(r, 0, 7);
  in->k_chunk = between(r, 0, ksteps * s + 3);
  in->k_total = between(r, in->k_chunk / 2, in->k_chunk + 9);
  in->sr = (style & KERNEL_SR) != 0;
  if (in->sr && in->k_chunk > ksteps * s) in->k_chunk = ksteps * s;
  in->sr_k = between(r, 1, between(r, 0, 1) ? s : 4 * s);
  in->sr_end = between(r, 0, 1);
  in->sr_end_last = between(r, 0, 1);
  in->sr_transposed = between(r, 0, 1);
  in->sr_key = between(r, 0, TG_BASES - 1);
  in->sr_tile = between(r, 0, 1000);
  in->sr_row_skip = between(r, 0, 1) ? kernel_random_bits(r) : 0;
  in->sr_row = kernel_random_bits(r);
  in->sr_col = kernel_random_bits(r);
}

static tg_ucode random_word(kernel_random *r) {
  tg_ucode w = {0};
  w.alu_op = (uint8_t)kernel_random_below(r, TG_ALU_COUNT);
  w.alu_dst = (uint8_t)kernel_random_below(r, 8);
  uint8_t *operands[] = {&w.alu_a, &w.alu_b, &w.alu_c, &w.st_src};
  for (int i = 0; i < 4; i++)
    *operands[i] = (uint8_t)(kernel_random_below(r, 6) ? kernel_random_below(r, 8)
                                                       : TG_CONST0 + kernel_random_below(r, 64));
  w.ld_on = kernel_random_below(r, 2);
  w.ld_stream = (uint8_t)kernel_random_below(r, 5);
  w.ld_dst = (uint8_t)kernel_random_below(r, 8);
  w.ld_half = kernel_random_below(r, 2);
  w.st_on = kernel_random_below(r, 3) == 0;
  w.st_stream = 5;
  w.st_half = kernel_random_below(r, 2);
  return w;
}

/* Streams 0..4 load every kind; stream 5 stores, each row and j to a place of its own. */
static void vop_streams(tg_vx_instr *in, kernel_random *r, uint32_t p) {
  static const int kinds[] = {TG_STREAM_FP32, TG_STREAM_BF16, TG_STREAM_FP16, TG_STREAM_ACC,
                              TG_STREAM_SPLAT32};
  for (int t = 0; t < 5; t++) {
    tg_stream *s = tg_stream_of_mut(in, t);
    s->kind = kinds[t];
    s->at.base = 200;
    for (int d = 0; d < 3; d++) s->row[d] = between(r, -3, 5);
    for (int d = 0; d < 2; d++) s->j[d] = between(r, -3, 5);
    s->lane = between(r, 0, p - 1);
  }
  tg_stream *s = tg_stream_of_mut(in, 5);
  s->kind = (int64_t[]){TG_STREAM_FP32, TG_STREAM_BF16, TG_STREAM_FP16, TG_STREAM_BF16SR}[between(r, 0, 3)];
  s->store = 1;
  s->at.base = 800;
  s->j[1] = 2;
  s->j[0] = 2 * in->j_count[1];
  s->row[2] = s->j[0] * in->j_count[0];
  s->row[1] = s->row[2] * in->row_count[2];
  s->row[0] = s->row[1] * in->row_count[1];
}

void kernel_add_vop(tg_program *program, kernel_random *r) {
  tg_tile_program *tile = &program->sections[0].tiles[0];
  if (!tile->words) {
    tile->words = TG_NEW_ARRAY(&program->arena, uint64_t, program->params.microcode_words);
    tile->constants = TG_NEW_ARRAY(&program->arena, uint32_t, 64);
    tile->constant_count = 64;
    for (int i = 0; i < 60; i++)
      tile->constants[i] = i % 2 ? kernel_random_bits(r) : tg_f32_bits((float)(i - 20) * 0.75f);
  }
  tg_vx_instr *in = &tg_queue_push(program, &tile->vx)->vx;
  in->op = TG_OP_vx_vop;
  in->rows = between(r, 0, 13);
  for (int d = 0; d < 3; d++) in->row_count[d] = between(r, 1, 4);
  for (int d = 0; d < 2; d++) in->j_count[d] = between(r, 1, 4);
  in->seg_repeat = between(r, 0, 63);
  in->tail_step = between(r, 0, 40);
  in->tail_n = between(r, 0, 100);
  vop_streams(in, r, program->params.p);
  in->sr_key = between(r, 0, TG_BASES - 1);
  in->sr_tile = between(r, 0, 1000);
  in->sr_row = kernel_random_bits(r);
  in->sr_col = kernel_random_bits(r);
  for (int l = 0; l < 3; l++) in->sr_row_row[l] = between(r, 0, 99);
  for (int l = 0; l < 3; l++) in->sr_tile_delta[l] = between(r, 0, 1000);
  for (int d = 0; d < 3; d++)
    in->sr_col_row[d] = between(r, 0, 1) ? between(r, 0, 99) : kernel_random_bits(r);
  for (int d = 0; d < 2; d++) in->sr_col_j[d] = between(r, 0, 99);
  for (int q = 0; q < TG_SEGMENTS; q++) {
    in->seg_begin[q] = tile->word_count;
    in->seg_len[q] = between(r, 0, 4);
    for (int64_t i = 0; i < in->seg_len[q]; i++) {
      tg_ucode w = random_word(r);
      tile->words[tile->word_count++] = tg_ucode_encode(&w);
    }
  }
}

static uint32_t ordinary(kernel_random *r) {
  return tg_f32_bits((float)(int32_t)kernel_random_bits(r) * (1.0f / 2147483648.0f));
}

void kernel_fill(tg_machine_state *state, kernel_random *r, int format, bool any_bits) {
  size_t words = (size_t)tg_pad_rows(&state->params) * tg_flit_bytes(&state->params) / 4;
  uint32_t *pad = (uint32_t *)(void *)state->tiles[0].pad;
  for (size_t i = 0; i < words; i++) {
    uint32_t bits = kernel_random_bits(r), a = ordinary(r), b = ordinary(r);
    if (tg_mx_element_bytes(format) == 4) pad[i] = a;
    if (format == TG_FMT_BF16) pad[i] = tg_bf16_from_f32(a) | (uint32_t)tg_bf16_from_f32(b) << 16;
    if (format == TG_FMT_FP16) pad[i] = tg_fp16_from_f32(a) | (uint32_t)tg_fp16_from_f32(b) << 16;
    if (any_bits && kernel_random_below(r, 32) == 0) pad[i] = bits;
  }
  size_t values = (size_t)2 * tg_acc_rows(&state->params) * tg_lanes(&state->params);
  for (size_t i = 0; i < values; i++)
    state->tiles[0].acc[i] =
        any_bits && kernel_random_below(r, 16) == 0 ? tg_canonical(kernel_random_bits(r)) : ordinary(r);
}
