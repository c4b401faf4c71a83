#include "tests/runtime/regress_support.h"
#include "tests/command.h"
#include "tests/harness.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

char *slurp(const char *path) {
  static char text[4][1 << 18];
  static int next;
  char *one = text[next++ % 4];
  FILE *file = fopen(path, "rb");
  size_t got = file ? fread(one, 1, sizeof text[0] - 1, file) : 0;
  one[got] = 0;
  if (file) fclose(file);
  return one;
}

/* A tegula that crashes on models named crash, never ends on those named hang (the process that it waits for is
 * named in `sleepers`), takes its time while there is a file `slow`, and leaves a line in `runs` for each `run`. */
void models_and_wrapper(void) {
  if (!access(in_dir("a.onnx"), R_OK)) return;
  EXPECT_EQ(tegula("zoo gemm --m 20 --n 16 --k 33 -o a.onnx")->status, 0);
  EXPECT_EQ(tegula("zoo mlp --batch 2 -o b.onnx")->status, 0);
  EXPECT_EQ(
      shell("cp a.onnx crash.onnx && cp a.onnx hang.onnx && cp a.onnx c.onnx && printf junk > bad.onnx"), 0);
  EXPECT_EQ(tegula("compile a.onnx --arch tiny -o a.tgb -q")->status, 0);
  write_file("arch.yaml", "base: tiny\n");
  write_file("wrapper", "#!/bin/sh\n"
                        "case \"$1\" in run) echo \"$2\" >> \"${0%/*}/runs\" ;; esac\n"
                        "if test -e \"${0%/*}/slow\"; then sleep 0.2; fi\n"
                        "case \"$*\" in\n"
                        "*crash.onnx*) kill -SEGV $$ ;;\n"
                        "*hang.onnx*) sleep 1000 & echo $! >> \"${0%/*}/sleepers\"; wait ;;\n"
                        "esac\n"
                        "exec '" TEGULA_COMMAND "' \"$@\"\n");
  EXPECT_EQ(chmod(in_dir("wrapper"), 0755), 0);
}

json_t *case_of(const json_t *results, const char *id) {
  json_t *one;
  size_t i;
  json_array_foreach(json_object_get(results, "cases"), i, one) {
    if (!strcmp(json_string_value(json_object_get(one, "case")), id)) return one;
  }
  return NULL;
}

/* The failure of a kind, or NULL. */
const char *failure_of(const json_t *results, const char *id, const char *kind) {
  json_t *one;
  size_t i;
  json_array_foreach(json_object_get(case_of(results, id), "findings"), i, one) {
    if (!strcmp(json_string_value(json_object_get(one, "kind")), kind) &&
        json_is_true(json_object_get(one, "failure")))
      return json_string_value(json_object_get(one, "text"));
  }
  return NULL;
}

bool same_file(const char *a, const char *b) {
  return *slurp(in_dir(a)) && !strcmp(slurp(in_dir(a)), slurp(in_dir(b)));
}
