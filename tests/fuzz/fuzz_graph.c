/* Graphs as text: what parses prints, parses again and prints the same; then it is checked and lowered. */
#include "frontend/pipeline.h"
#include "frontend/text.h"
#include "tests/fuzz/fuzz.h"

/* Results' types are inferred, not taken from the text, where they may be anything. */
static void forget_types(tg_graph *graph) {
  for (int v = 0; v < graph->value_count; v++)
    if (graph->values[v]->kind == TG_VALUE_RESULT) {
      graph->values[v]->dtype = TG_NONE;
      graph->values[v]->rank = -1;
    }
}

static void lower(const char *text, size_t size) {
  tg_arena arena = {0};
  tg_diag diag = {""};
  tg_graph *graph;
  tg_frontend_options options;
  tg_frontend_defaults(&options);
  options.precision.preset = (tg_precision_preset)(size % TG_PRESET_COUNT);
  tg_diag illegal = {""};
  if (!tg_graph_parse(&arena, text, &graph, &diag)) forget_types(graph);
  if (!tg_graph_verify(graph, &illegal)) fuzz_settled(tg_frontend_lower(graph, &options, &diag), &diag);
  FUZZ_WANT(arena.used < (256u << 20), "%zu bytes of memory", arena.used);
  tg_arena_release(&arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  tg_arena arena = {0};
  tg_diag diag = {""};
  tg_graph *graph, *again;
  const char *text = fuzz_text(&arena, data, size);
  tg_status status = tg_graph_parse(&arena, text, &graph, &diag);
  fuzz_settled(status, &diag);
  if (!status) {
    const char *printed = tg_graph_print(graph, &arena);
    status = tg_graph_parse(&arena, printed, &again, &diag);
    FUZZ_WANT(!status, "%s, of what was printed:\n%s", diag.message, printed);
    const char *twice = tg_graph_print(again, &arena);
    FUZZ_WANT(!strcmp(printed, twice), "it prints\n%s\nand again\n%s", printed, twice);
    lower(text, size);
  }
  tg_arena_release(&arena);
  return 0;
}
