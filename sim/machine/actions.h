/* Counts of what costs energy (actions.def): the definition for engines in C. The RTL engine counts the hardware's own signals
 * instead (sim/rtl/actions.sv), and tests compare. */
#ifndef TEGULA_MACHINE_ACTIONS_H
#define TEGULA_MACHINE_ACTIONS_H

#include "sim/machine/sequencer.h"
#include "sim/machine/walk.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum tg_action {
#define ACTION(name, kind, unit, doc) TG_ACT_##name,
#include "sim/machine/actions.def"
#undef ACTION
  TG_ACTIONS
} tg_action;

typedef struct tg_actions {
  uint64_t count[TG_ACTIONS];
} tg_actions;

/* *sum += more. */
void tg_actions_add(tg_actions *sum, const tg_actions *more);

/* Adds what one execution does from its issue on, at its destinations too; all but the reads of a STORE's pieces and of
 * indices, which follow from its bursts (tg_actions_burst). `words`: microcode of the endpoint's tile; NULL for an AGCU. */
void tg_actions_execute(tg_actions *sum, const tg_params *params, uint32_t endpoint, tg_unit unit,
                        const tg_execution *execution, const uint64_t *words);

/* Adds the reads of the store memory for a burst: `index_cycles` of tg_index_cycles; `pieces` of a STORE, 0 for a LOAD. */
static inline void tg_actions_burst(tg_actions *sum, uint32_t index_cycles, uint32_t pieces) {
  sum->count[TG_ACT_agcu_read] += (index_cycles ? index_cycles - TG_INDEX_LEAD : 0) + pieces;
}

#ifdef __cplusplus
}
#endif
#endif
