/* Models: read and lowered under every precision preset. The mutator changes messages, not bytes (onnx_mutator.c). */
#include "frontend/onnx/onnx.h"
#include "frontend/pipeline.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  tg_arena arena = {0};
  tg_diag diag = {""};
  tg_graph *graph;
  tg_frontend_options options;
  tg_frontend_defaults(&options);
  options.precision.preset = (tg_precision_preset)(size % TG_PRESET_COUNT);
  options.for_cpu = size % 2;
  tg_status status = tg_onnx_read_memory(&arena, "model", data, size, &graph, &diag);
  if (!status) status = tg_frontend_lower(graph, &options, &diag);
  fuzz_settled(status, &diag);
  FUZZ_WANT(arena.used < (512u << 20), "%zu bytes of memory", arena.used);
  tg_arena_release(&arena);
  return 0;
}
