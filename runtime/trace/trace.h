/* A run as Chrome trace events, for Perfetto (ui.perfetto.dev) or chrome://tracing: a process an endpoint
 * with threads for its units, their stalls and its DRAM port; processes for sections with the memory in use,
 * and for lanes. One microsecond of the trace is one cycle. Written while the run goes on, an event a line:
 * memory does not grow with the run. docs/traces.md describes the events. */
#ifndef TEGULA_RUNTIME_TRACE_TRACE_H
#define TEGULA_RUNTIME_TRACE_TRACE_H

#include "sim/machine/observer.h"

#include <jansson.h>

typedef struct tg_trace tg_trace;

/* TG_INVALID: the end of its name says of no format what it is. */
tg_status tg_trace_check(const char *path, tg_diag *diag);

/* Events that overlap cycles begin..end are written. Beside `path`, then renamed by tg_trace_finish. */
tg_status tg_trace_open(const char *path, const tg_program *program, uint64_t begin, uint64_t end,
                        tg_trace **out_trace, tg_diag *diag);
const tg_observer *tg_trace_observer(const tg_trace *trace);
/* Ends the file and the trace. `fault`: what ended the run early, or NULL. */
tg_status tg_trace_finish(tg_trace *trace, const char *engine, uint64_t cycles, const char *fault,
                          tg_diag *diag);
void tg_trace_abandon(tg_trace *trace);

/* What tg_trace_finish wrote of the whole: {"model", "arch", "engine", "cycles", "window", "sections":
 * [{name, begin, cycles, units}]}, units as tg_profile_section. A new reference; TG_INVALID: no file of
 * ours. */
tg_status tg_trace_summary(const char *path, json_t **out_summary, tg_diag *diag);

#endif
