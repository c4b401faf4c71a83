/* Programs as text. */
#include "tests/fuzz/program_checks.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  tg_arena arena = {0};
  tg_diag diag = {""};
  tg_program *program;
  tg_status status = tg_program_parse(fuzz_text(&arena, data, size), &program, &diag);
  fuzz_settled(status, &diag);
  if (!status) {
    check_program(program);
    tg_program_destroy(program);
  }
  tg_arena_release(&arena);
  return 0;
}
