#include "runtime/regress/runner.h"
#include "runtime/json_text.h"
#include "runtime/session/session.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { STEPS = 3, MOST_LOG = 16384 };

typedef struct job {
  const tg_case *c;
  size_t index; /* of the case */
  int step;
  pid_t pid; /* 0: no process */
  double begin, deadline;
  bool late, large;                        /* killed for its time, its memory */
  int retries;                             /* how often it hung so far */
  const char *model, *program, *out, *log; /* files */
  json_t *run, *verify;
} job;

typedef struct work {
  const tg_runner *runner;
  tg_arena *arena;
  job *jobs;
  tg_result *results;
  sigset_t before; /* signals blocked before us */
  tg_diag *diag;
} work;

/* --- processes */

static const tg_words *command_of(const tg_case *c, int step) {
  return step == 0 ? &c->zoo : step == 1 ? &c->run : &c->verify;
}

/* In the child: does not return. What fails here ends in its log. */
static void become(const work *w, const job *j, char *const *argv, pid_t parent) {
  uint64_t memory = j->c->bounds.of[TG_BOUND_memory_limit].bytes;
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGKILL); /* whoever kills us kills our cases */
  if (getppid() != parent) _exit(127);
  setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
#if !defined(__SANITIZE_ADDRESS__) /* which reserves terabytes */
  if (memory) setrlimit(RLIMIT_DATA, &(struct rlimit){memory, memory});
#else
  (void)memory;
#endif
  int in = open("/dev/null", O_RDONLY), out = open(j->out, O_WRONLY | O_CREAT | O_TRUNC, 0666),
      log = open(j->log, O_WRONLY | O_CREAT | O_APPEND, 0666);
  if (in < 0 || out < 0 || log < 0 || dup2(in, 0) < 0 || dup2(out, 1) < 0 || dup2(log, 2) < 0) _exit(127);
  if (chdir(w->runner->suite->folder)) _exit(127);
  sigprocmask(SIG_SETMASK, &w->before, NULL);
  execv(w->runner->command, argv);
  dprintf(2, "%s: cannot be run: %s\n", w->runner->command, strerror(errno));
  _exit(127);
}

static const char *place_of(const job *j, const char *word) {
  return !strcmp(word, TG_CASE_MODEL) ? j->model : !strcmp(word, TG_CASE_PROGRAM) ? j->program : word;
}

/* The command's words, with the files that are written for this case. */
static char **arguments(work *w, const job *j) {
  const tg_words *words = command_of(j->c, j->step);
  char **argv = TG_NEW_ARRAY(w->arena, char *, words->count + 2);
  argv[0] = (char *)(uintptr_t)w->runner->command;
  for (size_t i = 0; i < words->count; i++) argv[i + 1] = (char *)(uintptr_t)place_of(j, words->word[i]);
  return argv;
}

static void note_command(work *w, const job *j) {
  FILE *log = fopen(j->log, "a");
  if (!log) return;
  fprintf(log, "$ tegula %s\n", tg_words_line(w->arena, command_of(j->c, j->step)));
  fclose(log);
}

static tg_status start(work *w, job *j) {
  while (j->step < STEPS && !command_of(j->c, j->step)->count) j->step++;
  note_command(w, j);
  char **argv = arguments(w, j);
  pid_t parent = getpid(), pid = fork();
  if (pid < 0) return tg_fail(w->diag, TG_INVALID, "no process can be made: %s", strerror(errno));
  if (!pid) become(w, j, argv, parent);
  setpgid(pid, pid); /* in either order of the two */
  j->pid = pid;
  return TG_OK;
}

static void kill_group(const job *j) {
  if (j->pid) kill(-j->pid, SIGKILL);
}

/* Bytes of a process that are its own, as far as the system tells. */
static uint64_t resident(pid_t pid) {
  char path[40];
  snprintf(path, sizeof path, "/proc/%d/statm", (int)pid);
  FILE *file = fopen(path, "r");
  unsigned long long all = 0, in = 0, shared = 0;
  if (file && fscanf(file, "%llu %llu %llu", &all, &in, &shared) != 3) in = shared = 0;
  if (file) fclose(file);
  return (in > shared ? in - shared : 0) * (uint64_t)sysconf(_SC_PAGESIZE);
}

