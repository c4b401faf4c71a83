/* The FP32 multiply-add lane of vx at its pins, pipelined with random bubbles, against the host's fmaf. */
#include "sim/machine/numerics.h"
#include "tests/harness.h"
#include "tests/rtl/duts.h"
#include "tests/rtl/random.h"

#include <math.h>

typedef struct lane {
  const tg_dut_ops *ops;
  void *dut;
  tg_lane_pins pins;
  uint32_t latency, cycle;
  struct {
    bool valid;
    uint32_t a, b, c;
  } in_flight[8];
  tg_random random;
  bool good;
} lane;

static uint32_t fma_bits(uint32_t a, uint32_t b, uint32_t c) {
  return tg_canonical(tg_f32_bits(fmaf(tg_bits_f32(a), tg_bits_f32(b), tg_bits_f32(c))));
}

static void cycle(lane *l, bool valid, uint32_t a, uint32_t b, uint32_t c) {
  uint32_t slot = l->cycle++ % l->latency;
  l->pins.valid = valid;
  l->pins.a = a;
  l->pins.b = b;
  l->pins.c = c;
  l->ops->eval(l->dut, &l->pins);
  if (l->in_flight[slot].valid) {
    uint32_t x = l->in_flight[slot].a, y = l->in_flight[slot].b, z = l->in_flight[slot].c;
    if (l->pins.sum != fma_bits(x, y, z)) {
      if (l->good)
        tg_test_fail(__FILE__, __LINE__, "fma(%08x, %08x, %08x) is %08x, expected %08x", x, y, z, l->pins.sum,
                     fma_bits(x, y, z));
      l->good = false;
    }
  }
  l->in_flight[slot].valid = valid;
  l->in_flight[slot].a = a;
  l->in_flight[slot].b = b;
  l->in_flight[slot].c = c;
  l->ops->clock(l->dut);
}

/* Every fourth cycle or so has no token, and garbage on the pins. */
static void feed(lane *l, uint32_t a, uint32_t b, uint32_t c) {
  while (tg_below(&l->random, 4) == 0)
    cycle(l, false, tg_draw(&l->random), tg_draw(&l->random), tg_draw(&l->random));
  cycle(l, true, a, b, c);
}

static void open_lane(lane *l, const tg_dut_ops *ops, uint32_t latency) {
  memset(l, 0, sizeof *l);
  l->ops = ops;
  l->latency = latency;
  l->random.state = 0x5eed;
  l->good = true;
  l->dut = ops->create();
}
static void close_lane(lane *l) {
  for (int i = 0; i < 8; i++) cycle(l, false, 0, 0, 0);
  l->ops->destroy(l->dut);
}

static void specials(lane *l) {
  static const uint32_t magnitudes[] = {
      0,          1,          2,          0x3fffff,   0x400000,   0x7ffffe,   0x7fffff,   0x800000,
      0x800001,   0xffffff,   0x1000000,  0x33000000, 0x33800000, 0x34000000, 0x3effffff, 0x3f000000,
      0x3f7fffff, 0x3f800000, 0x3f800001, 0x3fffffff, 0x40000000, 0x4b000000, 0x4b7fffff, 0x7effffff,
      0x7f000000, 0x7f7fffff, 0x7f800000, 0x7f800001, 0x7fc00000, 0x7fffffff};
  enum { COUNT = sizeof magnitudes / sizeof *magnitudes };
  for (int i = 0; i < COUNT * COUNT * COUNT * 8; i++) {
    uint32_t signs = (uint32_t)i % 8;
    int n = i / 8;
    feed(l, magnitudes[n % COUNT] | (signs & 1) << 31, magnitudes[n / COUNT % COUNT] | (signs & 2) << 30,
         magnitudes[n / COUNT / COUNT] | (signs & 4) << 29);
  }
}

/* Boundary exponents crossed with boundary significands. */
static void boundaries(lane *l) {
  static const uint8_t exponents[] = {0, 1, 2, 23, 24, 102, 103, 104, 126, 127, 128, 149, 150, 151, 253, 254};
  static const uint32_t fractions[] = {0, 1, 0x3fffff, 0x400000, 0x400001, 0x7ffffe, 0x7fffff};
  for (int ea = 0; ea < 16; ea++)
    for (int eb = 0; eb < 16; eb++)
      for (int ec = 0; ec < 16; ec++)
        for (int f = 0; f < 7 * 7 * 7; f++)
          if (tg_below(&l->random, 8) == 0)
            feed(l, (uint32_t)exponents[ea] << 23 | fractions[f % 7],
                 (uint32_t)exponents[eb] << 23 | fractions[f / 7 % 7],
                 tg_draw(&l->random) << 31 | (uint32_t)exponents[ec] << 23 | fractions[f / 49]);
}

static void random_operands(lane *l, uint64_t count) {
  for (uint64_t i = 0; i < count; i++) {
    uint32_t a = tg_draw_f32(&l->random), b = tg_draw_f32(&l->random), c = tg_draw_f32(&l->random);
    uint32_t product = tg_f32_bits(tg_bits_f32(a) * tg_bits_f32(b));
    switch (tg_below(&l->random, 4)) {
    case 0: c = (product ^ 0x80000000u) + tg_below(&l->random, 5) - 2; break; /* cancels all but a few bits */
    case 1: c = (product ^ tg_draw(&l->random) << 31) + (tg_below(&l->random, 61) << 23) - (30u << 23); break;
    default: break;
    }
    feed(l, a, b, c);
  }
}

TG_TEST(rtl_fma, specials_with_specials) {
  lane l;
  open_lane(&l, &tg_dut_lane3, 3);
  specials(&l);
  close_lane(&l);
}
TG_TEST(rtl_fma, boundary_exponents_with_boundary_significands) {
  lane l;
  open_lane(&l, &tg_dut_lane5, 5);
  boundaries(&l);
  close_lane(&l);
}
TG_TEST(rtl_fma, random_and_cancelling) {
  lane l;
  open_lane(&l, &tg_dut_lane3, 3);
  random_operands(&l, tg_vector_count(1000000));
  close_lane(&l);
}
