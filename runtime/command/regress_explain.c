/* tegula regress --explain: where the cycles of a case went. */
#include "runtime/command/regress_state.h"
#include "runtime/json_text.h"
#include "runtime/regress/explain.h"
#include "runtime/trace/trace.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Index of a case; case_count: there is none. */
static size_t find_case(const tg_regress *r, const char *id) {
  size_t i = 0;
  while (i < r->suite.case_count && strcmp(r->suite.cases[i].id, id)) i++;
  return i;
}

static tg_status keep_result(void *user, size_t index, tg_diag *why) {
  (void)index, (void)why;
  tg_regress *r = user;
  r->screen.done++;
  return TG_OK;
}

/* Runs a case with a trace, which stays among the results; that of a training is of a step. */
static tg_status trace_case(tg_regress *r, size_t index, const char **out_trace) {
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
                      .tick = tg_regress_tick,
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
static tg_status other_side(tg_regress *r, size_t index, tg_side *out, json_t **out_owned) {
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

tg_status tg_regress_explain(tg_regress *r) {
  const char *id = tg_option_text(options(r), TG_OPT_EXPLAIN, ""), *trace = NULL;
  size_t index = find_case(r, id);
  tg_side before = {0};
  json_t *owned = NULL;
  if (index == r->suite.case_count)
    return tg_fail(diag(r), TG_INVALID, "--explain: %s has no case \"%s\": see --list", r->suite.path, id);
  if (!strcmp(r->suite.cases[index].engine, "functional"))
    return tg_fail(diag(r), TG_INVALID, "engine functional has no time to explain");
  tg_status status = tg_regress_open_results(r);
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
