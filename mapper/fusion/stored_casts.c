/* A Cast in front of products happens while they load, from FP32 each time. Where they read much more often
 * than once, as tiles that share little do, it is faster to store what it makes, in half the bytes: one pass
 * over memory more. The estimates of the products decide. */
#include "mapper/fusion/fusion.h"
#include "mapper/kernel/class.h"
#include "mapper/kernel/operand.h"

#include <string.h>

enum { OPERANDS = 2 };
#define MARGIN      1.2 /* the pass costs what it costs, what products gain is estimated */
#define KEPT_MARGIN 3   /* where it may stay for the backward pass: there memory comes first */

static bool is_product(const tg_kernel *kernel) {
  return kernel->kind == TG_KERNEL_GEMM || kernel->kind == TG_KERNEL_DEPTHWISE ||
         kernel->kind == TG_KERNEL_DEPTHWISE_GRADIENT;
}

static bool loads_through(const tg_kernel *kernel, const tg_node *cast) {
  for (int i = 0; i < OPERANDS && is_product(kernel); i++)
    if (kernel->operands[i].cast == cast) return true;
  return false;
}

/* Cycles of a kernel that moves the cast's operand and result. */
static double cast_cycles(const tg_compile *c, const tg_node *cast) {
  double elements = (double)tg_value_elements(tg_out(cast));
  return TG_SECTION_CYCLES + 4 * c->m->dram_latency +
         tg_memory_cycles(c->m, elements * tg_value_bytes_each(tg_in(cast, 0)),
                          elements * tg_value_bytes_each(tg_out(cast)));
}

/* Does the kernel read `value` as an operand of its root, or of its fused nodes? */
static bool needs(const tg_compile *c, const tg_kernel *kernel, const tg_value *value) {
  for (int i = 0; i < OPERANDS; i++)
    if (tg_owner(c, kernel->operands[i].source) == value) return true;
  for (size_t n = 0; n < kernel->fused_count; n++)
    for (int i = 0; i < kernel->fused[n]->input_count; i++)
      if (tg_owner(c, tg_in(kernel->fused[n], i)) == value) return true;
  return false;
}

tg_kernel tg_loading_stored_cast(tg_compile *c, const tg_kernel *kernel, tg_node *cast) {
  const tg_value *source = tg_owner(c, tg_in(cast, 0));
  tg_kernel with = *kernel;
  with.operands = tg_operands_behind(c, kernel->operands, cast);
  with.inputs = NULL;
  with.input_count = with.input_capacity = 0;
  for (size_t i = 0; i < kernel->input_count; i++)
    if (kernel->inputs[i] != source || needs(c, &with, source))
      tg_kernel_add_input(c, &with, kernel->inputs[i]);
  tg_kernel_add_input(c, &with, tg_out(cast));
  return with;
}

tg_node *tg_cast_of_loads(tg_compile *c, const tg_kernel *kernel, const tg_value *value) {
  tg_node *cast = NULL;
  for (int i = 0; i < OPERANDS && is_product(kernel); i++) {
    tg_node *through = kernel->operands[i].cast;
    if (through && tg_owner(c, tg_in(through, 0)) == value) cast = through;
  }
  if (!cast) return NULL;
  tg_kernel with = *kernel;
  with.operands = tg_operands_behind(c, kernel->operands, cast);
  return needs(c, &with, value) ? NULL : cast;
}

tg_node *tg_cast_of_all_loads(tg_compile *c, const tg_value *value, size_t except) {
  tg_node *cast = NULL;
  if (c->places[value->index].tensor <= -2) return NULL; /* an output */
  for (size_t k = 0; k < c->kernel_count; k++) {
    if (k == except || !tg_kernel_reads(&c->kernels[k], value)) continue;
    tg_node *own = tg_cast_of_loads(c, &c->kernels[k], value);
    if (!own || (cast && own != cast)) return NULL;
    cast = own;
  }
  return cast && tg_value_bytes_each(tg_out(cast)) < tg_value_bytes_each(value) ? cast : NULL;
}

void tg_store_cast_only(tg_compile *c, tg_node *cast, const tg_value *value, size_t except) {
  c->stored[value->index] = false;
  c->stored[tg_out(cast)->index] = true;
  for (size_t k = 0; k < c->kernel_count; k++)
    if (k != except && tg_kernel_reads(&c->kernels[k], value))
      c->kernels[k] = tg_loading_stored_cast(c, &c->kernels[k], cast);
}

/* A kernel of the cast alone, in front of kernel `at`. */
static void add_kernel(tg_compile *c, tg_node *cast, size_t at) {
  tg_kernel kernel = {.kind = TG_KERNEL_ELEMENTWISE, .output = tg_out(cast)};
  TG_PUSH(c->arena, kernel.fused, kernel.fused_count, kernel.fused_capacity, cast);
  tg_kernel_add_input(c, &kernel, tg_in(cast, 0));
  TG_PUSH(c->arena, c->kernels, c->kernel_count, c->kernel_capacity, kernel);
  memmove(&c->kernels[at + 1], &c->kernels[at], (c->kernel_count - 1 - at) * sizeof kernel);
  c->kernels[at] = kernel;
}

/* Of a training step, convolutions load what the backward pass keeps. */
static bool may_load_stored(const tg_compile *c, const tg_kernel *kernel) {
  if (kernel->kind != TG_KERNEL_GEMM) return false;
  return kernel->root->op == TG_OP_MATMUL || (kernel->root->op == TG_OP_CONV && !c->graph->carry_count);
}

/* `first`: the first kernel that loads through the cast. */
static void consider(tg_compile *c, tg_node *cast, size_t first) {
  tg_kernel *with = TG_NEW_ARRAY(c->arena, tg_kernel, c->kernel_count);
  double converting = 0, loading = 0;
  for (size_t k = first; k < c->kernel_count; k++) {
    with[k] = c->kernels[k];
    if (!loads_through(&c->kernels[k], cast)) continue;
    if (!may_load_stored(c, &c->kernels[k])) return;
    with[k] = tg_loading_stored_cast(c, &c->kernels[k], cast);
    converting += tg_kernel_cycles(c, &c->kernels[k]);
    loading += tg_kernel_cycles(c, &with[k]);
  }
  double margin = c->graph->carry_count ? KEPT_MARGIN : MARGIN;
  if (loading + margin * cast_cycles(c, cast) >= converting) return;
  memcpy(&c->kernels[first], &with[first], (c->kernel_count - first) * sizeof *with);
  c->stored[tg_out(cast)->index] = true;
  add_kernel(c, cast, first);
}

tg_status tg_store_casts(tg_compile *c) {
  bool *known = TG_NEW_ARRAY(c->arena, bool, (size_t)c->graph->value_count + 1);
  for (size_t k = 0; k < c->kernel_count; k++)
    for (int i = 0; i < OPERANDS && is_product(&c->kernels[k]); i++) {
      tg_node *cast = c->kernels[k].operands[i].cast;
      if (!cast || known[tg_out(cast)->index] || tg_value_bytes_each(tg_out(cast)) == 4 ||
          !tg_value_elements(tg_out(cast)))
        continue;
      known[tg_out(cast)->index] = true;
      consider(c, cast, k);
    }
  return TG_OK;
}
