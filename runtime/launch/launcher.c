#include "runtime/launch/launcher.h"
#include "runtime/launch/slurm.h"
#include "runtime/session/session.h"

#include <dirent.h>
#include <errno.h>
#include <ftw.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define PREFIX "launch-"

static const double grace = 3;     /* seconds until what a node wrote is seen here */
static const double silence = 300; /* ... in which the cluster may give no answer */
static const double list_interval = 1.5;
enum { POLL_NANOSECONDS = 200000000 };

typedef struct task {
  bool waits; /* for being submitted */
  bool done;
  int tries;
  size_t batch, index; /* where it was submitted last */
  double gone;         /* since when the cluster does not know it; 0: it does */
  double began;        /* when it was seen running; 0: it was not */
  const char *node;
} task;

/* What was submitted as one array. */
typedef struct batch {
  const char *array; /* its number as text */
  const size_t *tasks;
  size_t count;
} batch;

typedef struct launch {
  const tg_launcher *l;
  tg_arena *arena;
  const tg_launch_task *given;
  task *tasks;
  size_t count, left;
  char *folder;     /* of this launch */
  const char *name; /* of the folder, and of all jobs */
  batch *batch;
  size_t batches, batch_capacity;
  tg_words excluded;
  double listed; /* when the cluster answered last */
  tg_diag *diag;
} launch;

/* --- the folder */

static int remove_one(const char *path, const struct stat *info, int kind, struct FTW *at) {
  (void)info, (void)kind, (void)at;
  remove(path);
  return 0;
}

static void remove_folder(const char *path) { nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS); }

static tg_status write_text(launch *w, const char *name, const char *text) {
  const char *path = tg_arena_printf(w->arena, "%s/%s", w->folder, name);
  FILE *file = fopen(path, "w");
  bool written = file && fputs(text, file) >= 0;
  if (file && fclose(file)) written = false;
  return written ? TG_OK : tg_fail(w->diag, TG_INVALID, "%s: cannot be written: %s", path, strerror(errno));
}

static tg_status make_folder(launch *w) {
  char *absolute = realpath(w->l->folder, NULL);
  if (!absolute) return tg_fail(w->diag, TG_INVALID, "%s: cannot be used: %s", w->l->folder, strerror(errno));
  w->folder = tg_arena_printf(w->arena, "%s/" PREFIX "XXXXXX", absolute);
  free(absolute);
  if (mkdtemp(w->folder)) {
    w->name = tg_arena_strdup(w->arena, w->folder + strlen(w->folder) - strlen(PREFIX "XXXXXX"));
    return TG_OK;
  }
  tg_status status = tg_fail(w->diag, TG_INVALID, "%s: cannot be made: %s", w->folder, strerror(errno));
  w->folder = NULL;
  return status;
}

static const char *own_path(tg_arena *arena) {
  char *path = realpath("/proc/self/exe", NULL);
  const char *copy = tg_arena_strdup(arena, path ? path : "tegula");
  free(path);
  return copy;
}

/* What a job runs. A status from 128 on is a signal's: the task does not end, and is lost. */
static const char *script(launch *w) {
  tg_words command = {0}, folder = {0};
  tg_words_add(w->arena, &command, own_path(w->arena));
  tg_words_append(w->arena, &command, &w->l->words);
  tg_words_add(w->arena, &folder, w->folder);
  return tg_arena_printf(
      w->arena,
      "#!/bin/sh\n"
      "# A job of tegula --launcher slurm: runs a task, and shows its folder when all of it is there.\n"
      "folder=%s\n"
      "task=$(sed -n \"$((SLURM_ARRAY_TASK_ID + 1))p\" \"$folder/batch$1\") || exit 1\n"
      "try=$folder/$task.$1\n"
      "mkdir \"$try\" || exit 1\n"
      "echo \"$SLURMD_NODENAME\" > \"$try/node\"\n"
      "%s --task \"$folder/$task.json\" < /dev/null > \"$try/out\" 2> \"$try/log\"\n"
      "status=$?\n"
      "[ $status -lt 128 ] || exit $status\n"
      "echo $status > \"$try/status\" || exit 1\n"
      "mv -T \"$try\" \"$folder/$task.done\"\n",
      tg_words_line(w->arena, &folder), tg_words_line(w->arena, &command));
}

