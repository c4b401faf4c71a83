/* tegula sweep: a model under every precision policy, with both accumulations, on arrays and in batches. */
#include "frontend/base/output_file.h"
#include "runtime/command/numerics.h"
#include "runtime/command/sweep_plan.h"
#include "runtime/json_text.h"
#include "runtime/regress/bounds.h"

#include <string.h>

static const char *const accumulations[] = {"fp32", "bf16sr"};

/* The policies that --batch-sweep takes where none is named. */
static const char *const of_batches[] = {"mp0", "mp1", "mp4"};

static bool is_chosen(const tg_sweep_plan *p, const char *policy) {
  const tg_options *o = &p->context->options;
  bool named = tg_given(o, TG_OPT_POLICY);
  if (!named && !p->batches) return true;
  const char *const *names = named ? o->values[TG_OPT_POLICY] : of_batches;
  size_t count = named ? o->counts[TG_OPT_POLICY] : sizeof of_batches / sizeof *of_batches;
  for (size_t i = 0; i < count; i++)
    if (!strcmp(names[i], policy)) return true;
  return false;
}

static tg_status read_batches(tg_sweep_plan *p) {
  enum { MOST_BATCH = 1024 };
  tg_context *context = p->context;
  const tg_options *o = &context->options;
  const char *memory = tg_option_text(o, TG_OPT_MEMORY, NULL);
  static const tg_option_id only[] = {TG_OPT_MEMORY, TG_OPT_MAX_BATCH},
                            never[] = {TG_OPT_BATCH, TG_OPT_PLOT_ENERGY};
  p->batches = tg_given(o, TG_OPT_BATCH_SWEEP);
  p->most = tg_option_number(o, TG_OPT_MAX_BATCH, MOST_BATCH);
  p->memory = UINT64_MAX;
  for (size_t i = 0; !p->batches && i < sizeof only / sizeof *only; i++)
    if (tg_given(o, only[i]))
      return tg_fail(&context->diag, TG_INVALID, "--%s needs --batch-sweep", tg_option_get(only[i])->name);
  for (size_t i = 0; p->batches && i < sizeof never / sizeof *never; i++)
    if (tg_given(o, never[i]))
      return tg_fail(&context->diag, TG_INVALID, "--%s: --batch-sweep %s", tg_option_get(never[i])->name,
                     i ? "has no errors to draw" : "tries batches by itself");
  if (memory && !tg_bytes_read(memory, &p->memory))
    return tg_fail(&context->diag, TG_INVALID, "--memory: \"%s\" is no size, as 4096, 64M or 1.5GiB", memory);
  return TG_OK;
}

/* Before hours of work: can what is asked for be written? */
static tg_status check_outputs(tg_context *context) {
  static const tg_option_id files[] = {TG_OPT_CSV, TG_OPT_PLOT, TG_OPT_PLOT_ENERGY};
  tg_status status = TG_OK;
  for (size_t i = 0; !status && i < sizeof files / sizeof *files; i++) {
    const char *path = tg_option_text(&context->options, files[i], NULL);
    if (path) status = tg_output_check(path, &context->diag);
  }
  return status;
}

static void make_plan(tg_sweep_plan *p, tg_sweep_target *targets, size_t count) {
  tg_context *context = p->context;
  const char *only =
      tg_option_text(&context->options, TG_OPT_TILING_ACCUM, p->batches ? accumulations[0] : NULL);
  for (size_t t = 0; t < count; t++)
    for (const tg_sweep_policy *policy = tg_sweep_policies; policy->name; policy++)
      for (int a = 0; a < 2; a++) {
        bool shown = is_chosen(p, policy->name) && !(only && strcmp(only, accumulations[a]) != 0);
        if (!shown && p->count) continue;
        tg_sweep_point one = {
            .target = &targets[t], .policy = policy, .accumulation = accumulations[a], .shown = shown};
        TG_PUSH(&context->arena, p->points, p->count, p->capacity, one);
      }
}

/* A policy that the model cannot have, an array that it does not fit, or a run for which the host has no memory is a row,
 * too; that the very first run cannot be is the end, since all are compared with it. */
static tg_status settle(tg_sweep_plan *p, tg_sweep_point *one) {
  size_t i;
  json_t *row;
  if (one->status && (one == p->points || one->status != TG_INVALID))
    return tg_fail(&p->context->diag, one->status, "%s", one->refused);
  if (one->status)
    json_array_append_new(one->rows, tg_sweep_failed_row(one->policy->name, one->accumulation, one->refused));
  json_array_foreach(one->rows, i, row) json_object_set_new(row, "array", tg_json_text(one->target->name));
  return TG_OK;
}

/* --- on a cluster: a task is the number of a point; what answers are its rows, or why there is none */

static tg_status finished(void *user, size_t task, const json_t *answer, const char *lost, tg_diag *diag) {
  tg_sweep_plan *p = user;
  tg_sweep_point *one = &p->points[task];
  if (lost)
    return tg_fail(diag, TG_INVALID, "%s, %s, %s: %s", one->policy->name, one->accumulation,
                   one->target->name, lost);
  const char *refused = json_string_value(json_object_get(answer, "refused"));
  one->status = (tg_status)json_integer_value(json_object_get(answer, "status"));
  one->refused = tg_arena_strdup(&p->context->arena, refused ? refused : "");
  one->rows = json_deep_copy(json_object_get(answer, "rows"));
  p->done++;
  return json_is_array(one->rows) ? TG_OK : tg_fail(diag, TG_INVALID, "a job gave no rows");
}

