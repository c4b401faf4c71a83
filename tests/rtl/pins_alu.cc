#include "tests/rtl/pins.h"
#include "Valu.h"

template <typename Visitor> static void ports(Visitor &v, Valu &model, tg_alu_pins &p) {
  v.in("rst_ni", model.rst_ni, !p.reset);
  v.in("valid_i", model.valid_i, p.valid);
  v.in("op_i", model.op_i, p.op);
  v.in("a_i", model.a_i, p.a);
  v.in("b_i", model.b_i, p.b);
  v.in("c_i", model.c_i, p.c);
  v.in("moved_i", model.moved_i, p.moved);
  v.in("tail_i", model.tail_i, p.tail);
  v.out("result_o", model.result_o, p.result);
}
PINS_DUT(tg_dut_alu, Valu, tg_alu_pins);
