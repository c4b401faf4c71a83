/* What bursts cost (docs/machine.md, section 7), against a walk of single bytes that knows no runs, pieces or digits kept from
 * one element to the next: a byte that is not among the 64 asked for last is the first of the next 64. */
#include "frontend/base/math.h"
#include "sim/machine/walk.h"
#include "tests/harness.h"
#include "tests/rtl/random.h"

typedef struct bytes {
  bool any;
  uint64_t limit;
  uint32_t atoms;
} bytes;

static void ask(bytes *b, uint64_t address, uint32_t count) {
  for (uint32_t i = 0; i < count; i++) {
    uint64_t ahead = b->limit - (address + i);
    if (b->any && ahead >= 1 && ahead <= 64) continue;
    b->atoms++;
    b->any = true;
    b->limit = address + i + 64;
  }
}

/* Address of an element: both linear indices taken apart from nothing. */
static uint64_t address_of(const tg_agcu_instr *in, uint64_t base, uint64_t m, uint64_t k) {
  const uint64_t digit[6] = {
      m / in->m_radix[2] / in->m_radix[1], m / in->m_radix[2] % in->m_radix[1], m % in->m_radix[2],
      k / in->k_radix[2] / in->k_radix[1], k / in->k_radix[2] % in->k_radix[1], k % in->k_radix[2]};
  for (int d = 0; d < 6; d++) base += digit[d] * (uint64_t)in->stride[d];
  return base;
}

static int64_t drawn_stride(tg_random *random, uint32_t bytes) {
  static const int32_t strides[] = {0, 1, 2, 3, 8, 9, 24, 31, 32, 33, 100, 1000, -1, -2, -3, -32};
  return strides[tg_below(random, sizeof strides / sizeof *strides)] * (int64_t)bytes;
}

static tg_agcu_instr drawn(tg_random *random) {
  static const int runs[] = {1, 3, 16, 31, 64, 100, 700};
  tg_agcu_instr in = {.op = TG_OP_agcu_load,
                      .convert = tg_below(random, 7),
                      .rows = 1 + tg_below(random, 9),
                      .take = 1 + tg_below(random, 3) * tg_below(random, 100),
                      .m_first = tg_below(random, 20),
                      .k_first = tg_below(random, 1000),
                      .index_size = tg_below(random, 4) ? 0 : 7,
                      .index_stride = 4096,
                      .x_size = 1000,
                      .y_size = 1000};
  uint32_t bytes = tg_convert_memory_bytes(in.convert);
  for (int d = 0; d < 3; d++) in.m_radix[d] = in.k_radix[d] = 1 + tg_below(random, 5);
  in.k_radix[2] = runs[tg_below(random, sizeof runs / sizeof *runs)];
  for (int d = 0; d < 6; d++) in.stride[d] = drawn_stride(random, bytes);
  if (tg_below(random, 4)) in.stride[5] = bytes; /* now and then one element a piece */
  in.x_inc[5] = tg_below(random, 2);
  return in;
}

TG_TEST(walk_atoms, are_those_that_single_bytes_ask_for) {
  tg_random random = {.state = 113};
  tg_params m;
  ASSERT(!tg_params_load("tiny", &m, NULL));
  uint64_t base = 1 << 20, shared = 0;
  for (int n = 0; n < 3000; n++) {
    m.p = 2u << tg_below(&random, 4);
    m.burst_flits = 4u << tg_below(&random, 5);
    tg_agcu_instr in = drawn(&random);
    uint32_t bytes_each = tg_convert_memory_bytes(in.convert),
             elements = tg_flit_bytes(&m) / tg_convert_chip_bytes(in.convert);
    tg_walk walk;
    tg_walk_begin(&walk, &m, &in, (uint32_t[TG_LEVELS]){0}, base);
    bytes b = {0};
    uint32_t flit = 0, begun = 0, atoms = 0;
    for (int64_t row = 0; row < in.rows; row++) {
      if (in.index_size) b.any = false;
      for (int64_t e = 0; e < in.take; e++) {
        if (e % elements == 0 && flit++ % m.burst_flits == 0) {
          EXPECT_EQ(b.atoms, atoms);
          b = (bytes){0};
          tg_walk_burst(&walk, m.burst_flits, NULL, &atoms);
          begun++;
        }
        uint64_t address = address_of(&in, base, (uint64_t)(in.m_first + row), (uint64_t)(in.k_first + e));
        shared += b.any && b.limit - address - 1 < 64;
        ask(&b, address, bytes_each);
      }
    }
    EXPECT_EQ(b.atoms, atoms);
    EXPECT_EQ(begun, tg_div_up(walk.flits, m.burst_flits));
    EXPECT_EQ(walk.flit, walk.flits);
  }
  EXPECT(shared > 10000);
}

