/* What fuzz targets share. A target is one file with LLVMFuzzerTestOneInput, and perhaps LLVMFuzzerCustomMutator; it
 * is linked with libFuzzer, or with replay.c, which runs files (README.md). */
#ifndef TEGULA_TESTS_FUZZ_FUZZ_H
#define TEGULA_TESTS_FUZZ_FUZZ_H

#include "frontend/base/arena.h"
#include "frontend/base/status.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
/* Of all targets: whoever dies aborts. */
int LLVMFuzzerInitialize(int *argc, char ***argv);
/* Changes data[0 .. size) in place to at most `max_size` bytes, and returns how many; the same for the same seed. */
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned int seed);
/* libFuzzer's own mutations, for mutators of parts. */
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max_size);

/* What must hold whatever the input is. */
#define FUZZ_WANT(condition, ...)                                                                            \
  do {                                                                                                       \
    if (!(condition)) fuzz_stop(__FILE__, __LINE__, #condition, __VA_ARGS__);                                \
  } while (0)

static inline __attribute__((noreturn, format(printf, 4, 5))) void
fuzz_stop(const char *file, int line, const char *condition, const char *format, ...) {
  va_list args;
  va_start(args, format);
  fprintf(stderr, "%s:%d: not %s: ", file, line, condition);
  vfprintf(stderr, format, args);
  fputc('\n', stderr);
  va_end(args);
  abort();
}

/* The contract of every reader: accepted without a word, or refused with one line. */
static inline void fuzz_settled(tg_status status, const tg_diag *diag) {
  if (status == TG_OK)
    FUZZ_WANT(!diag->message[0], "accepted, with \"%s\"", diag->message);
  else
    FUZZ_WANT(status == TG_INVALID && diag->message[0] && !strchr(diag->message, '\n'), "status %d, \"%s\"",
              (int)status, diag->message);
}

/* The path of a file in memory that holds these bytes, until the next call. */
const char *fuzz_file(const uint8_t *data, size_t size);

/* The bytes as a string, which ends at the first NUL; on `arena`. */
static inline char *fuzz_text(tg_arena *arena, const uint8_t *data, size_t size) {
  return tg_arena_strndup(arena, size ? (const char *)data : "", size);
}

/* Numbers for mutators: xorshift. */
static inline uint32_t fuzz_random(uint32_t *state) {
  *state ^= *state << 13;
  *state ^= *state >> 17;
  *state ^= *state << 5;
  return *state;
}
/* Below `bound`, which is not 0. */
static inline size_t fuzz_below(uint32_t *state, size_t bound) { return fuzz_random(state) % bound; }

/* One of the numbers at which things end, or any. */
uint64_t fuzz_number(uint32_t *state, uint64_t near);

#endif
