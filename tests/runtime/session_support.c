#include "tests/runtime/session_support.h"
#include "frontend/onnx/onnx.h"
#include "tests/harness.h"

#include <stdlib.h>

const char *zoo_file(tg_arena *arena, const char *name, const tg_zoo_options *options) {
  tg_graph *graph;
  tg_diag diag = {""};
  const char *path = tg_arena_printf(arena, "%s/%s.onnx", tg_test_dir(), name);
  if (tg_zoo_build(arena, name, options, &graph, &diag) || tg_onnx_write(path, graph, &diag)) {
    tg_test_fail(__FILE__, __LINE__, "%s", diag.message);
    abort();
  }
  return path;
}

tg_session *small_gemm(tg_arena *arena) {
  tg_session *session = NULL;
  tg_diag diag = {""};
  const char *path = zoo_file(arena, "gemm", &(tg_zoo_options){.m = 9, .n = 7, .k = 5, .seed = 1});
  if (tg_session_load(path, &session, &diag) || tg_session_compile(session, &tiny, &diag))
    tg_test_fail(__FILE__, __LINE__, "%s", diag.message);
  return session;
}
