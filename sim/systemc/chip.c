/* Life of the chip, invocations one after the other, faults. */
#include "sim/systemc/chip.h"
#include "sim/machine/config.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void add_units(tg_chip *chip, uint32_t endpoint, bool tile) {
  chip->first_unit[endpoint] = (uint16_t)chip->units;
  for (uint32_t i = 0; i < (tile ? 3 : chip->m->agcu_contexts); i++) {
    tg_unit_state *u = &chip->unit[chip->units++];
    u->kind = tile ? (tg_unit)i : TG_AGCU;
    u->endpoint = endpoint;
    u->context = tile ? 0 : i;
  }
}

static void describe_lanes(tg_chip *chip) {
  const tg_params *m = chip->m;
  for (uint32_t i = 0; i < chip->lanes; i++) {
    tg_lane_state *lane = &chip->lane[i];
    lane->row = i < 2 * m->rows;
    uint32_t k = lane->row ? i : i - 2 * m->rows, lines = lane->row ? m->rows : m->cols;
    lane->line = k % lines;
    lane->up = k < lines;
    lane->direction = (lane->row ? TG_DIR_EAST : TG_DIR_SOUTH) + (lane->up ? 0 : 1);
  }
}

tg_chip *tg_chip_create(const tg_program *program, void (*wake)(void *host, uint32_t agent, uint64_t cycle),
                        void *host) {
  tg_chip *chip = calloc(1, sizeof *chip);
  if (!chip) tg_die("out of memory");
  const tg_params *m = &program->params;
  uint32_t tiles = tg_tiles(m), agcus = tg_agcus(m), units = tiles * 3 + agcus * m->agcu_contexts;
  chip->program = program;
  chip->m = m;
  chip->wake = wake;
  chip->host = host;
  chip->ports = agcus;
  chip->lanes = 2 * agcus;
  chip->banks = m->banks + 2;
  chip->agents = units + chip->ports + chip->lanes + 3;
  chip->wake_at = TG_NEW_ARRAY(&chip->arena, uint64_t, chip->agents);
  chip->unit = TG_NEW_ARRAY(&chip->arena, tg_unit_state, units);
  chip->port = TG_NEW_ARRAY(&chip->arena, tg_port_state, agcus);
  chip->lane = TG_NEW_ARRAY(&chip->arena, tg_lane_state, chip->lanes);
  chip->bank = TG_NEW_ARRAY(&chip->arena, tg_bank, tiles * chip->banks);
  chip->semaphore = TG_NEW_ARRAY(&chip->arena, tg_semaphore, (size_t)(tiles + agcus) * m->semaphores);
  chip->first_unit = TG_NEW_ARRAY(&chip->arena, uint16_t, tiles + agcus);
  chip->sections = TG_NEW_ARRAY(&chip->arena, tg_section_time, program->invocation_count);
  for (uint32_t e = 0; e < tiles + agcus; e++) add_units(chip, e, e < tiles);
  for (uint32_t a = 0; a < agcus; a++)
    chip->port[a].loads = TG_NEW_ARRAY(&chip->arena, tg_load, m->agcu_buffers);
  describe_lanes(chip);
  tg_posts_create(chip);
  if (!tg_dram_is_simple(&m->dram)) tg_device_create(chip);
  return chip;
}

void tg_chip_destroy(tg_chip *chip) {
  if (!chip) return;
  for (uint32_t i = 0; i < tg_tiles(chip->m) * chip->banks; i++) free(chip->bank[i].windows);
  tg_controller_destroy(chip->memory);
  free(chip->posts);
  free(chip->events);
  tg_arena_release(&chip->arena);
  free(chip);
}

void tg_chip_wake(tg_chip *chip, uint32_t agent, uint64_t cycle) {
  if (cycle >= chip->wake_at[agent]) return;
  assert(cycle >= chip->now);
  chip->wake_at[agent] = cycle;
  chip->wake(chip->host, agent, cycle);
}

