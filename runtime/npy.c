#include "runtime/npy.h"
#include "frontend/base/input_file.h"
#include "frontend/base/output_file.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static const struct {
  const char *descr;
  tg_dtype dtype;
} types[] = {{"<f4", TG_F32}, {"<f8", TG_F64},  {"<f2", TG_F16},  {"<i8", TG_I64},  {"<i4", TG_I32},
             {"<i2", TG_I16}, {"|i1", TG_I8},   {"<u8", TG_U64},  {"<u4", TG_U32},  {"<u2", TG_U16},
             {"|u1", TG_U8},  {"|b1", TG_BOOL}, {"<V2", TG_BF16}, {"|V2", TG_BF16}, /* as ml_dtypes and NumPy
                                                                                        write bfloat16 */
             {"|i1", TG_I4},  {"|i1", TG_I2},   {"|u1", TG_U4},   {"|u1", TG_U2}};
enum { TYPE_COUNT = sizeof types / sizeof *types, LONGEST_HEADER = 65536 };

/* --- the header: a Python dictionary with three known keys */

typedef struct header {
  const char *at;
  char descr[16];
  bool fortran, has_descr, has_order, has_shape;
  int rank;
  int64_t dims[TG_NPY_MAX_RANK];
} header;

static void skip_blanks(header *h) {
  while (isspace((unsigned char)*h->at)) h->at++;
}

static bool take(header *h, char c) {
  skip_blanks(h);
  if (*h->at != c) return false;
  h->at++;
  return true;
}

static bool take_word(header *h, const char *word) {
  skip_blanks(h);
  size_t length = strlen(word);
  if (strncmp(h->at, word, length)) return false;
  h->at += length;
  return true;
}

static bool take_text(header *h, char *out, size_t size) {
  skip_blanks(h);
  char quote = *h->at;
  if (quote != '\'' && quote != '"') return false;
  const char *begin = ++h->at, *end = strchr(begin, quote);
  if (!end || (size_t)(end - begin) >= size) return false;
  memcpy(out, begin, (size_t)(end - begin));
  out[end - begin] = 0;
  h->at = end + 1;
  return true;
}

static bool take_shape(header *h) {
  if (!take(h, '(')) return false;
  while (!take(h, ')')) {
    skip_blanks(h);
    if (!isdigit((unsigned char)*h->at) || h->rank == TG_NPY_MAX_RANK) return false;
    char *end;
    errno = 0;
    long long size = strtoll(h->at, &end, 10);
    if (errno || *end == 'L') return false;
    h->at = end;
    h->dims[h->rank++] = size;
    if (!take(h, ',')) return take(h, ')');
  }
  return true;
}

static bool take_entry(header *h) {
  char key[16];
  if (!take_text(h, key, sizeof key) || !take(h, ':')) return false;
  if (!strcmp(key, "descr") && !h->has_descr) return h->has_descr = take_text(h, h->descr, sizeof h->descr);
  if (!strcmp(key, "shape") && !h->has_shape) return h->has_shape = take_shape(h);
  if (strcmp(key, "fortran_order") || h->has_order) return false;
  h->has_order = true;
  h->fortran = take_word(h, "True");
  return h->fortran || take_word(h, "False");
}

static bool parse_header(header *h, const char *text) {
  *h = (header){.at = text};
  if (!take(h, '{')) return false;
  while (!take(h, '}')) {
    if (!take_entry(h)) return false;
    if (!take(h, ',') && !take(h, '}')) return false;
    if (h->at[-1] == '}') break;
  }
  skip_blanks(h);
  return !*h->at && h->has_descr && h->has_order && h->has_shape;
}

/* Reads magic, version and header text (NUL-terminated, on the arena); *out_size: all bytes before the
 * data. */
static tg_status read_header(FILE *file, tg_arena *arena, char **out_text, uint64_t *out_size,
                             tg_diag *diag) {
  unsigned char start[12];
  if (fread(start, 1, 10, file) != 10 || memcmp(start, "\x93NUMPY", 6))
    return tg_fail(diag, TG_INVALID, "is no .npy file");
  if (start[6] < 1 || start[6] > 3)
    return tg_fail(diag, TG_INVALID, "has .npy version %d, known are 1 to 3", start[6]);
  uint32_t length = start[8] | (uint32_t)start[9] << 8, prefix = 10;
  if (start[6] > 1) {
    if (fread(start + 10, 1, 2, file) != 2) return tg_fail(diag, TG_INVALID, "ends in its .npy header");
    length |= (uint32_t)start[10] << 16 | (uint32_t)start[11] << 24;
    prefix = 12;
  }
  if (length > LONGEST_HEADER) return tg_fail(diag, TG_INVALID, "claims a .npy header of %u bytes", length);
  char *text = tg_arena_alloc(arena, length + 1, 1);
  if (fread(text, 1, length, file) != length) return tg_fail(diag, TG_INVALID, "ends in its .npy header");
  *out_text = text;
  *out_size = prefix + length;
  return TG_OK;
}

/* Floats of 8 and 4 bits, a byte each; ml_dtypes calls one of them f1. */
static bool is_byte(const char *descr) {
  return !strcmp(descr, "|V1") || !strcmp(descr, "<V1") || !strcmp(descr, "<f1") || !strcmp(descr, "|f1");
}

static tg_dtype dtype_of(const char *descr) {
  if (is_byte(descr)) return TG_U8;
  for (int i = 0; i < TYPE_COUNT; i++)
    if (!strcmp(descr, types[i].descr)) return types[i].dtype;
  return TG_NONE;
}

/* --- data */

