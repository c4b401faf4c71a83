/* That assertions of the RTL are on in the builds that tests run: a queue that is misused says so. */
#include "tests/harness.h"
#include "tests/rtl/duts.h"

/* Whether an assertion failed after these pushes and pops, one a cycle. */
static bool fails(const char *cycles) {
  void *fifo = tg_dut_post_fifo.create();
  tg_fifo_pins pins = {0};
  for (const char *c = cycles; *c; c++) {
    pins.push = *c == '+';
    pins.pop = *c == '-';
    tg_dut_post_fifo.eval(fifo, &pins);
    tg_dut_post_fifo.clock(fifo);
  }
  tg_dut_post_fifo.eval(fifo, &pins);
  tg_dut_post_fifo.destroy(fifo);
  return pins.failed;
}

TG_TEST(rtl_assertions, hold_for_a_queue_that_is_used_as_meant) {
  EXPECT(!fails("++++----"));
  EXPECT(!fails("+-++-+--"));
}
TG_TEST(rtl_assertions, notice_a_push_into_a_full_queue) { EXPECT(fails("+++++")); }
TG_TEST(rtl_assertions, notice_a_pop_from_an_empty_queue) { EXPECT(fails("+--")); }
