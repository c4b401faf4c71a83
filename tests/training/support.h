/* What the tests of `tegula train` share: its files, and the command. */
#ifndef TEGULA_TESTS_TRAINING_SUPPORT_H
#define TEGULA_TESTS_TRAINING_SUPPORT_H

#include "frontend/base/arena.h"
#include "frontend/dtype.h"
#include "tests/command.h"

#include <jansson.h>

/* Path of a file in the tests' folder, on the arena. */
const char *here(tg_arena *arena, const char *name);

/* "<shared>/corpus/train/<folder>/<name>" on the arena, or NULL where the folder of shared data is not. */
const char *recorded(tg_arena *arena, const char *folder, const char *name);

/* Elements of an .npy file as FP32; NULL, with a failure of the test: it cannot be read. */
float *read_floats(tg_arena *arena, const char *path, int64_t *out_count);
void write_npy(const char *name, tg_dtype dtype, int rank, const int64_t *dims, const void *data);

/* A float constant of a model file. */
float *read_constant(tg_arena *arena, const char *model, const char *name, int64_t *out_count);

/* The whole file; *out_size bytes. NULL: there is none. */
void *read_bytes(tg_arena *arena, const char *path, size_t *out_size);

/* The repository's own data: 160 images of digits of 28 x 28 and their labels as rows of 784 numbers, in
 * digits_x.npy and digits_y.npy, and mlp.onnx, an untrained network for them, in the tests' folder. */
void make_digits(void);

/* NAME.onnx in the tests' folder, of the graph in tests/training/models/NAME.txt; the file's name on the
 * arena. */
const char *make_model(tg_arena *arena, const char *name);

/* Two images of two channels and their product: image_x.npy, image_y.npy. */
void make_image(void);

/* 16 texts of 128 words each, and the word that each of these calls for: words_x.npy, words_y.npy. */
void make_words(void);

/* A table of 96 rows with six numbers and one of five kinds each: table_x.npy, table_kind.npy; a number and
 * an answer that follow from them: table_price.npy, table_sold.npy. */
void make_table(void);

#endif
