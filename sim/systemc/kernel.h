/* Several SystemC simulations in one process.
 *
 * SystemC keeps one global simulation context and forbids new modules once it runs. A tg::Kernel is a context
 * of its own: modules made while it is current (see Current) belong to it, and sc_start runs it alone.
 * Debian's 2.3.4 allows that: the library reaches its state through the pointer sc_curr_simcontext only.
 * Contexts may be made, run again, and destroyed in any order; a process-wide lock lets only one be current
 * at a time. */
#ifndef TEGULA_SYSTEMC_KERNEL_H
#define TEGULA_SYSTEMC_KERNEL_H

#include <memory>
#include <mutex>
#include <systemc>

namespace tg {

class Kernel {
public:
  Kernel();
  ~Kernel(); /* after its modules */
  Kernel(const Kernel &) = delete;
  Kernel &operator=(const Kernel &) = delete;

  /* Makes a kernel the current one of SystemC for a scope. */
  class Current {
  public:
    explicit Current(Kernel &kernel);
    ~Current();

  private:
    std::unique_lock<std::mutex> lock_;
    sc_core::sc_simcontext *current_before_, *default_before_;
  };

private:
  sc_core::sc_simcontext *context_;
};

} // namespace tg

#endif
