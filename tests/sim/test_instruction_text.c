/* Instructions as text: codes by name. */
#include "sim/machine/isa.h"
#include "tests/harness.h"

#include <string.h>

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
  prints(TG_MX, "load", "mx has no operation \"load\"");
  prints(TG_MX, "gem", "mx has no operation \"gem\"");
  prints(TG_TX, "send flit=4", "tx has no field \"flit\"");
  prints(TG_TX, "send flits", "tx has no field \"flits\"");
  prints(TG_TX, "send flits=4x", "tx field flits wants up to 1 numbers");
  prints(TG_TX, "send flits=99999999999999999999", "tx field flits wants up to 1 numbers");
  prints(TG_TX, " send  flits=4 # of four", "send flits=4");
}

/* ---- microcode ---- */

static void prints_word(const char *line, const char *expected) {
  tg_arena arena = {0};
  tg_diag diag = {""};
  tg_ucode word;
  tg_status status = tg_ucode_parse(line, &word, &diag);
  EXPECT_STR(status ? diag.message : tg_ucode_print(&word, &arena), expected);
  tg_arena_release(&arena);
}

TG_TEST(instruction_text, words_print_as_they_are_parsed) {
  prints_word("", " | nop | ");
  prints_word("ld r31 = s11.hi | fma r1 = r2 k0 r3 | st s4.lo = k63",
              "ld r31 = s11.hi | fma r1 = r2 k0 r3 | st s4.lo = k63");
  prints_word("| rot r1 = r2 r0 127 |", " | rot r1 = r2 r0 127 | ");
  prints_word("| add r1 = 5 70 |", " | add r1 = r5 k6 r0 | "); /* operands by number */
}

/* For what prints a word before it is checked. */
TG_TEST(instruction_text, words_without_an_operation) {
  tg_arena arena = {0};
  EXPECT_STR(tg_ucode_print(&(tg_ucode){.alu_op = TG_ALU_COUNT}, &arena), " | ? r0 = r0 r0 r0 | ");
  tg_arena_release(&arena);
}

TG_TEST(instruction_text, words_that_are_none) {
#define NONE_OF(slot) "microcode slot \"" slot "\" is not understood"
  prints_word("ld r32 = s0.lo", NONE_OF("ld r32 = s0.lo"));
  prints_word("ld r0 = s16.lo", NONE_OF("ld r0 = s16.lo"));
  prints_word("st s16.lo = r0", NONE_OF("st s16.lo = r0"));
  prints_word("st s0.lo = r32", NONE_OF("st s0.lo = r32"));
  prints_word("st s0.lo = x1", NONE_OF("st s0.lo = x1"));
  prints_word("add r32 = r0 r0", NONE_OF("add r32 = r0 r0"));
  prints_word("add r0 = r32 r0", NONE_OF("add r0 = r32 r0"));
  prints_word("add r0 = r0 k64", NONE_OF("add r0 = r0 k64"));
  prints_word("add r0 = r0x r0", NONE_OF("add r0 = r0x r0"));
  prints_word("add r0 = r0 128", NONE_OF("add r0 = r0 128"));
  prints_word("add r0 = r0 5x", NONE_OF("add r0 = r0 5x"));
  prints_word("fma r0 = r0 r0 -", NONE_OF("fma r0 = r0 r0 -"));
  prints_word("add r0", NONE_OF("add r0"));
  prints_word("divide r0 = r0 r0", NONE_OF("divide r0 = r0 r0"));
  char line[200];
  memset(line, ' ', sizeof line);
  line[159] = 0;
  prints_word(line, " | nop | ");
  line[159] = ' ', line[160] = 0;
  prints_word(line, "microcode word is too long");
#undef NONE_OF
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
