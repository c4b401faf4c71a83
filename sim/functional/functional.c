/* Untimed interpretation in rounds: every unit whose waits are satisfied issues its next instruction; all of
 * them execute; all of them post. Values are computed beside, in as many threads as wanted (values.h). */
#include "sim/functional/functional.h"

#include "sim/functional/values.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef struct unit {
  tg_sequencer sequencer;
  uint32_t endpoint, context;
  tg_unit kind;
  bool done, issued; /* issued in this round */
  tg_execution next; /* unless done */
  uint32_t wait_count;
  uint16_t waits[TG_MAX_WAITS];
  tg_accesses accesses; /* of an issued one */
} unit;

typedef struct functional {
  const tg_program *program;
  const tg_kernels *kernels;
  tg_kernels *owned; /* NULL with the reference kernels */
  tg_machine_state *state;
  tg_values *values;
  uint32_t unit_count, invocation;
  unit *units;         /* of tiles (mx, vx, tx), then of AGCUs (contexts) */
  uint16_t *semaphore; /* params.semaphores an endpoint */
  tg_run_result *result;
  size_t event_capacity;
  bool record;
} functional;

static uint16_t *semaphore(functional *f, uint32_t endpoint, uint32_t number) {
  return &f->semaphore[(size_t)endpoint * f->program->params.semaphores + number];
}

static void refresh(unit *u) {
  u->done = tg_sequencer_done(&u->sequencer);
  if (u->done) return;
  u->next = tg_sequencer_peek(&u->sequencer);
  u->wait_count = tg_execution_waits(&u->next, u->waits);
}

static void begin_unit(functional *f, unit *u, uint32_t endpoint, tg_unit kind, uint32_t context,
                       const tg_queue *queue) {
  (void)f;
  tg_sequencer_init(&u->sequencer, kind, queue);
  u->endpoint = endpoint;
  u->kind = kind;
  u->context = context;
  refresh(u);
}

static void begin_section(functional *f) {
  const tg_params *m = &f->program->params;
  const tg_section *section = f->state->section;
  uint32_t n = 0, tiles = tg_tiles(m);
  for (uint32_t t = 0; t < tiles; t++) {
    const tg_tile_program *tile = &section->tiles[t];
    begin_unit(f, &f->units[n++], t, TG_MX, 0, &tile->mx);
    begin_unit(f, &f->units[n++], t, TG_VX, 0, &tile->vx);
    begin_unit(f, &f->units[n++], t, TG_TX, 0, &tile->tx);
  }
  for (uint32_t a = 0; a < tg_agcus(m); a++)
    for (uint32_t c = 0; c < m->agcu_contexts; c++)
      begin_unit(f, &f->units[n++], tiles + a, TG_AGCU, c, &section->agcus[a].contexts[c]);
  f->unit_count = n;
  for (uint32_t e = 0; e < tiles + tg_agcus(m); e++)
    for (uint32_t s = 0; s < m->semaphores; s++)
      *semaphore(f, e, s) = e < tiles ? section->tiles[e].sem_init[s] : section->agcus[e - tiles].sem_init[s];
}

/* "tile 3 mx" or "agcu 1 context 0", and where it stands. */
static void describe(const functional *f, const unit *u, char *out, size_t size) {
  uint32_t tiles = tg_tiles(&f->program->params);
  int n = u->endpoint < tiles ? snprintf(out, size, "tile %u %s", u->endpoint, tg_unit_name(u->kind))
                              : snprintf(out, size, "agcu %u context %u", u->endpoint - tiles, u->context);
  snprintf(out + n, size - (size_t)n, " pc %u [%u %u %u]", u->next.pc, u->next.index[0], u->next.index[1],
           u->next.index[2]);
}

static tg_status fault_at(functional *f, const unit *u, tg_diag *diag) {
  char where[96];
  describe(f, u, where, sizeof where);
  tg_diag_prefix(diag, "section %u \"%s\", %s", f->state->section_index, f->state->section->name, where);
  return TG_FAULT;
}

static bool ready(functional *f, const unit *u) {
  for (uint32_t i = 0; i < u->wait_count; i++)
    if (!*semaphore(f, u->endpoint, u->waits[i])) return false;
  return true;
}

/* Issues what is ready. Returns the number of issues. */
static uint32_t issue(functional *f) {
  uint32_t issues = 0;
  for (uint32_t i = 0; i < f->unit_count; i++) {
    unit *u = &f->units[i];
    u->issued = !u->done && ready(f, u);
    if (!u->issued) continue;
    issues++;
    for (uint32_t w = 0; w < u->wait_count; w++) --*semaphore(f, u->endpoint, u->waits[w]);
  }
  return issues;
}

static tg_status check_issued(functional *f, tg_diag *diag) {
  for (uint32_t i = 0; i < f->unit_count; i++) {
    unit *u = &f->units[i];
    if (u->issued && tg_exec_accesses(f->state, u->endpoint, u->kind, &u->next, &u->accesses, diag))
      return fault_at(f, u, diag);
  }
  return TG_OK;
}

