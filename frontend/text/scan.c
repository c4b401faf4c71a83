/* Words, numbers and quoted text of the text form. */
#include "frontend/text/scan.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

bool tg_scan_expected(tg_scanner *p, const char *what) {
  tg_fail(p->diag, TG_INVALID, "line %d: expected %s at \"%.20s\"", p->line, what, p->at);
  return false;
}

void tg_scan_spaces(tg_scanner *p) {
  while (*p->at == ' ') p->at++;
}

bool tg_scan_accept(tg_scanner *p, const char *token) {
  tg_scan_spaces(p);
  size_t length = strlen(token);
  if (strncmp(p->at, token, length)) return false;
  p->at += length;
  return true;
}

bool tg_scan_expect(tg_scanner *p, const char *token) {
  return tg_scan_accept(p, token) || tg_scan_expected(p, token);
}

static bool is_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
         (c && strchr("_./-", c));
}

static int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

bool tg_scan_quoted(tg_scanner *p, const char **out) {
  if (!tg_scan_expect(p, "\"")) return false;
  char *text = tg_arena_alloc(p->graph->arena, strcspn(p->at, "\n\"") + 1, 1), *to = text;
  for (; *p->at != '"'; p->at++) {
    if (!*p->at || *p->at == '\n') return tg_scan_expected(p, "a closing quote");
    if (*p->at != '\\') {
      *to++ = *p->at;
      continue;
    }
    int high = p->at[1] == 'x' ? hex_digit(p->at[2]) : -1, low = high < 0 ? -1 : hex_digit(p->at[3]);
    if (low < 0 || high * 16 + low == 0) return tg_scan_expected(p, "\\xHH");
    *to++ = (char)(high * 16 + low);
    p->at += 3;
  }
  p->at++;
  *out = text;
  return true;
}

bool tg_scan_name(tg_scanner *p, const char **out) {
  tg_scan_spaces(p);
  if (*p->at == '"') return tg_scan_quoted(p, out);
  const char *from = p->at;
  while (is_word(*p->at)) p->at++;
  *out = tg_arena_strndup(p->graph->arena, from, (size_t)(p->at - from));
  return p->at > from || tg_scan_expected(p, "a name");
}

bool tg_scan_int(tg_scanner *p, int64_t *out) {
  tg_scan_spaces(p);
  char *end;
  errno = 0;
  *out = strtoll(p->at, &end, 10);
  if (end == p->at) return tg_scan_expected(p, "an integer");
  if (errno) return tg_scan_expected(p, "an integer of 64 bits");
  p->at = end;
  return true;
}

bool tg_scan_float(tg_scanner *p, double *out) {
  tg_scan_spaces(p);
  char *end;
  *out = strtod(p->at, &end);
  if (end == p->at) return tg_scan_expected(p, "a number");
  p->at = end;
  return true;
}