static tg_status write_tasks(launch *w) {
  tg_status status = write_text(w, "job", script(w));
  for (size_t t = 0; !status && t < w->count; t++) {
    char *text = json_dumps(w->given[t].task, JSON_COMPACT);
    status = write_text(w, tg_arena_printf(w->arena, "%zu.json", t), text ? text : "");
    free(text);
  }
  return status;
}

/* --- submitting */

static tg_status submit_batch(launch *w, const size_t *tasks, size_t count) {
  const char *number = tg_arena_printf(w->arena, "%zu", w->batches), *array = NULL;
  size_t *copy = TG_NEW_ARRAY(w->arena, size_t, count);
  char *text = TG_NEW_ARRAY(w->arena, char, count * 24 + 1), *at = text;
  for (size_t i = 0; i < count; i++) at += sprintf(at, "%zu\n", tasks[i]);
  tg_slurm_array a = {.name = w->name,
                      .script = tg_arena_printf(w->arena, "%s/job", w->folder),
                      .argument = number,
                      .log = tg_arena_printf(w->arena, "%s/slurm-%%A_%%a.log", w->folder),
                      .count = count,
                      .width = w->l->width,
                      .time_limit = w->l->time_limit,
                      .excluded = &w->excluded,
                      .options = &w->l->options};
  tg_status status = write_text(w, tg_arena_printf(w->arena, "batch%s", number), text);
  if (!status) status = tg_slurm_submit(w->arena, &a, &array, w->diag);
  if (status) return status;
  for (size_t i = 0; i < count; i++) {
    task *t = &w->tasks[tasks[i]];
    *t = (task){.tries = t->tries + 1, .batch = w->batches, .index = i};
  }
  memcpy(copy, tasks, count * sizeof *copy);
  TG_PUSH(w->arena, w->batch, w->batches, w->batch_capacity, ((batch){array, copy, count}));
  w->listed = tg_host_seconds();
  return TG_OK;
}

static tg_status submit(launch *w) {
  size_t waiting[TG_SLURM_MOST_TASKS], count = 0;
  tg_status status = TG_OK;
  for (size_t t = 0; !status && t < w->count; t++) {
    if (w->tasks[t].waits) waiting[count++] = t;
    if (count == TG_SLURM_MOST_TASKS || (count && t + 1 == w->count)) {
      status = submit_batch(w, waiting, count);
      count = 0;
    }
  }
  return status;
}

/* --- what became of a task */

/* A file of a folder of the launch, without its last newline; "": there is none. */
static const char *read_text(launch *w, const char *folder, const char *name) {
  char text[4096];
  FILE *file = fopen(tg_arena_printf(w->arena, "%s/%s/%s", w->folder, folder, name), "r");
  if (!file) return "";
  if (!fseek(file, 0, SEEK_END) && ftell(file) >= (long)sizeof text)
    fseek(file, 1 - (long)sizeof text, SEEK_END);
  else
    rewind(file);
  size_t length = fread(text, 1, sizeof text - 1, file);
  fclose(file);
  while (length && text[length - 1] == '\n') length--;
  return tg_arena_strndup(w->arena, text, length);
}

static tg_status finish(launch *w, size_t t, const json_t *answer, const char *lost) {
  w->tasks[t].done = true;
  w->left--;
  return w->l->finished(w->l->user, t, answer, lost, w->diag);
}

