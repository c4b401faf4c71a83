/* Command lines drawn over all options and what may be written behind them (draw_line.h): each ends by itself and in time, done or
 * refused with one line, and leaves what it read as it was, nothing unfinished, no process, and nothing outside of its folder. */
#include "tests/command.h"
#include "tests/failures/draw_line.h"
#include "tests/harness.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <inttypes.h>
#include <jansson.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* CTest knows the two forms by their names. */
#ifdef TEGULA_EVERY
#define SUITE "command_lines_long"
enum { LINES = 600 };
#else
#define SUITE "command_lines"
enum { LINES = 20 };
#endif

#if defined(__SANITIZE_ADDRESS__)
enum { LIMITED_MEMORY = 0 }; /* its shadow takes addresses by the terabyte */
#else
enum { LIMITED_MEMORY = 1 };
#endif

enum { SECONDS = 20, WALL_SECONDS = 300 };
static const rlim_t memory = (rlim_t)8 << 30, file_size = (rlim_t)64 << 20;

/* cage/ has only files/, in which the lines are run, and tmp/, which is the temporary folder of the host for them. */
static const char *file_of(tg_arena *arena, const char *name) {
  return tg_arena_printf(arena, "%s/cage/files/%s", tg_test_dir(), name);
}

typedef struct contents {
  char *bytes;
  size_t size;
} contents;

static contents slurp(tg_arena *arena, const char *path) {
  contents c = {NULL, 0};
  FILE *file = fopen(path, "rb");
  struct stat info;
  if (file && !fstat(fileno(file), &info) && S_ISREG(info.st_mode)) {
    c.bytes = tg_arena_alloc(arena, (size_t)info.st_size + 1, 1);
    c.size = fread(c.bytes, 1, (size_t)info.st_size, file);
    c.bytes[c.size] = 0;
  }
  if (file) fclose(file);
  return c;
}

enum { MOST_INPUTS = 32 };
static contents inputs[MOST_INPUTS];
static tg_arena lasting;

/* ---- the folder ---- */

static bool made; /* once for all tests of this process */

static void prepare(void) {
  static const char *const lines[] = {
      "zoo gemm --m 4 --k 5 --n 3 --constant-b -o cage/files/gemm.onnx -q",
      "zoo convmodel --size 8 --hidden 4 -o cage/files/conv.onnx -q",
      "zoo attention --seq 4 --hidden 8 --heads 2 -o cage/files/heads.onnx -q",
      "compile cage/files/gemm.onnx --arch tiny -o cage/files/gemm.tgb -q"};
  static const char others[] = "cd cage/files && head -c 150 gemm.onnx > damaged.onnx && : > empty && cp "
                               "gemm.onnx \"$(printf 'm\\377.onnx')\" && ln -s "
                               "loop loop && echo '{}' > task.json &&"
                               "printf 'suite: tiny\\nmodels:\\n  - {file: gemm.onnx, tags: "
                               "[small]}\\nflags:\\n  - mp0: {flags: \"\", "
                               "bounds: {max_abs: 1e-3}}\\n  - tiny: --arch tiny\\nbounds:\\n  "
                               "engines_equal: false\\n' > suite.yaml &&"
                               "printf 'rows: 2\\ncols: 2\\n' > array.yaml && printf 'op MatMul bf16\\n' > "
                               "rules.txt && echo MatMul > ops.txt &&"
                               "echo 1 2 3 > text.npy &&"
                               "header() { printf '\\223NUMPY\\001\\0v\\0'; printf '%-117s\\n' \"{'descr': "
                               "'<f4', 'fortran_order': False, 'shape': ($1), }\"; } &&"
                               "{ header '8, 5' && head -c 160 /dev/zero | tr '\\0' '>'; } > x.npy &&"
                               "{ header '8, 3' && head -c 96 /dev/zero | tr '\\0' '?'; } > y.npy";
  if (made) return;
  unsetenv("TEGULA_CODE_CACHE"); /* it is a folder outside of the cage */
  ASSERT(!shell("mkdir -p cage/files cage/tmp"));
  for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) ASSERT(!tegula("%s", lines[i])->status);
  ASSERT(!shell(others));
  for (int i = 0; line_inputs[i]; i++) {
    inputs[i] = slurp(&lasting, file_of(&lasting, line_inputs[i]));
    ASSERT(i < MOST_INPUTS && inputs[i].bytes);
  }
  made = true;
}

