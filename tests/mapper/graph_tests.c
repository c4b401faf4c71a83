#include "tests/mapper/graph_tests.h"

#include "frontend/base/arena.h"
#include "tests/harness.h"

#include <dirent.h>
#include <string.h>

void register_graph_files(const char *suite, void (*check)(const void *path)) {
  static tg_arena arena; /* lives as long as the process */
  const char *folder = "tests/mapper/graphs";
  DIR *dir = opendir(folder);
  if (!dir) return;
  for (struct dirent *entry; (entry = readdir(dir));) {
    if (!strstr(entry->d_name, ".txt")) continue;
    char *path = tg_arena_printf(&arena, "%s/%s", folder, entry->d_name),
         *label = tg_arena_printf(&arena, "%.*s", (int)strcspn(entry->d_name, "."), entry->d_name);
    tg_test_register_row(suite, label, __FILE__, __LINE__, check, path);
  }
  closedir(dir);
}

void visit_graph_files(void (*visit)(const void *path)) {
  static const char folder[] = "tests/mapper/graphs";
  DIR *dir = opendir(folder);
  ASSERT(dir != NULL);
  for (struct dirent *entry; (entry = readdir(dir));) {
    tg_arena arena = {0};
    if (strstr(entry->d_name, ".txt")) visit(tg_arena_printf(&arena, "%s/%s", folder, entry->d_name));
    tg_arena_release(&arena);
  }
  closedir(dir);
}
