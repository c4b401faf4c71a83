/* A trace: opened, ended, and read again. */
#include "frontend/base/input_file.h"
#include "runtime/json_text.h"
#include "runtime/trace/gzip.h"
#include "runtime/trace/memory_use.h"
#include "runtime/trace/trace_state.h"

#include <stdlib.h>
#include <string.h>

static void *zeroed(size_t count, size_t size) {
  void *memory = calloc(count ? count : 1, size);
  if (!memory) tg_die("out of memory");
  return memory;
}

static void name_processes(tg_trace *t) {
  char name[40];
  t->format->process(t->to, SECTIONS_PROCESS, 0, "sections");
  t->format->thread(t->to, sections_track, "sections", 0);
  for (uint32_t e = 0; e < t->endpoints; e++) /* AGCUs above tiles: their data comes first */
    t->format->process(t->to, FIRST_ENDPOINT + e,
                       e >= tg_tiles(machine(t)) ? 1u + e - tg_tiles(machine(t)) : 100 + e,
                       tg_endpoint_text(machine(t), e, name));
  t->format->process(t->to, lanes_process(t), 1000, "lanes");
}

static bool ends_in(const char *path, size_t length, const char *end) {
  size_t own = strlen(end);
  return length > own && !memcmp(path + length - own, end, own);
}

static size_t packed_end(const char *path) { return ends_in(path, strlen(path), ".gz") ? 3 : 0; }

/* By the end of its name, of which the packed form's is no part; NULL: by none. */
static const tg_trace_format *format_of(const char *path) {
  size_t length = strlen(path) - packed_end(path);
  return ends_in(path, length, ".pftrace") ? &tg_perfetto_trace
         : ends_in(path, length, ".json")  ? &tg_chrome_trace
                                           : NULL;
}

tg_status tg_trace_check(const char *path, tg_diag *diag) {
  return format_of(path)
             ? TG_OK
             : tg_fail(diag, TG_INVALID,
                       "%s: a trace is a .pftrace or a .json file, or one of these with .gz", path);
}

static void end_packing(tg_trace *t) {
  if (t->out != t->file.stream) fclose(t->out);
}

tg_status tg_trace_open(const char *path, const tg_program *program, uint64_t first, uint64_t last,
                        tg_trace **out_trace, tg_diag *diag) {
  const tg_params *m = &program->params;
  tg_status status = tg_trace_check(path, diag);
  if (status) return status;
  tg_trace *t = zeroed(1, sizeof *t);
  status = tg_output_open(path, &t->file, diag);
  if (status) {
    free(t);
    return status;
  }
  t->out = packed_end(path) ? tg_gzip_writer(t->file.stream) : t->file.stream;
  tg_trace_observe(t);
  t->program = program;
  t->begin = first;
  t->end = last;
  t->endpoints = tg_tiles(m) + tg_agcus(m);
  uint32_t lanes = 2 * tg_agcus(m);
  t->rows_an_endpoint = 2 * m->agcu_contexts + 1 > 6 ? 2 * m->agcu_contexts + 1 : 6;
  t->rows = zeroed((size_t)t->endpoints * t->rows_an_endpoint + lanes, sizeof *t->rows);
  t->profile = tg_profile_create(program, first, last);
  t->sections = zeroed(program->invocation_count, sizeof *t->sections);
  t->ended = zeroed(program->invocation_count, sizeof *t->ended);
  t->temporaries = zeroed(program->invocation_count, sizeof *t->temporaries);
  t->arrows = tg_arrows_create(m);
  t->rates = tg_rates_create(m);
  t->posters = zeroed(tg_posters_count(m), sizeof *t->posters);
  tg_memory_temporaries(program, t->temporaries);
  t->format = format_of(path);
  t->to = t->format->open(t->out);
  name_processes(t);
  *out_trace = t;
  return TG_OK;
}

const tg_observer *tg_trace_observer(const tg_trace *trace) { return &trace->observer; }

static void release(tg_trace *t) {
  tg_profile_destroy(t->profile);
  tg_arrows_destroy(t->arrows);
  tg_rates_destroy(t->rates);
  free(t->rows);
  free(t->sections);
  free(t->ended);
  free(t->temporaries);
  free(t->posters);
  free(t);
}

static json_t *summary(const tg_trace *t, const char *engine, uint64_t cycles, const char *fault) {
  json_t *sections = json_array();
  for (uint32_t i = 0; i < t->program->invocation_count; i++) {
    const tg_section_time *s = &t->sections[i];
    if (!t->ended[i] || !visible(t, s->begin, s->end)) continue;
    json_array_append_new(sections, json_pack("{s:o, s:I, s:I, s:o}", "name",
                                              tg_json_text(t->program->invocations[i].name), "begin",
                                              (json_int_t)s->begin, "cycles", (json_int_t)(s->end - s->begin),
                                              "units", tg_profile_section(t->profile, i)));
  }
  json_t *all = json_pack("{s:o, s:o, s:s, s:I, s:s, s:o}", "model", tg_json_text(t->program->model), "arch",
                          tg_json_text(machine(t)->name), "engine", engine, "cycles", (json_int_t)cycles,
                          "time", "1 us in the trace is 1 cycle", "sections", sections);
  if (t->begin || t->end != UINT64_MAX)
    json_object_set_new(
        all, "window",
        json_pack("[I, I]", (json_int_t)t->begin, (json_int_t)(t->end > INT64_MAX ? INT64_MAX : t->end)));
  if (fault) json_object_set_new(all, "fault", tg_json_text(fault));
  return all;
}

tg_status tg_trace_finish(tg_trace *trace, const char *engine, uint64_t cycles, const char *fault,
                          tg_diag *diag) {
  tg_rates_write(trace->rates, trace->format, trace->to, SECTIONS_PROCESS, trace->begin,
                 cycles < trace->end ? cycles : trace->end);
  json_t *other = summary(trace, engine, cycles, fault);
  trace->format->finish(trace->to, other);
  json_decref(other);
  end_packing(trace);
  tg_status status = tg_output_commit(&trace->file, diag);
  release(trace);
  return status;
}

void tg_trace_abandon(tg_trace *trace) {
  trace->format->abandon(trace->to);
  end_packing(trace);
  tg_output_abandon(&trace->file);
  release(trace);
}

tg_status tg_trace_summary(const char *path, json_t **out_summary, tg_diag *diag) {
  FILE *file;
  if (tg_input_open(path, &file, NULL, diag)) return TG_INVALID; /* says why */
  fclose(file);
  if (!(file = tg_gzip_reader(path))) return tg_fail(diag, TG_INVALID, "%s: cannot be read", path);
  const tg_trace_format *format = format_of(path);
  *out_summary = (format ? format : &tg_chrome_trace)->read_summary(file); /* which any name may have had */
  fclose(file);
  if (json_is_array(json_object_get(*out_summary, "sections"))) return TG_OK;
  json_decref(*out_summary);
  *out_summary = NULL;
  return tg_fail(diag, TG_INVALID, "%s: is no trace that tegula wrote", path);
}