static void again(void *user, size_t task, const char *lost) {
  const tg_sweep_plan *p = user;
  const tg_sweep_point *one = &p->points[task];
  fprintf(stderr, "tegula: %s, %s, %s: %s: tried again\n", one->policy->name, one->accumulation,
          one->target->name, lost);
}

static void tick(void *user, const tg_launched *running, size_t count) {
  const tg_sweep_plan *p = user;
  (void)running;
  char text[80];
  snprintf(text, sizeof text, "%zu of %zu rows, %zu running", p->done, p->count, count);
  tg_progress(p->context, text);
}

static tg_status launch(tg_sweep_plan *p, tg_launcher *launcher) {
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
static tg_status answer_task(tg_sweep_plan *p) {
  json_t *task;
  tg_status status = tg_read_task(p->context, &task);
  if (status) return status;
  json_int_t number = json_integer_value(json_object_get(task, "point"));
  json_decref(task);
  if (number < 0 || (size_t)number >= p->count)
    return tg_fail(&p->context->diag, TG_INVALID, "--task: there is no point %lld", (long long)number);
  tg_sweep_point *one = &p->points[number];
  status = tg_sweep_run_point(p, one, &p->context->diag);
  tg_apart_end(&p->apart);
  if (status) return status;
  json_t *answer = json_pack("{s:i, s:o, s:O}", "status", (int)one->status, "refused",
                             tg_json_text(one->refused ? one->refused : ""), "rows", one->rows);
  tg_print_json(answer);
  json_decref(answer);
  return TG_OK;
}

static tg_status run_all(tg_sweep_plan *p, json_t *rows, json_t **out_mp0) {
  tg_launcher launcher;
  bool slurm;
  tg_status status = tg_choose_launcher(p->context, ".", &launcher, &slurm);
  if (!status && slurm) status = launch(p, &launcher);
  if (!status && !slurm) status = tg_read_piped(p->context); /* processes apart share it */
  for (size_t i = 0; !status && i < p->count; i++) {
    tg_sweep_point *one = &p->points[i];
    if (!slurm) status = tg_sweep_run_point(p, one, &p->context->diag);
    if (!status) status = settle(p, one);
    if (!status && one->shown) json_array_extend(rows, one->rows);
  }
  tg_apart_end(&p->apart);
  if (!status) *out_mp0 = json_incref(json_array_get(p->points[0].rows, 0));
  return status;
}

typedef enum format { CSV, PLOT, ENERGY_PLOT, BATCH_PLOT } format;

static tg_status write_file(tg_context *context, tg_option_id option, format format, const json_t *rows) {
  const char *path = tg_option_text(&context->options, option, NULL), *model;
  if (!path) return TG_OK;
  tg_output_file file;
  tg_status status = tg_one_operand(context, &model);
  if (!status) status = tg_output_open(path, &file, &context->diag);
  if (status) return status;
  json_t *title = tg_json_text(model); /* any bytes as text */
  if (format == CSV)
    tg_sweep_write_csv(rows, file.stream);
  else if (format == BATCH_PLOT)
    tg_sweep_write_batches_svg(rows, json_string_value(title), file.stream);
  else
    tg_sweep_write_svg(rows, json_string_value(title), format == ENERGY_PLOT, file.stream);
  json_decref(title);
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
  if (tg_answer_as_text(context, all))
    (tg_given(&context->options, TG_OPT_BATCH_SWEEP) ? tg_sweep_print_batches : tg_sweep_print)(rows, stdout);
  json_decref(all);
  return TG_OK;
}

static tg_status run_and_write(tg_sweep_plan *p, json_t *rows) {
  tg_context *context = p->context;
  json_t *mp0 = NULL;
  tg_status status = run_all(p, rows, &mp0);
  if (!status) {
    tg_sweep_finish(rows, mp0);
    status = write_file(context, TG_OPT_CSV, CSV, rows);
  }
  if (!status) status = write_file(context, TG_OPT_PLOT, p->batches ? BATCH_PLOT : PLOT, rows);
  if (!status) status = write_file(context, TG_OPT_PLOT_ENERGY, ENERGY_PLOT, rows);
  tg_progress(context, NULL);
  if (!status) status = answer(context, rows);
  json_decref(mp0);
  return status;
}

tg_status tg_command_sweep(tg_context *context) {
  size_t count = 0;
  tg_sweep_plan p = {.context = context};
  tg_sweep_target *targets = TG_NEW_ARRAY(&context->arena, tg_sweep_target, TG_SWEEP_MOST_ARRAYS);
  tg_status status = tg_check_policies(context);
  if (!status) status = read_batches(&p);
  if (!status) status = check_outputs(context);
  if (!status) status = tg_sweep_expand(context, targets, &count);
  if (status) return status;
  make_plan(&p, targets, count);
  json_t *rows = json_array();
  status = tg_given(&context->options, TG_OPT_TASK) ? answer_task(&p) : run_and_write(&p, rows);
  for (size_t i = 0; i < p.count; i++) json_decref(p.points[i].rows);
  json_decref(rows);
  return status;
}
