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
