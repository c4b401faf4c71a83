/* Conversions of the functional engine's kernels, native and reference, as operations and as stores of a VOP,
 * against double arithmetic (tests/rtl/vectors.h): a sample of all FP32 inputs, or, with TEGULA_ALL_INPUTS
 * set, all of them through the native kernels. */
#include "sim/machine/isa.h"
#include "sim/machine/numerics.h"
#include "tests/harness.h"
#include "tests/rtl/vectors.h"
#include "tests/sim/kernel_cases.h"

#include <stdlib.h>

enum {
  P = 16,
  ROWS = 512,
  VALUES = ROWS * 2 * P
}; /* of one VOP; a row is two flits of FP32 or one of 16 bits */
enum { AT_BF16, AT_FP16 = 2 * ROWS, AT_TF32 = 4 * ROWS, AT_HALF_BF16 = 6 * ROWS, AT_HALF_FP16 = 7 * ROWS };

static void add_vop(tg_program *program) {
  static const tg_ucode words[] = {
      {.ld_on = 1, .ld_stream = 0, .ld_dst = 0},
      {.alu_op = TG_ALU_rndbf16, .alu_dst = 1, .st_on = 1, .st_stream = 4, .st_src = 0},
      {.alu_op = TG_ALU_rndfp16, .alu_dst = 2, .st_on = 1, .st_stream = 5, .st_src = 0},
      {.alu_op = TG_ALU_rndtf32, .alu_dst = 3, .st_on = 1, .st_stream = 1, .st_src = 1},
      {.st_on = 1, .st_stream = 1, .st_src = 1, .st_half = 1},
      {.st_on = 1, .st_stream = 2, .st_src = 2},
      {.st_on = 1, .st_stream = 2, .st_src = 2, .st_half = 1},
      {.st_on = 1, .st_stream = 3, .st_src = 3},
      {.st_on = 1, .st_stream = 3, .st_src = 3, .st_half = 1}};
  static const int64_t bases[] = {0, AT_BF16, AT_FP16, AT_TF32, AT_HALF_BF16, AT_HALF_FP16};
  static const int64_t kinds[] = {TG_STREAM_ACC,  TG_STREAM_FP32, TG_STREAM_FP32,
                                  TG_STREAM_FP32, TG_STREAM_BF16, TG_STREAM_FP16};
  tg_tile_program *tile = &program->sections[0].tiles[0];
  tile->words = TG_NEW_ARRAY(&program->arena, uint64_t, program->params.microcode_words);
  tg_vx_instr *in = &tg_queue_push(program, &tile->vx)->vx;
  in->op = TG_OP_vx_vop;
  in->rows = in->row_count[2] = ROWS;
  in->row_count[0] = in->row_count[1] = in->j_count[0] = in->j_count[1] = 1;
  in->seg_len[0] = sizeof words / sizeof *words;
  for (int64_t i = 0; i < in->seg_len[0]; i++) tile->words[tile->word_count++] = tg_ucode_encode(&words[i]);
  for (int t = 0; t < 6; t++) {
    tg_stream *s = tg_stream_of_mut(in, t);
    s->kind = kinds[t];
    s->store = t > 0;
    s->at.base = bases[t];
    s->row[2] = kinds[t] == TG_STREAM_FP32 ? 2 : 1;
  }
}

typedef struct run {
  tg_program *program;
  tg_machine_state *state;
  tg_execution x;
  bool good;
} run;

static uint32_t word_at(const run *t, uint32_t flit, uint32_t i) {
  uint32_t word;
  memcpy(&word, tg_pad_row(t->state, 0, flit) + (size_t)4 * i, 4);
  return word;
}
static uint32_t half_at(const run *t, uint32_t flit, uint32_t i) {
  uint16_t half;
  memcpy(&half, tg_pad_row(t->state, 0, flit) + (size_t)2 * i, 2);
  return half;
}

static void expect(run *t, const char *what, uint32_t x, uint32_t got, uint32_t expected) {
  if (got == expected || !t->good) return;
  tg_test_fail(__FILE__, __LINE__, "%s of %08x is %08x, expected %08x", what, x, got, expected);
  t->good = false;
}

/* VALUES inputs, `step` apart. */
static void convert(run *t, const tg_kernels *kernels, uint32_t first, uint32_t step) {
  const tg_rtl_format *bf16 = tg_rtl_format_named("bf16"), *fp16 = tg_rtl_format_named("fp16");
  const tg_rtl_format *tf32 = tg_rtl_format_named("tf32");
  uint32_t *inputs = tg_acc_row(t->state, 0, 0);
  for (uint32_t i = 0; i < VALUES; i++) inputs[i] = first + i * step;
  tg_exec_vop(kernels, t->state, 0, &t->x);
  for (uint32_t i = 0; t->good && i < VALUES; i++) {
    uint32_t x = first + i * step;
    double value = tg_bits_f32(x);
    uint32_t b = tg_rounded(bf16, value), h = tg_rounded(fp16, value);
    expect(t, "rndbf16", x, word_at(t, AT_BF16, i), b << 16);
    expect(t, "rndfp16", x, word_at(t, AT_FP16, i), tg_canonical(tg_widened(fp16, h)));
    expect(t, "rndtf32", x, word_at(t, AT_TF32, i), tg_rounded(tf32, value));
    expect(t, "BF16 store", x, half_at(t, AT_HALF_BF16, i), b);
    expect(t, "FP16 store", x, half_at(t, AT_HALF_FP16, i), h);
  }
}

static bool open_run(run *t, tg_kernels **native) {
  tg_diag diag = {""};
  t->good = true;
  t->program = kernel_program(P);
  add_vop(t->program);
  if (tg_program_check(t->program, &diag) || tg_kernels_prepare(t->program, native, &diag)) {
    tg_test_fail(__FILE__, __LINE__, "%s", diag.message);
    tg_program_destroy(t->program);
    return false;
  }
  t->state = tg_machine_create(&t->program->params);
  tg_machine_begin(t->state, t->program, 0, 0, 0, NULL);
  tg_sequencer sequencer;
  tg_sequencer_init(&sequencer, TG_VX, &t->program->sections[0].tiles[0].vx);
  t->x = tg_sequencer_peek(&sequencer);
  if (!tg_exec_check(t->state, 0, TG_VX, &t->x, &diag)) return true;
  tg_test_fail(__FILE__, __LINE__, "%s", diag.message);
  t->good = false;
  return true;
}

TG_TEST(conversions, kernels_against_double_arithmetic) {
  run t;
  tg_kernels *native = NULL;
  if (!open_run(&t, &native)) return;
  bool all = getenv("TEGULA_ALL_INPUTS") != NULL;
  uint64_t batches = all ? (1ull << 32) / VALUES : 0;
  for (uint64_t i = 0; t.good && i < batches; i++) convert(&t, native, (uint32_t)(i * VALUES), 1);
  const tg_kernels *both[] = {native, tg_kernels_reference()};
  for (int k = 0; k < 2; k++) {
    for (uint32_t i = 0; t.good && i < 4; i++) convert(&t, both[k], i * 0x1000, 0x40001); /* over all */
    for (uint32_t i = 0; t.good && i < 8; i++) /* subnormals of FP16, its overflow, NaN; and negative */
      convert(&t, both[k], (uint32_t[]){0x33000000, 0x387f0000, 0x477fe000, 0x7f7fe000}[i / 2] | i % 2 << 31,
              5);
  }
  tg_machine_destroy(t.state);
  tg_kernels_destroy(native);
  tg_program_destroy(t.program);
}
