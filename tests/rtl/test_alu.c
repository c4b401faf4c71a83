/* Every operation of a vx lane against plain C, one a cycle and mixed at random, with bubbles. */
#include "sim/machine/isa.h"
#include "sim/machine/numerics.h"
#include "tests/harness.h"
#include "tests/rtl/duts.h"
#include "tests/rtl/random.h"

#include <fenv.h>
#include <math.h>

enum { LATENCY = 4 };

static uint32_t result_of(float x) { return tg_canonical(tg_f32_bits(x)); }

static uint32_t to_integer(uint32_t a) {
  if (tg_is_nan_bits(a)) return 0;
  double x = nearbyint((double)tg_bits_f32(a));
  if (x > 2147483647.0) return 0x7fffffff;
  return x < -2147483648.0 ? 0x80000000u : (uint32_t)(int32_t)x;
}

static uint32_t expected(const tg_alu_pins *p) {
  uint32_t a = p->a, b = p->b, c = p->c;
  float x = tg_bits_f32(a), y = tg_bits_f32(b), z = tg_bits_f32(c);
  bool nan = tg_is_nan_bits(a) || tg_is_nan_bits(b);
  switch (p->op) {
  case TG_ALU_mov: return a;
  case TG_ALU_fma: return result_of(fmaf(x, y, z));
  case TG_ALU_add: return result_of(x + y);
  case TG_ALU_sub: return result_of(x - y);
  case TG_ALU_mul: return result_of(x * y);
  case TG_ALU_min: return nan ? 0x7fc00000u : x == y ? a | b : x < y ? a : b;
  case TG_ALU_max: return nan ? 0x7fc00000u : x == y ? a & b : x > y ? a : b;
  case TG_ALU_cmplt: return x < y ? ~0u : 0;
  case TG_ALU_cmple: return x <= y ? ~0u : 0;
  case TG_ALU_cmpeq: return x == y ? ~0u : 0;
  case TG_ALU_icmplt: return (int32_t)a < (int32_t)b ? ~0u : 0;
  case TG_ALU_select: return a >> 31 ? b : c;
  case TG_ALU_and: return a & b;
  case TG_ALU_or: return a | b;
  case TG_ALU_xor: return a ^ b;
  case TG_ALU_shl: return a << (b & 31);
  case TG_ALU_shr: return a >> (b & 31);
  case TG_ALU_sra: return (uint32_t)((int32_t)a >> (b & 31));
  case TG_ALU_iadd: return a + b;
  case TG_ALU_isub: return a - b;
  case TG_ALU_f2i: return to_integer(a);
  case TG_ALU_i2f: return tg_f32_bits((float)(int32_t)a);
  case TG_ALU_rcpseed: return 0x7ef311c7u - a;
  case TG_ALU_rsqseed: return 0x5f3759dfu - (a >> 1);
  case TG_ALU_rot:
  case TG_ALU_bcast:
  case TG_ALU_lut: return p->moved;
  case TG_ALU_tail: return p->tail ? a : b;
  case TG_ALU_rndbf16: return tg_bf16_to_f32(tg_bf16_from_f32(a));
  case TG_ALU_rndfp16: return tg_fp16_to_f32(tg_fp16_from_f32(a));
  default: return tg_tf32_from_f32(a);
  }
}

static uint32_t draw_operand(tg_random *r, uint32_t other) {
  switch (tg_below(r, 6)) {
  case 0: return other;
  case 1: return other ^ 0x80000000u;
  case 2: return other + tg_below(r, 5) - 2;
  case 3: return tg_draw(r) >> tg_below(r, 32);
  default: return tg_draw_f32(r);
  }
}

TG_TEST(rtl_alu, every_operation) {
  void *dut = tg_dut_alu.create();
  tg_random random = {1234567};
  tg_alu_pins pins, history[LATENCY];
  memset(history, 0, sizeof history);
  bool good = true;
  uint64_t count = tg_vector_count(2000000);
  for (uint64_t i = 0; good && i < count; i++) {
    memset(&pins, 0, sizeof pins);
    pins.valid = tg_below(&random, 4) != 0;
    pins.op = (uint8_t)(1 + tg_below(&random, TG_ALU_COUNT - 1));
    pins.a = draw_operand(&random, tg_draw(&random));
    pins.b = draw_operand(&random, pins.a);
    pins.c = draw_operand(&random, pins.b);
    pins.moved = tg_draw(&random);
    pins.tail = (uint8_t)(tg_draw(&random) & 1);
    tg_dut_alu.eval(dut, &pins);
    tg_alu_pins *then = &history[i % LATENCY];
    if (then->valid && pins.result != expected(then)) {
      tg_test_fail(__FILE__, __LINE__, "op %u of %08x %08x %08x is %08x, expected %08x", then->op, then->a,
                   then->b, then->c, pins.result, expected(then));
      good = false;
    }
    *then = pins;
    tg_dut_alu.clock(dut);
  }
  tg_dut_alu.destroy(dut);
}
