/* The device memory that an instruction reaches (tg_walk_reach), against the elements of the walk, one by one: each digit that one of
 * them has lies between the ends that were taken, and both ends are taken by one of them. */
#include "frontend/base/math.h"
#include "sim/machine/walk.h"
#include "tests/harness.h"
#include "tests/rtl/random.h"

#include <stdio.h>

typedef struct reach {
  int64_t low, high;
} reach;

static tg_params tiny(void) {
  tg_params m;
  if (tg_params_load("tiny", &m, NULL)) tg_test_fail(__FILE__, __LINE__, "no preset tiny");
  return m;
}

static reach reached(const tg_agcu_instr *in, const uint32_t index[TG_LEVELS], uint64_t base) {
  tg_params m = tiny();
  tg_walk walk;
  reach out;
  tg_walk_begin(&walk, &m, in, index, base);
  tg_walk_reach(&walk, &out.low, &out.high);
  return out;
}

/* Of `count` values from first + sum over l of index[l] * delta[l] on, each taken apart: the smallest and largest digit of each place.
 * Returns false if an outer digit is outside of its radix. */
static bool enumerated(int64_t first, const int64_t delta[TG_LEVELS], const uint32_t index[TG_LEVELS],
                       int64_t count, const int64_t radix[3], int64_t low[3], int64_t high[3]) {
  for (int l = 0; l < TG_LEVELS; l++) first += index[l] * delta[l];
  for (int64_t i = first; i < first + count; i++) {
    int64_t digit[3] = {i / radix[2] / radix[1], i / radix[2] % radix[1], i % radix[2]};
    for (int d = 0; d < 3; d++) {
      low[d] = i == first ? digit[d] : tg_min(low[d], digit[d]);
      high[d] = i == first ? digit[d] : -tg_min(-high[d], -digit[d]);
    }
  }
  return high[0] < radix[0];
}

/* Every operand of the reach counts, in both directions: none of these walks leaves its outer radix. */
static reach exact(const tg_agcu_instr *in, const uint32_t index[TG_LEVELS], int64_t base, bool *out_inside) {
  int64_t low[6], high[6];
  *out_inside = enumerated(in->m_first, in->m_delta, index, in->rows, in->m_radix, low, high) &
                enumerated(in->k_first, in->k_delta, index, in->take, in->k_radix, low + 3, high + 3);
  base += in->offset;
  for (int l = 0; l < TG_LEVELS; l++) base += index[l] * in->offset_delta[l];
  reach r = {base, base + tg_convert_memory_bytes(in->convert)};
  for (int d = 0; d < 6; d++) {
    int64_t a = low[d] * in->stride[d], b = high[d] * in->stride[d];
    r.low += tg_min(a, b);
    r.high -= tg_min(-a, -b);
  }
  int64_t rows = in->index_size ? (in->index_size - 1) * in->index_stride : 0;
  r.low += tg_min(rows, 0);
  r.high -= tg_min(-rows, 0);
  return r;
}

static int64_t drawn_stride(tg_random *random) { return (int64_t)tg_below(random, 4001) - 2000; }

static tg_agcu_instr drawn(tg_random *random) {
  tg_agcu_instr in = {.op = TG_OP_agcu_load,
                      .convert = tg_below(random, 6),
                      .rows = 1 + tg_below(random, 9),
                      .take = 1 + tg_below(random, 12),
                      .m_first = tg_below(random, 12),
                      .k_first = tg_below(random, 12),
                      .offset = drawn_stride(random),
                      .index_size = tg_below(random, 3) ? 0 : 1 + tg_below(random, 50),
                      .index_stride = drawn_stride(random),
                      .x_size = 1000,
                      .y_size = 1000};
  for (int d = 0; d < 3; d++) {
    in.m_radix[d] = 1 + tg_below(random, 5);
    in.k_radix[d] = 1 + tg_below(random, 5);
    in.m_delta[d] = tg_below(random, 6);
    in.k_delta[d] = tg_below(random, 6);
    in.offset_delta[d] = drawn_stride(random);
  }
  for (int d = 0; d < 6; d++) in.stride[d] = drawn_stride(random);
  return in;
}

TG_TEST(walk_reach, is_exact_within_the_outer_radices) {
  tg_random random = {.state = 20261124};
  int inside_count = 0;
  for (int n = 0; n < 20000; n++) {
    tg_agcu_instr in = drawn(&random);
    uint32_t index[TG_LEVELS];
    for (int l = 0; l < TG_LEVELS; l++) index[l] = tg_below(&random, 4);
    bool inside;
    reach want = exact(&in, index, 1 << 20, &inside);
    if (!inside) continue;
    inside_count++;
    reach got = reached(&in, index, 1 << 20);
    EXPECT_EQ(got.low, want.low);
    EXPECT_EQ(got.high, want.high);
  }
  EXPECT(inside_count > 2000);
}

