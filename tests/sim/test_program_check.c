/* Programs that the loader refuses: fields of instructions and microcode that engines could not execute, tensors and invocations
 * outside of the memory, and walks whose starts the hardware could not count (loops that do not nest, linear indices of more than
 * 32 bits); and the digits that its configuration has. Of each rule a program that breaks it in one place, and the nearest that
 * does not. */
#include "sim/machine/program.h"
#include "sim/machine/sequencer.h"
#include "sim/machine/walk.h"
#include "tests/harness.h"

#include <stdio.h>
#include <string.h>

static tg_status check(const char *tile, const char *agcu, tg_diag *diag) {
  char text[1024];
  tg_program *program;
  *diag = (tg_diag){""};
  snprintf(text, sizeof text, "arch tiny\ndram 4096\nsection \"s\"\ntile 0\n%s\nagcu 0\n%s\ninvoke 0 \"i\"\n",
           tile, agcu);
  tg_status status = tg_program_parse(text, &program, diag);
  if (status) return status;
  status = tg_program_check(program, diag);
  tg_program_destroy(program);
  return status;
}

/* A tile's may overlap, as the mapper's do. */
TG_TEST(program_check, loops_nest) {
  static const char *const good[] = {
      "ctx 0 sync\nctx 0 sync loop_count=2,3,4 loop_begin=0,0,1",
      "ctx 0 sync loop_count=0,0,2 loop_begin=0,0,0\nctx 0 sync loop_count=0,0,2 "
      "loop_begin=0,0,1\nctx 0 sync loop_count=0,2,0",
      "ctx 0 sync loop_count=2,0,0\nctx 0 sync loop_count=0,2,0 loop_begin=0,1,0"};
  static const struct {
    const char *agcu, *says;
  } bad[] = {{"ctx 0 sync\nctx 0 sync loop_count=0,0,2\nctx 0 sync loop_count=0,0,2 loop_begin=0,0,1",
              "agcu 0 context 0, instruction 2: loops of level 2 that end at 1 and 2 overlap"},
             {"ctx 0 sync loop_count=0,2,0\nctx 0 sync loop_count=0,2,0",
              "agcu 0 context 0, instruction 1: loops of level 1 that end at 0 and 1 overlap"},
             {"ctx 0 sync loop_count=0,2,0\nctx 0 sync loop_count=0,2,0\nctx 0 sync\nctx 0 sync",
              "agcu 0 context 0, instruction 1: loops of level 1 that end at 0 and 1 overlap"},
             {"ctx 0 sync\nctx 0 sync loop_count=0,2,0 loop_begin=0,1,0\nctx 0 sync loop_count=0,0,2",
              "the loop of level 2 that ends at 2 lies partly in one of level 1"},
             {"ctx 0 sync\nctx 0 sync loop_count=2,0,0\nctx 0 sync loop_count=0,2,0 loop_begin=0,1,0",
              "the loop of level 1 that ends at 2 lies partly in one of level 0"},
             {"ctx 0 sync\nctx 0 sync loop_count=2,0,0 loop_begin=1,0,0\nctx 0 sync loop_count=0,0,2",
              "the loop of level 2 that ends at 2 lies partly in one of level 0"}};
  tg_diag diag;
  for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
    EXPECT(!check("mx sync loop_count=0,0,2\nmx sync loop_count=0,0,2", good[i], &diag));
    EXPECT_STR(diag.message, "");
  }
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    EXPECT_EQ(check("", bad[i].agcu, &diag), TG_INVALID);
    EXPECT_HAS(diag.message, bad[i].says);
  }
}

#define LOAD                                                                                                 \
  "ctx 0 load rows=1 take=1 m_radix=1,1,1 k_radix=1,1,1 stride=0,0,0,0,0,4 y_size=1 x_size=1 dst_inner=1 "   \
  "dst_mask=2 "

