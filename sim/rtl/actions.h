/* Where the counters of actions.sv count: DPI calls of the model that this thread evaluates. */
#ifndef TEGULA_RTL_ACTIONS_H
#define TEGULA_RTL_ACTIONS_H

#include "sim/machine/actions.h"

namespace tegula {
extern thread_local tg_actions *actions_counted; /* set before an evaluation */
}

#endif