/* Element (i0, .., in) of a Fortran array lies at i0 + d0*(i1 + d1*(..)). */
static void from_fortran(const tg_npy *array, const char *source, char *target, size_t size) {
  int64_t index[TG_NPY_MAX_RANK] = {0}, stride[TG_NPY_MAX_RANK];
  int64_t step = 1;
  for (int d = 0; d < array->rank; d++) {
    stride[d] = step;
    step *= array->dims[d];
  }
  for (int64_t i = 0; i < array->count; i++) {
    int64_t from = 0;
    for (int d = 0; d < array->rank; d++) from += index[d] * stride[d];
    memcpy(target + (size_t)i * size, source + (size_t)from * size, size);
    for (int d = array->rank - 1; d >= 0 && ++index[d] == array->dims[d]; d--) index[d] = 0;
  }
}

static bool product(const header *h, int64_t *out_count) {
  *out_count = 1;
  for (int d = 0; d < h->rank; d++)
    if (__builtin_mul_overflow(*out_count, h->dims[d], out_count)) return false;
  return true;
}

tg_status tg_npy_read_stream(tg_arena *arena, FILE *file, uint64_t all, tg_npy *out, tg_diag *diag) {
  char *text = NULL;
  uint64_t before = 0;
  tg_status status = read_header(file, arena, &text, &before, diag);
  if (status) return status;
  header h;
  if (!parse_header(&h, text)) return tg_fail(diag, TG_INVALID, "has a malformed .npy header");
  tg_npy array = {.dtype = dtype_of(h.descr), .bits = is_byte(h.descr), .rank = h.rank};
  if (!array.dtype)
    return tg_fail(diag, TG_INVALID, "holds elements of type \"%s\", which is not supported", h.descr);
  memcpy(array.dims, h.dims, sizeof array.dims);
  size_t size = tg_dtype_size(array.dtype);
  int64_t bytes;
  if (!product(&h, &array.count) || __builtin_mul_overflow(array.count, (int64_t)size, &bytes) ||
      all - before != (uint64_t)bytes)
    return tg_fail(diag, TG_INVALID, "has a shape that does not fit its length of %" PRIu64 " bytes", all);
  array.data = tg_arena_alloc(arena, (size_t)array.count, size);
  char *raw = h.fortran && h.rank > 1 ? tg_arena_alloc(arena, (size_t)array.count, size) : array.data;
  if (fread(raw, 1, (size_t)bytes, file) != (size_t)bytes) return tg_fail(diag, TG_INVALID, "cannot be read");
  if (raw != array.data) from_fortran(&array, raw, array.data, size);
  *out = array;
  return TG_OK;
}

tg_status tg_npy_read(tg_arena *arena, const char *path, tg_npy *out_array, tg_diag *diag) {
  FILE *file;
  uint64_t size;
  if (tg_input_open(path, &file, &size, diag)) return TG_INVALID;
  tg_diag inner = {""};
  tg_status status = tg_npy_read_stream(arena, file, size, out_array, &inner);
  fclose(file);
  if (status) tg_fail(diag, status, "%s: %s", path, inner.message);
  return status;
}

static void write_header(FILE *file, const char *descr, int rank, const int64_t *dims) {
  char text[512];
  int length = snprintf(text, sizeof text, "{'descr': '%s', 'fortran_order': False, 'shape': (", descr);
  for (int d = 0; d < rank; d++)
    length += snprintf(text + length, sizeof text - (size_t)length, "%" PRId64 ",%s", dims[d],
                       d + 1 < rank ? " " : "");
  length += snprintf(text + length, sizeof text - (size_t)length, "), }");
  while ((10 + length + 1) % 64) text[length++] = ' ';
  text[length++] = '\n';
  fwrite("\x93NUMPY\x01\x00", 1, 8, file);
  fputc(length & 255, file);
  fputc(length >> 8, file);
  fwrite(text, 1, (size_t)length, file);
}

tg_status tg_npy_write(const char *path, tg_dtype dtype, int rank, const int64_t *dims, const void *data,
                       tg_diag *diag) {
  const char *descr = NULL;
  for (int i = 0; i < TYPE_COUNT; i++)
    if (!descr && types[i].dtype == dtype) descr = types[i].descr;
  if (tg_dtype_is_narrow(dtype)) descr = "|V1";
  if (!descr) return tg_fail(diag, TG_INVALID, "%s: .npy has no type for %s", path, tg_dtype_name(dtype));
  size_t count = 1;
  for (int d = 0; d < rank; d++) count *= (size_t)dims[d];
  tg_output_file file;
  tg_status status = tg_output_open(path, &file, diag);
  if (status) return status;
  write_header(file.stream, descr, rank, dims);
  fwrite(data, tg_dtype_size(dtype), count, file.stream);
  return tg_output_commit(&file, diag);
}

tg_status tg_npy_take_as(tg_npy *array, tg_dtype dtype, tg_diag *diag) {
  if (!array->bits) return TG_OK;
  if (!tg_dtype_is_narrow(dtype) && tg_dtype_bits(dtype) >= 8)
    return tg_fail(diag, TG_INVALID, "holds bits of a type without a name, where %s is needed",
                   tg_dtype_name(dtype));
  array->dtype = dtype;
  array->bits = false;
  return TG_OK;
}

float *tg_npy_floats(tg_arena *arena, const tg_npy *array) {
  float *values = TG_NEW_ARRAY(arena, float, (size_t)array->count);
  for (int64_t i = 0; i < array->count; i++) values[i] = tg_load_f32(array->data, array->dtype, (size_t)i);
  return values;
}
