#include "tests/runtime/command_support.h"
#include "tests/command.h"
#include "tests/harness.h"

#include <dirent.h>
#include <jansson.h>
#include <stdio.h>
#include <unistd.h>

int files_here(void) {
  DIR *folder = opendir(tg_test_dir());
  int count = 0;
  for (struct dirent *entry; (entry = readdir(folder));) count += entry->d_name[0] != '.';
  closedir(folder);
  return count;
}

bool made(const char *name) {
  char path[512];
  snprintf(path, sizeof path, "%s/%s", tg_test_dir(), name);
  return access(path, R_OK) == 0;
}

void small_models(void) {
  if (made("gemm.onnx")) return;
  EXPECT_EQ(tegula("zoo gemm --m 12 --n 8 --k 20 -o gemm.onnx")->status, 0);
  EXPECT_EQ(tegula("zoo mlp -o mlp.onnx")->status, 0);
  EXPECT_EQ(tegula("compile gemm.onnx --arch tiny -o gemm.tgb -q")->status, 0);
}

long long cycles_of(const outcome *o) {
  json_t *report = json_loads(o->out, 0, NULL);
  long long cycles = json_integer_value(json_object_get(report, "cycles"));
  json_decref(report);
  return cycles;
}

double field(const json_t *object, const char *key) {
  return json_number_value(json_object_get(object, key));
}

const json_t *row_of(const json_t *rows, const char *policy, const char *accumulation) {
  size_t i;
  json_t *row;
  json_array_foreach(rows, i, row) {
    if (!strcmp(json_string_value(json_object_get(row, "policy")), policy) &&
        !strcmp(json_string_value(json_object_get(row, "tiling_accum")), accumulation))
      return row;
  }
  return NULL;
}
