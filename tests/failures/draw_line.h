/* Command lines drawn from the table of options: every command, each option that it takes, values by their kind. An option that
 * is new in the table is drawn with no more said. */
#ifndef TEGULA_TESTS_FAILURES_DRAW_LINE_H
#define TEGULA_TESTS_FAILURES_DRAW_LINE_H

#include "runtime/options.h"

enum { LINE_WORDS = 64 };

typedef struct drawn_line {
  const char *words[LINE_WORDS + 1]; /* behind the program's name; ends with NULL */
  int count;
  const char *reads[LINE_WORDS]; /* files that the line names to be read */
  int read_count;
  const char *input; /* the file that is standard input */
} drawn_line;

/* Line number `number` of a command under a seed, on the arena: the same whatever else is drawn. */
void draw_line(tg_arena *arena, uint64_t seed, tg_command_id command, int number, drawn_line *out);

/* The files of the folder that lines are run in, which they read and none may change. */
extern const char *const line_inputs[];

#endif
