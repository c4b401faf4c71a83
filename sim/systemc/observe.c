/* What an observer is told: instructions, stalls with their cause, bursts. Reads the chip, changes
 * nothing. */
#include "sim/systemc/chip.h"

static tg_event at(const tg_chip *chip, const tg_unit_state *u, const tg_execution *x, uint64_t start,
                   uint64_t end) {
  return (tg_event){.start = start,
                    .end = end,
                    .invocation = chip->invocation,
                    .endpoint = (uint16_t)u->endpoint,
                    .unit = (uint8_t)u->kind,
                    .context = (uint8_t)u->context,
                    .pc = x->pc};
}

void tg_observe_instruction(const tg_chip *chip, const tg_unit_state *u, const tg_execution *x,
                            uint64_t start, uint64_t end) {
  tg_event event = at(chip, u, x, start, end);
  chip->options.observer->instruction(chip->options.observer->user, &event, x);
}

/* The cycles [first, end) are lost. */
static void stall(const tg_chip *chip, const tg_unit_state *u, const tg_execution *x, uint64_t first,
                  uint64_t end, tg_stall_cause cause, uint32_t what) {
  if (first >= end) return;
  tg_stall s = {at(chip, u, x, first, end - 1), cause, what};
  chip->options.observer->stall(chip->options.observer->user, &s, x);
}

void tg_observe_issue(const tg_chip *chip, const tg_unit_state *u, uint64_t earliest) {
  if (!u->wait_count) return;
  uint32_t latest = u->waits[0];
  for (uint32_t i = 1; i < u->wait_count; i++)
    if (chip->semaphore[u->waits[i]].since > chip->semaphore[latest].since) latest = u->waits[i];
  stall(chip, u, &u->next, earliest, chip->now, TG_STALL_SEMAPHORE, latest % chip->m->semaphores);
}

void tg_observe_lane(const tg_chip *chip, uint32_t lane, uint32_t unit, const tg_execution *x, uint64_t asked,
                     uint32_t flits) {
  const tg_unit_state *u = &chip->unit[unit];
  stall(chip, u, x, asked, chip->now, TG_STALL_LANE, lane);
  tg_burst burst = {.at = at(chip, u, x, chip->now, chip->now + flits - 1),
                    .lane = true,
                    .where = lane,
                    .flits = flits,
                    .asked = asked};
  chip->options.observer->burst(chip->options.observer->user, &burst);
}

tg_burst tg_observe_port(const tg_chip *chip, uint32_t port, const tg_unit_state *u, uint32_t flits,
                         uint32_t atoms, uint64_t free_at, uint32_t granted) {
  uint64_t served = free_at < chip->now ? free_at : chip->now; /* others, until then */
  if (served < u->asked) served = u->asked;
  stall(chip, u, &u->now, u->asked, served, TG_STALL_PORT, granted);
  stall(chip, u, &u->now, served, chip->now, TG_STALL_BUFFERS, 0);
  return (tg_burst){.at = at(chip, u, &u->now, chip->now, chip->now),
                    .store = u->now.in->common.op == TG_OP_agcu_store,
                    .where = port,
                    .flits = flits,
                    .atoms = atoms,
                    .asked = u->asked};
}

void tg_observe_burst(const tg_chip *chip, tg_burst burst, uint64_t last) {
  burst.at.end = last;
  chip->options.observer->burst(chip->options.observer->user, &burst);
}
