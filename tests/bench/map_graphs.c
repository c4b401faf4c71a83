/* Maps all graphs of tests/mapper/graphs to programs: FOLDER/GRAPH.tgb, or why it is refused in
 * FOLDER/GRAPH.txt. For compare_programs.py. */
#include "tests/mapper/graph_files.h"
#include "tests/mapper/run_graph.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
  const char *name;
  tg_precision_options precision;
} policies[] = {
    {"mp0", {.preset = TG_PRESET_MP0}}, {"mp1", {.preset = TG_PRESET_MP1}},
    {"mp2", {.preset = TG_PRESET_MP2}}, {"mp3", {.preset = TG_PRESET_MP3}},
    {"mp4", {.preset = TG_PRESET_MP4}}, {"hmp", {.family = TG_FAMILY_HMP}},
    {"raf", {.family = TG_FAMILY_RAF}}, {"autocast", {.family = TG_FAMILY_AUTOCAST}},
};

static bool find_policy(const char *name, tg_precision_options *out) {
  for (size_t i = 0; i < sizeof policies / sizeof *policies; i++)
    if (!strcmp(policies[i].name, name)) {
      *out = policies[i].precision;
      return true;
    }
  return false;
}

static void map_file(const run_case *what, const char *graph, uint32_t sizes, const char *folder) {
  tg_arena arena = {0};
  tg_diag diag = {""};
  double tolerance;
  mapped m;
  run_case own = *what;
  int stem = (int)strcspn(graph, ".");
  own.text = read_graph_file(tg_arena_printf(&arena, "tests/mapper/graphs/%s", graph), &arena, &tolerance);
  if (own.text && sizes) own.text = resize_graph(own.text, sizes, &arena);
  tg_status status = own.text ? map_text(&own, &m, &arena, &diag) : TG_INVALID;
  if (!status)
    status = tg_program_write(m.program, tg_arena_printf(&arena, "%s/%.*s.tgb", folder, stem, graph), &diag);
  FILE *refused = status ? fopen(tg_arena_printf(&arena, "%s/%s", folder, graph), "wb") : NULL;
  if (refused) {
    fprintf(refused, "%s\n", diag.message);
    fclose(refused);
  }
  if (own.text) release_mapped(&m);
  tg_arena_release(&arena);
}

int main(int argc, char **argv) {
  run_case what = {.map = {.seed = 1}};
  DIR *dir = opendir("tests/mapper/graphs");
  if (argc < 6 || argc > 10 || !dir || !find_policy(argv[4], &what.precision)) {
    fputs("usage: map_graphs FOLDER ANY_TILING SIZES POLICY ARCH [KEY=VALUE...], from the root of the tree\n",
          stderr);
    return 2;
  }
  what.map.any_tiling = strtoull(argv[2], NULL, 10);
  what.arch = argv[5];
  for (int i = 6; i < argc; i++) what.settings[i - 6] = argv[i];
  for (struct dirent *entry; (entry = readdir(dir));)
    if (strstr(entry->d_name, ".txt"))
      map_file(&what, entry->d_name, (uint32_t)strtoul(argv[3], NULL, 10), argv[1]);
  closedir(dir);
  return 0;
}
