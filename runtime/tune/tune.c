#include "runtime/tune/tune.h"

#include "runtime/json_text.h"
#include "runtime/session/compare.h"

#include <math.h>
#include <string.h>

static const char *const policies[] = {"mp1", "mp2", "mp3", "mp4"};
static const char *const metric_names[] = {"rms", "max", "cosine", "task"};

/* A point that ran elsewhere before it was asked for. */
typedef struct foreseen {
  const int *assignment;
  uint64_t below;
  tg_tune_point point;
} foreseen;

typedef struct tuner {
  const tg_tune_request *r;
  tg_arena *arena;
  tg_tune_model model;
  float **wanted; /* outputs in FP32 */
  int runs;
  foreseen *cache; /* of the last `foresee` */
  int cached;
} tuner;

/* --- errors */

static tg_status check_labels(const tuner *t, const tg_session *s, tg_diag *diag) {
  const tg_tensor_info *scores = &s->outputs[0];
  int64_t classes = scores->rank ? scores->dims[scores->rank - 1] : 1, rows = scores->count / classes;
  if (t->r->label_count != rows)
    return tg_fail(diag, TG_INVALID, "%s: holds %lld labels, output \"%s\" has %lld rows of %lld scores",
                   t->r->labels_path, (long long)t->r->label_count, scores->name, (long long)rows,
                   (long long)classes);
  for (int64_t i = 0; i < rows; i++)
    if (!(t->r->labels[i] >= 0 && t->r->labels[i] < (float)classes) ||
        t->r->labels[i] != floorf(t->r->labels[i]))
      return tg_fail(diag, TG_INVALID, "%s: label %lld is %g, output \"%s\" has classes 0 to %lld",
                     t->r->labels_path, (long long)i, (double)t->r->labels[i], scores->name,
                     (long long)classes - 1);
  return TG_OK;
}

/* The share of rows whose largest score, the first of equal ones, is not the label's. */
static double task_error(const tuner *t, const tg_session *s) {
  const tg_tensor_info *scores = &s->outputs[0];
  int64_t classes = scores->dims[scores->rank - 1], rows = t->r->label_count, wrong = 0;
  for (int64_t i = 0; i < rows; i++) {
    const float *row = s->output_data[0] + i * classes;
    int64_t top = -1;
    for (int64_t c = 0; c < classes; c++)
      if (!isnan(row[c]) && (top < 0 || row[c] > row[top])) top = c;
    wrong += (float)top != t->r->labels[i];
  }
  return (double)wrong / (double)rows;
}

static double output_error(tg_tune_metric metric, tg_error_measure e) {
  switch (metric) {
  case TG_TUNE_RMS: return e.rms;
  case TG_TUNE_MAX: return e.max_abs;
  default: return isinf(e.cosine) ? INFINITY : fmax(0, 1 - e.cosine);
  }
}

static double error_of(const tuner *t, const tg_session *s) {
  if (t->r->metric == TG_TUNE_TASK) return task_error(t, s);
  double worst = 0;
  for (int i = 0; i < s->output_count; i++)
    if (s->output_data[i])
      worst = fmax(worst, output_error(t->r->metric,
                                       tg_compare(s->output_data[i], t->wanted[i], s->outputs[i].count)));
  return worst;
}

/* --- runs */

/* Cycles of the SystemC engine without values; then, if they are few enough, the error on the functional
 * one. */
static tg_status run(tuner *t, tg_session *s, uint64_t below, tg_tune_point *out, tg_diag *diag) {
  tg_session_run_options timing = {
      .engine = "systemc", .threads = t->r->threads, .timing_only = true, .max_cycles = t->r->max_cycles};
  tg_session_run_options values = {.engine = "functional", .threads = t->r->threads};
  tg_status status = tg_session_run(s, &timing, diag);
  if (status) return status;
  *out = (tg_tune_point){.ran = true, .cycles = tg_session_cycles(s), .error = NAN};
  if (out->cycles >= below) return TG_OK;
  status = tg_session_run(s, &values, diag);
  if (!status) out->error = error_of(t, s);
  return status;
}

/* One assignment, here. `first`: that it cannot run is the end. */
static tg_status run_here(tuner *t, const int *assignment, uint64_t below, bool first, tg_tune_point *out,
                          tg_diag *diag) {
  tg_arena scratch = {0};
  tg_session *session = NULL;
  const char **casts = tg_tune_model_casts(&scratch, &t->model, assignment);
  tg_status status = t->r->open(t->r->user, NULL, casts, t->model.id_count, &session, diag);
  if (!status) status = run(t, session, below, out, diag);
  tg_session_close(session);
  tg_arena_release(&scratch);
  if (status != TG_INVALID || first) return status;
  *out = (tg_tune_point){.error = NAN}; /* the array cannot have this one */
  *diag = (tg_diag){""};
  return TG_OK;
}

/* --- runs elsewhere */

