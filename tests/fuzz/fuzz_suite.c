/* Regression suites: read and expanded into cases. */
#include "runtime/regress/suite.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  tg_suite suite;
  tg_diag diag = {""};
  tg_status status = tg_suite_load(fuzz_file(data, size), NULL, &suite, &diag);
  fuzz_settled(status, &diag);
  if (!status) {
    for (size_t c = 0; c < suite.case_count; c++)
      FUZZ_WANT(suite.cases[c].id && suite.cases[c].run.count, "case %zu runs nothing", c);
    FUZZ_WANT(suite.arena.used < (256u << 20), "%zu bytes of memory", suite.arena.used);
  }
  tg_suite_release(&suite);
  return 0;
}
