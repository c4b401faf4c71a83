/* Conversions: every 16-bit input; of the 32-bit ones every boundary and a random sample (all of them in
 * test_formats_long.c). */
#include "tests/harness.h"
#include "tests/rtl/formats_check.h"
#include "tests/rtl/random.h"

#include "sim/machine/numerics.h"

TG_TEST(rtl_formats, widening_of_all_16_bit_inputs) {
  void *dut = tg_dut_formats.create();
  bool good = true;
  for (uint32_t x = 0; good && x < 65536; x++) good = tg_check_widening(dut, (uint16_t)x);
  tg_dut_formats.destroy(dut);
}

/* Every sign, exponent and upper fraction with what lies below a tie, at it and above, for each format. */
TG_TEST(rtl_formats, narrowing_of_ties_and_their_neighbours) {
  static const uint32_t low[] = {0, 1, 0xfff, 0x1000, 0x1001, 0x7fff, 0x8000, 0x8001, 0xffff};
  void *dut = tg_dut_formats.create();
  bool good = true;
  for (uint32_t high = 0; good && high < 65536; high++)
    for (int i = 0; good && i < 9; i++) {
      uint32_t dropped = low[i], x = high << 16 | dropped;
      good = tg_check_narrowing(dut, x, (uint16_t)(0x10000 - dropped)) &&
             tg_check_narrowing(dut, x, (uint16_t)(0xffff - dropped)) &&
             tg_check_narrowing(dut, x ^ 0x1000, (uint16_t)tg_mix(x));
    }
  tg_dut_formats.destroy(dut);
}

/* Subnormals of FP16: the last place kept wanders through the significand. */
TG_TEST(rtl_formats, narrowing_to_subnormals) {
  void *dut = tg_dut_formats.create();
  bool good = true;
  for (uint32_t exponent = 90; good && exponent < 120; exponent++)
    for (uint32_t top = 0; top < 24; top++)
      for (uint32_t bottom = 0; good && bottom <= top; bottom++) {
        uint32_t run = ((2u << top) - (1u << bottom)) & 0x7fffff;
        good = tg_check_narrowing(dut, exponent << 23 | run, 0) &&
               tg_check_narrowing(dut, 1u << 31 | exponent << 23 | run, 0) &&
               tg_check_narrowing(dut, exponent << 23 | (run ^ 1), 0) &&
               tg_check_narrowing(dut, exponent << 23 | (~run & 0x7fffff), 0);
      }
  tg_dut_formats.destroy(dut);
}

TG_TEST(rtl_formats, narrowing_of_random_inputs) {
  void *dut = tg_dut_formats.create();
  tg_random random = {77};
  bool good = true;
  for (uint64_t i = tg_vector_count(2000000); good && i > 0; i--)
    good =
        tg_check_narrowing(dut, i % 2 ? tg_draw(&random) : tg_draw_f32(&random), (uint16_t)tg_draw(&random));
  tg_dut_formats.destroy(dut);
}
