/* Files of users: what is written appears whole, where it is meant to; what is read never blocks. */
#include "frontend/base/arena.h"
#include "frontend/base/input_file.h"
#include "frontend/base/output_file.h"
#include "frontend/base/pattern.h"
#include "frontend/base/text_stream.h"
#include "tests/harness.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *here(tg_arena *arena, const char *name) {
  return tg_arena_printf(arena, "%s/%s", tg_test_dir(), name);
}

static tg_status write_text(const char *path, const char *text, tg_diag *diag) {
  tg_output_file file;
  if (tg_output_open(path, &file, diag)) return TG_INVALID;
  fputs(text, file.stream);
  return tg_output_commit(&file, diag);
}

static const char *read_back(tg_arena *arena, const char *path) {
  FILE *file = fopen(path, "r");
  char *text = tg_arena_alloc(arena, 64, 1);
  if (file && fread(text, 1, 63, file) == 0) *text = 0;
  if (file) fclose(file);
  return text;
}

/* Files that were begun and not renamed. */
static int leftovers(void) {
  DIR *folder = opendir(tg_test_dir());
  int count = 0;
  for (struct dirent *entry; folder && (entry = readdir(folder));)
    count += !strncmp(entry->d_name, ".tegula-", 8);
  if (folder) closedir(folder);
  return count;
}

TG_TEST(output_file, links_stay_and_what_they_lead_to_is_written) {
  tg_arena arena = {0};
  tg_diag diag = {""};
  struct stat info;
  const char *target = here(&arena, "target"), *link = here(&arena, "link"), *loose = here(&arena, "loose");
  EXPECT_EQ(write_text(target, "old", &diag), TG_OK);
  EXPECT(!symlink("target", link) && !symlink("fresh", loose));
  EXPECT_EQ(write_text(link, "new", &diag), TG_OK);
  EXPECT_EQ(write_text(loose, "born", &diag), TG_OK);
  EXPECT(!lstat(link, &info) && S_ISLNK(info.st_mode) && !lstat(loose, &info) && S_ISLNK(info.st_mode));
  EXPECT_STR(read_back(&arena, target), "new");
  EXPECT_STR(read_back(&arena, here(&arena, "fresh")), "born");
  EXPECT(!symlink("round", here(&arena, "round")));
  EXPECT_EQ(write_text(here(&arena, "round"), "x", &diag), TG_INVALID);
  EXPECT(strstr(diag.message, "round: cannot be written"));
  EXPECT_EQ(leftovers(), 0);
  tg_arena_release(&arena);
}

TG_TEST(output_file, a_file_keeps_its_mode_and_names_may_be_long) {
  tg_arena arena = {0};
  tg_diag diag = {""};
  struct stat info;
  char name[256] = "";
  memset(name, 'n', 255);
  const char *path = here(&arena, name);
  EXPECT_EQ(write_text(path, "one", &diag), TG_OK);
  EXPECT_STR(diag.message, "");
  EXPECT(!chmod(path, 0640));
  EXPECT_EQ(write_text(path, "two", &diag), TG_OK);
  EXPECT(!stat(path, &info));
  EXPECT_EQ(info.st_mode & 07777, 0640);
  EXPECT_STR(read_back(&arena, path), "two");
  tg_arena_release(&arena);
}

TG_TEST(output_file, own_descriptors_are_written_as_they_are) {
  tg_arena arena = {0};
  tg_diag diag = {""};
  const char *path = here(&arena, "open");
  int descriptor = open(path, O_RDWR | O_CREAT | O_APPEND, 0600);
  ASSERT(descriptor >= 0 && write(descriptor, "a", 1) == 1);
  EXPECT_EQ(write_text(tg_arena_printf(&arena, "/dev/fd/%d", descriptor), "b", &diag), TG_OK);
  EXPECT(write(descriptor, "c", 1) == 1);
  close(descriptor);
  EXPECT_STR(read_back(&arena, path), "abc");
  tg_arena_release(&arena);
}

TG_TEST(output_file, what_is_unfinished_can_be_removed_at_any_time) {
  tg_diag diag = {""};
  tg_arena arena = {0};
  tg_output_file file;
  ASSERT(!tg_output_open(here(&arena, "half"), &file, &diag));
  EXPECT_EQ(leftovers(), 1);
  tg_output_remove_unfinished();
  EXPECT_EQ(leftovers(), 0);
  tg_output_abandon(&file);
  EXPECT(access(here(&arena, "half"), F_OK));
  tg_arena_release(&arena);
}

TG_TEST(input_file, what_may_block_is_refused_at_once) {
  tg_arena arena = {0};
  tg_diag diag = {""};
  FILE *file;
  const char *fifo = here(&arena, "fifo");
  ASSERT(!mkfifo(fifo, 0600));
  EXPECT_EQ(tg_input_open(fifo, &file, NULL, &diag), TG_INVALID);
  EXPECT(strstr(diag.message, "fifo: cannot be read: it is no regular file"));
  EXPECT_EQ(tg_input_open(tg_test_dir(), &file, NULL, NULL), TG_INVALID);
  uint64_t size = 1;
  EXPECT_EQ(tg_input_open("/dev/null", &file, &size, NULL), TG_OK);
  EXPECT_EQ(size, 0);
  fclose(file);
  tg_arena_release(&arena);
}

TG_TEST(pattern, what_the_compiler_does_not_stand_is_refused) {
  static char deep[40001];
  memset(deep, '(', 20000);
  memset(deep + 20000, ')', 20000);
  const char *const bad[] = {deep,
                             "(a{1,200}){1,200}",
                             "a{9999}",
                             "(((",
                             "a+++++++++++++++++++++++++",
                             "((([(]a)+)+)[^])]{5000}",
                             "^(((((a*)+)+)+)+)+",
                             "a^(b*+++++)"};
  regex_t regex;
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    tg_diag diag = {""};
    EXPECT_EQ(tg_pattern_compile("--trained", bad[i], &regex, &diag), TG_INVALID);
    EXPECT(!strncmp(diag.message, "--trained \"", 11));
  }
  EXPECT_EQ(tg_pattern_compile("--trained", "^(conv|fc)[0-9]{1,3}\\.(weight|bias)$", &regex, NULL), TG_OK);
  EXPECT(!regexec(&regex, "fc12.bias", 0, NULL, 0));
  regfree(&regex);
  EXPECT_EQ(tg_pattern_compile("--trained", "[])(]+x+(y+)*z+[[:digit:]]+(layer){500}", &regex, NULL), TG_OK);
  regfree(&regex);
  EXPECT_EQ(tg_pattern_compile("--trained", "^(([a-z]+_)*[0-9]+\\.)+bias$", &regex, NULL), TG_OK);
  regfree(&regex);
}

TG_TEST(text_stream, nothing_is_lost) {
  tg_arena arena = {0};
  tg_text_stream text;
  FILE *out = tg_text_begin(&text);
  for (int i = 0; i < 100000; i++) fprintf(out, "%d\n", i);
  tg_text_flush(&text);
  EXPECT_EQ(text.size, 588890);
  fputs("end", out);
  const char *all = tg_text_end_on(&text, &arena);
  EXPECT_EQ(strlen(all), 588893);
  EXPECT_STR(all + 588884, "99999\nend");
  tg_text_begin(&text);
  EXPECT_STR(tg_text_end_on(&text, &arena), "");
  tg_arena_release(&arena);
}
