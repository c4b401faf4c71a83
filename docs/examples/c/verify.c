/* Loads a compiled program or a model from memory, and asks whether all engines that can run it agree in every bit
 * and cycle.
 *
 *   cc verify.c $(pkg-config --cflags --libs tegula) -o verify && ./verify model.onnx */
#include <runtime/tegula.h>

#include <stdio.h>
#include <stdlib.h>

static void *read_file(const char *path, size_t *out_size) {
  FILE *file = fopen(path, "rb");
  long size = -1;
  if (file && !fseek(file, 0, SEEK_END)) size = ftell(file);
  void *data = size >= 0 ? malloc((size_t)size + 1) : NULL;
  if (data) {
    rewind(file);
    *out_size = fread(data, 1, (size_t)size, file);
  }
  if (file) fclose(file);
  return data;
}

int main(int argc, char **argv) {
  tg_diag diag = {""};
  tg_session *session = NULL;
  char *json = NULL;
  size_t size = 0;
  void *data = argc == 2 ? read_file(argv[1], &size) : NULL;
  if (!data) {
    fprintf(stderr, "usage: %s MODEL.onnx|PROGRAM.tgb\n", argv[0]);
    return 2;
  }
  tg_status status = tg_session_load_memory(data, size, argv[1], &session, &diag);
  free(data);
  if (!status && !tg_session_is_compiled(session)) {
    tg_compile_options options = {.size = sizeof options, .arch = "tiny"};
    status = tg_session_compile(session, &options, &diag);
  }
  if (!status) {
    tg_session_random_inputs(session, 1);
    status = tg_session_verify(session, NULL, &json, &diag);
  }
  if (json) puts(json);
  if (status) fprintf(stderr, "%s\n", diag.message);
  free(json);
  tg_session_close(session);
  return (int)status;
}
