/* tegula train */
#include "frontend/base/output_file.h"
#include "runtime/command/numerics.h"
#include "runtime/command/train_data.h"
#include "runtime/command/train_options.h"
#include "runtime/numerics/numerics.h"
#include "runtime/report/graph.h"
#include "runtime/report/report.h"
#include "runtime/sweep/sweep.h"
#include "runtime/trace/trace.h"
#include "runtime/training/trainer_state.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { BAR = 24, LINES = 20 };

typedef struct training {
  tg_context *context;
  tg_training_run run;
  tg_array *eval_data, eval_labels;
  tg_evaluation evaluation;
  double shown;    /* host time of the last progress line */
  uint64_t cycles; /* of a step, 0: not known */
  bool warned;     /* of a loss that is no number */
} training;

/* --- progress */

/* Samples a second on the array, or "". */
static const char *array_rate(const training *t, char text[48]) {
  double clock = 1e6 * t->run.trainer->params.clock_mhz;
  uint64_t cycles = t->run.cycles ? t->run.cycles : t->cycles;
  *text = 0;
  if (cycles) snprintf(text, 48, ", array %.3g samples/s", (double)t->run.batch * clock / (double)cycles);
  return text;
}

/* A bar on a terminal, ten times a second. */
static void show_bar(training *t) {
  const tg_training_run *run = &t->run;
  double now = tg_host_seconds();
  if (!t->context->terminal || (now - t->shown < 0.1 && run->done < run->steps)) return;
  t->shown = now;
  char bar[BAR + 1], rate[48];
  for (int i = 0; i < BAR; i++) bar[i] = i * run->steps < BAR * run->done ? '#' : '.';
  bar[BAR] = 0;
  const tg_step_record *last = &run->records[run->done - 1];
  fprintf(stderr, "\r\033[K[%s] %" PRId64 "/%" PRId64 "  loss %.4g%s  host %.3g samples/s%s", bar, run->done,
          run->steps, (double)last->loss, last->skipped ? " (skipped)" : "",
          (double)((run->done - run->resumed_at) * run->batch) / run->host_seconds, array_rate(t, rate));
  fflush(stderr);
}

/* Plain lines at -v, a few dozen of them, and each step that was skipped. */
static void show_line(const training *t) {
  const tg_training_run *run = &t->run;
  const tg_step_record *last = &run->records[run->done - 1];
  int64_t every = run->steps / LINES ? run->steps / LINES : 1;
  if (!t->context->verbose || (!last->skipped && run->done % every && run->done < run->steps)) return;
  tg_progress(t->context, NULL);
  fprintf(stderr, "tegula: step %" PRId64 ": loss %.6g, learning rate %.4g%s", run->done - 1,
          (double)last->loss, tg_schedule_lr(&run->schedule, (uint64_t)run->done - 1),
          last->skipped ? ", skipped" : "");
  if (tg_trainer_options_of(run->trainer)->scale_loss)
    fprintf(stderr, ", loss scale %.6g", (double)last->scale);
  fputc('\n', stderr);
}

/* Once, in good time: what follows is lost. Steps that a loss scale skips are none of it. */
static void warn_of_loss(training *t) {
  const tg_step_record *last = &t->run.records[t->run.done - 1];
  if (t->warned || t->context->quiet || last->skipped || isfinite(last->loss)) return;
  t->warned = true;
  tg_progress(t->context, NULL);
  fprintf(stderr, "tegula: warning: the loss of step %" PRId64 " is %g: the learning rate may be too large\n",
          t->run.done - 1, (double)last->loss);
}

/* --- files */

static tg_status write_gradients(training *t) {
  tg_context *context = t->context;
  const tg_trainer *trainer = t->run.trainer;
  const char *folder = tg_option_text(&context->options, TG_OPT_SAVE_GRADS, NULL);
  if (!folder) return TG_OK;
  int count = tg_trainer_parameter_count(trainer), files = 0;
  const char **taken = TG_NEW_ARRAY(&context->arena, const char *, (size_t)count + 1);
  tg_status status = TG_OK;
  for (int i = 0; i < count && !status; i++) {
    const tg_tensor_info *info = tg_trainer_parameter(trainer, i);
    tg_arena scratch = {0};
    float *data = TG_NEW_ARRAY(&scratch, float, (size_t)info->count + 1);
    if (tg_trainer_read_gradient(trainer, i, data)) {
      const char *path = tg_tensor_file(&context->arena, folder, info->name, taken, files++);
      status = tg_check_unread(context, TG_OPT_SAVE_GRADS, path);
      if (!status) status = tg_npy_write(path, TG_F32, info->rank, info->dims, data, &context->diag);
    }
    tg_arena_release(&scratch);
  }
  return status;
}

static tg_status write_report(const training *t, json_t *report) {
  tg_context *context = t->context;
  const tg_options *o = &context->options;
  tg_status status = TG_OK;
  if (tg_given(o, TG_OPT_REPORT))
    json_object_set_new(report, "graph", tg_report_graph(t->run.trainer->decided));
  for (size_t i = 0; !status && i < o->counts[TG_OPT_REPORT]; i++)
    status = tg_report_write(report, o->values[TG_OPT_REPORT][i], &context->diag);
  return status;
}

