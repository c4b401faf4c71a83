/* tegula regress */
#include "runtime/command/regress_state.h"
#include "runtime/json_text.h"
#include "runtime/regress/remote.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* --- set-up */

static tg_status find_command(tg_regress *r) {
  const char *given = tg_option_text(options(r), TG_OPT_COMMAND, "/proc/self/exe");
  char *path = realpath(given, NULL);
  if (!path || access(path, X_OK)) {
    free(path);
    return tg_fail(diag(r), TG_INVALID, "--command: %s: cannot be run", given);
  }
  r->command = tg_arena_strdup(arena(r), path);
  free(path);
  return TG_OK;
}

/* No option writes over the models of the suite, nor over the files that its cases name. */
static tg_status check_outputs(tg_regress *r) {
  for (size_t i = 0; i < r->suite.case_count; i++) {
    const tg_case *c = &r->suite.cases[i];
    if (c->model->file && tg_check_unwritten(r->context, tg_suite_reach(&r->suite, c->model->file)))
      return TG_INVALID;
    for (size_t f = 0; f < c->files.count; f++)
      if (tg_check_unwritten(r->context, tg_suite_reach(&r->suite, c->files.word[f]))) return TG_INVALID;
  }
  return TG_OK;
}

static tg_status load(tg_regress *r) {
  const tg_options *o = options(r);
  const char *path;
  uint64_t seed = tg_option_number(o, TG_OPT_SEED, 0);
  tg_status status = tg_one_operand(r->context, &path);
  if (!status) status = tg_suite_load(path, tg_given(o, TG_OPT_SEED) ? &seed : NULL, &r->suite, diag(r));
  if (!status) status = check_outputs(r);
  if (!status) status = find_command(r);
  if (status) return status;
  const char *own = *r->suite.baseline == '/'
                        ? r->suite.baseline
                        : tg_arena_printf(arena(r), "%s/%s", r->suite.folder, r->suite.baseline);
  r->baseline_path = tg_option_text(o, TG_OPT_BASELINE, own);
  r->results = TG_NEW_ARRAY(arena(r), tg_result, r->suite.case_count);
  r->verdicts = TG_NEW_ARRAY(arena(r), tg_verdict, r->suite.case_count);
  r->fingerprints = TG_NEW_ARRAY(arena(r), const char *, r->suite.case_count);
  status = tg_baseline_read(r->baseline_path, &r->baseline, diag(r));
  if (!status && !r->baseline.exists && tg_given(o, TG_OPT_BASELINE) && !tg_given(o, TG_OPT_UPDATE_BASELINE))
    return tg_fail(diag(r), TG_INVALID, "--baseline: %s: there is no such file", r->baseline_path);
  return status ? status : tg_regress_select(r);
}

static void list(const tg_regress *r) {
  json_t *cases = json_array();
  for (size_t i = 0; i < r->wanted_count; i++) {
    const tg_case *c = &r->suite.cases[r->wanted[i]];
    tg_arena text = {0};
    const char *line = tg_words_line(&text, &c->run);
    if (r->context->json)
      json_array_append_new(
          cases, json_pack("{s:o, s:o}", "case", tg_json_text(c->id), "command", tg_json_text(line)));
    else if (r->context->verbose)
      printf("%s: tegula %s\n", c->id, line);
    else
      puts(c->id);
    tg_arena_release(&text);
  }
  if (r->context->json) tg_print_json(cases);
  json_decref(cases);
}

/* --- running */

static void judge(tg_regress *r, size_t index) {
  const tg_case *c = &r->suite.cases[index];
  const tg_options *o = options(r);
  tg_judging how = tg_given(o, TG_OPT_UPDATE_BASELINE)    ? TG_JUDGE_ACCEPT
                   : tg_given(o, TG_OPT_REQUIRE_BASELINE) ? TG_JUDGE_REQUIRE
                                                          : TG_JUDGE;
  r->verdicts[index] = tg_judge(arena(r), c, &r->results[index], tg_baseline_entry(&r->baseline, c->id), how);
  r->screen.done++;
  r->screen.failed += r->verdicts[index].failed;
}

