#include "frontend/base/pattern.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum {
  DEEPEST = 100,
  LONGEST = 65536,
  MOST_COPIES = 4000,
  MOST_NESTED = 12,
  MOST_REPEATED = 1000,
  MOST_HEIGHT = 3
};

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

/* What is counted of a part of a pattern, with the copies that its repetitions make. */
typedef struct extent {
  long size;   /* single characters */
  long nested; /* repetitions of what itself repeats something */
  int height;  /* repetitions that stand in each other, a "?" only if it is behind another one */
} extent;

static void add(extent *to, long size, long nested, int height) {
  to->size += size;
  to->nested += nested;
  if (height > to->height) to->height = height;
}

/* The repetition at `at` of `last`, the latest part of `all`. `repeated`: it stands behind another one. Returns the copies
 * that it makes. */
static long repeat(const char *at, bool repeated, extent *last, extent *all) {
  long copies = *at == '+'   ? 1
                : *at == '{' ? repetitions(at) - 1
                             : 0,
       size = copies ? copies * last->size : 1;
  int higher = *at != '?' || repeated;
  long nested = copies * last->nested + ((repeated || last->height) && higher);
  add(last, size, nested, last->height + higher);
  add(all, size, nested, last->height);
  return size;
}

/* The C library's compiler calls itself for each parenthesis, and copies what {n,m} and + repeat: "a+" is "aa*", and of
 * "a++++" it makes a tree that doubles with each of them. Of repetitions that stand in each other, behind an anchor, it
 * follows all ways through them: of "^(((((a*)+)+)+)+)+" for minutes, of "^(a?*a?*a?*...)*" twice as long for each, and
 * of "^((a*a*a*...)*)*" for seconds with a thousand of them. */
static const char *too_large(const char *text) {
  extent all[DEEPEST + 1] = {0}, last = {0}; /* by parenthesis; what a repetition would repeat */
  long copies = 0;
  int depth = 0;
  bool repeated = false;
  if (strlen(text) > LONGEST) return "it is longer than 65536 characters";
  for (const char *at = text; *at;) {
    const char *closing = *at == '{' ? strchr(at, '}') : NULL;
    bool repeats = strchr("+*?{", *at);
    if (*at == '(') {
      if (++depth > DEEPEST) return "more than 100 parentheses stand in each other";
      all[depth] = last = (extent){0};
    } else if (*at == ')' && depth) {
      last = all[depth--];
      last.size++;
      add(&all[depth], last.size, last.nested, last.height);
    } else if (repeats) {
      copies += repeat(at, repeated, &last, &all[depth]);
    } else {
      last = (extent){.size = 1};
      add(&all[depth], 1, 0, 0);
    }
    repeated = repeats;
    if (copies > MOST_COPIES) return "its repetitions make more than 4000 copies";
    if (last.height > MOST_HEIGHT) return "more than three repetitions stand in each other";
    if (all[depth].nested > MOST_NESTED) return "more than 12 repetitions are of what repeats something";
    if (repeats && last.height > 1 && last.size > MOST_REPEATED)
      return "repetitions stand in each other, around more than 1000 characters and copies";
    at = *at == '[' ? skip_brackets(at) : closing ? closing + 1 : at + (*at == '\\' && at[1] ? 2 : 1);
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
