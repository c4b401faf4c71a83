/* The functional engine on small programs, and the reference semantics on cases worked out by hand. */
#include "sim/functional/exec.h"
#include "sim/functional/functional.h"
#include "sim/machine/numerics.h"
#include "tests/harness.h"
#include "tests/sim/kernel_cases.h"

#include <stdlib.h>

enum { M = 4, K = 4, N = 4 }; /* one FP32 stationary block of tiny (P = 4) */
enum { A_AT = 0, B_AT = 64, C_AT = 128, DRAM = 256 };

static tg_program *tiny_program(void) {
  tg_params params;
  if (tg_params_load("tiny", &params, NULL)) abort();
  tg_program *program = tg_program_create(&params);
  tg_program_add_section(program, "product");
  tg_program_add_invocation(program);
  program->dram_bytes = DRAM;
  return program;
}

/* LOAD of a 4x4 FP32 matrix into rows from `row` on of tile 0. */
static void load_matrix(tg_program *program, uint32_t agcu, int64_t address, int64_t row, int64_t semaphore) {
  tg_agcu_instr *in = &tg_queue_push(program, &program->sections[0].agcus[agcu].contexts[0])->agcu;
  in->op = TG_OP_agcu_load;
  in->offset = address;
  in->rows = in->take = 4;
  in->m_radix[0] = in->m_radix[1] = in->k_radix[0] = in->k_radix[1] = 1;
  in->m_radix[2] = in->k_radix[2] = 4;
  in->stride[2] = 16;
  in->stride[5] = 4;
  in->y_size = in->x_size = 1;
  in->dst_base = row;
  in->dst_inner = 4;
  in->dst_mask = 2;
  in->dst_post = 1;
  in->dst_sem = semaphore;
}

static void multiply(tg_program *program) {
  tg_mx_instr *in = &tg_queue_push(program, &program->sections[0].tiles[0].mx)->mx;
  in->op = TG_OP_mx_gemm;
  in->m_count[0] = 1;
  in->m_count[1] = M;
  for (int l = 0; l < 4; l++) in->blk_count[l] = 1;
  in->a_m[1] = 1;
  in->b_base = 600;
  in->b_row = 1;
  in->init = 1;
  in->k_chunk = in->k_total = K;
  in->wait_on[0] = in->wait_on[1] = 1;
  in->wait_sem[0] = 1;
  in->wait_sem[1] = 2;
  in->post_kind[0] = TG_POST_LOCAL;
  in->post_sem[0] = 3;
}

static void move_out(tg_program *program) {
  tg_section *section = &program->sections[0];
  section->tiles[0].words = TG_NEW_ARRAY(&program->arena, uint64_t, 2);
  section->tiles[0].word_count = 2;
  section->tiles[0].words[0] = tg_ucode_encode(&(tg_ucode){.ld_on = 1, .ld_dst = 5});
  section->tiles[0].words[1] = tg_ucode_encode(&(tg_ucode){.st_on = 1, .st_stream = 1, .st_src = 5});
  tg_vx_instr *vx = &tg_queue_push(program, &section->tiles[0].vx)->vx;
  vx->op = TG_OP_vx_vop;
  vx->rows = vx->row_count[2] = M;
  vx->row_count[0] = vx->row_count[1] = vx->j_count[0] = vx->j_count[1] = 1;
  vx->seg_len[0] = 2;
  vx->s0_kind = TG_STREAM_ACC;
  vx->s0_row[2] = 1;
  vx->s1_kind = TG_STREAM_FP32;
  vx->s1_store = 1;
  vx->s1_base = 1000;
  vx->s1_row[2] = 2;
  vx->wait_on[0] = vx->post_kind[0] = 1;
  vx->wait_sem[0] = 3;
  vx->post_sem[0] = 4;
  tg_tx_instr *tx = &tg_queue_push(program, &section->tiles[0].tx)->tx;
  tx->op = TG_OP_tx_send;
  tx->dir = TG_DIR_WEST;
  tx->flits = tx->dst_inner = M;
  tx->src_base = 1000;
  tx->src_inner = 1;
  tx->src_stride = 2;
  tx->dst_mask = tx->dst_post = tx->wait_on[0] = 1;
  tx->dst_sem = 7;
  tx->wait_sem[0] = 4;
}