static void watch(job *j, double now) {
  if (!j->pid || j->late || j->large) return;
  uint64_t memory = j->c->bounds.of[TG_BOUND_memory_limit].bytes;
  j->late = now >= j->deadline;
  j->large = !j->late && memory && resident(j->pid) > memory;
  if (j->late || j->large) kill_group(j);
}

/* --- results */

/* `path` becomes what it stands for in the case's commands, which is shorter. */
static void put_word_back(char *text, const char *path, const char *word) {
  size_t length = strlen(path), kept = strlen(word);
  for (char *at = text; (at = strstr(at, path));) {
    memmove(at + kept, at + length, strlen(at + length) + 1);
    for (size_t i = 0; i < kept; i++) at[i] = word[i];
  }
}

/* The end of the log. Folders that differ from run to run are left out. */
static const char *read_log(work *w, const job *j) {
  FILE *file = fopen(j->log, "rb");
  if (!file) return "";
  fseek(file, 0, SEEK_END);
  long size = ftell(file), kept = size > MOST_LOG ? MOST_LOG : size < 0 ? 0 : size;
  char *text = TG_NEW_ARRAY(w->arena, char, (size_t)kept + 1);
  fseek(file, size - kept, SEEK_SET);
  text[fread(text, 1, (size_t)kept, file)] = 0;
  fclose(file);
  put_word_back(text, j->model, TG_CASE_MODEL);
  put_word_back(text, j->program, TG_CASE_PROGRAM);
  return text;
}

/* The last line that is no command of ours. */
static const char *last_line(tg_arena *arena, const char *log) {
  const char *last = "";
  size_t length = 0;
  for (const char *at = log; *at;) {
    size_t n = strcspn(at, "\n");
    if (n && strncmp(at, "$ ", 2)) last = at, length = n;
    at += n + (at[n] == '\n');
  }
  if (length > 8 && !strncmp(last, "tegula: ", 8)) last += 8, length -= 8;
  return tg_arena_strndup(arena, last, length < 900 ? length : 900);
}

static bool says_no_memory(const char *log) {
  return strstr(log, "out of memory") || strstr(log, "bad_alloc") || strstr(log, "Cannot allocate memory") ||
         strstr(log, "does not fit on this host");
}

static const char *signal_text(tg_arena *arena, int number) {
  const char *name = sigabbrev_np(number);
  return tg_arena_printf(arena, "ended by signal %d (SIG%s)", number, name ? name : "?");
}

static void judge(work *w, const job *j, int status, tg_result *r) {
  const tg_bound *limits = j->c->bounds.of;
  const char *memory =
      tg_arena_printf(w->arena, "over its memory limit of %s", limits[TG_BOUND_memory_limit].text);
  int code = WIFEXITED(status) ? WEXITSTATUS(status) : -1,
      number = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
  r->log = read_log(w, j);
  const char *line = last_line(w->arena, r->log);
  if (j->late) {
    r->outcome = TG_TIMED_OUT;
    r->detail = tg_arena_printf(w->arena, "not finished within its time limit of %s",
                                limits[TG_BOUND_time_limit].text);
  } else if (j->large || (code != 3 && limits[TG_BOUND_memory_limit].bytes && says_no_memory(r->log))) {
    r->outcome = TG_OUT_OF_ROOM;
    r->detail = memory;
  } else if (number == SIGKILL || number == SIGTERM) {
    r->outcome = TG_KILLED;
    r->detail = signal_text(w->arena, number);
  } else if (number) {
    r->outcome = TG_CRASHED;
    r->detail = signal_text(w->arena, number);
  } else if (code == TG_FAULT || code == TG_INVALID) {
    r->outcome = code == TG_FAULT ? TG_FAULTED : TG_REFUSED;
    const char *units = code == TG_FAULT ? strstr(line, "; ") : NULL; /* where each stood: in the log */
    if (units) line = tg_arena_strndup(w->arena, line, (size_t)(units - line));
    r->detail = *line ? line : tg_arena_printf(w->arena, "exit status %d", code);
  } else {
    r->outcome = TG_CRASHED;
    r->detail = tg_arena_printf(w->arena, "tegula %s: exit status %d without a result%s%s",
                                command_of(j->c, j->step)->word[0], code, *line ? ": " : "", line);
  }
}

