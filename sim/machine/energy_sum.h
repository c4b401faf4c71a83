/* What a run costs: its actions, its memory's accesses and its time, by the prices of its array (docs/energy.md). */
#ifndef TEGULA_MACHINE_ENERGY_SUM_H
#define TEGULA_MACHINE_ENERGY_SUM_H

#include "sim/machine/engine.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What energy is for. */
typedef enum tg_energy_kind {
  TG_ENERGY_MX,
  TG_ENERGY_VX,
  TG_ENERGY_SCRATCHPAD,
  TG_ENERGY_ACCUMULATOR,
  TG_ENERGY_NETWORK,
  TG_ENERGY_AGCU,
  TG_ENERGY_CONTROL,
  TG_ENERGY_DRAM,
  TG_ENERGY_LEAKAGE,
  TG_ENERGY_KINDS
} tg_energy_kind;
const char *tg_energy_kind_name(tg_energy_kind kind);

typedef struct tg_energy_sum {
  double joules[TG_ENERGY_KINDS];
} tg_energy_sum;

/* pJ of one action. */
double tg_action_price(const tg_params *params, tg_action action);
/* Of a section that had the array to itself for `cycles` cycles. */
tg_energy_sum tg_energy_of_section(const tg_params *params, const tg_section_time *time, uint64_t cycles);
double tg_energy_total(const tg_energy_sum *sum);
/* Of invocation `i` of `count`: until the next one begins, the last one until the end of the run. */
uint64_t tg_section_cycles(const tg_run_result *result, uint32_t i, uint32_t count);
/* On-chip memory in KiB: scratchpads, accumulators, buffers and store memories, queues, microcode. */
double tg_chip_memory(const tg_params *params);

const char *tg_action_name(tg_action action);

#ifdef __cplusplus
}
#endif
#endif
