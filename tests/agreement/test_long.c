/* Everything with everything, for `make test-long`: each graph of tests/mapper/graphs on each RTL configuration of the
 * tests, that of `edge` among them where it was built (TEGULA_RTL_EDGE). Of the six precisions, a preset and an accumulation, a
 * graph takes two, on `edge` one, other graphs the others; with TEGULA_ALL_PRECISIONS all: a day. */
#include "tests/agreement/mapped.h"
#include "tests/harness.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>

enum { PRESETS = 3, ACCUMULATIONS = 2 };
static const char *const presets[PRESETS] = {"mp0", "mp1", "mp4"}, *const accumulations[ACCUMULATIONS] = {
                                                                       "fp32", "bf16sr"};

#ifdef TEGULA_WITH_EDGE
static const chip last_chip = CHIP_EDGE;
#else
static const chip last_chip = CHIP_ODD;
#endif

typedef struct row {
  char path[512]; /* of the graph */
  chip chip;
  tg_precision_options precision;
} row;

static tg_status read_text(const char *path, char *out_text, size_t size, tg_diag *diag) {
  FILE *file = fopen(path, "rb");
  if (!file) return tg_fail(diag, TG_INVALID, "%s cannot be read", path);
  out_text[fread(out_text, 1, size - 1, file)] = 0;
  fclose(file);
  return TG_OK;
}

static void check_row(const void *user) {
  const row *r = user;
  char text[16384];
  tg_diag diag = {""};
  tg_params params;
  tg_program *program = NULL;
  tg_status status = chip_params(r->chip, &params, &diag);
  if (!status) status = read_text(r->path, text, sizeof text, &diag);
  if (!status) status = map_text(text, &params, &r->precision, 0, &program, &diag);
  if (status == TG_INVALID && strstr(diag.message, "banks of a scratchpad")) SKIP(diag.message);
  const char *difference =
      status ? diag.message : engines_differ(program, (tg_run_options){.threads = 1, .seed = 5}, NULL);
  if (difference) tg_test_fail(__FILE__, __LINE__, "%s", difference);
  tg_program_destroy(program);
}

/* Is precision number `number` of a graph one of those that run? */
static bool takes(const char *name, chip which, int number) {
  size_t share = which == CHIP_EDGE ? PRESETS * ACCUMULATIONS : PRESETS, first = 0;
  for (const char *at = name; *at; at++) first += (unsigned char)*at;
  return getenv("TEGULA_ALL_PRECISIONS") || ((size_t)number + first + which) % share == 0;
}

/* The graph of `path` on `which`, in its precisions. */
static void add_rows(const char *name, const char *path, chip which) {
  for (int p = 0; p < PRESETS; p++)
    for (int a = 0; a < ACCUMULATIONS; a++) {
      if (!takes(name, which, ACCUMULATIONS * p + a)) continue;
      row *r = calloc(1, sizeof *r); /* lives as long as the process */
      snprintf(r->path, sizeof r->path, "%s", path);
      r->chip = which;
      tg_precision_defaults(&r->precision);
      tg_diag diag = {""};
      if (tg_precision_preset_parse(presets[p], &r->precision.preset, &diag)) abort();
      r->precision.tiling_accum = a ? TG_ACCUM_BF16SR : TG_ACCUM_FP32;
      r->precision.k_tile = 16;
      char label[160];
      snprintf(label, sizeof label, "%.*s_%s_%s_%s", (int)strcspn(name, "."), name, chip_names[which],
               presets[p], accumulations[a]);
      tg_test_register_row("long", label, __FILE__, __LINE__, check_row, r);
    }
}

__attribute__((constructor)) static void register_graphs(void) {
  const char *folder = "tests/mapper/graphs";
  DIR *dir = opendir(folder);
  if (!dir) return;
  for (struct dirent *entry; (entry = readdir(dir));) {
    char path[512];
    if (!strstr(entry->d_name, ".txt")) continue;
    snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
    for (chip which = CHIP_TINY; which <= last_chip; which++) add_rows(entry->d_name, path, which);
  }
  closedir(dir);
}
