#include "tests/rtl/pins.h"
#include "Vpe_apart.h"
#include "Vpe_bench.h"

template <typename Model> static void eval(void *dut, void *pins) {
  auto &model = *static_cast<Dut<Model> *>(dut)->model;
  auto &p = *static_cast<tg_pe_pins *>(pins);
  model.rst_ni = !p.reset;
  model.fp32_i = p.fp32;
  model.fp16_i = p.fp16;
  model.tf32_i = p.tf32;
  model.w_transposed_i = p.w_transposed;
  model.w_set_i = p.w_set;
  model.w_row_en_i = p.w_row_en;
  model.w_col_en_i = p.w_col_en;
  model.w_on_i = p.w_on;
  put(model.w_row_i, p.w_row);
  put(model.w_col_i, p.w_col);
  model.a_valid_i = p.a_valid;
  model.a_set_i = p.a_set;
  put(model.a_i, p.a);
  put(model.psum_i, p.psum);
  model.eval();
  get(model.psum_o, p.out);
  get(model.a_in_o, p.a_in);
  get(model.a_out_o, p.a_out);
  p.a_valid_out = model.a_valid_o;
  p.a_set_out = model.a_set_o;
}
PINS_DUT(tg_dut_pe, Vpe_bench, eval<Vpe_bench>);
PINS_DUT(tg_dut_pe_apart, Vpe_apart, eval<Vpe_apart>);
