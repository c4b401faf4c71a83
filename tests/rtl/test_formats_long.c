/* All 2^32 inputs of every conversion from FP32. */
#include "sim/machine/numerics.h"
#include "tests/harness.h"
#include "tests/rtl/formats_check.h"

static void all(uint32_t first, uint32_t count) {
  void *dut = tg_dut_formats.create();
  bool good = true;
  for (uint32_t i = 0; good && i < count; i++)
    good = tg_check_narrowing(dut, first + i, (uint16_t)tg_mix(first + i));
  tg_dut_formats.destroy(dut);
}

TG_TEST(rtl_formats_long, all_positive_below_two) { all(0, 0x40000000); }
TG_TEST(rtl_formats_long, all_positive_from_two) { all(0x40000000, 0x40000000); }
TG_TEST(rtl_formats_long, all_negative_above_minus_two) { all(0x80000000, 0x40000000); }
TG_TEST(rtl_formats_long, all_negative_from_minus_two) { all(0xc0000000, 0x40000000); }

/* Every dropped fraction with every random number, at an ordinary exponent and where a carry reaches
 * infinity. */
TG_TEST(rtl_formats_long, stochastic_rounding_of_every_fraction) {
  void *dut = tg_dut_formats.create();
  bool good = true;
  for (uint32_t dropped = 0; good && dropped < 65536; dropped++)
    for (uint32_t r = 0; good && r < 65536; r++)
      good = tg_check_narrowing(dut, (r & 1 ? 0x3f800000 : 0xff7f0000) | dropped, (uint16_t)r);
  tg_dut_formats.destroy(dut);
}
