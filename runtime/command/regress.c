/* tegula regress */
#include "frontend/base/output_file.h"
#include "runtime/command/command.h"
#include "runtime/json_text.h"
#include "runtime/regress/explain.h"
#include "runtime/regress/fingerprint.h"
#include "runtime/regress/history.h"
#include "runtime/regress/remote.h"
#include "runtime/regress/screen.h"
#include "runtime/regress/select.h"
#include "runtime/trace/trace.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct regress {
  tg_context *context;
  tg_suite suite;
  tg_results store;
  tg_baseline baseline;
  tg_fingerprints sums;
  const char *command, *baseline_path, *shard;
  const char **fingerprints; /* by case; so are: */
  tg_result *results;
  tg_verdict *verdicts;
  size_t *wanted, *missing; /* cases of this run; those without a kept result */
  size_t wanted_count, missing_count, kept;
  size_t printed; /* of `wanted` */
  bool stopped;   /* by --fail-fast */
  bool slurm;     /* cases are jobs of a cluster, started by: */
  tg_launcher launcher;
  tg_screen screen;
} regress;

static const tg_options *options(const regress *r) { return &r->context->options; }
static tg_arena *arena(regress *r) { return &r->context->arena; }
static tg_diag *diag(regress *r) { return &r->context->diag; }

/* --- what is wanted */

static tg_status parse_shard(regress *r, size_t *out_part, size_t *out_parts) {
  const char *text = r->shard = tg_option_text(options(r), TG_OPT_SHARD, NULL);
  *out_part = *out_parts = 1;
  if (!text) return TG_OK;
  unsigned long long part, parts;
  char rest;
  if (strspn(text, "0123456789/") == strlen(text) && strlen(text) < 20 &&
      sscanf(text, "%llu/%llu%c", &part, &parts, &rest) == 2 && part >= 1 && part <= parts) {
    *out_part = part;
    *out_parts = parts;
    return TG_OK;
  }
  return tg_fail(diag(r), TG_INVALID, "--shard: \"%s\" is not I/N with I from 1 to N", text);
}

static tg_status select_cases(regress *r) {
  const tg_options *o = options(r);
  bool by_cost = !strcmp(tg_option_text(o, TG_OPT_SHARD_BY, "count"), "cost");
  tg_selection selection = {.patterns = o->values[TG_OPT_FILTER],
                            .pattern_count = o->counts[TG_OPT_FILTER],
                            .tags = o->values[TG_OPT_TAG],
                            .tag_count = o->counts[TG_OPT_TAG],
                            .baseline = by_cost ? &r->baseline : NULL};
  tg_status status = parse_shard(r, &selection.part, &selection.parts);
  if (status) return status;
  r->missing = TG_NEW_ARRAY(arena(r), size_t, r->suite.case_count);
  return tg_select_cases(arena(r), &r->suite, &selection, &r->wanted, &r->wanted_count, diag(r));
}

