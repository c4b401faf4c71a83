/* Compiled programs, .tgb: what is read prints, parses and prints the same, is proved or not, and runs on the reference
 * interpreter to an end. The mutator corrects the sum and keeps lengths in their places. */
#include "frontend/base/hash.h"
#include "tests/fuzz/fuzz.h"

#include "tests/fuzz/program_checks.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  tg_diag diag = {""};
  tg_program *program;
  tg_status status = tg_program_read_memory("program", data, size, &program, &diag);
  fuzz_settled(status, &diag);
  if (status) return 0;
  check_program(program);
  tg_program_destroy(program);
  return 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned int seed) {
  uint32_t state = seed * 2654435761u | 1;
  size &= ~(size_t)7;
  if (size < 32 || max_size < 32) return LLVMFuzzerMutate(data, size, max_size);
  size_t words = size / 8 - 2; /* between version and sum */
  if (fuzz_below(&state, 8)) {
    for (size_t changes = 1 + fuzz_below(&state, 4); changes; changes--) {
      uint8_t *at = data + 8 + 8 * fuzz_below(&state, words);
      uint64_t word;
      memcpy(&word, at, 8);
      switch (fuzz_below(&state, 4)) {
      case 0: word = fuzz_number(&state, word); break;
      case 1: word ^= (uint64_t)1 << fuzz_below(&state, 64); break;
      case 2: word ^= (uint64_t)fuzz_below(&state, 256) << 8 * fuzz_below(&state, 8); break;
      default: memcpy(&word, data + 8 + 8 * fuzz_below(&state, words), 8);
      }
      memcpy(at, &word, 8);
    }
  } else {
    size = 8 + LLVMFuzzerMutate(data + 8, size - 16, max_size - 24);
    while (size % 8) data[size++] = 0;
    size += 8;
  }
  uint64_t sum = tg_hash(data, size - 8);
  memcpy(data + size - 8, &sum, 8);
  return size;
}
