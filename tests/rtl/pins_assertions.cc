#include "tests/rtl/pins.h"
#include "Vpost_fifo.h"

template <typename Visitor> static void ports(Visitor &v, Vpost_fifo &model, tg_fifo_pins &p) {
  v.in("start_i", model.start_i, 0u);
  v.in("push_i", model.push_i, p.push);
  v.in("pop_i", model.pop_i, p.pop);
  v.out("empty_o", model.empty_o, p.empty);
}

// Like PINS_DUT's, but an assertion that does not hold is seen by eval and does not end the process.
static void *create() {
  auto *dut = static_cast<Dut<Vpost_fifo> *>(pins_create<Vpost_fifo>());
  dut->context.fatalOnError(false);
  return dut;
}

static void eval(void *dut, void *pins) {
  pins_eval<Vpost_fifo, tg_fifo_pins>(dut, pins);
  static_cast<tg_fifo_pins *>(pins)->failed = static_cast<Dut<Vpost_fifo> *>(dut)->context.gotError();
}

extern "C" const tg_dut_ops tg_dut_post_fifo = {create, pins_destroy<Vpost_fifo>, eval,
                                                pins_clock<Vpost_fifo>};
