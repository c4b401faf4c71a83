/* Programs that the loader refuses because the hardware counts where walks start: loops that do not nest, linear indices of more
 * than 32 bits; and the digits that its configuration has. */
#include "sim/machine/program.h"
#include "sim/machine/walk.h"
#include "tests/harness.h"

#include <stdio.h>

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
