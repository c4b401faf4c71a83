#include "mapper/section/rehearsal.h"

#include "frontend/base/math.h"
#include "mapper/section/replay.h"
#include "sim/machine/config.h"

#include <string.h>

enum { STEPS = 1 << 14 };

static void place(tg_compile *c, tg_value *value) {
  tg_dram_tensor *tensor = tg_program_add_tensor(c->program);
  uint64_t bytes = (uint64_t)tg_value_elements(value) * tg_value_bytes_each(value);
  *tensor = (tg_dram_tensor){.name = value->name,
                             .storage = tg_value_storage(value),
                             .address = c->program->dram_bytes,
                             .bytes = bytes};
  c->program->dram_bytes += (uint64_t)tg_round_up((int64_t)bytes, TG_ATOM_BYTES);
  c->places[value->index] = (tg_place){.tensor = (int)c->program->tensor_count - 1};
}

static void place_all(tg_compile *c, const tg_kernel *kernel) {
  for (size_t i = 0; i < kernel->input_count; i++) place(c, kernel->inputs[i]);
  for (int i = 0; i < tg_kernel_writes(kernel); i++) place(c, tg_kernel_written(kernel, i));
}

static double replay_all(const tg_program *program, tg_arena *arena) {
  const tg_params *m = &program->params;
  const tg_replay_limits limits = {UINT64_MAX, STEPS};
  tg_replay_memory *memory = tg_replay_memory_new(m, arena);
  uint64_t cycles = 0;
  for (uint32_t i = 0; i < program->invocation_count; i++) {
    const tg_invocation *invocation = &program->invocations[i];
    const tg_section *section = &program->sections[invocation->section];
    cycles += tg_section_config_cycles(m, section, NULL) + 2 + m->rows + m->cols +
              tg_replay_section(m, section, invocation->bases, memory, limits, arena);
  }
  return (double)cycles;
}

double tg_rehearse(tg_compile *c, const tg_kernel *kernel) {
  tg_arena arena = tg_arena_within(c->arena);
  tg_diag unused = {""};
  tg_compile quiet = *c;
  size_t values = (size_t)c->graph->value_count;
  double cycles = TG_NEVER;
  quiet.arena = &arena;
  quiet.diag = &unused;
  quiet.program = tg_program_create(c->m);
  quiet.program->arena = tg_arena_within(c->arena);
  quiet.places = TG_NEW_ARRAY(&arena, tg_place, values + 1);
  memcpy(quiet.places, c->places, values * sizeof *quiet.places);
  place_all(&quiet, kernel);
  if (!tg_class_of(c, kernel)->emit(&quiet, kernel) && !quiet.shortage.of)
    cycles = replay_all(quiet.program, &arena);
  tg_program_destroy(quiet.program);
  tg_arena_release(&arena);
  return cycles;
}
