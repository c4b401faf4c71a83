/* What softmax costs on the vector units: ALU operations for each element of a long row, counted in the
 * program. */
#include "tests/harness.h"
#include "tests/mapper/run_graph.h"

#include <stdio.h>

/* ALU operations of the segments that repeat, weighted with how often, for each vector of a row. */
static double operations_a_vector(const tg_program *program, int64_t vectors) {
  const tg_tile_program *tile = &program->sections[0].tiles[0];
  int64_t operations = 0;
  for (uint32_t i = 0; i < tile->vx.count; i++) {
    const tg_vx_instr *in = &tile->vx.instrs[i].vx;
    if (in->op != TG_OP_vx_vop) continue;
    for (int q = 0; q < TG_SEGMENTS; q++)
      for (int64_t w = in->seg_begin[q]; w < in->seg_begin[q] + in->seg_len[q]; w++)
        if ((in->seg_repeat >> q & 1) && tg_ucode_decode(tile->words[w]).alu_op != TG_ALU_nop)
          operations += in->j_count[0] * in->j_count[1];
  }
  return (double)operations / (double)vectors;
}

static double operations_of(const char *dtype, const char *arch, int64_t columns) {
  char text[200];
  snprintf(text, sizeof text,
           "graph \"g\"\ninput %%x: %s[64,%lld]\n%%y = Softmax(%%x) axis=-1 @1\noutput \"y\" %%y: %s\n",
           dtype, (long long)columns, dtype);
  tg_diag diag = {""};
  tg_arena arena = {0};
  mapped m;
  run_case what = {.text = text, .arch = arch, .run = {.threads = 1}};
  double operations = 0;
  if (run_text(&what, &m, &arena, &diag))
    tg_test_fail(__FILE__, __LINE__, "%s", diag.message);
  else
    operations = operations_a_vector(m.program, columns / tg_lanes(&m.program->params));
  release_mapped(&m);
  tg_arena_release(&arena);
  return operations;
}

/* maximum 1, difference 1, exp 10, sum 1, quotient 1 */
TG_TEST(softmax, fp32_takes_fourteen_operations_an_element) {
  EXPECT(operations_of("f32", "edge", 1024) == 14);
  EXPECT(operations_of("f32", "rack", 1024) == 14);
}

/* exp 7 */
TG_TEST(softmax, bf16_takes_eleven) { EXPECT(operations_of("bf16", "edge", 1024) == 11); }

/* Where a row of 32 partial sums is more than two registers, they are moved: two operations more. */
TG_TEST(softmax, small_arrays_move_their_sums) { EXPECT(operations_of("f32", "tiny", 1024) == 16); }

/* A row so long that its exps find no room: they are computed twice. */
TG_TEST(softmax, rows_without_room_take_exp_twice) { EXPECT(operations_of("f32", "tiny", 1920) > 24); }