/* Of a walk through the cage; nftw knows no other way to tell. */
static char found[512];
static size_t kept; /* length of the path of the cage */

static bool is_kept(const char *path) {
  static const char *const folders[] = {"", "/files", "/tmp", "/files/out", "/files/folder", "/files/loop"};
  for (size_t i = 0; i < sizeof folders / sizeof *folders; i++)
    if (!strcmp(path, folders[i])) return true;
  for (int i = 0; !strncmp(path, "/files/", 7) && line_inputs[i]; i++)
    if (!strcmp(path + 7, line_inputs[i])) return true;
  return false;
}

static int remove_more(const char *path, const struct stat *info, int type, struct FTW *walk) {
  (void)info;
  const char *name = path + walk->base, *inside = path + kept;
  bool unfinished = !strncmp(name, ".tegula-", 8) || !strcmp(name, "checkpoint.part"),
       inner = !strncmp(inside, "/files/", 7);
  if (is_kept(inside)) return 0;
  if (unfinished || !inner) snprintf(found, sizeof found, "%s", inside);
  (void)(type == FTW_DP ? rmdir(path) : unlink(path));
  return 0;
}

/* Removes all that lines leave; NULL, or what should not be there. */
static const char *sweep_cage(tg_arena *arena) {
  const char *cage = tg_arena_printf(arena, "%s/cage", tg_test_dir());
  *found = 0;
  kept = strlen(cage);
  nftw(cage, remove_more, 16, FTW_DEPTH | FTW_PHYS);
  (void)mkdir(file_of(arena, "out"), 0700);
  (void)mkdir(file_of(arena, "folder"), 0700);
  return *found ? tg_arena_printf(arena, "it leaves %s", found) : NULL;
}

static const char *changed_input(tg_arena *arena) {
  for (int i = 0; line_inputs[i]; i++) {
    contents now = slurp(arena, file_of(arena, line_inputs[i]));
    if (now.bytes && now.size == inputs[i].size && !memcmp(now.bytes, inputs[i].bytes, now.size)) continue;
    FILE *file = fopen(file_of(arena, line_inputs[i]), "wb");
    if (file) fwrite(inputs[i].bytes, 1, inputs[i].size, file), fclose(file);
    return tg_arena_printf(arena, "%s is not as it was", line_inputs[i]);
  }
  return NULL;
}

/* ---- a run ---- */

static void set_limit(int of, rlim_t soft, rlim_t hard) {
  struct rlimit limit = {soft, hard};
  if (setrlimit(of, &limit)) _exit(126);
}

/* Without programs of the host: Graphviz and Slurm are not drawn at. */
static _Noreturn void become(const drawn_line *line) {
  const char *words[LINE_WORDS + 2] = {TEGULA_COMMAND};
  memcpy(words + 1, line->words, sizeof line->words);
  tg_arena arena = {0};
  const char *temporary = tg_arena_printf(&arena, "%s/cage/tmp", tg_test_dir());
  setenv("TMPDIR", temporary, 1);
  setenv("HOME", temporary, 1);
  setenv("PATH", "/nonexistent", 1);
  const char *out = tg_arena_printf(&arena, "%s/.out", tg_test_dir()),
             *err = tg_arena_printf(&arena, "%s/.err", tg_test_dir());
  if (chdir(file_of(&arena, "")) || setpgid(0, 0)) _exit(126);
  if (dup2(open(line->input, O_RDONLY), 0) < 0 ||
      dup2(open(out, O_WRONLY | O_CREAT | O_TRUNC, 0600), 1) < 0 ||
      dup2(open(err, O_WRONLY | O_CREAT | O_TRUNC, 0600), 2) < 0)
    _exit(126);
  for (int fd = 3; fd < 64; fd++) close(fd);
  if (LIMITED_MEMORY) set_limit(RLIMIT_AS, memory, memory);
  set_limit(RLIMIT_FSIZE, file_size, file_size);
  set_limit(RLIMIT_CORE, 0, 0);
  set_limit(RLIMIT_CPU, SECONDS, SECONDS + 1);
  alarm(WALL_SECONDS);
  execv(TEGULA_COMMAND, (char *const *)words);
  _exit(127);
}

