/* The command as a user runs it: exit status and what it says. For tests whose CMakeLists.txt name command.c
 * by tegula_command_test. */
#ifndef TEGULA_TESTS_COMMAND_H
#define TEGULA_TESTS_COMMAND_H

typedef struct outcome {
  int status; /* exit status, -1: killed */
  char out[1 << 17], err[4096];
} outcome;

/* Runs `tegula ARGUMENTS` through the shell, in the tests' folder. The result is overwritten by the next. */
const outcome *tegula(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* The path of a file in the tests' folder; good for eight calls. */
const char *in_dir(const char *name);
/* Writes a file there. */
void write_file(const char *name, const char *text);

/* The exit status of a line for the shell, in the tests' folder; -1: killed. */
int shell(const char *line);

#endif
