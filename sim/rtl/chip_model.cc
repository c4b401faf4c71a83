/* The adapter of one verilated configuration. TG_MODEL is its class, TG_MODEL_HEADER its header,
 * TG_MODEL_CREATE the function to define; TG_TRACED is 1 if it can write waves, TG_TILE_BLOCK, TG_AGCU_BLOCK and the like then being
 * of the libraries that its tiles and AGCUs are; TG_COVERED if it counts what of the RTL is executed, TG_MODEL_SYMBOLS then
 * being the header of where. */
#include "sim/rtl/chip_model.h"
#include "sim/rtl/actions.h"

#include "sim/machine/walk.h"

#include <algorithm>
#include <cstring>
#include <type_traits>
#include <verilated.h>
#if TG_TRACED
#include TG_AGCU_HEADER
#include TG_TILE_HEADER
#include <vector>
#include <verilated_fst_c.h>
#endif
#include TG_MODEL_HEADER
#if TG_COVERED
#include TG_MODEL_SYMBOLS
#include <cstdlib>
#include <vector>
#include <verilated_cov.h>
#endif

#if TG_TRACED
/* A verilated chip makes its tiles and AGCUs, models of their own, by these functions when it is first evaluated, and tells no one;
 * the linker lets it call ours. */
struct Blocks {
  std::vector<TG_TILE_BLOCK *> tiles;
  std::vector<TG_AGCU_BLOCK *> agcus;
};
static thread_local Blocks *blocks_made;
extern "C" void *TG_REAL_TILE(const char *scope);
extern "C" void *TG_WRAPPED_TILE(const char *scope) {
  void *tile = TG_REAL_TILE(scope);
  if (blocks_made) blocks_made->tiles.push_back(static_cast<TG_TILE_BLOCK *>(tile));
  return tile;
}
extern "C" void *TG_REAL_AGCU(const char *scope);
extern "C" void *TG_WRAPPED_AGCU(const char *scope) {
  void *agcu = TG_REAL_AGCU(scope);
  if (blocks_made) blocks_made->agcus.push_back(static_cast<TG_AGCU_BLOCK *>(agcu));
  return agcu;
}
#endif

namespace tegula {
namespace {

#if TG_COVERED
std::vector<uint32_t> covered; /* times that each point was reached, by all models of the process */

/* To the file that TEGULA_RTL_COVERAGE names, in Verilator's format, through a model that has not run. */
void write_covered() {
  const char *path = getenv("TEGULA_RTL_COVERAGE");
  if (!path) return;
  VerilatedContext context;
  TG_MODEL model(&context, "chip");
  std::copy(covered.begin(), covered.end(), std::begin(model.rootp->vlSymsp->__Vcoverage));
  context.coveragep()->write(path);
}

void count_covered(const TG_MODEL &model) {
  auto &counts = model.rootp->vlSymsp->__Vcoverage;
  if (covered.empty()) {
    covered.resize(std::size(counts));
    atexit(write_covered);
  }
  for (size_t i = 0; i < covered.size(); i++)
    covered[i] = std::max(covered[i], covered[i] + counts[i]); /* stays where it would wrap around */
}
#endif

/* Bits [lsb, lsb + width) of a port, width at most 64, within it. */
template <class Port> uint64_t bits(const Port &port, uint32_t lsb, uint32_t width) {
  uint64_t value = 0;
  if constexpr (std::is_integral_v<Port>) {
    value = (uint64_t)port >> lsb;
  } else {
    uint32_t word = lsb / 32, shift = lsb % 32, last = sizeof(Port) / 4 - 1;
    value = port[word] >> shift;
    if (shift + width > 32) value |= (uint64_t)port[std::min(word + 1, last)] << (32 - shift);
    if (shift + width > 64) value |= (uint64_t)port[std::min(word + 2, last)] << (64 - shift);
  }
  return width < 64 ? value & ((1ull << width) - 1) : value;
}

template <class Port> bool any(const Port &port) {
  if constexpr (std::is_integral_v<Port>) {
    return port != 0;
  } else {
    for (uint32_t w = 0; w < sizeof(Port) / 4; w++)
      if (port[w]) return true;
    return false;
  }
}

class Model final : public ChipModel {
public:
  Model(const tg_params &m, const char *wave_file, uint32_t fault)
      : p_(m.p), tiles_(tg_tiles(&m)), agcus_(tg_agcus(&m)), contexts_(agcus_ * m.agcu_contexts),
        semaphores_(m.semaphores), top_(&context_, "chip") {
    context_.fatalOnError(false); /* failed() says that an assertion did not hold */
    top_.defect_i = (uint8_t)fault;
    top_.rst_ni = 1;
    make_blocks(wave_file);
    step(); /* so that reset has an edge */
    top_.rst_ni = 0;
    step();
    top_.rst_ni = 1;
    step();
  }
  ~Model() override {
#if TG_TRACED
    if (tracing_) wave_.close();
#endif
    top_.final();
#if TG_COVERED
    count_covered(top_);
#endif
  }