/* What bounds, baselines and reports use of the report of a run. */
static json_t *distil(const json_t *report) {
  static const char *const kept[] = {"cycles", "mac_utilization", "peak_device_bytes", "dram_bytes",
                                     "energy", "error_vs_fp32",   "error_vs_golden",   "output_digests",
                                     "loss",   "skipped_steps",   "evaluation"};
  static const char *const of_section[] = {"name", "cycles", "bound_by", "units"};
  if (!json_is_object(report) || !json_is_array(json_object_get(report, "sections"))) return NULL;
  json_t *run = json_object(), *list = json_array(), *section;
  for (size_t i = 0; i < sizeof kept / sizeof *kept; i++)
    if (json_object_get(report, kept[i])) json_object_set(run, kept[i], json_object_get(report, kept[i]));
  size_t s;
  json_array_foreach(json_object_get(report, "sections"), s, section) {
    json_t *one = json_object();
    for (size_t i = 0; i < sizeof of_section / sizeof *of_section; i++)
      if (json_object_get(section, of_section[i]))
        json_object_set(one, of_section[i], json_object_get(section, of_section[i]));
    json_array_append_new(list, one);
  }
  json_object_set_new(run, "sections", list);
  return run;
}

/* The report of a run; of a training that came to nothing, too, which says so itself. */
static json_t *take_report(work *w, const job *j, int code, const json_t *output) {
  bool diverged = j->c->trains && code == TG_MISMATCH;
  json_t *run = code == TG_OK || diverged ? distil(output) : NULL;
  if (run && diverged)
    json_object_set_new(run, "diverged", tg_json_text(last_line(w->arena, read_log(w, j))));
  return run;
}

/* Takes the output of a step that ended well. False: it is none. */
static bool take_output(work *w, job *j, int code) {
  json_t *output = j->step ? json_load_file(j->out, 0, NULL) : NULL;
  bool good = code == TG_OK && j->step == 0;
  if (j->step == 1) good = (j->run = take_report(w, j, code, output)) != NULL;
  if (j->step == 2 && (code == TG_OK || code == TG_MISMATCH) &&
      json_is_boolean(json_object_get(output, "equal_bits")))
    good = (j->verify = json_incref(output)) != NULL;
  json_decref(output);
  return good;
}

static void clean_up(const job *j) {
  unlink(j->out);
  if (j->c->trains) unlink(j->program);
  if (j->c->zoo.count) unlink(j->model);
}

static tg_status finish(work *w, job *j, tg_result result) {
  result.finished = true;
  result.run = j->run;
  result.verify = j->verify;
  result.seconds = tg_host_seconds() - j->begin;
  result.retries = j->retries;
  w->results[j->index] = result;
  clean_up(j);
  size_t index = j->index;
  *j = (job){0};
  return w->runner->finished(w->runner->user, index, w->diag);
}

/* A case that hung, from its start. The log goes on. */
static tg_status try_again(work *w, job *j) {
  FILE *log = fopen(j->log, "a");
  if (log) fprintf(log, "tried again: not finished within its time limit\n");
  if (log) fclose(log);
  json_decref(j->run);
  json_decref(j->verify);
  clean_up(j);
  j->run = j->verify = NULL;
  j->step = 0;
  j->late = false;
  j->retries++;
  j->deadline = tg_host_seconds() + j->c->bounds.of[TG_BOUND_time_limit].real;
  return start(w, j);
}

