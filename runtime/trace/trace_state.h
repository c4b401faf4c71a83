/* What is inside a trace: shared by what opens and ends it (trace.c) and what writes its events (trace_events.c). */
#ifndef TEGULA_RUNTIME_TRACE_TRACE_STATE_H
#define TEGULA_RUNTIME_TRACE_TRACE_STATE_H

#include "frontend/base/output_file.h"
#include "runtime/trace/arrows.h"
#include "runtime/trace/posters.h"
#include "runtime/trace/profile.h"
#include "runtime/trace/rates.h"
#include "runtime/trace/trace.h"
#include "runtime/trace/writer.h"
#include "sim/machine/engine.h"

/* Overlapping slices of one unit (GEMMs follow each other before they end) need threads of their own. */
enum { TRACKS = 24, SECTIONS_PROCESS = 1, FIRST_ENDPOINT = 10 };

/* A row of threads in a process, opened as they are needed. */
typedef struct row {
  uint64_t free_from[TRACKS]; /* first cycle that no slice of the thread covers */
  uint32_t named;
} row;

/* Rows of an endpoint: units and their stalls (tile), contexts, their stalls and the port (AGCU); behind all
 * of them one a lane. */
struct tg_trace {
  tg_observer observer;
  const tg_program *program;
  tg_output_file file;
  FILE *out; /* its stream, or one that packs into it */
  const tg_trace_format *format;
  tg_trace_writer *to;
  uint64_t begin, end;
  tg_profile *profile;
  tg_section_time *sections;
  bool *ended;
  uint64_t *temporaries; /* bytes by invocation */
  tg_poster *posters;    /* of the section at hand */
  tg_arrows *arrows;
  tg_rates *rates;
  row *rows;
  uint32_t rows_an_endpoint, endpoints;
};

static inline bool visible(const tg_trace *t, uint64_t first, uint64_t last) {
  return first <= t->end && last >= t->begin;
}
static inline uint32_t lanes_process(const tg_trace *t) { return FIRST_ENDPOINT + t->endpoints; }
static inline const tg_params *machine(const tg_trace *t) { return &t->program->params; }

static const tg_track sections_track = {SECTIONS_PROCESS, 1};

/* Sets the trace's observer. trace_events.c */
void tg_trace_observe(tg_trace *trace);

#endif
