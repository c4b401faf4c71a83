/* tg_engine_systemc: the agents of a chip as SystemC modules. A module is one event and one method, which
 * hands over to the rules in C. One nanosecond is one cycle. */
#include "frontend/base/guard.h"
#include "sim/systemc/chip.h"
#include "sim/systemc/kernel.h"

#include <chrono>
#include <cstdlib>
#include <exception>
#include <vector>

namespace {

struct Clockwork { /* what the modules of one chip share */
  tg_chip *chip = nullptr;
  uint64_t origin = 0; /* SystemC time of the run's cycle 0, in cycles */
  uint64_t unit = 0;   /* of sc_time, in a cycle */
  uint64_t cycle() const { return sc_core::sc_time_stamp().value() / unit - origin; }
  /* Where the rules in C find no memory they end here, and not beyond the kernel's frames; the run ends with it. */
  template <typename Call> void guarded(Call call) const {
    tg_guard guard;
    tg_guard_enter(&guard);
    if (setjmp(guard.place)) {
      (void)tg_guard_caught(&guard, &chip->fault);
      chip->fault_status = TG_INVALID;
      chip->fault_at = chip->now;
      chip->stopped = true;
      return;
    }
    call(chip);
    tg_guard_leave(&guard);
  }
};

/* A sequencer, an arbiter, a port, the control of sections. */
class Agent : public sc_core::sc_module {
public:
  SC_HAS_PROCESS(Agent);
  Agent(const sc_core::sc_module_name &name, Clockwork &clockwork, uint32_t index)
      : sc_module(name), clockwork_(clockwork), index_(index) {
    SC_METHOD(act);
    sensitive << wake_;
    dont_initialize();
  }
  void wake(uint64_t cycle) { /* an earlier wake wins over a later one */
    uint64_t delay = cycle - clockwork_.cycle();
    wake_.notify(sc_core::sc_time::from_value(delay * clockwork_.unit));
  }

private:
  void act() {
    clockwork_.guarded([this](tg_chip *chip) { tg_chip_act(chip, index_, clockwork_.cycle()); });
  }
  sc_core::sc_event wake_;
  Clockwork &clockwork_;
  const uint32_t index_;
};

struct Engine {
  tg::Kernel kernel;
  Clockwork clockwork;
  std::vector<std::unique_ptr<Agent>> agents;
  tg_machine_state *machine = nullptr; /* with memories, made when values are wanted */
  tg_machine_state timing = {};        /* without */
  tg_kernels *kernels = nullptr;       /* native code, made when values are wanted */
  tg_values *values = nullptr;         /* the same */
  uint32_t threads = 0;                /* that `values` was made for */

  explicit Engine(const tg_program *program) {
    tg_chip *chip = clockwork.chip = tg_chip_create(program, wake, this);
    tg::Kernel::Current current(kernel);
    clockwork.unit = sc_core::sc_time(1, sc_core::SC_NS).value();
    timing.params = program->params;
    timing.program = program;
    for (uint32_t i = 0; i < chip->agents; i++)
      agents.emplace_back(std::make_unique<Agent>(name(chip, i).c_str(), clockwork, i));
  }
  ~Engine() {
    {
      tg::Kernel::Current current(kernel);
      agents.clear();
    }
    tg_chip_destroy(clockwork.chip);
    tg_values_destroy(values);
    tg_machine_destroy(machine);
    tg_kernels_destroy(kernels);
  }

  static void wake(void *host, uint32_t agent, uint64_t cycle) {
    static_cast<Engine *>(host)->agents[agent]->wake(cycle);
  }
  static std::string name(const tg_chip *chip, uint32_t agent) {
    if (agent < chip->units) return "unit_" + std::to_string(agent);
    if (agent < tg_agent_of_lane(chip, 0)) return "port_" + std::to_string(agent - chip->units);
    if (agent < tg_agent_of_memory(chip)) return "lane_" + std::to_string(agent - tg_agent_of_lane(chip, 0));
    if (agent == tg_agent_of_memory(chip)) return "memory";
    if (agent == tg_agent_of_posts(chip)) return "posts";
    return "control";
  }
};

/* Memories, kernels and threads, when values are wanted for the first time. */
tg_status prepare_values(Engine *engine, uint32_t threads, tg_diag *diag) {
  const tg_program *program = engine->clockwork.chip->program;
  if (!engine->machine) engine->machine = tg_machine_create(&program->params);
  if (engine->values && engine->threads != threads) {
    tg_values_destroy(engine->values);
    engine->values = nullptr;
  }
  engine->threads = threads;
  if (!engine->values) engine->values = tg_values_create(threads);
  tg_exec_thread_init();
  tg_status status = engine->kernels ? TG_OK : tg_kernels_prepare(program, &engine->kernels, diag);
  if (!status) tg_values_bind(engine->values, engine->kernels, engine->machine);
  return status;
}

/* What the kernel throws where it finds no memory stays here: callers are in C. */
template <typename Call> tg_status caught(tg_diag *diag, Call call) {
  try {
    return call();
  } catch (const std::exception &error) {
    return tg_fail(diag, TG_INVALID, "SystemC: %s", error.what());
  }
}

tg_status open_engine(const tg_program *program, const tg_run_options *options, void **out_state,
                      tg_diag *diag) {
  tg_status fits = tg_dram_device_fits(&program->params.dram, program->dram_bytes, diag);
  *out_state = nullptr;
  if (fits) return fits;
  return caught(diag, [&] {
    auto engine = std::make_unique<Engine>(program);
    tg_status status = options->timing_only ? TG_OK : prepare_values(engine.get(), options->threads, diag);
    *out_state = status ? nullptr : engine.release();
    return status;
  });
}

tg_status run_engine(void *state, tg_dram *dram, const tg_run_options *options, tg_run_result *result,
                     tg_diag *diag) {
  auto *engine = static_cast<Engine *>(state);
  tg_chip *chip = engine->clockwork.chip;
  *result = tg_run_result{};
  chip->values = !options->timing_only;
  tg_status ready = chip->values ? prepare_values(engine, options->threads, diag) : TG_OK;
  if (ready) return ready;
  chip->machine = chip->values ? engine->machine : &engine->timing;
  chip->computing = engine->values;
  auto begin = std::chrono::steady_clock::now();
  uint64_t read = dram->read, written = dram->written;
  tg_status status = caught(diag, [&] {
    tg::Kernel::Current current(engine->kernel);
    engine->clockwork.origin = 0;
    engine->clockwork.origin = engine->clockwork.cycle();
    engine->clockwork.guarded([&](tg_chip *it) { tg_chip_begin(it, dram, options); });
    if (!chip->stopped) sc_core::sc_start();
    return TG_OK;
  });
  if (status) return status;
  status = tg_chip_finish(chip, result, diag);
  result->dram_read = dram->read - read;
  result->dram_written = dram->written - written;
  result->seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  return status;
}

void close_engine(void *state) { delete static_cast<Engine *>(state); }

} // namespace

extern "C" const tg_engine tg_engine_systemc = {"systemc", open_engine, run_engine, close_engine};
