/* Elementwise kernels of one shape that share a tensor become one kernel with several results: what one makes
 * and the other reads stays in registers, and what both read is loaded once. An optimizer's update of a
 * parameter and its state is one pass over memory so; where it pays, it joins the product that makes the
 * gradient. */
#include "mapper/expression.h"

#include <string.h>

enum {
  WINDOW = 256,      /* kernels back in which a partner is looked for: bounds the time for huge graphs */
  WAITS = 4,         /* of a VOP, one of them for the loads */
  MOST_OPERANDS = 16 /* of a merged kernel, before the streams are counted */
};

typedef struct merger {
  tg_compile *c;
  tg_kernel *kernels;
  size_t count;
} merger;

static tg_value *owner(const merger *m, tg_value *value) {
  tg_value *root = m->c->places[value->index].root;
  return root ? root : value;
}

static bool reads(const tg_kernel *kernel, const tg_value *value) {
  for (size_t i = 0; i < kernel->input_count; i++)
    if (kernel->inputs[i] == value) return true;
  return false;
}

static bool makes(const tg_kernel *kernel, const tg_value *value) {
  for (int i = 0; i < tg_kernel_results(kernel); i++)
    if (tg_kernel_result(kernel, i) == value) return true;
  return false;
}

static bool reads_any_result(const tg_kernel *reader, const tg_kernel *maker) {
  for (int i = 0; i < tg_kernel_results(maker); i++)
    if (reads(reader, tg_kernel_result(maker, i))) return true;
  return false;
}

/* Do the two touch a tensor of their own shape in common? */
static bool share_a_tensor(const tg_kernel *a, const tg_kernel *b) {
  if (reads_any_result(b, a)) return true;
  for (size_t i = 0; i < a->input_count; i++)
    if (tg_value_elements(a->inputs[i]) == tg_value_elements(a->output) && reads(b, a->inputs[i]))
      return true;
  return false;
}

/* A result that is read in another shape is no register. */
static bool renames_a_result(const merger *m, const tg_kernel *reader, const tg_kernel *maker) {
  for (size_t n = 0; n < reader->fused_count; n++)
    for (int i = 0; i < reader->fused[n]->input_count; i++) {
      tg_value *value = tg_in(reader->fused[n], i);
      if (owner(m, value) != value && makes(maker, owner(m, value))) return true;
    }
  return false;
}

/* What a store rounds stochastically is in no register, and an instruction has one key. */
static bool rounding_parts(const tg_kernel *a, const tg_kernel *b) {
  const tg_node *first = tg_stochastic_store(a);
  return first && (tg_stochastic_store(b) || reads(b, tg_out(first)));
}

/* May `a` run as late as kernel `to`? */
static bool can_wait(const merger *m, size_t a, size_t to) {
  for (size_t k = a + 1; k < to; k++)
    if (reads_any_result(&m->kernels[k], &m->kernels[a])) return false;
  return true;
}

/* May `b` run as early as kernel `to`? */
static bool can_hurry(const merger *m, size_t b, size_t to) {
  for (size_t k = to + 1; k < b; k++)
    if (reads_any_result(&m->kernels[b], &m->kernels[k])) return false;
  return true;
}

/* ---- the merged kernel ---- */

static bool has_node(const tg_kernel *kernel, const tg_node *node) {
  for (size_t n = 0; n < kernel->fused_count; n++)
    if (kernel->fused[n] == node) return true;
  return false;
}

static void add_nodes(tg_arena *arena, tg_kernel *to, const tg_kernel *from) {
  for (size_t n = 0; n < from->fused_count; n++)
    if (!has_node(to, from->fused[n]))
      TG_PUSH(arena, to->fused, to->fused_count, to->fused_capacity, from->fused[n]);
}

/* Is the value still needed in memory when a and b are one? */
static bool needed_outside(const merger *m, const tg_value *value, size_t a, size_t b) {
  if (m->c->places[value->index].tensor <= -2) return true; /* an output of the graph */
  for (size_t k = 0; k < m->count; k++)
    if (k != a && k != b && reads(&m->kernels[k], value)) return true;
  return false;
}

static bool add_results(const merger *m, tg_kernel *to, size_t from, size_t a, size_t b) {
  for (int i = 0; i < tg_kernel_results(&m->kernels[from]); i++) {
    tg_value *value = tg_kernel_result(&m->kernels[from], i);
    if (!needed_outside(m, value, a, b)) continue;
    if (!to->output) {
      to->output = value;
      continue;
    }
    if (to->more_count == TG_MORE_RESULTS) return false;
    to->more[to->more_count++] = value;
  }
  return true;
}

