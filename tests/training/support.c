#include "tests/training/support.h"

#include "frontend/graph.h"
#include "frontend/onnx/onnx.h"
#include "frontend/text.h"
#include "runtime/npy.h"
#include "tests/harness.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

const char *here(tg_arena *arena, const char *name) {
  return tg_arena_printf(arena, "%s/%s", tg_test_dir(), name);
}

const char *recorded(tg_arena *arena, const char *folder, const char *name) {
  return tg_arena_printf(arena, "%s/training/%s/%s", tg_test_data(), folder, name);
}

float *read_floats(tg_arena *arena, const char *path, int64_t *out_count) {
  tg_diag diag = {""};
  tg_npy npy;
  if (tg_npy_read(arena, path, &npy, &diag)) {
    tg_test_fail(__FILE__, __LINE__, "%s", diag.message);
    return NULL;
  }
  *out_count = npy.count;
  return tg_npy_floats(arena, &npy);
}

void write_npy(const char *name, tg_dtype dtype, int rank, const int64_t *dims, const void *data) {
  tg_arena arena = {0};
  tg_diag diag = {""};
  EXPECT_EQ(tg_npy_write(here(&arena, name), dtype, rank, dims, data, &diag), TG_OK);
  tg_arena_release(&arena);
}

float *read_constant(tg_arena *arena, const char *model, const char *name, int64_t *out_count) {
  tg_diag diag = {""};
  tg_graph *graph;
  if (tg_onnx_read(arena, model, &graph, &diag)) {
    tg_test_fail(__FILE__, __LINE__, "%s", diag.message);
    return NULL;
  }
  const tg_value *value = tg_graph_find_value(graph, name);
  if (!tg_is_constant(value)) {
    tg_test_fail(__FILE__, __LINE__, "%s has no constant %s", model, name);
    return NULL;
  }
  *out_count = tg_value_elements(value);
  float *data = TG_NEW_ARRAY(arena, float, (size_t)*out_count + 1);
  for (int64_t i = 0; i < *out_count; i++) data[i] = tg_load_f32(value->data, value->dtype, (size_t)i);
  return data;
}

void *read_bytes(tg_arena *arena, const char *path, size_t *out_size) {
  FILE *file = fopen(path, "rb");
  if (!file) return NULL;
  fseek(file, 0, SEEK_END);
  *out_size = (size_t)ftell(file);
  rewind(file);
  void *data = tg_arena_alloc(arena, *out_size + 1, 1);
  if (fread(data, 1, *out_size, file) != *out_size) data = NULL;
  fclose(file);
  return data;
}

static void write_model(tg_arena *arena, const char *name, const char *text) {
  tg_diag diag = {""};
  tg_graph *graph;
  EXPECT(!tg_graph_parse(arena, text, &graph, &diag) && !tg_onnx_write(here(arena, name), graph, &diag));
  EXPECT_STR(diag.message, "");
}

const char *make_model(tg_arena *arena, const char *name) {
  size_t size;
  char *text = read_bytes(arena, tg_arena_printf(arena, "tests/training/models/%s.txt", name), &size);
  const char *file = tg_arena_printf(arena, "%s.onnx", name);
  if (!text) {
    tg_test_fail(__FILE__, __LINE__, "no tests/training/models/%s.txt", name);
    return file;
  }
  text[size] = 0;
  write_model(arena, file, text);
  return file;
}

void make_digits(void) {
  static const char text[] =
      "graph \"mlp\"\ninput %x: f32[N,784]\n"
      "const %w1: f32[784,24] = seeded(1, 0.06)\nconst %b1: f32[24] = seeded(2, 0.06)\n"
      "const %w2: f32[24,10] = seeded(3, 0.3)\nconst %b2: f32[10] = seeded(4, 0.3)\n"
      "%h = Gemm(%x, %w1, %b1) @0 \"hidden\"\n%r = Relu(%h) @1 \"relu\"\n"
      "%y = Gemm(%r, %w2, %b2) @2 \"scores\"\noutput \"y\" %y: f32\n";
  tg_arena arena = {0};
  int64_t count;
  if (!access(here(&arena, "mlp.onnx"), R_OK)) {
    tg_arena_release(&arena);
    return;
  }
  float *pixels = read_floats(&arena, "runtime/demo/digits.npy", &count);
  for (int64_t i = 0; pixels && i < count; i++) pixels[i] /= 255;
  if (pixels) write_npy("digits_x.npy", TG_F32, 2, (int64_t[]){count / 784, 784}, pixels);
  float *labels = read_floats(&arena, "runtime/demo/labels.npy", &count);
  int64_t *classes = TG_NEW_ARRAY(&arena, int64_t, (size_t)count + 1);
  for (int64_t i = 0; labels && i < count; i++) classes[i] = (int64_t)labels[i];
  write_npy("digits_y.npy", TG_I64, 1, &count, classes);
  write_model(&arena, "mlp.onnx", text);
  tg_arena_release(&arena);
}

void make_table(void) {
  enum { ROWS = 96, WIDTH = 6, KINDS = 5 };
  float x[ROWS][WIDTH], price[ROWS], sold[ROWS];
  int64_t kind[ROWS];
  tg_seeded_fill(x, TG_F32, ROWS * WIDTH, 31, 1);
  for (int i = 0; i < ROWS; i++) {
    kind[i] = i * 7 % KINDS;
    price[i] = x[i][0] * x[i][1] + 0.5f * (float)kind[i];
    sold[i] = price[i] > 1;
  }
  write_npy("table_x.npy", TG_F32, 2, (int64_t[]){ROWS, WIDTH}, x);
  write_npy("table_kind.npy", TG_I64, 2, (int64_t[]){ROWS, 1}, kind);
  write_npy("table_price.npy", TG_F32, 2, (int64_t[]){ROWS, 1}, price);
  write_npy("table_sold.npy", TG_F32, 2, (int64_t[]){ROWS, 1}, sold);
}

void make_image(void) {
  enum { SIDE = 128 };
  static float x[2][2][SIDE * SIDE], y[2][SIDE * SIDE];
  tg_seeded_fill(x, TG_F32, sizeof x / sizeof(float), 41, 1);
  for (int n = 0; n < 2; n++)
    for (int i = 0; i < SIDE * SIDE; i++) y[n][i] = x[n][0][i] * x[n][1][i];
  write_npy("image_x.npy", TG_F32, 4, (int64_t[]){2, 2, SIDE, SIDE}, x);
  write_npy("image_y.npy", TG_F32, 4, (int64_t[]){2, 1, SIDE, SIDE}, y);
}

void make_words(void) {
  enum { ROWS = 16, LENGTH = 128, WORDS = 700 };
  static int64_t x[ROWS * LENGTH], y[ROWS * LENGTH];
  for (int i = 0; i < ROWS * LENGTH; i++) {
    x[i] = (i * i / 3 + 5 * i) % WORDS;
    y[i] = x[i] * 11 % WORDS;
  }
  write_npy("words_x.npy", TG_I64, 2, (int64_t[]){ROWS, LENGTH}, x);
  write_npy("words_y.npy", TG_I64, 2, (int64_t[]){ROWS, LENGTH}, y);
}