TG_TEST(program_check, linear_indices_have_32_bits) {
  static const char *const good[] = {
      LOAD "m_first=4294967295", LOAD "k_first=4294967293 k_delta=0,1,2 loop_count=0,2,1",
      LOAD "m_first=1\nctx 0 load rows=1 take=1 m_radix=1,1,1 k_radix=1,1,1 y_size=1 x_size=1 "
           "dst_inner=1 dst_mask=2 m_delta=4294967295,0,0\nctx 0 sync loop_count=2"};
  static const char *const bad[] = {LOAD "m_first=4294967295 m_delta=0,1,0 loop_count=0,2,0",
                                    LOAD "m_delta=4294967295,0,0\nctx 0 sync loop_count=3"};
  tg_diag diag;
  for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
    EXPECT(!check("", good[i], &diag));
    EXPECT_STR(diag.message, "");
  }
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    EXPECT_EQ(check("", bad[i], &diag), TG_INVALID);
    EXPECT_HAS(diag.message, "agcu 0 context 0, instruction 0: the row walk's linear index reaches 2^32");
  }
  EXPECT_EQ(check("", LOAD "k_first=4294967293 k_delta=0,1,2 loop_count=0,2,2", &diag), TG_INVALID);
  EXPECT_HAS(diag.message, "the K walk's linear index reaches 2^32");
}

/* A queue holds 32 instructions in the array tiny; its memory is of 4096 bytes here. */
TG_TEST(program_check, queues_and_tensors_are_within_their_limits) {
  char queue[33 * 8 + 1] = "";
  tg_diag diag;
  for (int i = 0; i < 32; i++) snprintf(queue + (size_t)i * 8, 9, "mx sync\n");
  EXPECT(!check(queue, "", &diag));
  snprintf(queue + (size_t)32 * 8, 9, "mx sync\n");
  EXPECT_EQ(check(queue, "", &diag), TG_INVALID);
  EXPECT_HAS(diag.message, "33 instructions in a queue of 32");
  static const struct {
    const char *tensor, *says;
  } tensors[] = {{"tensor input fp32 0xfc0 4,4 \"A\"", ""},
                 {"tensor input fp32 0xfc0 17 \"A\"", "tensor \"A\": it lies outside the memory"},
                 {"tensor input fp32 0xfa0 4,4 \"A\"", "tensor \"A\": it lies outside the memory"}};
  for (size_t i = 0; i < sizeof tensors / sizeof *tensors; i++) {
    char text[128];
    tg_program *program;
    diag = (tg_diag){""};
    snprintf(text, sizeof text, "arch tiny\ndram 4096\n%s\n", tensors[i].tensor);
    tg_status status = tg_program_parse(text, &program, &diag); /* which checks it */
    EXPECT_EQ(status, *tensors[i].says ? TG_INVALID : TG_OK);
    EXPECT_HAS(diag.message, tensors[i].says);
    if (!status) tg_program_destroy(program);
  }
}

/* ---- fields of instructions ---- */

typedef struct field_case {
  const char *tile, *agcu, *says; /* "": it is accepted */
} field_case;

static void expect_fields(const field_case *cases, size_t count) {
  for (size_t i = 0; i < count; i++) {
    tg_diag diag;
    tg_status status = check(cases[i].tile, cases[i].agcu, &diag);
    bool right = *cases[i].says ? status == TG_INVALID && strstr(diag.message, cases[i].says) : !status;
    if (!right)
      tg_test_fail(__FILE__, __LINE__, "\"%s\" \"%s\": status %d: %s", cases[i].tile, cases[i].agcu, status,
                   diag.message);
  }
}
#define EXPECT_FIELDS(cases) expect_fields(cases, sizeof cases / sizeof *cases)

