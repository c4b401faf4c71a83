/* What kernels have to do with each other: who reads what another one makes, and what may change places. */
#include "mapper/kernel/kernel.h"

#include "mapper/kernel/outer.h"
#include "mapper/kernel/space.h"
#include "mapper/kernel/view.h"

#include <string.h>

bool tg_kernel_reads(const tg_kernel *kernel, const tg_value *value) {
  for (size_t i = 0; i < kernel->input_count; i++)
    if (kernel->inputs[i] == value) return true;
  return false;
}

bool tg_kernel_makes(const tg_kernel *kernel, const tg_value *value) {
  for (int i = 0; i < tg_kernel_writes(kernel); i++)
    if (tg_kernel_written(kernel, i) == value) return true;
  return false;
}

bool tg_kernel_reads_any_of(const tg_kernel *reader, const tg_kernel *maker) {
  for (int i = 0; i < tg_kernel_writes(maker); i++)
    if (tg_kernel_reads(reader, tg_kernel_written(maker, i))) return true;
  return false;
}

bool tg_kernels_share_input(const tg_kernel *a, const tg_kernel *b, int64_t elements) {
  for (size_t i = 0; i < a->input_count; i++)
    if (tg_value_elements(a->inputs[i]) == elements && tg_kernel_reads(b, a->inputs[i])) return true;
  return false;
}

bool tg_kernel_can_sink(const tg_compile *c, size_t a, size_t to) {
  for (size_t k = a + 1; k < to; k++)
    if (tg_kernel_reads_any_of(&c->kernels[k], &c->kernels[a])) return false;
  return true;
}

bool tg_kernel_can_hoist(const tg_compile *c, size_t b, size_t to) {
  for (size_t k = to + 1; k < b; k++)
    if (tg_kernel_reads_any_of(&c->kernels[b], &c->kernels[k])) return false;
  return true;
}

bool tg_needed_beside(const tg_compile *c, const tg_value *value, size_t a, size_t b) {
  if (c->places[value->index].tensor <= -2) return true; /* an output of the graph */
  for (size_t k = 0; k < c->kernel_count; k++)
    if (k != a && k != b && tg_kernel_reads(&c->kernels[k], value)) return true;
  return false;
}

bool tg_has_node(tg_node *const *nodes, size_t count, const tg_node *node) {
  for (size_t n = 0; n < count; n++)
    if (nodes[n] == node) return true;
  return false;
}

void tg_add_nodes(tg_arena *arena, tg_node_list *to, tg_node *const *nodes, size_t count) {
  for (size_t n = 0; n < count; n++)
    if (!tg_has_node(to->nodes, to->count, nodes[n]))
      TG_PUSH(arena, to->nodes, to->count, to->capacity, nodes[n]);
}

void tg_set_fused(tg_kernel *kernel, const tg_node_list *nodes) {
  kernel->fused = nodes->nodes;
  kernel->fused_count = nodes->count;
  kernel->fused_capacity = nodes->capacity;
}

void tg_kernel_remove(tg_compile *c, size_t k) {
  memmove(&c->kernels[k], &c->kernels[k + 1], (c->kernel_count - k - 1) * sizeof *c->kernels);
  c->kernel_count--;
}

bool tg_kernel_add_results(tg_compile *c, tg_kernel *to, size_t from, size_t a, size_t b) {
  const tg_kernel *kernel = &c->kernels[from];
  for (int i = 0; i < tg_kernel_results(kernel); i++) {
    tg_value *value = tg_kernel_result(kernel, i);
    if (!tg_needed_beside(c, value, a, b)) continue;
    if (!to->output)
      to->output = value;
    else if (to->more_count == TG_MORE_RESULTS)
      return false;
    else
      to->more[to->more_count++] = value;
  }
  return true;
}

void tg_kernels_become(tg_compile *c, size_t a, size_t b, size_t at, const tg_kernel *both) {
  for (int i = 0; i < tg_kernel_results(&c->kernels[a]); i++) {
    const tg_value *value = tg_kernel_result(&c->kernels[a], i);
    c->stored[value->index] = tg_kernel_makes(both, value);
  }
  c->kernels[at] = *both;
  tg_kernel_remove(c, a + b - at);
}

void tg_kernel_add_input(tg_compile *c, tg_kernel *kernel, tg_value *value) {
  value = tg_owner(c, value);
  if (!tg_kernel_reads(kernel, value))
    TG_PUSH(c->arena, kernel->inputs, kernel->input_count, kernel->input_capacity, value);
}

void tg_kernel_join_inputs(tg_compile *c, tg_kernel *both, const tg_kernel *maker, const tg_kernel *reader) {
  both->inputs = NULL;
  both->input_count = both->input_capacity = 0;
  for (size_t i = 0; i < maker->input_count; i++) tg_kernel_add_input(c, both, maker->inputs[i]);
  for (size_t i = 0; i < reader->input_count; i++)
    if (reader->inputs[i] != maker->output) tg_kernel_add_input(c, both, reader->inputs[i]);
}

/* The only node that reads the value, which is no output of the graph. */
static const tg_node *only_reader(const tg_value *value) {
  return value->output_count || !value->uses || value->uses->next ? NULL : value->uses->node;
}

