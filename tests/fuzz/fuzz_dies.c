/* Dies of every input, which must be kept (CMakeLists.txt). */
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  (void)data;
  tg_die("it dies of %zu bytes", size);
}