TG_TEST(program_check, loops_waits_and_posts) {
  static const field_case cases[] = {
      {"mx sync loop_count=2 loop_begin=1", "", "loop_begin[0] = 1 lies after its end"},
      {"mx sync loop_begin=1", "", ""},
      {"mx sync loop_count=2 loop_begin=0", "", ""},
      {"mx sync wait_on=1 wait_sem=128", "",
       "tile 0 mx, instruction 0: wait_sem[0]: there is no semaphore 128"},
      {"mx sync wait_on=1 wait_sem=127", "", ""},
      {"mx sync wait_on=0 wait_sem=128", "", ""},
      {"mx sync wait_on=1,1 wait_sem=5,5", "", "semaphore 5 is waited for twice"},
      {"mx sync wait_on=1,1 wait_sem=5,6", "", ""},
      {"mx sync wait_on=1,0 wait_sem=5,5", "", ""},
      {"mx sync wait_on=0,1 wait_sem=5,5", "", ""},
      {"mx sync post_kind=local post_sem=128", "", "post_sem[0]: there is no semaphore 128"},
      {"mx sync post_kind=local post_sem=127", "", ""},
      {"mx sync post_kind=row post_pos=1", "",
       "post_pos[0]: there is no position 1 to post to"}, /* its own */
      {"mx sync post_kind=row post_pos=2", "", ""},
      {"mx sync post_kind=row post_pos=3", "", "there is no position 3"},
      {"mx sync post_kind=col post_pos=0", "", ""},
      {"", "ctx 0 sync post_kind=row post_pos=1", ""},
      {"", "ctx 0 sync post_kind=row post_pos=0",
       "agcu 0 context 0, instruction 0: post_pos[0]: there is no position 0"},
      {"", "ctx 0 sync post_kind=col post_pos=1", "there is no position 1"}, /* a west AGCU has no column */
      {"", "ctx 0 sync credit_base=120 credit_mask=0x80", ""},
      {"", "ctx 0 sync credit_base=120 credit_mask=0x100", "credits reach beyond the semaphores"},
      {"", "ctx 0 sync credit_base=111 credit_mask=0x10000", ""},
      {"", "ctx 0 sync credit_base=112 credit_mask=0x10000", "credits reach beyond the semaphores"},
      {"", "ctx 0 sync credit_base=4 credit_mask=2 wait_on=1 wait_sem=5",
       "semaphore 5 is waited for twice, once as a credit"},
      {"", "ctx 0 sync credit_base=4 credit_mask=2 wait_on=1 wait_sem=4", ""},
      {"", "ctx 0 sync credit_base=4 credit_mask=2 wait_on=0 wait_sem=5", ""},
  };
  EXPECT_FIELDS(cases);
}

#define GEMM "mx gemm m_count=1,4 blk_count=1,1,1,1 a_m=0,1 b_base=128 b_row=1 k_chunk=4 k_total=4 "

TG_TEST(program_check, gemms) {
  static const field_case cases[] = {
      {GEMM, "", ""},
      {GEMM "m_count=0", "", "m_count: 0 rows"},
      {GEMM "m_count=8191,8", "", ""},
      {GEMM "m_count=4096,16", "", "m_count: 65536 rows"},
      {GEMM "blk_count=0", "", "blk_count: 0 blocks"},
      {GEMM "blk_count=1024,1024", "", ""},
      {GEMM "blk_count=1024,1025", "", "blk_count: 1049600 blocks"},
      {GEMM "wait_on=1 wait_sem=128", "", "there is no semaphore 128"},
      /* Blocks that follow each other in part: FP32's may be of the other half of the lanes. */
      {GEMM "c_blk=0,0,0,2", "", ""},
      {GEMM "c_blk=0,0,0,2 blk_count=1,1,1,2", "", "c_blk[3]: accumulator rows of two blocks"},
      {GEMM "c_blk=0,0,0,2 blk_count=1,1,1,2 h_blk=0,0,0,1", "", ""},
      {GEMM "c_blk=0,0,0,2 blk_count=1,1,1,2 h_blk=0,0,0,1 format=bf16", "",
       "c_blk[3]: accumulator rows of two blocks"},
      /* Behind two blocks of the inner loop the outer one goes on by one row, to the half that the last has not. */
      {GEMM "c_blk=0,0,2,1 blk_count=1,1,2,2 h_blk=0,0,0,1", "", ""},
      {GEMM "c_blk=0,0,2,1 blk_count=1,1,2,2 h_blk=0,0,1,1", "", "c_blk[2]: accumulator rows of two blocks"},
      {GEMM "sr=1", "", "sr_k is 0"},
      {GEMM "sr=1 sr_k=1", "", ""},
      {GEMM "k_chunk=5", "", ""},
      {GEMM "k_chunk=5 sr=1 sr_k=1", "", "k_chunk: its blocks have fewer than 5 k"},
      {GEMM "k_chunk=8 sr=1 sr_k=1 blk_count=1,1,1,2", "", "k_chunk: its blocks have fewer than 8 k"},
      {GEMM "k_chunk=8 sr=1 sr_k=1 blk_count=1,1,1,2 k_loops=8", "", ""},
  };
  EXPECT_FIELDS(cases);
}

