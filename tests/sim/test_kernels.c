/* The native kernels against the plain C reference: random instructions, equal bits. */
#include "tests/harness.h"
#include "tests/sim/kernel_cases.h"

#include <stdio.h>
#include <stdlib.h>

static const uint32_t sizes[] = {2, 4, 8, 16};

typedef struct pair {
  tg_program *program;
  tg_machine_state *native, *reference;
  tg_kernels *kernels;
} pair;

static bool pair_open(pair *p, tg_program *program) {
  tg_diag diag = {""};
  p->program = program;
  p->kernels = NULL;
  if (tg_program_check(program, &diag) || tg_kernels_prepare(program, &p->kernels, &diag)) {
    tg_test_fail(__FILE__, __LINE__, "%s", diag.message);
    return false;
  }
  p->native = tg_machine_create(&program->params);
  p->reference = tg_machine_create(&program->params);
  return true;
}

static void pair_close(pair *p) {
  tg_kernels_destroy(p->kernels);
  tg_machine_destroy(p->native);
  tg_machine_destroy(p->reference);
  tg_program_destroy(p->program);
}

static void same_start(pair *p, kernel_random *r, int format, bool any_bits) {
  const tg_params *m = &p->program->params;
  tg_machine_begin(p->native, p->program, 0, 7, 3, NULL);
  tg_machine_begin(p->reference, p->program, 0, 7, 3, NULL);
  kernel_fill(p->native, r, format, any_bits);
  memcpy(p->reference->tiles[0].pad, p->native->tiles[0].pad, (size_t)tg_pad_rows(m) * tg_flit_bytes(m));
  memcpy(p->reference->tiles[0].acc, p->native->tiles[0].acc, (size_t)2 * tg_acc_rows(m) * tg_lanes(m) * 4);
}

/* First differing word of two memories, or -1. */
static long first_difference(const void *a, const void *b, size_t words) {
  const uint32_t *x = a, *y = b;
  for (size_t i = 0; i < words; i++)
    if (x[i] != y[i]) return (long)i;
  return -1;
}

static bool compare(const pair *p, const char *what, uint32_t pc) {
  const tg_params *m = &p->program->params;
  const tg_tile_state *x = p->native->tiles, *y = p->reference->tiles;
  long acc = first_difference(x->acc, y->acc, (size_t)2 * tg_acc_rows(m) * tg_lanes(m));
  long pad = first_difference(x->pad, y->pad, (size_t)tg_pad_rows(m) * m->p);
  if (acc >= 0)
    tg_test_fail(__FILE__, __LINE__, "%s %u, P = %u: accumulator row %ld lane %ld is %08x, reference %08x",
                 what, pc, m->p, acc / tg_lanes(m), acc % tg_lanes(m), x->acc[acc], y->acc[acc]);
  if (pad >= 0)
    tg_test_fail(__FILE__, __LINE__, "%s %u, P = %u: scratchpad row %ld word %ld is %08x, reference %08x",
                 what, pc, m->p, pad / m->p, pad % m->p, ((const uint32_t *)(const void *)x->pad)[pad],
                 ((const uint32_t *)(const void *)y->pad)[pad]);
  return acc < 0 && pad < 0;
}

/* Runs every instruction of a queue on both. Returns how many ran. */
static uint32_t run_queue(pair *p, tg_unit unit, const tg_queue *queue) {
  tg_sequencer sequencer;
  tg_sequencer_init(&sequencer, unit, queue);
  uint32_t ran = 0;
  for (; !tg_sequencer_done(&sequencer); tg_sequencer_step(&sequencer)) {
    tg_execution x = tg_sequencer_peek(&sequencer);
    tg_diag diag = {""};
    if (tg_exec_check(p->native, 0, unit, &x, &diag)) continue;
    ran++;
    void (*run)(const tg_kernels *, tg_machine_state *, uint32_t, const tg_execution *) =
        unit == TG_MX ? tg_exec_gemm : tg_exec_vop;
    run(p->kernels, p->native, 0, &x);
    run(tg_kernels_reference(), p->reference, 0, &x);
    if (!compare(p, unit == TG_MX ? "gemm" : "vop", x.pc)) break;
  }
  return ran;
}

static void gemms(int format, unsigned style, bool any_bits, uint64_t seed) {
  for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
    kernel_random r = {seed + 1000 * s};
    tg_program *program = kernel_program(sizes[s]);
    for (int i = 0; i < 12; i++)
      kernel_add_gemm(program, &r, format, style | (i % 3 == 2 ? (unsigned)KERNEL_TRANSPOSED : 0));
    pair p;
    if (!pair_open(&p, program)) return;
    same_start(&p, &r, format, any_bits);
    EXPECT(run_queue(&p, TG_MX, &program->sections[0].tiles[0].mx) >= 8);
    pair_close(&p);
  }
}

TG_TEST(kernels, gemm_fp32_equals_the_reference) { gemms(TG_FMT_FP32, 0, false, 1); }
TG_TEST(kernels, gemm_bf16_equals_the_reference) { gemms(TG_FMT_BF16, 0, false, 2); }
TG_TEST(kernels, gemm_fp16_equals_the_reference) { gemms(TG_FMT_FP16, 0, false, 3); }
TG_TEST(kernels, gemm_tf32_equals_the_reference) { gemms(TG_FMT_TF32, 0, false, 10); }
TG_TEST(kernels, gemm_with_specials_and_subnormals) {
  gemms(TG_FMT_FP32, 0, true, 4);
  gemms(TG_FMT_BF16, 0, true, 5);
  gemms(TG_FMT_FP16, 0, true, 6);
  gemms(TG_FMT_TF32, 0, true, 11);
}
TG_TEST(kernels, gemm_with_stochastic_rounding) {
  gemms(TG_FMT_FP32, KERNEL_SR, false, 7);
  gemms(TG_FMT_BF16, KERNEL_SR, true, 8);
  gemms(TG_FMT_FP16, KERNEL_SR, true, 9);
  gemms(TG_FMT_TF32, KERNEL_SR, true, 12);
}