/* What a LOAD or STORE costs the port, and whether it stays in device memory. */
static tg_status count_bursts(functional *f, const unit *u, tg_diag *diag) {
  const tg_agcu_instr *in = &u->next.in->agcu;
  if (in->op == TG_OP_sync) return TG_OK;
  uint64_t *moved = in->op == TG_OP_agcu_load ? &f->state->dram->read : &f->state->dram->written;
  tg_walk walk;
  tg_walk_begin(&walk, &f->program->params, in, u->next.index, f->state->bases[in->base]);
  while (walk.flit < walk.flits) {
    uint32_t atoms;
    if (tg_exec_check_burst(f->state, &walk, &atoms, diag)) return fault_at(f, u, diag);
    *moved += (uint64_t)TG_ATOM_BYTES * atoms;
  }
  return TG_OK;
}

/* Computing first, then what moves data. */
static tg_status execute(functional *f, tg_diag *diag) {
  for (int moving = 0; moving < 2; moving++)
    for (uint32_t i = 0; i < f->unit_count; i++) {
      const unit *u = &f->units[i];
      if (!u->issued || (u->kind >= TG_TX) != moving) continue;
      if (u->kind == TG_AGCU && count_bursts(f, u, diag)) return TG_FAULT;
      tg_values_add(f->values, u->endpoint, u->kind, &u->next, &u->accesses);
    }
  return TG_OK;
}

static tg_status increment(functional *f, const unit *u, uint32_t endpoint, int64_t number, tg_diag *diag) {
  uint16_t *counter = semaphore(f, endpoint, (uint32_t)number);
  if (*counter < 255) {
    ++*counter;
    return TG_OK;
  }
  uint32_t tiles = tg_tiles(&f->program->params);
  tg_fail(diag, TG_FAULT, "semaphore %lld of %s %u exceeds 255", (long long)number,
          endpoint < tiles ? "tile" : "agcu", endpoint < tiles ? endpoint : endpoint - tiles);
  return fault_at(f, u, diag);
}

/* The semaphore that arrives behind the data of a SEND or LOAD. */
static tg_status arrivals(functional *f, const unit *u, tg_diag *diag) {
  const tg_instr *in = u->next.in;
  const tg_params *m = &f->program->params;
  bool send = u->kind == TG_TX && in->common.op == TG_OP_tx_send,
       load = u->kind == TG_AGCU && in->common.op == TG_OP_agcu_load;
  if (!send && !load) return TG_OK;
  if (!(send ? in->tx.dst_post : in->agcu.dst_post)) return TG_OK;
  int64_t mask = send ? in->tx.dst_mask : in->agcu.dst_mask,
          number = send ? in->tx.dst_sem : in->agcu.dst_sem;
  uint32_t dir =
      send ? (uint32_t)in->tx.dir : (tg_is_west(m, u->endpoint - tg_tiles(m)) ? TG_DIR_EAST : TG_DIR_SOUTH);
  for (uint32_t pos = 0; pos < 17; pos++) {
    if (!(mask >> pos & 1)) continue;
    tg_status status = increment(f, u, tg_lane_endpoint(m, u->endpoint, dir, pos), number, diag);
    if (status) return status;
  }
  return TG_OK;
}

static tg_status post(functional *f, const unit *u, tg_diag *diag) {
  const tg_common_instr *in = &u->next.in->common;
  for (int i = 0; i < 4; i++) {
    if (!tg_execution_posts(&u->next, i)) continue;
    uint32_t endpoint = tg_post_endpoint(&f->program->params, u->endpoint, in, i);
    tg_status status = increment(f, u, endpoint, in->post_sem[i], diag);
    if (status) return status;
  }
  return arrivals(f, u, diag);
}

static void record(functional *f, const unit *u) {
  tg_run_result *r = f->result;
  if (r->event_count == f->event_capacity) {
    f->event_capacity = f->event_capacity ? 2 * f->event_capacity : 1024;
    r->events = realloc(r->events, f->event_capacity * sizeof *r->events);
    if (!r->events) tg_die("out of memory for the events");
  }
  r->events[r->event_count] = (tg_event){.start = r->event_count, /* issue order, until sorted */
                                         .invocation = f->invocation,
                                         .endpoint = (uint16_t)u->endpoint,
                                         .unit = (uint8_t)u->kind,
                                         .context = (uint8_t)u->context,
                                         .pc = u->next.pc};
  r->event_count++;
}

static int order(const void *left, const void *right) {
  const tg_event *a = left, *b = right;
  if (a->invocation != b->invocation) return a->invocation < b->invocation ? -1 : 1;
  if (a->endpoint != b->endpoint) return a->endpoint < b->endpoint ? -1 : 1;
  if (a->unit != b->unit) return a->unit < b->unit ? -1 : 1;
  if (a->context != b->context) return a->context < b->context ? -1 : 1;
  return a->start < b->start ? -1 : a->start > b->start;
}

