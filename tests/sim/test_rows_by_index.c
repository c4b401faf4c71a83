/* Rows by index: what an index says, which programs are refused, and that time is counted with rows all over the table. */
#include "sim/machine/numerics.h"
#include "sim/machine/program.h"
#include "sim/machine/walk.h"
#include "tests/harness.h"

#include <math.h>
#include <stdio.h>

/* By docs/machine.md, section 7, by hand. */
TG_TEST(rows_by_index, what_an_index_says) {
  static const struct {
    float index;
    int64_t size, row;
  } cases[] = {
      {0, 1, 0},
      {-0.0f, 1, 0},
      {1, 1, -1},
      {-1, 1, 0},
      {-2, 1, -1},
      {29, 30, 29},
      {30, 30, -1},
      {-30, 30, 0},
      {-31, 30, -1},
      {2.99f, 30, 2},
      {-0.99f, 30, 0},
      {-1.5f, 30, 29},
      {1e-40f, 30, 0},
      {16777215, 1 << 24, 16777215},
      {16777216, 1 << 24, -1},
      {-16777216, 1 << 24, 0},
      {-16777214, 1 << 24, 2},
      {16777217, 1 << 24, -1},
      {33554432, 1 << 24, -1},
      {-33554432, 1 << 24, -1},
      {4294967296.0f, 30, -1},
      {-4294967296.0f, 30, -1},
      {INFINITY, 30, -1},
      {-INFINITY, 30, -1},
      {NAN, 30, -1},
      {-NAN, 30, -1},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    int64_t row = tg_index_row(tg_f32_bits(cases[i].index), cases[i].size);
    if (row != cases[i].row)
      tg_test_fail(__FILE__, __LINE__, "index %g of %lld rows: %lld, not %lld", (double)cases[i].index,
                   (long long)cases[i].size, (long long)row, (long long)cases[i].row);
  }
}

/* Every whole number that FP32 holds exactly, on both sides, against integer arithmetic. */
TG_TEST(rows_by_index, whole_numbers) {
  for (int64_t size = 1; size < 1 << 24; size = size * 3 + 1)
    for (int64_t i = -2 * size; i < 2 * size; i += 1 + size / 1000) {
      if (i < -(1 << 24) || i > 1 << 24) continue;
      int64_t row = i < 0 ? i + size : i;
      EXPECT_EQ(tg_index_row(tg_f32_bits((float)i), size), row >= 0 && row < size ? row : -1);
    }
}

/* Of N rows of a table in a row each tenth of it has a tenth, to a tenth of that. */
TG_TEST(rows_by_index, time_is_counted_with_rows_all_over_the_table) {
  enum { ROWS = 10000, PARTS = 10 };
  static const int64_t sizes[] = {1, 7, 1000, 30522, 1 << 24};
  for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
    uint32_t count[PARTS] = {0};
    for (uint32_t i = 0; i < ROWS; i++) {
      int64_t row = tg_index_nominal(i, sizes[s]);
      EXPECT(row >= 0 && row < sizes[s]);
      count[row * PARTS / sizes[s]]++;
    }
    for (int p = 0; p < PARTS && sizes[s] >= 1000; p++) EXPECT(count[p] > 900 && count[p] < 1100);
  }
}

static tg_status check_load(const char *fields, tg_diag *diag) {
  char text[1024];
  tg_program *program;
  *diag = (tg_diag){""};
  snprintf(
      text, sizeof text,
      "arch tiny\ndram 4096\nsection \"s\"\nagcu 0\n"
      "ctx 0 load rows=4 take=4 m_radix=4,1,1 k_radix=1,1,4 stride=0,0,0,0,0,4 y_size=1 x_size=1 dst_inner=4 "
      "dst_mask=2 %s\ninvoke 0 \"i\"\nbase 1=64\n",
      fields);
  tg_status status = tg_program_parse(text, &program, diag);
  if (status) return status;
  status = tg_program_check(program, diag);
  tg_program_destroy(program);
  return status;
}

/* Whatever the indices are, no row lies outside: the loader looks at the whole table. */
TG_TEST(rows_by_index, tables_lie_in_memory) {
  static const char *const good[] = {"index_size=64 index_stride=64",
                                     "index_size=252 index_stride=16 base=1",
                                     "index_size=65 index_stride=-16 offset=1024",
                                     "index_size=16777216 index_stride=0",
                                     "index_size=2 index_stride=2048 offset_delta=1024,0,0 loop_count=2",
                                     "index_size=1\nctx 0 sync index_size=8 index_stride=4096"};
  static const char *const bad[] = {"index_size=257 index_stride=16",
                                    "index_size=253 index_stride=16 base=1",
                                    "index_size=66 index_stride=-16 offset=1024",
                                    "index_size=65 index_stride=64",
                                    "index_size=2 index_stride=549755813887",
                                    "index_size=16777216 index_stride=-549755813888",
                                    "index_size=1 offset=-4",
                                    "index_size=1 offset=4084",
                                    "index_size=2 index_stride=2048 offset_delta=1024,0,0 loop_count=3",
                                    "index_size=2 index_stride=2048 offset_delta=1024,0,0 loop_count=3\n"
                                    "ctx 0 sync loop_count=2 loop_begin=1",
                                    "index_size=1 stride=0,0,549755813887,0,0,4 m_radix=1,1,16777215"};
  tg_diag diag;
  for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
    check_load(good[i], &diag);
    EXPECT_STR(diag.message, "");
  }
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    EXPECT_EQ(check_load(bad[i], &diag), TG_INVALID);
    EXPECT_HAS(diag.message, "agcu 0 context 0, instruction 0: rows by index may lie outside the memory");
  }
  EXPECT_EQ(check_load("index_size=16777217", &diag), TG_INVALID);
  EXPECT_HAS(diag.message, "index_size: more than 2^24 rows to choose from");
}
