#include "runtime/session/verify.h"
#include "frontend/base/guard.h"
#include "runtime/json_text.h"
#include "runtime/session/engines.h"
#include "sim/machine/energy_sum.h"
#include "sim/machine/ordering.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_ENGINES = 8 };

typedef struct outcome {
  const tg_engine *engine;
  tg_dram *dram;
  tg_run_result result;
  const char *skipped; /* why it does not take part; NULL: it does */
} outcome;

typedef struct verification {
  tg_session *session;
  const tg_verify_options *options;
  tg_arena arena;
  outcome outcomes[MOST_ENGINES];
  int count;
  json_t *first; /* difference, or NULL */
} verification;

/* --- bits */

static uint64_t element_bits(const uint8_t *bytes, uint32_t size) {
  uint64_t bits = 0;
  memcpy(&bits, bytes, size);
  return bits;
}

static const char *element_place(tg_arena *arena, const tg_dram_tensor *tensor, uint64_t element) {
  char place[8 * 21 + 1] = "";
  for (int d = (int)tensor->rank - 1; d >= 0; d--) {
    char rest[sizeof place];
    memcpy(rest, place, sizeof place);
    snprintf(place, sizeof place, "%" PRIu64 "%s%.140s", element % (uint64_t)tensor->dims[d],
             *rest ? "," : "", rest);
    element /= (uint64_t)tensor->dims[d];
  }
  return tg_arena_printf(arena, "%s \"%s\"[%s]", tg_role_name(tensor->role), tensor->name, place);
}

/* Inputs and constants count too: no engine may overwrite them. */
static bool compare_tensor(verification *v, const outcome *a, const outcome *b, const tg_dram_tensor *tensor,
                           tg_diag *diag) {
  const uint8_t *x = a->dram->bytes + tensor->address, *y = b->dram->bytes + tensor->address;
  if (!memcmp(x, y, tensor->bytes)) return true;
  uint32_t size = tg_storage_bytes(tensor->storage);
  uint64_t at = 0;
  while (!memcmp(x + at, y + at, size)) at += size;
  char bits[2][24];
  snprintf(bits[0], sizeof bits[0], "0x%0*" PRIx64, (int)(2 * size), element_bits(x + at, size));
  snprintf(bits[1], sizeof bits[1], "0x%0*" PRIx64, (int)(2 * size), element_bits(y + at, size));
  const char *where = element_place(&v->arena, tensor, at / size);
  tg_fail(diag, TG_MISMATCH, "bits differ at %s: %s %s, %s %s", where, a->engine->name, bits[0],
          b->engine->name, bits[1]);
  if (!v->first)
    v->first = json_pack("{s:s, s:o, s:s, s:s}", "kind", "bits", "where", tg_json_text(where),
                         a->engine->name, bits[0], b->engine->name, bits[1]);
  return false;
}

/* Outputs first: they are what a user sees. */
static bool compare_bits(verification *v, const outcome *a, const outcome *b, tg_diag *diag) {
  const tg_program *program = v->session->program;
  for (int outputs = 1; outputs >= 0; outputs--)
    for (uint32_t t = 0; t < program->tensor_count; t++)
      if (tg_role_is_output(program->tensors[t].role) == (bool)outputs &&
          !compare_tensor(v, a, b, &program->tensors[t], diag))
        return false;
  return true;
}

/* --- cycles */

static const tg_queue *queue_of(const tg_program *program, const tg_event *event) {
  const tg_section *section = &program->sections[program->invocations[event->invocation].section];
  uint32_t tiles = tg_tiles(&program->params);
  if (event->endpoint >= tiles) return &section->agcus[event->endpoint - tiles].contexts[event->context];
  const tg_tile_program *tile = &section->tiles[event->endpoint];
  return event->unit == TG_MX ? &tile->mx : event->unit == TG_VX ? &tile->vx : &tile->tx;
}

