#include "sim/rtl/memory.h"

#include <algorithm>
#include <cstring>

namespace tegula {

Memory::Memory(const tg_params &params, tg_dram *dram)
    : dram_(dram), piece_bytes_(8 * params.p), latency_(params.dram_latency), ports_(tg_agcus(&params)),
      write_(4 * params.p) {
  if (tg_dram_is_simple(&params.dram)) return;
  tg_controller_host host = {this,
                             [](void *user, uint32_t port, uint64_t cycle) {
                               Port &p = static_cast<Memory *>(user)->ports_[port];
                               p.reads[p.known++].due = cycle;
                             },
                             nullptr};
  controller_ = tg_controller_create(&params, &host);
}

tg_status Memory::check(const char *what, uint32_t agcu, const Piece &piece, tg_diag *diag) const {
  uint64_t bytes = (uint64_t)piece.count * piece.element_bytes;
  if (bytes <= dram_->size && piece.address <= dram_->size - bytes) return TG_OK;
  return tg_fail(diag, TG_FAULT, "agcu %u %s %llu bytes at 0x%llx, outside the memory", agcu, what,
                 (unsigned long long)bytes, (unsigned long long)piece.address);
}

/* The data of a piece as they are when it is asked for. */
tg_status Memory::read(uint32_t agcu, const Piece &piece, uint64_t cycle, tg_diag *diag) {
  Port &port = ports_[agcu];
  port.reads.push_back({std::vector<uint8_t>(piece_bytes_), controller_ ? UINT64_MAX : cycle + latency_});
  in_flight_++;
  dram_->read += 64ull * piece.atoms;
  if (!piece.count) return TG_OK;
  tg_status status = check("reads", agcu, piece, diag);
  if (status) return status;
  memcpy(&port.reads.back().data[piece.first * piece.element_bytes], dram_->bytes + piece.address,
         piece.count * piece.element_bytes);
  return TG_OK;
}

/* Tells the device of the pieces of this cycle, and asks it about the next. */
void Memory::announce(ChipModel &chip, uint64_t cycle) {
  uint32_t stores = chip.stores(), firsts = chip.firsts();
  for (uint32_t all = chip.reads() | stores; all; all &= all - 1) {
    uint32_t a = (uint32_t)__builtin_ctz(all);
    Piece piece = chip.read(a);
    tg_controller_send(controller_, a, piece.timed_address, piece.timed_count * piece.element_bytes,
                       stores >> a & 1, firsts >> a & 1);
  }
  tg_controller_advance(controller_, cycle + 1);
  ready_ = 0;
  for (uint32_t a = 0; a < ports_.size(); a++) ready_ |= (uint32_t)tg_controller_ready(controller_, a) << a;
}

tg_status Memory::serve(ChipModel &chip, tg_diag *diag) {
  uint64_t cycle = chip.cycle();
  if (controller_) tg_controller_advance(controller_, cycle);
  for (uint32_t a = 0; in_flight_ && a < ports_.size(); a++) {
    Port &port = ports_[a];
    if (port.reads.empty() || port.reads.front().due != cycle) continue;
    chip.read_data(a, port.reads.front().data.data());
    port.reads.pop_front();
    if (controller_) port.known--;
    in_flight_--;
  }
  for (uint32_t reads = chip.reads(); reads; reads &= reads - 1) {
    uint32_t a = (uint32_t)__builtin_ctz(reads);
    tg_status status = read(a, chip.read(a), cycle, diag);
    if (status) return status;
  }
  for (uint32_t writes = chip.writes(); writes; writes &= writes - 1) {
    uint32_t a = (uint32_t)__builtin_ctz(writes);
    Piece piece = chip.write(a);
    dram_->written += 64ull * piece.atoms;
    if (!piece.count) continue;
    tg_status status = check("writes", a, piece, diag);
    if (status) return status;
    chip.write_data(a, write_.data());
    memcpy(dram_->bytes + piece.address, write_.data() + piece.first * piece.element_bytes,
           piece.count * piece.element_bytes);
  }
  if (controller_) announce(chip, cycle);
  return TG_OK;
}

tg_dram_counts Memory::count(uint64_t cycle) {
  if (!controller_) return {};
  tg_controller_advance(controller_, cycle);
  tg_dram_counts all = tg_controller_counts(controller_), more = tg_dram_since(all, counted_);
  counted_ = all;
  return more;
}

uint64_t Memory::finish(uint64_t cycles, tg_dram_counts *counts) {
  if (!controller_) return cycles;
  uint64_t written = tg_controller_drain(controller_);
  tg_dram_add(counts, tg_dram_since(tg_controller_counts(controller_), counted_));
  return std::max(cycles, written + 1);
}

} // namespace tegula
