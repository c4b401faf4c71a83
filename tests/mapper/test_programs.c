/* Mapping as text: each file of golden/ holds a graph, a line "---", and the program that it maps to for
 * `tiny`. Where they differ on purpose, TEGULA_UPDATE_GOLDEN=1 writes what is printed now; read the
 * difference before committing it. */
#include "frontend/pipeline.h"
#include "frontend/text.h"
#include "mapper/mapper.h"
#include "tests/harness.h"

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

static char *map_text(const char *text, tg_arena *arena, tg_diag *diag) {
  tg_graph *graph;
  tg_params params;
  tg_program *program;
  tg_frontend_options options;
  tg_frontend_defaults(&options);
  options.precision.preset = strstr(text, "# mp1") ? TG_PRESET_MP1 : TG_PRESET_MP0;
  tg_map_options map = {.seed = 1};
  tg_status status = tg_params_load("tiny", &params, diag);
  if (!status) status = tg_graph_parse(arena, text, &graph, diag);
  if (!status) status = tg_frontend_lower(graph, &options, diag);
  if (!status) status = tg_map(graph, &params, &map, &program, diag);
  if (status) return NULL;
  char *printed = tg_program_print(program);
  tg_program *again;
  status = tg_program_parse(printed, &again, diag);
  char *reprinted = status ? NULL : tg_program_print(again);
  if (!status) EXPECT_STR(reprinted, printed);
  free(reprinted);
  if (!status) tg_program_destroy(again);
  tg_program_destroy(program);
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
  char *program = map_text(text, &arena, &diag);
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
