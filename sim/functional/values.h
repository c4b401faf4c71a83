/* Executions one after the other, carried out by several threads: they start in order and finish in any, as
 * in a processor with a scoreboard. One waits for those before it that touch the same banks, accumulator
 * halves, store memories or, if one of the two writes, device memory. So the bits are those of one thread. */
#ifndef TEGULA_FUNCTIONAL_VALUES_H
#define TEGULA_FUNCTIONAL_VALUES_H

#include "sim/functional/exec.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tg_values tg_values;

/* `threads` in all, the caller's included; 0: one a core. Of the caller only while it adds or finishes. */
tg_values *tg_values_create(uint32_t threads);
void tg_values_destroy(tg_values *values); /* NULL is allowed; nothing may be pending */

/* What the executions to come are carried out on and by, both borrowed. Nothing may be pending. */
void tg_values_bind(tg_values *values, const tg_kernels *kernels, tg_machine_state *state);

/* Adds an execution, a sync too; it is carried out now or later, a transfer with all its bursts. `accesses`
 * are those of tg_exec_accesses, which `x` has passed. A LOAD or STORE stops before an address outside device
 * memory, which the engine has to find (tg_exec_check_burst). */
void tg_values_add(tg_values *values, uint32_t endpoint, tg_unit unit, const tg_execution *x,
                   const tg_accesses *accesses);

/* All that was added is done when it returns. Before the machine's state is read or changed. */
void tg_values_finish(tg_values *values);

#ifdef __cplusplus
}
#endif
#endif
