#include "frontend/base/guard.h"

#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

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

void tg_diag_suffix(tg_diag *diag, const char *format, ...) {
  if (!diag) return;
  size_t used = strlen(diag->message);
  va_list args;
  va_start(args, format);
  (void)vsnprintf(diag->message + used, sizeof diag->message - used, format, args);
  va_end(args);
  escape_controls(diag->message);
}

static _Thread_local tg_guard *innermost;
static bool off;

void tg_guards_hold(bool hold) { off = !hold; }

void tg_guard_enter(tg_guard *guard) {
  guard->outer = innermost;
  guard->locale = uselocale((locale_t)0);
  innermost = guard;
}

void tg_guard_leave(tg_guard *guard) { innermost = guard->outer; }

tg_status tg_guard_caught(tg_guard *guard, tg_diag *diag) {
  tg_guard_leave(guard);
  (void)uselocale(guard->locale);
  if (diag) *diag = guard->died; /* in place of what the call may have said before */
  return TG_INVALID;
}

static void (*last_words)(void);

void tg_before_death(void (*clean_up)(void)) { last_words = clean_up; }

/* Not exit(): other threads may use what it destroys, or die as well, and two must not call it. */
static _Noreturn void end_process(void) {
  if (last_words) last_words();
  (void)fflush_unlocked(stdout);
  _exit(TG_INVALID);
}

void tg_die(const char *format, ...) {
  static atomic_flag dying = ATOMIC_FLAG_INIT;
  va_list args;
  va_start(args, format);
  if (innermost && !off) {
    vsnprintf(innermost->died.message, sizeof innermost->died.message, format, args);
    va_end(args);
    escape_controls(innermost->died.message);
    longjmp(innermost->place, 1);
  }
  while (atomic_flag_test_and_set(&dying)) (void)pause(); /* the first one's line is the only one */
  fputs("tegula: ", stderr);
  vfprintf(stderr, format, args);
  fputc('\n', stderr);
  va_end(args);
  end_process();
}
