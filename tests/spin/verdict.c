/* Prints what the proof of ordering says of programs in text: `FILE: ordered`, or `FILE: ` and its message.
 * Exit status 2 where a program is none, or is too long to be proved. */
#include "sim/machine/ordering.h"
#include "sim/machine/program.h"

#include <stdio.h>
#include <stdlib.h>

enum { MOST = 1 << 16 }; /* bytes of a program */

static tg_status verdict(const char *path, tg_diag *diag) {
  static char text[MOST];
  FILE *file = fopen(path, "rb");
  if (!file) return tg_fail(diag, TG_INVALID, "cannot be read");
  size_t size = fread(text, 1, sizeof text - 1, file);
  bool whole = feof(file) != 0;
  fclose(file);
  text[size] = 0;
  if (!whole) return tg_fail(diag, TG_INVALID, "longer than %d bytes", MOST - 1);
  tg_program *program;
  tg_status status = tg_program_parse(text, &program, diag);
  if (status) return status;
  status = tg_check_ordering(program, diag);
  tg_program_destroy(program);
  return status;
}

int main(int argc, char **argv) {
  for (int i = 1; i < argc; i++) {
    tg_diag diag = {""};
    tg_status status = verdict(argv[i], &diag);
    if (status != TG_OK && status != TG_MISMATCH) {
      fprintf(stderr, "%s: %s\n", argv[i], diag.message);
      return 2;
    }
    printf("%s: %s\n", argv[i], status == TG_OK ? "ordered" : diag.message);
  }
  return 0;
}