/* A process of a job has ended. */
static tg_status advance(work *w, job *j, int status) {
  kill_group(j); /* what it may have left behind */
  j->pid = 0;
  bool killed = j->late || j->large || !WIFEXITED(status);
  tg_result result = {.outcome = TG_RAN, .detail = "", .log = ""};
  if (killed || !take_output(w, j, WEXITSTATUS(status))) {
    judge(w, j, status, &result);
    if (result.outcome == TG_TIMED_OUT && j->retries < (int)j->c->bounds.of[TG_BOUND_retries].real)
      return try_again(w, j);
    return finish(w, j, result);
  }
  j->step++;
  if (j->step == 1 || (j->step == 2 && j->c->verify.count)) return start(w, j);
  result.log = read_log(w, j);
  return finish(w, j, result);
}

/* --- all */

static tg_status begin(work *w, job *j, size_t index) {
  const tg_case *c = &w->runner->suite->cases[index];
  const tg_results *results = w->runner->results;
  *j = (job){.c = c,
             .index = index,
             .begin = tg_host_seconds(),
             .model = tg_results_file(results, w->arena, c->id, "onnx"),
             .program = tg_results_file(results, w->arena, c->id, "tgb"),
             .out = tg_results_file(results, w->arena, c->id, "out"),
             .log = tg_results_file(results, w->arena, c->id, "log")};
  j->deadline = j->begin + c->bounds.of[TG_BOUND_time_limit].real;
  unlink(j->log);
  return start(w, j);
}

static void tick(const work *w) {
  tg_running running[64];
  size_t count = 0;
  double now = tg_host_seconds();
  for (size_t i = 0; i < w->runner->jobs && count < 64; i++) {
    const job *j = &w->jobs[i];
    if (j->c) running[count++] = (tg_running){j->c, command_of(j->c, j->step)->word[0], now - j->begin};
  }
  w->runner->tick(w->runner->user, running, count);
}

static tg_status reap(work *w) {
  tg_status status = TG_OK;
  int ended;
  for (pid_t pid; !status && (pid = waitpid(-1, &ended, WNOHANG)) > 0;)
    for (size_t i = 0; i < w->runner->jobs; i++)
      if (w->jobs[i].pid == pid) {
        status = advance(w, &w->jobs[i], ended);
        break;
      }
  return status;
}

static void abandon(work *w) {
  for (size_t i = 0; i < w->runner->jobs; i++) {
    job *j = &w->jobs[i];
    if (!j->c) continue;
    kill_group(j);
    if (j->pid) waitpid(j->pid, NULL, 0);
    clean_up(j);
    json_decref(j->run);
    json_decref(j->verify);
  }
}

static tg_status loop(work *w, const size_t *wanted, size_t count, int *out_signal) {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGCHLD), sigaddset(&set, SIGINT), sigaddset(&set, SIGTERM), sigaddset(&set, SIGHUP);
  sigprocmask(SIG_BLOCK, &set, &w->before);
  size_t next = 0;
  tg_status status = TG_OK;
  for (;;) {
    size_t busy = 0;
    for (size_t i = 0; !status && i < w->runner->jobs; i++) {
      if (!w->jobs[i].c && next < count) status = begin(w, &w->jobs[i], wanted[next++]);
      busy += w->jobs[i].c != NULL;
    }
    if (status || !busy) break;
    tick(w);
    int number = sigtimedwait(&set, NULL, &(struct timespec){.tv_nsec = 50000000});
    if (number > 0 && number != SIGCHLD) {
      *out_signal = number;
      break;
    }
    status = reap(w);
    if (status) break;
    for (size_t i = 0; i < w->runner->jobs; i++) watch(&w->jobs[i], tg_host_seconds());
  }
  abandon(w);
  sigprocmask(SIG_SETMASK, &w->before, NULL);
  return status;
}

tg_status tg_runner_run(const tg_runner *runner, tg_arena *arena, const size_t *wanted, size_t count,
                        tg_result *results, int *out_signal, tg_diag *diag) {
  work w = {.runner = runner,
            .arena = arena,
            .jobs = TG_NEW_ARRAY(arena, job, runner->jobs),
            .results = results,
            .diag = diag};
  *out_signal = 0;
  fflush(NULL); /* a child must not have it too */
  return loop(&w, wanted, count, out_signal);
}
