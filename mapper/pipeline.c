/* The mapper's way of a graph: the passes, then the sections of the kernels that they leave. */
#include "mapper/classes.h"
#include "mapper/gemm/gemm.h"
#include "mapper/kernel/keep.h"
#include "mapper/kernel/text.h"
#include "mapper/mapper.h"
#include "mapper/passes.h"
#include "mapper/section/duration.h"
#include "mapper/useful_work.h"

static tg_status run_passes(tg_compile *c) {
  for (const tg_mapper_pass *pass = tg_mapper_passes; pass->name; pass++) {
    if ((pass->when && !pass->when(c)) || c->options.opt > pass->down_to) continue;
    tg_status status = pass->run(c);
    if (status) return status;
    if (c->options.observe) c->options.observe(c->options.observe_user, pass->name, tg_kernels_print(c));
  }
  return TG_OK;
}

/* Puts into scratchpads what kernel number k is the first to find there. Sections keep what is there while they run. */
static tg_status put_kept(tg_compile *c, size_t k) {
  tg_status status = TG_OK;
  c->kept_banks = 0;
  for (size_t i = 0; i < c->keeping_count; i++)
    if (c->keepings[i].first < k && k <= c->keepings[i].last)
      c->kept_banks |= tg_kept_mask(c->keepings[i].kept);
  for (size_t i = 0; i < c->keeping_count && !status; i++) {
    if (c->keepings[i].first != k) continue;
    status = tg_emit_kept(c, &c->kernels[k]);
    c->kept_banks |= tg_kept_mask(c->keepings[i].kept);
  }
  return status;
}

/* In the banks that others have left. */
static tg_status emit_kernel(tg_compile *c, size_t k) {
  const tg_params *all = c->m;
  tg_params left = *all;
  tg_status status = put_kept(c, k);
  if (status) return status;
  left.banks = tg_banks_left(c, k);
  c->m = &left;
  c->narrow = left.banks < all->banks;
  status = tg_class_of(c, &c->kernels[k])->emit(c, &c->kernels[k]);
  c->m = all;
  c->narrow = false;
  return status;
}

static tg_status emit_kernels(tg_compile *c) {
  bool *counted = TG_NEW_ARRAY(c->arena, bool, (size_t)c->graph->value_count + 1);
  tg_durations *durations = tg_durations_new(c->program, c->arena);
  for (size_t k = 0; k < c->kernel_count; k++) {
    uint32_t first = c->program->invocation_count, section = c->program->section_count;
    tg_status status = emit_kernel(c, k);
    const tg_shortage *shortage = &c->shortage;
    if (shortage->of)
      return tg_fail(c->diag, TG_INVALID, "section %u \"%s\" needs %u %s, the array has %u",
                     shortage->section, c->program->sections[shortage->section].name, shortage->needed,
                     shortage->of, shortage->available);
    /* A replay reads numbers as they are, also those that do not fit their fields. */
    for (; !status && section < c->program->section_count; section++)
      status = tg_section_check(c->program, section, c->diag);
    if (status) return status;
    tg_account_useful_work(c, &c->kernels[k], first, counted);
    for (uint32_t i = first; i < c->program->invocation_count; i++) {
      tg_invocation *own = &c->program->invocations[i];
      own->estimated_cycles = tg_duration_of(durations, own);
    }
  }
  return TG_OK;
}

tg_status tg_map(const tg_graph *graph, const tg_params *params, const tg_map_options *options,
                 tg_program **out_program, tg_diag *diag) {
  tg_arena arena = {0};
  tg_compile c;
  tg_compile_begin(&c, graph, params, options, &arena, diag);
  c.classes = tg_kernel_classes;
  tg_status status = run_passes(&c);
  if (!status) status = emit_kernels(&c);
  if (!status) status = tg_program_check(c.program, diag);

  tg_arena_release(&arena);
  if (status)
    tg_program_destroy(c.program);
  else
    *out_program = c.program;
  return status;
}