static tg_status lose(launch *w, size_t t, const char *folder, const char *why) {
  task *one = &w->tasks[t];
  const char *node = read_text(w, folder, "node");
  const char *text =
      *node ? tg_arena_printf(w->arena, "lost on %s%s%s", node, *why ? ": " : "", why) : "lost before it ran";
  if (*node && !tg_words_have(&w->excluded, node)) tg_words_add(w->arena, &w->excluded, node);
  if (one->tries >= TG_LAUNCH_TRIES)
    return finish(w, t, NULL, tg_arena_printf(w->arena, "%s, the last of %d times", text, one->tries));
  one->waits = true;
  if (w->l->again) w->l->again(w->l->user, t, text);
  return TG_OK;
}

/* An error of a task is its last line. */
static tg_status fail_as(launch *w, size_t t, const char *folder, int code) {
  const char *log = read_text(w, folder, "log"), *line = strrchr(log, '\n') ? strrchr(log, '\n') + 1 : log;
  if (!strncmp(line, "tegula: ", 8)) line += 8;
  bool ours = code == TG_MISMATCH || code == TG_INVALID || code == TG_FAULT;
  return tg_fail(w->diag, ours ? (tg_status)code : TG_INVALID, "%s: %s", w->given[t].name,
                 *line ? line : tg_arena_printf(w->arena, "exit status %d", code));
}

static tg_status take(launch *w, size_t t) {
  const char *folder = tg_arena_printf(w->arena, "%zu.done", t);
  int code = atoi(read_text(w, folder, "status"));
  if (code) return fail_as(w, t, folder, code);
  json_t *answer = json_load_file(tg_arena_printf(w->arena, "%s/%s/out", w->folder, folder), 0, NULL);
  const char *lost = json_string_value(json_object_get(answer, "lost"));
  tg_status status;
  if (lost) {
    const char *aside = tg_arena_printf(w->arena, "%zu.%zu.lost", t, w->tasks[t].batch);
    rename(tg_arena_printf(w->arena, "%s/%s", w->folder, folder),
           tg_arena_printf(w->arena, "%s/%s", w->folder, aside));
    status = lose(w, t, aside, tg_arena_strdup(w->arena, lost));
  } else if (!json_is_object(answer)) {
    status = tg_fail(w->diag, TG_INVALID, "%s: its job printed no answer", w->given[t].name);
  } else {
    status = finish(w, t, answer, NULL);
  }
  json_decref(answer);
  return status;
}

/* Whatever is done now. The folder is read anew: file systems of clusters show new names late to those who ask for them
 * one by one. */
static tg_status take_done(launch *w) {
  DIR *open = opendir(w->folder);
  tg_status status = TG_OK;
  if (!open) return tg_fail(w->diag, TG_INVALID, "%s: cannot be read: %s", w->folder, strerror(errno));
  for (const struct dirent *entry; !status && (entry = readdir(open));) {
    char *end;
    size_t t = strtoull(entry->d_name, &end, 10);
    if (end != entry->d_name && !strcmp(end, ".done") && t < w->count && !w->tasks[t].done &&
        !w->tasks[t].waits)
      status = take(w, t);
  }
  closedir(open);
  return status;
}

/* --- watching */

/* The task of a job; count: none of ours. */
static size_t task_of(const launch *w, const tg_slurm_job *job) {
  for (size_t b = 0; b < w->batches; b++)
    if (!strcmp(w->batch[b].array, job->array) && job->index < w->batch[b].count) {
      size_t t = w->batch[b].tasks[job->index];
      return w->tasks[t].batch == b ? t : w->count; /* not one that was submitted again */
    }
  return w->count;
}

static void note_jobs(launch *w, tg_arena *scratch, const tg_slurm_job *jobs, size_t job_count, double now) {
  bool *known = TG_NEW_ARRAY(scratch, bool, w->count);
  for (size_t j = 0; j < job_count; j++) {
    size_t t = task_of(w, &jobs[j]);
    if (t == w->count) continue;
    known[t] = true;
    if (jobs[j].running && !w->tasks[t].began) {
      w->tasks[t].began = now;
      w->tasks[t].node = tg_arena_strdup(w->arena, jobs[j].node);
    }
  }
  for (size_t t = 0; t < w->count; t++) {
    task *one = &w->tasks[t];
    if (known[t]) one->gone = 0;
    if (!known[t] && !one->gone) one->gone = now;
  }
}

