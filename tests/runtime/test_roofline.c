/* What a run has to move at least, of rows that are chosen by index: bytes counted by hand. */
#include "frontend/pipeline.h"
#include "frontend/text.h"
#include "mapper/mapper.h"
#include "runtime/report/roofline.h"
#include "tests/harness.h"

static uint64_t compulsory(const char *text) {
  tg_arena arena = {0};
  tg_diag diag = {""};
  tg_params params;
  tg_graph *graph;
  tg_program *program = NULL;
  tg_frontend_options frontend;
  tg_map_options options = {.seed = 1};
  tg_frontend_defaults(&frontend);
  tg_status status = tg_params_load("tiny", &params, &diag);
  if (!status) status = tg_graph_parse(&arena, text, &graph, &diag);
  if (!status) status = tg_frontend_lower(graph, &frontend, &diag);
  if (!status) status = tg_map(graph, &params, &options, &program, &diag);
  uint64_t bytes = status ? 0 : tg_program_bound(program).compulsory_bytes;
  EXPECT_STR(diag.message, "");
  tg_program_destroy(program);
  tg_arena_release(&arena);
  return bytes;
}

#define TABLE(rows) "graph \"g\"\ninput %t: f32[" rows ",12]\n"
#define GATHER      "input %i: i64[7]\n%y = Gather(%t, %i) @0\noutput \"y\" %y: f32\n"

TG_TEST(roofline, of_a_table_as_many_rows_as_are_chosen) {
  EXPECT_EQ(compulsory(TABLE("100") GATHER), 4 * (7 * 12 + 7 + 7 * 12));
  /* Fewer rows than are chosen: the table. */
  EXPECT_EQ(compulsory(TABLE("3") GATHER), 4 * (3 * 12 + 7 + 7 * 12));
  /* Read otherwise, too: all of it. */
  EXPECT_EQ(compulsory(TABLE("100") GATHER "%z = Relu(%t) @1\noutput \"z\" %z: f32\n"),
            4 * (100 * 12 + 7 + 7 * 12 + 100 * 12));
  /* Chosen twice. */
  EXPECT_EQ(
      compulsory(TABLE("100") GATHER "input %j: i64[4]\n%z = Gather(%t, %j) @1\noutput \"z\" %z: f32\n"),
      4 * (11 * 12 + 11 + 11 * 12));
}