/* One word, which segment 0 runs. */
#define WORD(word, stream)                                                                                   \
  "word " word "\nvx vop rows=1 row_count=1,1,1 j_count=1,1 seg_len=1 s0_row=0,0,1 s0_banks=1 " stream

TG_TEST(program_check, vops_and_their_words) {
  static const field_case cases[] = {
      {WORD("ld r0 = s0.lo | add r31 = r31 r0 |", "s0_kind=bf16"), "", ""},
      {WORD("| nop |", "row_count=0"), "", "row_count[0] is 0"},
      {WORD("| nop |", "row_count=1,1,0"), "", "row_count[2] is 0"},
      {WORD("| nop |", "j_count=1,0"), "", "j_count[1] is 0"},
      {WORD("| nop |", "s3_kind=7"), "", "s3_kind: there is no kind 7"},
      {WORD("| nop |", "s3_lane=3"), "", ""},
      {WORD("| nop |", "s3_lane=4"), "", "s3_lane is beyond a bank row"},
      {WORD("| nop |", "seg_len=2"), "", "segment 0 reaches beyond the microcode"},
      {WORD("| nop |", "seg_begin=0,1 seg_len=1,1"), "", "segment 1 reaches beyond the microcode"},
      /* Registers, then constants from 64 on; plain numbers are immediates. */
      {WORD("| add r0 = 32 r0 |", ""), "", "word 0: there is no operand 32"},
      {WORD("| add r0 = r0 63 |", ""), "", "word 0: there is no operand 63"},
      {WORD("| fma r0 = r0 r0 k0 |", ""), "", "word 0: there is no operand 64"},
      {"const 0\n" WORD("| fma r0 = r0 r0 k0 |", ""), "", ""},
      {"const 0\n" WORD("| fma r0 = r0 r0 k1 |", ""), "", "word 0: there is no operand 65"},
      {WORD("| rot r0 = r0 r0 40 |", ""), "", ""},
      {WORD("| rot r0 = 40 r0 5 |", ""), "", "word 0: there is no operand 40"},
      {WORD("| rot r0 = r0 40 5 |", ""), "", "word 0: there is no operand 40"},
      {WORD("| nop | st s0.lo = 40", "s0_kind=fp32 s0_store=1"), "", "word 0: there is no operand 40"},
      {WORD("| lut r0 = r0 r0 |", ""), "", "word 0: lut needs 64 constants"},
      {WORD("ld r0 = s12.lo | nop |", ""), "", "word 0: there is no stream 12"},
      {WORD("ld r0 = s0.lo | nop |", ""), "", "word 0 loads from stream 0, which is not a load stream"},
      {WORD("ld r0 = s0.lo | nop |", "s0_kind=bf16sr"), "", "word 0 loads from stream 0"},
      {WORD("ld r0 = s0.lo | nop |", "s0_kind=bf16 s0_store=1"), "", "word 0 loads from stream 0"},
      {WORD("ld r0 = s0.lo | nop |", "s0_kind=acc"), "", ""},
      {WORD("| nop | st s15.lo = r0", ""), "", "word 0: there is no stream 15"},
      {WORD("| nop | st s0.lo = r0", "s0_kind=bf16"), "",
       "word 0 stores to stream 0, which is not a store stream"},
      {WORD("| nop | st s0.lo = r0", "s0_store=1"), "", "word 0 stores to stream 0"},
      {WORD("| nop | st s0.lo = r0", "s0_kind=acc s0_store=1"), "", "word 0 stores to stream 0"},
      {WORD("| nop | st s0.lo = r0", "s0_kind=splat32 s0_store=1"), "", "word 0 stores to stream 0"},
      {WORD("| nop | st s0.lo = r0", "s0_kind=fp32 s0_store=1"), "", ""},
      {WORD("| nop | st s0.lo = r0", "s0_kind=fp16 s0_store=1"), "", ""},
      {WORD("| nop | st s0.lo = r0", "s0_kind=bf16sr s0_store=1"), "", ""},
  };
  EXPECT_FIELDS(cases);
  char lut[64 * 8 + 256] = "";
  tg_diag diag;
  for (int i = 0; i < 64; i++) snprintf(lut + (size_t)i * 8, 9, "const 0\n");
  snprintf(lut + 64 * 8, 256, "%s", WORD("| lut r0 = r0 r0 |", ""));
  EXPECT(!check(lut, "", &diag));
  EXPECT_EQ(check(lut + 8, "", &diag), TG_INVALID);
  EXPECT_HAS(diag.message, "lut needs 64 constants");
}

