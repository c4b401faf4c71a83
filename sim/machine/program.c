#include "sim/machine/program.h"

#include <stdlib.h>
#include <string.h>

const char *tg_storage_name(tg_storage storage) {
  static const char *const names[TG_STORAGES] = {"fp32", "bf16", "fp16", "tf32"};
  return names[storage];
}

const char *tg_role_name(tg_role role) {
  static const char *const names[TG_ROLE_COUNT] = {"input", "output", "constant", "temporary", "state"};
  return names[role];
}

tg_program *tg_program_create(const tg_params *params) {
  tg_program *program = calloc(1, sizeof *program);
  if (!program) tg_die("out of memory");
  program->params = *params;
  program->model = program->options = "";
  return program;
}

void tg_program_destroy(tg_program *program) {
  if (!program) return;
  tg_arena_release(&program->arena);
  free(program);
}

/* Room for one more element in an array whose capacity is the next power of two (at least 4) of its count. */
static void *grow(tg_program *program, void *array, uint32_t count, size_t size) {
  if (count >= 4 ? (count & (count - 1)) != 0 : count != 0) return array;
  void *larger = tg_arena_alloc(&program->arena, count ? (size_t)count * 2 : 4, size);
  if (count) memcpy(larger, array, count * size);
  return larger;
}

tg_section *tg_program_add_section(tg_program *program, const char *name) {
  const tg_params *m = &program->params;
  program->sections = grow(program, program->sections, program->section_count, sizeof *program->sections);
  tg_section *section = &program->sections[program->section_count++];
  *section = (tg_section){.name = tg_arena_strdup(&program->arena, name)};
  section->tiles = TG_NEW_ARRAY(&program->arena, tg_tile_program, tg_tiles(m));
  section->agcus = TG_NEW_ARRAY(&program->arena, tg_agcu_program, tg_agcus(m));
  for (uint32_t t = 0; t < tg_tiles(m); t++)
    section->tiles[t].sem_init = TG_NEW_ARRAY(&program->arena, uint8_t, m->semaphores);
  for (uint32_t a = 0; a < tg_agcus(m); a++) {
    section->agcus[a].contexts = TG_NEW_ARRAY(&program->arena, tg_queue, m->agcu_contexts);
    section->agcus[a].sem_init = TG_NEW_ARRAY(&program->arena, uint8_t, m->semaphores);
  }
  return section;
}

tg_dram_tensor *tg_program_add_tensor(tg_program *program) {
  program->tensors = grow(program, program->tensors, program->tensor_count, sizeof *program->tensors);
  tg_dram_tensor *tensor = &program->tensors[program->tensor_count++];
  *tensor = (tg_dram_tensor){.name = ""};
  return tensor;
}

tg_invocation *tg_program_add_invocation(tg_program *program) {
  program->invocations =
      grow(program, program->invocations, program->invocation_count, sizeof *program->invocations);
  tg_invocation *invocation = &program->invocations[program->invocation_count++];
  *invocation = (tg_invocation){.name = ""};
  return invocation;
}

tg_instr *tg_queue_push(tg_program *program, tg_queue *queue) {
  queue->instrs = grow(program, queue->instrs, queue->count, sizeof *queue->instrs);
  tg_instr *instr = &queue->instrs[queue->count++];
  memset(instr, 0, sizeof *instr);
  return instr;
}

static bool equal_bytes(const void *a, const void *b, size_t bytes) { return !bytes || !memcmp(a, b, bytes); }

static bool equal_queues(const tg_queue *a, const tg_queue *b) {
  return a->count == b->count && equal_bytes(a->instrs, b->instrs, a->count * sizeof *a->instrs);
}

static bool equal_tiles(const tg_params *m, const tg_tile_program *a, const tg_tile_program *b) {
  return equal_queues(&a->mx, &b->mx) && equal_queues(&a->vx, &b->vx) && equal_queues(&a->tx, &b->tx) &&
         a->word_count == b->word_count && a->constant_count == b->constant_count &&
         equal_bytes(a->words, b->words, a->word_count * sizeof *a->words) &&
         equal_bytes(a->constants, b->constants, a->constant_count * sizeof *a->constants) &&
         equal_bytes(a->sem_init, b->sem_init, m->semaphores);
}

bool tg_section_equal(const tg_params *params, const tg_section *a, const tg_section *b) {
  bool equal = a->kept == b->kept;
  for (uint32_t t = 0; equal && t < tg_tiles(params); t++)
    equal = equal_tiles(params, &a->tiles[t], &b->tiles[t]);
  for (uint32_t i = 0; equal && i < tg_agcus(params); i++) {
    const tg_agcu_program *x = &a->agcus[i], *y = &b->agcus[i];
    for (uint32_t c = 0; equal && c < params->agcu_contexts; c++)
      equal = equal_queues(&x->contexts[c], &y->contexts[c]);
    equal = equal && equal_bytes(x->sem_init, y->sem_init, params->semaphores);
  }
  return equal;
}

uint64_t tg_section_next(const tg_params *params, uint64_t last_end) {
  return last_end + 2 + tg_control_distance(params);
}
