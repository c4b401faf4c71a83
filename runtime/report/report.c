#include "runtime/report/report.h"
#include "frontend/base/guard.h"
#include "frontend/base/hash.h"
#include "frontend/base/output_file.h"
#include "runtime/json_text.h"
#include "runtime/report/energy.h"
#include "runtime/report/graph.h"
#include "runtime/report/occupancy.h"
#include "runtime/report/page.h"
#include "runtime/report/roofline.h"
#include "runtime/report/stalls.h"
#include "runtime/trace/memory_use.h"
#include "sim/machine/mx_shape.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* JSON has no infinities. */
static json_t *real(double value) { return isfinite(value) ? json_real(value) : json_null(); }
static json_t *whole(uint64_t value) { return json_integer((json_int_t)value); }

/* Keys that differ only in bytes that are not UTF-8 would replace each other: later ones get a number. */
static void set(json_t *object, const char *key, json_t *value) {
  json_t *name = tg_json_text(key);
  char numbered[512];
  snprintf(numbered, sizeof numbered, "%s", json_string_value(name));
  for (int i = 2; json_object_get(object, numbered); i++)
    snprintf(numbered, sizeof numbered, "%.490s (%d)", json_string_value(name), i);
  json_object_set_new_nocheck(object, numbered, value);
  json_decref(name);
}

static json_t *shapes(const tg_tensor_info *tensors, int count) {
  json_t *object = json_object();
  for (int i = 0; i < count; i++) {
    json_t *dims = json_array();
    for (int d = 0; d < tensors[i].rank; d++) json_array_append_new(dims, json_integer(tensors[i].dims[d]));
    set(object, tensors[i].name, dims);
  }
  return object;
}

json_t *tg_report_model(const tg_session *session) {
  json_t *model = json_object();
  json_object_set_new(model, "name", tg_json_text(session->program->model));
  json_object_set_new(model, "file", tg_json_text(session->path));
  json_object_set_new(model, "inputs", shapes(session->inputs, session->input_count));
  json_object_set_new(model, "outputs",
                      shapes(tg_session_output(session, 0), tg_session_output_count(session)));
  return model;
}