static json_t *real(double value) { return isfinite(value) ? json_real(value) : json_null(); }

static json_t *task_of(const tuner *t, const int *assignment, uint64_t below) {
  json_t *choices = json_array();
  for (int n = 0; n < t->model.node_count; n++) json_array_append_new(choices, json_integer(assignment[n]));
  bool bounded = below <= INT64_MAX;
  return json_pack("{s:o, s:o}", "choices", choices, "below",
                   bounded ? json_integer((json_int_t)below) : json_null());
}

static json_t *answer_of(const tg_tune_point *point) {
  return json_pack("{s:b, s:I, s:o, s:b}", "ran", point->ran, "cycles", (json_int_t)point->cycles, "error",
                   real(point->error), "infinite", isinf(point->error) != 0);
}

static tg_tune_point point_of(const json_t *answer) {
  const json_t *error = json_object_get(answer, "error");
  double other = json_is_true(json_object_get(answer, "infinite")) ? INFINITY : NAN;
  return (tg_tune_point){.ran = json_is_true(json_object_get(answer, "ran")),
                         .cycles = (uint64_t)json_integer_value(json_object_get(answer, "cycles")),
                         .error = json_is_number(error) ? json_number_value(error) : other};
}

/* Runs assignments elsewhere and keeps what they gave, in place of what is kept from before. */
static tg_status foresee(void *user, const int *const *assignments, int count, uint64_t below,
                         tg_diag *diag) {
  tuner *t = user;
  json_t **tasks = TG_NEW_ARRAY(t->arena, json_t *, (size_t)count),
         **answers = TG_NEW_ARRAY(t->arena, json_t *, (size_t)count);
  for (int i = 0; i < count; i++) tasks[i] = task_of(t, assignments[i], below);
  tg_status status = t->r->spread(t->r->user, tasks, count, answers, diag);
  t->cache = TG_NEW_ARRAY(t->arena, foreseen, (size_t)count);
  t->cached = 0;
  for (int i = 0; i < count; i++) {
    if (!status) t->cache[t->cached++] = (foreseen){assignments[i], below, point_of(answers[i])};
    json_decref(tasks[i]);
    json_decref(answers[i]);
  }
  return status;
}

static const foreseen *find_foreseen(const tuner *t, const int *assignment, uint64_t below) {
  size_t bytes = (size_t)t->model.node_count * sizeof *assignment;
  for (int i = 0; i < t->cached; i++)
    if (t->cache[i].below == below && !memcmp(t->cache[i].assignment, assignment, bytes)) return &t->cache[i];
  return NULL;
}

static tg_status evaluate(void *user, const int *assignment, uint64_t below, const char *what,
                          tg_tune_point *out, tg_diag *diag) {
  tuner *t = user;
  if (t->r->progress) t->r->progress(t->r->user, t->runs, what);
  bool first = t->runs++ == 0;
  if (first || !t->r->spread) return run_here(t, assignment, below, first, out, diag);
  tg_status status = find_foreseen(t, assignment, below) ? TG_OK : foresee(t, &assignment, 1, below, diag);
  if (!status) *out = find_foreseen(t, assignment, below)->point;
  return status;
}

static tg_status describe(tuner *t, tg_diag *diag) {
  tg_session *plain, *decided;
  tg_status status = t->r->open(t->r->user, NULL, NULL, 0, &plain, diag);
  if (status) return status;
  if (t->r->metric == TG_TUNE_TASK) status = check_labels(t, plain, diag);
  t->wanted = tg_session_output_buffers(plain, t->arena);
  if (!status) status = tg_session_fp32_outputs(plain, t->r->threads, t->wanted, diag);
  tg_tune_model_begin(t->arena, plain, t->r->formats, &t->model);
  bool bf16 = t->r->formats >> 2 & 1;
  for (size_t i = 0; !status && bf16 && i < sizeof policies / sizeof *policies; i++) {
    status = t->r->open(t->r->user, policies[i], NULL, 0, &decided, diag);
    if (status) break;
    tg_tune_model_add_policy(t->arena, plain, decided, policies[i], &t->model);
    tg_session_close(decided);
  }
  tg_tune_model_add_uniform(t->arena, &t->model);
  tg_session_close(plain);
  return status;
}

/* --- the report */

static json_t *point(const tuner *t, const tg_tune_result *r, const char *name, const tg_tune_point *p) {
  json_t *row = json_pack("{s:s}", "name", name);
  json_object_set_new(row, "cycles", p->ran ? json_integer((json_int_t)p->cycles) : json_null());
  json_object_set_new(row, "speedup_over_mp0",
                      p->ran && p->cycles ? json_real((double)r->base.cycles / (double)p->cycles)
                                          : json_null());
  json_object_set_new(row, "error", p->ran ? real(p->error) : json_null());
  json_object_set_new(row, "met", json_boolean(p->ran && p->error <= t->r->max_error));
  return row;
}

