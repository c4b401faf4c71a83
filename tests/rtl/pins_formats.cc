#include "tests/rtl/pins.h"
#include "Vformats_bench.h"

static void eval(void *dut, void *pins) {
  auto &model = *static_cast<Dut<Vformats_bench> *>(dut)->model;
  auto &p = *static_cast<tg_formats_pins *>(pins);
  model.x_i = p.x;
  model.r_i = p.r;
  model.eval();
  p.from_bf16 = model.from_bf16_o;
  p.from_fp16 = model.from_fp16_o;
  p.mixed = model.mixed_o;
  p.to_tf32 = model.to_tf32_o;
  p.to_bf16 = model.to_bf16_o;
  p.to_fp16 = model.to_fp16_o;
  p.stochastic = model.stochastic_o;
}
PINS_DUT(tg_dut_formats, Vformats_bench, eval);
