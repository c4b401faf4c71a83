#include "sim/rtl/actions.h"

namespace tegula {
thread_local tg_actions *actions_counted = nullptr;
}

/* Of actions.sv. */
extern "C" void tegula_action(int action, int amount) {
  tegula::actions_counted->count[action] += (uint64_t)amount;
}
