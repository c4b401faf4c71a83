#include "frontend/base/pattern.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { DEEPEST = 100, LONGEST = 65536, MOST_REPEATED = 1000 };

/* The C library's compiler calls itself for each parenthesis, and copies what {n,m} repeats. Whatever stands
 * in brackets counts as well, which is on the safe side. */
static const char *too_large(const char *text) {
  long depth = 0, repeated = 1;
  if (strlen(text) > LONGEST) return "it is longer than 65536 characters";
  for (const char *at = text; *at; at++) {
    if (*at == '\\' && at[1]) {
      at++;
    } else if (*at == '(') {
      if (++depth > DEEPEST) return "more than 100 parentheses stand in each other";
    } else if (*at == ')') {
      depth -= depth > 0;
    } else if (*at == '{') {
      long most = 1;
      for (const char *digit = at + 1; *digit && *digit != '}'; digit++) {
        long number = *digit >= '0' && *digit <= '9' ? strtol(digit, NULL, 10) : 0;
        if (number > most) most = number;
      }
      if (most > MOST_REPEATED || (repeated *= most) > MOST_REPEATED)
        return "its repetitions make more than 1000 copies";
    }
  }
  return NULL;
}

tg_status tg_pattern_compile(const char *what, const char *text, regex_t *out_regex, tg_diag *diag) {
  char reason[128];
  const char *large = too_large(text);
  if (large) return tg_fail(diag, TG_INVALID, "%s \"%.60s\": %s", what, text, large);
  int error = regcomp(out_regex, text, REG_EXTENDED | REG_NOSUB);
  if (!error) return TG_OK;
  regerror(error, out_regex, reason, sizeof reason);
  return tg_fail(diag, TG_INVALID, "%s \"%.300s\": %s", what, text, reason);
}
