#include "sim/rtl/memory.h"

#include <cstring>

namespace tegula {

Memory::Memory(const tg_params &params, tg_dram *dram)
    : dram_(dram), piece_bytes_(8 * params.p), latency_(params.dram_latency), ports_(tg_agcus(&params)),
      write_(4 * params.p) {
  for (Port &port : ports_) {
    port.data.resize((size_t)latency_ * piece_bytes_);
    port.due.resize(latency_);
  }
}

tg_status Memory::check(const char *what, uint32_t agcu, const Piece &piece, tg_diag *diag) const {
  uint64_t bytes = (uint64_t)piece.count * piece.element_bytes;
  if (bytes <= dram_->size && piece.address <= dram_->size - bytes) return TG_OK;
  return tg_fail(diag, TG_FAULT, "agcu %u %s %llu bytes at 0x%llx, outside the memory", agcu, what,
                 (unsigned long long)bytes, (unsigned long long)piece.address);
}

tg_status Memory::serve(ChipModel &chip, tg_diag *diag) {
  uint32_t reads = chip.reads(), writes = chip.writes();
  if (in_flight_) {
    for (uint32_t a = 0; a < ports_.size(); a++) {
      if (!ports_[a].due[slot_]) continue;
      chip.read_data(a, &ports_[a].data[(size_t)slot_ * piece_bytes_]);
      ports_[a].due[slot_] = 0;
      in_flight_--;
    }
  }
  for (; reads; reads &= reads - 1) {
    uint32_t a = (uint32_t)__builtin_ctz(reads);
    Piece piece = chip.read(a);
    uint8_t *out = &ports_[a].data[(size_t)slot_ * piece_bytes_];
    memset(out, 0, piece_bytes_);
    if (piece.count) {
      tg_status status = check("reads", a, piece, diag);
      if (status) return status;
      memcpy(out + piece.first * piece.element_bytes, dram_->bytes + piece.address,
             piece.count * piece.element_bytes);
    }
    dram_->read += 64ull * piece.atoms;
    ports_[a].due[slot_] = 1;
    in_flight_++;
  }
  for (; writes; writes &= writes - 1) {
    uint32_t a = (uint32_t)__builtin_ctz(writes);
    Piece piece = chip.write(a);
    if (piece.count) {
      tg_status status = check("writes", a, piece, diag);
      if (status) return status;
      chip.write_data(a, write_.data());
      memcpy(dram_->bytes + piece.address, write_.data() + piece.first * piece.element_bytes,
             piece.count * piece.element_bytes);
    }
    dram_->written += 64ull * piece.atoms;
  }
  slot_ = slot_ + 1 == latency_ ? 0 : slot_ + 1;
  return TG_OK;
}

} // namespace tegula
