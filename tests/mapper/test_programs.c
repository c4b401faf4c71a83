/* Mapping as text: each file of golden/ holds a graph, a line "---", and the program that it maps to for
 * `tiny`. Where they differ on purpose, TEGULA_UPDATE_GOLDEN=1 writes what is printed now; read the
 * difference before committing it. */
#include "tests/harness.h"
#include "tests/mapper/run_graph.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>

enum { MOST = 1 << 18 };
static const char folder[] = "tests/mapper/golden", rule[] = "---\n";

static void update(const char *path, const char *graph, const char *program) {
  FILE *file = fopen(path, "wb");
  ASSERT(file != NULL);
  fprintf(file, "%s%s%s", graph, rule, program);
  fclose(file);
}

static char *print_mapped(const char *text, tg_arena *arena, tg_diag *diag) {
  mapped m;
  run_case what = {.text = text,
                   .arch = "tiny",
                   .precision.preset = strstr(text, "# mp1") ? TG_PRESET_MP1 : TG_PRESET_MP0,
                   .map = {.seed = 1}};
  if (map_text(&what, &m, arena, diag)) return NULL;
  char *printed = tg_program_print(m.program);
  tg_program *again;
  tg_status status = tg_program_parse(printed, &again, diag);
  char *reprinted = status ? NULL : tg_program_print(again);
  if (!status) EXPECT_STR(reprinted, printed);
  free(reprinted);
  if (!status) tg_program_destroy(again);
  release_mapped(&m);
  return printed;
}

static void check_file(const char *name) {
  tg_arena arena = {0};
  tg_diag diag = {""};
  char *path = tg_arena_printf(&arena, "%s/%s", folder, name), *text = tg_arena_alloc(&arena, MOST, 1);
  FILE *file = fopen(path, "rb");
  ASSERT(file != NULL);
  text[fread(text, 1, MOST - 1, file)] = 0;
  fclose(file);
  char *split = strstr(text, rule), *expected = split ? split + sizeof rule - 1 : "";
  if (split) *split = 0;
  char *program = print_mapped(text, &arena, &diag);
  if (!program)
    tg_test_fail(path, 1, "%s", diag.message);
  else if (getenv("TEGULA_UPDATE_GOLDEN"))
    update(path, text, program);
  else
    EXPECT_STR(program, expected);
  free(program);
  tg_arena_release(&arena);
}

TG_TEST(mapping, programs_are_as_recorded) {
  DIR *dir = opendir(folder);
  ASSERT(dir != NULL);
  int files = 0;
  for (struct dirent *entry; (entry = readdir(dir));)
    if (strstr(entry->d_name, ".txt")) {
      check_file(entry->d_name);
      files++;
    }
  closedir(dir);
  EXPECT(files >= 4);
}
