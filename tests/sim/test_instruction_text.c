/* Instructions as text: codes by name. */
#include "sim/machine/isa.h"
#include "tests/harness.h"

/* What `line` is printed as once it is parsed, or why it is not. */
static void prints(tg_unit unit, const char *line, const char *expected) {
  tg_arena arena = {0};
  tg_diag diag = {""};
  tg_instr instr;
  tg_status status = tg_instr_parse(unit, line, &instr, &diag);
  EXPECT_STR(status ? diag.message : tg_instr_print(unit, &instr, &arena), expected);
  tg_arena_release(&arena);
}

TG_TEST(instruction_text, codes_have_names) {
  prints(TG_MX, "gemm format=1 post_kind=1,0,3", "gemm post_kind=local,none,col format=bf16");
  prints(TG_MX, "gemm format=tf32 post_kind=local,0,col", "gemm post_kind=local,none,col format=tf32");
  prints(TG_VX, "vop s0_kind=bf16sr s11_kind=4", "vop s0_kind=bf16sr s11_kind=acc");
  prints(TG_TX, "send dir=3 flits=4", "send dir=north flits=4");
  prints(TG_AGCU, "load convert=16", "load convert=16");
  prints(TG_AGCU, "load convert=0x6", "load convert=fp32_tf32");
  prints(TG_AGCU, "load convert=7", "load convert=7"); /* no code: a number of the field */
}
TG_TEST(instruction_text, names_that_are_none) {
  prints(TG_TX, "send dir=up", "tx field dir wants up to 1 codes");
  prints(TG_TX, "send dir=nort", "tx field dir wants up to 1 codes");
  prints(TG_TX, "send flits=east", "tx field flits wants up to 1 numbers");
  prints(TG_MX, "gemm post_kind=row,row,row,row,row", "mx field post_kind wants up to 4 codes");
}

/* What other tools and the RTL read: the values of docs/instruction-set.md, written out. */
TG_TEST(instruction_text, codes_keep_their_values) {
  size_t count;
  const tg_code_set *sets = tg_code_sets(&count);
  for (size_t s = 0; s < count; s++)
    for (int c = 0; c < sets[s].count; c++) {
      EXPECT_EQ(sets[s].codes[c].value, c);
      EXPECT(c < 1 << sets[s].bits);
    }
  EXPECT_EQ(TG_POST_COL, 3);
  EXPECT_EQ(TG_DIR_NORTH, 3);
  EXPECT_EQ(TG_FMT_TF32, 3);
  EXPECT_EQ(TG_STREAM_BF16SR, 6);
  EXPECT_EQ(TG_CVT_FP32_TF32, 6);
  EXPECT_EQ(TG_FAULT_ADDRESS, 4);
  EXPECT_EQ(TG_CFG_CONSTANT, 5);
}