/* Elements of rows of which some are outside of the outer radix: the others are held, by no more than their digits' full range. */
TG_TEST(walk_reach, holds_every_element_in_bounds) {
  tg_random random = {.state = 5};
  tg_params m = tiny();
  for (int n = 0; n < 5000; n++) {
    tg_agcu_instr in = drawn(&random);
    in.stride[5] = tg_convert_memory_bytes(in.convert);
    in.index_size = 0; /* its rows were added above */
    for (int l = 0; l < TG_LEVELS; l++) in.m_delta[l] = in.k_delta[l] = 0;
    const uint32_t index[TG_LEVELS] = {0};
    reach got = reached(&in, index, 1 << 20);
    tg_walk walk;
    tg_span span[64];
    tg_walk_begin(&walk, &m, &in, index, 1 << 20);
    bool any = false;
    while (walk.flit < walk.flits) {
      tg_spans spans = {.span = span};
      uint32_t atoms;
      tg_walk_burst(&walk, 1, &spans, &atoms);
      for (uint32_t s = 0; s < spans.count; s++) {
        if (!span[s].valid_count) continue;
        any = true;
        EXPECT(got.low <= span[s].address &&
               span[s].address + (int64_t)span[s].valid_count * walk.memory_bytes <= got.high);
      }
    }
    /* Nothing is reached if and only if nothing is in bounds; coordinates are all 0 here. */
    EXPECT_EQ(got.low < got.high, any);
  }
}

/* A reach that no memory has becomes one of everything, from one byte beyond the half of all addresses on. */
TG_TEST(walk_reach, of_more_than_any_memory_is_everything) {
  static const struct {
    int64_t base, stride, table;
    bool everything;
  } cases[] = {
      {INT64_MAX / 2 - 4, 0, 0, false},  {INT64_MAX / 2 - 3, 0, 0, true},   {INT64_MIN / 2, 0, 0, false},
      {INT64_MIN / 2 - 1, 0, 0, true},   {INT64_MAX / 2 - 12, 8, 0, false}, {INT64_MAX / 2 - 11, 8, 0, true},
      {INT64_MIN / 2 + 8, -8, 0, false}, {INT64_MIN / 2 + 7, -8, 0, true},  {INT64_MAX / 2 - 12, 0, 8, false},
      {INT64_MAX / 2 - 11, 0, 8, true},  {INT64_MIN / 2 + 8, 0, -8, false}, {INT64_MIN / 2 + 7, 0, -8, true},
      {INT64_MAX - 8, 8, 0, true},       {INT64_MIN + 4, -8, 0, true},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    tg_agcu_instr in = {.op = TG_OP_agcu_load,
                        .rows = 1,
                        .take = 2,
                        .m_radix = {1, 1, 1},
                        .k_radix = {1, 1, 2},
                        .stride = {0, 0, 0, 0, 0, cases[i].stride},
                        .index_size = cases[i].table ? 2 : 0,
                        .index_stride = cases[i].table};
    reach got = reached(&in, (const uint32_t[TG_LEVELS]){0}, (uint64_t)cases[i].base);
    if (cases[i].everything != (got.low == INT64_MIN / 2 && got.high == INT64_MAX / 2))
      tg_test_fail(__FILE__, __LINE__, "case %zu: from %lld to %lld", i, (long long)got.low,
                   (long long)got.high);
  }
}

/* Digits so many and so far apart that their sum leaves 64 bits, upwards, downwards or both. */
TG_TEST(walk_reach, of_more_than_64_bits_is_everything) {
  const int64_t far = (int64_t)1 << 39;
  for (int down = 0; down < 2; down++)
    for (int up = 0; up < 2; up++) {
      tg_agcu_instr in = {.op = TG_OP_agcu_load,
                          .rows = 2,
                          .take = 8,
                          .m_first = UINT32_MAX, /* wraps around: every digit */
                          .k_first = UINT32_MAX,
                          .m_radix = {(1 << 23) - 1, (1 << 24) - 1, 1},
                          .k_radix = {(1 << 23) - 1, (1 << 24) - 1, 1}};
      if (up) in.stride[0] = in.stride[1] = far - 1;
      if (down) in.stride[3] = in.stride[4] = -far;
      reach got = reached(&in, (const uint32_t[TG_LEVELS]){0}, 0);
      EXPECT_EQ(got.low, up || down ? INT64_MIN / 2 : 0);
      EXPECT_EQ(got.high, up || down ? INT64_MAX / 2 : 4);
    }
}

/* A linear index that passes 2^32 may have any digit below its radix. */
TG_TEST(walk_reach, wraps_around) {
  tg_agcu_instr in = {.op = TG_OP_agcu_load,
                      .rows = 1,
                      .take = 8,
                      .k_first = UINT32_MAX - 3,
                      .m_radix = {1, 1, 1},
                      .k_radix = {3, 5, 7},
                      .stride = {0, 0, 0, 1000, -100, 4}};
  reach got = reached(&in, (const uint32_t[TG_LEVELS]){0}, 0);
  EXPECT_EQ(got.low, -400);
  EXPECT_EQ(got.high, 2000 + 24 + 4);
  in.take = 4; /* up to 2^32 - 1: its outer digit is outside */
  got = reached(&in, (const uint32_t[TG_LEVELS]){0}, 0);
  EXPECT_EQ(got.low, got.high);
}
