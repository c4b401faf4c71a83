#include "runtime/regress/screen.h"
#include "runtime/session/session.h"

#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

static int columns(void) {
  struct winsize size;
  return ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) || size.ws_col < 20 ? 80 : size.ws_col;
}

static int rows(void) {
  struct winsize size;
  return ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) || size.ws_row < 8 ? 24 : size.ws_row;
}

void tg_screen_clear(tg_screen *s) {
  if (s->drawn) printf("\033[%zuA\033[J", s->drawn);
  s->drawn = 0;
  fflush(stdout);
}

void tg_screen_line(tg_screen *s, const char *line) {
  if (s->live) tg_screen_clear(s);
  s->drawn_at = 0;
  printf("%s\n", line);
  fflush(stdout);
}

void tg_screen_draw(tg_screen *s, const tg_running *running, size_t count) {
  double now = tg_host_seconds();
  if (!s->live || now - s->drawn_at < 0.2) return;
  tg_screen_clear(s);
  s->drawn_at = now;
  int width = columns();
  size_t most = (size_t)rows() - 3;
  for (size_t i = 0; i < count && i < most; i++, s->drawn++) {
    char line[400];
    snprintf(line, sizeof line, "  %7.1f s  %-6s  %s", running[i].seconds, running[i].doing,
             running[i].c->id);
    printf("%.*s\n", width - 1, line);
  }
  printf("%zu of %zu cases done, %zu failed\n", s->done, s->total, s->failed);
  s->drawn++;
  fflush(stdout);
}
