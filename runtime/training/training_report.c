/* The report of a training run: that of one step (runtime/report/report.c), and what the run made of it. */
#include "frontend/base/hash.h"
#include "runtime/report/report.h"
#include "runtime/training/run.h"
#include "runtime/training/trainer_state.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

enum { LAST_STEPS = 20 };

static json_t *real(double value) { return isfinite(value) ? json_real(value) : json_null(); }

static json_t *losses(const tg_training_run *run) {
  json_t *object = json_object();
  json_object_set_new(object, "first", run->done ? real((double)run->records[0].loss) : json_null());
  json_object_set_new(object, "last",
                      run->done ? real((double)run->records[run->done - 1].loss) : json_null());
  json_object_set_new(object, "mean_last_20", real(tg_run_mean_loss(run, run->done - LAST_STEPS, run->done)));
  return object;
}

static const char *format_of(tg_dtype dtype) { return dtype == TG_BF16 ? "bf16" : "fp32"; }

/* Formats that the policy has in training; activations and gradients are in the casts of `inspect`. */
static void put_precision(json_t *precision, const tg_training_options *o) {
  json_object_set_new(precision, "parameters", json_string(format_of(o->parameters)));
  json_object_set_new(precision, "fp32_params", json_boolean(o->fp32_params));
  json_object_set_new(precision, "param_rounding", json_string(o->stochastic ? "sr" : "nearest"));
  json_object_set_new(precision, "optimizer_state", json_string(format_of(o->state)));
  json_object_set_new(precision, "weight_grad_reduce", json_string(o->reduce_bf16sr ? "bf16sr" : "fp32"));
}

static void put_rates(json_t *report, const tg_training_run *run) {
  const tg_session *s = run->trainer->session;
  double clock = 1e6 * s->program->params.clock_mhz;
  json_object_set_new(report, "samples", json_integer(run->batch));
  json_object_set_new(report, "samples_per_second",
                      s->result.cycles ? real((double)run->batch * clock / (double)s->result.cycles)
                                       : json_null());
  json_t *host = json_object_get(report, "host");
  int64_t steps = run->done - run->resumed_at;
  json_object_del(host, "cpu_seconds");
  json_object_del(host, "slowdown_vs_cpu");
  json_object_set_new(host, "simulation_seconds", real(run->engine_seconds));
  json_object_set_new(host, "steps_per_second", real((double)steps / run->host_seconds));
  json_object_set_new(host, "samples_per_second", real((double)(steps * run->batch) / run->host_seconds));
}

/* Sums of partial weight gradients: tensors, bytes of the sums that go from part to part. Of the program:
 * bytes of those that cross lanes, and cycles of the sections that make them, products included. */
static json_t *reduction(const tg_training_run *run, const json_t *of_program) {
  const tg_training_options *o = &run->trainer->options.step;
  uint64_t tensors = 0, bytes = 0;
  TG_FOR_NODES(run->trainer->lowered, node) {
    if (node->op != TG_OP_MATMUL || tg_attr_int(node, TG_ATTR_PARTIALS) < 2) continue;
    uint64_t sums = (uint64_t)tg_attr_int(node, TG_ATTR_PARTIALS) - 1;
    tensors++;
    bytes += sums * (uint64_t)tg_value_elements(tg_out(node)) * (o->reduce_bf16sr ? 2 : 4);
  }
  return json_pack("{s:I, s:i, s:s, s:I, s:O, s:O}", "tensors", (json_int_t)tensors, "partials", o->partials,
                   "precision", o->reduce_bf16sr ? "bf16sr" : "fp32", "bytes", (json_int_t)bytes,
                   "lane_bytes", json_object_get(of_program, "lane_bytes"), "cycles",
                   json_object_get(of_program, "cycles"));
}

static json_t *digest(const tg_hasher *hasher) {
  char text[24];
  snprintf(text, sizeof text, "%016" PRIx64, tg_hasher_sum(hasher));
  return json_string(text);
}

/* Hashes of the bits: of the loss before each step, and of the parameters as they are now. Did training move? */
static json_t *digests(const tg_training_run *run) {
  const tg_trainer *t = run->trainer;
  tg_hasher losses, parameters;
  tg_hasher_start(&losses);
  tg_hasher_start(&parameters);
  for (int64_t i = 0; i < run->done; i++)
    tg_hasher_add(&losses, &run->records[i].loss, sizeof run->records[i].loss);
  for (int i = 0; i < tg_trainer_parameter_count(t); i++) {
    tg_arena scratch = {0};
    size_t count = (size_t)tg_trainer_parameter(t, i)->count;
    float *values = TG_NEW_ARRAY(&scratch, float, count + 1);
    tg_trainer_read_parameter(t, i, values);
    tg_hasher_add(&parameters, values, count * sizeof *values);
    tg_arena_release(&scratch);
  }
  return json_pack("{s:o, s:o}", "losses", digest(&losses), "parameters", digest(&parameters));
}