typedef struct ended {
  int status; /* as waitpid has it */
  bool alone; /* no process of its is left */
  contents out, err;
  struct rusage used;
} ended;

static ended run(tg_arena *arena, const drawn_line *line) {
  ended e = {.status = -1};
  pid_t child = fork();
  if (!child) become(line);
  (void)setpgid(child, child);
  while (wait4(child, &e.status, 0, &e.used) < 0 && errno == EINTR) {
  }
  e.alone = kill(-child, SIGKILL) && errno == ESRCH;
  static char nothing[1];
  e.out = slurp(arena, tg_arena_printf(arena, "%s/.out", tg_test_dir()));
  e.err = slurp(arena, tg_arena_printf(arena, "%s/.err", tg_test_dir()));
  if (!e.out.bytes) e.out.bytes = nothing;
  if (!e.err.bytes) e.err.bytes = nothing;
  return e;
}

/* ---- what must hold ---- */

static bool has_word(const drawn_line *line, const char *word) {
  for (int i = 0; i < line->count; i++)
    if (!strcmp(line->words[i], word)) return true;
  return false;
}

/* "tegula: WHAT", behind warnings if any, or what --verbose says, and none of it a control character. */
static bool is_one_line(const contents *err, bool verbose) {
  const char *before = verbose ? "tegula: " : "tegula: warning: ", *line = err->bytes, *end;
  for (; (end = strchr(line, '\n')) && end[1] && !strncmp(line, before, strlen(before)); line = end + 1) {
  }
  for (const char *at = line; end && at < end; at++)
    if ((unsigned char)*at < ' ' || *at == 0x7f) return false;
  return end && !end[1] && strlen(err->bytes) == err->size && !strncmp(line, "tegula: ", 8) && end > line + 8;
}

/* Interface: 1, a comparison failed; 3, the machine faulted, as it does where --max-cycles ends it. */
static bool may_end_with(const drawn_line *line, int status) {
  static const char *const comparing[] = {"verify", "regress", "tune", "train"};
  bool compares = false, ended = false;
  for (size_t i = 0; i < sizeof comparing / sizeof *comparing; i++)
    compares |= !strcmp(line->words[0], comparing[i]);
  for (int i = 0; i < line->count; i++) ended |= !strncmp(line->words[i], "--max-cycles", 12);
  return !status || status == 2 || (status == 1 && compares) || (status == 3 && ended);
}

/* An answer that nothing else on standard output is mixed with. */
static const char *judge_json(tg_arena *arena, const drawn_line *line, const ended *e) {
  json_error_t error;
  for (int i = 0; i < line->count; i++)
    if (!strcmp(line->words[i], "-") || !strcmp(line->words[i], "/dev/stdout") ||
        strstr(line->words[i], "=-"))
      return NULL;
  if (!has_word(line, "--json") || has_word(line, "--help") || has_word(line, "-h") ||
      has_word(line, "--list"))
    return NULL;
  json_t *answer = json_loads(e->out.bytes, 0, &error);
  if (!answer) return tg_arena_printf(arena, "its JSON does not parse, line %d: %s", error.line, error.text);
  json_decref(answer);
  return NULL;
}

static const char *judge(tg_arena *arena, const drawn_line *line, const ended *e) {
  int status = WEXITSTATUS(e->status);
  if (WIFSIGNALED(e->status) && WTERMSIG(e->status) == SIGXCPU)
    return tg_arena_printf(arena, "it takes more than %d s", SECONDS);
  if (!WIFEXITED(e->status)) return tg_arena_printf(arena, "ended by signal %d", WTERMSIG(e->status));
  if (strstr(e->err.bytes, "Sanitizer") || strstr(e->err.bytes, "runtime error:"))
    return "a sanitizer reports";
  if (!may_end_with(line, status)) return tg_arena_printf(arena, "exit %d", status);
  if (status == 2 && !is_one_line(&e->err, has_word(line, "--verbose") || has_word(line, "-v")))
    return "exit 2, and not one line";
  if (!e->alone) return "a process is left";
  return status ? NULL : judge_json(arena, line, e);
}