/* "tile 1,0 mx pc 3": where an event took place. On `arena`. */
static const char *event_place(tg_arena *arena, const tg_program *program, const tg_event *event) {
  const tg_params *m = &program->params;
  const char *invocation = program->invocations[event->invocation].name;
  if (event->endpoint < tg_tiles(m))
    return tg_arena_printf(arena, "section %u (%s), tile %u,%u %s pc %u", event->invocation, invocation,
                           event->endpoint / m->cols, event->endpoint % m->cols,
                           tg_unit_name((tg_unit)event->unit), event->pc);
  uint32_t agcu = event->endpoint - tg_tiles(m);
  return tg_arena_printf(arena, "section %u (%s), %s AGCU %u context %u pc %u", event->invocation, invocation,
                         tg_is_west(m, agcu) ? "west" : "north", tg_is_west(m, agcu) ? agcu : agcu - m->rows,
                         event->context, event->pc);
}

static bool same_instruction(const tg_event *a, const tg_event *b) {
  return a->invocation == b->invocation && a->endpoint == b->endpoint && a->unit == b->unit &&
         a->context == b->context && a->pc == b->pc;
}

/* Index of the earliest event that differs; `count` if none does. Later ones follow from it. */
static size_t earliest_difference(const outcome *a, const outcome *b, size_t count) {
  size_t found = count;
  uint64_t when = UINT64_MAX;
  for (size_t i = 0; i < count; i++) {
    const tg_event *x = &a->result.events[i], *y = &b->result.events[i];
    if (!same_instruction(x, y)) return found < count ? found : i; /* what follows is not comparable */
    if (x->start == y->start && x->end == y->end) continue;
    uint64_t start = x->start < y->start ? x->start : y->start;
    if (start < when) when = start, found = i;
  }
  return found;
}

static bool report_cycles(verification *v, const outcome *a, const outcome *b, const char *where,
                          const char *x, const char *y, tg_diag *diag) {
  tg_fail(diag, TG_MISMATCH, "cycles differ at %s: %s %s, %s %s", where, a->engine->name, x, b->engine->name,
          y);
  if (!v->first)
    v->first = json_pack("{s:s, s:o, s:o, s:o}", "kind", "cycles", "where", tg_json_text(where),
                         a->engine->name, tg_json_text(x), b->engine->name, tg_json_text(y));
  return false;
}

static bool report_event(verification *v, const outcome *a, const outcome *b, const tg_event *x,
                         const tg_event *y, tg_diag *diag) {
  const tg_program *program = v->session->program;
  const tg_instr *in = &queue_of(program, x)->instrs[x->pc];
  const char *where = tg_arena_printf(&v->arena, "%s: %s", event_place(&v->arena, program, x),
                                      tg_instr_print((tg_unit)x->unit, in, &v->arena));
  if (!same_instruction(x, y))
    return report_cycles(v, a, b, where, "runs it next",
                         tg_arena_printf(&v->arena, "runs %s", event_place(&v->arena, program, y)), diag);
  return report_cycles(v, a, b, where, tg_arena_printf(&v->arena, "%" PRIu64 "..%" PRIu64, x->start, x->end),
                       tg_arena_printf(&v->arena, "%" PRIu64 "..%" PRIu64, y->start, y->end), diag);
}

static bool compare_cycles(verification *v, const outcome *a, const outcome *b, tg_diag *diag) {
  const tg_run_result *x = &a->result, *y = &b->result;
  size_t common = x->event_count < y->event_count ? x->event_count : y->event_count;
  size_t at = earliest_difference(a, b, common);
  if (at < common) return report_event(v, a, b, &x->events[at], &y->events[at], diag);
  if (x->event_count != y->event_count)
    return report_cycles(v, a, b, "the end", tg_arena_printf(&v->arena, "%zu instructions", x->event_count),
                         tg_arena_printf(&v->arena, "%zu", y->event_count), diag);
  if (x->cycles == y->cycles) return true;
  return report_cycles(v, a, b, "the total", tg_arena_printf(&v->arena, "%" PRIu64, x->cycles),
                       tg_arena_printf(&v->arena, "%" PRIu64, y->cycles), diag);
}

/* --- actions, of sections that took equal cycles */

static bool compare_actions(verification *v, const outcome *a, const outcome *b, tg_diag *diag) {
  for (uint32_t i = 0; i < v->session->program->invocation_count; i++)
    for (int n = 0; n < TG_ACTIONS; n++) {
      uint64_t x = a->result.sections[i].actions.count[n], y = b->result.sections[i].actions.count[n];
      if (x == y) continue;
      const char *where =
          tg_arena_printf(&v->arena, "section %u (%s), %s", i, v->session->program->invocations[i].name,
                          tg_action_name((tg_action)n));
      tg_fail(diag, TG_MISMATCH, "counts of actions differ at %s: %s %" PRIu64 ", %s %" PRIu64, where,
              a->engine->name, x, b->engine->name, y);
      if (!v->first)
        v->first = json_pack("{s:s, s:o, s:I, s:I}", "kind", "actions", "where", tg_json_text(where),
                             a->engine->name, (json_int_t)x, b->engine->name, (json_int_t)y);
      return false;
    }
  return true;
}

