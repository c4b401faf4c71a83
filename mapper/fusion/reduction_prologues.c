/* Reduction prologues, elementwise nodes fused into their readers: what an elementwise kernel makes and a
 * reduction reads is computed while the reduction loads, so that no tensor is written only to be read. Where
 * others need it, too, they compute it themselves if that is less to move than storing and reading it.
 * Reductions of one shape that share a tensor become one kernel with several results. What must be stored in
 * any case is stored by the reduction that computes it, if that is faster. */
#include "mapper/fusion/fusion.h"
#include "mapper/kernel/class.h"
#include "mapper/kernel/outer.h"

#include <string.h>

enum {
  OPERATION = 1,
  BYTE = 2
}; /* costs: an operation of the vector units takes less than half of what a
      byte does */
/* Kernels on in which a reduction that stores is looked for, and how many of those are tried. */
enum { WINDOW = 256, TRIES = 8 };

/* ---- reductions that share a tensor ---- */

static bool is_alike(const tg_kernel *a, const tg_kernel *b) {
  return a->kind == TG_KERNEL_REDUCE && b->kind == TG_KERNEL_REDUCE && !a->fused_count && !b->fused_count &&
         !a->beside && !b->beside && tg_value_same_shape(tg_in(a->root, 0), tg_in(b->root, 0)) &&
         tg_value_same_shape(a->output, b->output) &&
         tg_attr_int(a->root, TG_ATTR_BLOCK) == tg_attr_int(b->root, TG_ATTR_BLOCK) &&
         tg_kernel_results(a) + tg_kernel_results(b) <= 1 + TG_MORE_RESULTS;
}

static bool share_a_tensor(const tg_kernel *a, const tg_kernel *b) {
  return tg_kernels_share_input(a, b, tg_value_elements(tg_in(a->root, 0)));
}

bool tg_reductions_together(tg_compile *c, const tg_kernel *first, const tg_kernel *second, tg_kernel *out) {
  if (!is_alike(first, second) || tg_kernel_reads_any_of(second, first)) return false;
  tg_node_list prologue = {0};
  *out = *first;
  for (int i = 0; i < tg_kernel_roots(second); i++) {
    out->more_roots[out->more_count] = tg_kernel_root(second, i);
    out->more[out->more_count++] = tg_kernel_result(second, i);
  }
  tg_add_nodes(c->arena, &prologue, first->prologue[0].nodes, first->prologue[0].count);
  tg_add_nodes(c->arena, &prologue, second->prologue[0].nodes, second->prologue[0].count);
  tg_kernel_set_nodes(c, out, &prologue);
  return tg_kernel_fits(c, out);
}

/* Kernel `a` comes before `b`. */
static bool merge(tg_compile *c, size_t a, size_t b) {
  const tg_kernel *first = &c->kernels[a], *second = &c->kernels[b];
  if (first->kind != TG_KERNEL_REDUCE || second->kind != TG_KERNEL_REDUCE || !share_a_tensor(first, second))
    return false;
  bool sinks = tg_kernel_can_sink(c, a, b);
  tg_kernel both;
  if ((!sinks && !tg_kernel_can_hoist(c, b, a)) || !tg_reductions_together(c, first, second, &both))
    return false;
  c->kernels[sinks ? b : a] = both;
  tg_kernel_remove(c, sinks ? a : b);
  return true;
}

/* Merges the reduction that makes `value` with another one. */
static bool merge_with_another(tg_compile *c, const tg_value *value) {
  size_t own = 0;
  while (!tg_kernel_makes(&c->kernels[own], value)) own++;
  for (size_t k = 0; k < c->kernel_count; k++)
    if (k != own && merge(c, k < own ? k : own, k < own ? own : k)) return true;
  return false;
}

static void merge_with_others(tg_compile *c, const tg_value *value) {
  while (merge_with_another(c, value)) {
  }
}

/* ---- what is computed by its readers ---- */

