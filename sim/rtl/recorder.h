/* Follows the units of a section through their issues and ends: events, and where each unit stands. */
#ifndef TEGULA_RTL_RECORDER_H
#define TEGULA_RTL_RECORDER_H

#include "sim/machine/engine.h"
#include "sim/machine/sequencer.h"
#include "sim/rtl/chip_model.h"

#include <deque>
#include <string>
#include <vector>

namespace tegula {

class Recorder {
public:
  /* Events are kept for the result, or only until the end of their invocation for an observer. */
  Recorder(const tg_program &program, bool keep_events, const tg_observer *observer);

  void begin(uint32_t invocation);
  /* Issues and ends of the chip's cycle. TG_FAULT if a unit issues something else than its queue says. */
  tg_status cycle(const ChipModel &chip, tg_diag *diag);
  /* The invocation's last instruction has ended: its observer hears of all of them. */
  void end(uint64_t cycle);
  /* The kept events, sorted as tg_run_result wants them; malloc'd. */
  tg_event *take_events(size_t *out_count);
  /* Units that are not finished: place, pc, loop indices and what they wait for. */
  std::string stuck(const ChipModel &chip) const;
  std::string endpoint_name(uint32_t endpoint) const;

private:
  struct Unit {
    uint16_t endpoint;
    uint8_t unit, context;
    tg_sequencer sequencer;
    std::deque<size_t> open; /* events without an end, oldest first; STOREs apart */
    size_t open_store = 0;
  };
  tg_status issue(Unit &unit, uint32_t pc, uint64_t cycle, tg_diag *diag);
  const tg_queue *queue_of(const Unit &unit, uint32_t invocation) const;

  const tg_program &program_;
  bool keep_, forget_;
  const tg_observer *observer_;
  size_t first_ = 0; /* event of this invocation */
  uint32_t invocation_ = 0;
  std::vector<Unit> units_;
  std::vector<tg_event> events_;
};

} // namespace tegula
#endif