static tg_status look(launch *w) {
  double now = tg_host_seconds();
  tg_arena scratch = {0};
  tg_slurm_job *jobs;
  size_t count;
  tg_diag why = {""};
  if (now - w->listed < list_interval) return TG_OK;
  tg_status status = tg_slurm_list(&scratch, w->name, &jobs, &count, &why);
  if (!status) {
    note_jobs(w, &scratch, jobs, count, now);
    w->listed = tg_host_seconds();
  } else if (now - w->listed < silence) {
    status = TG_OK; /* a controller that starts again knows its jobs */
  } else {
    tg_fail(w->diag, status, "%s", why.message);
  }
  tg_arena_release(&scratch);
  return status;
}

static tg_status miss(launch *w) {
  double now = tg_host_seconds();
  tg_status status = TG_OK;
  for (size_t t = 0; !status && t < w->count; t++) {
    task *one = &w->tasks[t];
    if (one->done || one->waits || !one->gone || now - one->gone < grace) continue;
    status = lose(w, t, tg_arena_printf(w->arena, "%zu.%zu", t, one->batch), "");
  }
  return status;
}

static void tick(const launch *w) {
  tg_launched running[64];
  size_t count = 0;
  double now = tg_host_seconds();
  for (size_t t = 0; w->l->tick && t < w->count && count < 64; t++) {
    const task *one = &w->tasks[t];
    if (one->began && !one->done && !one->gone)
      running[count++] = (tg_launched){t, one->node, now - one->began};
  }
  if (w->l->tick) w->l->tick(w->l->user, running, count);
}

static tg_status loop(launch *w, int *out_signal) {
  sigset_t set, before;
  sigemptyset(&set);
  sigaddset(&set, SIGINT), sigaddset(&set, SIGTERM), sigaddset(&set, SIGHUP);
  sigprocmask(SIG_BLOCK, &set, &before);
  tg_status status = TG_OK;
  while (!status && w->left) {
    status = submit(w);
    if (status) break;
    tick(w);
    int number = sigtimedwait(&set, NULL, &(struct timespec){.tv_nsec = POLL_NANOSECONDS});
    if (number > 0) {
      *out_signal = number;
      break;
    }
    status = look(w);
    if (!status) status = take_done(w);
    if (!status) status = miss(w);
  }
  /* Also what was taken for lost and still runs. */
  if (w->batches) tg_slurm_cancel(w->arena, w->name, NULL);
  sigprocmask(SIG_SETMASK, &before, NULL);
  return status;
}

tg_status tg_launch(const tg_launcher *launcher, tg_arena *arena, const tg_launch_task *tasks, size_t count,
                    int *out_signal, tg_diag *diag) {
  launch w = {.l = launcher,
              .arena = arena,
              .given = tasks,
              .tasks = TG_NEW_ARRAY(arena, task, count),
              .count = count,
              .left = count,
              .diag = diag};
  *out_signal = 0;
  if (!count) return TG_OK;
  for (size_t t = 0; t < count; t++) w.tasks[t].waits = true;
  tg_status status = make_folder(&w);
  if (!status) status = write_tasks(&w);
  if (!status) status = loop(&w, out_signal);
  if (w.folder) remove_folder(w.folder);
  return status;
}

void tg_launch_clear(tg_arena *arena, const char *folder) {
  DIR *open = opendir(folder);
  if (!open) return;
  for (const struct dirent *entry; (entry = readdir(open));) {
    if (strncmp(entry->d_name, PREFIX, sizeof PREFIX - 1) != 0) continue;
    tg_slurm_cancel(arena, entry->d_name, NULL);
    remove_folder(tg_arena_printf(arena, "%s/%s", folder, entry->d_name));
  }
  closedir(open);
}
