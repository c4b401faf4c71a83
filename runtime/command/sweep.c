/* tegula sweep: a model under every precision policy, with both accumulations. */
#include "runtime/sweep/sweep.h"
#include "frontend/base/output_file.h"
#include "runtime/command/command.h"
#include "runtime/json_text.h"

#include <string.h>

static const char *const accumulations[] = {"fp32", "bf16sr"};

enum { MOST_ARRAYS = 256, MOST_SETTINGS = 32 };

/* An array to try: `--arch` and settings of one value each. */
typedef struct target {
  const char *arch; /* NULL: not given */
  const char *settings[MOST_SETTINGS];
  size_t setting_count;
  const char *name; /* of rows */
} target;

/* The n-th of "key=a,b,c" as "key=b"; NULL: there are fewer. */
static const char *nth_value(tg_arena *arena, const char *setting, size_t n) {
  size_t key = strcspn(setting, "=");
  const char *at = setting[key] ? setting + key + 1 : setting + key;
  for (; n && *at; n--) at += strcspn(at, ","), at += *at == ',';
  if (n || (!*at && at != setting + key)) return NULL;
  return tg_arena_printf(arena, "%.*s=%.*s", (int)key, setting, (int)strcspn(at, ","), at);
}

static const char *name_of(tg_arena *arena, const target *t) {
  const char *name = t->arch ? t->arch : "edge";
  const char *stem = strrchr(name, '/') ? strrchr(name, '/') + 1 : name;
  name = tg_arena_strndup(arena, stem, strcspn(stem, "."));
  for (size_t i = 0; i < t->setting_count; i++) name = tg_arena_printf(arena, "%s %s", name, t->settings[i]);
  return name;
}

/* Every --arch with every combination of the values of --set. */
static tg_status expand(tg_context *context, target *targets, size_t *out_count) {
  const tg_options *o = &context->options;
  size_t archs = o->counts[TG_OPT_ARCH], sets = o->counts[TG_OPT_SET];
  *out_count = 0;
  if (sets > MOST_SETTINGS) return tg_fail(&context->diag, TG_INVALID, "--set: at most %d", MOST_SETTINGS);
  for (size_t a = 0; a < (archs ? archs : 1); a++) {
    size_t first = *out_count;
    if (first == MOST_ARRAYS)
      return tg_fail(&context->diag, TG_INVALID, "--arch, --set: more than %d arrays", MOST_ARRAYS);
    targets[(*out_count)++] = (target){.arch = archs ? o->values[TG_OPT_ARCH][a] : NULL};
    for (size_t s = 0; s < sets; s++) {
      size_t end = *out_count;
      for (size_t t = first; t < end; t++) {
        const target plain = targets[t];
        const char *value;
        for (size_t n = 0; (value = nth_value(&context->arena, o->values[TG_OPT_SET][s], n)); n++) {
          size_t at = n ? (*out_count)++ : t;
          if (at == MOST_ARRAYS)
            return tg_fail(&context->diag, TG_INVALID, "--arch, --set: more than %d arrays", MOST_ARRAYS);
          targets[at] = plain;
          targets[at].settings[targets[at].setting_count++] = value;
        }
      }
    }
  }
  for (size_t t = 0; t < *out_count; t++) targets[t].name = name_of(&context->arena, &targets[t]);
  return TG_OK;
}

/* What is compiled from now on is for this array. */
static void choose(tg_context *context, target *t) {
  tg_options *o = &context->options;
  o->values[TG_OPT_SET] = t->settings;
  o->counts[TG_OPT_SET] = o->capacities[TG_OPT_SET] = t->setting_count;
  if (!t->arch) return;
  o->values[TG_OPT_ARCH] = &t->arch;
  o->counts[TG_OPT_ARCH] = o->capacities[TG_OPT_ARCH] = 1;
}

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

/* One run. */
static tg_status run(tg_context *context, const tg_sweep_policy *policy, const char *accumulation,
                     json_t **out_row) {
  const tg_options *o = &context->options;
  tg_compile_options precision = policy->precision;
  precision.tiling_accum = accumulation;
  tg_session *session;
  *out_row = NULL;
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
  if (!status) *out_row = tg_sweep_row(session, policy->name, accumulation);
  tg_session_close(session);
  return status;
}

/* One row. A policy that the model cannot have, or an array that it does not fit, is a row, too; that the very first run
 * cannot be is the end, since all are compared with it. */
static tg_status add_row(tg_context *context, const target *t, const tg_sweep_policy *policy,
                         const char *accumulation, bool first, bool shown, json_t *rows, json_t **out_mp0) {
  json_t *row;
  tg_status status = run(context, policy, accumulation, &row);
  if (status && (first || status != TG_INVALID)) return status;
  if (status) row = tg_sweep_failed_row(policy->name, accumulation, context->diag.message);
  context->diag = (tg_diag){""};
  json_object_set_new(row, "array", tg_json_text(t->name));
  if (first) *out_mp0 = json_incref(row);
  if (shown)
    json_array_append_new(rows, row);
  else
    json_decref(row);
  return TG_OK;
}

static tg_status run_all(tg_context *context, target *targets, size_t count, json_t *rows, json_t **out_mp0) {
  const char *only = tg_option_text(&context->options, TG_OPT_TILING_ACCUM, NULL);
  tg_status status = TG_OK;
  for (size_t t = 0; t < count; t++) {
    choose(context, &targets[t]);
    for (const tg_sweep_policy *policy = tg_sweep_policies; policy->name; policy++)
      for (int a = 0; a < 2; a++) {
        bool first = !t && policy == tg_sweep_policies && a == 0,
             shown = is_chosen(&context->options, policy->name);
        if (only && strcmp(only, accumulations[a])) shown = false;
        if (first || shown)
          status = add_row(context, &targets[t], policy, accumulations[a], first, shown, rows, out_mp0);
        if (status) return status;
      }
  }
  return TG_OK;
}

typedef enum format { CSV, PLOT, ENERGY_PLOT } format;

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
    tg_sweep_write_svg(rows, model, format == ENERGY_PLOT, file.stream);
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
  json_t *mp0 = NULL;
  size_t count = 0;
  target *targets = TG_NEW_ARRAY(&context->arena, target, MOST_ARRAYS);
  tg_status status = check_choices(context);
  if (!status) status = expand(context, targets, &count);
  if (!status) status = run_all(context, targets, count, rows, &mp0);
  if (!status) {
    tg_sweep_finish(rows, mp0);
    status = write_file(context, TG_OPT_CSV, CSV, rows);
  }
  if (!status) status = write_file(context, TG_OPT_PLOT, PLOT, rows);
  if (!status) status = write_file(context, TG_OPT_PLOT_ENERGY, ENERGY_PLOT, rows);
  tg_progress(context, NULL);
  if (!status) status = answer(context, rows);
  json_decref(mp0);
  json_decref(rows);
  return status;
}