tg_kernel *tg_storable_move(const tg_compile *c, const tg_value *result) {
  const tg_node *node = only_reader(result);
  if (!node || node->op != TG_OP_TRANSPOSE || tg_out(node)->dtype != result->dtype ||
      tg_attr_ints(node, TG_ATTR_PERM, NULL)[result->rank - 1] != result->rank - 1)
    return NULL;
  tg_kernel *move = NULL;
  for (size_t k = 0; k < c->kernel_count; k++) {
    tg_kernel *kernel = &c->kernels[k];
    if (!tg_kernel_reads(kernel, result)) continue;
    if (kernel->kind != TG_KERNEL_MOVE || kernel->root != node) return NULL;
    move = kernel;
  }
  return move;
}

void tg_stored_strides(const tg_compile *c, const tg_kernel *kernel, int64_t *out_strides) {
  const tg_value *computed = tg_kernel_computes(kernel, 0), *stored = kernel->output;
  int64_t own[TG_MAX_RANK] = {0};
  (void)tg_value_strides(c, stored, own); /* what a kernel writes owns its place */
  const int64_t *perm = computed == stored ? NULL : tg_attr_ints(stored->producer, TG_ATTR_PERM, NULL);
  for (int d = 0; d < stored->rank; d++) out_strides[perm ? perm[d] : d] = own[d];
}

/* Is nodes[n] computed from what a later one makes? */
static bool is_too_early(const tg_compile *c, const tg_node_list *f, size_t n) {
  for (int i = 0; i < f->nodes[n]->input_count; i++) {
    tg_value *operand = tg_in(f->nodes[n], i);
    const tg_node *maker = operand ? tg_owner(c, operand)->producer : NULL;
    if (maker && tg_has_node(f->nodes + n, f->count - n, maker)) return true;
  }
  return false;
}

/* What one kernel loaded the other one may compute: each node goes behind those whose results it uses. */
static void put_in_order(const tg_compile *c, tg_node_list *f) {
  for (size_t n = 0; n < f->count; n++)
    for (size_t left = f->count - n; is_too_early(c, f, n) && left > 0; left--) {
      tg_node *node = f->nodes[n];
      memmove(&f->nodes[n], &f->nodes[n + 1], (f->count - 1 - n) * sizeof node);
      f->nodes[f->count - 1] = node;
    }
}

void tg_kernel_add_loads(tg_compile *c, tg_kernel *kernel, const tg_node_list *nodes, const tg_node *node) {
  for (int i = 0; i < node->input_count; i++) {
    if (!tg_in(node, i) || tg_is_scalar_constant(tg_in(node, i))) continue;
    tg_value *loaded = tg_loaded_by(c, node, i);
    if (!loaded->producer || !tg_has_node(nodes->nodes, nodes->count, loaded->producer))
      tg_kernel_add_input(c, kernel, loaded);
  }
}

void tg_kernel_set_nodes(tg_compile *c, tg_kernel *kernel, tg_node_list *nodes) {
  put_in_order(c, nodes);
  if (kernel->kind == TG_KERNEL_REDUCE)
    kernel->prologue[0] = *nodes;
  else
    tg_set_fused(kernel, nodes);
  kernel->inputs = NULL;
  kernel->input_count = kernel->input_capacity = 0;
  for (size_t n = 0; n < nodes->count; n++) tg_kernel_add_loads(c, kernel, nodes, nodes->nodes[n]);
  if (kernel->kind != TG_KERNEL_REDUCE) return;
  for (int i = 0; i < tg_kernel_roots(kernel); i++)
    tg_kernel_add_loads(c, kernel, nodes, tg_kernel_root(kernel, i));
}

bool tg_is_reduction(const tg_node *node) {
  return node->op == TG_OP_REDUCE_SUM || node->op == TG_OP_REDUCE_MAX || node->op == TG_OP_REDUCE_MIN ||
         node->op == TG_OP_REDUCE_PROD;
}

bool tg_reduces_rows(const tg_node *node, int64_t out_dims[2]) {
  const tg_value *in = tg_in(node, 0);
  if (!tg_is_reduction(node) || in->rank != 2 || tg_attr_int(node, TG_ATTR_BLOCK)) return false;
  out_dims[0] = in->dims[0].size;
  out_dims[1] = in->dims[1].size;
  return out_dims[1] > 1 && tg_value_elements(tg_out(node)) == out_dims[0];
}

bool tg_rowwise_dims(const tg_kernel *kernel, int64_t out_dims[2]) {
  if (kernel->kind == TG_KERNEL_REDUCE) return tg_reduces_rows(kernel->root, out_dims);
  for (size_t n = 0; kernel->kind == TG_KERNEL_ROWWISE && n < kernel->fused_count; n++)
    if (tg_reduces_rows(kernel->fused[n], out_dims)) return true;
  return false;
}

const tg_node *tg_stochastic_store(const tg_kernel *kernel) {
  for (int i = 0; i < tg_kernel_results(kernel); i++)
    if (tg_is_stochastic_cast(tg_kernel_result(kernel, i)->producer))
      return tg_kernel_result(kernel, i)->producer;
  return NULL;
}
