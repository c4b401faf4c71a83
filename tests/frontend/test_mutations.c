/* Damaged models: whatever bytes change, import and lowering end with a graph or with one line, soon, and
 * within memory. Run under the sanitizers (TEGULA_SANITIZE) this is a small fuzzer; TEGULA_MUTATIONS sets the
 * number of rounds. */
#include "frontend/onnx/onnx.h"
#include "frontend/pipeline.h"
#include "tests/frontend/support.h"
#include "tests/harness.h"

#include <stdio.h>
#include <stdlib.h>

static uint64_t next_random(uint64_t *state) {
  *state ^= *state << 13;
  *state ^= *state >> 7;
  *state ^= *state << 17;
  return *state;
}

static void mutate(char *bytes, size_t *size, uint64_t *state) {
  static const unsigned char nasty[] = {0, 1, 2, 0x7f, 0x80, 0xff, 0xfe, 8, 0x10};
  int changes = 1 + (int)(next_random(state) % 4);
  for (int i = 0; i < changes; i++) {
    size_t at = next_random(state) % *size;
    switch (next_random(state) % 4) {
    case 0: bytes[at] ^= (char)(1 << next_random(state) % 8); break;
    case 1: bytes[at] = (char)nasty[next_random(state) % sizeof nasty]; break;
    case 2: bytes[at] = (char)next_random(state); break;
    default: /* an element goes missing: lengths around it no longer fit */
      memmove(bytes + at, bytes + at + 1, *size - at - 1);
      --*size;
    }
  }
}

static void lower_damaged(const char *bytes, size_t size, uint64_t seed) {
  tg_arena arena = {0};
  const char *path = tg_arena_printf(&arena, "%s/mutant.onnx", tg_test_dir());
  write_bytes(path, bytes, size);
  tg_diag diag = {""};
  tg_graph *graph;
  tg_frontend_options options;
  tg_frontend_defaults(&options);
  options.precision.preset = (tg_precision_preset)(seed % TG_PRESET_COUNT);
  tg_status status = tg_onnx_read(&arena, path, &graph, &diag);
  if (!status) status = tg_frontend_lower(graph, &options, &diag);
  EXPECT((status == TG_OK) == !diag.message[0]);
  EXPECT(!strstr(diag.message, "illegal graph"));
  EXPECT(arena.used < (512u << 20));
  tg_arena_release(&arena);
}

TG_TEST(mutations, damaged_models_never_crash) {
  static const char *const models[] = {
      "training/digits_cnn_sgd/model.onnx", "training/iris_softmax_sgd/model.onnx",
      "bad/073_subnormal_weights.onnx",     "bad/001_control_good.onnx",
      "bad/131_maxpool_pad_ge_kernel.onnx", "bad/114_conv_rank_mismatch.onnx",
      "bad/108_conv_group_3.onnx",          "bad/121_reshape_minus7.onnx",
      "bad/125_concat_axis_oob.onnx",       "bad/151_exp_fanout_60.onnx"};
  const char *rounds = getenv("TEGULA_MUTATIONS");
  uint64_t state = 0x9e3779b97f4a7c15u;
  for (size_t m = 0; m < sizeof models / sizeof *models; m++) {
    tg_arena arena = {0};
    size_t size;
    const char *path = recorded_path(&arena, models[m]);
    char *bytes = read_text(&arena, path, &size);
    ASSERT(bytes);
    char *copy = tg_arena_alloc(&arena, size + 1, 1);
    for (int i = 0; i < (rounds ? atoi(rounds) : 100); i++) {
      size_t mutated = size;
      memcpy(copy, bytes, size);
      mutate(copy, &mutated, &state);
      lower_damaged(copy, mutated, (uint64_t)i);
    }
    tg_arena_release(&arena);
  }
}
