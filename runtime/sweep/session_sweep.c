/* tg_session_sweep: the table for a program that holds a model. */
#include "frontend/base/guard.h"
#include "runtime/json_text.h"
#include "runtime/session/precision_options.h"
#include "runtime/session/session.h"
#include "runtime/sweep/sweep.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const accumulations[] = {"fp32", "bf16sr"};

typedef struct work {
  tg_session *session;
  const tg_session_sweep_options *o;
  tg_compile_options compile;
  const char *array; /* its name in rows */
  json_t *rows;
  json_t *mp0; /* the row that all are compared with */
  size_t done, count;
} work;

static bool wants(const work *w, const char *policy, const char *accumulation) {
  const tg_session_sweep_options *o = w->o;
  bool any = !o->policy_count;
  for (size_t i = 0; i < o->policy_count; i++) any |= !strcmp(o->policies[i], policy);
  return any && (!w->compile.tiling_accum || !strcmp(w->compile.tiling_accum, accumulation));
}

/* What a policy says in place of what the options say. */
static tg_compile_options options_under(const work *w, const tg_sweep_policy *policy,
                                        const char *accumulation) {
  tg_compile_options all = w->compile;
  all.size = 0;
  tg_precision_take(&all, &policy->precision);
  all.tiling_accum = accumulation;
  return all;
}

static tg_status take_inputs(const work *w, tg_session *fresh, tg_diag *diag) {
  const tg_session *s = w->session;
  tg_status status = TG_OK;
  for (int i = 0; !status && i < s->input_count; i++)
    if (s->input_data[i])
      status = tg_session_set_input(fresh, s->inputs[i].name, s->inputs[i].rank, s->inputs[i].dims,
                                    s->input_data[i], diag);
  if (!status) tg_session_random_inputs(fresh, w->o->input_seed ? w->o->input_seed : 1);
  return status;
}

/* What the caller says to row or section; `what`: the row's name, NULL within it. */
static bool goes_on(const work *w, const char *what) {
  if (!w->o->progress) return true;
  tg_session_calls_back(w->session, true);
  bool on = w->o->progress(w->o->progress_user, w->done, w->count, what);
  tg_session_calls_back(w->session, false);
  return on;
}

static bool go_on(void *user, uint32_t section, uint32_t count) {
  (void)section, (void)count;
  return goes_on(user, NULL);
}

static tg_status run_one(const work *w, const tg_compile_options *options, const char *policy,
                         tg_session *fresh, json_t **out_row, tg_diag *diag) {
  const tg_session_sweep_options *o = w->o;
  tg_session_run_options run = {.engine = "systemc",
                                .threads = o->threads,
                                .timing_only = o->timing_only,
                                .max_cycles = o->max_cycles,
                                .progress = go_on,
                                .progress_user = (void *)(uintptr_t)w};
  tg_session_drop_own_rules(fresh);
  tg_status status = tg_session_compile(fresh, options, diag);
  if (!status && !o->timing_only) status = take_inputs(w, fresh, diag);
  if (!status) status = tg_session_run(fresh, &run, diag);
  if (!status) status = tg_session_measure_cpu(fresh, false, o->threads, diag);
  if (!status) *out_row = tg_sweep_row(fresh, policy, options->tiling_accum);
  return status;
}

/* A policy that the model cannot have is a row, too; that the very first run cannot be is the end. */
static tg_status add_row(work *w, const tg_sweep_policy *policy, const char *accumulation, bool first,
                         tg_diag *diag) {
  tg_compile_options options = options_under(w, policy, accumulation);
  tg_diag why = {""};
  tg_session *fresh;
  json_t *row = NULL;
  char name[100];
  snprintf(name, sizeof name, "%s, %s", policy->name, accumulation);
  if (!goes_on(w, name)) return tg_fail(diag, TG_CANCELLED, "%s: the sweep was ended", w->session->path);
  tg_status status = tg_session_again(w->session, &fresh);
  if (!status) status = run_one(w, &options, policy->name, fresh, &row, &why);
  tg_session_close(fresh);
  if (status && (first || status != TG_INVALID)) return tg_fail(diag, status, "%s", why.message);
  if (status) row = tg_sweep_failed_row(policy->name, accumulation, why.message);
  json_object_set_new(row, "array", tg_json_text(w->array));
  if (first) w->mp0 = json_incref(row);
  if (wants(w, policy->name, accumulation)) json_array_append(w->rows, row);
  json_decref(row);
  w->done++;
  return TG_OK;
}

