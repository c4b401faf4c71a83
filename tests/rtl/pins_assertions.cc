#include "tests/rtl/pins.h"
#include "Vpost_fifo.h"

// Like PINS_DUT's, but an assertion that does not hold is seen by eval and does not end the process.
static void *create() {
  auto *dut = static_cast<Dut<Vpost_fifo> *>(pins_create<Vpost_fifo>());
  dut->context.fatalOnError(false);
  return dut;
}

static void eval(void *dut, void *pins) {
  auto &d = *static_cast<Dut<Vpost_fifo> *>(dut);
  auto &p = *static_cast<tg_fifo_pins *>(pins);
  d.model->start_i = 0;
  d.model->push_i = p.push;
  d.model->pop_i = p.pop;
  d.model->eval();
  p.empty = d.model->empty_o;
  p.failed = d.context.gotError();
}

extern "C" const tg_dut_ops tg_dut_post_fifo = {create, pins_destroy<Vpost_fifo>, eval,
                                                pins_clock<Vpost_fifo>};
