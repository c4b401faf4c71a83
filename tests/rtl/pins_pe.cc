#include "tests/rtl/pins.h"
#include "Vpe_apart.h"
#include "Vpe_bench.h"

template <typename Visitor, typename Model> static void ports(Visitor &v, Model &model, tg_pe_pins &p) {
  v.in("rst_ni", model.rst_ni, !p.reset);
  v.in("fp32_i", model.fp32_i, p.fp32);
  v.in("fp16_i", model.fp16_i, p.fp16);
  v.in("tf32_i", model.tf32_i, p.tf32);
  v.in("w_transposed_i", model.w_transposed_i, p.w_transposed);
  v.in("w_set_i", model.w_set_i, p.w_set);
  v.in("w_row_en_i", model.w_row_en_i, p.w_row_en);
  v.in("w_col_en_i", model.w_col_en_i, p.w_col_en);
  v.in("w_on_i", model.w_on_i, p.w_on);
  v.in("w_row_i", model.w_row_i, p.w_row);
  v.in("w_col_i", model.w_col_i, p.w_col);
  v.in("a_valid_i", model.a_valid_i, p.a_valid);
  v.in("a_set_i", model.a_set_i, p.a_set);
  v.in("a_i", model.a_i, p.a);
  v.in("psum_i", model.psum_i, p.psum);
  v.out("psum_o", model.psum_o, p.out);
  v.out("a_in_o", model.a_in_o, p.a_in);
  v.out("a_out_o", model.a_out_o, p.a_out);
  v.out("a_valid_o", model.a_valid_o, p.a_valid_out);
  v.out("a_set_o", model.a_set_o, p.a_set_out);
}
PINS_DUT(tg_dut_pe, Vpe_bench, tg_pe_pins);
PINS_DUT(tg_dut_pe_apart, Vpe_apart, tg_pe_pins);