json_t *tg_report_arch(const tg_params *params) {
  json_t *arch = json_object();
  json_object_set_new(arch, "name", tg_json_text(params->name));
#define PARAM(name, presets, lowest, highest, power_of_two, doc)                                             \
  json_object_set_new(arch, #name, whole(params->name));
#include "sim/machine/params.def"
#undef PARAM
  tg_arena arena = {0};
  json_object_set_new(arch, "dram", tg_json_text(tg_dram_device_print(&params->dram, &arena)));
  tg_arena_release(&arena);
  return arch;
}

json_t *tg_report_precision(const tg_program *program) {
  json_t *options = json_loads(program->options, 0, NULL);
  return json_is_object(options) ? options : (json_decref(options), json_object());
}

static uint64_t count_macs(const tg_program *program) {
  uint64_t sum = 0;
  for (uint32_t i = 0; i < program->invocation_count; i++)
    sum += tg_invocation_macs(&program->invocations[i]);
  return sum;
}

/* Sums of partial products across tiles (docs/numerics.md): how many tensors, what their running sums moved
 * over the lanes, and how long the sections took that they were made in. */
static json_t *reduction(const tg_program *program, const tg_run_result *result) {
  uint64_t tensors = 0, bytes = 0, cycles = 0;
  for (uint32_t i = 0; i < program->invocation_count; i++) {
    const tg_invocation *invocation = &program->invocations[i];
    tensors += invocation->sums;
    bytes += invocation->sum_bytes;
    if (result->sections && (invocation->sums || invocation->sum_bytes))
      cycles += result->sections[i].end - result->sections[i].begin;
  }
  return json_pack("{s:o, s:o, s:o}", "tensors", whole(tensors), "lane_bytes", whole(bytes), "cycles",
                   result->sections ? whole(cycles) : json_null());
}

/* Useful multiply-adds over what the array could do from the first instruction's start to the last one's
 * end. */
static double mac_utilization(const tg_program *program, const tg_run_result *result) {
  if (!result->sections || !program->invocation_count) return 0;
  const tg_params *m = &program->params;
  double cycles = 0; /* of all matrix units at their peak */
  for (uint32_t i = 0; i < program->invocation_count; i++)
    for (int f = 0; f < TG_FMT_COUNT; f++)
      cycles += (double)program->invocations[i].macs[f] / ((double)tg_tiles(m) * tg_mx_rate(m, f));
  uint64_t first = result->sections[0].begin + result->sections[0].config;
  uint64_t last = result->sections[program->invocation_count - 1].end;
  return last > first ? cycles / (double)(last - first) : 0;
}

/* Keys of a report or a section that say what it needs at least, beside the cycles that it took. */
static void put_bound(json_t *object, const tg_bound *bound, uint64_t cycles) {
  json_object_set_new(object, "bound_cycles", whole(bound->cycles));
  json_object_set_new(object, "compulsory_bytes", whole(bound->compulsory_bytes));
  json_object_set_new(object, "sol", cycles ? real((double)bound->cycles / (double)cycles) : json_null());
}

/* What a memory device did in `cycles`; null for `simple` and without time. Shares are of the peak of its data buses. */
static json_t *memory(const tg_params *params, const tg_dram_counts *c, uint64_t cycles) {
  if (tg_dram_is_simple(&params->dram) || !cycles) return json_null();
  double peak = (double)tg_dram_peak(&params->dram) * (double)cycles / (1e6 * params->clock_mhz);
  return json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "read", whole(c->read), "write",
                   whole(c->written), "row_hits", whole(c->hits), "row_misses", whole(c->misses),
                   "row_conflicts", whole(c->conflicts), "turnarounds", whole(c->turnarounds), "refreshes",
                   whole(c->refreshes), "forwarded", whole(c->forwarded), "joined", whole(c->joined),
                   "merged", whole(c->merged), "share_of_peak", real((double)(c->read + c->written) / peak));
}

static tg_dram_counts memory_counts(const tg_program *program, const tg_run_result *result) {
  tg_dram_counts sum = {0};
  for (uint32_t i = 0; result->sections && i < program->invocation_count; i++)
    tg_dram_add(&sum, result->sections[i].dram);
  return sum;
}

static json_t *all_memory(const tg_program *program, const tg_run_result *result) {
  tg_dram_counts sum = memory_counts(program, result);
  return memory(&program->params, &sum, result->cycles);
}

/* By the device's data buses, which what its queues merge or forward never passes; else by the ports. */
static double moved_bytes(const tg_program *program, const tg_run_result *result) {
  if (tg_dram_is_simple(&program->params.dram)) return (double)(result->dram_read + result->dram_written);
  tg_dram_counts sum = memory_counts(program, result);
  return (double)(sum.read + sum.written);
}

static json_t *section(const tg_program *program, const tg_run_result *result, uint32_t i,
                       const tg_occupancy *busy) {
  const tg_invocation *invocation = &program->invocations[i];
  const tg_section_time *time = &result->sections[i];
  uint64_t cycles = tg_section_cycles(result, i, program->invocation_count);
  json_t *estimate = invocation->estimated_cycles ? whole(invocation->estimated_cycles) : json_null();
  return json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:s, s:{s:o, s:o, s:o, s:o}, s:o}", "name",
                   tg_json_text(invocation->name), "begin", whole(time->begin), "cycles",
                   whole(time->end - time->begin), "estimated_cycles", estimate, "config_cycles",
                   whole(time->config), "macs", whole(tg_invocation_macs(invocation)), "bound_by",
                   tg_occupancy_bound(busy), "busy", "mx", whole(busy->mx), "vx", whole(busy->vx), "dram",
                   whole(busy->dram), "lane", whole(busy->lane), "dram",
                   memory(&program->params, &time->dram, cycles));
}

