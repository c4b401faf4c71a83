#include "runtime/launch/apart.h"
#include "frontend/base/guard.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

/* One JSON value a line. False: nobody reads it. */
static bool put(FILE *line, const json_t *value) {
  char *text = json_dumps(value, JSON_COMPACT);
  if (!text) tg_die("out of memory");
  size_t length = strlen(text), sent = 0;
  text[length] = '\n'; /* in place of the zero */
  while (sent <= length) {
    ssize_t count = send(fileno(line), text + sent, length + 1 - sent, MSG_NOSIGNAL);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) break;
    sent += (size_t)count;
  }
  free(text);
  return sent > length;
}

/* NULL: there is no more, or else no memory for it. */
static json_t *get(FILE *line) {
  char *text = NULL;
  size_t capacity = 0;
  ssize_t length = getline(&text, &capacity, line);
  json_t *value = length > 0 ? json_loadb(text, (size_t)length, 0, NULL) : NULL;
  free(text);
  return value;
}

/* In the new process, where memory that ends is told by the status alone. */
static _Noreturn void work(const tg_apart *apart, pid_t starter, int end) {
  tg_guard guard;
  prctl(PR_SET_PDEATHSIG, SIGKILL); /* whoever kills the starter kills this, too */
  if (getppid() != starter) _exit(0);
  tg_guards_hold(true);
  tg_guard_enter(&guard);
  if (setjmp(guard.place)) _exit(TG_INVALID);
  FILE *line = fdopen(end, "r");
  if (!line) _exit(TG_INVALID);
  for (json_t *task, *answer; (task = get(line)); json_decref(task), json_decref(answer)) {
    answer = apart->work(apart->user, task);
    if (!put(line, answer)) break;
  }
  fflush(stdout);
  _exit(feof(line) ? TG_OK : TG_INVALID);
}

static tg_status start(tg_apart *apart, tg_diag *diag) {
  int ends[2];
  pid_t starter = getpid();
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends))
    return tg_fail(diag, TG_INVALID, "no process can be started: %s", strerror(errno));
  fflush(NULL); /* what is not written yet is this process's */
  apart->process = fork();
  if (!apart->process) {
    close(ends[0]);
    work(apart, starter, ends[1]);
  }
  const int error = errno;
  close(ends[1]);
  apart->line = apart->process > 0 ? fdopen(ends[0], "r") : NULL;
  if (apart->line) return TG_OK;
  close(ends[0]);
  apart->process = 0;
  return tg_fail(diag, TG_INVALID, "no process can be started: %s", strerror(error));
}

/* Returns its status as waitpid has it. */
static int leave(tg_apart *apart) {
  int status = 0;
  if (apart->line) fclose(apart->line);
  while (waitpid(apart->process, &status, 0) < 0 && errno == EINTR) continue;
  apart->process = 0;
  apart->line = NULL;
  return status;
}

tg_status tg_apart_ask(tg_apart *apart, const json_t *task, json_t **out_answer, char out_lost[100],
                       tg_diag *diag) {
  *out_answer = NULL;
  tg_status status = apart->process ? TG_OK : start(apart, diag);
  if (status) return status;
  if (put(apart->line, task)) *out_answer = get(apart->line);
  if (*out_answer) return TG_OK;
  if (!feof(apart->line) && !ferror(apart->line)) tg_die("out of memory");
  int ended = leave(apart);
  if (WIFEXITED(ended) && WEXITSTATUS(ended) == TG_INVALID)
    snprintf(out_lost, 100, "out of memory");
  else if (WIFSIGNALED(ended) && WTERMSIG(ended) == SIGKILL)
    snprintf(out_lost, 100, "killed, as the host does where memory ends");
  else if (WIFSIGNALED(ended))
    return tg_fail(diag, TG_INVALID, "it crashed: %s", strsignal(WTERMSIG(ended)));
  else
    return tg_fail(diag, TG_INVALID, "it ended with status %d", WIFEXITED(ended) ? WEXITSTATUS(ended) : -1);
  return TG_OK;
}

void tg_apart_end(tg_apart *apart) {
  if (!apart->process) return;
  shutdown(fileno(apart->line), SHUT_WR);
  (void)leave(apart);
}
