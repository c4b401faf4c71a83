#include "runtime/npy.h"
#include "tests/harness.h"

#include <stdio.h>
#include <stdlib.h>

static const char *file_of(tg_arena *arena, const char *name, const void *bytes, size_t size) {
  const char *path = tg_arena_printf(arena, "%s/%s", tg_test_dir(), name);
  FILE *file = fopen(path, "wb");
  if (!file || fwrite(bytes, 1, size, file) != size || fclose(file)) abort();
  return path;
}

/* A version 1 file with this header text and `size` bytes of data. */
static const char *with_header(tg_arena *arena, const char *header, const void *data, size_t size) {
  size_t length = strlen(header);
  char *bytes = tg_arena_alloc(arena, 10 + length + size, 1);
  memcpy(bytes, "\x93NUMPY\x01\x00", 8);
  bytes[8] = (char)(length & 255);
  bytes[9] = (char)(length >> 8);
  memcpy(bytes + 10, header, length);
  if (size) memcpy(bytes + 10 + length, data, size);
  return file_of(arena, "case.npy", bytes, 10 + length + size);
}

TG_TEST(npy, what_is_written_reads_back) {
  static const tg_dtype dtypes[] = {TG_F32, TG_F64, TG_F16, TG_I64, TG_I32, TG_I16,
                                    TG_I8,  TG_U64, TG_U32, TG_U16, TG_U8,  TG_BOOL};
  const int64_t dims[] = {2, 1, 3};
  unsigned char data[48];
  for (int i = 0; i < 48; i++) data[i] = (unsigned char)(i * 37 + 1);
  for (size_t t = 0; t < sizeof dtypes / sizeof *dtypes; t++)
    for (int rank = 0; rank <= 3; rank++) {
      tg_arena arena = {0};
      tg_diag diag = {""};
      const char *path = tg_arena_printf(&arena, "%s/back.npy", tg_test_dir());
      ASSERT(tg_npy_write(path, dtypes[t], rank, dims, data, &diag) == TG_OK);
      tg_npy array;
      ASSERT(tg_npy_read(&arena, path, &array, &diag) == TG_OK);
      EXPECT_EQ(array.dtype, dtypes[t]);
      EXPECT_EQ(array.rank, rank);
      EXPECT_EQ(array.count, rank == 0 ? 1 : rank < 3 ? 2 : 6);
      EXPECT(!memcmp(array.data, data, (size_t)array.count * tg_dtype_size(array.dtype)));
      tg_arena_release(&arena);
    }
}

TG_TEST(npy, fortran_order_becomes_row_major) {
  tg_arena arena = {0};
  tg_diag diag = {""};
  static const uint8_t columns[] = {0, 3, 1, 4, 2, 5}; /* [[0,1,2],[3,4,5]] */
  tg_npy array;
  const char *path =
      with_header(&arena, "{'descr': '|u1', 'fortran_order': True, 'shape': (2, 3), }\n", columns, 6);
  ASSERT(tg_npy_read(&arena, path, &array, &diag) == TG_OK);
  for (int i = 0; i < 6; i++) EXPECT_EQ(((uint8_t *)array.data)[i], i);
  tg_arena_release(&arena);
}

TG_TEST(npy, empty_arrays_and_later_versions) {
  tg_arena arena = {0};
  tg_diag diag = {""};
  tg_npy array;
  const char *path = with_header(
      &arena, "{'shape': (0, 9223372036854775807), 'fortran_order': False, 'descr': '<f4'}", "", 0);
  EXPECT_EQ(tg_npy_read(&arena, path, &array, &diag), TG_OK);
  EXPECT_EQ(array.count, 0);
  static const char header[] = "{'descr': '<f4', 'fortran_order': False, 'shape': (1,)}";
  char bytes[12 + sizeof header - 1 + 4] = "\x93NUMPY\x03\x00";
  bytes[8] = (char)(sizeof header - 1);
  memcpy(bytes + 12, header, sizeof header - 1);
  memcpy(bytes + 12 + sizeof header - 1, "\x00\x00\x80\x3f", 4);
  ASSERT(tg_npy_read(&arena, file_of(&arena, "v3.npy", bytes, sizeof bytes), &array, &diag) == TG_OK);
  EXPECT(*(float *)array.data == 1);
  tg_arena_release(&arena);
}

TG_TEST(npy, hostile_files_are_refused_with_one_line) {
  static const struct {
    const char *header, *says;
  } cases[] = {
      {"{'descr': '>f4', 'fortran_order': False, 'shape': (1,)}", "\">f4\""},
      {"{'descr': '|O', 'fortran_order': False, 'shape': (1,)}", "\"|O\""},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (2,)}", "does not fit"},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': ()} x", "malformed"},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (4611686018427387904, 4)}", "does not fit"},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (4611686018427387905,)}", "does not fit"},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999,)}", "malformed"},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (-1,)}", "malformed"},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (1,1,1,1,1,1,1,1,1)}", "malformed"},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (1,", "malformed"},
      {"{'descr': '<f4', 'fortran_order': Maybe, 'shape': (1,)}", "malformed"},
      {"{'descr': '<f4', 'shape': (1,)}", "malformed"},
      {"{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': (1,)}", "malformed"},
      {"{'descr': 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "malformed"},
      {"{'descr'", "malformed"},
      {"{", "malformed"},
      {"", "malformed"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    tg_arena arena = {0};
    tg_diag diag = {""};
    tg_npy array;
    const char *path = with_header(&arena, cases[i].header, "\0\0\0\0", 4);
    EXPECT_EQ(tg_npy_read(&arena, path, &array, &diag), TG_INVALID);
    EXPECT_HAS(diag.message, cases[i].says);
    EXPECT_HAS(diag.message, "case.npy");
    tg_arena_release(&arena);
  }
}

TG_TEST(npy, every_truncation_is_refused) {
  tg_arena arena = {0};
  char good[10 + 56 + 4] = "\x93NUMPY\x01\x00\x38\x00{'descr': '<f4', 'fortran_order': False, 'shape': (1,)}";
  good[65] = '\n';
  for (size_t size = 0; size <= sizeof good; size++) {
    tg_diag diag = {""};
    tg_npy array;
    tg_status status = tg_npy_read(&arena, file_of(&arena, "cut.npy", good, size), &array, &diag);
    EXPECT_EQ(status, size == sizeof good ? TG_OK : TG_INVALID);
  }
  tg_arena_release(&arena);
}

TG_TEST(npy, what_is_no_file_is_refused) {
  tg_arena arena = {0};
  tg_npy array;
  const char *paths[] = {"/no/such.npy", "/dev/zero", "."};
  for (int i = 0; i < 3; i++) {
    tg_diag diag = {""};
    EXPECT_EQ(tg_npy_read(&arena, paths[i], &array, &diag), TG_INVALID);
    EXPECT_HAS(diag.message, paths[i]);
  }
  tg_diag diag = {""};
  int64_t one = 1;
  EXPECT_EQ(tg_npy_write("/no/such/place.npy", TG_F32, 1, &one, "\0\0\0", &diag), TG_INVALID);
  EXPECT_HAS(diag.message, "/no/such/place.npy");
  tg_arena_release(&arena);
}