static void print_case(tg_regress *r, size_t index) {
  const tg_verdict *v = &r->verdicts[index];
  if (r->context->quiet || r->context->json) return;
  tg_screen_line(&r->screen, tg_case_line(arena(r), &r->suite.cases[index], &r->results[index], v));
  if (r->context->verbose && v->failed) tg_screen_line(&r->screen, r->results[index].log);
}

/* In a pipe lines come in the order of the suite: those that wait for an earlier case wait. */
static void print_finished(tg_regress *r, size_t index) {
  if (r->screen.live) {
    print_case(r, index);
    return;
  }
  while (r->printed < r->wanted_count && r->results[r->wanted[r->printed]].finished)
    print_case(r, r->wanted[r->printed++]);
}

static tg_status finished(void *user, size_t index, tg_diag *why) {
  tg_regress *r = user;
  judge(r, index);
  tg_status status = tg_result_write(&r->store, arena(r), r->suite.cases[index].id, r->fingerprints[index],
                                     &r->results[index], why);
  if (!status) print_finished(r, index);
  r->stopped = !status && r->verdicts[index].failed && tg_given(options(r), TG_OPT_FAIL_FAST);
  return r->stopped ? TG_CANCELLED : status;
}

static size_t jobs(const tg_regress *r) {
  long cores = sysconf(_SC_NPROCESSORS_ONLN);
  uint64_t count = tg_option_number(options(r), TG_OPT_JOBS, cores > 0 ? (uint64_t)cores : 1);
  return count > 256 ? 256 : (size_t)count;
}

/* Runs what is missing. A signal ends the process as it would have, once the cases are cleared away. */
static tg_status run_cases(tg_regress *r) {
  tg_runner runner = {.suite = &r->suite,
                      .results = &r->store,
                      .command = r->command,
                      .jobs = jobs(r),
                      .finished = finished,
                      .tick = tg_regress_tick,
                      .user = r};
  for (size_t i = 0; i < r->wanted_count;
       i++) /* all before a line of any: printing one may print those behind it */
    if (r->results[r->wanted[i]].finished) judge(r, r->wanted[i]);
  for (size_t i = 0; i < r->wanted_count; i++)
    if (r->results[r->wanted[i]].finished) print_finished(r, r->wanted[i]);
  int number = 0;
  tg_remote remote = {&runner, r->launcher, r->fingerprints};
  tg_status status =
      r->slurm ? tg_remote_run(&remote, arena(r), r->missing, r->missing_count, r->results, &number, diag(r))
               : tg_runner_run(&runner, arena(r), r->missing, r->missing_count, r->results, &number, diag(r));
  tg_screen_clear(&r->screen);
  r->left = r->wanted_count;
  if (r->stopped) tg_regress_keep_finished(r), status = TG_OK;
  r->left -= r->wanted_count;
  if (!number) return status;
  fprintf(stderr, "tegula: interrupted with %zu of %zu cases finished: --resume goes on from here\n",
          r->screen.done, r->wanted_count);
  tg_results_close(&r->store);
  return tg_end_launch(status, number);
}

/* --- the end */

static tg_status conclude(tg_regress *r) {
  tg_regression regression = {.suite = &r->suite,
                              .shard = r->shard,
                              .wanted = r->wanted,
                              .count = r->wanted_count,
                              .results = r->results,
                              .verdicts = r->verdicts,
                              .baseline = &r->baseline,
                              .timings = tg_given(options(r), TG_OPT_TIMINGS),
                              .left = r->left};
  tg_status status = tg_regress_write_outputs(r, &regression);
  if (!status) status = tg_regress_remember(r, &regression);
  if (!status && tg_given(options(r), TG_OPT_UPDATE_BASELINE)) status = tg_regress_update_baseline(r);
  if (status) return status;
  const char *summary = tg_regression_summary(arena(r), &regression);
  if (r->context->json)
    tg_regress_write_json(&regression, stdout);
  else if (!r->context->quiet)
    printf("%s%s\nresults in %s\n", summary,
           r->kept ? tg_arena_printf(arena(r), " (%zu kept from before)", r->kept) : "", r->store.folder);
  if (tg_regression_count(&regression).failed)
    return tg_fail(diag(r), TG_MISMATCH, "%s: %s", r->suite.name, summary);
  return TG_OK;
}

