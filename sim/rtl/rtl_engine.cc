/* The RTL engine: runs programs on the verilated chip whose parameters are the program's. */
#include "sim/machine/numerics.h"
#include "sim/rtl/memory.h"
#include "sim/rtl/recorder.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>

namespace tegula {
namespace {

/* Cycles in which nothing moves before we call it a deadlock: more than any unit holds an instruction back on
 * its own. */
constexpr uint32_t kQuietCycles = 512;

tg_status config_params(const ChipConfig &config, tg_params *out, tg_diag *diag) {
  tg_status status = tg_params_load("tiny", out, diag);
  std::string rest = config.parameters;
  while (!status && !rest.empty()) {
    size_t space = rest.find(' ');
    std::string word = rest.substr(0, space);
    rest = space == std::string::npos ? "" : rest.substr(space + 1);
    if (!word.empty()) status = tg_params_set(out, word.c_str(), diag);
  }
  return status;
}

const ChipConfig *find_config(const tg_params &params, bool faults, bool traced) {
  for (const ChipConfig *config = chip_configs; config->name; config++) {
    tg_params own;
    if (config->faults != faults || (traced && !config->traced)) continue;
    if (config_params(*config, &own, nullptr)) continue;
    own.clock_mhz = params.clock_mhz;         /* cycles have no length in the RTL */
    own.config_cycles = params.config_cycles; /* it is told with each section */
    if (tg_params_equal(&own, &params)) return config;
  }
  return nullptr;
}

/* The program's parameters as the arguments of a build. */
std::string build_hint(const tg_params &params) {
  tg_params tiny;
  tg_params_load("tiny", &tiny, nullptr);
  std::string text;
#define PARAM(name, presets, lowest, highest, power_of_two, doc)                                             \
  if (params.name != tiny.name)                                                                              \
    text += std::string(text.empty() ? "" : ",") + #name "=" + std::to_string(params.name);
#include "sim/machine/params.def"
#undef PARAM
  return text;
}

class Engine {
public:
  Engine(const tg_program &program, const ChipConfig &config) : program_(program), config_(config) {}

  tg_status run(tg_dram *dram, const tg_run_options &options, tg_run_result *result, tg_diag *diag);

private:
  /* What an invocation is loaded with. */
  struct Words {
    tg_arena arena;
    tg_config config;
    int plane;
    bool half; /* tg_section_is_half */
  };
  void pack(uint32_t invocation, const tg_run_options &options, const Words *before, Words *out) const;
  tg_status run_section(uint32_t invocation, const tg_run_options &options, Memory &memory,
                        Recorder &recorder, tg_diag *diag);
  tg_status report(const char *what, uint32_t invocation, tg_diag *diag) const;
  std::string fault_text(const Recorder &recorder) const;

