#include "tests/failures/campaign.h"

#include "tests/command.h"
#include "tests/harness.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#define TRAIN                                                                                                \
  "train gemm.onnx --arch tiny --data x.npy --labels y.npy --loss mse --batch 4 --steps 2 --threads 1 "
const campaign_command campaign_commands[] = {
    {"compile", "compile gemm.onnx --arch tiny -q -o out/a.tgb", true, 40},
    {"inspect", "inspect gemm.onnx --arch tiny --json", false, 24},
    {"run",
     "run gemm.tgb --json --random-inputs 1 --threads 1 --report out/r.html --trace out/t.json --output-dir "
     "out",
     true, 24},
    {"train", TRAIN "--json --report out/r.html --csv out/c.csv -o out/step.tgb", true, 12},
    {"checkpoint", TRAIN "-q --checkpoint out --checkpoint-every 100", true, 12},
    {"verify", "verify gemm.tgb --engines functional,systemc --threads 1", false, 16},
    {"sweep", "sweep gemm.onnx --arch tiny --policy mp0 --policy mp1 --json --csv out/s.csv", true, 12},
    {"regress", "regress suite.yaml --json --junit out/j.xml --markdown out/m.md", true, 10},
};
const int campaign_command_count = sizeof campaign_commands / sizeof *campaign_commands;

static void write_array(const char *name, int rows, int cols) {
  char path[512], header[128];
  snprintf(path, sizeof path, "%s/%s", tg_test_dir(), name);
  FILE *file = fopen(path, "wb");
  if (!file) return;
  memset(header, ' ', sizeof header);
  memcpy(header, "\x93NUMPY\x01\0\x76\0", 10);
  char text[100];
  int n = snprintf(text, sizeof text, "{'descr': '<f4', 'fortran_order': False, 'shape': (%d, %d), }", rows,
                   cols);
  memcpy(header + 10, text, (size_t)n);
  header[127] = '\n';
  fwrite(header, 1, sizeof header, file);
  for (int i = 0; i < rows * cols; i++) {
    float value = (float)(i % 7) / 8;
    fwrite(&value, sizeof value, 1, file);
  }
  fclose(file);
}

void campaign_prepare(void) {
  static bool made;
  if (made) return;
  made = true;
  unsetenv("TEGULA_CODE_CACHE"); /* what a process allocates and writes must not depend on what ran before */
  write_array("x.npy", 8, 5);
  write_array("y.npy", 8, 3);
  EXPECT_EQ(tegula("zoo gemm --m 4 --k 5 --n 3 --constant-b -o gemm.onnx -q")->status, 0);
  EXPECT_EQ(tegula("compile gemm.onnx --arch tiny -o gemm.tgb -q")->status, 0);
  EXPECT_EQ(shell("printf 'suite: tiny\\nmodels:\\n  - {zoo: gemm, sizes: {m: 7, n: 9, k: 15}}\\nflags:\\n"
                  "  - mp0: {flags: \"\", bounds: {max_abs: 1e-3}}\\n  - tiny: --arch tiny\\nbounds:\\n"
                  "  engines_equal: false\\n' > suite.yaml"),
            0);
}

void campaign_clean(const campaign_result *unfailed, bool old) {
  shell("rm -rf out .tegula-* .out .err && mkdir out");
  for (const char *at = unfailed ? unfailed->files : NULL; old && at && *at;) {
    char name[256], path[1024];
    int n = 0;
    unsigned long size = 0;
    if (sscanf(at, "%255[^ ] %lu\n%n", name, &size, &n) != 2 || !n) break;
    snprintf(path, sizeof path, "%s/out/%s", tg_test_dir(), name);
    FILE *file = fopen(path, "w");
    if (file) {
      fputs("old", file);
      fclose(file);
    }
    at += (unsigned long)n + size + 1;
  }
}

pid_t campaign_start(const char *arguments, void (*before)(void)) {
  enum { MOST_WORDS = 64 };
  char line[1024], *words[MOST_WORDS + 1] = {TEGULA_COMMAND}, *rest = NULL;
  pid_t child = fork();
  if (child) return child;
  snprintf(line, sizeof line, "%s", arguments);
  int count = 1;
  for (char *word = strtok_r(line, " ", &rest); word && count < MOST_WORDS; word = strtok_r(NULL, " ", &rest))
    words[count++] = word;
  if (chdir(tg_test_dir())) _exit(126);
  int null = open("/dev/null", O_RDONLY), out = open(".out", O_WRONLY | O_CREAT | O_TRUNC, 0600),
      err = open(".err", O_WRONLY | O_CREAT | O_TRUNC, 0600);
  if (dup2(null, 0) < 0 || dup2(out, 1) < 0 || dup2(err, 2) < 0) _exit(126);
  if (before) before();
  execv(TEGULA_COMMAND, words);
  _exit(127);
}

/* Times and rates, which no two runs share: digits behind "second" up to the end of the value. */
static size_t mask(char *text, size_t size) {
  size_t to = 0;
  for (size_t i = 0; i < size;) {
    bool key = size - i > 6 && !memcmp(text + i, "second", 6);
    if (!key) {
      text[to++] = text[i++];
      continue;
    }
    for (; i < size && text[i] != '\n' && text[i] != ','; i++)
      if (!isdigit((unsigned char)text[i]) && !strchr(".e+-", text[i])) text[to++] = text[i];
  }
  text[to] = 0;
  return to;
}