/* One round. Posts are in the order of the units. */
static tg_status perform(functional *f, tg_diag *diag) {
  tg_status status = check_issued(f, diag);
  if (!status) status = execute(f, diag);
  for (uint32_t i = 0; !status && i < f->unit_count; i++) {
    unit *u = &f->units[i];
    if (!u->issued) continue;
    status = post(f, u, diag);
    if (f->record) record(f, u);
    tg_sequencer_step(&u->sequencer);
    refresh(u);
  }
  return status;
}

static tg_status deadlock(functional *f, tg_diag *diag) {
  char text[900] = "";
  size_t length = 0;
  for (uint32_t i = 0; i < f->unit_count && length < sizeof text - 160; i++) {
    const unit *u = &f->units[i];
    if (u->done) continue;
    char where[96];
    describe(f, u, where, sizeof where);
    length += (size_t)snprintf(text + length, sizeof text - length, "; %s waits for semaphore", where);
    for (uint32_t w = 0; w < u->wait_count && length < sizeof text - 16; w++)
      if (!*semaphore(f, u->endpoint, u->waits[w]))
        length += (size_t)snprintf(text + length, sizeof text - length, " %u", u->waits[w]);
  }
  return tg_fail(diag, TG_FAULT, "deadlock in section %u \"%s\"%s", f->state->section_index,
                 f->state->section->name, text);
}

static bool all_done(const functional *f) {
  for (uint32_t i = 0; i < f->unit_count; i++)
    if (!f->units[i].done) return false;
  return true;
}

/* A round has an issue, and so lasts a cycle at least on every machine: the cycle limit bounds rounds too. */
static tg_status run_section(functional *f, uint64_t max_rounds, tg_diag *diag) {
  begin_section(f);
  for (uint64_t round = 0; !all_done(f); round++) {
    if (max_rounds && round >= max_rounds)
      return tg_fail(diag, TG_FAULT, "section %u \"%s\" is not finished after %llu rounds",
                     f->state->section_index, f->state->section->name, (unsigned long long)round);
    if (!issue(f)) return deadlock(f, diag);
    tg_status status = perform(f, diag);
    if (status) return status;
  }
  return TG_OK;
}

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static tg_status run(void *opened, tg_dram *dram, const tg_run_options *options, tg_run_result *out_result,
                     tg_diag *diag) {
  functional *f = opened;
  double start = now();
  uint64_t read = dram->read, written = dram->written;
  *out_result = (tg_run_result){0};
  f->result = out_result;
  f->event_capacity = 0;
  f->record = options->record_events;
  tg_exec_thread_init();
  tg_values_bind(f->values, f->kernels, f->state);
  tg_status status = TG_OK;
  for (f->invocation = 0; !status && f->invocation < f->program->invocation_count; f->invocation++) {
    if (!tg_run_proceeds(options, f->invocation)) {
      status = tg_fail(diag, TG_FAULT, "invocation %u: the caller ended the run", f->invocation);
      break;
    }
    tg_machine_begin(f->state, f->program, f->invocation, options->seed, options->step, dram);
    status = run_section(f, options->max_cycles, diag);
    tg_values_finish(f->values);
  }
  if (out_result->event_count) qsort(out_result->events, out_result->event_count, sizeof(tg_event), order);
  for (size_t i = 0; i < out_result->event_count; i++) out_result->events[i].start = 0;
  out_result->dram_read = dram->read - read;
  out_result->dram_written = dram->written - written;
  out_result->seconds = now() - start;
  return status;
}

static void close_engine(void *opened) {
  functional *f = opened;
  if (!f) return;
  tg_values_destroy(f->values);
  tg_kernels_destroy(f->owned);
  tg_machine_destroy(f->state);
  free(f->units);
  free(f->semaphore);
  free(f);
}

static functional *open_engine(const tg_program *program, const tg_run_options *options) {
  const tg_params *m = &program->params;
  functional *f = calloc(1, sizeof *f);
  if (!f) tg_die("out of memory");
  f->program = program;
  f->kernels = tg_kernels_reference();
  f->units = calloc(3 * tg_tiles(m) + tg_agcus(m) * m->agcu_contexts, sizeof *f->units);
  f->semaphore = calloc((size_t)(tg_tiles(m) + tg_agcus(m)) * m->semaphores, sizeof *f->semaphore);
  if (!f->units || !f->semaphore) tg_die("out of memory");
  f->state = tg_machine_create(m);
  f->values = tg_values_create(options->threads);
  return f;
}

static tg_status open_reference(const tg_program *program, const tg_run_options *options, void **out_state,
                                tg_diag *diag) {
  (void)diag;
  *out_state = open_engine(program, options);
  return TG_OK;
}

static tg_status open_native(const tg_program *program, const tg_run_options *options, void **out_state,
                             tg_diag *diag) {
  functional *f = open_engine(program, options);
  tg_status status = tg_kernels_prepare(program, &f->owned, diag);
  if (status) {
    close_engine(f);
    *out_state = NULL;
    return status;
  }
  f->kernels = f->owned;
  *out_state = f;
  return TG_OK;
}

const tg_engine tg_engine_functional = {
    .name = "functional", .open = open_native, .run = run, .close = close_engine};
const tg_engine tg_engine_reference = {
    .name = "reference", .open = open_reference, .run = run, .close = close_engine};