/* --- all */

/* The words of a job, which loads the suite anew; results lie where this process has them. */
static tg_status choose_launcher(tg_regress *r) {
  tg_status status = tg_choose_launcher(r->context, r->store.folder, &r->launcher, &r->slurm);
  if (status || !r->slurm) return status;
  r->launcher.words = (tg_words){0};
  const char *words[] = {"regress",   r->suite.path, "--results", r->store.folder,
                         "--command", r->command,    "--seed"};
  for (size_t i = 0; i < sizeof words / sizeof *words; i++)
    tg_words_add(arena(r), &r->launcher.words, words[i]);
  tg_words_add(arena(r), &r->launcher.words, tg_arena_printf(arena(r), "%" PRIu64, r->suite.seed));
  if (!tg_given(options(r), TG_OPT_LAUNCHER_FOLDER)) tg_launch_clear(arena(r), r->store.folder);
  return TG_OK;
}

/* --task: one case, for the process that launched this one. */
static tg_status run_task(tg_regress *r) {
  json_t *task = NULL, *answer = NULL;
  const char *path = tg_option_text(options(r), TG_OPT_TASK, ""), *slash = strrchr(path, '/'),
             *results = tg_option_text(options(r), TG_OPT_RESULTS, NULL);
  if (!results) return tg_fail(diag(r), TG_INVALID, "--task needs --results");
  const char *scratch = slash ? tg_arena_strndup(arena(r), path, (size_t)(slash - path)) : ".";
  tg_status status = tg_read_task(r->context, &task);
  if (!status)
    status = tg_remote_task(arena(r), &r->suite, r->command, task, results, scratch, &answer, diag(r));
  if (!status) tg_print_json(answer);
  json_decref(task);
  json_decref(answer);
  return status;
}

static tg_status run(tg_regress *r) {
  tg_status status = tg_regress_open_results(r);
  if (!status) status = choose_launcher(r);
  if (!status) status = tg_regress_keep_failed(r);
  if (!status && !r->wanted_count) {
    if (!r->context->quiet && !r->context->json) puts("no case failed in the last run");
    return TG_OK;
  }
  if (!status) status = tg_regress_write_outputs(r, NULL);
  if (!status) status = tg_regress_check_history(r);
  if (status) return status;
  tg_regress_look_up_kept(r);
  r->screen.total = r->wanted_count;
  status = run_cases(r);
  return status ? status : conclude(r);
}

tg_status tg_command_regress(tg_context *context) {
  tg_regress r = {.context = context, .store = {.lock = -1}};
  const tg_options *o = &context->options;
  r.screen.live = !context->quiet && !context->json && isatty(STDOUT_FILENO);
  tg_status status = load(&r);
  if (!status && tg_given(o, TG_OPT_AGAINST) && !tg_given(o, TG_OPT_EXPLAIN))
    status = tg_fail(&context->diag, TG_INVALID, "--against needs --explain CASE");
  if (!status) {
    if (tg_given(o, TG_OPT_LIST)) {
      status = tg_regress_keep_failed(&r);
      if (!status) list(&r);
    } else if (tg_given(o, TG_OPT_TRENDS))
      status = tg_regress_show_trends(&r);
    else if (tg_given(o, TG_OPT_TASK))
      status = run_task(&r);
    else
      status = tg_given(o, TG_OPT_EXPLAIN) ? tg_regress_explain(&r) : run(&r);
  }
  for (size_t i = 0; r.results && i < r.suite.case_count; i++) tg_result_release(&r.results[i]);
  tg_results_close(&r.store);
  tg_fingerprints_release(&r.sums);
  if (r.baseline.cases) tg_baseline_release(&r.baseline);
  tg_suite_release(&r.suite);
  return status;
}
