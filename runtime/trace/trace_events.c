/* Events of a run as slices, arrows and counters of a trace. */
#include "runtime/trace/memory_use.h"
#include "runtime/trace/trace_state.h"

#include <stdio.h>

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

void tg_trace_observe(tg_trace *t) { t->observer = (tg_observer){t, begin, instruction, stall, burst, end}; }