/* Costs of an element of `value`: all bytes that the kernel loads and a share of them, so that they compare
 * as whole numbers. */
static int64_t cost_of_loads(const tg_kernel *kernel) {
  int64_t cost = 0;
  for (size_t i = 0; i < kernel->input_count; i++)
    cost += tg_value_elements(kernel->inputs[i]) * tg_value_bytes_each(kernel->inputs[i]) * BYTE;
  return cost;
}

static int64_t cost_of_value(const tg_value *value) {
  return tg_value_elements(value) * tg_value_bytes_each(value) * BYTE;
}

static int64_t cost_of_operations(const tg_compile *c, const tg_kernel *kernel) {
  return tg_value_elements(kernel->output) * tg_class_of(c, kernel)->operations(c, kernel) * OPERATION;
}

/* The reader as it computes what kernel `maker` makes. False: it cannot. */
static bool with_prologue(tg_compile *c, const tg_kernel *reader, const tg_kernel *maker, tg_kernel *out) {
  const tg_value *value = maker->output;
  tg_node_list nodes = {0};
  *out = *reader;
  tg_add_nodes(c->arena, &nodes, maker->fused, maker->fused_count);
  if (reader->kind == TG_KERNEL_REDUCE) {
    if (tg_value_elements(tg_in(reader->root, 0)) != tg_value_elements(value)) return false;
    tg_add_nodes(c->arena, &nodes, reader->prologue[0].nodes, reader->prologue[0].count);
    tg_kernel_set_nodes(c, out, &nodes);
    return tg_kernel_fits(c, out);
  }
  if (reader->kind != TG_KERNEL_ELEMENTWISE || tg_value_elements(reader->output) != tg_value_elements(value))
    return false;
  tg_add_nodes(c->arena, &nodes, reader->fused, reader->fused_count);
  tg_kernel_set_nodes(c, out, &nodes);
  return tg_kernel_fits(c, out);
}

static bool is_reduced(const tg_compile *c, const tg_value *value) {
  for (size_t k = 0; k < c->kernel_count; k++)
    if (c->kernels[k].kind == TG_KERNEL_REDUCE && tg_kernel_reads(&c->kernels[k], value)) return true;
  return false;
}

typedef struct readers {
  size_t at[TG_STREAMS];
  tg_kernel with[TG_STREAMS];
  bool can[TG_STREAMS];
  int count;
  bool all; /* of them can */
} readers;

/* False: they are too many to look at. */
static bool find_readers(tg_compile *c, size_t k, readers *out) {
  const tg_kernel *maker = &c->kernels[k];
  *out = (readers){.all = c->places[maker->output->index].tensor > -2};
  for (size_t r = k + 1; r < c->kernel_count; r++) {
    if (!tg_kernel_reads(&c->kernels[r], maker->output)) continue;
    if (out->count == TG_STREAMS) return false;
    out->at[out->count] = r;
    out->can[out->count] = with_prologue(c, &c->kernels[r], maker, &out->with[out->count]);
    out->all &= out->can[out->count];
    out->count++;
  }
  return true;
}

static bool is_less_to_move(const tg_compile *c, size_t k, const readers *r) {
  const tg_kernel *maker = &c->kernels[k];
  int64_t stored = cost_of_loads(maker) + cost_of_value(maker->output) + cost_of_operations(c, maker),
          computed = 0;
  for (int i = 0; i < r->count; i++) {
    stored += cost_of_loads(&c->kernels[r->at[i]]);
    computed += cost_of_loads(&r->with[i]) + cost_of_operations(c, maker);
  }
  return computed <= stored;
}

