#include "sim/systemc/kernel.h"

namespace tg {

static std::mutex one_at_a_time;

Kernel::Kernel() {
  std::unique_lock<std::mutex> lock(one_at_a_time);
  context_ = new sc_core::sc_simcontext;
}

Kernel::~Kernel() {
  Current current(*this);
  delete context_;
}

Kernel::Current::Current(Kernel &kernel)
    : lock_(one_at_a_time), current_before_(sc_core::sc_curr_simcontext),
      default_before_(sc_core::sc_default_global_context) {
  sc_core::sc_curr_simcontext = sc_core::sc_default_global_context = kernel.context_;
}

Kernel::Current::~Current() {
  sc_core::sc_curr_simcontext = current_before_;
  sc_core::sc_default_global_context = default_before_;
}

} // namespace tg

/* The library's own main calls it; nothing of ours does. */
int sc_main(int, char **) { return 0; }
