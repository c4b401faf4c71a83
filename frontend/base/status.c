#include "frontend/base/status.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Names in a model are data: nothing of theirs may reach a terminal as a control sequence or break the
 * line. */
static void escape_controls(char *text) {
  for (; *text; text++) {
    unsigned char c = (unsigned char)*text;
    if (c < 0x20 || c == 0x7f) *text = '?';
  }
}

tg_status tg_fail(tg_diag *diag, tg_status status, const char *format, ...) {
  if (!diag || diag->message[0]) return status;
  va_list args;
  va_start(args, format);
  vsnprintf(diag->message, sizeof diag->message, format, args);
  va_end(args);
  escape_controls(diag->message);
  return status;
}

void tg_diag_prefix(tg_diag *diag, const char *format, ...) {
  if (!diag) return;
  tg_diag old = *diag;
  va_list args;
  va_start(args, format);
  int n = vsnprintf(diag->message, sizeof diag->message, format, args);
  va_end(args);
  size_t used = n < 0 ? 0 : (size_t)n;
  if (used >= sizeof diag->message) used = sizeof diag->message - 1;
  size_t room = sizeof diag->message - used;
  if (room > 3) {
    size_t body = strlen(old.message);
    if (body > room - 3) body = room - 3;
    memcpy(diag->message + used, ": ", 2);
    memcpy(diag->message + used + 2, old.message, body);
    diag->message[used + 2 + body] = 0;
  }
  escape_controls(diag->message);
}

void tg_die(const char *format, ...) {
  va_list args;
  va_start(args, format);
  fputs("tegula: ", stderr);
  vfprintf(stderr, format, args);
  fputc('\n', stderr);
  va_end(args);
  exit(TG_INVALID);
}
