/* Arrays of NumPy. */
#include "runtime/npy.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  tg_arena arena = {0};
  tg_diag diag = {""};
  tg_npy array;
  tg_status status = tg_npy_read(&arena, fuzz_file(data, size), &array, &diag);
  fuzz_settled(status, &diag);
  if (!status) {
    int64_t count = 1;
    for (int d = 0; d < array.rank; d++) count *= array.dims[d];
    FUZZ_WANT(count == array.count, "%lld elements of a shape of %lld", (long long)array.count,
              (long long)count);
    float *floats = tg_npy_floats(&arena, &array), sum = 0;
    for (int64_t i = 0; i < array.count; i++) sum += floats[i];
    FUZZ_WANT(sum == sum || sum != sum, "elements cannot be read");
  }
  FUZZ_WANT(arena.used < 64 * size + (1u << 20), "%zu bytes for a file of %zu", arena.used, size);
  tg_arena_release(&arena);
  return 0;
}