/* Elements are a piece together where they follow each other in memory and in x, or where x and y stand still: else each is bounded,
 * and a piece, of its own. Four elements of a flit; x of 0 and 1 is within its bound. */
TG_TEST(walk_atoms, of_what_is_a_piece_of_its_own) {
  static const struct {
    int64_t stride, x, y;
    uint32_t pieces, valid;
  } cases[] = {{4, 0, 0, 1, 4},  {4, 1, 0, 1, 2}, {8, 0, 0, 4, 4}, {4, 2, 0, 4, 1},
               {4, -1, 0, 4, 1}, {4, 0, 1, 4, 1}, {4, 1, 1, 4, 1}, {8, 1, 0, 4, 2}};
  tg_params m;
  ASSERT(!tg_params_load("tiny", &m, NULL));
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    tg_agcu_instr in = {.op = TG_OP_agcu_load,
                        .rows = 1,
                        .take = 4,
                        .m_radix = {1, 1, 1},
                        .k_radix = {1, 1, 4},
                        .x_size = 2,
                        .y_size = 1};
    in.stride[5] = cases[i].stride, in.x_inc[5] = cases[i].x, in.y_inc[5] = cases[i].y;
    tg_walk walk;
    tg_span span[4];
    tg_spans spans = {.span = span};
    uint32_t atoms, valid = 0;
    tg_walk_begin(&walk, &m, &in, (uint32_t[TG_LEVELS]){0}, 0);
    EXPECT_EQ(tg_walk_burst(&walk, 4, &spans, &atoms), cases[i].pieces);
    EXPECT_EQ(spans.count, cases[i].pieces);
    for (uint32_t k = 0; k < spans.count; k++) valid += span[k].valid_count;
    EXPECT_EQ(valid, cases[i].valid);
  }
}

/* A piece of which the first is left of the bound, and the last right of it. */
TG_TEST(walk_atoms, bounds_cut_pieces_on_both_sides) {
  tg_params m;
  ASSERT(!tg_params_load("tiny", &m, NULL));
  for (int64_t origin = -5; origin <= 3; origin++) {
    tg_agcu_instr in = {.op = TG_OP_agcu_load,
                        .rows = 1,
                        .take = 4,
                        .m_radix = {1, 1, 1},
                        .k_radix = {1, 1, 4},
                        .x_org = origin,
                        .x_size = 2,
                        .y_size = 1};
    in.stride[5] = 4, in.x_inc[5] = 1;
    tg_walk walk;
    tg_span span;
    tg_spans spans = {.span = &span};
    uint32_t atoms, first = 4, count = 0;
    tg_walk_begin(&walk, &m, &in, (uint32_t[TG_LEVELS]){0}, 64);
    EXPECT_EQ(tg_walk_burst(&walk, 1, &spans, &atoms), 1);
    for (uint32_t i = 0; i < 4; i++)
      if (origin + i >= 0 && origin + i < 2) first = tg_min(first, i), count++;
    EXPECT_EQ(span.valid_count, count);
    if (count) EXPECT_EQ(span.valid_first, first);
    if (count) EXPECT_EQ(span.address, 64 + 4 * first);
  }
}

/* By hand, in the order of the codes. */
TG_TEST(walk_atoms, bytes_of_elements) {
  static const uint32_t memory[TG_CVT_COUNT] = {4, 2, 4, 4, 2, 2, 4},
                        chip[TG_CVT_COUNT] = {4, 2, 2, 2, 4, 4, 4};
  for (int c = 0; c < TG_CVT_COUNT; c++) {
    EXPECT_EQ(tg_convert_memory_bytes(c), memory[c]);
    EXPECT_EQ(tg_convert_chip_bytes(c), chip[c]);
  }
}
