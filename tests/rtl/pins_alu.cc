#include "tests/rtl/pins.h"
#include "Valu.h"

static void eval(void *dut, void *pins) {
  auto &model = *static_cast<Dut<Valu> *>(dut)->model;
  auto &p = *static_cast<tg_alu_pins *>(pins);
  model.rst_ni = !p.reset;
  model.valid_i = p.valid;
  model.op_i = p.op;
  model.a_i = p.a;
  model.b_i = p.b;
  model.c_i = p.c;
  model.moved_i = p.moved;
  model.tail_i = p.tail;
  model.eval();
  p.result = model.result_o;
}
PINS_DUT(tg_dut_alu, Valu, eval);
