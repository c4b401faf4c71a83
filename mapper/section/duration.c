#include "mapper/section/duration.h"

#include "frontend/base/hash.h"
#include "mapper/section/replay.h"
#include "sim/machine/config.h"

#include <string.h>

static const uint64_t nowhere[TG_BASES];
static const tg_replay_limits limits = {UINT64_MAX, 1 << 18};

/* What is known of a section. */
typedef struct known {
  uint32_t section;
  uint64_t hash;  /* of a part of it */
  uint64_t words; /* of its configuration, */
  bool half;      /* for which half of the memories suffices */
  uint64_t replayed;
} known;

struct tg_durations {
  const tg_program *program;
  tg_arena *arena;
  tg_replay_memory *memory; /* NULL: what a replay takes follows from the section alone */
  known *entries;
  size_t count, capacity;
  size_t last;   /* entry of the section that was asked for last */
  bool half;     /* tg_section_is_half of the invocation before; false: there is none */
  uint64_t room; /* cycles from its first possible issue to the next one's begin */
};

tg_durations *tg_durations_new(const tg_program *program, tg_arena *arena) {
  tg_durations *d = TG_NEW(arena, tg_durations);
  d->program = program;
  d->arena = arena;
  d->memory = tg_replay_memory_new(&program->params, arena);
  return d;
}

/* Of the first tile and the first AGCU, by which most sections differ that do. */
static uint64_t hash_of(const tg_params *m, const tg_section *section) {
  const tg_tile_program *tile = &section->tiles[0];
  const tg_queue *queues[] = {&tile->mx, &tile->vx, &tile->tx};
  tg_hasher hasher;
  tg_hasher_start(&hasher);
  for (size_t q = 0; q < sizeof queues / sizeof *queues; q++)
    if (queues[q]->count) tg_hasher_add(&hasher, queues[q]->instrs, queues[q]->count * sizeof(tg_instr));
  for (uint32_t c = 0; c < m->agcu_contexts; c++) {
    const tg_queue *queue = &section->agcus[0].contexts[c];
    if (queue->count) tg_hasher_add(&hasher, queue->instrs, queue->count * sizeof(tg_instr));
  }
  return tg_hasher_sum(&hasher);
}

static const known *entry_of(tg_durations *d, uint32_t number) {
  const tg_params *m = &d->program->params;
  const tg_section *section = &d->program->sections[number];
  if (d->count && d->entries[d->last].section == number) return &d->entries[d->last];
  uint64_t hash = hash_of(m, section);
  for (d->last = 0; d->last < d->count; d->last++)
    if (d->entries[d->last].hash == hash &&
        tg_section_equal(m, &d->program->sections[d->entries[d->last].section], section))
      return &d->entries[d->last];
  known found = {.section = number,
                 .hash = hash,
                 .words = tg_section_config_words(m, section),
                 .half = tg_section_is_half(m, section)};
  if (!d->memory) found.replayed = tg_replay_section(m, section, nowhere, NULL, limits, d->arena);
  TG_PUSH(d->arena, d->entries, d->count, d->capacity, found);
  return &d->entries[d->last];
}

uint64_t tg_duration_of(tg_durations *d, const tg_invocation *invocation) {
  const tg_params *m = &d->program->params;
  const known *entry = entry_of(d, invocation->section);
  uint64_t config = tg_config_cycles(m, entry->words, d->half && entry->half ? d->room : 0),
           replayed = entry->replayed;
  tg_replay_memory_pass(d->memory, (double)config);
  if (d->memory)
    replayed = tg_replay_section(m, &d->program->sections[invocation->section], invocation->bases, d->memory,
                                 limits, d->arena);
  d->half = entry->half;
  d->room = tg_section_next(m, replayed);
  return config + replayed;
}
