/* A Cast in front of products happens while they load, from FP32 each time. Where they read much more often
 * than once, as tiles that share little do, it is faster to store what it makes, in half the bytes: one pass
 * over memory more. The estimates of the products decide. */
#include "mapper/fusion/fusion.h"
#include "mapper/kernel/class.h"
#include "mapper/kernel/operand.h"

#include <string.h>

enum { OPERANDS = 2 };
#define MARGIN      1.5 /* the pass costs what it costs, what products gain is estimated */
#define KEPT_MARGIN 3   /* where it may stay for the backward pass: there memory comes first */

/* The Cast that operand `input` of the kernel's product is loaded through, or NULL. */
static tg_node *loaded_through(const tg_compile *c, const tg_kernel *kernel, int input) {
  tg_value *value = tg_in(kernel->root, input),
           *source = tg_gemm_operand(c->stored, kernel->root, input).source;
  while (value != source && value->producer) {
    tg_node *node = value->producer;
    if (node->op == TG_OP_CAST) return node;
    if (node->op != TG_OP_RESHAPE && node->op != TG_OP_TRANSPOSE) return NULL;
    value = tg_in(node, 0);
  }
  return NULL;
}

static bool is_product(const tg_kernel *kernel) {
  return kernel->kind == TG_KERNEL_GEMM || kernel->kind == TG_KERNEL_DEPTHWISE;
}

static bool loads_through(const tg_compile *c, const tg_kernel *kernel, const tg_node *cast) {
  for (int i = 0; i < OPERANDS && is_product(kernel); i++)
    if (loaded_through(c, kernel, i) == cast) return true;
  return false;
}

static double readers_cycles(tg_compile *c, const bool *reads) {
  double sum = 0;
  for (size_t k = 0; k < c->kernel_count; k++)
    if (reads[k]) sum += tg_kernel_cycles(c, &c->kernels[k]);
  return sum;
}

/* Cycles of a kernel that moves the cast's operand and result. */
static double cast_cycles(const tg_compile *c, const tg_node *cast) {
  double elements = (double)tg_value_elements(tg_out(cast));
  uint32_t bytes = tg_value_bytes_each(tg_in(cast, 0)) + tg_value_bytes_each(tg_out(cast));
  return TG_SECTION_CYCLES + 4 * c->m->dram_latency +
         elements * bytes / ((double)tg_agcus(c->m) * c->m->port_bytes);
}

/* Does the kernel still read `source` when the cast is stored? */
static bool needs(const tg_compile *c, const tg_kernel *kernel, const tg_value *source) {
  for (int i = 0; i < OPERANDS; i++)
    if (tg_owner(c, tg_gemm_operand(c->stored, kernel->root, i).source) == source) return true;
  for (size_t n = 0; n < kernel->fused_count; n++)
    for (int i = 0; i < kernel->fused[n]->input_count; i++)
      if (tg_owner(c, tg_in(kernel->fused[n], i)) == source) return true;
  return false;
}

void tg_load_stored_cast(tg_compile *c, tg_kernel *kernel, tg_node *cast) {
  const tg_value *source = tg_owner(c, tg_in(cast, 0));
  size_t count = 0;
  for (size_t i = 0; i < kernel->input_count; i++)
    if (kernel->inputs[i] != source || needs(c, kernel, source)) kernel->inputs[count++] = kernel->inputs[i];
  kernel->input_count = count;
  tg_kernel_add_input(c, kernel, tg_out(cast));
}

tg_node *tg_cast_of_loads(const tg_compile *c, const tg_kernel *kernel, const tg_value *value) {
  tg_node *cast = NULL;
  for (int i = 0; i < OPERANDS && is_product(kernel); i++) {
    tg_node *through = loaded_through(c, kernel, i);
    if (through && tg_owner(c, tg_in(through, 0)) == value) cast = through;
  }
  if (!cast) return NULL;
  bool *stored = &c->stored[tg_out(cast)->index];
  *stored = true;
  bool needed = needs(c, kernel, value);
  *stored = false;
  return needed ? NULL : cast;
}

tg_node *tg_cast_of_all_loads(const tg_compile *c, const tg_value *value, size_t except) {
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
    if (k != except && tg_kernel_reads(&c->kernels[k], value)) tg_load_stored_cast(c, &c->kernels[k], cast);
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

/* `first`: the first kernel that loads through the cast. */
static void consider(tg_compile *c, tg_node *cast, size_t first) {
  bool *reads = TG_NEW_ARRAY(c->arena, bool, c->kernel_count);
  for (size_t k = first; k < c->kernel_count; k++) {
    reads[k] = loads_through(c, &c->kernels[k], cast);
    if (reads[k] && c->kernels[k].root->op != TG_OP_MATMUL)
      return; /* runs of images are short in any format */
  }
  double converting = readers_cycles(c, reads);
  c->stored[tg_out(cast)->index] = true;
  double margin = c->graph->carry_count ? KEPT_MARGIN : MARGIN;
  if (readers_cycles(c, reads) + margin * cast_cycles(c, cast) >= converting) {
    c->stored[tg_out(cast)->index] = false;
    return;
  }
  for (size_t k = first; k < c->kernel_count; k++)
    if (reads[k]) tg_load_stored_cast(c, &c->kernels[k], cast);
  add_kernel(c, cast, first);
}

tg_status tg_store_casts(tg_compile *c) {
  bool *known = TG_NEW_ARRAY(c->arena, bool, (size_t)c->graph->value_count + 1);
  for (size_t k = 0; k < c->kernel_count; k++)
    for (int i = 0; i < OPERANDS && is_product(&c->kernels[k]); i++) {
      tg_node *cast = loaded_through(c, &c->kernels[k], i);
      if (!cast || known[tg_out(cast)->index] || tg_value_bytes_each(tg_out(cast)) == 4 ||
          !tg_value_elements(tg_out(cast)))
        continue;
      known[tg_out(cast)->index] = true;
      consider(c, cast, k);
    }
  return TG_OK;
}
