/* Every graph of graphs/, lowered under each preset, on architectures of several shapes: the functional
 * engine must give the reference's bits, or values within the tolerance that the file's first line states ("#
 * tolerance 1e-5"). */
#include "tests/harness.h"
#include "tests/mapper/run_graph.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>

static const struct variant {
  const char *label, *arch, *settings[3];
  tg_precision_options precision;
} variants[] = {
    {"tiny", "tiny", {NULL}, {.preset = TG_PRESET_MP0}},
    {"tiny, mp1", "tiny", {NULL}, {.preset = TG_PRESET_MP1}},
    {"tiny, mp4", "tiny", {NULL}, {.preset = TG_PRESET_MP4}},
    {"a row of 3", "tiny", {"rows=1", "cols=3", "p=2"}, {.preset = TG_PRESET_MP0}},
    {"a column of 2, mp1", "tiny", {"rows=2", "cols=1", NULL}, {.preset = TG_PRESET_MP1}},
    {"edge", "edge", {NULL}, {.preset = TG_PRESET_MP0}},
    {"edge, mp1", "edge", {NULL}, {.preset = TG_PRESET_MP1}},
    {"rack, mp4", "rack", {"rows=3", "cols=5"}, {.preset = TG_PRESET_MP4}},
    {"tiny, mp2", "tiny", {NULL}, {.preset = TG_PRESET_MP2}},
    {"tiny, hmp", "tiny", {NULL}, {.family = TG_FAMILY_HMP}},
    {"a row of 2, autocast", "tiny", {"rows=1"}, {.family = TG_FAMILY_AUTOCAST}},
    {"edge, raf in fp16", "edge", {NULL}, {.family = TG_FAMILY_RAF, .amp_dtype = TG_F16}},
};

static char *read_file(const char *path, tg_arena *arena) {
  FILE *file = fopen(path, "rb");
  if (!file) return NULL;
  char *text = tg_arena_alloc(arena, 1 << 16, 1);
  size_t n = fread(text, 1, (1 << 16) - 1, file);
  text[n] = 0;
  fclose(file);
  return text;
}

static void check(const char *path, const char *text, const struct variant *v) {
  tg_arena arena = {0};
  tg_diag diag = {""};
  mapped m;
  double tolerance = 0;
  sscanf(text, "# tolerance %lf", &tolerance);
  if ((v->precision.preset != TG_PRESET_MP0 || v->precision.family) && tolerance)
    tolerance *= 16384; /* an ulp of bf16 for one of fp32, quartered */
  run_case what = {.text = text,
                   .arch = v->arch,
                   .precision = v->precision,
                   .map = {.seed = 1},
                   .run = {.threads = 1, .seed = 1}};
  memcpy(what.settings, v->settings, sizeof v->settings);
  if (run_text(&what, &m, &arena, &diag) || !outputs_agree(&m, tolerance, &diag))
    tg_test_fail(path, 1, "%s: %s", v->label, diag.message);
  release_mapped(&m);
  tg_arena_release(&arena);
}

static void check_graph(const void *row) {
  const char *path = row;
  tg_arena arena = {0};
  char *text = read_file(path, &arena);
  ASSERT(text != NULL);
  for (size_t v = 0; v < sizeof variants / sizeof *variants; v++) check(path, text, &variants[v]);
  tg_arena_release(&arena);
}

__attribute__((constructor)) static void register_graphs(void) {
  static tg_arena arena; /* lives as long as the process */
  const char *folder = "tests/mapper/graphs";
  DIR *dir = opendir(folder);
  if (!dir) return;
  for (struct dirent *entry; (entry = readdir(dir));) {
    if (!strstr(entry->d_name, ".txt")) continue;
    char *path = tg_arena_printf(&arena, "%s/%s", folder, entry->d_name),
         *label = tg_arena_printf(&arena, "%.*s", (int)strcspn(entry->d_name, "."), entry->d_name);
    tg_test_register_row("graphs", label, __FILE__, __LINE__, check_graph, path);
  }
  closedir(dir);
}