/* Losses as they went, at most MOST_POINTS of them, evenly. */
static json_t *curve(const tg_training_run *run) {
  enum { MOST_POINTS = 2000 };
  json_t *step = json_array(), *loss = json_array(), *scale = json_array(), *skipped = json_array();
  int64_t every = run->done / MOST_POINTS + 1;
  for (int64_t i = 0; i < run->done; i += every) {
    const tg_step_record *r = &run->records[i];
    json_array_append_new(step, json_integer(i));
    json_array_append_new(loss, real((double)r->loss));
    json_array_append_new(scale, real((double)r->scale));
    json_array_append_new(skipped, json_integer(r->skipped));
  }
  return json_pack("{s:o, s:o, s:o, s:o}", "step", step, "loss", loss, "scale", scale, "skipped", skipped);
}

/* Steps that were taken with a loss that is no number, and the first of them. */
static json_t *not_finite(const tg_training_run *run) {
  int64_t count = 0, first = -1;
  for (int64_t i = 0; i < run->done; i++) {
    if (run->records[i].skipped || isfinite(run->records[i].loss)) continue;
    if (!count++) first = i;
  }
  return json_pack("{s:I, s:o}", "steps", (json_int_t)count, "first",
                   count ? json_integer(first) : json_null());
}

json_t *tg_run_report(const tg_training_run *run, const tg_evaluation *evaluation) {
  static const char *const of_one_run[] = {"cpu_reference", "speedup_vs_cpu", "error_vs_fp32"};
  const tg_trainer *t = run->trainer;
  json_t *report = tg_report(t->session);
  for (size_t i = 0; i < sizeof of_one_run / sizeof *of_one_run; i++) json_object_del(report, of_one_run[i]);
  put_precision(json_object_get(report, "precision"), &t->options.step);
  put_rates(report, run);
  json_object_set_new(report, "cycles_from",
                      !t->session->result.cycles ? json_null()
                                                 : json_string(run->cycles ? t->engine->name : "systemc"));
  json_object_set(report, "training", run->options);
  json_object_set_new(report, "steps", json_integer(run->done));
  json_object_set_new(report, "resumed_at", run->resumed_at ? json_integer(run->resumed_at) : json_null());
  json_object_set_new(report, "skipped_steps", json_integer(tg_run_skipped(run)));
  json_object_set_new(report, "not_finite", not_finite(run));
  json_object_set_new(report, "loss_scale",
                      t->options.step.scale_loss ? real(run->scaler.scale) : json_null());
  json_object_set_new(report, "loss", losses(run));
  json_object_set_new(report, "curve", curve(run));
  json_object_set_new(report, "output_digests", digests(run));
  json_t *sums = reduction(run, json_object_get(report, "reduction"));
  json_object_set_new(report, "reduction", sums);
  json_object_set_new(report, "evaluation",
                      !evaluation
                          ? json_null()
                          : json_pack("{s:I, s:o, s:o}", "rows", (json_int_t)evaluation->rows, "loss",
                                      real(evaluation->loss), "accuracy", real(evaluation->accuracy)));
  return report;
}

static double number(const json_t *object, const char *key) {
  const json_t *value = json_object_get(object, key);
  return json_is_number(value) ? json_number_value(value) : NAN;
}

void tg_run_print(const json_t *report, bool verbose, FILE *out) {
  const json_t *loss = json_object_get(report, "loss"), *evaluation = json_object_get(report, "evaluation"),
               *host = json_object_get(report, "host");
  tg_report_print(report, verbose, out);
  fprintf(out, "  %-14s %lld of %lld samples, %lld skipped\n", "steps",
          (long long)json_integer_value(json_object_get(report, "steps")),
          (long long)json_integer_value(json_object_get(report, "samples")),
          (long long)json_integer_value(json_object_get(report, "skipped_steps")));
  fprintf(out, "  %-14s %.6g at first, %.6g in the last, %.6g in the mean of the last %d\n", "loss",
          number(loss, "first"), number(loss, "last"), number(loss, "mean_last_20"), LAST_STEPS);
  const json_t *lost = json_object_get(report, "not_finite");
  if (number(lost, "steps") > 0)
    fprintf(out, "  %-14s the loss of %.0f steps is no finite number, first that of step %.0f\n",
            "not finite", number(lost, "steps"), number(lost, "first"));
  fprintf(out, "  %-14s %.4g steps/s, %.4g samples/s\n", "on this host", number(host, "steps_per_second"),
          number(host, "samples_per_second"));
  const json_t *sums = json_object_get(report, "reduction");
  if (number(sums, "tensors") > 0)
    fprintf(
        out,
        "  %-14s %.0f weight gradients of %.0f parts in %s: %.0f bytes, %.0f cycles with their products\n",
        "reduction", number(sums, "tensors"), number(sums, "partials"),
        json_string_value(json_object_get(sums, "precision")), number(sums, "bytes"), number(sums, "cycles"));
  if (!json_is_object(evaluation)) return;
  fprintf(out, "  %-14s loss %.6g", "evaluation", number(evaluation, "loss"));
  if (!isnan(number(evaluation, "accuracy")))
    fprintf(out, ", accuracy %.2f %%", 100 * number(evaluation, "accuracy"));
  fprintf(out, " on %lld rows\n", (long long)json_integer_value(json_object_get(evaluation, "rows")));
}