void tg_chip_fault(tg_chip *chip, uint64_t cycle, const char *format, ...) {
  if (cycle >= chip->fault_at || chip->stopped) return;
  chip->fault_at = cycle;
  va_list args;
  va_start(args, format);
  char what[256];
  vsnprintf(what, sizeof what, format, args);
  va_end(args);
  const tg_invocation *invocation = &chip->program->invocations[chip->invocation];
  chip->fault = (tg_diag){0};
  tg_fail(&chip->fault, TG_FAULT, "section %u \"%s\" (invocation %u), cycle %llu: %s", invocation->section,
          chip->program->sections[invocation->section].name, chip->invocation, (unsigned long long)cycle,
          what);
  if (cycle <= chip->now)
    chip->stopped = true;
  else
    tg_chip_wake(chip, tg_agent_of_control(chip), cycle);
}

/* Everything but device memory as at a section's start. */
static void reset(tg_chip *chip, const tg_section *section) {
  uint32_t tiles = tg_tiles(chip->m), agcus = tg_agcus(chip->m), count = chip->m->semaphores;
  chip->post_count = 1;
  chip->post_free = 0;
  chip->overflow_count = 0;
  for (uint32_t e = 0; e < tiles + agcus; e++) {
    const uint8_t *init = e < tiles ? section->tiles[e].sem_init : section->agcus[e - tiles].sem_init;
    for (uint32_t s = 0; s < count; s++) chip->semaphore[e * count + s] = (tg_semaphore){.count = init[s]};
  }
  for (uint32_t b = 0; b < tiles * chip->banks; b++) chip->bank[b].count = 0;
  tg_posts_reset(chip);
  for (uint32_t i = 0; i < chip->lanes; i++) {
    chip->lane[i].count = 0;
    memset(chip->lane[i].reserved, 0, sizeof chip->lane[i].reserved);
  }
  for (uint32_t a = 0; a < agcus; a++) {
    tg_port_state *p = &chip->port[a];
    *p = (tg_port_state){
        .loads = p->loads, .granted = chip->m->agcu_contexts - 1, .walk.pieces = p->walk.pieces};
  }
}

static const tg_queue *queue_of(const tg_chip *chip, const tg_section *section, const tg_unit_state *u) {
  if (u->kind == TG_AGCU) return &section->agcus[u->endpoint - tg_tiles(chip->m)].contexts[u->context];
  const tg_tile_program *tile = &section->tiles[u->endpoint];
  return u->kind == TG_MX ? &tile->mx : u->kind == TG_VX ? &tile->vx : &tile->tx;
}

static void set_machine(tg_chip *chip, const tg_section *section) {
  if (chip->values) {
    tg_values_finish(chip->computing); /* what is left of the section before */
    tg_machine_begin(chip->machine, chip->program, chip->invocation, chip->options.seed, chip->options.step,
                     chip->dram);
    return;
  }
  chip->machine->section = section; /* what tg_exec_check looks at */
  chip->machine->section_index = chip->program->invocations[chip->invocation].section;
}

static void section_begin(tg_chip *chip) {
  const tg_section *section = &chip->program->sections[chip->program->invocations[chip->invocation].section];
  const tg_section_time *before = chip->invocation ? &chip->sections[chip->invocation - 1] : NULL;
  bool half = tg_section_is_half(chip->m, section);
  uint64_t room = before && half && chip->half ? chip->begin - (before->begin + before->config) : 0;
  uint64_t config = tg_config_cycles(chip->m, tg_section_config_words(chip->m, section), room);
  uint64_t first_issue = chip->begin + config;
  chip->half = half;
  chip->waiting = false;
  chip->sections[chip->invocation] = (tg_section_time){.begin = chip->begin, .config = config};
  chip->actions = &chip->sections[chip->invocation].actions;
  chip->read = chip->dram->read;
  chip->written = chip->dram->written;
  chip->last_end = first_issue - 1;
  chip->open = 1; /* this function */
  reset(chip, section);
  set_machine(chip, section);
  const tg_observer *o = chip->options.observer;
  if (o) o->begin(o->user, chip->invocation, chip->begin, config);
  for (uint32_t u = 0; u < chip->units; u++) {
    tg_sequencer_init(&chip->unit[u].sequencer, chip->unit[u].kind, queue_of(chip, section, &chip->unit[u]));
    tg_unit_begin(chip, u, first_issue);
  }
  tg_chip_retire(chip);
}

