#include "tests/command.h"

#include "tests/harness.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>

static void slurp(const char *name, char *text, size_t size) {
  char path[512];
  snprintf(path, sizeof path, "%s/%s", tg_test_dir(), name);
  FILE *file = fopen(path, "rb");
  size_t got = file ? fread(text, 1, size - 1, file) : 0;
  text[got] = 0;
  if (file) fclose(file);
}

const char *in_dir(const char *name) {
  static char path[8][600];
  static int next;
  char *one = path[next++ % 8];
  snprintf(one, sizeof path[0], "%s/%s", tg_test_dir(), name);
  return one;
}

void write_file(const char *name, const char *text) {
  FILE *file = fopen(in_dir(name), "wb");
  if (!file || fputs(text, file) < 0 || fclose(file))
    tg_test_fail(__FILE__, __LINE__, "%s: not written", name);
}

int shell(const char *line) {
  char all[16384];
  snprintf(all, sizeof all, "cd %s && %s", tg_test_dir(), line);
  int status = system(all);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

const outcome *tegula(const char *format, ...) {
  static outcome o;
  char arguments[4096], line[8192];
  va_list list;
  va_start(list, format);
  vsnprintf(arguments, sizeof arguments, format, list);
  va_end(list);
  snprintf(line, sizeof line, "'%s' %s >.out 2>.err </dev/null", TEGULA_COMMAND, arguments);
  o.status = shell(line);
  slurp(".out", o.out, sizeof o.out);
  slurp(".err", o.err, sizeof o.err);
  return &o;
}
