/* Every graph of graphs/, lowered under each preset, on architectures of several shapes: the functional
 * engine must give the reference's bits, or values within the tolerance that the file's first line states ("#
 * tolerance 1e-5"). */
#include "tests/harness.h"
#include "tests/mapper/run_graph.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct row {
  char path[512];
  const char *arch, *settings[3];
  tg_precision_preset preset;
  tg_precision_family family;
  struct row *next;
} row;
static row *rows; /* live as long as the process */

static char *read_file(const char *path, tg_arena *arena) {
  FILE *file = fopen(path, "rb");
  if (!file) return NULL;
  char *text = tg_arena_alloc(arena, 1 << 16, 1);
  size_t n = fread(text, 1, (1 << 16) - 1, file);
  text[n] = 0;
  fclose(file);
  return text;
}

static void check_row(const void *user) {
  const row *r = user;
  tg_arena arena = {0};
  tg_diag diag = {""};
  mapped m;
  char *text = read_file(r->path, &arena);
  ASSERT(text != NULL);
  double tolerance = 0;
  sscanf(text, "# tolerance %lf", &tolerance);
  if ((r->preset != TG_PRESET_MP0 || r->family) && tolerance)
    tolerance *= 16384; /* an ulp of bf16 for one of fp32, quartered */
  run_case what = {.text = text,
                   .arch = r->arch,
                   .precision = {.preset = r->preset,
                                 .family = r->family,
                                 .amp_dtype = r->family == TG_FAMILY_RAF ? TG_F16 : TG_BF16},
                   .map = {.seed = 1},
                   .run = {.threads = 1, .seed = 1}};
  memcpy(what.settings, r->settings, sizeof r->settings);
  if (run_text(&what, &m, &arena, &diag) || !outputs_agree(&m, tolerance, &diag))
    tg_test_fail(r->path, 1, "%s", diag.message);
  release_mapped(&m);
  tg_arena_release(&arena);
}

static void add_rows(const char *folder, const char *name) {
  static const struct {
    const char *label, *arch, *settings[3];
    tg_precision_preset preset;
    tg_precision_family family;
  } variants[] = {
      {"tiny", "tiny", {NULL}, TG_PRESET_MP0, TG_FAMILY_GRAPHAMP},
      {"tiny_mp1", "tiny", {NULL}, TG_PRESET_MP1, TG_FAMILY_GRAPHAMP},
      {"tiny_mp4", "tiny", {NULL}, TG_PRESET_MP4, TG_FAMILY_GRAPHAMP},
      {"row_of_3", "tiny", {"rows=1", "cols=3", "p=2"}, TG_PRESET_MP0, TG_FAMILY_GRAPHAMP},
      {"column_of_2_mp1", "tiny", {"rows=2", "cols=1", NULL}, TG_PRESET_MP1, TG_FAMILY_GRAPHAMP},
      {"edge", "edge", {NULL}, TG_PRESET_MP0, TG_FAMILY_GRAPHAMP},
      {"edge_mp1", "edge", {NULL}, TG_PRESET_MP1, TG_FAMILY_GRAPHAMP},
      {"rack_mp4", "rack", {"rows=3", "cols=5"}, TG_PRESET_MP4, TG_FAMILY_GRAPHAMP},
      {"tiny_mp2", "tiny", {NULL}, TG_PRESET_MP2, TG_FAMILY_GRAPHAMP},
      {"tiny_hmp", "tiny", {NULL}, TG_PRESET_MP0, TG_FAMILY_HMP},
      {"row_of_2_autocast", "tiny", {"rows=1"}, TG_PRESET_MP0, TG_FAMILY_AUTOCAST},
      {"edge_raf_fp16", "edge", {NULL}, TG_PRESET_MP0, TG_FAMILY_RAF},
  };
  for (size_t v = 0; v < sizeof variants / sizeof *variants; v++) {
    row *r = calloc(1, sizeof *r);
    if (!r) abort();
    r->next = rows;
    rows = r;
    snprintf(r->path, sizeof r->path, "%s/%s", folder, name);
    r->arch = variants[v].arch;
    memcpy(r->settings, variants[v].settings, sizeof r->settings);
    r->preset = variants[v].preset;
    r->family = variants[v].family;
    char label[128];
    snprintf(label, sizeof label, "%.*s_%s", (int)strcspn(name, "."), name, variants[v].label);
    tg_test_register_row("graphs", label, __FILE__, __LINE__, check_row, r);
  }
}

__attribute__((constructor)) static void register_graphs(void) {
  const char *folder = "tests/mapper/graphs";
  DIR *dir = opendir(folder);
  if (!dir) return;
  for (struct dirent *entry; (entry = readdir(dir));)
    if (strstr(entry->d_name, ".txt")) add_rows(folder, entry->d_name);
  closedir(dir);
}
