/* The memory behind the AGCUs' ports in the RTL engine: contents in tg_dram, time by a fixed latency or by the model of a
 * memory device (sim/dram). */
#ifndef TEGULA_RTL_MEMORY_H
#define TEGULA_RTL_MEMORY_H

#include "sim/dram/controller.h"
#include "sim/machine/dram.h"
#include "sim/rtl/chip_model.h"

#include <deque>
#include <vector>

namespace tegula {

class Memory {
public:
  Memory(const tg_params &params, tg_dram *dram);
  ~Memory() { tg_controller_destroy(controller_); }
  Memory(const Memory &) = delete;
  Memory &operator=(const Memory &) = delete;
  /* One cycle: hands the data that are due to the chip, and takes its requests. TG_FAULT for an access
   * outside. */
  tg_status serve(ChipModel &chip, tg_diag *diag);
  /* AGCUs whose port can send a piece in the cycle after the one served. */
  uint32_t ready() const { return ready_; }
  /* What a device did since the last call, until `cycle`. */
  tg_dram_counts count(uint64_t cycle);
  /* Ends the run: writes what waits, adds that to the counts, returns the cycles of the run. */
  uint64_t finish(uint64_t cycles, tg_dram_counts *counts);

private:
  tg_status check(const char *what, uint32_t agcu, const Piece &piece, tg_diag *diag) const;
  tg_status read(uint32_t agcu, const Piece &piece, uint64_t cycle, tg_diag *diag);
  void announce(ChipModel &chip, uint64_t cycle);

  struct Read {
    std::vector<uint8_t> data; /* 8P bytes */
    uint64_t due;              /* UINT64_MAX: not known yet */
  };
  struct Port {
    std::deque<Read> reads;
    size_t known = 0; /* of them, with a due cycle */
  };
  tg_dram *dram_;
  tg_controller *controller_ = nullptr; /* null: a fixed latency */
  uint32_t piece_bytes_, latency_, ready_ = UINT32_MAX;
  uint64_t in_flight_ = 0;
  std::vector<Port> ports_;
  std::vector<uint8_t> write_; /* data of a piece that is written */
  tg_dram_counts counted_ = {};
};

} // namespace tegula
#endif
