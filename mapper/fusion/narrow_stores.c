/* What elementwise nodes make and all others load through the same Cast, is stored as the Cast makes it:
 * fewer bytes to store, to keep and to load, and the same bits. Such are activations under a policy that
 * rounds the operands of products only, where the masks of their gradients are recomputed (rematerialize.c),
 * so that nothing else reads them. */
#include "mapper/fusion/fusion.h"
#include "mapper/kernel/class.h"
#include "mapper/kernel/operand.h"

/* What the kernel stores, if it can end with one more node: of a product's prologue, or alone. */
static tg_value *stored_by(const tg_kernel *maker) {
  if (maker->kind == TG_KERNEL_GEMM) return maker->stores_prologue ? maker->prologue_result : NULL;
  bool alone = maker->kind == TG_KERNEL_ELEMENTWISE && tg_kernel_results(maker) == 1;
  return alone && !tg_stochastic_store(maker) ? maker->output : NULL;
}

/* The maker as it stores what the Cast makes. */
static tg_kernel with_cast(tg_compile *c, const tg_kernel *maker, tg_node *cast) {
  tg_kernel narrow = *maker;
  if (maker->kind == TG_KERNEL_GEMM) {
    tg_add_nodes(c->arena, &narrow.prologue[maker->prologue[1].count > 0], &cast, 1);
    narrow.prologue_result = tg_out(cast);
    narrow.operands = tg_operands_behind(c, maker->operands, cast);
    return narrow;
  }
  tg_node_list nodes = {0};
  tg_add_nodes(c->arena, &nodes, maker->fused, maker->fused_count);
  tg_add_nodes(c->arena, &nodes, &cast, 1);
  tg_set_fused(&narrow, &nodes);
  narrow.output = tg_out(cast);
  return narrow;
}

/* Of the maker, and of those that load what it stores, perhaps as the Cast makes it: of all as mx would
 * compute them. */
static double all_cycles(tg_compile *c, const tg_kernel *maker, const tg_value *value, tg_node *cast) {
  double sum = tg_kernel_cycles(c, maker);
  for (size_t k = 0; k < c->kernel_count; k++) {
    tg_kernel reader = c->kernels[k];
    if (!tg_kernel_reads(&reader, value)) continue;
    if (cast) reader = tg_loading_stored_cast(c, &reader, cast);
    sum += c->classes[TG_KERNEL_GEMM]->cycles(c, &reader);
  }
  return sum;
}

static void narrow_store(tg_compile *c, size_t k) {
  tg_kernel *maker = &c->kernels[k];
  tg_value *value = stored_by(maker);
  tg_node *cast = value ? tg_cast_of_all_loads(c, value, k) : NULL;
  if (!cast || (maker->kind == TG_KERNEL_GEMM && tg_cast_of_loads(c, maker, value) != cast)) return;
  tg_kernel narrow = with_cast(c, maker, cast);
  if (all_cycles(c, &narrow, value, cast) > all_cycles(c, maker, value, NULL)) return;
  *maker = narrow;
  tg_store_cast_only(c, cast, value, k);
}

tg_status tg_narrow_stores(tg_compile *c) {
  for (size_t k = 0; k < c->kernel_count; k++) narrow_store(c, k);
  return TG_OK;
}
