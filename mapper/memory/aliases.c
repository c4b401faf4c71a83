/* Carried outputs (tg_carry) into the memory of their inputs, which is resident from run to run.
 *
 * In place where nobody misses the old values: every kernel that reads them runs before the one that makes
 * the new ones, or is that one and reads each element only where it writes it. A kernel that updates too
 * early moves behind the others if it can. Whatever remains goes to memory of its own and is copied when all
 * kernels have run. */
#include "mapper/kernel/kernel.h"
#include "mapper/kernel/operand.h"
#include "mapper/kernel/outer.h"
#include "mapper/memory/memory.h"

#include <string.h>

typedef struct settler {
  tg_compile *c;
  tg_value **copied; /* by input of the graph: what is copied there at the end; NULL: nothing */
  int *copy_of;      /* ... and the output that it is, copied or in place */
  bool *in_place;    /* by input of the graph */
} settler;

/* The kernels that write `value` stand side by side; *out_last: the last of them. */
static size_t first_writer(const tg_compile *c, const tg_value *value, size_t *out_last) {
  size_t first = 0;
  while (!tg_kernel_makes(&c->kernels[first], value)) first++;
  *out_last = first;
  while (*out_last + 1 < c->kernel_count && tg_kernel_makes(&c->kernels[*out_last + 1], value)) ++*out_last;
  return first;
}

/* The last kernel that reads `value`, or -1. */
static ptrdiff_t last_reader(const tg_compile *c, const tg_value *value) {
  ptrdiff_t last = -1;
  for (size_t k = 0; k < c->kernel_count; k++)
    if (tg_kernel_reads(&c->kernels[k], value)) last = (ptrdiff_t)k;
  return last;
}

/* Does the kernel compute something of `value` before it multiplies, or store what it so computes? All nodes
 * of a prologue of B are done before the drain begins. */
static bool prologue_is_in_the_way(const tg_compile *c, const tg_kernel *kernel, const tg_value *value) {
  const tg_node_list *prologue = &kernel->prologue[1];
  for (size_t n = 0; n < prologue->count; n++)
    for (int i = 0; i < prologue->nodes[n]->input_count; i++)
      if (tg_in(prologue->nodes[n], i) && tg_loaded_by(c, prologue->nodes[n], i) == value) return true;
  return kernel->prologue_result && !prologue->count;
}

/* Does the kernel, which writes the new values, read the old ones element by element where it writes? */
static bool reads_in_place(const tg_compile *c, const tg_kernel *kernel, const tg_value *old) {
  bool product = kernel->kind == TG_KERNEL_GEMM;
  if ((!product && kernel->kind != TG_KERNEL_ELEMENTWISE) ||
      tg_kernel_computes(kernel, 0) != kernel->output || kernel->column_sums || kernel->pool ||
      prologue_is_in_the_way(c, kernel, old))
    return false;
  if (product && tg_product_loads(c, kernel, 0, old)) return false;
  if (kernel->second && tg_product_loads(c, kernel->second, 0, old)) return false;
  for (size_t n = 0; n < kernel->fused_count; n++)
    for (int i = 0; i < kernel->fused[n]->input_count; i++) {
      const tg_value *operand = tg_in(kernel->fused[n], i);
      if (operand && tg_loaded_by(c, kernel->fused[n], i) == old &&
          !tg_value_same_shape(operand, kernel->output))
        return false;
    }
  return true;
}

/* Does kernel `maker` write to a place that `reader` reads, in place or not? */
static bool feeds(const settler *s, const tg_kernel *maker, const tg_kernel *reader) {
  const tg_compile *c = s->c;
  if (tg_kernel_reads_any_of(reader, maker)) return true;
  for (int i = 0; i < c->graph->input_count; i++)
    if (s->in_place[i] && tg_kernel_reads(reader, c->graph->inputs[i]) &&
        tg_kernel_makes(maker, tg_owner(c, c->graph->outputs[s->copy_of[i]])))
      return true;
  return false;
}

/* May kernels first .. last run after kernel `behind`? None in between may need what they write, or overwrite
 * what they read. */