  const tg_program &program_;
  const ChipConfig &config_;
  std::unique_ptr<ChipModel> chip_;
};

/* Those of the invocation before, which is null for the first one, may be in use. */
void Engine::pack(uint32_t number, const tg_run_options &options, const Words *before, Words *out) const {
  const tg_invocation &invocation = program_.invocations[number];
  const tg_section &section = program_.sections[invocation.section];
  uint32_t keys[TG_BASES];
  for (int k = 0; k < TG_BASES; k++) keys[k] = tg_sr_key(options.seed, options.step, invocation.key_nodes[k]);
  tg_arena_release(&out->arena);
  out->config = {};
  out->config.west.arena = out->config.north.arena = &out->arena;
  out->half = tg_section_is_half(&program_.params, &section);
  out->plane = before && before->half && out->half && !before->plane;
  tg_config_pack(&program_.params, &section, invocation.bases, keys, out->plane, &out->config);
}

tg_status Engine::report(const char *what, uint32_t invocation, tg_diag *diag) const {
  const tg_section &section = program_.sections[program_.invocations[invocation].section];
  return tg_fail(diag, TG_FAULT, "section \"%s\" (invocation %u), cycle %llu: %s",
                 section.name ? section.name : "", invocation, (unsigned long long)chip_->cycle(), what);
}

std::string Engine::fault_text(const Recorder &recorder) const {
  static const char *const ports[] = {"mx A",      "mx B",      "vx load",    "tx",        "vx store",
                                      "lane east", "lane west", "lane south", "lane north"};
  ChipFault fault = chip_->fault();
  std::string where = recorder.endpoint_name(fault.endpoint) + ": ", who;
  for (uint32_t p = 0; p < 9; p++)
    if (fault.ports >> p & 1) who += (who.empty() ? "" : " and ") + std::string(ports[p]);
  switch (fault.code) {
  case TG_FAULT_BANK: return where + who + " own bank " + std::to_string(fault.where);
  case TG_FAULT_ACC: return where + "mx and vx own accumulator half " + std::to_string(fault.where);
  case TG_FAULT_SEMAPHORE: return where + "semaphore " + std::to_string(fault.where) + " is above 255";
  default:
    return where + (who.empty() ? "a row outside the store memory" : who + ": a row outside the scratchpad");
  }
}

tg_status Engine::run_section(uint32_t invocation, const tg_run_options &options, Memory &memory,
                              Recorder &recorder, tg_diag *diag) {
  uint32_t quiet = 0;
  while (chip_->running()) {
    if (chip_->faulty()) return report(fault_text(recorder).c_str(), invocation, diag);
    if (chip_->failed()) return report("an assertion of the RTL does not hold", invocation, diag);
    if (options.max_cycles && chip_->cycle() >= options.max_cycles)
      return report(("cycle limit reached: " + recorder.stuck(*chip_)).c_str(), invocation, diag);
    if (chip_->event()) {
      tg_status status = recorder.cycle(*chip_, diag);
      if (status) return status;
    }
    tg_status status = memory.serve(*chip_, diag);
    if (status) return status;
    quiet = chip_->quiet() && chip_->issuing() ? quiet + 1 : 0;
    if (quiet > kQuietCycles)
      return report(("deadlock: " + recorder.stuck(*chip_)).c_str(), invocation, diag);
    chip_->clock(memory.ready());
  }
  return TG_OK;
}

tg_status Engine::run(tg_dram *dram, const tg_run_options &options, tg_run_result *result, tg_diag *diag) {
  auto begin = std::chrono::steady_clock::now();
  uint64_t read = dram->read, written = dram->written;
  chip_ = config_.create(program_.params, options.wave_file, options.fault);
  Memory memory(program_.params, dram);
  Recorder recorder(program_, options.record_events, options.observer);
  *result = {};
  size_t bytes = program_.invocation_count * sizeof(tg_section_time);
  result->sections = (tg_section_time *)malloc(bytes ? bytes : 1);
  if (!result->sections) tg_die("out of memory");
  tg_status status = TG_OK;
  const uint32_t count = program_.invocation_count;
  Words words[2] = {}; /* of even and odd invocations: one runs, those of the other leave */
  if (count) pack(0, options, nullptr, &words[0]);
  for (uint32_t i = 0; i < count && !status; i++) {
    if (!tg_run_proceeds(&options, i)) {
      status = report("the caller ended the run", i, diag);
      break;
    }
    const Words &own = words[i % 2];
    Words &next = words[(i + 1) % 2];
    bool ahead = false;
    if (i + 1 < count) {
      pack(i + 1, options, &own, &next);
      ahead = own.half && next.half;
    }
    tg_section_time *time = &result->sections[i];
    time->begin = chip_->cycle();
    const tg_actions before = chip_->actions();
    time->config = chip_->start(own.config, own.plane, ahead ? &next.config : nullptr,
                                tg_config_cycles(&program_.params, 0, 0));
    recorder.begin(i);
    if (options.observer) options.observer->begin(options.observer->user, i, time->begin, time->config);
    time->dram_read = dram->read;
    time->dram_written = dram->written;
    status = run_section(i, options, memory, recorder, diag);
    time->end = chip_->cycle() - tg_section_next(&program_.params, 0);
    time->dram = memory.count(chip_->cycle());
    time->dram_read = dram->read - time->dram_read;
    time->dram_written = dram->written - time->dram_written;
    for (int a = 0; a < TG_ACTIONS; a++) time->actions.count[a] = chip_->actions().count[a] - before.count[a];
    if (!status) recorder.end(time->end);
  }
  for (Words &own : words) tg_arena_release(&own.arena);
  result->cycles = chip_->cycle();
  if (count && !status) result->cycles = memory.finish(result->cycles, &result->sections[count - 1].dram);
  chip_.reset();
  if (status) {
    tg_run_result_release(result);
    return status;
  }
  if (options.record_events) result->events = recorder.take_events(&result->event_count);
  result->dram_read = dram->read - read;
  result->dram_written = dram->written - written;
  result->seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  return TG_OK;
}

tg_status rtl_open(const tg_program *program, const tg_run_options *options, void **out_state,
                   tg_diag *diag) {
  *out_state = nullptr;
  tg_status fits = tg_dram_device_fits(&program->params.dram, program->dram_bytes, diag);
  if (fits) return fits;
  const ChipConfig *config = find_config(program->params, options->fault != 0, options->wave_file != nullptr);
  if (!config) {
    std::string hint = build_hint(program->params);
    return tg_fail(
        diag, TG_INVALID,
        "no RTL build for these parameters%s; build one with cmake -DTEGULA_RTL_CONFIGS=\"mine:%s\"",
        options->fault       ? " with deliberate defects"
        : options->wave_file ? " with waves"
                             : "",
        hint.c_str());
  }
  *out_state = new Engine(*program, *config);
  return TG_OK;
}

tg_status rtl_run(void *state, tg_dram *dram, const tg_run_options *options, tg_run_result *out_result,
                  tg_diag *diag) {
  return static_cast<Engine *>(state)->run(dram, *options, out_result, diag);
}

void rtl_close(void *state) { delete static_cast<Engine *>(state); }

} // namespace
} // namespace tegula

extern "C" const tg_engine tg_engine_rtl = {"rtl", tegula::rtl_open, tegula::rtl_run, tegula::rtl_close};