/* --- all */

static bool only_available(const verification *v) {
  return v->options->engines && !strcmp(v->options->engines, "available");
}

static const char all_engines[] = "functional,systemc,rtl";

static bool takes_part(const verification *v, const tg_engine *engine) {
  for (int i = 0; i < v->count; i++)
    if (v->outcomes[i].engine == engine) return true;
  return false;
}

static tg_status find_engines(verification *v, tg_diag *diag) {
  const char *names = v->options->engines ? v->options->engines : all_engines;
  bool all = only_available(v);
  if (all) names = all_engines;
  char *copy = tg_arena_strdup(&v->arena, names), *rest = NULL;
  for (char *name = strtok_r(copy, ",", &rest); name; name = strtok_r(NULL, ",", &rest)) {
    if (v->count == MOST_ENGINES) return tg_fail(diag, TG_INVALID, "--engines: too many");
    tg_diag why = {""};
    const tg_engine *engine = NULL;
    tg_status status = tg_engine_find(name, &engine, &why);
    if (status && !all)
      return tg_fail(diag, TG_INVALID, "%s; --engines available compares those it has", why.message);
    if (status) continue;
    if (takes_part(v, engine)) return tg_fail(diag, TG_INVALID, "--engines: %s is named twice", name);
    v->outcomes[v->count++].engine = engine;
  }
  return v->count >= 2 ? TG_OK
                       : tg_fail(diag, TG_INVALID, "--engines: at least two are needed for a comparison");
}

static tg_status run_one(verification *v, outcome *o, tg_diag *diag) {
  tg_session_calls_back(v->session, true);
  bool goes_on = !v->options->progress || v->options->progress(v->options->user, o->engine->name);
  tg_session_calls_back(v->session, false);
  if (!goes_on) return tg_fail(diag, TG_CANCELLED, "%s: the comparison was ended", v->session->path);
  tg_run_options run = {.threads = (uint32_t)v->options->threads,
                        .record_events = true,
                        .max_cycles = v->options->max_cycles,
                        .seed = v->session->program->seed};
  void *state = NULL;
  tg_status status = tg_session_memory(v->session, &o->dram, diag);
  if (status) return status;
  tg_diag why = {""};
  status = o->engine->open(v->session->program, &run, &state, &why);
  if (status == TG_INVALID && only_available(v)) {
    o->skipped = tg_arena_strdup(&v->arena, why.message);
    return TG_OK;
  }
  if (status) tg_fail(diag, status, "%s", why.message);
  if (!status) {
    status = o->engine->run(state, o->dram, &run, &o->result, diag);
    o->engine->close(state);
  }
  if (status) tg_diag_prefix(diag, "engine %s", o->engine->name);
  return status;
}

/* Names of the engines that were compared, or of those that there are and that were not. */
static json_t *names_of(const verification *v, bool compared) {
  char copy[sizeof all_engines], *rest = NULL;
  memcpy(copy, all_engines, sizeof copy);
  json_t *names = json_array();
  for (const char *name = strtok_r(copy, ",", &rest); name; name = strtok_r(NULL, ",", &rest)) {
    bool found = false;
    for (int i = 0; i < v->count; i++)
      found = found || (!v->outcomes[i].skipped && !strcmp(v->outcomes[i].engine->name, name));
    if (found == compared) json_array_append_new(names, json_string(name));
  }
  return names;
}

static json_t *result_of(const verification *v, bool equal_bits, bool equal_cycles, bool equal_actions) {
  json_t *engines = json_object();
  for (int i = 0; i < v->count; i++) {
    json_t *one = json_object();
    if (v->outcomes[i].skipped) json_object_set_new(one, "skipped", tg_json_text(v->outcomes[i].skipped));
    if (v->outcomes[i].result.cycles)
      json_object_set_new(one, "cycles", json_integer((json_int_t)v->outcomes[i].result.cycles));
    json_object_set_new(engines, v->outcomes[i].engine->name, one);
  }
  return json_pack("{s:b, s:b, s:b, s:o, s:o, s:o, s:O?}", "equal_bits", equal_bits, "equal_cycles",
                   equal_cycles, "equal_actions", equal_actions, "compared", names_of(v, true),
                   "not_compared", names_of(v, false), "engines", engines, "first_difference", v->first);
}

