#include "runtime/regress/remote.h"
#include "runtime/json_text.h"
#include "runtime/regress/fingerprint.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* --- in the starter */

typedef struct work {
  const tg_remote *remote;
  tg_arena *arena;
  const size_t *wanted;
  tg_result *results;
} work;

static const tg_case *case_of(const work *w, size_t task) {
  return &w->remote->runner->suite->cases[w->wanted[task]];
}

static tg_status finished(void *user, size_t task, const json_t *answer, const char *lost, tg_diag *diag) {
  work *w = user;
  size_t index = w->wanted[task];
  const tg_runner *runner = w->remote->runner;
  const char *id = case_of(w, task)->id;
  tg_result *result = &w->results[index];
  if (lost)
    *result = (tg_result){
        .finished = true, .outcome = TG_KILLED, .detail = tg_arena_strdup(w->arena, lost), .log = ""};
  else if (!tg_result_read(runner->results, w->arena, id, w->remote->fingerprints[index], result))
    return tg_fail(
        diag, TG_INVALID,
        "%s: its job left no result of the same tegula and files in %s: do all nodes see the same?", id,
        runner->results->folder);
  result->seconds = json_number_value(json_object_get(answer, "seconds"));
  return runner->finished(runner->user, index, diag);
}

static void again(void *user, size_t task, const char *lost) {
  fprintf(stderr, "tegula: %s: %s: tried again\n", case_of(user, task)->id, lost);
}

static void tick(void *user, const tg_launched *launched, size_t count) {
  const work *w = user;
  tg_running running[64];
  for (size_t i = 0; i < count && i < 64; i++)
    running[i] = (tg_running){case_of(w, launched[i].task), launched[i].node, launched[i].seconds};
  w->remote->runner->tick(w->remote->runner->user, running, count < 64 ? count : 64);
}

tg_status tg_remote_run(const tg_remote *remote, tg_arena *arena, const size_t *wanted, size_t count,
                        tg_result *results, int *out_signal, tg_diag *diag) {
  work w = {remote, arena, wanted, results};
  tg_launcher launcher = remote->launcher;
  tg_launch_task *tasks = TG_NEW_ARRAY(arena, tg_launch_task, count);
  json_t **named = TG_NEW_ARRAY(arena, json_t *, count);
  launcher.finished = finished;
  launcher.again = again;
  launcher.tick = tick;
  launcher.user = &w;
  for (size_t i = 0; i < count; i++) {
    const tg_case *c = case_of(&w, i);
    double limit = c->bounds.of[TG_BOUND_time_limit].real * (1 + c->bounds.of[TG_BOUND_retries].real);
    if (limit > launcher.time_limit) launcher.time_limit = limit;
    named[i] = json_pack("{s:o}", "case", tg_json_text(c->id));
    tasks[i] = (tg_launch_task){c->id, named[i]};
  }
  tg_status status = tg_launch(&launcher, arena, tasks, count, out_signal, diag);
  for (size_t i = 0; i < count; i++) json_decref(named[i]);
  return status;
}

/* --- in a job */

static tg_status keep(void *user, size_t index, tg_diag *diag) {
  (void)user, (void)index, (void)diag;
  return TG_OK;
}

static void no_tick(void *user, const tg_running *running, size_t count) {
  (void)user, (void)running, (void)count;
}

/* Leaves what the case left where the starter looks for it. */
static tg_status deliver(tg_arena *arena, const tg_results *own, const tg_results *shared, const tg_case *c,
                         const char *fingerprint, const tg_result *result, tg_diag *diag) {
  const char *log = tg_results_file(own, arena, c->id, "log"),
             *there = tg_results_file(shared, arena, c->id, "log");
  if (rename(log, there))
    return tg_fail(diag, TG_INVALID, "%s: cannot be written: %s", there, strerror(errno));
  return tg_result_write(shared, arena, c->id, fingerprint, result, diag);
}

static json_t *answer_of(const tg_result *result) {
  if (result->outcome == TG_KILLED) return json_pack("{s:o}", "lost", tg_json_text(result->detail));
  return json_pack("{s:f}", "seconds", result->seconds);
}

tg_status tg_remote_task(tg_arena *arena, tg_suite *suite, const char *command, const json_t *task,
                         const char *results, const char *scratch, json_t **out_answer, tg_diag *diag) {
  const char *id = json_string_value(json_object_get(task, "case"));
  size_t index = 0;
  while (id && index < suite->case_count && strcmp(suite->cases[index].id, id) != 0) index++;
  if (!id || index == suite->case_count)
    return tg_fail(diag, TG_INVALID, "--task: %s has no case \"%s\"", suite->path, id ? id : "");
  char *folder = tg_arena_printf(arena, "%s/case-XXXXXX", scratch);
  if (!mkdtemp(folder)) return tg_fail(diag, TG_INVALID, "%s: cannot be made: %s", folder, strerror(errno));
  tg_results own, shared = {.folder = results, .lock = -1};
  tg_result *all = TG_NEW_ARRAY(arena, tg_result, suite->case_count);
  tg_fingerprints sums = {0};
  int number = 0;
  tg_status status = tg_results_open(arena, folder, &own, diag);
  tg_runner runner = {
      .suite = suite, .results = &own, .command = command, .jobs = 1, .finished = keep, .tick = no_tick};
  if (!status) status = tg_runner_run(&runner, arena, &index, 1, all, &number, diag);
  if (number) raise(number); /* the job was ended: no answer */
  if (!status && all[index].outcome != TG_KILLED) {
    const char *fingerprint = tg_case_fingerprint(&sums, suite, &suite->cases[index], command);
    status = deliver(arena, &own, &shared, &suite->cases[index], fingerprint, &all[index], diag);
  }
  if (!status) *out_answer = answer_of(&all[index]);
  tg_result_release(&all[index]);
  tg_results_close(&own);
  tg_fingerprints_release(&sums);
  return status;
}
