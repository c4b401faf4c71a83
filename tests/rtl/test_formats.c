/* Conversions and the rounding hash of fp_pkg against numerics.h: all 16-bit inputs, directed and random
 * 32-bit ones. */
#include "sim/machine/numerics.h"
#include "tests/harness.h"
#include "tests/rtl/duts.h"
#include "tests/rtl/random.h"

static bool check(void *dut, uint32_t x, uint16_t r) {
  tg_formats_pins p = {.x = x, .r = r};
  tg_dut_formats.eval(dut, &p);
  bool good = p.from_bf16 == tg_bf16_to_f32((uint16_t)x) && p.from_fp16 == tg_fp16_to_f32((uint16_t)x) &&
              p.mixed == tg_mix(x) && p.to_bf16 == tg_bf16_from_f32(x) && p.to_fp16 == tg_fp16_from_f32(x) &&
              p.to_tf32 == tg_tf32_from_f32(x) && p.stochastic == tg_bf16_stochastic(x, r);
  if (!good)
    tg_test_fail(__FILE__, __LINE__,
                 "%08x (r %04x): bf16 %08x fp16 %08x mix %08x to tf32 %08x to bf16 %04x to fp16 %04x sr %04x",
                 x, r, p.from_bf16, p.from_fp16, p.mixed, p.to_tf32, p.to_bf16, p.to_fp16, p.stochastic);
  return good;
}

TG_TEST(rtl_formats, all_16_bit_inputs) {
  void *dut = tg_dut_formats.create();
  bool good = true;
  for (uint32_t x = 0; good && x < 65536; x++) good = check(dut, x, (uint16_t)~x);
  tg_dut_formats.destroy(dut);
}

TG_TEST(rtl_formats, ties_and_their_neighbours) {
  static const uint32_t low[] = {0, 1, 0xfff, 0x1000, 0x1001, 0x7fff, 0x8000, 0x8001, 0xffff};
  void *dut = tg_dut_formats.create();
  bool good = true;
  for (uint32_t high = 0; good && high < 65536; high++)
    for (int i = 0; good && i < 9; i++) good = check(dut, high << 16 | low[i], (uint16_t)(high * 40503));
  tg_dut_formats.destroy(dut);
}

TG_TEST(rtl_formats, random_32_bit_inputs) {
  void *dut = tg_dut_formats.create();
  tg_random random = {77};
  bool good = true;
  for (uint64_t i = tg_vector_count(2000000); good && i > 0; i--)
    good = check(dut, i % 2 ? tg_draw(&random) : tg_draw_f32(&random), (uint16_t)tg_draw(&random));
  tg_dut_formats.destroy(dut);
}
