/* JSON, and the lines for people. */
#include "runtime/regress/outputs.h"
#include "runtime/json_text.h"
#include "runtime/tegula.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

tg_regression_counts tg_regression_count(const tg_regression *r) {
  tg_regression_counts n = {.cases = r->count};
  for (size_t i = 0; i < r->count; i++) {
    const tg_verdict *v = &r->verdicts[r->wanted[i]];
    n.failed += v->failed;
    n.passed += !v->failed;
    n.moved += v->moved;
    n.fresh += v->fresh && !v->failed && !v->expected;
    n.expected += v->expected;
  }
  return n;
}

static json_t *findings(const tg_verdict *v) {
  json_t *list = json_array();
  for (size_t i = 0; i < v->count; i++)
    json_array_append_new(list, json_pack("{s:s, s:b, s:o}", "kind", v->findings[i].kind, "failure",
                                          v->findings[i].failure, "text", tg_json_text(v->findings[i].text)));
  return list;
}

static json_t *tags(const tg_case *c) {
  const tg_bound *words = &c->bounds.of[TG_BOUND_tags];
  json_t *list = json_array();
  for (size_t i = 0; i < words->file_count; i++) json_array_append_new(list, tg_json_text(words->files[i]));
  return list;
}

static json_t *case_json(const tg_regression *r, size_t index) {
  const tg_case *c = &r->suite->cases[index];
  const tg_result *result = &r->results[index];
  const tg_verdict *v = &r->verdicts[index];
  static const char *const keys[] = {"cycles",        "mac_utilization", "peak_device_bytes",
                                     "error_vs_fp32", "error_vs_golden", "output_digests"};
  static const char *const of_training[] = {"loss", "skipped_steps", "evaluation"};
  tg_arena arena = {0};
  json_t *one =
      json_pack("{s:o, s:o, s:o, s:s, s:s, s:s, s:b, s:o, s:o}", "case", tg_json_text(c->id), "model",
                tg_json_text(c->model->name), "flags", tg_json_text(c->flags), "engine", c->engine, "verdict",
                tg_verdict_name(v), "outcome", tg_outcome_name(result->outcome), "moved", v->moved, "command",
                tg_json_text(tg_words_line(&arena, &c->run)), "findings", findings(v));
  if (c->bounds.of[TG_BOUND_tags].file_count) json_object_set_new(one, "tags", tags(c));
  const json_t *before = json_object_get(tg_baseline_entry(r->baseline, c->id), "cycles");
  json_object_set_new(one, "baseline_cycles",
                      json_is_integer(before) ? json_copy((json_t *)(uintptr_t)before) : json_null());
  for (size_t k = 0; k < sizeof keys / sizeof *keys; k++) {
    json_t *value = json_object_get(result->run, keys[k]);
    json_object_set(one, keys[k], value ? value : json_null());
  }
  for (size_t k = 0; c->trains && k < sizeof of_training / sizeof *of_training; k++) {
    json_t *value = json_object_get(result->run, of_training[k]);
    json_object_set(one, of_training[k], value ? value : json_null());
  }
  json_t *engines = result->verify ? json_copy(result->verify) : json_null();
  json_object_set_new(one, "verify", engines);
  if (v->failed) json_object_set_new(one, "log", tg_json_text(result->log));
  if (r->timings) json_object_set_new(one, "host_seconds", json_real(result->seconds));
  tg_arena_release(&arena);
  return one;
}

/* Cases of the baseline that the suite has no more. */
static json_t *gone(const tg_regression *r) {
  json_t *list = json_array(), *entry;
  const char *id;
  json_object_foreach(r->baseline->cases, id, entry) {
    bool found = false;
    for (size_t i = 0; !found && i < r->suite->case_count; i++) found = !strcmp(r->suite->cases[i].id, id);
    if (!found) json_array_append_new(list, json_string(id));
  }
  return list;
}

json_t *tg_regression_json(const tg_regression *r) {
  tg_regression_counts n = tg_regression_count(r);
  json_t *cases = json_array();
  for (size_t i = 0; i < r->count; i++) json_array_append_new(cases, case_json(r, r->wanted[i]));
  return json_pack("{s:s, s:o, s:I, s:s?, s:{s:I, s:I, s:I, s:I, s:I, s:I}, s:o, s:o}", "tegula",
                   tg_version(), "suite", tg_json_text(r->suite->name), "seed", (json_int_t)r->suite->seed,
                   "shard", r->shard, "summary", "cases", (json_int_t)n.cases, "passed", (json_int_t)n.passed,
                   "failed", (json_int_t)n.failed, "moved", (json_int_t)n.moved, "new", (json_int_t)n.fresh,
                   "expected", (json_int_t)n.expected, "cases", cases, "only_in_baseline", gone(r));
}

const char *tg_regression_summary(tg_arena *arena, const tg_regression *r) {
  tg_regression_counts n = tg_regression_count(r);
  size_t good = n.cases - n.expected;
  const char *text = n.failed ? tg_arena_printf(arena, "%zu of %zu cases failed", n.failed, n.cases)
                              : tg_arena_printf(arena, "%zu case%s passed", good, good == 1 ? "" : "s");
  if (n.moved) text = tg_arena_printf(arena, "%s, %zu moved", text, n.moved);
  if (n.fresh) text = tg_arena_printf(arena, "%s, %zu without a baseline", text, n.fresh);
  if (n.expected)
    text = tg_arena_printf(arena, "%s, %zu %sfailed as expected", text, n.expected, n.failed ? "more " : "");
  if (r->left) text = tg_arena_printf(arena, "%s, %zu not run", text, r->left);
  return text;
}

const char *tg_finding_head(tg_arena *arena, const tg_finding *finding) {
  if (!strcmp(finding->kind, "cycles")) return ""; /* its text begins with them */
  return tg_arena_printf(arena, "%s: ", finding->kind);
}

const char *tg_case_line(tg_arena *arena, const tg_case *c, const tg_result *result, const tg_verdict *v) {
  const char *mark = v->failed     ? "FAIL"
                     : v->expected ? "xfail"
                     : v->moved    ? "moved"
                     : v->fresh    ? "new"
                                   : "ok";
  const json_t *cycles = json_object_get(result->run, "cycles");
  const char *line = tg_arena_printf(arena, "%-5s %s", mark, c->id);
  if (json_is_integer(cycles))
    line = tg_arena_printf(arena, "%s: %" JSON_INTEGER_FORMAT " cycles", line, json_integer_value(cycles));
  for (int failures = 1; failures >= 0; failures--)
    for (size_t i = 0; i < v->count; i++)
      if (v->findings[i].failure == (bool)failures && (failures || strcmp(v->findings[i].kind, "baseline")))
        line = tg_arena_printf(arena, "%s; %s%s", line, tg_finding_head(arena, &v->findings[i]),
                               v->findings[i].text);
  return line;
}
