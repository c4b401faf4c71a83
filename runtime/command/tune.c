/* tegula tune: the fastest precision of each operator that keeps an error, as rules. */
#include "runtime/tune/tune.h"
#include "runtime/command/command.h"
#include "runtime/inspect_casts.h"
#include "runtime/npy.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { DEFAULT_RUNS = 400, MOST_RUNS = 1000000 };

static tg_status open_one(void *user, const char *preset, const char *const *casts, int64_t count,
                          tg_session **out_session, tg_diag *diag) {
  tg_context *context = user;
  tg_status status = preset ? tg_open_decided_under(context, preset, out_session)
                            : tg_open_with_casts(context, casts, count, out_session);
  if (!status && !preset) {
    status = tg_bind_inputs(context, *out_session);
    if (status) {
      tg_session_close(*out_session);
      *out_session = NULL;
    }
  }
  if (status && diag != &context->diag) *diag = context->diag;
  return status;
}

static void progress(void *user, int run, const char *what) {
  tg_context *context = user;
  tg_progress(context, tg_arena_printf(&context->arena, "run %d: %s", run + 1, what));
}

/* --- on a cluster */

/* What a launch of points fills. */
typedef struct spreading {
  tg_context *context;
  json_t **answers;
} spreading;

static tg_status finished(void *user, size_t task, const json_t *answer, const char *lost, tg_diag *diag) {
  spreading *s = user;
  if (lost) return tg_fail(diag, TG_INVALID, "a point of the search: %s", lost);
  s->answers[task] = json_deep_copy(answer);
  return TG_OK;
}

static void again(void *user, size_t task, const char *lost) {
  (void)user;
  fprintf(stderr, "tegula: point %zu of the search: %s: tried again\n", task, lost);
}

static tg_status spread(void *user, json_t *const *tasks, int count, json_t **out_answers, tg_diag *diag) {
  tg_context *context = user;
  spreading s = {context, out_answers};
  tg_launcher launcher;
  tg_launch_task *named = TG_NEW_ARRAY(&context->arena, tg_launch_task, (size_t)count);
  bool slurm;
  int number = 0;
  tg_status status = tg_choose_launcher(context, ".", &launcher, &slurm);
  if (status) return status;
  launcher.finished = finished;
  launcher.again = again;
  launcher.user = &s;
  for (int i = 0; i < count; i++) named[i] = (tg_launch_task){"a point of the search", tasks[i]};
  status = tg_launch(&launcher, &context->arena, named, (size_t)count, &number, diag);
  return tg_end_launch(status, number);
}

/* --task: one point, for the process that launched this one. */
static tg_status answer_task(tg_context *context, const tg_tune_request *request) {
  json_t *task, *answer = NULL;
  tg_status status = tg_read_task(context, &task);
  if (status) return status;
  status = tg_tune_task(&context->arena, request, task, &answer, &context->diag);
  json_decref(task);
  if (!status) tg_print_json(answer);
  json_decref(answer);
  return status;
}

/* --- the request */

static tg_status read_max_error(tg_context *context, double *out_error) {
  const char *text = tg_option_text(&context->options, TG_OPT_MAX_ERROR, NULL);
  char *end;
  if (!text) return tg_fail(&context->diag, TG_INVALID, "tegula tune needs --max-error");
  errno = 0;
  *out_error = strtod(text, &end);
  if (end == text || *end || errno || !isfinite(*out_error))
    return tg_fail(&context->diag, TG_INVALID, "--max-error: \"%s\" is no number", text);
  if (*out_error < 0)
    return tg_fail(&context->diag, TG_INVALID, "--max-error: %s is below zero, which no error is", text);
  return TG_OK;
}

static tg_status read_metric(tg_context *context, tg_tune_request *request) {
  static const char *const names[] = {"rms", "max", "cosine", "task"};
  const char *name = tg_option_text(&context->options, TG_OPT_METRIC, "rms");
  for (int i = 0; i < 4; i++)
    if (!strcmp(name, names[i])) request->metric = (tg_tune_metric)i;
  request->labels_path = tg_option_text(&context->options, TG_OPT_LABELS, NULL);
  bool task = request->metric == TG_TUNE_TASK;
  if (task != (request->labels_path != NULL))
    return tg_fail(&context->diag, TG_INVALID,
                   task ? "--metric task needs --labels" : "--labels is of --metric task only");
  if (!task) return TG_OK;
  tg_npy array;
  tg_status status = tg_npy_read(&context->arena, request->labels_path, &array, &context->diag);
  if (!status) status = tg_npy_take_as(&array, TG_F32, &context->diag);
  if (status) return status;
  request->labels = tg_npy_floats(&context->arena, &array);
  request->label_count = array.count;
  return TG_OK;
}