TG_TEST(kernels, random_microprograms_equal_the_reference) {
  for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
    for (uint64_t seed = 0; seed < 3; seed++) {
      kernel_random r = {seed + 77 * s};
      tg_program *program = kernel_program(sizes[s]);
      for (int i = 0; i < 14; i++) kernel_add_vop(program, &r);
      pair p;
      if (!pair_open(&p, program)) return;
      same_start(&p, &r, (int)(seed % 3), true);
      EXPECT(run_queue(&p, TG_VX, &program->sections[0].tiles[0].vx) >= 8);
      pair_close(&p);
    }
  }
}

/* Every operation on special values crossed, seen whole and shifted (so that the bits of a NaN show). */
static const uint32_t specials[] = {
    0,          0x80000000, 1,          0x80000001, 0x007fffff, 0x00800000, 0x3f800000, 0xbf800000,
    0x3effffff, 0x3f000000, 0xbf000000, 0x3fc00000, 0x40200000, 0x4effffff, 0x4f000000, 0xcf000000,
    0xcf000001, 0x7f7fffff, 0xff7fffff, 0x7f800000, 0xff800000, 0x7fc00000, 0xffc00000, 0x7f800001,
    0xff812345, 0x7fffffff, 0x477fe000, 0x477fefff, 0x477ff000, 0x33000000, 0x33000001, 0x387fe000};
enum { SPECIALS = sizeof specials / sizeof *specials, ROWS = SPECIALS * SPECIALS / 16 };

static void add_operation(tg_program *program, int op) {
  tg_tile_program *tile = &program->sections[0].tiles[0];
  const tg_ucode words[] = {{.ld_on = 1, .ld_stream = 0, .ld_dst = 0},
                            {.ld_on = 1, .ld_stream = 1, .ld_dst = 1},
                            {.ld_on = 1, .ld_stream = 2, .ld_dst = 2},
                            {.alu_op = (uint8_t)op, .alu_dst = 3, .alu_a = 0, .alu_b = 1, .alu_c = 2},
                            {.alu_op = TG_ALU_shr,
                             .alu_dst = 4,
                             .alu_a = 3,
                             .alu_b = TG_CONST0,
                             .st_on = 1,
                             .st_stream = 3,
                             .st_src = 3},
                            {.st_on = 1, .st_stream = 3, .st_src = 3, .st_half = 1},
                            {.st_on = 1, .st_stream = 4, .st_src = 4},
                            {.st_on = 1, .st_stream = 4, .st_src = 4, .st_half = 1}};
  tg_vx_instr *in = &tg_queue_push(program, &tile->vx)->vx;
  in->op = TG_OP_vx_vop;
  in->rows = in->row_count[2] = ROWS;
  in->row_count[0] = in->row_count[1] = in->j_count[0] = in->j_count[1] = 1;
  in->tail_n = 40;
  in->seg_begin[0] = tile->word_count;
  in->seg_len[0] = sizeof words / sizeof *words;
  for (int64_t i = 0; i < in->seg_len[0]; i++) tile->words[tile->word_count++] = tg_ucode_encode(&words[i]);
  for (int t = 0; t < 5; t++) {
    tg_stream *s = tg_stream_of_mut(in, t);
    s->kind = t < 3 ? TG_STREAM_ACC : TG_STREAM_FP32;
    s->store = t >= 3;
    s->at.base = t < 3 ? t * ROWS : (t - 3) * 2 * ROWS;
    s->row[2] = t < 3 ? 1 : 2;
  }
}

static void fill_specials(tg_machine_state *state) {
  for (uint32_t i = 0; i < SPECIALS * SPECIALS; i++) {
    uint32_t a = i / SPECIALS, b = i % SPECIALS;
    tg_acc_row(state, 0, 0)[i] = specials[a];
    tg_acc_row(state, 0, ROWS)[i] = specials[b];
    tg_acc_row(state, 0, 2 * ROWS)[i] = specials[(7 * a + 13 * b + i / 100) % SPECIALS];
  }
}

TG_TEST(kernels, every_operation_on_special_values) {
  for (int first = 1; first < TG_ALU_COUNT; first += 10) {
    tg_program *program = kernel_program(8);
    tg_tile_program *tile = &program->sections[0].tiles[0];
    tile->words = TG_NEW_ARRAY(&program->arena, uint64_t, program->params.microcode_words);
    tile->constants = TG_NEW_ARRAY(&program->arena, uint32_t, 64);
    tile->constant_count = 64;
    for (uint32_t i = 0; i < 64; i++) tile->constants[i] = 1 + i * 0x01010101u * (i > 0);
    for (int op = first; op < first + 10 && op < TG_ALU_COUNT; op++) add_operation(program, op);
    pair p;
    if (!pair_open(&p, program)) return;
    kernel_random r = {3};
    same_start(&p, &r, TG_FMT_FP32, false);
    fill_specials(p.native);
    fill_specials(p.reference);
    EXPECT_EQ(run_queue(&p, TG_VX, &tile->vx), tile->vx.count);
    pair_close(&p);
  }
}
