/* What the pin drivers share: reset, clock, and ports of any width as arrays of 32-bit words. */
#ifndef TEGULA_TESTS_RTL_PINS_H
#define TEGULA_TESTS_RTL_PINS_H

#include "tests/rtl/duts.h"

#include <memory>
#include <verilated.h>

template <typename Model> struct Dut {
  VerilatedContext context;
  std::unique_ptr<Model> model = std::make_unique<Model>(&context);
};

template <typename Model> void *pins_create() {
  auto *dut = new Dut<Model>;
  dut->model->clk_i = 0;
  dut->model->rst_ni = 1;
  dut->model->eval();
  dut->model->rst_ni = 0;
  dut->model->eval();
  dut->model->clk_i = 1;
  dut->model->eval();
  dut->model->clk_i = 0;
  dut->model->rst_ni = 1;
  dut->model->eval();
  return dut;
}
template <typename Model> void pins_destroy(void *dut) { delete static_cast<Dut<Model> *>(dut); }
template <typename Model> void pins_clock(void *dut) {
  auto &model = *static_cast<Dut<Model> *>(dut)->model;
  model.clk_i = 1;
  model.eval();
  model.clk_i = 0;
  model.eval();
}

template <std::size_t N> void put(VlWide<N> &port, const uint32_t *words) {
  for (std::size_t i = 0; i < N; i++) port[i] = words[i];
}
inline void put(QData &port, const uint32_t *words) { port = words[0] | (uint64_t)words[1] << 32; }
template <std::size_t N> void get(const VlWide<N> &port, uint32_t *words) {
  for (std::size_t i = 0; i < N; i++) words[i] = port[i];
}
inline void get(const QData &port, uint32_t *words) {
  words[0] = (uint32_t)port;
  words[1] = (uint32_t)(port >> 32);
}

#define PINS_DUT(name, Model, eval)                                                                          \
  extern "C" const tg_dut_ops name = {pins_create<Model>, pins_destroy<Model>, eval, pins_clock<Model>}

#endif