static json_t *sections(const tg_program *program, const tg_run_result *result, const tg_profile *profile) {
  json_t *list = json_array();
  if (!result->sections) return list;
  tg_arena arena = {0};
  tg_occupancy *busy = TG_NEW_ARRAY(&arena, tg_occupancy, program->section_count);
  bool *known = TG_NEW_ARRAY(&arena, bool, program->section_count);
  tg_bound *bounds = TG_NEW_ARRAY(&arena, tg_bound, program->invocation_count + 1);
  tg_invocation_bounds(program, bounds);
  for (uint32_t i = 0; i < program->invocation_count; i++) {
    uint32_t s = program->invocations[i].section; /* one section may be invoked many times */
    if (!known[s]) busy[s] = tg_section_occupancy(program, s, NULL);
    known[s] = true;
    json_t *one = section(program, result, i, &busy[s]);
    put_bound(one, &bounds[i], result->sections[i].end - result->sections[i].begin);
    json_object_set_new(one, "energy", tg_section_energy(program, result, i));
    if (profile) {
      json_t *units = tg_profile_section(profile, i);
      json_object_set_new(one, "dram_bytes", whole(tg_profile_dram_bytes(profile, i)));
      json_object_set_new(one, "first_cause", tg_first_cause(units));
      json_object_set_new(one, "units", units);
    }
    json_array_append_new(list, one);
  }
  tg_arena_release(&arena);
  return list;
}

/* The units of the whole run, and what they wait for. */
static void put_units(json_t *report, const json_t *list) {
  size_t i;
  json_t *one, *units = json_object();
  json_array_foreach((json_t *)(uintptr_t)list, i, one) tg_add_units(units, json_object_get(one, "units"));
  json_object_set_new(report, "first_cause", tg_first_cause(units));
  json_object_set_new(report, "units", units);
}

/* Device memory in use while each section runs. */
static void put_memory(const tg_program *program, const json_t *list) {
  tg_arena arena = {0};
  uint64_t *bytes = TG_NEW_ARRAY(&arena, uint64_t, program->invocation_count + 1), others = 0;
  for (uint32_t t = 0; t < program->tensor_count; t++)
    if (program->tensors[t].role != TG_ROLE_TEMPORARY) others += program->tensors[t].bytes;
  tg_memory_temporaries(program, bytes);
  for (uint32_t i = 0; i < program->invocation_count; i++)
    json_object_set_new(json_array_get(list, i), "memory_bytes", whole(bytes[i] + others));
  tg_arena_release(&arena);
}

/* The most that intermediate results take at once, of those that go through device memory. */
static uint64_t peak_intermediate_bytes(const tg_program *program) {
  tg_arena arena = {0};
  uint64_t *bytes = TG_NEW_ARRAY(&arena, uint64_t, program->invocation_count), most = 0;
  tg_memory_temporaries(program, bytes);
  for (uint32_t i = 0; i < program->invocation_count; i++)
    if (bytes[i] > most) most = bytes[i];
  tg_arena_release(&arena);
  return most;
}

static json_t *cpu(const tg_session *s, int64_t samples) {
  if (!s->has_cpu) return json_null();
  return json_pack("{s:s, s:s, s:i, s:s, s:o, s:o, s:o, s:o, s:i, s:i, s:i}", "library", s->cpu.library,
                   "version", s->cpu.version, "threads", s->cpu.threads, "dtype", tg_dtype_name(s->cpu.dtype),
                   "seconds", real(s->cpu.seconds), "seconds_low", real(s->cpu.low), "seconds_high",
                   real(s->cpu.high), "samples_per_second", real((double)samples / s->cpu.seconds), "runs",
                   s->cpu.runs, "warmup", s->cpu.warmup, "plain_c_nodes", s->cpu.plain_nodes);
}

/* `which`: the outputs that were compared; NULL: all. */
static json_t *errors(const tg_session *s, const tg_error_measure *measures, const bool *which) {
  if (!measures) return json_null();
  json_t *object = json_object();
  for (int i = 0; i < s->output_count; i++) {
    const tg_error_measure *e = &measures[i];
    if (which && !which[i]) continue;
    set(object, s->outputs[i].name,
        json_pack("{s:o, s:o, s:o, s:o}", "max_abs", real(e->max_abs), "max_rel", real(e->max_rel), "rms",
                  real(e->rms), "cosine", real(e->cosine)));
  }
  return object;
}