static char *slurp(tg_arena *arena, const char *path, size_t *out_size) {
  FILE *file = fopen(path, "rb");
  long size = 0;
  if (file && !fseek(file, 0, SEEK_END)) size = ftell(file);
  char *text = tg_arena_alloc(arena, (size_t)size + 1, 1);
  if (file) {
    rewind(file);
    size = (long)fread(text, 1, (size_t)size, file);
    fclose(file);
  }
  *out_size = mask(text, (size_t)size);
  return text;
}

static bool is_temporary(const char *name) { return !strncmp(name, ".tegula-", 8) || strstr(name, ".part"); }

static int visible(const struct dirent *entry) {
  return strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
}

/* "NAME SIZE\nBYTES\n" of each file, in order of names; without NUL bytes, which stand as 1. */
static const char *all_files(tg_arena *arena, int *out_temporaries) {
  struct dirent **entries;
  const char *folder = tg_arena_printf(arena, "%s/out", tg_test_dir());
  int count = scandir(folder, &entries, visible, alphasort);
  char *all = tg_arena_strdup(arena, "");
  for (int i = 0; i < count; i++) {
    size_t size;
    char *text = slurp(arena, tg_arena_printf(arena, "%s/%s", folder, entries[i]->d_name), &size);
    for (size_t b = 0; b < size; b++)
      if (!text[b]) text[b] = 1;
    if (is_temporary(entries[i]->d_name))
      ++*out_temporaries;
    else
      all = tg_arena_printf(arena, "%s%s %zu\n%s\n", all, entries[i]->d_name, size, text);
    free(entries[i]);
  }
  if (count >= 0) free(entries);
  return all;
}

void campaign_read(tg_arena *arena, int status, campaign_result *out) {
  size_t size;
  *out = (campaign_result){.status = status};
  out->out = slurp(arena, tg_arena_printf(arena, "%s/.out", tg_test_dir()), &size);
  out->err = slurp(arena, tg_arena_printf(arena, "%s/.err", tg_test_dir()), &size);
  out->files = all_files(arena, &out->temporaries);
  out->temporaries += shell("ls .tegula-* >/dev/null 2>&1") == 0;
}

/* The record of a file in what all_files says, with its length; NULL: it is not there. */
static const char *find_file(const char *files, const char *name, unsigned long *out_length) {
  for (const char *at = files; *at;) {
    char found[256];
    int n = 0;
    unsigned long size = 0;
    if (sscanf(at, "%255[^ ] %lu%n", found, &size, &n) != 2) return NULL;
    *out_length = (unsigned long)n + 1 + size + 1;
    if (!strcmp(found, name)) return at;
    at += *out_length;
  }
  return NULL;
}

const char *campaign_torn(tg_arena *arena, const campaign_result *unfailed) {
  int temporaries = 0;
  const char *files = all_files(arena, &temporaries);
  for (const char *at = files; *at;) {
    char name[256];
    unsigned long length = 0, whole = 0;
    if (sscanf(at, "%255[^ ]", name) != 1) return "?";
    const char *record = find_file(at, name, &length), *good = find_file(unfailed->files, name, &whole);
    const char *old = tg_arena_printf(arena, "%s 3\nold\n", name);
    bool is_old = length == strlen(old) && !memcmp(record, old, length);
    if (!is_old && (!good || whole != length || memcmp(record, good, length) != 0))
      return tg_arena_strdup(arena, name);
    at += length;
  }
  return NULL;
}

/* A sweep goes on where a run finds no memory, which is a row. */
static bool has_refused_row(const char *out) {
  const char *refused = strstr(out, "\"refused\": \"");
  return refused && strstr(refused, "memory");
}

/* What is said behind a line of libgomp, whose threads are oneDNN's: it says that it has no memory, behind an empty line, and
 * ends the process. Nobody can keep it from that. */
static const char *behind_libgomp(const char *err) {
  static const char own[] = "\nlibgomp: Out of memory";
  const char *end = strncmp(err, own, sizeof own - 1) ? NULL : strchr(err + 1, '\n');
  return end ? end + 1 : err;
}

const char *campaign_judge(tg_arena *arena, const campaign_result *unfailed, const campaign_result *got) {
  if (got->temporaries) return "an unfinished file is left";
  if (!WIFEXITED(got->status)) return tg_arena_printf(arena, "ended by signal %d", WTERMSIG(got->status));
  const char *said = behind_libgomp(got->err), *line = strchr(said, '\n');
  bool one_line = line ? line > said && !line[1] : said > got->err && !*said;
  if (WEXITSTATUS(got->status) == 0 && has_refused_row(got->out)) return NULL;
  if (WEXITSTATUS(got->status) == 0) {
    if (strcmp(got->out, unfailed->out) != 0) return "exit 0, but it prints something else";
    return strcmp(got->files, unfailed->files) != 0 ? "exit 0, but its files differ" : NULL;
  }
  if (WEXITSTATUS(got->status) != 2 || !one_line)
    return tg_arena_printf(arena, "exit %d, and not one line: %s", WEXITSTATUS(got->status), got->err);
  const char *torn = campaign_torn(arena, unfailed);
  return torn ? tg_arena_printf(arena, "exit 2, and %s is torn", torn) : NULL;
}