/* Of tile 0, which is at position 1 of its row and of its column: 2 is east and south of it, 0 are the AGCUs. */
#define SEND "tx send flits=1 src_inner=1 dst_inner=1 "
#define EACH "rows=1 take=1 m_radix=1,1,1 k_radix=1,1,1 y_size=1 x_size=1 "

TG_TEST(program_check, sends_loads_and_stores) {
  static const field_case cases[] = {
      {SEND "dir=east dst_mask=4", "", ""},
      {SEND "dir=south dst_mask=4", "", ""},
      {SEND "dir=west dst_mask=1", "", ""},
      {SEND "dir=north dst_mask=1", "", ""},
      {"tile 1\n" SEND "dir=south dst_mask=4", "", ""}, /* the second of its row, the first of its column */
      {"tile 1\n" SEND "dir=east dst_mask=4", "", "dst_mask: position 2 is not downstream"},
      {"tile 1\n" SEND "dir=west dst_mask=2", "", ""},
      {"tile 1\n" SEND "dir=north dst_mask=2", "", "dst_mask: position 1 is not downstream"},
      {SEND "dir=east", "", "dst_mask is empty"},
      {SEND "dir=east dst_mask=1", "", "dst_mask: position 0 is not downstream"},
      {SEND "dir=east dst_mask=6", "", "dst_mask: position 1 is not downstream"},
      {SEND "dir=south dst_mask=2", "", "dst_mask: position 1 is not downstream"},
      {SEND "dir=east dst_mask=12", "", "dst_mask: position 3 is not downstream"},
      {SEND "dir=west dst_mask=4", "", "dst_mask: position 2 is not downstream"},
      {SEND "dir=north dst_mask=2", "", "dst_mask: position 1 is not downstream"},
      {SEND "dir=east dst_mask=4 flits=0", "", "flits is 0"},
      {SEND "dir=east dst_mask=4 src_inner=0", "", "src_inner or dst_inner is 0"},
      {SEND "dir=east dst_mask=4 dst_inner=0", "", "src_inner or dst_inner is 0"},
      {SEND "dir=east dst_mask=4 dst_sem=128", "", ""},
      {SEND "dir=east dst_mask=4 dst_post=1 dst_sem=127", "", ""},
      {SEND "dir=east dst_mask=4 dst_post=1 dst_sem=128", "", "there is no semaphore 128"},
      {"", LOAD, ""},
      {"", LOAD "dst_mask=1", "dst_mask: position 0 is not downstream"},
      {"", LOAD "dst_mask=8", "dst_mask: position 3 is not downstream"},
      /* Loops that the instruction is not in, and fields that are not looked at. */
      {"", LOAD "m_first=4294967295 m_delta=1\nctx 0 sync loop_count=2 loop_begin=1", ""},
      {"", LOAD "m_first=4294967295 m_delta=1\nctx 0 sync loop_count=2 loop_begin=0", "reaches 2^32"},
      {"", "ctx 0 sync m_first=4294967295 m_delta=1 loop_count=2", ""},
      {"", LOAD "rows=0", "rows or take is 0"},
      {"", LOAD "take=0", "rows or take is 0"},
      {"", LOAD "m_radix=1,0", "a radix is 0"},
      {"", LOAD "k_radix=1,0", "a radix is 0"},
      {"", LOAD "convert=7", "there is no conversion 7"},
      {"", LOAD "convert=6", ""},
      {"", LOAD "rows=2048 take=1048575", ""},
      {"", LOAD "rows=4096 take=524288", "more than 2^31 elements"},
      {"", LOAD "index_size=16777216", ""},
      {"", LOAD "index_size=16777217", "index_size: more than 2^24 rows to choose from"},
      {"", LOAD "dst_inner=0", "dst_inner is 0"},
      {"", LOAD "dst_sem=128", ""},
      {"", LOAD "dst_post=1 dst_sem=127", ""},
      {"", LOAD "dst_post=1 dst_sem=128", "there is no semaphore 128"},
      {"", "ctx 1 store " EACH, ""},
      {"", "ctx 1 store " EACH "convert=16", ""},
      {"", "ctx 1 store " EACH "convert=fp32_bf16", "a STORE does not convert"},
      /* 0 in the fields of a LOAD */
      {"", "ctx 1 store " EACH "dst_post=1 dst_sem=128", ""},
  };
  EXPECT_FIELDS(cases);
}

