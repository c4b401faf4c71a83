/* Running the program on an engine. */
#include "frontend/base/guard.h"
#include "runtime/session/engines.h"
#include "runtime/session/session.h"
#include "runtime/session/steady.h"
#include "runtime/trace/watch.h"

#include <string.h>

/* What the caller's progress callback is told, and said. */
typedef struct run_progress {
  tg_session *session;
  const tg_session_run_options *options;
  uint32_t sections;
  bool cancelled;
} run_progress;

static bool proceed(void *user, uint32_t invocation) {
  run_progress *p = user;
  tg_session_calls_back(p->session, true);
  p->cancelled = !p->options->progress(p->options->progress_user, invocation, p->sections);
  tg_session_calls_back(p->session, false);
  return !p->cancelled;
}

/* `steady`: the host's time of the run is that of further ones. */
static tg_status run_engine(tg_session *s, const tg_engine *engine, const tg_run_options *options,
                            bool steady, tg_diag *diag) {
  tg_dram *dram = NULL;
  void *state = NULL;
  tg_status status =
      options->timing_only ? tg_dram_create(s->program, &dram, diag) : tg_session_memory(s, &dram, diag);
  if (status) return status;
  status = engine->open(s->program, options, &state, diag);
  if (!status) {
    status = engine->run(state, dram, options, &s->result, diag);
    if (!status && !options->timing_only) status = tg_session_read_outputs(s, dram, diag);
    if (!status && !options->timing_only) status = tg_session_run_host(s, diag);
    s->host_seconds = s->result.seconds;
    s->host_runs = 1;
    if (!status && steady)
      status = tg_steady_seconds(engine, state, dram, options, s->result.seconds, &s->host_seconds,
                                 &s->host_runs, diag);
    engine->close(state);
  }
  tg_dram_destroy(dram);
  return status;
}

static tg_status run_session(tg_session *session, const tg_session_run_options *options, tg_diag *diag) {
  const tg_engine *engine;
  if (tg_session_check_threads(options->threads, diag)) return TG_INVALID;
  if (options->timing_only && strcmp(options->engine ? options->engine : "systemc", "systemc"))
    return tg_fail(diag, TG_INVALID, "timing_only needs the engine systemc");
  if (options->wave_file && strcmp(options->engine ? options->engine : "systemc", "rtl"))
    return tg_fail(diag, TG_INVALID, "wave_file needs the engine rtl");
  tg_status status = tg_engine_find(options->engine ? options->engine : "systemc", &engine, diag);
  if (status) return status;
  tg_run_options run = {.threads = (uint32_t)options->threads,
                        .timing_only = options->timing_only,
                        .record_events = options->record_events,
                        .max_cycles = options->max_cycles,
                        .wave_file = options->wave_file,
                        .seed = session->program->seed};
  tg_run_result_release(&session->result);
  tg_profile_destroy(session->profile);
  session->profile = NULL;
  session->has_run = session->has_cpu = false;
  tg_session_forget_host(session);
  session->errors = session->golden_errors = NULL;
  memset(session->output_data, 0, (size_t)session->output_count * sizeof *session->output_data);
  memset(session->output_elements, 0, (size_t)session->output_count * sizeof *session->output_elements);
  tg_watch watch;
  status = tg_watch_begin(&watch, session->program, engine, options, diag);
  if (status) return status;
  run.observer = watch.observer;
  run_progress progress = {
      .session = session, .options = options, .sections = session->program->invocation_count};
  if (options->progress) run.proceed = proceed, run.proceed_user = &progress;
  status = run_engine(session, engine, &run, options->steady, diag);
  status = tg_watch_end(&watch, engine->name, &session->result, status, &session->profile, diag);
  if (progress.cancelled) {
    tg_diag_begin(diag);
    return tg_fail(diag, TG_CANCELLED, "%s: the run was cancelled", session->path);
  }
  if (status) return status;
  session->engine = engine->name;
  session->timing_only = options->timing_only;
  session->has_run = true;
  return TG_OK;
}

static tg_status run_guarded(tg_session *session, const tg_session_run_options *options, tg_diag *diag) {
  tg_session_run_options own;
  tg_status status = tg_session_needs(session, true, false, diag);
  if (!status) status = tg_take_options(options, &own, sizeof own, diag);
  if (status) return status;
  locale_t theirs = tg_plain_numbers();
  status = run_session(session, &own, diag);
  uselocale(theirs);
  return status;
}

tg_status tg_session_run(tg_session *session, const tg_session_run_options *options, tg_diag *diag) {
  TG_GUARDED(diag, run_guarded(session, options, diag));
}
