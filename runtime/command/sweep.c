/* tegula sweep: a model under every precision policy, with both accumulations. */
#include "runtime/sweep/sweep.h"
#include "frontend/base/output_file.h"
#include "runtime/command/command.h"
#include "runtime/json_text.h"

#include <string.h>

static const char *const accumulations[] = {"fp32", "bf16sr"};

static bool is_chosen(const tg_options *o, const char *policy) {
  if (!tg_given(o, TG_OPT_POLICY)) return true;
  for (size_t i = 0; i < o->counts[TG_OPT_POLICY]; i++)
    if (!strcmp(o->values[TG_OPT_POLICY][i], policy)) return true;
  return false;
}

static tg_status check_choices(tg_context *context) {
  const tg_options *o = &context->options;
  for (size_t i = 0; i < o->counts[TG_OPT_POLICY]; i++) {
    const tg_sweep_policy *policy = tg_sweep_policies;
    while (policy->name && strcmp(policy->name, o->values[TG_OPT_POLICY][i])) policy++;
    if (!policy->name)
      return tg_fail(&context->diag, TG_INVALID, "--policy: there is no policy \"%s\"",
                     o->values[TG_OPT_POLICY][i]);
  }
  return TG_OK;
}

/* One run. `*out_cycles` 0: it could not be compiled. */
static tg_status run(tg_context *context, const tg_sweep_policy *policy, const char *accumulation,
                     json_t **out_row, uint64_t *out_cycles) {
  const tg_options *o = &context->options;
  tg_compile_options precision = policy->precision;
  precision.tiling_accum = accumulation;
  tg_session *session;
  *out_row = NULL;
  *out_cycles = 0;
  tg_status status = tg_open_under(context, &precision, &session);
  if (status) return status;
  tg_session_run_options options = {.engine = "systemc",
                                    .threads = (int)tg_option_number(o, TG_OPT_THREADS, 0),
                                    .timing_only = tg_given(o, TG_OPT_TIMING_ONLY),
                                    .max_cycles = tg_option_number(o, TG_OPT_MAX_CYCLES, 0)};
  tg_progress(context, tg_arena_printf(&context->arena, "%s, %s", policy->name, accumulation));
  status = options.timing_only ? TG_OK : tg_bind_inputs(context, session);
  if (!status) status = tg_session_run(session, &options, &context->diag);
  if (!status) status = tg_session_measure_cpu(session, false, options.threads, &context->diag);
  if (!status) {
    *out_row = tg_sweep_row(session, policy->name, accumulation);
    *out_cycles = (uint64_t)json_integer_value(json_object_get(*out_row, "cycles"));
  }
  tg_session_close(session);
  return status;
}

/* A policy that this model cannot have under is a row; that mp0 cannot is the end. */
static tg_status run_all(tg_context *context, json_t *rows, uint64_t *out_mp0) {
  const char *only = tg_option_text(&context->options, TG_OPT_TILING_ACCUM, NULL);
  for (const tg_sweep_policy *policy = tg_sweep_policies; policy->name; policy++)
    for (int a = 0; a < 2; a++) {
      bool first = policy == tg_sweep_policies && a == 0, shown = is_chosen(&context->options, policy->name);
      if (only && strcmp(only, accumulations[a])) shown = false;
      if (!first && !shown) continue;
      json_t *row;
      uint64_t cycles;
      tg_status status = run(context, policy, accumulations[a], &row, &cycles);
      if (status && (first || status != TG_INVALID)) return status;
      if (status) row = tg_sweep_failed_row(policy->name, accumulations[a], context->diag.message);
      context->diag = (tg_diag){""};
      if (first) *out_mp0 = cycles;
      if (shown)
        json_array_append_new(rows, row);
      else
        json_decref(row);
    }
  return TG_OK;
}

typedef enum format { CSV, PLOT } format;

static tg_status write_file(tg_context *context, tg_option_id option, format format, const json_t *rows) {
  const char *path = tg_option_text(&context->options, option, NULL), *model;
  if (!path) return TG_OK;
  tg_output_file file;
  tg_status status = tg_one_operand(context, &model);
  if (!status) status = tg_output_open(path, &file, &context->diag);
  if (status) return status;
  if (format == CSV)
    tg_sweep_write_csv(rows, file.stream);
  else
    tg_sweep_write_svg(rows, model, file.stream);
  return tg_output_commit(&file, &context->diag);
}

static tg_status answer(tg_context *context, json_t *rows) {
  const char *model;
  tg_status status = tg_one_operand(context, &model);
  if (status) return status;
  json_t *all = json_object();
  json_object_set_new(all, "tegula", json_string(tg_version()));
  json_object_set_new(all, "model", tg_json_text(model));
  json_object_set(all, "rows", rows);
  if (tg_answer_as_text(context, all)) tg_sweep_print(rows, stdout);
  json_decref(all);
  return TG_OK;
}

tg_status tg_command_sweep(tg_context *context) {
  json_t *rows = json_array();
  uint64_t mp0 = 0;
  tg_status status = check_choices(context);
  if (!status) status = run_all(context, rows, &mp0);
  if (!status) {
    tg_sweep_finish(rows, mp0);
    status = write_file(context, TG_OPT_CSV, CSV, rows);
  }
  if (!status) status = write_file(context, TG_OPT_PLOT, PLOT, rows);
  tg_progress(context, NULL);
  if (!status) status = answer(context, rows);
  json_decref(rows);
  return status;
}
