#include "runtime/trace/memory_use.h"

#include <string.h>

/* Temporaries share memory one after the other, in the order of their makers, which is the table's. */
typedef struct life {
  uint32_t first, last; /* invocations */
  bool made, read;
} life;

typedef struct lives {
  const tg_program *program;
  life *of; /* each tensor */
} lives;

static bool holds(const tg_dram_tensor *t, uint64_t address) {
  return t->role == TG_ROLE_TEMPORARY && address >= t->address && address - t->address < t->bytes;
}

/* The tensor at an address: the one made last, or the next to be made; tensor_count if there is none. */
static uint32_t find(const lives *l, uint64_t address, bool made) {
  uint32_t found = l->program->tensor_count;
  for (uint32_t t = 0; t < l->program->tensor_count; t++) {
    if (!holds(&l->program->tensors[t], address) || l->of[t].made != made) continue;
    found = t;
    if (!made) break;
  }
  return found;
}

static void access(lives *l, uint32_t invocation, uint64_t address, bool store) {
  uint32_t none = l->program->tensor_count, owner = find(l, address, true);
  if (store && (owner == none || (l->of[owner].read && l->of[owner].last < invocation))) {
    uint32_t next = find(l, address, false);
    if (next != none) {
      l->of[next] = (life){.first = invocation, .last = invocation, .made = true};
      owner = next;
    }
  }
  if (owner == none) return;
  l->of[owner].last = invocation;
  l->of[owner].read |= !store;
}

static void walk_section(lives *l, uint32_t invocation, bool stores) {
  const tg_program *program = l->program;
  const tg_invocation *v = &program->invocations[invocation];
  const tg_section *section = &program->sections[v->section];
  for (uint32_t a = 0; a < tg_agcus(&program->params); a++)
    for (uint32_t c = 0; c < program->params.agcu_contexts; c++)
      for (uint32_t pc = 0; pc < section->agcus[a].contexts[c].count; pc++) {
        const tg_agcu_instr *in = &section->agcus[a].contexts[c].instrs[pc].agcu;
        if (in->op == (stores ? TG_OP_agcu_store : TG_OP_agcu_load))
          access(l, invocation, v->bases[in->base], stores);
      }
}

void tg_memory_temporaries(const tg_program *program, uint64_t *out) {
  tg_arena arena = {0};
  lives l = {program, TG_NEW_ARRAY(&arena, life, program->tensor_count)};
  memset(out, 0, program->invocation_count * sizeof *out);
  for (uint32_t i = 0; i < program->invocation_count; i++) {
    walk_section(&l, i, false);
    walk_section(&l, i, true);
  }
  for (uint32_t t = 0; t < program->tensor_count; t++)
    for (uint32_t i = l.of[t].first; l.of[t].made && i <= l.of[t].last; i++)
      out[i] += program->tensors[t].bytes;
  tg_arena_release(&arena);
}

uint64_t tg_memory_of_role(const tg_program *program, tg_role role) {
  uint64_t bytes = 0;
  for (uint32_t t = 0; t < program->tensor_count; t++)
    if (program->tensors[t].role == role) bytes += program->tensors[t].bytes;
  return bytes;
}
