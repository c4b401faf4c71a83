#include "frontend/base/pattern.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { DEEPEST = 100, LONGEST = 65536, MOST_COPIES = 4000, MOST_HEIGHT = 3 };

/* Behind the bracket expression that begins at `at`; its end if it has none. */
static const char *skip_brackets(const char *at) {
  at++;
  if (*at == '^') at++;
  if (*at == ']') at++;
  for (; *at && *at != ']'; at++) {
    if (*at != '[' || !at[1] || !strchr(":.=", at[1])) continue;
    const char closing[] = {at[1], ']', 0}, *end = strstr(at + 2, closing);
    if (end) at = end + 1;
  }
  return *at ? at + 1 : at;
}

/* How often "{n,m}" at `at` repeats what stands before it: the largest number in it, and one more for "{n,}". */
static long repetitions(const char *at) {
  long most = 1;
  for (at++; *at && *at != '}'; at++) {
    long number = *at >= '0' && *at <= '9' ? strtol(at, NULL, 10) : 0;
    if (number >= most) most = number < LONGEST ? number + 1 : LONGEST;
  }
  return most;
}

/* The C library's compiler calls itself for each parenthesis, and copies what {n,m} and + repeat: "a+" is "aa*", and of
 * "a++++" it makes a tree that doubles with each of them. Sizes are counted in single characters, by parenthesis. Of
 * repetitions without an end that stand in each other, behind an anchor, it follows all ways through them: of
 * "^(((((a*)+)+)+)+)+" for minutes. So their height is counted, too. */
static const char *too_large(const char *text) {
  long size[DEEPEST + 1] = {0}, last = 0, copies = 0; /* last: of what a repetition would repeat */
  int height[DEEPEST + 1] = {0}, last_height = 0;
  int depth = 0;
  if (strlen(text) > LONGEST) return "it is longer than 65536 characters";
  for (const char *at = text; *at;) {
    long more = 0;
    if (*at == '(') {
      if (++depth > DEEPEST) return "more than 100 parentheses stand in each other";
      size[depth] = last = 0;
      height[depth] = last_height = 0;
    } else if (*at == ')' && depth) {
      last = size[depth] + 1;
      last_height = height[depth--];
      size[depth] += last;
    } else if (*at == '+' || *at == '*' || *at == '?') {
      more = *at == '+' ? last : 1;
    } else if (*at == '{') {
      more = last * (repetitions(at) - 1);
    } else {
      last = 1;
      last_height = 0;
      size[depth]++;
    }
    if (*at == '+' || *at == '*' || *at == '{') last_height++;
    if (last_height > MOST_HEIGHT) return "more than three repetitions stand in each other";
    if (last_height > height[depth]) height[depth] = last_height;
    size[depth] += more;
    last += more;
    copies += more;
    if (copies > MOST_COPIES) return "its repetitions make more than 4000 copies";
    at = *at == '[' ? skip_brackets(at) : at + (*at == '\\' && at[1] ? 2 : 1);
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
