#include "mapper/section/rehearsal.h"

#include "frontend/base/math.h"
#include "mapper/section/replay.h"
#include "sim/machine/config.h"

#include <assert.h>
#include <string.h>

/* Of a kernel's sections; and of each tile, in any rehearsal: of fewer, first loads are all that a large array is seen to do. */
enum { STEPS = 1 << 14, STEPS_A_TILE = 1 << 10 };

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

static double replay_all(const tg_program *program, const tg_rehearsal *rehearsal, uint64_t room,
                         tg_arena *arena) {
  const tg_params *m = &program->params;
  const uint64_t most = rehearsal->limit < 0x1p64 ? (uint64_t)rehearsal->limit : UINT64_MAX;
  const uint32_t steps = (uint32_t)tg_max(rehearsal->steps, STEPS_A_TILE * (int64_t)tg_tiles(m));
  tg_replay_memory *memory = tg_replay_memory_new(m, arena);
  uint64_t cycles = 0;
  bool before = true; /* tg_section_is_half of it */
  for (uint32_t i = 0; i < program->invocation_count; i++) {
    const tg_invocation *invocation = &program->invocations[i];
    const tg_section *section = &program->sections[invocation->section];
    bool half = tg_section_is_half(m, section);
    uint64_t config = tg_config_cycles(m, tg_section_config_words(m, section), half && before ? room : 0);
    uint64_t replayed =
        tg_replay_section(m, section, invocation->bases, memory, (tg_replay_limits){most, steps}, arena);
    if (replayed > most) return TG_NEVER;
    cycles += config + replayed + rehearsal->between;
    room = tg_section_next(m, replayed);
    before = half;
  }
  return (double)cycles;
}

double tg_rehearse_sections(const tg_compile *c, const tg_rehearsal *rehearsal) {
  tg_arena arena = tg_arena_within(c->arena);
  tg_diag unused = {""};
  tg_compile quiet = *c;
  double cycles = TG_NEVER;
  quiet.arena = &arena;
  quiet.diag = &unused;
  quiet.shortage = (tg_shortage){0};
  quiet.program = tg_program_create(&c->program->params);
  quiet.program->arena = tg_arena_within(c->arena);
  quiet.program->tensors = c->program->tensors;
  quiet.program->tensor_count = c->program->tensor_count;
  if (!rehearsal->emit(&quiet, rehearsal->user) && !quiet.shortage.of)
    cycles = replay_all(quiet.program, rehearsal, c->kernel_count > 1 ? UINT64_MAX : 0, &arena);
  tg_program_destroy(quiet.program);
  tg_arena_release(&arena);
  return cycles;
}

/* Of a time: replays of some steps that are taken to go on err by a part of it, those with a memory device by more, and by some
 * cycles at least, however short the section. */
#define CLEARLY             0.99
#define CLEARLY_OF_A_DEVICE 0.97
#define A_DEVICES_OWN       128 /* cycles: its refresh and its turnarounds come when they come */

double tg_clearly_faster(const tg_compile *c, double cycles) {
  bool simple = tg_dram_is_simple(&c->m->dram);
  double margin = simple ? CLEARLY : CLEARLY_OF_A_DEVICE, slack = simple ? 0 : A_DEVICES_OWN;
  return cycles < TG_NEVER ? tg_max_double(tg_min_double(margin * cycles, cycles - slack), 0) : TG_NEVER;
}

static tg_status emit_kernel(tg_compile *c, const void *user) {
  const tg_kernel *kernel = user;
  size_t values = (size_t)c->graph->value_count;
  tg_place *places = TG_NEW_ARRAY(c->arena, tg_place, values + 1);
  memcpy(places, c->places, values * sizeof *places);
  c->places = places;
  place_all(c, kernel);
  return tg_class_of(c, kernel)->emit(c, kernel);
}

double tg_rehearse(tg_compile *c, const tg_kernel *kernel) {
  const tg_rehearsal rehearsal = {.emit = emit_kernel,
                                  .user = kernel,
                                  .limit = TG_NEVER,
                                  .steps = STEPS,
                                  .between = 2 + c->m->rows + c->m->cols};
  assert(!c->program->tensor_count);
  return tg_rehearse_sections(c, &rehearsal);
}
