#include "tests/fuzz/fuzz.h"

#include <sys/mman.h>
#include <unistd.h>

/* tg_die ends the process without a signal: libFuzzer would keep no input. */
int LLVMFuzzerInitialize(int *argc, char ***argv) {
  (void)argc;
  (void)argv;
  tg_before_death(abort);
  return 0;
}

const char *fuzz_file(const uint8_t *data, size_t size) {
  static int descriptor = -1;
  static char path[40];
  if (descriptor < 0) {
    descriptor = memfd_create("input", MFD_CLOEXEC);
    FUZZ_WANT(descriptor >= 0, "no file in memory");
    snprintf(path, sizeof path, "/proc/self/fd/%d", descriptor);
  }
  FUZZ_WANT(!ftruncate(descriptor, 0), "the file in memory cannot be emptied");
  FUZZ_WANT(pwrite(descriptor, size ? (const void *)data : "", size, 0) == (ssize_t)size,
            "the file in memory cannot be written");
  return path;
}

uint64_t fuzz_number(uint32_t *state, uint64_t near) {
  static const uint64_t ends[] = {0,
                                  1,
                                  2,
                                  3,
                                  7,
                                  8,
                                  64,
                                  127,
                                  128,
                                  255,
                                  256,
                                  4096,
                                  65535,
                                  65536,
                                  1u << 20,
                                  1u << 24,
                                  INT32_MAX,
                                  1u << 31,
                                  UINT32_MAX,
                                  1ull << 32,
                                  1ull << 40,
                                  1ull << 62,
                                  INT64_MAX,
                                  1ull << 63,
                                  UINT64_MAX,
                                  (uint64_t)-2,
                                  (uint64_t)-7,
                                  (uint64_t)INT32_MIN};
  switch (fuzz_below(state, 6)) {
  case 0: return near + 1;
  case 1: return near - 1;
  case 2: return near ^ (1ull << fuzz_below(state, 64));
  case 3: return near * 2;
  case 4: return fuzz_below(state, 17);
  default: return ends[fuzz_below(state, sizeof ends / sizeof *ends)];
  }
}