static void section_end(tg_chip *chip) {
  chip->sections[chip->invocation].end = chip->last_end;
  chip->sections[chip->invocation].dram_read = chip->dram->read - chip->read;
  chip->sections[chip->invocation].dram_written = chip->dram->written - chip->written;
  const tg_observer *o = chip->options.observer;
  if (o) o->end(o->user, chip->invocation, chip->last_end);
  uint64_t next = tg_section_next(chip->m, chip->last_end);
  if (chip->options.max_cycles && next > chip->options.max_cycles) {
    uint64_t limit = chip->options.max_cycles;
    tg_chip_fault(chip, limit > chip->now ? limit : chip->now, "cycle limit of %llu reached",
                  (unsigned long long)limit);
  }
  if (chip->fault_at < next) return; /* on its way */
  chip->begin = next;
  chip->ended = true; /* what is still visible before, a semaphore that overflows, counts */
  chip->waiting = true;
  tg_chip_wake(chip, tg_agent_of_control(chip), chip->begin);
}

void tg_chip_retire(tg_chip *chip) {
  if (--chip->open == 0 && !chip->stopped) section_end(chip);
}

static void record(tg_chip *chip, const tg_unit_state *u, const tg_execution *x, uint64_t start,
                   uint64_t end) {
  if (chip->event_count == chip->event_capacity) {
    chip->event_capacity = chip->event_capacity ? chip->event_capacity * 2 : 1024;
    chip->events = realloc(chip->events, chip->event_capacity * sizeof *chip->events);
    if (!chip->events) tg_die("out of memory");
  }
  chip->events[chip->event_count++] = (tg_event){.start = start,
                                                 .end = end,
                                                 .invocation = chip->invocation,
                                                 .endpoint = (uint16_t)u->endpoint,
                                                 .unit = (uint8_t)u->kind,
                                                 .context = (uint8_t)u->context,
                                                 .pc = x->pc};
}

void tg_chip_complete(tg_chip *chip, uint32_t unit, const tg_execution *x, uint64_t start, uint64_t end) {
  const tg_unit_state *u = &chip->unit[unit];
  if (chip->options.record_events) record(chip, u, x, start, end);
  if (chip->options.observer) tg_observe_instruction(chip, u, x, start, end);
  if (chip->last_end < end) chip->last_end = end;
  tg_posts_end(chip, unit, x, end);
  tg_chip_retire(chip);
}

void tg_chip_begin(tg_chip *chip, tg_dram *dram, const tg_run_options *options) {
  chip->options = *options;
  chip->dram = dram;
  chip->now = chip->invocation = 0;
  chip->ended = false;
  if (chip->memory) tg_controller_reset(chip->memory);
  chip->counted = (tg_dram_counts){0};
  chip->followed = chip->sending = 0;
  chip->begin = chip->last_end = 0;
  chip->event_count = 0;
  chip->fault_at = TG_NEVER;
  chip->fault_status = TG_FAULT;
  chip->fault = (tg_diag){0};
  chip->stopped = chip->program->invocation_count == 0;
  for (uint32_t a = 0; a < chip->agents; a++) chip->wake_at[a] = TG_NEVER;
  if (chip->stopped) return;
  chip->waiting = true;
  tg_chip_wake(chip, tg_agent_of_control(chip), 0);
}

static void end_invocation(tg_chip *chip) {
  if (chip->memory) chip->sections[chip->invocation].dram = tg_device_count(chip);
  chip->invocation++;
  chip->ended = false;
}

