/* tegula run */
#include "runtime/command/advise.h"
#include "runtime/command/numerics.h"
#include "runtime/cpu_reference/cpu_reference.h"
#include "runtime/npy.h"
#include "runtime/numerics/numerics.h"
#include "runtime/report/report.h"
#include "runtime/session/session.h"
#include "runtime/trace/trace.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

static tg_status check(tg_context *context, const tg_session_run_options *run) {
  const tg_options *o = &context->options;
  const char *engine = run->engine;
  if (run->timing_only && strcmp(engine, "systemc"))
    return tg_fail(&context->diag, TG_INVALID, "--timing-only needs --engine systemc");
  if (run->timing_only && tg_given(o, TG_OPT_OUTPUT_DIR))
    return tg_fail(&context->diag, TG_INVALID, "--timing-only computes no outputs for --output-dir");
  if (tg_given(o, TG_OPT_ADVISE) && strcmp(engine, "systemc"))
    return tg_fail(&context->diag, TG_INVALID, "--advise needs --engine systemc");
  if (run->timing_only && tg_given(o, TG_OPT_NUMERICS))
    return tg_fail(&context->diag, TG_INVALID, "--timing-only needs no values: --numerics does");
  if (run->timing_only && tg_given(o, TG_OPT_GOLDEN))
    return tg_fail(&context->diag, TG_INVALID, "--timing-only computes no outputs for --golden");
  if ((run->trace_file || run->profile) && !strcmp(engine, "functional"))
    return tg_fail(&context->diag, TG_INVALID, "--%s needs --engine systemc or rtl",
                   run->trace_file ? "trace" : "profile");
  if (tg_given(o, TG_OPT_ENERGY) && !strcmp(engine, "functional"))
    return tg_fail(&context->diag, TG_INVALID, "--energy needs --engine systemc or rtl: %s counts no actions",
                   engine);
  if (run->trace_file && tg_trace_check(run->trace_file, &context->diag)) return TG_INVALID;
  if (run->wave_file && strcmp(engine, "rtl"))
    return tg_fail(&context->diag, TG_INVALID, "--wave needs --engine rtl");
  return tg_check_numerics(context) ? TG_INVALID : tg_check_reports(context);
}

/* Of each output, in --output-dir. */
static const char **output_files(tg_context *context, const tg_session *session) {
  const char *folder = tg_option_text(&context->options, TG_OPT_OUTPUT_DIR, "");
  int count = tg_session_output_count(session);
  const char **taken = TG_NEW_ARRAY(&context->arena, const char *, (size_t)count + 1),
             **files = TG_NEW_ARRAY(&context->arena, const char *, (size_t)count + 1);
  for (int i = 0; i < count; i++)
    files[i] = tg_tensor_file(&context->arena, folder, tg_session_output(session, i)->name, taken, i);
  return files;
}

/* Before the run: no output takes the place of what is read. */
static tg_status check_output_files(tg_context *context, const tg_session *session) {
  if (!tg_given(&context->options, TG_OPT_OUTPUT_DIR)) return TG_OK;
  const char **files = output_files(context, session);
  for (int i = 0; i < tg_session_output_count(session); i++)
    if (tg_check_unread(context, TG_OPT_OUTPUT_DIR, files[i])) return TG_INVALID;
  return TG_OK;
}

static tg_status write_outputs(tg_context *context, const tg_session *session) {
  const char *folder = tg_option_text(&context->options, TG_OPT_OUTPUT_DIR, NULL);
  if (!folder) return TG_OK;
  if (tg_make_folder(context, folder)) return TG_INVALID;
  const char **files = output_files(context, session);
  for (int i = 0; i < tg_session_output_count(session); i++) {
    const tg_tensor_info *info = tg_session_output(session, i);
    const void *data = tg_session_output_elements(session, i);
    if (!data) continue;
    tg_status status = tg_npy_write(files[i], info->dtype, info->rank, info->dims, data, &context->diag);
    if (status) return status;
  }
  return TG_OK;
}

static tg_status show(tg_context *context, const tg_session *session) {
  const tg_options *o = &context->options;
  tg_status status = write_outputs(context, session);
  for (size_t i = 0; !status && i < o->counts[TG_OPT_REPORT]; i++)
    status = tg_session_write_report(session, o->values[TG_OPT_REPORT][i], &context->diag);
  tg_progress(context, NULL);
  if (status) return status;
  json_t *report = tg_report(session);
  if (tg_answer_as_text(context, report)) tg_report_print(report, context->verbose, stdout);
  json_decref(report);
  return TG_OK;
}

static tg_status compare_golden(tg_context *context, tg_session *session) {
  const tg_options *o = &context->options;
  tg_status status = TG_OK;
  for (size_t i = 0; !status && i < o->counts[TG_OPT_GOLDEN]; i++) {
    const char *name, *path;
    tg_npy array;
    tg_arena arena = {0};
    status = tg_split_option(context, TG_OPT_GOLDEN, o->values[TG_OPT_GOLDEN][i], &name, &path);
    if (!status) status = tg_npy_read(&arena, path, &array, &context->diag);
    for (int k = 0; !status && k < tg_session_output_count(session); k++)
      if (!strcmp(tg_session_output(session, k)->name, name))
        status = tg_npy_take_as(&array, tg_session_output(session, k)->dtype, &context->diag);
    if (!status)
      status = tg_session_compare_golden(session, name, array.rank, array.dims, tg_npy_floats(&arena, &array),
                                         &context->diag);
    tg_arena_release(&arena);
  }
  return status;
}