/* Said before the first step, not after the last one. */
static tg_status check_outputs(tg_context *context) {
  static const tg_option_id files[] = {TG_OPT_OUTPUT, TG_OPT_SAVE,   TG_OPT_LOSSES, TG_OPT_CSV,
                                       TG_OPT_PLOT,   TG_OPT_REPORT, TG_OPT_TRACE};
  static const tg_option_id folders[] = {TG_OPT_CHECKPOINT, TG_OPT_SAVE_GRADS};
  const tg_options *o = &context->options;
  for (size_t i = 0; i < sizeof files / sizeof *files; i++)
    for (size_t k = 0; k < o->counts[files[i]]; k++)
      if (tg_output_check(o->values[files[i]][k], &context->diag)) return TG_INVALID;
  for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) {
    const char *folder = tg_option_text(o, folders[i], NULL);
    if (folder && tg_make_folder(context, folder)) return TG_INVALID;
  }
  return TG_OK;
}

static tg_status write_results(training *t) {
  tg_context *context = t->context;
  const tg_options *o = &context->options;
  const char *losses = tg_option_text(o, TG_OPT_LOSSES, NULL), *csv = tg_option_text(o, TG_OPT_CSV, NULL),
             *plot = tg_option_text(o, TG_OPT_PLOT, NULL), *save = tg_option_text(o, TG_OPT_SAVE, NULL);
  tg_status status = TG_OK;
  if (save) status = tg_trainer_save(t->run.trainer, save, &context->diag);
  if (!status && losses) status = tg_run_write_losses(&t->run, losses, &context->diag);
  if (!status && csv) status = tg_run_write_csv(&t->run, csv, &context->diag);
  if (!status && plot) status = tg_run_write_svg(&t->run, plot, &context->diag);
  return status;
}

static tg_status report(training *t) {
  tg_context *context = t->context;
  json_t *all = tg_run_report(&t->run, t->eval_data ? &t->evaluation : NULL);
  tg_status status = write_report(t, all);
  tg_progress(context, NULL);
  if (!status && tg_answer_as_text(context, all)) {
    tg_run_print(all, context->verbose, stdout);
    if (json_object_get(all, "numerics"))
      tg_numerics_print(json_object_get(all, "numerics"), context->verbose, stdout);
  }
  json_decref(all);
  return status;
}

/* --- the run */

static tg_status resume(training *t, const char *folder) {
  bool found;
  tg_context *context = t->context;
  if (!tg_given(&context->options, TG_OPT_RESUME)) return TG_OK;
  tg_status status = tg_checkpoint_read(&t->run, folder, &found, &context->diag);
  if (!status && !found && !context->quiet)
    fprintf(stderr, "tegula: %s holds no checkpoint: starting from the beginning\n", folder);
  return status;
}

static tg_status run_steps(training *t) {
  tg_context *context = t->context;
  const tg_options *o = &context->options;
  const char *folder = tg_option_text(o, TG_OPT_CHECKPOINT, NULL);
  int64_t every = (int64_t)tg_option_number(o, TG_OPT_CHECKPOINT_EVERY, 100);
  tg_status status = TG_OK;
  while (!status && t->run.done < t->run.steps) {
    status = tg_run_step(&t->run, &context->diag);
    if (status) break;
    show_bar(t);
    show_line(t);
    warn_of_loss(t);
    if (t->run.done == 1) status = write_gradients(t);
    if (!status && folder && (t->run.done % every == 0 || t->run.done == t->run.steps))
      status = tg_checkpoint_write(&t->run, folder, &context->diag);
  }
  return status;
}

/* The same training under a policy, in values alone, and the errors of a step after it. */
static tg_status numerics_under(tg_context *context, const char *policy, json_t *table) {
  static const tg_option_id without[] = {TG_OPT_CHECKPOINT, TG_OPT_RESUME, TG_OPT_SAVE_GRADS};
  const tg_options theirs = context->options;
  training t = {.context = context, .warned = true};
  tg_session *session = NULL;
  tg_session_run_options run = {.engine = "functional",
                                .threads = (int)tg_option_number(&theirs, TG_OPT_THREADS, 0)};
  tg_diag *diag = &context->diag;
  context->policy = &tg_sweep_policy_named(policy)->precision;
  for (size_t i = 0; i < sizeof without / sizeof *without; i++) context->options.counts[without[i]] = 0;
  tg_status status = tg_load_operand(context, &session);
  if (!status) status = tg_train_set_up(context, session, &t.run);
  if (!status) status = tg_trainer_start(t.run.trainer, &run, diag);
  if (!status) status = run_steps(&t);
  if (!status)
    status =
        tg_trainer_numerics(t.run.trainer, tg_option_real(&theirs, TG_OPT_BOUND, TG_NUMERICS_BOUND), diag);
  if (!status) tg_numerics_add(table, policy, json_incref(t.run.trainer->session->numerics));
  if (status) tg_diag_prefix(diag, "%s", policy);
  tg_trainer_close(t.run.trainer);
  tg_run_release(&t.run);
  tg_session_close(session);
  context->options = theirs;
  context->policy = NULL;
  return status;
}