  uint64_t start(const tg_config &config, int plane, const tg_config *next, uint64_t lead) override {
    words_ = ahead_.config == &config ? ahead_ : Words{&config, 0};
    ahead_ = {next, 0};
    uint64_t left = words_.left();
    top_.config_words_i = (uint32_t)left;
    top_.config_cycles_i = left + lead;
    top_.config_plane_i = (uint8_t)plane;
    top_.start_i = 1;
    step();
    top_.start_i = 0;
    put_words();
    step();
    return left + lead;
  }

  void clock(uint32_t ready) override {
    actions_counted = &actions_;
    put_words();
    top_.clk_i = 1;
    top_.eval();
    dump();
    top_.ready_i =
        (decltype(top_.ready_i + 0))(ready & (uint32_t)((1ull << agcus_) - 1)); /* of the next cycle */
    top_.clk_i = 0;
    top_.eval();
    dump();
    if (any(top_.read_valid_i)) clear_reads();
  }

  void read_data(uint32_t agcu, const void *bytes) override {
    memcpy((char *)&top_.read_data_i[0] + agcu * 8 * p_, bytes, 8 * p_);
    top_.read_valid_i |= (decltype(top_.read_valid_i + 0))(1ull << agcu);
  }

  const tg_actions &actions() const override { return actions_; }
  uint64_t cycle() const override { return top_.cycle_o; }
  bool running() const override { return !top_.done_o; }
  bool issuing() const override { return top_.run_o; }
  bool quiet() const override { return top_.quiet_o; }
  bool event() const override { return top_.event_o; }
  bool faulty() const override { return any(top_.fault_o); }
  bool failed() const override { return context_.gotError(); }

  uint64_t issues(uint32_t word) const override { return mask(top_.issue_o, word, 3 * tiles_ + contexts_); }
  uint64_t ends(uint32_t word) const override { return mask(top_.end_o, word, 3 * tiles_ + contexts_); }
  uint64_t store_ends(uint32_t word) const override { return mask(top_.store_end_o, word, contexts_); }
  uint32_t pc(uint32_t unit) const override { return (uint32_t)bits(top_.pc_o, unit * 8, 8); }

  ChipFault fault() const override {
    ChipFault f = {};
    while (f.endpoint + 1 < tiles_ + agcus_ && !bits(top_.fault_o, f.endpoint, 1)) f.endpoint++;
    f.code = (uint32_t)bits(top_.fault_code_o, f.endpoint * 3, 3);
    f.where = (uint32_t)bits(top_.fault_where_o, f.endpoint * 10, 10);
    if (f.endpoint < tiles_) f.ports = (uint32_t)bits(top_.fault_ports_o, f.endpoint * 9, 9);
    return f;
  }
  bool semaphore(uint32_t endpoint, uint32_t number) const override {
    return bits(top_.nonzero_o, endpoint * semaphores_ + number, 1);
  }

  uint32_t reads() const override { return (uint32_t)bits(top_.read_o, 0, agcus_); }
  uint32_t stores() const override { return (uint32_t)bits(top_.store_o, 0, agcus_); }
  uint32_t firsts() const override { return (uint32_t)bits(top_.first_o, 0, agcus_); }
  uint32_t writes() const override { return (uint32_t)bits(top_.write_o, 0, agcus_); }
  Piece read(uint32_t a) const override {
    uint64_t address = bits(top_.read_address_o, a * 64, 64), timed = address;
    if (uint64_t size = bits(top_.index_size_o, a * 32, 32)) {
      auto position = (uint32_t)bits(top_.index_position_o, a * 32, 32);
      timed += (uint64_t)tg_index_nominal(position, (int64_t)size) * bits(top_.index_stride_o, a * 64, 64) -
               bits(top_.index_offset_o, a * 64, 64);
    }
    return {address,
            bits(top_.read_wide_o, a, 1) ? 4u : 2u,
            (uint32_t)bits(top_.read_first_o, a * 8, 8),
            (uint32_t)bits(top_.read_count_o, a * 8, 8),
            (uint32_t)bits(top_.read_atoms_o, a * 8, 8),
            timed,
            (uint32_t)bits(top_.timed_count_o, a * 8, 8)};
  }
  Piece write(uint32_t a) const override {
    return {bits(top_.write_address_o, a * 64, 64),
            bits(top_.write_wide_o, a, 1) ? 4u : 2u,
            (uint32_t)bits(top_.write_first_o, a * 8, 8),
            (uint32_t)bits(top_.write_count_o, a * 8, 8),
            (uint32_t)bits(top_.write_atoms_o, a * 8, 8),
            0,
            0};
  }
  void write_data(uint32_t agcu, void *out_bytes) const override {
    memcpy(out_bytes, (const char *)&top_.write_data_o[0] + agcu * 4 * p_, 4 * p_);
  }

private:
  /* Words of a section, and how many of them have left. */
  struct Words {
    const tg_config *config;
    size_t sent;
    size_t left() const { return config ? std::max(config->west.count, config->north.count) - sent : 0; }
  };