static void control_act(tg_chip *chip) {
  size_t kept = 0;
  uint64_t next = TG_NEVER;
  for (size_t i = 0; i < chip->overflow_count; i++) {
    tg_overflow o = chip->overflows[i];
    if (o.cycle <= chip->now) {
      tg_semaphore_check(chip, o.semaphore);
      continue;
    }
    if (next > o.cycle) next = o.cycle;
    chip->overflows[kept++] = o;
  }
  chip->overflow_count = kept;
  if (chip->fault_at <= chip->now) {
    chip->stopped = true;
    return;
  }
  if (chip->waiting && chip->begin <= chip->now) {
    if (chip->ended) end_invocation(chip);
    if (chip->invocation == chip->program->invocation_count) {
      chip->stopped = true;
      return;
    }
    if (!tg_run_proceeds(&chip->options, chip->invocation)) {
      tg_chip_fault(chip, chip->now, "the caller ended the run");
      return;
    }
    section_begin(chip);
  }
  if (chip->waiting && next > chip->begin) next = chip->begin;
  if (next > chip->fault_at) next = chip->fault_at;
  if (next != TG_NEVER && !chip->stopped) tg_chip_wake(chip, tg_agent_of_control(chip), next);
}

void tg_chip_act(tg_chip *chip, uint32_t agent, uint64_t now) {
  if (chip->stopped) return;
  chip->now = now;
  chip->wake_at[agent] = TG_NEVER;
  tg_posts_follow(chip);
  if (chip->options.max_cycles && now > chip->options.max_cycles) {
    tg_chip_fault(chip, now, "cycle limit of %llu reached", (unsigned long long)chip->options.max_cycles);
    return;
  }
  if (agent < chip->units)
    tg_unit_act(chip, agent);
  else if (agent < chip->units + chip->ports)
    tg_port_act(chip, agent - chip->units);
  else if (agent < tg_agent_of_memory(chip))
    tg_lane_act(chip, agent - chip->units - chip->ports);
  else if (agent == tg_agent_of_memory(chip))
    tg_device_act(chip);
  else if (agent == tg_agent_of_posts(chip))
    tg_posts_act(chip);
  else
    control_act(chip);
}

static int by_place(const void *left, const void *right) {
  const tg_event *a = left, *b = right;
  if (a->invocation != b->invocation) return a->invocation < b->invocation ? -1 : 1;
  if (a->endpoint != b->endpoint) return a->endpoint < b->endpoint ? -1 : 1;
  if (a->unit != b->unit) return a->unit < b->unit ? -1 : 1;
  if (a->context != b->context) return a->context < b->context ? -1 : 1;
  return (a->start > b->start) - (a->start < b->start);
}

tg_status tg_chip_finish(tg_chip *chip, tg_run_result *result, tg_diag *diag) {
  if (chip->values) tg_values_finish(chip->computing);
  bool done = chip->stopped && chip->fault_at == TG_NEVER;
  if (!chip->stopped) tg_chip_fault(chip, chip->now, "deadlock, nothing can happen any more");
  if (!done) {
    char where[900];
    if (chip->fault_status != TG_FAULT) return tg_fail(diag, chip->fault_status, "%s", chip->fault.message);
    tg_chip_describe(chip, where, sizeof where);
    return tg_fail(diag, TG_FAULT, "%.300s; %s", chip->fault.message, where);
  }
  uint32_t count = chip->program->invocation_count;
  result->cycles = count ? tg_section_next(chip->m, chip->last_end) : 0;
  if (chip->memory && count) {
    uint64_t written = tg_device_finish(chip, &chip->sections[count - 1].dram);
    if (result->cycles <= written) result->cycles = written + 1;
  }
  result->sections = malloc((count ? count : 1) * sizeof *result->sections);
  if (!result->sections) tg_die("out of memory");
  memcpy(result->sections, chip->sections, count * sizeof *result->sections);
  if (chip->options.record_events) {
    if (chip->event_count) qsort(chip->events, chip->event_count, sizeof *chip->events, by_place);
    result->events = chip->events;
    result->event_count = chip->event_count;
    chip->events = NULL;
    chip->event_count = chip->event_capacity = 0;
  }
  return TG_OK;
}