static tg_status find_command(regress *r) {
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

static tg_status load(regress *r) {
  const tg_options *o = options(r);
  const char *path;
  uint64_t seed = tg_option_number(o, TG_OPT_SEED, 0);
  tg_status status = tg_one_operand(r->context, &path);
  if (!status) status = tg_suite_load(path, tg_given(o, TG_OPT_SEED) ? &seed : NULL, &r->suite, diag(r));
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
  return status ? status : select_cases(r);
}

static const char *results_path(regress *r) {
  const char *slash = strrchr(r->suite.path, '/'), *base = slash ? slash + 1 : r->suite.path,
             *dot = strrchr(base, '.');
  const char *own = tg_arena_printf(arena(r), "%.*s.results",
                                    dot && dot > base ? (int)(dot - base) : (int)strlen(base), base);
  return tg_option_text(options(r), TG_OPT_RESULTS, own);
}

static const char *history_path(regress *r) {
  return tg_option_text(options(r), TG_OPT_HISTORY,
                        tg_arena_printf(arena(r), "%s/history.jsonl", results_path(r)));
}

static tg_status open_store(regress *r) {
  return tg_results_open(arena(r), results_path(r), &r->store, diag(r));
}

static bool failed_in(const json_t *last, const char *id) {
  size_t i;
  json_t *one;
  json_array_foreach(json_object_get(last, "cases"), i, one) {
    const char *name = json_string_value(json_object_get(one, "case")),
               *verdict = json_string_value(json_object_get(one, "verdict"));
    if (name && verdict && !strcmp(name, id)) return !strcmp(verdict, "failed");
  }
  return false;
}

/* --last-failed: of the wanted cases those that the folder's results.json says failed. */
static tg_status keep_failed(regress *r) {
  const char *path = tg_arena_printf(arena(r), "%s/results.json", r->store.folder);
  size_t count = 0;
  if (!tg_given(options(r), TG_OPT_LAST_FAILED)) return TG_OK;
  json_t *last = json_load_file(path, 0, NULL);
  if (!last)
    return tg_fail(diag(r), TG_INVALID, "--last-failed: there are no results of a run in %s",
                   r->store.folder);
  for (size_t i = 0; i < r->wanted_count; i++)
    if (failed_in(last, r->suite.cases[r->wanted[i]].id)) r->wanted[count++] = r->wanted[i];
  json_decref(last);
  r->wanted_count = count;
  return TG_OK;
}

/* After --fail-fast: what was not finished is as if it had not been wanted. */
static void keep_finished(regress *r) {
  size_t count = 0;
  for (size_t i = 0; i < r->wanted_count; i++)
    if (r->results[r->wanted[i]].finished) r->wanted[count++] = r->wanted[i];
  r->wanted_count = count;
}

/* Cases whose results are kept from an earlier run (--resume) are done; of the others nothing old may
 * stay. */
static void look_up_kept(regress *r) {
  bool resume = tg_given(options(r), TG_OPT_RESUME);
  for (size_t i = 0; i < r->wanted_count; i++) {
    size_t index = r->wanted[i];
    const tg_case *c = &r->suite.cases[index];
    r->fingerprints[index] = tg_case_fingerprint(&r->sums, &r->suite, c, r->command);
    if (resume && tg_result_read(&r->store, arena(r), c->id, r->fingerprints[index], &r->results[index])) {
      r->kept++;
      continue;
    }
    unlink(tg_results_file(&r->store, arena(r), c->id, "result.json"));
    r->missing[r->missing_count++] = index;
  }
}

static void list(const regress *r) {
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

static void judge(regress *r, size_t index) {
  const tg_case *c = &r->suite.cases[index];
  const tg_options *o = options(r);
  tg_judging how = tg_given(o, TG_OPT_UPDATE_BASELINE)    ? TG_JUDGE_ACCEPT
                   : tg_given(o, TG_OPT_REQUIRE_BASELINE) ? TG_JUDGE_REQUIRE
                                                          : TG_JUDGE;
  r->verdicts[index] = tg_judge(arena(r), c, &r->results[index], tg_baseline_entry(&r->baseline, c->id), how);
  r->screen.done++;
  r->screen.failed += r->verdicts[index].failed;
}

static void print_case(regress *r, size_t index) {
  const tg_verdict *v = &r->verdicts[index];
  if (r->context->quiet || r->context->json) return;
  tg_screen_line(&r->screen, tg_case_line(arena(r), &r->suite.cases[index], &r->results[index], v));
  if (r->context->verbose && v->failed) tg_screen_line(&r->screen, r->results[index].log);
}

/* In a pipe lines come in the order of the suite: those that wait for an earlier case wait. */
static void print_finished(regress *r, size_t index) {
  if (r->screen.live) {
    print_case(r, index);
    return;
  }
  while (r->printed < r->wanted_count && r->results[r->wanted[r->printed]].finished)
    print_case(r, r->wanted[r->printed++]);
}

static tg_status finished(void *user, size_t index, tg_diag *why) {
  regress *r = user;
  judge(r, index);
  tg_status status = tg_result_write(&r->store, arena(r), r->suite.cases[index].id, r->fingerprints[index],
                                     &r->results[index], why);
  if (!status) print_finished(r, index);
  r->stopped = !status && r->verdicts[index].failed && tg_given(options(r), TG_OPT_FAIL_FAST);
  return r->stopped ? TG_CANCELLED : status;
}

static void tick(void *user, const tg_running *running, size_t count) {
  regress *r = user;
  tg_screen_draw(&r->screen, running, count);
}

static size_t jobs(const regress *r) {
  long cores = sysconf(_SC_NPROCESSORS_ONLN);
  uint64_t count = tg_option_number(options(r), TG_OPT_JOBS, cores > 0 ? (uint64_t)cores : 1);
  return count > 256 ? 256 : (size_t)count;
}

/* Runs what is missing. A signal ends the process as it would have, once the cases are cleared away. */
static tg_status run_cases(regress *r) {
  tg_runner runner = {.suite = &r->suite,
                      .results = &r->store,
                      .command = r->command,
                      .jobs = jobs(r),
                      .finished = finished,
                      .tick = tick,
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
  if (r->stopped) keep_finished(r), status = TG_OK;
  if (!number) return status;
  fprintf(stderr, "tegula: interrupted with %zu of %zu cases finished: --resume goes on from here\n",
          r->screen.done, r->wanted_count);
  tg_results_close(&r->store);
  return tg_end_launch(status, number);
}

/* --- what is written */

typedef void writer(const tg_regression *regression, FILE *out);

static void write_json(const tg_regression *regression, FILE *out) {
  json_t *object = tg_regression_json(regression);
  json_dumpf(object, out, JSON_INDENT(2));
  fputc('\n', out);
  json_decref(object);
}

static tg_status write_file(regress *r, const char *path, writer *write, const tg_regression *regression) {
  tg_output_file file;
  tg_status status = tg_output_open(path, &file, diag(r));
  if (status) return status;
  if (!regression) { /* only: can it be written? */
    tg_output_abandon(&file);
    return TG_OK;
  }
  write(regression, file.stream);
  return tg_output_commit(&file, diag(r));
}

/* With NULL: whether the files that the user names can be written, before hours of work. */
static tg_status write_outputs(regress *r, const tg_regression *regression) {
  const char *junit = tg_option_text(options(r), TG_OPT_JUNIT, NULL),
             *markdown = tg_option_text(options(r), TG_OPT_MARKDOWN, NULL);
  tg_status status = TG_OK;
  if (junit) status = write_file(r, junit, tg_regression_junit, regression);
  if (!status && markdown) status = write_file(r, markdown, tg_regression_markdown, regression);
  static const struct {
    const char *name;
    writer *write;
  } always[] = {{"results.json", write_json},
                {"junit.xml", tg_regression_junit},
                {"summary.md", tg_regression_markdown}};
  for (size_t i = 0; !status && i < sizeof always / sizeof *always; i++)
    status = write_file(r, tg_arena_printf(arena(r), "%s/%s", r->store.folder, always[i].name),
                        always[i].write, regression);
  return status;
}

static tg_status read_trends(regress *r, json_t **out_trends) {
  json_t *runs = NULL;
  tg_status status = tg_history_read(history_path(r), r->suite.name, &runs, diag(r));
  *out_trends = status ? NULL : tg_history_trends(runs);
  json_decref(runs);
  return status;
}

static tg_status write_page(regress *r, const char *path, const tg_regression *regression,
                            const json_t *trends) {
  tg_output_file file;
  tg_status status = tg_output_open(path, &file, diag(r));
  if (status) return status;
  tg_regression_page(regression, trends, file.stream);
  return tg_output_commit(&file, diag(r));
}

/* Adds the run to its history, and writes the page of both. */
static tg_status remember(regress *r, const tg_regression *regression) {
  json_t *trends = NULL;
  const char *html = tg_option_text(options(r), TG_OPT_HTML, NULL);
  tg_status status =
      tg_history_add(history_path(r), regression, tg_option_text(options(r), TG_OPT_LABEL, NULL), diag(r));
  if (!status) status = read_trends(r, &trends);
  if (!status)
    status = write_page(r, tg_arena_printf(arena(r), "%s/report.html", r->store.folder), regression, trends);
  if (!status && html) status = write_page(r, html, regression, trends);
  json_decref(trends);
  return status;
}

/* --trends */
static tg_status show_trends(regress *r) {
  json_t *trends;
  tg_status status = read_trends(r, &trends);
  if (status) return status;
  if (tg_answer_as_text(r->context, trends)) tg_trends_print(r->suite.name, trends, stdout);
  json_decref(trends);
  return TG_OK;
}

/* Before hours of work: can the history be read, and the page be written? */
static tg_status check_history(regress *r) {
  json_t *trends;
  const char *html = tg_option_text(options(r), TG_OPT_HTML, NULL);
  tg_status status = tg_history_check(history_path(r), diag(r));
  if (!status) status = read_trends(r, &trends);
  if (!status) json_decref(trends);
  return status || !html ? status : tg_output_check(html, diag(r));
}

/* Entries of cases that did not run stay: those that are not in this run as long as the suite has them, those
 * that broke. */
static tg_status update_baseline(regress *r) {
  json_t *cases = json_object();
  for (size_t i = 0; i < r->suite.case_count; i++) {
    const char *id = r->suite.cases[i].id;
    const json_t *old = tg_baseline_entry(&r->baseline, id);
    if (r->results[i].outcome == TG_RAN && r->results[i].run)
      json_object_set_new(cases, id, tg_baseline_entry_of(r->results[i].run));
    else if (old)
      json_object_set(cases, id, (json_t *)(uintptr_t)old);
  }
  tg_status status = tg_baseline_write(r->baseline_path, &r->suite, cases, diag(r));
  json_decref(cases);
  if (!status && !r->context->quiet && !r->context->json) printf("wrote %s\n", r->baseline_path);
  return status;
}

static tg_status conclude(regress *r) {
  tg_regression regression = {.suite = &r->suite,
                              .shard = r->shard,
                              .wanted = r->wanted,
                              .count = r->wanted_count,
                              .results = r->results,
                              .verdicts = r->verdicts,
                              .baseline = &r->baseline,
                              .timings = tg_given(options(r), TG_OPT_TIMINGS)};
  tg_status status = write_outputs(r, &regression);
  if (!status) status = remember(r, &regression);
  if (!status && tg_given(options(r), TG_OPT_UPDATE_BASELINE)) status = update_baseline(r);
  if (status) return status;
  const char *summary = tg_regression_summary(arena(r), &regression);
  if (r->context->json)
    write_json(&regression, stdout);
  else if (!r->context->quiet)
    printf("%s%s\nresults in %s\n", summary,
           r->kept ? tg_arena_printf(arena(r), " (%zu kept from before)", r->kept) : "", r->store.folder);
  if (tg_regression_count(&regression).failed)
    return tg_fail(diag(r), TG_MISMATCH, "%s: %s", r->suite.name, summary);
  return TG_OK;
}

/* --- explain */

/* Index of a case; case_count: there is none. */
static size_t find_case(const regress *r, const char *id) {
  size_t i = 0;
  while (i < r->suite.case_count && strcmp(r->suite.cases[i].id, id)) i++;
  return i;
}

static tg_status keep_result(void *user, size_t index, tg_diag *why) {
  (void)index, (void)why;
  regress *r = user;
  r->screen.done++;
  return TG_OK;
}

/* Runs a case with a trace, which stays among the results; that of a training is of a step. */
static tg_status trace_case(regress *r, size_t index, const char **out_trace) {
  tg_case *c = &r->suite.cases[index];
  const char *trace = tg_results_file(&r->store, arena(r), c->id, "trace.json");
  c->verify.count = 0;
  tg_words_add(arena(r), &c->run, "--trace");
  tg_words_add(arena(r), &c->run, trace);
  tg_runner runner = {.suite = &r->suite,
                      .results = &r->store,
                      .command = r->command,
                      .jobs = 1,
                      .finished = keep_result,
                      .tick = tick,
                      .user = r};
  int number = 0;
  tg_status status = tg_runner_run(&runner, arena(r), &index, 1, r->results, &number, diag(r));
  tg_screen_clear(&r->screen);
  if (number) {
    raise(number);
    return TG_INVALID;
  }
  const tg_result *result = &r->results[index];
  if (!status && result->outcome != TG_RAN)
    return tg_fail(diag(r), result->outcome == TG_FAULTED ? TG_FAULT : TG_INVALID, "%s: %s: %s", c->id,
                   tg_outcome_name(result->outcome), result->detail);
  *out_trace = trace;
  return status;
}

static tg_side side_of(const char *name, const json_t *run) {
  return (tg_side){name, json_object_get(run, "cycles"), json_object_get(run, "sections")};
}

/* The other side: a case, a trace, or the baseline. */
static tg_status other_side(regress *r, size_t index, tg_side *out, json_t **out_owned) {
  const char *against = tg_option_text(options(r), TG_OPT_AGAINST, NULL), *trace;
  const json_t *entry = tg_baseline_entry(&r->baseline, r->suite.cases[index].id);
  tg_status status = TG_OK;
  if (!against) {
    *out = side_of("baseline", entry);
    return entry ? TG_OK
                 : tg_fail(diag(r), TG_INVALID,
                           "%s has no baseline to compare with: give --against a trace or a case",
                           r->suite.cases[index].id);
  }
  size_t other = find_case(r, against);
  if (other < r->suite.case_count) {
    if (other == index) return tg_fail(diag(r), TG_INVALID, "--against: this is the case itself");
    status = trace_case(r, other, &trace);
    *out = side_of(against, r->results[other].run);
    return status;
  }
  if (access(against, R_OK))
    return tg_fail(diag(r), TG_INVALID, "--against: \"%s\" is neither a case of the suite nor a file",
                   against);
  status = tg_trace_summary(against, out_owned, diag(r));
  *out = side_of("that trace", *out_owned);
  return status;
}

static tg_status explain(regress *r) {
  const char *id = tg_option_text(options(r), TG_OPT_EXPLAIN, ""), *trace = NULL;
  size_t index = find_case(r, id);
  tg_side before = {0};
  json_t *owned = NULL;
  if (index == r->suite.case_count)
    return tg_fail(diag(r), TG_INVALID, "--explain: %s has no case \"%s\": see --list", r->suite.path, id);
  if (!strcmp(r->suite.cases[index].engine, "functional"))
    return tg_fail(diag(r), TG_INVALID, "engine functional has no time to explain");
  tg_status status = open_store(r);
  if (!status) status = other_side(r, index, &before, &owned);
  if (!status) status = trace_case(r, index, &trace);
  if (!status) {
    tg_side now = side_of("now", r->results[index].run);
    json_t *explanation = tg_explain(&before, &now, r->context->verbose);
    json_object_set_new(explanation, "case", tg_json_text(r->suite.cases[index].id));
    json_object_set_new(explanation, "trace", tg_json_text(trace));
    if (tg_answer_as_text(r->context, explanation)) {
      printf("%s: ", r->suite.cases[index].id);
      tg_explain_print(explanation, stdout);
      printf("trace: %s\n", trace);
    }
    json_decref(explanation);
  }
  json_decref(owned);
  return status;
}

/* --- all */

/* The words of a job, which loads the suite anew; results lie where this process has them. */
static tg_status choose_launcher(regress *r) {
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
static tg_status run_task(regress *r) {
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

static tg_status run(regress *r) {
  tg_status status = open_store(r);
  if (!status) status = choose_launcher(r);
  if (!status) status = keep_failed(r);
  if (!status && !r->wanted_count) {
    if (!r->context->quiet && !r->context->json) puts("no case failed in the last run");
    return TG_OK;
  }
  if (!status) status = write_outputs(r, NULL);
  if (!status) status = check_history(r);
  if (status) return status;
  look_up_kept(r);
  r->screen.total = r->wanted_count;
  status = run_cases(r);
  return status ? status : conclude(r);
}

tg_status tg_command_regress(tg_context *context) {
  regress r = {.context = context, .store = {.lock = -1}};
  const tg_options *o = &context->options;
  r.screen.live = !context->quiet && !context->json && isatty(STDOUT_FILENO);
  tg_status status = load(&r);
  if (!status && tg_given(o, TG_OPT_AGAINST) && !tg_given(o, TG_OPT_EXPLAIN))
    status = tg_fail(&context->diag, TG_INVALID, "--against needs --explain CASE");
  if (!status) {
    if (tg_given(o, TG_OPT_LIST))
      list(&r);
    else if (tg_given(o, TG_OPT_TRENDS))
      status = show_trends(&r);
    else if (tg_given(o, TG_OPT_TASK))
      status = run_task(&r);
    else
      status = tg_given(o, TG_OPT_EXPLAIN) ? explain(&r) : run(&r);
  }
  for (size_t i = 0; r.results && i < r.suite.case_count; i++) tg_result_release(&r.results[i]);
  tg_results_close(&r.store);
  tg_fingerprints_release(&r.sums);
  if (r.baseline.cases) tg_baseline_release(&r.baseline);
  tg_suite_release(&r.suite);
  return status;
}
