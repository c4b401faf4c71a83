/* Machine code of kernels: shared where texts are equal, kept in a folder, and compiled anew where what the folder holds is not what it was. */
#include "sim/functional/code.h"
#include "sim/functional/code_limit.h"
#include "sim/functional/code_store.h"
#include "tests/harness.h"

#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
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

/* What a second process makes of the folder: the answer of a kernel that adds `n` to -494. */
static int64_t process_with(long n) {
  int ends[2];
  int64_t answer = -1;
  if (pipe(ends)) return answer;
  pid_t child = fork();
  if (!child) {
    answer = call(code_of(n), -494);
    _exit(write(ends[1], &answer, sizeof answer) != sizeof answer);
  }
  close(ends[1]);
  if (read(ends[0], &answer, sizeof answer) != sizeof answer) answer = -1;
  close(ends[0]);
  waitpid(child, NULL, 0);
  return answer;
}
static int64_t second_process(void) { return process_with(500); }

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

/* Bytes of the files of kernels in the folder, and of how many. */
static long bytes_in(const char *folder, int *out_count) {
  DIR *listing = opendir(folder);
  long bytes = 0;
  *out_count = 0;
  for (struct dirent *entry; (entry = readdir(listing));) {
    struct stat info;
    unsigned long long on, of;
    if (sscanf(entry->d_name, TG_CODE_FILE, &on, &of) != 2 || strlen(entry->d_name) != 35 ||
        fstatat(dirfd(listing), entry->d_name, &info, 0))
      continue;
    bytes += (long)info.st_size;
    ++*out_count;
  }
  closedir(listing);
  return bytes;
}

/* Sets the folder's size to that of so many files like its only one, whose path it returns. */
static char *limit_to(const char *folder, int files) {
  char *first = only_file(folder), size[32] = "";
  struct stat info;
  if (!first || stat(first, &info))
    tg_test_fail(__FILE__, __LINE__, "there is no file");
  else
    snprintf(size, sizeof size, "%ld", files * (long)info.st_size + 64);
  setenv("TEGULA_CODE_CACHE_SIZE", size, 1);
  return first;
}

TG_TEST(code, a_full_folder_loses_what_was_used_longest_ago) {
  const char *folder = open_folder("bounded");
  int count;
  ASSERT(process_with(500) == 6);
  char *first = limit_to(folder, 5);
  long file = inode_of(first), most = atol(getenv("TEGULA_CODE_CACHE_SIZE"));
  for (long n = 600; n < 620; n++) {
    EXPECT(process_with(n) == n - 494);
    EXPECT(bytes_in(folder, &count) <= most);
    EXPECT(process_with(500) == 6);
    EXPECT(inode_of(first) == file); /* used again and again, it stays */
  }
  EXPECT(count >= 3);
  EXPECT(process_with(600) == 600 - 494); /* gone, and made again */
  unsetenv("TEGULA_CODE_CACHE_SIZE");
  free(first);
}

/* Files of others stay, and what is being written; what a killed process left does not. */
TG_TEST(code, a_folder_is_bounded_by_its_own_files) {
  const char *folder = open_folder("foreign");
  ASSERT(process_with(500) == 6);
  char *first = limit_to(folder, 1), path[3][4200];
  snprintf(path[0], sizeof path[0], "%s/notes-of-somebody-that-are-no-code.o", folder);
  snprintf(path[1], sizeof path[1], "%s.aAbBcC", first);
  snprintf(path[2], sizeof path[2], "%s.cCbBaA", first);
  for (int i = 0; i < 3; i++) {
    FILE *out = fopen(path[i], "w");
    ASSERT(out != NULL);
    for (int line = 0; line < 4000; line++) fputs("more than all that may be kept\n", out);
    fclose(out);
  }
  struct timespec long_ago[2] = {{.tv_sec = time(NULL) - 7200}, {.tv_sec = time(NULL) - 7200}};
  ASSERT(!utimensat(AT_FDCWD, path[0], long_ago, 0) && !utimensat(AT_FDCWD, path[2], long_ago, 0));
  EXPECT(process_with(601) == 601 - 494);
  EXPECT(access(path[0], F_OK) == 0 && access(path[1], F_OK) == 0 && access(path[2], F_OK) != 0);
  EXPECT(access(first, F_OK) != 0);
  unsetenv("TEGULA_CODE_CACHE_SIZE");
  free(first);
}

TG_TEST(code, processes_side_by_side_bound_a_folder_together) {
  const char *folder = open_folder("crowd");
  enum { PROCESSES = 4, EACH = 12 };
  pid_t children[PROCESSES];
  int count;
  ASSERT(process_with(500) == 6);
  free(limit_to(folder, 6));
  long most = atol(getenv("TEGULA_CODE_CACHE_SIZE"));
  for (int p = 0; p < PROCESSES; p++)
    if (!(children[p] = fork())) {
      int wrong = 0;
      for (long n = 0; n < EACH; n++) wrong += call(code_of(700 + p * EACH + n), 1) != 701 + p * EACH + n;
      _exit(wrong);
    }
  for (int p = 0; p < PROCESSES; p++) {
    int status;
    ASSERT(waitpid(children[p], &status, 0) == children[p]);
    EXPECT_EQ(status, 0);
  }
  EXPECT(process_with(601) == 601 - 494); /* looks after what they left */
  EXPECT(bytes_in(folder, &count) <= most);
  EXPECT(count > 0);
  unsetenv("TEGULA_CODE_CACHE_SIZE");
}

TG_TEST(code, sizes_of_the_folder_are_read_or_refused) {
  static const struct {
    const char *text;
    uint64_t bytes;
  } sizes[] = {{"", UINT64_C(1) << 30},
               {"0", UINT64_MAX},
               {"1", 1},
               {"3K", 3072},
               {"7M", 7 << 20},
               {"2G", UINT64_C(2) << 30},
               {"x", 0},
               {"-1", 0},
               {"4T", 0},
               {"1 G", 0},
               {"1GB", 0},
               {"99999999999999999999", 0},
               {"18446744073709551615G", 0}};
  open_folder("sizes");
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
    tg_diag diag = {""};
    uint64_t bytes;
    setenv("TEGULA_CODE_CACHE_SIZE", sizes[i].text, 1);
    EXPECT_EQ(tg_code_store_check(&diag), sizes[i].bytes ? TG_OK : TG_INVALID);
    EXPECT(!diag.message[0] == (sizes[i].bytes != 0));
    (void)tg_code_limit(&bytes, &diag);
    EXPECT(bytes == sizes[i].bytes);
  }
  setenv("TEGULA_CODE_CACHE", "", 1);
  tg_diag diag = {""};
  EXPECT_EQ(tg_code_store_check(&diag), TG_OK); /* of no folder */
  unsetenv("TEGULA_CODE_CACHE_SIZE");
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
