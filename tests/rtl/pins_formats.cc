#include "tests/rtl/pins.h"
#include "Vformats_bench.h"

template <typename Visitor> static void ports(Visitor &v, Vformats_bench &model, tg_formats_pins &p) {
  v.in("x_i", model.x_i, p.x);
  v.in("r_i", model.r_i, p.r);
  v.out("from_bf16_o", model.from_bf16_o, p.from_bf16);
  v.out("from_fp16_o", model.from_fp16_o, p.from_fp16);
  v.out("mixed_o", model.mixed_o, p.mixed);
  v.out("to_tf32_o", model.to_tf32_o, p.to_tf32);
  v.out("to_bf16_o", model.to_bf16_o, p.to_bf16);
  v.out("to_fp16_o", model.to_fp16_o, p.to_fp16);
  v.out("stochastic_o", model.stochastic_o, p.stochastic);
}
PINS_DUT(tg_dut_formats, Vformats_bench, tg_formats_pins);