/* Runs of the CPU reference; 0: not given. */
static tg_status cpu_runs(tg_context *context, tg_option_id option, int *out_runs) {
  uint64_t runs = tg_option_number(&context->options, option, 0);
  *out_runs = (int)runs;
  return runs <= TG_CPU_MOST_RUNS ? TG_OK
                                  : tg_fail(&context->diag, TG_INVALID, "--%s: %llu is more than %d",
                                            option == TG_OPT_CPU_WARMUP ? "cpu-warmup" : "cpu-repeats",
                                            (unsigned long long)runs, TG_CPU_MOST_RUNS);
}

static tg_status execute(tg_context *context, tg_session *session, const tg_session_run_options *run) {
  bool cpu = !tg_given(&context->options, TG_OPT_NO_CPU);
  bool values = !run->timing_only || cpu || tg_given(&context->options, TG_OPT_INPUT);
  tg_status status = cpu_runs(context, TG_OPT_CPU_WARMUP, &session->cpu_warmup);
  if (!status) status = cpu_runs(context, TG_OPT_CPU_REPEATS, &session->cpu_repeats);
  if (!status && values) status = tg_bind_inputs(context, session);
  if (status) return status;
  tg_progress(context, tg_arena_printf(&context->arena, "running on engine %s", run->engine));
  status = tg_session_run(session, run, &context->diag);
  if (status) return status;
  tg_progress(context, cpu ? "measuring the CPU" : "comparing with FP32");
  status = tg_session_measure_cpu(session, cpu, run->threads, &context->diag);
  if (!status) status = compare_golden(context, session);
  if (!status && tg_given(&context->options, TG_OPT_ADVISE)) session->advice = tg_advise(context, session);
  if (!status && tg_given(&context->options, TG_OPT_NUMERICS)) {
    tg_progress(context, "evaluating each operator");
    status = tg_given(&context->options, TG_OPT_POLICY)
                 ? tg_numerics_by_policy(context, TG_NUMERICS_BOUND, &session->numerics)
                 : tg_numerics(session, TG_NUMERICS_BOUND, &session->numerics, &context->diag);
  }
  return status ? status : show(context, session);
}

/* "A:B", "A:" or ":B"; B is included. */
static tg_status trace_window(tg_context *context, tg_session_run_options *run) {
  const char *text = tg_option_text(&context->options, TG_OPT_TRACE_WINDOW, NULL);
  if (!text) return TG_OK;
  if (!run->trace_file) return tg_fail(&context->diag, TG_INVALID, "--trace-window needs --trace");
  unsigned long long first = 0, last = 0;
  char *at = (char *)text;
  errno = 0;
  if (isdigit((unsigned char)*at)) first = strtoull(at, &at, 10);
  bool good = *at == ':' && !errno;
  bool open = good && !at[1];
  if (good && isdigit((unsigned char)at[1]))
    last = strtoull(at + 1, &at, 10), good = !*at && !errno && last >= first;
  else
    good = open && at != text;
  if (!good || (!open && !last))
    return tg_fail(&context->diag, TG_INVALID, "--trace-window: \"%s\" is not A:B with cycles A <= B", text);
  run->trace_begin = first;
  run->trace_end = last;
  return TG_OK;
}

tg_status tg_command_run(tg_context *context) {
  const tg_options *o = &context->options;
  uint64_t threads = tg_option_number(o, TG_OPT_THREADS, 0);
  if (threads > 1024) return tg_fail(&context->diag, TG_INVALID, "--threads: at most 1024");
  tg_session_run_options run = {.engine = tg_option_text(o, TG_OPT_ENGINE, "systemc"),
                                .threads = (int)threads,
                                .timing_only = tg_given(o, TG_OPT_TIMING_ONLY),
                                .max_cycles = tg_option_number(o, TG_OPT_MAX_CYCLES, 0),
                                .wave_file = tg_option_text(o, TG_OPT_WAVE, NULL),
                                .steady = strcmp(tg_option_text(o, TG_OPT_ENGINE, "systemc"), "rtl") != 0,
                                .profile = tg_given(o, TG_OPT_PROFILE),
                                .trace_file = tg_option_text(o, TG_OPT_TRACE, NULL)};
  tg_session *session = NULL;
  if (!strcmp(run.engine, "systemc")) run.profile = true; /* it costs nothing there */
  tg_status status = check(context, &run);
  if (!status) status = trace_window(context, &run);
  if (!status) status = tg_open_session(context, &session);
  if (!status) status = check_output_files(context, session);
  if (!status) status = execute(context, session, &run);
  tg_session_close(session);
  return status;
}