/* ---- what no text has ---- */

static tg_program *whole(void) {
  tg_program *program;
  tg_diag diag = {""};
  const char *text =
      "arch tiny\ndram 4096\ntensor input fp32 0 4,4 \"in\"\ntensor constant fp32 0x40 2 \"c\"\n"
      "tensor output fp32 0x80 4,4 \"out\"\nsection \"s\"\ninvoke 0 \"i\"\n";
  if (!tg_program_parse(text, &program, &diag)) return program;
  tg_test_fail(__FILE__, __LINE__, "%s", diag.message);
  return NULL;
}

static void expect_refused(tg_program *program, const char *says, int line) {
  tg_diag diag = {""};
  tg_status status = tg_program_check(program, &diag);
  if (*says ? status != TG_INVALID || !strstr(diag.message, says) : status)
    tg_test_fail(__FILE__, line, "status %d: \"%s\", not \"%s\"", status, diag.message, says);
  tg_program_destroy(program);
}
/* A program with one change; `says`: why it is refused, or "". */
#define CHANGED(change, says)                                                                                \
  do {                                                                                                       \
    tg_program *p = whole();                                                                                 \
    ASSERT(p);                                                                                               \
    change;                                                                                                  \
    expect_refused(p, says, __LINE__);                                                                       \
  } while (0)

TG_TEST(program_check, tensors) {
  static const uint8_t byte = 0;
  CHANGED(, "");
  CHANGED(p->tensors[0].role = TG_ROLE_COUNT, "tensor \"in\": its type is not known");
  CHANGED(p->tensors[0].storage = (tg_storage)TG_STORAGES, "its type is not known");
  CHANGED(p->tensors[0].rank = 9, "its type is not known");
  CHANGED(p->tensors[0].dims[0] = -4, "its size overflows");
  CHANGED(p->tensors[0].dims[0] = INT64_MAX, "its size overflows");
  CHANGED(p->tensors[0].bytes = 60, "60 bytes do not match its dimensions");
  CHANGED(p->tensors[0].address = 32, "it lies outside the memory");
  CHANGED(p->tensors[0].address = 4096 - 64, "");
  CHANGED(p->tensors[0].address = 4096, "it lies outside the memory");
  CHANGED(p->tensors[0].address = 4096 + 64, "it lies outside the memory"); /* what is left wraps around */
  CHANGED(p->tensors[0].data = &byte, "data and role disagree");
  CHANGED(p->tensors[1].data = NULL, "tensor \"c\": data and role disagree");
  CHANGED((p->tensors[1].data = NULL, p->tensors[1].dims[0] = 0, p->tensors[1].bytes = 0), "");
  CHANGED((p->tensors[1].dims[0] = 0, p->tensors[1].bytes = 0), "data and role disagree");
  CHANGED(p->tensors[2].type = TG_DTYPE_COUNT, "tensor \"out\": its element type and role disagree");
  CHANGED(p->tensors[2].limit = -1, "its element type and role disagree");
  CHANGED((p->tensors[2].type = TG_F32, p->tensors[2].known = &byte), "");
  CHANGED(p->tensors[2].known = &byte, "its element type and role disagree");
  CHANGED((p->tensors[0].type = TG_F32, p->tensors[0].known = &byte), "its element type and role disagree");
}

