#include "tests/rtl/pins.h"
#include "Vlane3.h"
#include "Vlane5.h"

template <typename Model> static void eval(void *dut, void *pins) {
  auto &model = *static_cast<Dut<Model> *>(dut)->model;
  auto &p = *static_cast<tg_lane_pins *>(pins);
  model.rst_ni = !p.reset;
  model.valid_i = p.valid;
  model.a_i = p.a;
  model.b_i = p.b;
  model.c_i = p.c;
  model.eval();
  p.sum = model.sum_o;
}
PINS_DUT(tg_dut_lane3, Vlane3, eval<Vlane3>);
PINS_DUT(tg_dut_lane5, Vlane5, eval<Vlane5>);