static tg_status all_rows(work *w, tg_diag *diag) {
  for (int counted = 0; counted < 2; counted++)
    for (const tg_sweep_policy *policy = tg_sweep_policies; policy->name; policy++)
      for (size_t a = 0; a < sizeof accumulations / sizeof *accumulations; a++) {
        bool first = policy == tg_sweep_policies && !a;
        if (!first && !wants(w, policy->name, accumulations[a])) continue;
        w->count += !counted;
        tg_status status = counted ? add_row(w, policy, accumulations[a], first, diag) : TG_OK;
        if (status) return status;
      }
  return TG_OK;
}

static tg_status sweep(work *w, char **out_json, tg_diag *diag) {
  locale_t theirs = tg_plain_numbers();
  w->rows = json_array();
  tg_status status = all_rows(w, diag);
  if (!status) {
    tg_sweep_finish(w->rows, w->mp0);
    json_t *all = json_pack("{s:s, s:o, s:O}", "tegula", tg_version(), "model",
                            tg_json_text(w->session->path), "rows", w->rows);
    *out_json = json_dumps(all, JSON_INDENT(2));
    json_decref(all);
    if (!*out_json) tg_die("out of memory");
  }
  json_decref(w->mp0);
  json_decref(w->rows);
  uselocale(theirs);
  return status;
}

static tg_status check_policies(const tg_session_sweep_options *o, tg_diag *diag) {
  if (o->policy_count && !o->policies)
    return tg_fail(diag, TG_INVALID, "policies: %zu are counted, and none is given", o->policy_count);
  for (size_t i = 0; i < o->policy_count; i++) {
    const char *name = o->policies[i] ? o->policies[i] : "";
    const tg_sweep_policy *policy = tg_sweep_policy_named(name);
    if (!policy) return tg_fail(diag, TG_INVALID, "there is no policy \"%s\"", name);
    for (size_t k = 0; k < i; k++)
      if (tg_sweep_policy_named(o->policies[k]) == policy)
        return tg_fail(diag, TG_INVALID, "policies: \"%s\" is named twice", name);
  }
  return TG_OK;
}

static tg_status sweep_guarded(tg_session *session, const tg_session_sweep_options *options, char **out_json,
                               tg_diag *diag) {
  tg_session_sweep_options own;
  tg_guarded_callbacks callbacks;
  work w = {.session = session, .o = &own};
  tg_diag_begin(diag);
  if (!out_json) return tg_fail(diag, TG_INVALID, "no place for the result is given");
  *out_json = NULL;
  if (tg_session_needs(session, false, false, diag)) return TG_INVALID;
  if (!session->model)
    return tg_fail(diag, TG_INVALID, "%s is a compiled program: only a model can be compiled anew",
                   session->path);
  tg_status status = tg_take_options(options, &own, sizeof own, diag);
  if (!status) status = tg_take_options(own.compile, &w.compile, sizeof w.compile, diag);
  if (status) return status;
  tg_session_guard_callbacks(session, &w.compile, &callbacks);
  if (!w.compile.seed) w.compile.seed = 1; /* as the command has it */
  const char *accumulation = w.compile.tiling_accum;
  if (accumulation && strcmp(accumulation, "fp32") != 0 && strcmp(accumulation, "bf16sr") != 0)
    return tg_fail(diag, TG_INVALID, "tiling_accum: \"%s\" is none of fp32|bf16sr", accumulation);
  if (check_policies(&own, diag)) return TG_INVALID;
  tg_arena arena = {0};
  w.array = tg_sweep_array_name(&arena, w.compile.arch, w.compile.settings, w.compile.setting_count);
  status = sweep(&w, out_json, diag);
  tg_arena_release(&arena);
  return status;
}

tg_status tg_session_sweep(tg_session *session, const tg_session_sweep_options *options, char **out_json,
                           tg_diag *diag) {
  TG_GUARDED(diag, sweep_guarded(session, options, out_json, diag));
}