  template <class Port> static uint64_t mask(const Port &port, uint32_t word, uint32_t size) {
    return bits(port, word * 64, std::min(64u, size - word * 64));
  }
  void clear_reads() { top_.read_valid_i = 0; }

  /* The words of the next cycle. */
  void put_words() {
    top_.word_valid_i = 0;
    Words *words = words_.left() ? &words_ : top_.room_o ? &ahead_ : nullptr;
    if (!words || !words->left()) return;
    put_word(words->config->west, words->sent, 0);
    put_word(words->config->north, words->sent, 1);
    words->sent++;
  }
  void put_word(const tg_config_words &line, size_t index, uint32_t number) {
    if (index >= line.count) return;
    const tg_config_word &word = line.words[index];
    uint32_t place = word.lane | (uint32_t)word.slot << 11 | (uint32_t)word.unit << 19 |
                     (uint32_t)word.kind << 22 | (uint32_t)word.clear << 25 | (uint32_t)word.scatter << 26 |
                     (uint32_t)word.by_row << 27;
    top_.word_valid_i |= (uint8_t)(1u << number);
    put_half(top_.word_rows_i, number, word.rows);
    put_half(top_.word_positions_i, number, word.positions);
    put_half(top_.word_place_i, number, place);
    memcpy((char *)&top_.word_data_i + number * 4 * p_, word.data, 4 * p_);
  }
  static void put_half(QData &port, uint32_t number, uint32_t value) {
    port = (port & ~(0xffffffffull << 32 * number)) | (uint64_t)value << 32 * number;
  }

  /* Evaluates the chip for the first time, so that it makes its blocks, in its own context, and opens the waves of all. */
  void make_blocks(const char *wave_file) {
    VerilatedContext *others = Verilated::threadContextp();
    Verilated::threadContextp(&context_);
    actions_counted = &actions_;
#if TG_TRACED
    Blocks blocks;
    blocks_made = &blocks;
    context_.traceEverOn(wave_file);
    top_.eval();
    blocks_made = nullptr;
    if (wave_file) {
      top_.trace(&wave_, 0); /* no deeper: Verilator 5.006 would add the first tile only (its issue 5027) */
      for (TG_TILE_BLOCK *tile : blocks.tiles) tile->trace(&wave_, 99);
      for (TG_AGCU_BLOCK *agcu : blocks.agcus) agcu->trace(&wave_, 99);
      wave_.open(wave_file);
      tracing_ = true;
    }
#else
    (void)wave_file;
    top_.eval();
#endif
    Verilated::threadContextp(others);
  }

  void step() {
    actions_counted = &actions_;
    top_.clk_i = 1;
    top_.eval();
    dump();
    top_.clk_i = 0;
    top_.eval();
    dump();
  }
  void dump() {
#if TG_TRACED
    if (tracing_) wave_.dump(time_++);
#endif
  }

  const uint32_t p_, tiles_, agcus_, contexts_ /* of all AGCUs */, semaphores_;
  tg_actions actions_ = {};
  Words words_ = {}, ahead_ = {}; /* of the section that runs, and of the next one */
  VerilatedContext context_;
  TG_MODEL top_;
#if TG_TRACED
  VerilatedFstC wave_;
  bool tracing_ = false;
  uint64_t time_ = 0;
#endif
};

} // namespace

std::unique_ptr<ChipModel> TG_MODEL_CREATE(const tg_params &params, const char *wave_file, uint32_t fault) {
  return std::unique_ptr<ChipModel>(new Model(params, wave_file, fault));
}

} // namespace tegula