/* Of "tf32,bf16": a bit for each. */
static tg_status read_formats(tg_context *context, unsigned *out_formats) {
  const char *text = tg_option_text(&context->options, TG_OPT_FORMATS, NULL);
  *out_formats = text ? 0 : TG_TUNE_ALL_FORMATS;
  for (const char *at = text; at && *at;) {
    size_t length = strcspn(at, ",");
    int f = 0;
    while (f < TG_TUNE_FORMATS &&
           (strlen(tg_tune_formats[f]) != length || strncmp(at, tg_tune_formats[f], length) != 0))
      f++;
    if (f == TG_TUNE_FORMATS)
      return tg_fail(&context->diag, TG_INVALID, "--formats: \"%.*s\" is none of tf32, fp16, bf16",
                     (int)length, at);
    *out_formats |= 1u << f;
    at += length + (at[length] == ',');
  }
  return TG_OK;
}

static tg_status read_request(tg_context *context, tg_tune_request *request) {
  const tg_options *o = &context->options;
  uint64_t runs = tg_option_number(o, TG_OPT_MAX_RUNS, DEFAULT_RUNS);
  if (runs > MOST_RUNS) return tg_fail(&context->diag, TG_INVALID, "--max-runs: at most %d", (int)MOST_RUNS);
  request->max_runs = (int)runs;
  request->threads = (int)tg_option_number(o, TG_OPT_THREADS, 0);
  request->max_cycles = tg_option_number(o, TG_OPT_MAX_CYCLES, 0);
  tg_status status = read_max_error(context, &request->max_error);
  if (!status) status = read_formats(context, &request->formats);
  return status ? status : read_metric(context, request);
}

static tg_status write_rules(tg_context *context, const tg_tuned *tuned) {
  const char *path = tg_option_text(&context->options, TG_OPT_OUTPUT, NULL);
  tg_session *session;
  if (!path) return TG_OK;
  tg_status status = tg_open_with_casts(context, tuned->casts, tuned->count, &session);
  if (status) return status;
  const json_t *best = json_object_get(tuned->report, "tuned");
  const char *note = tg_arena_printf(
      &context->arena, "tegula tune --max-error %s: %s error %.3g, %lld cycles, %.2f times as fast as mp0",
      tg_option_text(&context->options, TG_OPT_MAX_ERROR, ""),
      json_string_value(json_object_get(tuned->report, "metric")),
      json_number_value(json_object_get(best, "error")),
      (long long)json_integer_value(json_object_get(best, "cycles")),
      json_number_value(json_object_get(best, "speedup_over_mp0")));
  status = tg_write_cast_rules(session, path, note, &context->diag);
  tg_session_close(session);
  return status;
}

static tg_status missed(tg_context *context, const tg_tuned *tuned) {
  const json_t *error = json_object_get(json_object_get(tuned->report, "mp0"), "error");
  return tg_fail(&context->diag, TG_MISMATCH,
                 "no assignment meets --max-error %s: in the model's own formats the %s error is %g already",
                 tg_option_text(&context->options, TG_OPT_MAX_ERROR, ""),
                 json_string_value(json_object_get(tuned->report, "metric")),
                 json_is_number(error) ? json_number_value(error) : INFINITY);
}

tg_status tg_command_tune(tg_context *context) {
  tg_tune_request request = {.open = open_one, .progress = progress, .user = context};
  tg_tuned tuned = {0};
  tg_launcher launcher;
  bool slurm;
  tg_status status = read_request(context, &request);
  if (!status) status = tg_choose_launcher(context, ".", &launcher, &slurm);
  if (!status && tg_given(&context->options, TG_OPT_TASK)) return answer_task(context, &request);
  if (!status && slurm) request.spread = spread;
  if (!status) status = tg_tune(&context->arena, &request, &tuned, &context->diag);
  if (!status && tuned.met) status = write_rules(context, &tuned);
  tg_progress(context, NULL);
  if (!status && tg_answer_as_text(context, tuned.report)) tg_tune_print(tuned.report, stdout);
  if (!status && !tuned.met) status = missed(context, &tuned);
  json_decref(tuned.report);
  return status;
}
