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
  for (size_t t = 0; t < *out_count; t++)
    targets[t].name =
        tg_sweep_array_name(&context->arena, targets[t].arch, targets[t].settings, targets[t].setting_count);
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

/* A run that becomes a row. */
typedef struct point {
  target *target;
  const tg_sweep_policy *policy;
  const char *accumulation;
  bool shown;  /* false: mp0 on the first array, with which all are compared, and which nobody asked for */
  json_t *row; /* NULL: it did not run */
  tg_status status; /* of the run; and its line: */
  const char *refused;
} point;

/* All runs of a sweep, in the order of rows; the very first is mp0's on the first array. */
typedef struct plan {
  tg_context *context;
  point *points;
  size_t count, capacity, done;
} plan;

static void make_plan(plan *p, target *targets, size_t count) {
  tg_context *context = p->context;
  const char *only = tg_option_text(&context->options, TG_OPT_TILING_ACCUM, NULL);
  for (size_t t = 0; t < count; t++)
    for (const tg_sweep_policy *policy = tg_sweep_policies; policy->name; policy++)
      for (int a = 0; a < 2; a++) {
        bool shown =
            is_chosen(&context->options, policy->name) && !(only && strcmp(only, accumulations[a]) != 0);
        if (!shown && p->count) continue;
        point one = {
            .target = &targets[t], .policy = policy, .accumulation = accumulations[a], .shown = shown};
        TG_PUSH(&context->arena, p->points, p->count, p->capacity, one);
      }
}

/* A policy that the model cannot have, or an array that it does not fit, is a row, too; that the very first run cannot be is
 * the end, since all are compared with it. */
static tg_status settle(plan *p, point *one) {
  if (one->status && (one == p->points || one->status != TG_INVALID))
    return tg_fail(&p->context->diag, one->status, "%s", one->refused);
  if (one->status) one->row = tg_sweep_failed_row(one->policy->name, one->accumulation, one->refused);
  json_object_set_new(one->row, "array", tg_json_text(one->target->name));
  return TG_OK;
}

static void run_point(plan *p, point *one) {
  tg_context *context = p->context;
  choose(context, one->target);
  one->status = run(context, one->policy, one->accumulation, &one->row);
  one->refused = tg_arena_strdup(&context->arena, context->diag.message);
  context->diag = (tg_diag){""};
}

/* --- on a cluster: a task is the number of a point; what answers is its row, or why there is none */

static tg_status finished(void *user, size_t task, const json_t *answer, const char *lost, tg_diag *diag) {
  plan *p = user;
  point *one = &p->points[task];
  if (lost)
    return tg_fail(diag, TG_INVALID, "%s, %s, %s: %s", one->policy->name, one->accumulation,
                   one->target->name, lost);
  const char *refused = json_string_value(json_object_get(answer, "refused"));
  one->status = (tg_status)json_integer_value(json_object_get(answer, "status"));
  one->refused = tg_arena_strdup(&p->context->arena, refused ? refused : "");
  one->row = json_deep_copy(json_object_get(answer, "row"));
  p->done++;
  return one->status || json_is_object(one->row) ? TG_OK : tg_fail(diag, TG_INVALID, "a job gave no row");
}

static void again(void *user, size_t task, const char *lost) {
  const plan *p = user;
  const point *one = &p->points[task];
  fprintf(stderr, "tegula: %s, %s, %s: %s: tried again\n", one->policy->name, one->accumulation,
          one->target->name, lost);
}

static void tick(void *user, const tg_launched *running, size_t count) {
  const plan *p = user;
  (void)running;
  char text[80];
  snprintf(text, sizeof text, "%zu of %zu rows, %zu running", p->done, p->count, count);
  tg_progress(p->context, text);
}

static tg_status launch(plan *p, tg_launcher *launcher) {
  tg_context *context = p->context;
  tg_launch_task *tasks = TG_NEW_ARRAY(&context->arena, tg_launch_task, p->count);
  json_t *all = json_array();
  int number = 0;
  launcher->finished = finished;
  launcher->again = again;
  launcher->tick = tick;
  launcher->user = p;
  for (size_t i = 0; i < p->count; i++) {
    json_array_append_new(all, json_pack("{s:I}", "point", (json_int_t)i));
    tasks[i] = (tg_launch_task){p->points[i].policy->name, json_array_get(all, i)};
  }
  tg_status status = tg_launch(launcher, &context->arena, tasks, p->count, &number, &context->diag);
  json_decref(all);
  return tg_end_launch(status, number);
}

/* --task: one point, for the process that launched this one. */
static tg_status answer_task(plan *p) {
  json_t *task;
  tg_status status = tg_read_task(p->context, &task);
  if (status) return status;
  json_int_t number = json_integer_value(json_object_get(task, "point"));
  json_decref(task);
  if (number < 0 || (size_t)number >= p->count)
    return tg_fail(&p->context->diag, TG_INVALID, "--task: there is no point %lld", (long long)number);
  point *one = &p->points[number];
  run_point(p, one);
  json_t *answer = json_pack("{s:i, s:o, s:o}", "status", (int)one->status, "refused",
                             tg_json_text(one->refused), "row", one->row ? one->row : json_null());
  one->row = NULL;
  tg_print_json(answer);
  json_decref(answer);
  return TG_OK;
}

static tg_status run_all(plan *p, json_t *rows, json_t **out_mp0) {
  tg_launcher launcher;
  bool slurm;
  tg_status status = tg_choose_launcher(p->context, ".", &launcher, &slurm);
  if (!status && slurm) status = launch(p, &launcher);
  for (size_t i = 0; !status && i < p->count; i++) {
    point *one = &p->points[i];
    if (!slurm) run_point(p, one);
    status = settle(p, one);
    if (!status && one->shown) json_array_append(rows, one->row);
  }
  if (!status) *out_mp0 = json_incref(p->points[0].row);
  for (size_t i = 0; i < p->count; i++) json_decref(p->points[i].row);
  return status;
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
  plan p = {.context = context};
  target *targets = TG_NEW_ARRAY(&context->arena, target, MOST_ARRAYS);
  tg_status status = check_choices(context);
  if (!status) status = expand(context, targets, &count);
  if (!status) make_plan(&p, targets, count);
  if (!status && tg_given(&context->options, TG_OPT_TASK)) {
    json_decref(rows);
    return answer_task(&p);
  }
  if (!status) status = run_all(&p, rows, &mp0);
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
