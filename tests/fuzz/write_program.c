/* Writes a program as text into a .tgb: seeds of `program`, of whatever version the format has.
 * usage: write_program TEXT PROGRAM.tgb */
#include "sim/machine/program.h"
#include "tests/fuzz/fuzz.h"

int main(int argc, char **argv) {
  FUZZ_WANT(argc == 3, "two files are needed");
  FILE *file = fopen(argv[1], "r");
  FUZZ_WANT(file, "%s cannot be read", argv[1]);
  char *text = NULL;
  size_t size = 0;
  FUZZ_WANT(getdelim(&text, &size, '\0', file) > 0, "%s is empty", argv[1]);
  fclose(file);
  tg_diag diag = {""};
  tg_program *program = NULL;
  tg_status status = tg_program_parse(text, &program, &diag);
  if (!status) status = tg_program_write(program, argv[2], &diag);
  FUZZ_WANT(!status, "%s: %s", argv[1], diag.message);
  tg_program_destroy(program);
  free(text);
  return 0;
}