/* A hash of an output's bits as FP32: did results move? */
static json_t *digests(const tg_session *s) {
  if (s->timing_only) return json_null();
  json_t *object = json_object();
  for (int i = 0; i < tg_session_output_count(s); i++) {
    const tg_tensor_info *info = tg_session_output(s, i);
    const float *data = tg_session_output_data(s, i);
    uint64_t sum = tg_hash(data, data ? (size_t)info->count * sizeof *data : 0);
    char text[24];
    snprintf(text, sizeof text, "%016llx", (unsigned long long)sum);
    set(object, info->name, json_string(text));
  }
  return object;
}

static json_t *host(const tg_session *s) {
  json_t *object = json_object();
  json_object_set_new(object, "compile_seconds", real(s->compile_seconds));
  json_object_set_new(object, "simulation_seconds", real(s->host_seconds));
  json_object_set_new(object, "simulation_runs", json_integer(s->host_runs));
  if (s->host.part.graph)
    json_object_set_new(object, "after_array",
                        json_pack("{s:o, s:i, s:o}", "first", tg_json_text(s->host.part.where), "nodes",
                                  s->host.part.nodes, "seconds",
                                  s->host.seconds > 0 ? real(s->host.seconds) : json_null()));
  json_object_set_new(object, "cpu_seconds", s->has_cpu ? real(s->cpu.seconds) : json_null());
  json_object_set_new(object, "slowdown_vs_cpu",
                      s->has_cpu && s->cpu.seconds > 0 ? real(s->host_seconds / s->cpu.seconds)
                                                       : json_null());
  return object;
}

/* What a user counts: the first dimension of the first input. */
static int64_t samples_of(const tg_session *s) {
  return s->input_count && s->inputs[0].rank >= 2 ? s->inputs[0].dims[0] : 1;
}

/* Times and rates; all null for the functional engine, which has no time. */
static void put_time(json_t *report, const tg_session *s, int64_t samples) {
  double clock = 1e6 * s->program->params.clock_mhz, seconds = (double)s->result.cycles / clock;
  bool timed = s->result.cycles > 0;
  json_object_set_new(report, "cycles", timed ? whole(s->result.cycles) : json_null());
  json_object_set_new(report, "clock_hz", whole((uint64_t)clock));
  json_object_set_new(report, "seconds", timed ? real(seconds) : json_null());
  json_object_set_new(report, "samples", json_integer(samples));
  json_object_set_new(report, "samples_per_second", timed ? real((double)samples / seconds) : json_null());
  json_object_set_new(report, "speedup_vs_cpu",
                      timed && s->has_cpu ? real(s->cpu.seconds / seconds) : json_null());
}