/* Makes the nodes of kernel k prologues of those that read its result, or of some. */
static bool move_into_readers(tg_compile *c, size_t k) {
  const tg_kernel *maker = &c->kernels[k];
  readers r;
  if (!find_readers(c, k, &r)) return false;
  bool all = r.all && is_less_to_move(c, k, &r), any = false;
  const tg_value *reduced[TG_STREAMS];
  int count = 0;
  for (int i = 0; i < r.count; i++) {
    tg_kernel *reader = &c->kernels[r.at[i]];
    if (!all && (!r.can[i] || reader->kind != TG_KERNEL_REDUCE ||
                 cost_of_loads(&r.with[i]) + cost_of_operations(c, maker) >= cost_of_loads(reader)))
      continue;
    *reader = r.with[i];
    any = true;
    if (reader->kind == TG_KERNEL_REDUCE) reduced[count++] = reader->output;
  }
  if (all) {
    c->stored[maker->output->index] = false;
    tg_kernel_remove(c, k);
  }
  for (int i = 0; i < count; i++) merge_with_others(c, reduced[i]);
  return any;
}

/* ---- what is reduced and stored ---- */

/* Is the value an output that takes an input's place? In place is better. */
static bool is_carried(const tg_compile *c, const tg_value *value) {
  int claimed = c->places[value->index].tensor;
  return claimed <= -2 && c->carried_into[-2 - claimed] >= 0;
}

/* Elementwise kernel k, whose result is stored in any case, and reduction `at` behind it as one, if that is
 * faster. */
static bool reduce_and_store(tg_compile *c, size_t k, size_t at) {
  const tg_kernel *maker = &c->kernels[k], *reader = &c->kernels[at];
  tg_value *value = maker->output;
  bool hoists = tg_kernel_can_hoist(c, at, k); /* so that operands need memory no longer */
  tg_kernel both;
  if (reader->beside || (!hoists && !tg_kernel_can_sink(c, k, at)) || !with_prologue(c, reader, maker, &both))
    return false;
  tg_node *cast = tg_cast_of_all_loads(c, value, at);
  if (cast) tg_add_nodes(c->arena, &both.prologue[0], &cast, 1);
  both.beside = cast ? tg_out(cast) : value;
  if (!tg_kernel_fits(c, &both) ||
      tg_kernel_cycles(c, &both) >= tg_kernel_cycles(c, maker) + tg_kernel_cycles(c, reader))
    return false;
  if (cast) tg_store_cast_only(c, cast, value, at);
  c->kernels[hoists ? k : at] = both;
  tg_kernel_remove(c, hoists ? at : k);
  return true;
}

static bool reduce_and_store_any(tg_compile *c, size_t k) {
  if (is_carried(c, c->kernels[k].output)) return false;
  size_t end = c->kernel_count - k > WINDOW ? k + WINDOW : c->kernel_count;
  int tries = 0;
  for (size_t at = k + 1; at < end && tries < TRIES; at++) {
    if (c->kernels[at].kind != TG_KERNEL_REDUCE || !tg_kernel_reads(&c->kernels[at], c->kernels[k].output))
      continue;
    if (reduce_and_store(c, k, at)) return true;
    tries++;
  }
  return false;
}

/* ---- all of it ---- */

static bool can_be_prologue(const tg_compile *c, const tg_kernel *kernel) {
  return kernel->kind == TG_KERNEL_ELEMENTWISE && tg_kernel_results(kernel) == 1 &&
         !tg_stochastic_store(kernel) && is_reduced(c, kernel->output);
}

tg_status tg_form_reduction_prologues(tg_compile *c) {
  for (size_t k = c->kernel_count; k-- > 0;) {
    if (k >= c->kernel_count) continue;
    if (c->kernels[k].kind == TG_KERNEL_REDUCE) merge_with_others(c, c->kernels[k].output);
    if (k >= c->kernel_count || !can_be_prologue(c, &c->kernels[k])) continue;
    if (move_into_readers(c, k) && k < c->kernel_count) k++;
  }
  return TG_OK;
}

tg_status tg_reduce_and_store(tg_compile *c) {
  for (size_t k = c->kernel_count; k-- > 0;)
    if (k < c->kernel_count && can_be_prologue(c, &c->kernels[k])) reduce_and_store_any(c, k);
  return TG_OK;
}
