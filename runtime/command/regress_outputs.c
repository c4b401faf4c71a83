/* What a run of `tegula regress` leaves behind: results in files, its line in the history and the page of both, the
 * baseline. */
#include "frontend/base/output_file.h"
#include "runtime/command/regress_state.h"
#include "runtime/regress/history.h"

#include <stdio.h>
#include <string.h>

static const char *history_path(tg_regress *r) {
  return tg_option_text(options(r), TG_OPT_HISTORY,
                        tg_arena_printf(arena(r), "%s/history.jsonl", tg_regress_results_path(r)));
}

typedef void writer(const tg_regression *regression, FILE *out);

void tg_regress_write_json(const tg_regression *regression, FILE *out) {
  json_t *object = tg_regression_json(regression);
  json_dumpf(object, out, JSON_INDENT(2));
  fputc('\n', out);
  json_decref(object);
}

static tg_status write_file(tg_regress *r, const char *path, writer *write, const tg_regression *regression) {
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

tg_status tg_regress_write_outputs(tg_regress *r, const tg_regression *regression) {
  const char *junit = tg_option_text(options(r), TG_OPT_JUNIT, NULL),
             *markdown = tg_option_text(options(r), TG_OPT_MARKDOWN, NULL);
  tg_status status = TG_OK;
  if (junit) status = write_file(r, junit, tg_regression_junit, regression);
  if (!status && markdown) status = write_file(r, markdown, tg_regression_markdown, regression);
  static const struct {
    const char *name;
    writer *write;
  } always[] = {{"results.json", tg_regress_write_json},
                {"junit.xml", tg_regression_junit},
                {"summary.md", tg_regression_markdown}};
  for (size_t i = 0; !status && i < sizeof always / sizeof *always; i++)
    status = write_file(r, tg_arena_printf(arena(r), "%s/%s", r->store.folder, always[i].name),
                        always[i].write, regression);
  return status;
}

static tg_status read_trends(tg_regress *r, json_t **out_trends) {
  json_t *runs = NULL;
  tg_status status = tg_history_read(history_path(r), r->suite.name, &runs, diag(r));
  *out_trends = status ? NULL : tg_history_trends(runs);
  json_decref(runs);
  return status;
}

static tg_status write_page(tg_regress *r, const char *path, const tg_regression *regression,
                            const json_t *trends) {
  tg_output_file file;
  tg_status status = tg_output_open(path, &file, diag(r));
  if (status) return status;
  tg_regression_page(regression, trends, file.stream);
  return tg_output_commit(&file, diag(r));
}

tg_status tg_regress_remember(tg_regress *r, const tg_regression *regression) {
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

/* What --filter, --tag and --label leave of the trends. */
static tg_status choose_trends(tg_regress *r, json_t *trends) {
  bool chosen = tg_given(options(r), TG_OPT_FILTER) || tg_given(options(r), TG_OPT_TAG);
  const char **ids = TG_NEW_ARRAY(arena(r), const char *, r->wanted_count + 1);
  for (size_t i = 0; i < r->wanted_count; i++) ids[i] = r->suite.cases[r->wanted[i]].id;
  return tg_trends_choose(trends, chosen ? ids : NULL, r->wanted_count,
                          tg_option_text(options(r), TG_OPT_LABEL, NULL), diag(r));
}

static tg_status write_trends_page(tg_regress *r, const json_t *trends) {
  const char *path = tg_option_text(options(r), TG_OPT_HTML, NULL);
  tg_output_file file;
  tg_status status = path ? tg_output_open(path, &file, diag(r)) : TG_OK;
  if (status || !path) return status;
  tg_trends_page(r->suite.name, trends, file.stream);
  return tg_output_commit(&file, diag(r));
}

tg_status tg_regress_show_trends(tg_regress *r) {
  json_t *trends;
  tg_status status = read_trends(r, &trends);
  if (!status) status = choose_trends(r, trends);
  if (!status) status = write_trends_page(r, trends);
  if (status) {
    json_decref(trends);
    return status;
  }
  if (tg_answer_as_text(r->context, trends)) tg_trends_print(r->suite.name, trends, stdout);
  json_decref(trends);
  return TG_OK;
}

tg_status tg_regress_check_history(tg_regress *r) {
  json_t *trends;
  const char *html = tg_option_text(options(r), TG_OPT_HTML, NULL);
  tg_status status = tg_history_check(history_path(r), diag(r));
  if (!status) status = read_trends(r, &trends);
  if (!status) json_decref(trends);
  return status || !html ? status : tg_output_check(html, diag(r));
}

tg_status tg_regress_update_baseline(tg_regress *r) {
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
