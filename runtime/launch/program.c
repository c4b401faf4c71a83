#include "runtime/launch/program.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MOST_OUTPUT = 1 << 26 };

/* All of a temporary file; NULL: it is too long to be meant. */
static char *read_back(tg_arena *arena, FILE *file) {
  fseek(file, 0, SEEK_END);
  long size = ftell(file);
  if (size < 0 || size > MOST_OUTPUT) return NULL;
  rewind(file);
  char *text = TG_NEW_ARRAY(arena, char, (size_t)size + 1);
  text[fread(text, 1, (size_t)size, file)] = 0;
  return text;
}

/* The last line of what is written there; it is cut. */
static const char *last_line(char *text) {
  size_t length = strlen(text);
  while (length && text[length - 1] == '\n') text[--length] = 0;
  const char *newline = strrchr(text, '\n');
  return newline ? newline + 1 : text;
}

/* Returns an errno; *out_status as waitpid has it. Signals that we block are not blocked there. */
static int spawn(char *const *argv, int out, int err, int *out_status) {
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  sigset_t none;
  pid_t child;
  sigemptyset(&none);
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, err, STDERR_FILENO);
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
  int error = posix_spawnp(&child, argv[0], &actions, &attributes, argv, environ);
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  while (!error && waitpid(child, out_status, 0) < 0)
    if (errno != EINTR) error = errno;
  return error;
}

static tg_status judge(const char *name, int error, int status, const char *said, tg_diag *diag) {
  if (error || (WIFEXITED(status) && WEXITSTATUS(status) == 127))
    return tg_fail(diag, TG_INVALID, "%s cannot be run: %s", name, strerror(error ? error : ENOENT));
  if (WIFEXITED(status) && !WEXITSTATUS(status)) return TG_OK;
  return tg_fail(diag, TG_INVALID, "%s failed: %.500s", name, said);
}

tg_status tg_program_output(tg_arena *arena, const tg_words *words, const char **out_text, tg_diag *diag) {
  char **argv = TG_NEW_ARRAY(arena, char *, words->count + 1);
  for (size_t i = 0; i < words->count; i++) argv[i] = tg_arena_strdup(arena, words->word[i]);
  FILE *out = tmpfile(), *err = tmpfile();
  tg_status status;
  if (!out || !err) {
    status = tg_fail(diag, TG_INVALID, "%s: no temporary file: %s", argv[0], strerror(errno));
  } else {
    int ended = 0, error = spawn(argv, fileno(out), fileno(err), &ended);
    char *said = read_back(arena, err);
    status = judge(argv[0], error, ended, said ? last_line(said) : "", diag);
    *out_text = status ? "" : read_back(arena, out);
    if (!*out_text) status = tg_fail(diag, TG_INVALID, "%s printed more than can be meant", argv[0]);
  }
  if (out) fclose(out);
  if (err) fclose(err);
  return status;
}
