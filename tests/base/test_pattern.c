/* Regular expressions of users: what the C library's compiler takes long for, or much memory, is refused. */
#include "frontend/base/pattern.h"
#include "tests/harness.h"

#include <string.h>
#include <time.h>

/* `text` so many times; behind `begin`, before `end`. */
static void repeat(char *out, const char *begin, const char *text, int times, const char *end) {
  strcpy(out, begin);
  for (int i = 0; i < times; i++) strcat(out, text);
  strcat(out, end);
}

/* NULL: it is taken, within a second of processor time. */
static const char *reason_of(const char *text) {
  static tg_diag diag;
  regex_t regex;
  clock_t begin = clock();
  diag = (tg_diag){""};
  tg_status status = tg_pattern_compile("--trained", text, &regex, &diag);
  if (!status) regfree(&regex);
  EXPECT((double)(clock() - begin) < 5.0 * CLOCKS_PER_SEC);
  return status ? diag.message : NULL;
}

static bool is_refused(const char *text, const char *why) {
  const char *reason = reason_of(text);
  return reason && strstr(reason, why);
}

TG_TEST(pattern, takes_what_rules_are_made_of) {
  char text[4096];
  static const char *const usual[] = {"^layer[0-9]+\\.(fc|conv){1,2}.*$", "(a|b)+c?d*", "\\*\\*\\*\\*\\*\\{",
                                      "[*+?{]{2}", "(encoder(\\.[0-9]+)?)+\\.weight"};
  for (size_t i = 0; i < sizeof usual / sizeof *usual; i++) EXPECT(!reason_of(usual[i]));
  repeat(text, "^", "x?", 1000, "$");
  EXPECT(!reason_of(text));
  repeat(text, "^(", "x*", 300, ")*$");
  EXPECT(!reason_of(text));
}

TG_TEST(pattern, refuses_repetitions_of_repetitions) {
  char text[8192];
  static const char in_each_other[] = "stand in each other";
  EXPECT(is_refused("^(((((a*)+)+)+)+)+", in_each_other));
  EXPECT(is_refused("a++++", in_each_other));
  EXPECT(is_refused("a????????", in_each_other));
  EXPECT(is_refused("a?*?*?", in_each_other));
  EXPECT(is_refused("a{2}{2}{2}{2}", in_each_other));
  EXPECT(is_refused("a{999}{999}", "copies"));
  repeat(text, "^((", "x*", 1000, ")*)*$");
  EXPECT(is_refused(text, in_each_other));
  repeat(text, "^((", "x?*", 13, ")*)$");
  EXPECT(is_refused(text, "repeats something"));
  repeat(text, "^(", "(x*y*)*", 20, ")*$");
  EXPECT(is_refused(text, "repeats something"));
  EXPECT(is_refused("^(((a*b*)*c){13}d)", "repeats something"));
}
