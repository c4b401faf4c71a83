/* Where C++ libraries find no memory: LLVM, SystemC and their standard library would abort. */
#include "frontend/base/output_file.h"
#include "runtime/command/command.h"

#include <cstring>
#include <new>
#include <unistd.h>
#ifdef TEGULA_HAS_LLVM
#include <llvm/Support/ErrorHandling.h>
#endif

namespace {

/* Nothing here may need memory, or run what waits for exit: locks of the libraries may be held. */
[[noreturn]] void end(const char *line) {
  tg_output_remove_unfinished();
  (void)!write(STDERR_FILENO, line, std::strlen(line));
  _exit(TG_INVALID);
}

[[noreturn]] void no_memory() { end("tegula: out of memory\n"); }

#ifdef TEGULA_HAS_LLVM
void llvm_no_memory(void *, const char *, bool) { no_memory(); }
#endif

} // namespace

void tg_catch_no_memory() {
  std::set_new_handler(no_memory);
#ifdef TEGULA_HAS_LLVM
  llvm::install_bad_alloc_error_handler(llvm_no_memory);
#endif
}
