/* Tests are written in C and run by GoogleTest through a small C++ shim (harness.cc).
 *
 *   TG_TEST(shape, broadcasts_from_the_right) { EXPECT_EQ(tg_..., 3); ... }
 *
 * Expectations record a failure and go on; ASSERT_* return from the (void) test function. */
#ifndef TEGULA_TESTS_HARNESS_H
#define TEGULA_TESTS_HARNESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

void tg_test_register(const char *suite, const char *name, const char *file, int line, void (*body)(void));
/* One test a row of a table: the name is copied, `row` is handed to the body. */
void tg_test_register_row(const char *suite, const char *name, const char *file, int line,
                          void (*body)(const void *row), const void *row);
void tg_test_fail(const char *file, int line, const char *format, ...) __attribute__((format(printf, 3, 4)));
void tg_test_skip(const char *file, int line, const char *reason);
/* A directory for this test process's files, made on first use and removed at exit. */
const char *tg_test_dir(void);
/* The folder into which the build unpacked what we recorded (data/README.md), absolute. */
const char *tg_test_data(void);
/* The folder of models that others made and that are not in the tree (README.md, TEGULA_SHARED), absolute;
 * NULL where it is not there. */
const char *tg_test_shared(void);
/* Is case `number` of many alike in this run's share? With TEGULA_EVERY_VARIANT (make test-long) each is, else one in `share`,
 * with sanitizers one in three times as many. */
bool tg_test_takes(size_t number, size_t share);

#ifdef __cplusplus
}
#endif

#define TG_TEST(suite, name)                                                                                 \
  static void tg_test_##suite##_##name(void);                                                                \
  __attribute__((constructor)) static void tg_register_##suite##_##name(void) {                              \
    tg_test_register(#suite, #name, __FILE__, __LINE__, tg_test_##suite##_##name);                           \
  }                                                                                                          \
  static void tg_test_##suite##_##name(void)

#define EXPECT(condition)                                                                                    \
  do {                                                                                                       \
    if (!(condition)) tg_test_fail(__FILE__, __LINE__, "expected: %s", #condition);                          \
  } while (0)
#define EXPECT_EQ(a, b)                                                                                      \
  do {                                                                                                       \
    long long tg_a = (long long)(a), tg_b = (long long)(b);                                                  \
    if (tg_a != tg_b) tg_test_fail(__FILE__, __LINE__, "%s is %lld, %s is %lld", #a, tg_a, #b, tg_b);        \
  } while (0)
#define EXPECT_BITS(a, b)                                                                                    \
  do {                                                                                                       \
    unsigned long long tg_a = (a), tg_b = (b);                                                               \
    if (tg_a != tg_b) tg_test_fail(__FILE__, __LINE__, "%s is 0x%llx, %s is 0x%llx", #a, tg_a, #b, tg_b);    \
  } while (0)
#define EXPECT_STR(a, b)                                                                                     \
  do {                                                                                                       \
    const char *tg_a = (a), *tg_b = (b);                                                                     \
    if (!tg_a || !tg_b || strcmp(tg_a, tg_b))                                                                \
      tg_test_fail(__FILE__, __LINE__, "%s is\n%s\n%s is\n%s", #a, tg_a ? tg_a : "(null)", #b,               \
                   tg_b ? tg_b : "(null)");                                                                  \
  } while (0)
#define EXPECT_HAS(text, part)                                                                               \
  do {                                                                                                       \
    const char *tg_a = (text), *tg_b = (part);                                                               \
    if (!tg_a || !strstr(tg_a, tg_b))                                                                        \
      tg_test_fail(__FILE__, __LINE__, "%s, which is\n%s\nlacks %s", #text, tg_a ? tg_a : "(null)", tg_b);   \
  } while (0)
#define ASSERT(condition)                                                                                    \
  do {                                                                                                       \
    if (!(condition)) {                                                                                      \
      tg_test_fail(__FILE__, __LINE__, "required: %s", #condition);                                          \
      return;                                                                                                \
    }                                                                                                        \
  } while (0)
#define SKIP(reason)                                                                                         \
  do {                                                                                                       \
    tg_test_skip(__FILE__, __LINE__, reason);                                                                \
    return;                                                                                                  \
  } while (0)

#endif