TG_TEST(program_check, sections_and_invocations) {
  CHANGED(p->params.p = 5, "p");
  CHANGED(p->dram_bytes = 1ull << 40, "");
  CHANGED(p->dram_bytes = (1ull << 40) + 1, "1099511627777 bytes of memory");
  CHANGED(p->sections[0].kept = 0xffff, "");
  CHANGED(p->sections[0].kept = 0x10000, "section 0 \"s\": kept: there are 16 banks");
  CHANGED(p->sections[0].tiles[1].word_count = 257, "tile 1: 257 microcode words");
  CHANGED(p->sections[0].tiles[1].constant_count = 65, "tile 1: 65 constants");
  CHANGED(p->invocations[0].section = 1, "invocation 0: there is no section 1");
  CHANGED(p->invocations[0].bases[31] = 4096, "");
  CHANGED(p->invocations[0].bases[31] = 4096 + 64, "invocation 0: base 31 lies outside the memory");
  CHANGED(p->invocations[0].bases[31] = 32, "base 31 lies outside the memory");
}

/* The program with a VOP of one word. */
static void add_word(tg_program *p, tg_ucode ucode) {
  tg_tile_program *tile = &p->sections[0].tiles[0];
  tg_vx_instr *in = &tg_queue_push(p, &tile->vx)->vx;
  in->op = TG_OP_vx_vop;
  in->rows = in->row_count[0] = in->row_count[1] = in->row_count[2] = in->j_count[0] = in->j_count[1] = 1;
  in->seg_len[0] = tile->word_count = 1;
  tile->words = TG_NEW(&p->arena, uint64_t);
  tile->words[0] = tg_ucode_encode(&ucode);
}

TG_TEST(program_check, words_that_no_text_has) {
  CHANGED(add_word(p, (tg_ucode){.alu_op = TG_ALU_COUNT}), "word 0: there is no operation");
  CHANGED(add_word(p, (tg_ucode){.alu_op = TG_ALU_add, .alu_a = 40}), "word 0: there is no operand 40");
  /* Nothing is done with them. */
  CHANGED(add_word(p, (tg_ucode){.alu_op = TG_ALU_nop, .alu_a = 40, .alu_b = 41, .alu_c = 42, .st_src = 43}),
          "");
}

/* Fields that hold more than their bits have, or an operation that there is not. */
TG_TEST(program_check, fields_fit_into_their_bits) {
  CHANGED(tg_queue_push(p, &p->sections[0].tiles[0].tx)->common.op = 15, "tx has no operation 15");
  CHANGED(tg_queue_push(p, &p->sections[0].tiles[0].tx)->common.wait_sem[2] = 1024,
          "tile 0 tx, instruction 0: tx field wait_sem[2] = 1024 does not fit in 10 bits");
  CHANGED(tg_queue_push(p, &p->sections[0].tiles[0].tx)->tx.src.rot_stride = -32769,
          "does not fit in 16 bits");
  CHANGED(tg_queue_push(p, &p->sections[0].tiles[0].tx)->tx.src.rot_stride = -32768, "");
}

/* By hand: 100 = 2 * 5 * 7 + 4 * 7 + 2; steps may be anything. */
TG_TEST(program_check, digits_of_starts_and_steps) {
  const tg_agcu_instr in = {.m_first = 100,
                            .m_radix = {3, 5, 7},
                            .m_delta = {1, 34, 4294967295},
                            .k_first = 9,
                            .k_radix = {1, 1, 10},
                            .k_delta = {10, 25, 0}};
  static const uint32_t want[TG_WALK_STEPS][3] = {{2, 4, 2}, {0, 0, 1}, {0, 4, 6}, {122713351, 1, 3},
                                                  {0, 0, 9}, {1, 0, 0}, {2, 0, 5}, {0, 0, 0}};
  uint32_t digits[TG_WALK_STEPS][3];
  tg_walk_steps(&in, digits);
  for (int s = 0; s < TG_WALK_STEPS; s++)
    for (int d = 0; d < 3; d++) EXPECT_EQ(digits[s][d], want[s][d]);
}

/* A GEMM's last k ends a K tile: never, always, or where level 2 ends. */
TG_TEST(program_check, ends_of_k_tiles) {
  static const bool ends[2][2][2] = {{{false, false}, {false, false}}, {{true, true}, {false, true}}};
  for (int end = 0; end < 2; end++)
    for (int last = 0; last < 2; last++)
      for (int inner = 0; inner < 2; inner++) {
        tg_instr in = {.mx = {.op = TG_OP_mx_gemm, .sr_end = end, .sr_end_last = last}};
        tg_execution x = {.in = &in, .ends_inner = inner};
        EXPECT_EQ(tg_execution_ends_tile(&x), ends[end][last][inner]);
      }
}
