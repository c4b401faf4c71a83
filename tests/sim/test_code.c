/* Machine code of kernels: shared where texts are equal, kept in a folder, and compiled anew where what the folder holds is not what it was. */
#include "sim/functional/code.h"
#include "tests/harness.h"

#include <dirent.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

typedef int64_t adder(int64_t x);

/* A kernel that adds `n`. */
static tg_text text_of(long n) {
  tg_text text = {0};
  tg_text_add(&text, "define i64 @" TG_KERNEL "(i64 %%x) {\n  %%y = add i64 %%x, %ld\n  ret i64 %%y\n}\n", n);
  return text;
}

static tg_code *code_of(long n) {
  tg_diag diag = {""};
  tg_text text = text_of(n);
  tg_code *code;
  if (tg_code_of(&text, &code, &diag)) tg_test_fail(__FILE__, __LINE__, "%s", diag.message);
  free(text.text);
  return code;
}

static int64_t call(const tg_code *code, int64_t x) {
  adder *function;
  void *address = tg_code_address(code);
  memcpy(&function, &address, sizeof function);
  return function(x);
}

TG_TEST(code, equal_texts_share_it) {
  tg_code *a = code_of(3), *b = code_of(3), *c = code_of(4);
  ASSERT(a && b && c);
  EXPECT(a == b);
  EXPECT(a != c);
  EXPECT(call(a, 10) == 13);
  EXPECT(call(c, 10) == 14);
  tg_code_release(a);
  EXPECT(call(b, 20) == 23);
  tg_code_release(b);
  tg_code *again = code_of(3); /* nobody held it, but it was kept */
  EXPECT(again == b);
  EXPECT(call(again, 1) == 4);
  tg_code_release(again);
  tg_code_release(c);
}

TG_TEST(code, a_text_that_is_none_is_refused) {
  tg_diag diag = {""};
  tg_text text = {0};
  tg_text_add(&text, "define nonsense\n");
  tg_code *code;
  EXPECT(tg_code_of(&text, &code, &diag) == TG_FAULT);
  EXPECT(code == NULL);
  EXPECT(strncmp(diag.message, "LLVM: ", 6) == 0);
  free(text.text);
}

static void *ask(void *unused) {
  (void)unused;
  long wrong = 0;
  for (long n = 0; n < 40; n++) {
    tg_code *code = code_of(n % 20);
    wrong += !code || call(code, 7) != 7 + n % 20;
    tg_code_release(code);
  }
  return (void *)wrong;
}

TG_TEST(code, threads_ask_at_once) {
  pthread_t threads[4];
  for (int i = 0; i < 4; i++) ASSERT(pthread_create(&threads[i], NULL, ask, NULL) == 0);
  for (int i = 0; i < 4; i++) {
    void *wrong;
    pthread_join(threads[i], &wrong);
    EXPECT(wrong == NULL);
  }
}

/* ---- the folder ---- */

/* The one file in the folder, NULL if there are none or more; its path is for the caller to free. */
static char *only_file(const char *folder) {
  DIR *listing = opendir(folder);
  char *path = NULL;
  int count = 0;
  for (struct dirent *entry; (entry = readdir(listing));)
    if (entry->d_name[0] != '.') {
      count++;
      free(path);
      if (asprintf(&path, "%s/%s", folder, entry->d_name) < 0) path = NULL;
    }
  closedir(listing);
  if (count == 1) return path;
  free(path);
  return NULL;
}

/* A folder of the test's own, which kernels are kept in from now on. */
static const char *open_folder(const char *name) {
  static char path[4096];
  snprintf(path, sizeof path, "%s/%s", tg_test_dir(), name);
  if (mkdir(path, 0700) || setenv("TEGULA_CODE_CACHE", path, 1))
    tg_test_fail(__FILE__, __LINE__, "no folder");
  return path;
}

/* What a second process makes of the folder: the answer of a kernel that adds 500 to -494. */
static int64_t second_process(void) {
  int ends[2];
  int64_t answer = -1;
  if (pipe(ends)) return answer;
  pid_t child = fork();
  if (!child) {
    answer = call(code_of(500), -494);
    _exit(write(ends[1], &answer, sizeof answer) != sizeof answer);
  }
  close(ends[1]);
  if (read(ends[0], &answer, sizeof answer) != sizeof answer) answer = -1;
  close(ends[0]);
  return answer;
}

static long inode_of(const char *path) {
  struct stat info;
  return stat(path, &info) ? -1 : (long)info.st_ino;
}

TG_TEST(code, a_folder_keeps_it_for_other_processes) {
  const char *folder = open_folder("kept");
  EXPECT(second_process() == 6);
  char *path = only_file(folder);
  ASSERT(path != NULL);
  long file = inode_of(path);
  EXPECT(second_process() == 6);
  EXPECT(inode_of(path) == file); /* read, not written again */
  free(path);
}

TG_TEST(code, a_damaged_file_is_compiled_anew) {
  const char *folder = open_folder("damaged");
  EXPECT(second_process() == 6);
  char *path = only_file(folder);
  ASSERT(path != NULL);
  struct stat info;
  ASSERT(stat(path, &info) == 0);
  int wrong = 0, kept = 0;
  for (long at = 0; at < info.st_size; at += 53) { /* a byte at a time */
    FILE *file = fopen(path, "r+b");
    ASSERT(file != NULL);
    fseek(file, at, SEEK_SET);
    int byte = fgetc(file);
    fseek(file, at, SEEK_SET);
    fputc(byte ^ 0x10, file);
    fclose(file);
    long before = inode_of(path);
    wrong += second_process() != 6;
    kept += inode_of(path) == before; /* it should have been replaced */
  }
  EXPECT(wrong == 0);
  EXPECT(kept == 0);
  ASSERT(truncate(path, info.st_size / 2) == 0);
  EXPECT(second_process() == 6);
  EXPECT(stat(path, &info) == 0 && info.st_size > 0);
  free(path);
}

/* More text than is kept for nobody: the oldest is compiled again when it is asked for, which a file in the folder shows. */
TG_TEST(code, what_nobody_holds_is_bounded) {
  enum { BYTES = 9 << 20, KERNELS = 10 };
  setenv("TEGULA_CODE_CACHE", "", 1);
  const char *folder = NULL;
  for (long i = 0; i < KERNELS + 2; i++) {
    if (i == KERNELS) folder = open_folder("asked");
    long n = i < KERNELS ? i : i == KERNELS ? KERNELS - 1 : 0;
    tg_diag diag = {""};
    tg_text text = text_of(n);
    tg_text_add(&text, "; %*s\n", BYTES, "a comment");
    tg_code *code;
    ASSERT(tg_code_of(&text, &code, &diag) == TG_OK);
    EXPECT_EQ(call(code, 100), 100 + n);
    tg_code_release(code);
    free(text.text);
    char *file = folder ? only_file(folder) : NULL;
    EXPECT((file != NULL) == (i == KERNELS + 1)); /* the newest was kept, the oldest was not */
    free(file);
  }
}

TG_TEST(code, a_folder_that_is_not_there_costs_nothing) {
  setenv("TEGULA_CODE_CACHE", "/nowhere/at/all", 1);
  tg_code *code = code_of(5);
  EXPECT(call(code, 1) == 6);
  tg_code_release(code);
}
