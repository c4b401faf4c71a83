/* The mapper's way of a graph, pass by pass. */
#include "mapper/classes.h"
#include "mapper/fusion/fusion.h"
#include "mapper/mapper.h"
#include "mapper/memory/memory.h"

static tg_status emit_kernels(tg_compile *c) {
  for (size_t k = 0; k < c->kernel_count; k++) {
    tg_status status = tg_class_of(c, &c->kernels[k])->emit(c, &c->kernels[k]);
    if (status) return status;
  }
  return TG_OK;
}

tg_status tg_map(const tg_graph *graph, const tg_params *params, const tg_map_options *options,
                 tg_program **out_program, tg_diag *diag) {
  tg_arena arena = {0};
  tg_compile c = {.graph = graph,
                  .m = params,
                  .options = *options,
                  .classes = tg_kernel_classes,
                  .arena = &arena,
                  .diag = diag};
  if (!c.options.k_tile) c.options.k_tile = 128;
  c.program = tg_program_create(params);
  c.m = &c.program->params;
  c.program->seed = options->seed;
  c.program->model = tg_arena_strdup(&c.program->arena, graph->name ? graph->name : "");
  c.places = TG_NEW_ARRAY(&arena, tg_place, (size_t)graph->value_count + 1);
  c.stored = TG_NEW_ARRAY(&arena, bool, (size_t)graph->value_count + 1);
  for (int i = 0; i < graph->value_count; i++) c.places[i].tensor = -1;
  c.carried_into = TG_NEW_ARRAY(&arena, int, (size_t)graph->output_count + 1);
  for (int i = 0; i < graph->output_count; i++) c.carried_into[i] = -1;
  for (size_t i = 0; i < graph->carry_count; i++)
    c.carried_into[graph->carries[i].output] = graph->carries[i].input;

  tg_status status = tg_form_kernels(&c);
  bool training = graph->carry_count > 0;
  if (!status && !training) tg_store_casts(&c);
  if (!status) tg_fuse_attention(&c);
  if (!status) tg_form_fronts(&c);
  if (!status) tg_merge_elementwise(&c);
  if (!status) tg_merge_rowwise(&c);
  if (!status) tg_merge_into_products(&c);
  if (!status) tg_reduce_and_store(&c);
  if (!status && training) tg_store_casts(&c); /* updates are in their products now, which may want them */
  if (!status) tg_store_moves(&c);
  if (!status) tg_front_products(&c);
  if (!status) tg_join_totals(&c);
  if (!status) tg_recompute_in_products(&c);
  if (!status) tg_narrow_stores(&c);
  if (!status) tg_recompute_small_products(&c);
  if (!status) status = tg_settle_carries(&c);
  if (!status) status = tg_plan_memory(&c);
  if (!status) status = emit_kernels(&c);
  if (!status) status = tg_program_check(c.program, diag);

  tg_arena_release(&arena);
  if (status)
    tg_program_destroy(c.program);
  else
    *out_program = c.program;
  return status;
}
