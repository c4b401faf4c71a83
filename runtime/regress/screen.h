/* Progress of a suite: a live table on a terminal, else one line a case in the order of the suite. */
#ifndef TEGULA_RUNTIME_REGRESS_SCREEN_H
#define TEGULA_RUNTIME_REGRESS_SCREEN_H

#include "runtime/regress/runner.h"
#include "runtime/regress/verdict.h"

typedef struct tg_screen {
  bool live; /* else lines only */
  size_t total, done, failed;
  size_t drawn; /* lines of the table on the screen */
  double drawn_at;
} tg_screen;

/* A case's line; the table moves down. */
void tg_screen_line(tg_screen *screen, const char *line);
/* Draws the cases that run. */
void tg_screen_draw(tg_screen *screen, const tg_running *running, size_t count);
/* Takes the table away. */
void tg_screen_clear(tg_screen *screen);

#endif