static tg_status compare_all(verification *v, json_t **out_result, tg_diag *diag) {
  bool bits = true, cycles = true, actions = true;
  const outcome *first = NULL, *timed = NULL;
  for (int i = 0; i < v->count; i++) {
    if (v->outcomes[i].skipped) continue;
    if (first && bits) bits = compare_bits(v, first, &v->outcomes[i], diag);
    first = first ? first : &v->outcomes[i];
    if (!v->outcomes[i].result.cycles) continue;
    if (timed && cycles) cycles = compare_cycles(v, timed, &v->outcomes[i], diag);
    if (timed && cycles && actions) actions = compare_actions(v, timed, &v->outcomes[i], diag);
    timed = timed ? timed : &v->outcomes[i];
  }
  *out_result = result_of(v, bits, cycles, actions);
  return bits && cycles && actions ? TG_OK : TG_MISMATCH;
}

/* What verify prints of a program whose accesses are not ordered: the engines are not asked. */
static json_t *unordered(const char *where) {
  return json_pack("{s:b, s:b, s:b, s:{}, s:{s:s, s:o}}", "ordered", 0, "equal_bits", 0, "equal_cycles", 0,
                   "engines", "first_difference", "kind", "ordering", "where", tg_json_text(where));
}

tg_status tg_verify(tg_session *session, const tg_verify_options *options, json_t **out_result,
                    tg_diag *diag) {
  verification v = {.session = session, .options = options};
  *out_result = NULL;
  tg_status status = find_engines(&v, diag);
  /* The proof holds for any timing; programs of more executions than it can follow are compared without
   * it. */
  tg_diag why = {""};
  tg_status ordered = status ? TG_OK : tg_check_ordering(session->program, &why);
  if (ordered == TG_MISMATCH) {
    *out_result = unordered(why.message);
    status = tg_fail(diag, TG_MISMATCH, "%s", why.message);
  }
  for (int i = 0; !status && i < v.count; i++) status = run_one(&v, &v.outcomes[i], diag);
  if (!status) status = compare_all(&v, out_result, diag);
  if (*out_result && ordered != TG_MISMATCH)
    json_object_set_new(*out_result, "ordered", ordered ? json_null() : json_true());
  for (int i = 0; i < v.count; i++) {
    tg_dram_destroy(v.outcomes[i].dram);
    tg_run_result_release(&v.outcomes[i].result);
  }
  json_decref(v.first);
  tg_arena_release(&v.arena);
  return status;
}

static tg_status verify_guarded(tg_session *session, const tg_session_verify_options *options,
                                char **out_json, tg_diag *diag) {
  tg_session_verify_options own;
  if (diag) diag->message[0] = 0;
  if (!out_json) return tg_fail(diag, TG_INVALID, "no place for the result is given");
  *out_json = NULL;
  if (!tg_session_is_compiled(session)) return tg_fail(diag, TG_INVALID, "there is no compiled session");
  if (tg_session_needs(session, true, false, diag)) return TG_INVALID;
  tg_status status = tg_take_options(options, &own, sizeof own, diag);
  if (!status) status = tg_session_check_threads(own.threads, diag);
  if (status) return status;
  tg_verify_options all = {.engines = own.engines ? own.engines : "available",
                           .threads = own.threads,
                           .max_cycles = own.max_cycles,
                           .progress = own.progress,
                           .user = own.progress_user};
  json_t *result = NULL;
  locale_t theirs = tg_plain_numbers();
  status = tg_verify(session, &all, &result, diag);
  if (result && !(*out_json = json_dumps(result, JSON_INDENT(2)))) tg_die("out of memory");
  uselocale(theirs);
  json_decref(result);
  return status;
}

tg_status tg_session_verify(tg_session *session, const tg_session_verify_options *options, char **out_json,
                            tg_diag *diag) {
  TG_GUARDED(diag, verify_guarded(session, options, out_json, diag));
}
