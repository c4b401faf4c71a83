/* What instructions touch, by hand, and how often they are executed, by a sequencer that is let run. */
#include "sim/machine/access.h"
#include "tests/harness.h"

#include <stdio.h>
#include <string.h>

static void expect_accesses(tg_unit unit, const char *text, const uint64_t *words, const char *wanted) {
  tg_params params;
  tg_instr in = {0};
  tg_diag diag = {""};
  EXPECT_EQ(tg_params_load("tiny", &params, &diag), TG_OK);
  EXPECT_EQ(tg_instr_parse(unit, text, &in, &diag), TG_OK);
  EXPECT_STR(diag.message, "");
  tg_tile_program tile = {.words = (uint64_t *)(uintptr_t)words};
  tg_accesses all;
  tg_instr_accesses(&params, &tile, unit, &in, &all);
  char found[400] = "";
  for (uint32_t i = 0; i < all.count; i++) {
    const tg_access *a = &all.access[i];
    static const char *const memories[] = {"pad", "acc", "store", "index", "arrival"};
    size_t at = strlen(found);
    snprintf(found + at, sizeof found - at, "%s%s %s %lld..%lld", at ? ", " : "", a->name,
             memories[a->memory], (long long)a->low, (long long)a->high);
  }
  EXPECT_STR(found, wanted);
}

/* S = P = 4. Rows of A: up to 100 + 4 * 3, blocks go down by 2 * 7. Of B: 3 * 2 and a block of 50. Of C: 10 rows, a block of 10. */
TG_TEST(accesses, gemms) {
  expect_accesses(TG_MX,
                  "gemm format=fp32 m_count=2,5 blk_count=1,1,2,3 a_m=100,3 a_blk=0,0,0,-7 b_row=2 "
                  "b_blk=0,0,50,0 c_blk=0,0,10,0",
                  NULL, "operand a pad -14..112, operand b pad 0..56, accumulator operand c acc 0..19");
  /* S = 8, and two bank rows of each. */
  expect_accesses(TG_MX, "gemm format=tf32 m_count=1,10 blk_count=1,1,1,1 a_m=500,2 b_row=-2", NULL,
                  "operand a pad 0..19, operand b pad -14..1, accumulator operand c acc 0..9");
  /* Ten rows are two groups of S = 8; in each the rows of 8 k. */
  expect_accesses(TG_MX, "gemm format=fp16 m_count=1,10 blk_count=1,1,1,1 a_m=20,1 a_transposed=1 b_row=1",
                  NULL, "operand a pad 0..27, operand b pad 0..7, accumulator operand c acc 0..9");
}

/* Segment 0 once, 1 for each of 2 * 3 repeats. s1 has the upper half of pairs of rows alone, which go up by 8 and by 20, and down by
 * 2; s4 both halves; s0 and s2 one row; of s3 nothing is used. */
TG_TEST(accesses, vops) {
  const uint64_t words[] = {
      tg_ucode_encode(&(tg_ucode){.ld_on = 1, .ld_stream = 1, .ld_half = 1}),
      tg_ucode_encode(&(tg_ucode){.ld_on = 1, .ld_stream = 0}),
      tg_ucode_encode(&(tg_ucode){.ld_on = 1, .ld_stream = 1, .ld_half = 1, .st_on = 1, .st_stream = 2}),
      tg_ucode_encode(&(tg_ucode){.ld_on = 1, .ld_stream = 4}),
      tg_ucode_encode(&(tg_ucode){.ld_on = 1, .ld_stream = 4, .ld_half = 1})};
  expect_accesses(TG_VX,
                  "vop rows=5 row_count=1,1,5 j_count=2,3 seg_begin=1,2 seg_len=1,3 seg_repeat=2 "
                  "s0_kind=acc s0_row=0,0,3 s0_j=7,7 s1_kind=fp32 s1_row=0,0,2 s1_j=20,-1 "
                  "s2_kind=bf16 s2_row=0,0,2 s2_store=1 s3_kind=bf16 s4_kind=fp32 s4_row=0,0,2",
                  words, "stream s0 acc 0..12, stream s1 pad -1..29, stream s2 pad 0..8, stream s4 pad 0..9");
  expect_accesses(TG_VX,
                  "vop rows=5 row_count=1,1,5 j_count=2,3 seg_begin=0 seg_len=1 s0_kind=acc s1_kind=fp32 "
                  "s1_row=0,0,2 s1_j=20,-1",
                  words, "stream s1 pad 1..9");
  /* 7 rows of a count by 2 and 3: the last is row 0 of the third pair of three. */
  expect_accesses(TG_VX,
                  "vop rows=7 row_count=9,2,3 seg_begin=1 seg_len=1 s0_kind=acc s0_row=50,-20,3 j_count=1,1",
                  words, "stream s0 acc -20..50");
}

/* Patterns: runs of 4 rows, the next 10 behind. */
TG_TEST(accesses, transfers) {
  expect_accesses(TG_TX, "send flits=10 src_inner=4 src_stride=10 dst_inner=100 dst_mask=4", NULL,
                  "source pad 0..21, destination arrival 0..9");
  expect_accesses(TG_AGCU,
                  "load rows=3 take=5 k_radix=1,1,5 m_radix=1,1,3 dst_inner=4 dst_stride=-10 dst_mask=2 "
                  "index_size=8",
                  NULL, "index index 0..2, destination arrival -10..3");
  expect_accesses(TG_AGCU, "store rows=3 take=5 k_radix=1,1,5 m_radix=1,1,3", NULL, "source store 0..5");
  expect_accesses(TG_AGCU, "sync", NULL, "");
}

/* Loops of all levels: 3 and 4 are in the loop of level 2, with 2 in that of level 1, and all from 1 on in that of level 0. */
TG_TEST(accesses, executions) {
  static const char *const texts[] = {"sync", "sync loop_count=0,0,5 loop_begin=0,0,1", "sync",
                                      "sync", "sync loop_count=2,3,4 loop_begin=1,2,3", "sync"};
  enum { COUNT = sizeof texts / sizeof *texts };
  tg_instr instrs[COUNT] = {0};
  tg_queue queue = {.instrs = instrs, .count = COUNT};
  uint64_t times[COUNT] = {0};
  for (int i = 0; i < COUNT; i++) EXPECT_EQ(tg_instr_parse(TG_MX, texts[i], &instrs[i], NULL), TG_OK);
  tg_sequencer sequencer;
  for (tg_sequencer_init(&sequencer, TG_MX, &queue); !tg_sequencer_done(&sequencer);
       tg_sequencer_step(&sequencer))
    times[tg_sequencer_peek(&sequencer).pc]++;
  EXPECT_EQ(times[4], 24);
  for (uint32_t i = 0; i < COUNT; i++) EXPECT_EQ(tg_queue_executions(&queue, i), times[i]);
}