static void store_matrix(tg_program *program) {
  tg_agcu_instr *in = &tg_queue_push(program, &program->sections[0].agcus[0].contexts[1])->agcu;
  tg_agcu_instr *load = &program->sections[0].agcus[0].contexts[0].instrs[0].agcu;
  *in = *load;
  in->op = TG_OP_agcu_store;
  in->offset = C_AT;
  in->dst_mask = in->dst_post = in->dst_sem = in->dst_base = 0;
  in->wait_on[0] = 1;
  in->wait_sem[0] = 7;
}

static tg_program *product_program(void) {
  tg_program *program = tiny_program();
  load_matrix(program, 0, A_AT, 0, 1);
  load_matrix(program, 2, B_AT, 600, 2); /* north AGCU of column 0 */
  multiply(program);
  move_out(program);
  store_matrix(program);
  return program;
}

static tg_status run(const tg_engine *engine, const tg_program *program, uint32_t threads, tg_dram **out_dram,
                     tg_diag *diag) {
  tg_run_options options = {.threads = threads, .record_events = true};
  tg_run_result result = {0};
  void *state = NULL;
  tg_status status = tg_program_check(program, diag);
  if (!status) status = tg_dram_create(program, out_dram, diag);
  if (status) return status;
  for (int i = 0; i < 32; i++) ((float *)(void *)(*out_dram)->bytes)[i] = (float)(i % 7 - 3);
  status = engine->open(program, &options, &state, diag);
  if (!status) status = engine->run(state, *out_dram, &options, &result, diag);
  if (!status) EXPECT_EQ(result.dram_written, 64); /* four rows of 16 bytes, one atom */
  engine->close(state);
  tg_run_result_release(&result);
  return status;
}

static void expect_product(const tg_engine *engine, uint32_t threads) {
  tg_program *program = product_program();
  tg_dram *dram = NULL;
  tg_diag diag = {""};
  EXPECT_EQ(run(engine, program, threads, &dram, &diag), TG_OK);
  EXPECT_STR(diag.message, "");
  const float *x = (const float *)(const void *)dram->bytes;
  for (int m = 0; m < M; m++)
    for (int n = 0; n < N; n++) {
      float sum = 0;
      for (int k = 0; k < K; k++) sum += (float)((4 * m + k) % 7 - 3) * (float)((16 + 4 * k + n) % 7 - 3);
      EXPECT(x[C_AT / 4 + 4 * m + n] == sum);
    }
  tg_dram_destroy(dram);
  tg_program_destroy(program);
}

TG_TEST(functional, product_through_every_unit) { expect_product(&tg_engine_functional, 1); }
TG_TEST(functional, product_on_two_threads) { expect_product(&tg_engine_functional, 2); }
TG_TEST(functional, product_on_the_reference_kernels) { expect_product(&tg_engine_reference, 0); }

static void expect_fault(tg_program *program, const char *part, const char *second_part) {
  tg_dram *dram = NULL;
  tg_diag diag = {""};
  EXPECT_EQ(run(&tg_engine_functional, program, 1, &dram, &diag), TG_FAULT);
  EXPECT_HAS(diag.message, part);
  EXPECT_HAS(diag.message, second_part);
  tg_dram_destroy(dram);
  tg_program_destroy(program);
}

TG_TEST(functional, deadlock_names_who_waits_for_what) {
  tg_program *program = product_program();
  program->sections[0].agcus[2].contexts[0].count = 0; /* B never comes */
  expect_fault(program, "deadlock in section 0 \"product\"", "tile 0 mx pc 0 [0 0 0] waits for semaphore 2;");
}

TG_TEST(functional, address_outside_the_scratchpad) {
  tg_program *program = product_program();
  program->sections[0].tiles[0].mx.instrs[0].mx.b_base = tg_pad_rows(&program->params) - 3;
  expect_fault(program, "tile 0 mx pc 0", "operand b reaches row 2048 of 2048");
}

