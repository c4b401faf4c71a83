#include "runtime/trace/trace.h"
#include "frontend/base/input_file.h"
#include "frontend/base/output_file.h"
#include "runtime/json_text.h"
#include "runtime/trace/arrows.h"
#include "runtime/trace/gzip.h"
#include "runtime/trace/memory_use.h"
#include "runtime/trace/posters.h"
#include "runtime/trace/profile.h"
#include "runtime/trace/rates.h"
#include "runtime/trace/writer.h"
#include "sim/machine/engine.h"

#include <stdlib.h>
#include <string.h>

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

static bool visible(const tg_trace *t, uint64_t first, uint64_t last) {
  return first <= t->end && last >= t->begin;
}

static uint32_t lanes_process(const tg_trace *t) { return FIRST_ENDPOINT + t->endpoints; }

/* The thread of a row on which [first, last] overlaps nothing. */
static tg_track thread_for(tg_trace *t, uint32_t pid, uint32_t row_index, uint64_t first, uint64_t last,
                           const char *name) {
  row *r = &t->rows[(size_t)(pid - FIRST_ENDPOINT) * t->rows_an_endpoint + row_index];
  uint32_t track = 0;
  while (track + 1 < TRACKS && r->free_from[track] > first) track++;
  if (r->free_from[track] < last + 1) r->free_from[track] = last + 1;
  tg_track at = {pid, row_index * TRACKS + track + 1};
  if (!(r->named >> track & 1)) {
    r->named |= 1u << track;
    t->format->thread(t->to, at, name, track);
  }
  return at;
}

/* A slice; the caller adds values and ends it. */
static void slice(tg_trace *t, tg_track at, const char *name, const char *category, uint64_t first,
                  uint64_t last) {
  t->format->begin_slice(t->to, &(tg_slice){at, first, last, name, category, 0});
}

static void number(tg_trace *t, const char *key, uint64_t value) { t->format->number(t->to, key, value); }
static void text(tg_trace *t, const char *key, const char *value) { t->format->text(t->to, key, value); }
static void end_slice(tg_trace *t) { t->format->end_slice(t->to); }

/* --- units */

static const tg_params *machine(const tg_trace *t) { return &t->program->params; }
static bool is_agcu(const tg_trace *t, uint32_t endpoint) { return endpoint >= tg_tiles(machine(t)); }

/* Row of a unit's instructions; that of its stalls follows. The last row of an AGCU is its port. */
static uint32_t unit_row(const tg_event *e) { return 2u * (e->unit == TG_AGCU ? e->context : e->unit); }
static uint32_t port_row(const tg_trace *t) { return 2 * machine(t)->agcu_contexts; }

static void unit_text(const tg_event *e, char out[40]) {
  if (e->unit == TG_AGCU)
    snprintf(out, 40, "context %u", e->context);
  else
    snprintf(out, 40, "%s", tg_unit_name((tg_unit)e->unit));
}

static const tg_instr *instr_of(const tg_trace *t, const tg_event *e) {
  const tg_section *section = &t->program->sections[t->program->invocations[e->invocation].section];
  if (e->unit == TG_AGCU)
    return &section->agcus[e->endpoint - tg_tiles(machine(t))].contexts[e->context].instrs[e->pc];
  const tg_tile_program *tile = &section->tiles[e->endpoint];
  return &(e->unit == TG_MX ? &tile->mx : e->unit == TG_VX ? &tile->vx : &tile->tx)->instrs[e->pc];
}

static const char *operation(const tg_trace *t, const tg_event *e) {
  return tg_operation_name((tg_unit)e->unit, instr_of(t, e)->common.op);
}

static uint32_t bank_of(const tg_params *m, uint16_t address) { return address / tg_bank_rows(m); }

