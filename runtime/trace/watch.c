#include "runtime/trace/watch.h"

#include <string.h>

/* Each call to both; the trace first. */
static void begin(void *user, uint32_t invocation, uint64_t begin, uint64_t config) {
  const tg_watch *w = user;
  const tg_observer *t = tg_trace_observer(w->trace), *p = tg_profile_observer(w->profile);
  t->begin(t->user, invocation, begin, config);
  p->begin(p->user, invocation, begin, config);
}

static void instruction(void *user, const tg_event *event, const tg_execution *x) {
  const tg_watch *w = user;
  const tg_observer *t = tg_trace_observer(w->trace), *p = tg_profile_observer(w->profile);
  t->instruction(t->user, event, x);
  p->instruction(p->user, event, x);
}

static void stall(void *user, const tg_stall *s, const tg_execution *x) {
  const tg_watch *w = user;
  const tg_observer *t = tg_trace_observer(w->trace), *p = tg_profile_observer(w->profile);
  t->stall(t->user, s, x);
  p->stall(p->user, s, x);
}

static void burst(void *user, const tg_burst *b) {
  const tg_watch *w = user;
  const tg_observer *t = tg_trace_observer(w->trace), *p = tg_profile_observer(w->profile);
  t->burst(t->user, b);
  p->burst(p->user, b);
}

static void end(void *user, uint32_t invocation, uint64_t end) {
  const tg_watch *w = user;
  const tg_observer *t = tg_trace_observer(w->trace), *p = tg_profile_observer(w->profile);
  t->end(t->user, invocation, end);
  p->end(p->user, invocation, end);
}

tg_status tg_watch_begin(tg_watch *w, const tg_program *program, const tg_engine *engine,
                         const tg_session_run_options *options, tg_diag *diag) {
  *w = (tg_watch){.both = {w, begin, instruction, stall, burst, end}};
  if (!options->trace_file && !options->profile) return TG_OK;
  if (!strcmp(engine->name, "functional"))
    return tg_fail(diag, TG_INVALID, "engine functional has no time for a %s",
                   options->trace_file ? "trace" : "profile");
  if (options->trace_file) {
    tg_status status = tg_trace_open(options->trace_file, program, options->trace_begin,
                                     options->trace_end ? options->trace_end : UINT64_MAX, &w->trace, diag);
    if (status) return status;
    w->observer = tg_trace_observer(w->trace);
  }
  if (options->profile) {
    w->profile = tg_profile_create(program, 0, UINT64_MAX);
    w->observer = w->trace ? &w->both : tg_profile_observer(w->profile);
  }
  return TG_OK;
}

tg_status tg_watch_end(tg_watch *w, const char *engine, const tg_run_result *result, tg_status status,
                       tg_profile **out_profile, tg_diag *diag) {
  if (w->trace && (!status || status == TG_FAULT)) {
    tg_diag unwritten = {""};
    tg_status written = tg_trace_finish(w->trace, engine, result->cycles, status ? diag->message : NULL,
                                        status ? &unwritten : diag);
    if (!status) status = written;
  } else if (w->trace) {
    tg_trace_abandon(w->trace);
  }
  if (status)
    tg_profile_destroy(w->profile);
  else
    *out_profile = w->profile;
  return status;
}