static tg_status numerics_by_policy(training *t) {
  tg_context *context = t->context;
  const tg_options *o = &context->options;
  json_t *table = tg_numerics_table();
  tg_status status = TG_OK;
  for (size_t i = 0; !status && i < o->counts[TG_OPT_POLICY]; i++)
    status = numerics_under(context, o->values[TG_OPT_POLICY][i], table);
  json_decref(t->run.trainer->session->numerics);
  t->run.trainer->session->numerics = table;
  return status;
}

/* A training that came to nothing is no success, whatever was written. */
static tg_status judge(training *t) {
  const tg_step_record *last = NULL;
  for (int64_t i = 0; i < t->run.done; i++)
    if (!t->run.records[i].skipped) last = &t->run.records[i];
  if (t->run.done && !last)
    return tg_fail(&t->context->diag, TG_MISMATCH, "all %" PRId64 " steps were skipped: nothing was trained",
                   t->run.done);
  if (last && !isfinite(last->loss))
    return tg_fail(&t->context->diag, TG_MISMATCH, "the loss is %g at the end: the training diverged",
                   (double)last->loss);
  return TG_OK;
}

static tg_status execute(training *t) {
  tg_context *context = t->context;
  const tg_options *o = &context->options;
  tg_trainer *trainer = t->run.trainer;
  tg_session_run_options run = {.engine = tg_option_text(o, TG_OPT_ENGINE, "functional"),
                                .threads = (int)tg_option_number(o, TG_OPT_THREADS, 0),
                                .max_cycles = tg_option_number(o, TG_OPT_MAX_CYCLES, 0),
                                .profile = tg_given(o, TG_OPT_PROFILE),
                                .trace_file = tg_option_text(o, TG_OPT_TRACE, NULL)};
  const char *program = tg_option_text(o, TG_OPT_OUTPUT, NULL);
  tg_status status = check_outputs(context);
  if (!status && program) status = tg_session_save(trainer->session, program, &context->diag);
  if (!status) status = tg_trainer_start(trainer, &run, &context->diag);
  if (!status) status = resume(t, tg_option_text(o, TG_OPT_CHECKPOINT, NULL));
  if (!status && (strcmp(run.engine, "functional") == 0 || run.profile || run.trace_file)) {
    tg_progress(context, "timing a step");
    status = tg_trainer_time_step(trainer, &run, &context->diag);
    t->cycles = trainer->session->result.cycles;
  }
  if (!status) status = run_steps(t);
  if (!status && t->eval_data) {
    tg_progress(context, "evaluating");
    status = tg_run_evaluate(&t->run, t->eval_data, &t->eval_labels, &t->evaluation, &context->diag);
  }
  if (!status && tg_given(o, TG_OPT_NUMERICS)) {
    tg_progress(context, "evaluating each operator");
    status = tg_given(o, TG_OPT_POLICY)
                 ? numerics_by_policy(t)
                 : tg_trainer_numerics(trainer, tg_option_real(o, TG_OPT_BOUND, TG_NUMERICS_BOUND),
                                       &context->diag);
  }
  if (!status) status = write_results(t);
  if (!status) status = report(t);
  return status ? status : judge(t);
}

static tg_status check(tg_context *context) {
  const tg_options *o = &context->options;
  if (tg_option_number(o, TG_OPT_THREADS, 0) > 1024)
    return tg_fail(&context->diag, TG_INVALID, "--threads: at most 1024");
  const char *trace = tg_option_text(o, TG_OPT_TRACE, NULL);
  if (trace && tg_trace_check(trace, &context->diag)) return TG_INVALID;
  if (tg_check_numerics(context)) return TG_INVALID;
  return tg_check_reports(context);
}

tg_status tg_command_train(tg_context *context) {
  training t = {.context = context};
  tg_session *session = NULL;
  const char *path;
  tg_status status = check(context);
  if (!status) status = tg_one_operand(context, &path);
  if (!status && !strcmp(path, "-") && tg_given(&context->options, TG_OPT_CHECKPOINT))
    status = tg_fail(&context->diag, TG_INVALID, "--checkpoint needs a model in a file, which it compares");
  if (!status) status = tg_load_operand(context, &session);
  if (!status && tg_session_is_compiled(session))
    status =
        tg_fail(&context->diag, TG_INVALID, "%s is a compiled program: only a model can be trained", path);
  if (!status) status = tg_train_set_up(context, session, &t.run);
  if (!status) status = tg_train_eval_data(context, &t.run, &t.eval_data, &t.eval_labels);
  if (!status) status = execute(&t);
  tg_trainer_close(t.run.trainer);
  tg_run_release(&t.run);
  tg_session_close(session);
  return status;
}
