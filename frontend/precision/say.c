/* What the user is told of the policy. */
#include "frontend/precision/policy.h"

#include <stdarg.h>
#include <stdio.h>

void tg_cast_say(const tg_cast_pass *p, bool warning, const char *format, ...) {
  if (!p->options->log || !(warning || p->options->verbose)) return;
  char line[4096];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(line, sizeof line, format, arguments);
  va_end(arguments);
  p->options->log(p->options->log_user, warning, line);
}