static json_t *alone(const tg_tune_result *r, const tg_tune_operator *op, const tg_tune_point *points) {
  json_t *rows = json_array();
  for (int c = 1; c <= op->alone; c++) {
    if (!points[c].ran) continue;
    json_int_t saved = (json_int_t)r->base.cycles - (json_int_t)points[c].cycles;
    json_array_append_new(rows, json_pack("{s:s, s:I, s:o}", "format", op->labels[c], "cycles_saved", saved,
                                          "error", real(points[c].error)));
  }
  return rows;
}

static json_t *operators(const tuner *t, const tg_tune_result *r) {
  json_t *rows = json_array();
  for (int n = 0; n < t->model.node_count; n++) {
    const tg_tune_node *node = &t->model.nodes[n];
    const tg_tune_operator *op = &t->model.operators[n];
    int c = r->choice[n];
    if (!op->alone && !c) continue; /* a move as it comes */
    json_array_append_new(rows,
                          json_pack("{s:o, s:I, s:s, s:o, s:o, s:o}", "node", tg_json_text(node->name), "id",
                                    (json_int_t)node->id, "operator", node->op, "format",
                                    r->met ? json_string(op->labels[c]) : json_null(), "rule",
                                    r->met && node->rules[c] ? json_string(node->rules[c]) : json_null(),
                                    "alone", alone(r, op, r->alone[n])));
  }
  return rows;
}

static json_t *report(const tuner *t, const tg_tune_result *r) {
  json_t *all = json_pack("{s:s, s:f, s:b, s:i, s:b}", "metric", metric_names[t->r->metric], "max_error",
                          t->r->max_error, "met", r->met, "runs", r->runs, "complete", r->complete);
  json_t *compared = json_array();
  int products = 0;
  for (int i = 0; i < t->model.start_count; i++)
    json_array_append_new(compared, point(t, r, t->model.starts[i].name, &r->starts[i]));
  for (int n = 0; n < t->model.node_count; n++) products += t->model.nodes[n].product;
  json_object_set_new(all, "products", json_integer(products));
  json_object_set_new(all, "mp0", point(t, r, "mp0", &r->base));
  json_object_set_new(all, "tuned", r->met ? point(t, r, "tuned", &r->best) : json_null());
  json_object_set_new(all, "compared", compared);
  json_object_set_new(all, "operators", operators(t, r));
  return all;
}

tg_status tg_tune(tg_arena *arena, const tg_tune_request *request, tg_tuned *out_tuned, tg_diag *diag) {
  tuner t = {.r = request, .arena = arena};
  tg_tune_result result;
  tg_status status = describe(&t, diag);
  if (status) return status;
  tg_tune_problem problem = {.operator_count = t.model.node_count,
                             .start_count = t.model.start_count,
                             .operators = t.model.operators,
                             .starts = t.model.starts,
                             .max_error = request->max_error,
                             .squares = request->metric == TG_TUNE_RMS || request->metric == TG_TUNE_MAX,
                             .max_runs = request->max_runs,
                             .evaluate = evaluate,
                             .foresee = request->spread ? foresee : NULL,
                             .user = &t};
  status = tg_tune_search(arena, &problem, &result, diag);
  if (status) return status;
  *out_tuned = (tg_tuned){.report = report(&t, &result), .met = result.met, .count = t.model.id_count};
  out_tuned->casts = tg_tune_model_casts(arena, &t.model, result.choice);
  return TG_OK;
}

/* The choices of a task, each a candidate of its operator. */
static tg_status read_choices(const tuner *t, const json_t *task, int *out_choices, tg_diag *diag) {
  const json_t *choices = json_object_get(task, "choices");
  bool good = json_array_size(choices) == (size_t)t->model.node_count;
  for (int n = 0; good && n < t->model.node_count; n++) {
    const json_t *choice = json_array_get(choices, (size_t)n);
    out_choices[n] = (int)json_integer_value(choice);
    good = json_is_integer(choice) && json_integer_value(choice) >= 0 &&
           json_integer_value(choice) < t->model.operators[n].candidates;
  }
  return good ? TG_OK : tg_fail(diag, TG_INVALID, "--task: is no task of this model");
}

tg_status tg_tune_task(tg_arena *arena, const tg_tune_request *request, const json_t *task,
                       json_t **out_answer, tg_diag *diag) {
  tuner t = {.r = request, .arena = arena};
  tg_tune_point point = {.error = NAN};
  tg_status status = describe(&t, diag);
  if (status) return status;
  int *choices = TG_NEW_ARRAY(arena, int, (size_t)t.model.node_count + 1);
  const json_t *below = json_object_get(task, "below");
  status = read_choices(&t, task, choices, diag);
  if (!status)
    status = run_here(&t, choices, json_is_integer(below) ? (uint64_t)json_integer_value(below) : UINT64_MAX,
                      false, &point, diag);
  if (!status) *out_answer = answer_of(&point);
  return status;
}
