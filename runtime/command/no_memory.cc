/* Where C++ libraries find no memory: LLVM, SystemC and their standard library would abort. */
#include "frontend/base/output_file.h"
#include "runtime/command/command.h"

#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <dlfcn.h>
#include <new>
#include <unistd.h>
#ifdef TEGULA_HAS_LLVM
#include <llvm/Support/ErrorHandling.h>
#endif

namespace {

bool says_so;

/* Nothing here may need memory, or run what waits for exit: locks of the libraries may be held. */
[[noreturn]] void end(const char *line) {
  tg_output_remove_unfinished();
  if (says_so) (void)!write(STDERR_FILENO, line, std::strlen(line));
  _exit(TG_INVALID);
}

[[noreturn]] void no_memory() { end("tegula: out of memory\n"); }

#ifdef TEGULA_HAS_LLVM
void llvm_no_memory(void *, const char *, bool) { no_memory(); }
#endif

using Memalign = int (*)(void **, size_t, size_t);

} // namespace

/* oneDNN constructs its objects where posix_memalign found no memory, at address 0: so it finds some, or the process ends.
 * The linker lets libraries see this one in front of the C library's. Sanitizers have their own. */
#if defined(__SANITIZE_ADDRESS__)
#define TG_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define TG_SANITIZED 1
#endif
#endif
#ifndef TG_SANITIZED
extern "C" int posix_memalign(void **out, size_t alignment, size_t size) noexcept {
  static const Memalign next = reinterpret_cast<Memalign>(dlsym(RTLD_NEXT, "posix_memalign"));
  int status = next(out, alignment, size);
  if (status == ENOMEM) no_memory();
  return status;
}

namespace {

/* In places SystemC and LLVM write to what malloc gave without asking whether it gave any. That is a fault in the first
 * megabyte, where nothing is mapped, while errno, the thread's own, still says ENOMEM. Any other fault is made again, with the
 * default action; a signal that someone sent is not, and has no address. */
void fault(int number, siginfo_t *at, void *) {
  if (errno == ENOMEM && at->si_code == SEGV_MAPERR && reinterpret_cast<uintptr_t>(at->si_addr) < 1 << 20)
    no_memory();
  if (at->si_code <= 0) (void)raise(number);
}

void catch_faults() {
  struct sigaction action = {};
  action.sa_sigaction = fault;
  action.sa_flags = SA_SIGINFO | SA_RESETHAND;
  sigaction(SIGSEGV, &action, nullptr);
}

} // namespace
#endif

void tg_catch_no_memory(bool aloud) {
  says_so = aloud;
  std::set_new_handler(no_memory);
#ifndef TG_SANITIZED
  catch_faults();
#endif
#ifdef TEGULA_HAS_LLVM
  llvm::install_bad_alloc_error_handler(llvm_no_memory);
#endif
}
