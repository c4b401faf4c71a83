#include "tests/rtl/pins.h"
#include "Vlane3.h"
#include "Vlane5.h"

template <typename Visitor, typename Model> static void ports(Visitor &v, Model &model, tg_lane_pins &p) {
  v.in("rst_ni", model.rst_ni, !p.reset);
  v.in("valid_i", model.valid_i, p.valid);
  v.in("a_i", model.a_i, p.a);
  v.in("b_i", model.b_i, p.b);
  v.in("c_i", model.c_i, p.c);
  v.out("sum_o", model.sum_o, p.sum);
}
PINS_DUT(tg_dut_lane3, Vlane3, tg_lane_pins);
PINS_DUT(tg_dut_lane5, Vlane5, tg_lane_pins);