static bool can_move(const settler *s, size_t first, size_t last, size_t behind) {
  const tg_kernel *kernels = s->c->kernels;
  for (size_t k = last + 1; k <= behind; k++)
    for (size_t moved = first; moved <= last; moved++)
      if (feeds(s, &kernels[moved], &kernels[k]) || feeds(s, &kernels[k], &kernels[moved])) return false;
  return true;
}

static void move_behind(tg_compile *c, size_t first, size_t last, size_t behind) {
  size_t count = last - first + 1;
  tg_kernel *moved = TG_NEW_ARRAY(c->arena, tg_kernel, count);
  memcpy(moved, &c->kernels[first], count * sizeof *moved);
  memmove(&c->kernels[first], &c->kernels[last + 1], (behind - last) * sizeof *moved);
  memcpy(&c->kernels[behind + 1 - count], moved, count * sizeof *moved);
}

/* Is the result `root`, which the output has claimed, to be written into the input's memory? */
static bool settle_in_place(settler *s, int input, int output, tg_value *root) {
  tg_compile *c = s->c;
  const tg_value *old = c->graph->inputs[input];
  if (root->kind != TG_VALUE_RESULT || c->places[root->index].tensor != -2 - output) return false;
  for (int i = 0; i < c->graph->input_count; i++)
    if (s->copied[i] == old) return false; /* read at the end */
  size_t last, first = first_writer(c, root, &last);
  ptrdiff_t reader = last_reader(c, old);
  for (size_t k = first; k <= last; k++)
    if (tg_kernel_reads(&c->kernels[k], old) && (first != last || !reads_in_place(c, &c->kernels[k], old)))
      return false;
  if (reader > (ptrdiff_t)last) {
    if (!can_move(s, first, last, (size_t)reader)) return false;
    move_behind(c, first, last, (size_t)reader);
  }
  s->in_place[input] = true;
  s->copy_of[input] = output;
  return true;
}

static void copy(settler *s, int input) {
  tg_compile *c = s->c;
  tg_kernel kernel = {
      .kind = TG_KERNEL_MOVE, .source = c->graph->outputs[s->copy_of[input]], .part = s->copy_of[input]};
  TG_PUSH(c->arena, kernel.inputs, kernel.input_count, kernel.input_capacity, s->copied[input]);
  TG_PUSH(c->arena, c->kernels, c->kernel_count, c->kernel_capacity, kernel);
  s->copied[input] = NULL;
}

static bool is_awaited(const settler *s, const tg_value *value) {
  for (int i = 0; i < s->c->graph->input_count; i++)
    if (s->copied[i] == value) return true;
  return false;
}

/* An input that is itself the source of a copy is overwritten after it. */
static tg_status copy_rest(settler *s) {
  const tg_graph *graph = s->c->graph;
  for (bool more = true; more;) {
    int left = -1;
    more = false;
    for (int i = 0; i < graph->input_count; i++) {
      if (!s->copied[i]) continue;
      left = i;
      if (is_awaited(s, graph->inputs[i])) continue;
      copy(s, i);
      more = true;
    }
    if (left >= 0 && !more)
      return tg_fail(s->c->diag, TG_INVALID, "input \"%s\" is carried into another one and takes its value",
                     graph->inputs[left]->name);
  }
  return TG_OK;
}

tg_status tg_settle_aliases(tg_compile *c) {
  const tg_graph *graph = c->graph;
  size_t inputs = (size_t)graph->input_count + 1;
  settler s = {c, TG_NEW_ARRAY(c->arena, tg_value *, inputs), TG_NEW_ARRAY(c->arena, int, inputs),
               TG_NEW_ARRAY(c->arena, bool, inputs)};
  for (int results = 0; results < 2; results++) /* what is copied whatever happens comes first */
    for (size_t i = 0; i < graph->carry_count; i++) {
      int input = graph->carries[i].input, output = graph->carries[i].output;
      tg_value *root = tg_owner(c, graph->outputs[output]);
      bool stays = root == graph->inputs[input] || !tg_value_elements(root);
      if ((root->kind == TG_VALUE_RESULT) != (bool)results || stays) continue;
      if (settle_in_place(&s, input, output, root)) continue;
      if (c->places[root->index].tensor == -2 - output) c->places[root->index].tensor = -1;
      s.copied[input] = root;
      s.copy_of[input] = output;
    }
  return copy_rest(&s);
}
