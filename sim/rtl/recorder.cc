#include "sim/rtl/recorder.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

namespace tegula {

Recorder::Recorder(const tg_program &program, bool keep_events, const tg_observer *observer)
    : program_(program), keep_(keep_events || observer), forget_(!keep_events), observer_(observer) {
  const tg_params &m = program.params;
  for (uint32_t tile = 0; tile < tg_tiles(&m); tile++)
    for (uint8_t unit = TG_MX; unit <= TG_TX; unit++) units_.push_back({(uint16_t)tile, unit, 0, {}, {}});
  for (uint32_t agcu = 0; agcu < tg_agcus(&m); agcu++)
    for (uint32_t context = 0; context < m.agcu_contexts; context++)
      units_.push_back({(uint16_t)(tg_tiles(&m) + agcu), TG_AGCU, (uint8_t)context, {}, {}});
}

const tg_queue *Recorder::queue_of(const Unit &unit, uint32_t invocation) const {
  const tg_section &section = program_.sections[program_.invocations[invocation].section];
  uint32_t tiles = tg_tiles(&program_.params);
  if (unit.unit == TG_AGCU) return &section.agcus[unit.endpoint - tiles].contexts[unit.context];
  const tg_tile_program &tile = section.tiles[unit.endpoint];
  return unit.unit == TG_MX ? &tile.mx : unit.unit == TG_VX ? &tile.vx : &tile.tx;
}

void Recorder::begin(uint32_t invocation) {
  invocation_ = invocation;
  if (forget_) events_.clear();
  first_ = events_.size();
  for (Unit &unit : units_) {
    tg_sequencer_init(&unit.sequencer, (tg_unit)unit.unit, queue_of(unit, invocation));
    unit.open.clear();
  }
}

tg_status Recorder::issue(Unit &unit, uint32_t pc, uint64_t cycle, tg_diag *diag) {
  if (tg_sequencer_done(&unit.sequencer) || unit.sequencer.pc != pc)
    return tg_fail(diag, TG_FAULT, "%s %s issues instruction %u where its queue says %u",
                   endpoint_name(unit.endpoint).c_str(), tg_unit_name((tg_unit)unit.unit), pc,
                   unit.sequencer.pc);
  int64_t op = unit.sequencer.queue->instrs[pc].common.op;
  tg_sequencer_step(&unit.sequencer);
  size_t index = events_.size();
  if (keep_)
    events_.push_back({cycle, cycle, invocation_, unit.endpoint, unit.unit, unit.context, (uint16_t)pc});
  if (op == TG_OP_sync) return TG_OK;
  if (unit.unit == TG_AGCU && op == TG_OP_agcu_store)
    unit.open_store = index;
  else
    unit.open.push_back(index);
  return TG_OK;
}

tg_status Recorder::cycle(const ChipModel &chip, tg_diag *diag) {
  uint64_t cycle = chip.cycle();
  uint32_t first_context = 3 * tg_tiles(&program_.params);
  /* Ends first: what ends was issued in an earlier cycle. */
  for (uint32_t word = 0; word * 64 < units_.size(); word++) {
    for (uint64_t mask = chip.ends(word); mask; mask &= mask - 1) {
      Unit &unit = units_[word * 64 + (uint32_t)__builtin_ctzll(mask)];
      if (unit.open.empty())
        return tg_fail(diag, TG_FAULT, "%s %s ends an instruction that it did not issue",
                       endpoint_name(unit.endpoint).c_str(), tg_unit_name((tg_unit)unit.unit));
      if (keep_) events_[unit.open.front()].end = cycle;
      unit.open.pop_front();
    }
  }
  for (uint32_t word = 0; word * 64 < units_.size() - first_context; word++)
    for (uint64_t mask = chip.store_ends(word); mask; mask &= mask - 1)
      if (keep_)
        events_[units_[first_context + word * 64 + (uint32_t)__builtin_ctzll(mask)].open_store].end = cycle;
  for (uint32_t word = 0; word * 64 < units_.size(); word++) {
    for (uint64_t mask = chip.issues(word); mask; mask &= mask - 1) {
      uint32_t u = word * 64 + (uint32_t)__builtin_ctzll(mask);
      tg_status status = issue(units_[u], chip.pc(u), cycle, diag);
      if (status) return status;
    }
  }
  return TG_OK;
}

void Recorder::end(uint64_t cycle) {
  if (!observer_) return;
  for (size_t i = first_; i < events_.size(); i++)
    observer_->instruction(observer_->user, &events_[i], nullptr);
  observer_->end(observer_->user, invocation_, cycle);
}

tg_event *Recorder::take_events(size_t *out_count) {
  std::sort(events_.begin(), events_.end(), [](const tg_event &a, const tg_event &b) {
    if (a.invocation != b.invocation) return a.invocation < b.invocation;
    if (a.endpoint != b.endpoint) return a.endpoint < b.endpoint;
    if (a.unit != b.unit) return a.unit < b.unit;
    if (a.context != b.context) return a.context < b.context;
    return a.start < b.start;
  });
  *out_count = events_.size();
  size_t bytes = events_.size() * sizeof(tg_event);
  tg_event *out = (tg_event *)malloc(bytes ? bytes : 1);
  if (!out) tg_die("out of memory");
  if (bytes) memcpy(out, events_.data(), bytes);
  events_.clear();
  return out;
}

std::string Recorder::endpoint_name(uint32_t endpoint) const {
  const tg_params &m = program_.params;
  char text[64];
  if (endpoint < tg_tiles(&m))
    snprintf(text, sizeof text, "tile %u (%u,%u)", endpoint, endpoint / m.cols, endpoint % m.cols);
  else
    snprintf(text, sizeof text, "agcu %u", endpoint - tg_tiles(&m));
  return text;
}

std::string Recorder::stuck(const ChipModel &chip) const {
  std::string out;
  for (const Unit &unit : units_) {
    if (tg_sequencer_done(&unit.sequencer) && unit.open.empty()) continue;
    char text[160];
    std::string name = endpoint_name(unit.endpoint) + " " + tg_unit_name((tg_unit)unit.unit);
    if (unit.unit == TG_AGCU) name += " context " + std::to_string(unit.context);
    if (!out.empty()) out += "; ";
    if (tg_sequencer_done(&unit.sequencer)) {
      out += name + " has not ended its last instruction";
      continue;
    }
    tg_execution x = tg_sequencer_peek(&unit.sequencer);
    snprintf(text, sizeof text, " at %u [%u %u %u]", x.pc, x.index[0], x.index[1], x.index[2]);
    out += name + text;
    uint16_t waits[TG_MAX_WAITS];
    uint32_t count = tg_execution_waits(&x, waits);
    bool any = false;
    for (uint32_t w = 0; w < count; w++) {
      if (chip.semaphore(unit.endpoint, waits[w])) continue;
      out += (any ? ", " : " waits for semaphore ") + std::to_string(waits[w]);
      any = true;
    }
  }
  return out;
}

} // namespace tegula
