/* The trace and the profile that a run was asked for, as one observer. */
#ifndef TEGULA_RUNTIME_TRACE_WATCH_H
#define TEGULA_RUNTIME_TRACE_WATCH_H

#include "runtime/tegula.h"
#include "runtime/trace/profile.h"
#include "runtime/trace/trace.h"
#include "sim/machine/engine.h"

typedef struct tg_watch {
  tg_trace *trace;     /* or NULL */
  tg_profile *profile; /* or NULL */
  tg_observer both;
  const tg_observer *observer; /* for the engine; NULL: nothing was asked for */
} tg_watch;

/* TG_INVALID: the file cannot be written, or the engine has no time. `watch` stays where it is until the
 * end. */
tg_status tg_watch_begin(tg_watch *watch, const tg_program *program, const tg_engine *engine,
                         const tg_session_run_options *options, tg_diag *diag);
/* `status`: how the run ended. A trace of a run that faulted ends there; otherwise a failed run leaves none.
 * The profile of a run that was done goes to *out_profile. Returns `status` or what went wrong after it. */
tg_status tg_watch_end(tg_watch *watch, const char *engine, const tg_run_result *result, tg_status status,
                       tg_profile **out_profile, tg_diag *diag);

#endif