/* The scratchpad banks that an execution starts at, by operand. */
static void put_banks(tg_trace *t, tg_unit unit, const tg_execution *x) {
  const tg_params *m = machine(t);
  if (!x || unit == TG_AGCU || x->in->common.op == TG_OP_sync) return;
  bool any = unit != TG_VX;
  for (int s = 0; unit == TG_VX && s < TG_STREAMS; s++) {
    int64_t kind = tg_stream_of(&x->in->vx, s)->kind;
    if (kind == TG_STREAM_NONE || kind == TG_STREAM_ACC) continue;
    if (!any) t->format->begin_group(t->to, "banks");
    any = true;
    char name[16];
    snprintf(name, sizeof name, "s%d", s);
    number(t, name, bank_of(m, x->address[s]));
  }
  if (unit != TG_VX) t->format->begin_group(t->to, "banks");
  if (unit == TG_MX) {
    number(t, "a", bank_of(m, x->address[TG_AT_A]));
    number(t, "b", bank_of(m, x->address[TG_AT_B]));
  }
  if (unit == TG_TX) number(t, "src", bank_of(m, x->address[TG_AT_SRC]));
  if (any) t->format->end_group(t->to);
  if (unit == TG_MX) number(t, "accumulator", x->address[TG_AT_C] / tg_acc_rows(m));
}

static void put_place(tg_trace *t, const tg_event *e, const tg_execution *x) {
  number(t, "section", e->invocation);
  number(t, "pc", e->pc);
  if (x) t->format->list(t->to, "loop", (const uint32_t[]){x->index[0], x->index[1], x->index[2]}, 3);
  put_banks(t, (tg_unit)e->unit, x);
}

static void instruction(void *user, const tg_event *e, const tg_execution *x) {
  tg_trace *t = user;
  const tg_observer *profile = tg_profile_observer(t->profile);
  profile->instruction(profile->user, e, x);
  tg_rates_instruction(t->rates, e);
  tg_arrow arrow = {0};
  bool waited = tg_arrows_end(t->arrows, e, &arrow);
  if (!visible(t, e->start, e->end)) return;
  char unit[40];
  unit_text(e, unit);
  uint32_t pid = FIRST_ENDPOINT + e->endpoint;
  tg_track at = thread_for(t, pid, unit_row(e), e->start, e->end, unit);
  if (waited) t->format->arrow(t->to, arrow.from, arrow.cycle, arrow.number);
  const tg_slice own = {at, e->start, e->end, operation(t, e), tg_unit_name((tg_unit)e->unit), arrow.number};
  t->format->begin_slice(t->to, &own);
  put_place(t, e, x);
  end_slice(t);
  tg_arrows_post(t->arrows, e, instr_of(t, e), x, at);
}

/* --- stalls and bursts */

static void lane_text(const tg_params *m, uint32_t lane, char out[40]) {
  if (lane < 2 * m->rows)
    snprintf(out, 40, "%s, row %u", lane < m->rows ? "east" : "west", lane % m->rows);
  else
    snprintf(out, 40, "%s, column %u", lane - 2 * m->rows < m->cols ? "south" : "north",
             (lane - 2 * m->rows) % m->cols);
}

static void put_cause(tg_trace *t, const tg_stall *s) {
  const tg_params *m = machine(t);
  char name[40], poster[60];
  if (s->cause == TG_STALL_SEMAPHORE) {
    const tg_poster *p = &t->posters[(size_t)s->at.endpoint * m->semaphores + s->what];
    text(t, "cause", "semaphore");
    number(t, "semaphore", s->what);
    text(t, "posted_by", tg_poster_kind(p->units));
    snprintf(poster, sizeof poster, "%s%s", tg_endpoint_text(m, p->endpoint, name),
             p->several ? " and others" : "");
    if (p->units) text(t, "poster", poster);
  } else if (s->cause == TG_STALL_LANE) {
    lane_text(m, s->what, name);
    text(t, "cause", "lane");
    text(t, "lane", name);
  } else if (s->cause == TG_STALL_PORT) {
    text(t, "cause", "port");
    number(t, "context", s->what);
  } else {
    text(t, "cause", "buffers");
  }
}

static void stall_name(const tg_trace *t, const tg_stall *s, char out[80]) {
  const tg_params *m = machine(t);
  char lane[40];
  if (s->cause == TG_STALL_SEMAPHORE) {
    uint8_t units = t->posters[(size_t)s->at.endpoint * m->semaphores + s->what].units;
    snprintf(out, 80, "waits for %s (semaphore %u)", tg_poster_kind(units), s->what);
  } else if (s->cause == TG_STALL_LANE) {
    lane_text(m, s->what, lane);
    snprintf(out, 80, "waits for lane %s", lane);
  } else {
    snprintf(out, 80, "waits for %s", s->cause == TG_STALL_PORT ? "the DRAM port" : "a load buffer");
  }
}