json_t *tg_report(const tg_session *s) {
  const tg_program *program = s->program;
  int64_t samples = samples_of(s);
  json_t *report = json_object();
  json_object_set_new(report, "tegula", json_string(tg_version()));
  json_object_set_new(report, "model", tg_report_model(s));
  json_object_set_new(report, "arch", tg_report_arch(&program->params));
  json_object_set_new(report, "precision", tg_report_precision(program));
  json_object_set_new(report, "seed", whole(program->seed));
  json_object_set_new(report, "engine", json_string(s->engine));
  put_time(report, s, samples);
  json_object_set_new(report, "macs", whole(count_macs(program)));
  const tg_params *m = &program->params;
  json_object_set_new(report, "peak_macs_per_cycle",
                      json_pack("{s:I, s:I}", "fp32", (json_int_t)tg_tiles(m) * tg_mx_rate(m, TG_FMT_FP32),
                                "bf16", (json_int_t)tg_tiles(m) * tg_mx_rate(m, TG_FMT_BF16)));
  json_object_set_new(report, "mac_utilization",
                      s->result.cycles ? real(mac_utilization(program, &s->result)) : json_null());
  tg_bound bound = tg_program_bound(program);
  put_bound(report, &bound, s->result.cycles);
  json_object_set_new(
      report, "dram_bytes",
      json_pack("{s:o, s:o}", "read", whole(s->result.dram_read), "write", whole(s->result.dram_written)));
  json_object_set_new(report, "dram_bytes_per_cycle",
                      json_pack("{s:o, s:o}", "achieved",
                                s->result.cycles
                                    ? real(moved_bytes(program, &s->result) / (double)s->result.cycles)
                                    : json_null(),
                                "peak", real(tg_peak_dram_bytes(&program->params))));
  json_object_set_new(report, "dram", all_memory(program, &s->result));
  json_object_set_new(report, "energy", tg_report_energy(program, &s->result, samples));
  json_object_set_new(report, "reduction", reduction(program, &s->result));
  json_object_set_new(report, "lanes", tg_report_lanes(program));
  json_object_set_new(report, "peak_device_bytes", whole(program->dram_bytes));
  json_object_set_new(report, "peak_intermediate_bytes", whole(peak_intermediate_bytes(program)));
  json_t *list = sections(program, &s->result, s->profile);
  if (s->profile) {
    put_units(report, list);
    put_memory(program, list);
    json_object_set_new(report, "tiles", tg_profile_tiles(s->profile));
  }
  json_object_set_new(report, "sections", list);
  json_object_set_new(report, "cpu_reference", cpu(s, samples));
  json_object_set_new(report, "error_vs_fp32", errors(s, s->errors, NULL));
  if (s->golden_errors)
    json_object_set_new(report, "error_vs_golden", errors(s, s->golden_errors, s->has_golden));
  if (s->advice) json_object_set(report, "advice", s->advice);
  if (s->numerics) json_object_set(report, "numerics", s->numerics);
  json_object_set_new(report, "output_digests", digests(s));
  json_object_set_new(report, "host", host(s));
  return report;
}

/* --- files */

char *tg_session_report_json(const tg_session *session) {
  if (tg_session_needs(session, true, true, NULL)) return NULL;
  tg_guard guard;
  tg_guard_enter(&guard);
  if (setjmp(guard.place)) return (void)tg_guard_caught(&guard, NULL), NULL;
  json_t *report = tg_report(session);
  char *dump = json_dumps(report, JSON_INDENT(2));
  json_decref(report);
  tg_guard_leave(&guard);
  return dump;
}

static bool ends_with(const char *path, const char *end) {
  size_t length = strlen(path), tail = strlen(end);
  return length > tail && !strcmp(path + length - tail, end);
}

static void write_page(const json_t *report, FILE *out) {
  const char *name = json_string_value(json_object_get(json_object_get(report, "model"), "name"));
  tg_page_write(out, TG_PAGE_REPORT, name ? name : "report", report);
}

tg_status tg_report_write(const json_t *report, const char *path, tg_diag *diag) {
  bool html = ends_with(path, ".html");
  if (!html && !ends_with(path, ".json"))
    return tg_fail(diag, TG_INVALID, "%s: a report is a .json or an .html file", path);
  tg_output_file file;
  tg_status status = tg_output_open(path, &file, diag);
  if (status) return status;
  if (html) {
    write_page(report, file.stream);
  } else {
    json_dumpf(report, file.stream, JSON_INDENT(2));
    fputc('\n', file.stream);
  }
  return tg_output_commit(&file, diag);
}

static tg_status write_report_guarded(const tg_session *session, const char *path, tg_diag *diag) {
  if (diag) diag->message[0] = 0;
  if (!session || !session->has_run) return tg_fail(diag, TG_INVALID, "there is no report before a run");
  if (!path) return tg_fail(diag, TG_INVALID, "no path is given");
  json_t *report = tg_report(session);
  json_object_set_new(report, "graph", tg_report_graph(session->decided));
  locale_t theirs = tg_plain_numbers();
  tg_status status = tg_report_write(report, path, diag);
  uselocale(theirs);
  json_decref(report);
  return status;
}

tg_status tg_session_write_report(const tg_session *session, const char *path, tg_diag *diag) {
  TG_GUARDED(diag, write_report_guarded(session, path, diag));
}
