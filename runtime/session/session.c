/* Loading and closing. */
#include "runtime/session/session.h"
#include "frontend/base/guard.h"
#include "frontend/onnx/onnx.h"
#include "runtime/json_text.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* A program that has set its locale may write commas in numbers, and read none with points. */
locale_t tg_plain_numbers(void) {
  static _Atomic(locale_t) plain;
  locale_t ours = plain;
  if (!ours) {
    locale_t fresh = newlocale(LC_NUMERIC_MASK, "C", (locale_t)0), none = (locale_t)0;
    if (!fresh || atomic_compare_exchange_strong(&plain, &none, fresh))
      ours = fresh;
    else
      freelocale(fresh), ours = none;
  }
  return uselocale(ours);
}

double tg_host_seconds(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Each call tells of itself. */
void tg_diag_begin(tg_diag *diag) {
  if (diag) diag->message[0] = 0;
}

static _Thread_local int calling_back; /* a sweep calls back from within a run, which does so itself */

void tg_session_calls_back(tg_session *session, bool begins) {
  session->calling_back += begins ? 1 : -1;
  calling_back += begins ? 1 : -1;
}

static void log_guarded(void *user, bool warning, const char *line) {
  const tg_guarded_callbacks *own = user;
  tg_session_calls_back(own->session, true);
  own->log(own->log_user, warning, line);
  tg_session_calls_back(own->session, false);
}

static const char *cast_guarded(void *user, const char *node, const char *op, int operand_count,
                                const char *const *dtypes) {
  const tg_guarded_callbacks *own = user;
  tg_session_calls_back(own->session, true);
  const char *rule = own->cast(own->cast_user, node, op, operand_count, dtypes);
  tg_session_calls_back(own->session, false);
  return rule;
}

void tg_session_guard_callbacks(tg_session *session, tg_compile_options *options,
                                tg_guarded_callbacks *out_guarded) {
  *out_guarded = (tg_guarded_callbacks){session, options->log, options->cast_callback, options->log_user,
                                        options->cast_user};
  if (options->log) options->log = log_guarded, options->log_user = out_guarded;
  if (options->cast_callback) options->cast_callback = cast_guarded, options->cast_user = out_guarded;
}

tg_status tg_session_needs(const tg_session *s, bool compiled, bool run, tg_diag *diag) {
  tg_diag_begin(diag);
  if (calling_back) return tg_fail(diag, TG_INVALID, "a callback calls the library");
  if (!s) return tg_fail(diag, TG_INVALID, "no session is given");
  if (compiled && !s->program) return tg_fail(diag, TG_INVALID, "%s: is not compiled", s->path);
  if (run && !s->has_run) return tg_fail(diag, TG_INVALID, "%s: has not run", s->path);
  return TG_OK;
}

tg_status tg_session_check_threads(int threads, tg_diag *diag) {
  enum { MOST_THREADS = 1024 };
  if (threads >= 0 && threads <= MOST_THREADS) return TG_OK;
  return tg_fail(diag, TG_INVALID, "%d threads: 0 to %d are possible", threads, MOST_THREADS);
}

tg_status tg_session_needs_model(const tg_session *s, tg_diag *diag) {
  if (tg_session_needs(s, false, false, diag)) return TG_INVALID;
  if (!s->model || s->program)
    return tg_fail(diag, TG_INVALID, "%s: is compiled already: its sizes are fixed", s->path);
  return TG_OK;
}

static tg_session *create_session(const char *name) {
  tg_json_needs_memory();
  tg_session *s = calloc(1, sizeof *s);
  if (!s) tg_die("out of memory");
  s->path = tg_arena_strdup(&s->arena, name);
  return s;
}

static tg_status loaded(tg_session *s, tg_status status, tg_session **out_session) {
  if (status) {
    tg_session_close(s);
    return status;
  }
  if (s->program) tg_session_describe_program(s);
  *out_session = s;
  return TG_OK;
}

static tg_status load_guarded(const char *path, tg_session **out_session, tg_diag *diag) {
  tg_diag_begin(diag);
  if (!out_session) return tg_fail(diag, TG_INVALID, "no place for the session is given");
  *out_session = NULL;
  if (!path) return tg_fail(diag, TG_INVALID, "no path is given");
  tg_session *s = create_session(path);
  /* What cannot be read is left to the reader of models to refuse. */
  tg_status status = tg_is_program_file(path) ? tg_program_read(path, &s->program, diag)
                                              : tg_onnx_read(&s->arena, path, &s->model, diag);
  return loaded(s, status, out_session);
}

tg_status tg_session_load(const char *path, tg_session **out_session, tg_diag *diag) {
  TG_GUARDED(diag, load_guarded(path, out_session, diag));
}

static tg_status load_memory_guarded(const void *data, size_t size, const char *name,
                                     tg_session **out_session, tg_diag *diag) {
  tg_diag_begin(diag);
  if (!out_session) return tg_fail(diag, TG_INVALID, "no place for the session is given");
  *out_session = NULL;
  if (!data) return tg_fail(diag, TG_INVALID, "no model is given");
  tg_session *s = create_session(name ? name : "memory");
  tg_status status = tg_is_program(data, size)
                         ? tg_program_read_memory(s->path, data, size, &s->program, diag)
                         : tg_onnx_read_memory(&s->arena, s->path, data, size, &s->model, diag);
  return loaded(s, status, out_session);
}

tg_status tg_session_load_memory(const void *data, size_t size, const char *name, tg_session **out_session,
                                 tg_diag *diag) {
  TG_GUARDED(diag, load_memory_guarded(data, size, name, out_session, diag));
}

tg_status tg_session_again(const tg_session *session, tg_session **out_session) {
  tg_session *s = create_session(session->path);
  s->model = tg_graph_clone(session->model, &s->arena);
  for (size_t i = 0; i < session->fixed_count; i++)
    TG_PUSH(&s->arena, s->fixed, s->fixed_count, s->fixed_capacity, session->fixed[i]);
  *out_session = s;
  return TG_OK;
}

void tg_session_close(tg_session *session) {
  if (!session || session->calling_back) return;
  tg_run_result_release(&session->result);
  tg_profile_destroy(session->profile);
  json_decref(session->numerics);
  json_decref(session->advice);
  tg_program_destroy(session->program);
  tg_arena_release(&session->host.arena);
  tg_arena_release(&session->arena);
  free(session);
}
