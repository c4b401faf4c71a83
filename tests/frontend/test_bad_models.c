/* Malformed and hostile models: cases.csv says what each must lead to. */
#include "frontend/onnx/onnx.h"
#include "frontend/pipeline.h"
#include "tests/frontend/support.h"
#include "tests/harness.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

typedef struct bad_case {
  char file[80], expect[16];
} bad_case;

static double seconds(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void behaves(const void *data) {
  const bad_case *row = data;
  tg_arena arena = {0};
  tg_diag diag = {""};
  double start = seconds();
  tg_graph *graph;
  const char *path = recorded_path(&arena, tg_arena_printf(&arena, "bad/%s", row->file));
  tg_status status = tg_onnx_read(&arena, path, &graph, &diag);
  if (!status) {
    tg_frontend_options options;
    tg_frontend_defaults(&options);
    status = tg_frontend_lower(graph, &options, &diag);
  }
  EXPECT(seconds() - start < 5);
  EXPECT(arena.used < (256u << 20));
  bool rejected = status == TG_INVALID && diag.message[0] && !strchr(diag.message, '\n');
  bool accepted = status == TG_OK && !diag.message[0];
  EXPECT(rejected || accepted);
  if (!strcmp(row->expect, "reject") && !rejected)
    tg_test_fail(__FILE__, __LINE__, "%s was accepted", row->file);
  if (!strcmp(row->expect, "accept") && !accepted)
    tg_test_fail(__FILE__, __LINE__, "%s was rejected: %s", row->file, diag.message);
  if (getenv("TEGULA_SHOW")) printf("%-36s %s %s\n", row->file, row->expect, diag.message);
  tg_arena_release(&arena);
}

/* One test a row, so that a failure names its file. */
__attribute__((constructor)) static void register_cases(void) {
  static bad_case cases[256];
  tg_arena arena = {0};
  char *text = read_text(&arena, recorded_path(&arena, "bad/cases.csv"), NULL);
  int count = 0;
  for (char *save, *line = text ? strtok_r(text, "\n", &save) : NULL; line && count < 256;
       line = strtok_r(NULL, "\n", &save)) {
    bad_case *row = &cases[count];
    if (sscanf(line, "%79[^,],%*[^,],%15[^,]", row->file, row->expect) != 2 || !strstr(row->file, ".onnx"))
      continue;
    tg_test_register_row("bad_models", row->file, __FILE__, __LINE__, behaves, row);
    count++;
  }
  tg_arena_release(&arena);
}

TG_TEST(bad_models, the_corpus_is_here) {
  tg_arena arena = {0};
  EXPECT(read_text(&arena, recorded_path(&arena, "bad/cases.csv"), NULL));
  tg_arena_release(&arena);
}