/* As one may type it to bash. */
static const char *typed(tg_arena *arena, const drawn_line *line) {
  const char *text = "tegula";
  for (int i = 0; i < line->count; i++) {
    const char *word = line->words[i];
    size_t length = strlen(word);
    char *quoted = tg_arena_alloc(arena, 4 * (length < 128 ? length : 128) + 1, 1), *to = quoted;
    for (size_t k = 0; k < length && k < 128; k++) {
      unsigned char c = (unsigned char)word[k];
      to += c < ' ' || c >= 0x7f || c == '\'' || c == '\\' ? sprintf(to, "\\x%02x", c) : sprintf(to, "%c", c);
    }
    *to = 0;
    text = tg_arena_printf(arena, "%s $'%s'", text, quoted);
    if (length > 128) text = tg_arena_printf(arena, "%s..(%zu)", text, length);
  }
  return tg_arena_printf(arena, "%s <%s", text, line->input);
}

static uint64_t number_of(const char *variable, uint64_t otherwise) {
  const char *text = getenv(variable);
  return text ? strtoull(text, NULL, 0) : otherwise;
}

static void campaign(const void *row) {
  tg_command_id command = *(const tg_command_id *)row;
  uint64_t seed = number_of("TEGULA_RANDOM_SEED", 20261128), first = number_of("TEGULA_LINE", 0);
  int lines = (int)number_of("TEGULA_DRAWS", getenv("TEGULA_LINE") ? 1 : LINES), refused = 0, done = 0,
      other = 0;
  double most = 0;
  prepare();
  ASSERT(made);
  (void)sweep_cage(&lasting);
  for (int i = (int)first; i < (int)first + lines; i++) {
    tg_arena arena = {0};
    drawn_line line;
    draw_line(&arena, seed, command, i, &line);
    ended e = run(&arena, &line);
    double seconds = (double)e.used.ru_utime.tv_sec + (double)e.used.ru_stime.tv_sec +
                     (double)(e.used.ru_utime.tv_usec + e.used.ru_stime.tv_usec) * 1e-6;
    const char *wrong = judge(&arena, &line, &e), *left = sweep_cage(&arena),
               *changed = changed_input(&arena);
    if (!wrong) wrong = left ? left : changed;
    if (seconds > most) most = seconds;
    refused += WIFEXITED(e.status) && WEXITSTATUS(e.status) == 2;
    done += WIFEXITED(e.status) && WEXITSTATUS(e.status) == 0;
    other += WIFEXITED(e.status) && WEXITSTATUS(e.status) % 2 == 1;
    if (wrong || getenv("TEGULA_PRINT"))
      printf("%s: line %d: exit %x, %.2f s\n  %s\n  %.300s\n", tg_command_get(command)->name, i,
             (unsigned)e.status, seconds, typed(&arena, &line), e.err.bytes);
    if (wrong)
      tg_test_fail(__FILE__, __LINE__, "TEGULA_RANDOM_SEED=%" PRIu64 " TEGULA_LINE=%d, %s: %s\n%s\n%.600s",
                   seed, i, tg_command_get(command)->name, wrong, typed(&arena, &line), e.err.bytes);
    tg_arena_release(&arena);
  }
  printf("%s: %d command lines, %d refused, %d done, %d with another status; at most %.2f s; seed %" PRIu64
         "\n",
         tg_command_get(command)->name, lines, refused, done, other, most, seed);
}

__attribute__((constructor)) static void register_all(void) {
  static tg_command_id commands[TG_COMMAND_COUNT];
  for (int i = 0; i < TG_COMMAND_COUNT; i++) {
    commands[i] = (tg_command_id)i;
    tg_test_register_row(SUITE, tg_command_get(commands[i])->name, __FILE__, __LINE__, campaign,
                         &commands[i]);
  }
}
