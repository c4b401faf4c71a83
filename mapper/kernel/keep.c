#include "mapper/kernel/keep.h"
#include "mapper/kernel/class.h"

#include <string.h>

tg_compile tg_compile_for(const tg_compile *c, uint32_t banks, tg_params *out_params) {
  tg_compile narrow = *c;
  *out_params = *c->m;
  out_params->banks = banks;
  narrow.m = out_params;
  narrow.narrow = banks < c->program->params.banks;
  return narrow;
}

bool tg_kernel_emits(const tg_compile *c, const tg_kernel *kernel) {
  const tg_program *program = c->program;
  tg_diag unused = {""};
  tg_compile quiet = *c;
  quiet.diag = &unused;
  quiet.shortage = (tg_shortage){0};
  quiet.program = tg_program_create(&program->params);
  quiet.program->arena = tg_arena_within(c->arena);
  quiet.program->dram_bytes = program->dram_bytes;
  for (uint32_t t = 0; t < program->tensor_count; t++)
    *tg_program_add_tensor(quiet.program) = program->tensors[t];
  bool emits = !tg_class_of(c, kernel)->emit(&quiet, kernel) && !quiet.shortage.of;
  tg_program_destroy(quiet.program);
  return emits;
}

uint32_t tg_kept_mask(const tg_kept *kept) {
  return (uint32_t)(((UINT64_C(1) << kept->banks) - 1) << kept->bank);
}

uint32_t tg_banks_left(const tg_compile *c, size_t k) {
  uint32_t least = c->m->banks;
  for (size_t i = 0; i < c->keeping_count; i++) {
    const tg_keeping *own = &c->keepings[i];
    if (own->first <= k && k <= own->last && own->kept->bank < least) least = own->kept->bank;
  }
  return least;
}
