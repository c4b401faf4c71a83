/* What the pin drivers share: reset, clock, and ports of any width as arrays of 32-bit words.
 *
 * A driver says once which port is which pin: ports(visitor, model, pins) calls visitor.in(NAME, PORT, VALUE) of
 * each input and visitor.out(NAME, PORT, PIN) of each output. Visitors drive the model, read it, and write down
 * what went through its ports, where the environment asks for it: TEGULA_RTL_RECORD=FOLDER (recorder.h). */
#ifndef TEGULA_TESTS_RTL_PINS_H
#define TEGULA_TESTS_RTL_PINS_H

#include "tests/rtl/duts.h"
#include "tests/rtl/recorder.h"

#include <memory>
#include <verilated.h>

template <typename Model> struct Dut {
  VerilatedContext context;
  std::unique_ptr<Model> model = std::make_unique<Model>(&context);
  Recorder recorder{model->modelName()};
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
  static_cast<Dut<Model> *>(dut)->recorder.clock();
  model.clk_i = 1;
  model.eval();
  model.clk_i = 0;
  model.eval();
}

template <typename Port> void put(Port &port, uint64_t value) { port = static_cast<Port>(value); }
template <std::size_t N> void put(VlWide<N> &port, const uint32_t *words) {
  for (std::size_t i = 0; i < N; i++) port[i] = words[i];
}
inline void put(QData &port, const uint32_t *words) { port = words[0] | (uint64_t)words[1] << 32; }
template <typename Port, typename Pin> void get(const Port &port, Pin &pin) { pin = static_cast<Pin>(port); }
template <std::size_t N> void get(const VlWide<N> &port, uint32_t *words) {
  for (std::size_t i = 0; i < N; i++) words[i] = port[i];
}
inline void get(const QData &port, uint32_t *words) {
  words[0] = (uint32_t)port;
  words[1] = (uint32_t)(port >> 32);
}

struct Drive {
  template <typename Port, typename Value> void in(const char *, Port &port, Value value) {
    put(port, value);
  }
  template <typename Port, typename Pin> void out(const char *, Port &, Pin &&) {}
};
struct Read {
  template <typename Port, typename Value> void in(const char *, Port &, Value) {}
  template <typename Port, typename Pin> void out(const char *, Port &port, Pin &&pin) { get(port, pin); }
};

template <typename Model, typename Pins> void pins_eval(void *dut, void *pins) {
  auto &d = *static_cast<Dut<Model> *>(dut);
  auto &p = *static_cast<Pins *>(pins);
  Drive drive;
  Read read;
  ports(drive, *d.model, p);
  d.model->eval();
  ports(read, *d.model, p);
  if (d.recorder.begin()) ports(d.recorder, *d.model, p);
}

#define PINS_DUT(name, Model, Pins)                                                                          \
  extern "C" const tg_dut_ops name = {pins_create<Model>, pins_destroy<Model>, pins_eval<Model, Pins>,       \
                                      pins_clock<Model>}

#endif
