/* The memory behind the AGCUs' ports in the RTL engine: a fixed latency over tg_dram. */
#ifndef TEGULA_RTL_MEMORY_H
#define TEGULA_RTL_MEMORY_H

#include "sim/machine/dram.h"
#include "sim/rtl/chip_model.h"

#include <vector>

namespace tegula {

class Memory {
public:
  Memory(const tg_params &params, tg_dram *dram);
  /* One cycle: hands the data that are due to the chip, and takes its requests. TG_FAULT for an access
   * outside. */
  tg_status serve(ChipModel &chip, tg_diag *diag);

private:
  tg_status check(const char *what, uint32_t agcu, const Piece &piece, tg_diag *diag) const;

  struct Port {
    std::vector<uint8_t> data; /* a ring of dram_latency pieces of 8P bytes */
    std::vector<uint8_t> due;
  };
  tg_dram *dram_;
  uint32_t piece_bytes_, latency_;
  uint32_t slot_ = 0;
  uint64_t in_flight_ = 0;
  std::vector<Port> ports_;
  std::vector<uint8_t> write_; /* data of a piece that is written */
};

} // namespace tegula
#endif