TG_TEST(functional, address_outside_the_device_memory) {
  tg_program *program = product_program();
  program->sections[0].agcus[0].contexts[1].instrs[0].agcu.offset = DRAM - 32;
  expect_fault(program, "agcu 0 context 1 pc 0", "outside the 256 bytes");
}

TG_TEST(functional, semaphore_overflow) {
  tg_program *program = product_program();
  tg_tx_instr *in = &tg_queue_push(program, &program->sections[0].tiles[1].tx)->tx; /* SYNC in a loop */
  in->loop_count[0] = 256;
  in->post_kind[0] = TG_POST_ROW;
  in->post_pos[0] = 1;
  in->post_sem[0] = 9;
  expect_fault(program, "semaphore 9 of tile 0 exceeds 255", "tile 1 tx");
}

/* ---- reference semantics ---- */

static tg_program *reference_program(tg_machine_state **out_state) {
  tg_program *program = kernel_program(4);
  multiply(program);
  *out_state = tg_machine_create(&program->params);
  tg_machine_begin(*out_state, program, 0, 1, 0, NULL);
  return program;
}

static void run_gemm(tg_program *program, tg_machine_state *state) {
  tg_sequencer sequencer;
  tg_sequencer_init(&sequencer, TG_MX, &program->sections[0].tiles[0].mx);
  tg_execution x = tg_sequencer_peek(&sequencer);
  tg_exec_gemm(tg_kernels_reference(), state, 0, &x);
}

static void put(tg_machine_state *state, uint32_t row, uint32_t lane, float value) {
  memcpy(tg_pad_row(state, 0, row) + 4 * lane, &value, 4);
}

TG_TEST(reference, masked_k_keeps_minus_zero) {
  tg_machine_state *state;
  tg_program *program = reference_program(&state);
  tg_mx_instr *in = &program->sections[0].tiles[0].mx.instrs[0].mx;
  in->init = 0;
  in->k_chunk = 1;
  for (uint32_t n = 0; n < 8; n++) tg_acc_row(state, 0, 0)[n] = 0x80000000u;
  put(state, 0, 0, 0.0f); /* k = 0: +0 * -1 = -0, and -0 + -0 = -0; k = 1..3 would add +0 */
  put(state, 600, 0, -1.0f);
  put(state, 600, 1, 1.0f);
  run_gemm(program, state);
  EXPECT_BITS(tg_acc_row(state, 0, 0)[0], 0x80000000u);
  EXPECT_BITS(tg_acc_row(state, 0, 0)[1], 0);           /* +0 + -0 */
  EXPECT_BITS(tg_acc_row(state, 0, 0)[4], 0x80000000u); /* the other half is not touched */
  tg_machine_destroy(state);
  tg_program_destroy(program);
}

TG_TEST(reference, one_rounding_a_step) {
  tg_machine_state *state;
  tg_program *program = reference_program(&state);
  /* (1 + 2^-23)^2 - (1 + 2^-22) = 2^-46 only if the product is not rounded. */
  put(state, 0, 0, 1.0f);
  put(state, 0, 1, 0x1.000002p0f);
  put(state, 600, 0, -0x1.000004p0f);
  put(state, 601, 0, 0x1.000002p0f);
  run_gemm(program, state);
  EXPECT_BITS(tg_acc_row(state, 0, 0)[0], tg_f32_bits(0x1p-46f));
  tg_machine_destroy(state);
  tg_program_destroy(program);
}

TG_TEST(reference, transposed_rows_hold_the_k_of_a_column) {
  tg_machine_state *state;
  tg_program *program = reference_program(&state);
  program->sections[0].tiles[0].mx.instrs[0].mx.b_transposed = 1;
  put(state, 0, 2, 3.0f);       /* a[k = 2] */
  put(state, 600 + 1, 2, 5.0f); /* weight (k = 2, n = 1) */
  run_gemm(program, state);
  EXPECT_BITS(tg_acc_row(state, 0, 0)[1], tg_f32_bits(15.0f));
  EXPECT_BITS(tg_acc_row(state, 0, 0)[2], 0);
  tg_machine_destroy(state);
  tg_program_destroy(program);
}
