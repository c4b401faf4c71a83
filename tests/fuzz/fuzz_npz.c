/* Archives of NumPy. The mutator corrects the sums of stored members, so that their contents are read. */
#include "runtime/npz.h"
#include "tests/fuzz/fuzz.h"

#include <zlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static const char *const names[] = {NULL, "x", "labels"};
  const char *path = fuzz_file(data, size);
  for (size_t n = 0; n < sizeof names / sizeof *names; n++) {
    tg_arena arena = {0};
    tg_diag diag = {""};
    tg_npy array;
    tg_status status = tg_npz_read(&arena, path, names[n], &array, &diag);
    fuzz_settled(status, &diag);
    if (!status && array.count) FUZZ_WANT(array.data, "no elements");
    FUZZ_WANT(!names[n] || status || tg_npz_has(path, names[n]), "\"%s\" is read, but not there", names[n]);
    /* Deflate expands by up to 1032; the member unpacked, and its array. */
    FUZZ_WANT(arena.used < 4096 * size + (1u << 20), "%zu bytes for a file of %zu", arena.used, size);
    tg_arena_release(&arena);
  }
  return 0;
}

static uint32_t get(const uint8_t *at, int bytes) {
  uint32_t value = 0;
  while (bytes--) value = value << 8 | at[bytes];
  return value;
}

static void put(uint8_t *at, uint32_t value) {
  for (int i = 0; i < 4; i++) at[i] = (uint8_t)(value >> 8 * i);
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned int seed) {
  (void)seed;
  size = LLVMFuzzerMutate(data, size, max_size);
  for (size_t at = 0; at + 46 <= size; at++) { /* entries of the directory */
    if (get(data + at, 4) != 0x02014b50 || get(data + at + 10, 2) != 0) continue;
    size_t local = get(data + at + 42, 4), bytes = get(data + at + 20, 4);
    if (local > size || size - local < 30 || get(data + local, 4) != 0x04034b50) continue;
    size_t begin = local + 30 + get(data + local + 26, 2) + get(data + local + 28, 2);
    if (begin > size || size - begin < bytes) continue;
    uint32_t sum = (uint32_t)crc32(0, data + begin, (uInt)bytes);
    put(data + at + 16, sum);
    put(data + local + 14, sum);
  }
  return size;
}