static void add_inputs(const merger *m, tg_kernel *to, size_t from, size_t a, size_t b) {
  const tg_kernel *kernel = &m->kernels[from];
  for (size_t i = 0; i < kernel->input_count; i++)
    if (!reads(to, kernel->inputs[i]) && !makes(&m->kernels[a], kernel->inputs[i]) &&
        !makes(&m->kernels[b], kernel->inputs[i]))
      TG_PUSH(m->c->arena, to->inputs, to->input_count, to->input_capacity, kernel->inputs[i]);
}

/* Streams, banks, semaphores of the VOP and microcode suffice. A number of FP32 is loaded once, into one
 * bank, unless all operands are numbers. */
static bool fits(const merger *m, const tg_kernel *kernel) {
  const tg_params *p = m->c->m;
  int results = tg_kernel_results(kernel), banks = 2 * results;
  if (results + 1 > WAITS || kernel->input_count > MOST_OPERANDS) return false;
  bool numbers = tg_value_elements(tg_kernel_result(kernel, 0)) == 1;
  for (size_t i = 0; i < kernel->input_count; i++) {
    const tg_value *x = kernel->inputs[i];
    banks += !numbers && tg_value_elements(x) == 1 && tg_stream_kind(x) == TG_STREAM_FP32 ? 1 : 2;
  }
  return (int)kernel->input_count + results <= TG_STREAMS && banks <= (int)p->banks &&
         tg_expression_fits(m->c, kernel);
}

/* `a`, elementwise or a product, comes before `b`, also in the order of the nodes. A product stays where it
 * is, so that its operands need memory no longer. */
static bool merge(merger *m, size_t a, size_t b) {
  bool product = m->kernels[a].kind == TG_KERNEL_GEMM;
  tg_kernel both = {.kind = m->kernels[a].kind, .root = m->kernels[a].root};
  add_nodes(m->c->arena, &both, &m->kernels[a]);
  add_nodes(m->c->arena, &both, &m->kernels[b]);
  if (!add_results(m, &both, b, a, b) || !add_results(m, &both, a, a, b) || !both.output) return false;
  add_inputs(m, &both, a, a, b);
  add_inputs(m, &both, b, a, b);
  if (!(product ? tg_product_gains(m->c, &m->kernels[a], &m->kernels[b], &both) : fits(m, &both)))
    return false;
  size_t at = !product && can_wait(m, a, b) ? b : a, other = a + b - at;
  for (int i = 0; i < tg_kernel_results(&m->kernels[a]); i++)
    m->c->stored[tg_kernel_result(&m->kernels[a], i)->index] =
        makes(&both, tg_kernel_result(&m->kernels[a], i));
  m->kernels[at] = both;
  memmove(&m->kernels[other], &m->kernels[other + 1], (m->count - other - 1) * sizeof *m->kernels);
  m->count--;
  return true;
}

/* ---- pairs ---- */

static bool are_partners(const merger *m, size_t a, size_t b) {
  const tg_kernel *first = &m->kernels[a], *second = &m->kernels[b];
  return first->kind == TG_KERNEL_ELEMENTWISE && tg_value_same_shape(first->output, second->output) &&
         share_a_tensor(first, second) && !renames_a_result(m, second, first) &&
         !rounding_parts(first, second) && (can_wait(m, a, b) || can_hurry(m, b, a));
}

/* Merges kernel b with the nearest partner before it. */
static bool merge_backwards(merger *m, size_t b) {
  if (m->kernels[b].kind != TG_KERNEL_ELEMENTWISE) return false;
  size_t from = b > WINDOW ? b - WINDOW : 0;
  for (size_t a = b; a-- > from;)
    if (are_partners(m, a, b) && merge(m, a, b)) return true;
  return false;
}

/* Merges kernel b into the product whose result it reads. */
static bool merge_into_product(merger *m, size_t b) {
  const tg_kernel *second = &m->kernels[b];
  if (second->kind != TG_KERNEL_ELEMENTWISE) return false;
  size_t from = b > WINDOW ? b - WINDOW : 0;
  for (size_t a = b; a-- > from;) {
    const tg_kernel *first = &m->kernels[a];
    if (first->kind == TG_KERNEL_GEMM && reads_any_result(second, first) &&
        tg_value_same_shape(first->output, second->output) && !renames_a_result(m, second, first) &&
        !rounding_parts(first, second) && can_hurry(m, b, a))
      return merge(m, a, b);
  }
  return false;
}

void tg_merge_kernels(tg_compile *c) {
  merger m = {.c = c, .kernels = c->kernels, .count = c->kernel_count};
  for (size_t b = 0; b < m.count;)
    if (merge_backwards(&m, b))
      b -= b > 0;
    else
      b++;
  for (size_t b = 0; b < m.count;)
    if (!merge_into_product(&m, b)) b++;
  c->kernel_count = m.count;
}