static void stall(void *user, const tg_stall *s, const tg_execution *x) {
  tg_trace *t = user;
  const tg_observer *profile = tg_profile_observer(t->profile);
  profile->stall(profile->user, s, x);
  if (!visible(t, s->at.start, s->at.end)) return;
  char unit[40], row[60], name[80];
  unit_text(&s->at, unit);
  snprintf(row, sizeof row, "%s stalled", unit);
  stall_name(t, s, name);
  tg_track at =
      thread_for(t, FIRST_ENDPOINT + s->at.endpoint, unit_row(&s->at) + 1, s->at.start, s->at.end, row);
  slice(t, at, name, "stall", s->at.start, s->at.end);
  put_cause(t, s);
  text(t, "operation", operation(t, &s->at));
  put_place(t, &s->at, x);
  end_slice(t);
  if (s->cause == TG_STALL_SEMAPHORE) tg_arrows_wait(t->arrows, s);
}

static void burst(void *user, const tg_burst *b) {
  tg_trace *t = user;
  const tg_params *m = machine(t);
  tg_rates_burst(t->rates, b);
  if (!visible(t, b->at.start, b->at.end)) return;
  char row[60] = "DRAM port", name[60];
  if (b->lane) {
    lane_text(m, b->where, row);
    tg_endpoint_text(m, b->at.endpoint, name);
  } else {
    snprintf(name, sizeof name, "%s of context %u", b->store ? "store" : "load", b->at.context);
  }
  uint32_t pid = b->lane ? lanes_process(t) : (uint32_t)FIRST_ENDPOINT + b->at.endpoint;
  tg_track at = thread_for(t, pid, b->lane ? b->where : port_row(t), b->at.start, b->at.end, row);
  slice(t, at, name, b->lane ? "lane" : "port", b->at.start, b->at.end);
  number(t, "section", b->at.invocation);
  number(t, "pc", b->at.pc);
  number(t, "flits", b->flits);
  number(t, "asked", b->asked);
  if (!b->lane) number(t, "dram_bytes", 64 * (uint64_t)b->atoms);
  end_slice(t);
}

/* --- sections */

static void begin(void *user, uint32_t invocation, uint64_t begin, uint64_t config) {
  tg_trace *t = user;
  const tg_observer *profile = tg_profile_observer(t->profile);
  profile->begin(profile->user, invocation, begin, config);
  const tg_program *program = t->program;
  tg_posters_find(program, &program->sections[program->invocations[invocation].section], t->posters);
  tg_arrows_begin(t->arrows);
  t->sections[invocation] = (tg_section_time){.begin = begin, .config = config};
  if (begin > t->end) return;
  static const char *const parts[] = {"constants", "inputs and outputs", "state", "temporaries"};
  const double bytes[] = {
      (double)tg_memory_of_role(program, TG_ROLE_CONSTANT),
      (double)(tg_memory_of_role(program, TG_ROLE_INPUT) + tg_memory_of_role(program, TG_ROLE_OUTPUT)),
      (double)tg_memory_of_role(program, TG_ROLE_STATE), (double)t->temporaries[invocation]};
  t->format->counter(t->to, SECTIONS_PROCESS, begin, "device memory", parts, bytes, 4);
}

static const tg_track sections_track = {SECTIONS_PROCESS, 1};

static void put_section(tg_trace *t, uint32_t invocation, uint64_t end) {
  const tg_section_time *s = &t->sections[invocation];
  const tg_invocation *v = &t->program->invocations[invocation];
  slice(t, sections_track, v->name, "section", s->begin, end);
  number(t, "section", invocation);
  number(t, "macs", tg_invocation_macs(v));
  end_slice(t);
  if (!s->config || !visible(t, s->begin, s->begin + s->config - 1)) return;
  slice(t, sections_track, "configuration", "section", s->begin, s->begin + s->config - 1);
  number(t, "section", invocation);
  end_slice(t);
}

static void end(void *user, uint32_t invocation, uint64_t end) {
  tg_trace *t = user;
  t->sections[invocation].end = end;
  t->ended[invocation] = true;
  if (visible(t, t->sections[invocation].begin, end)) put_section(t, invocation, end);
}

/* --- life */

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
    t->format->process(t->to, FIRST_ENDPOINT + e, is_agcu(t, e) ? 1u + e - tg_tiles(machine(t)) : 100 + e,
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
  t->observer = (tg_observer){t, begin, instruction, stall, burst, end};
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
