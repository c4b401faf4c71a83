/* Graph -> kernels. Walks the nodes in order; an elementwise node joins the kernel that makes one of its
 * inputs if nobody else needs that input and its other inputs exist before that kernel runs; otherwise it
 * begins a kernel. A cast that can join no kernel waits for those that read it: each takes it along, or loads
 * what it casts; it is a kernel of its own only where one of them can do neither. A comparison with a number
 * waits for the choice that alone reads it. */
#include "mapper/fusion/fusion.h"
#include "mapper/kernel/class.h"
#include "mapper/kernel/operand.h"

#include <string.h>

enum {
  LOOK_THROUGH = 5, /* Reshapes and Transposes between a Cast and the product that loads before it */
};

typedef struct former {
  tg_compile *c;
  int *maker;  /* by value->index: the kernel that makes it; -1: graph input or constant */
  bool *waits; /* by value->index: the result of a node of one operand that its readers take along */
} former;

static bool is_unoptimized(const former *f) { return f->c->options.opt == TG_OPT_LEVEL_NONE; }

static int maker_of(const former *f, tg_value *value) { return f->maker[tg_owner(f->c, value)->index]; }

static tg_kernel *new_kernel(former *f, int kind, tg_node *root) {
  tg_compile *c = f->c;
  tg_kernel kernel = {.kind = kind, .root = root};
  TG_PUSH(c->arena, c->kernels, c->kernel_count, c->kernel_capacity, kernel);
  return &c->kernels[c->kernel_count - 1];
}

static void set_output(former *f, size_t kernel, tg_value *value) {
  const tg_value *before = f->c->kernels[kernel].output;
  if (before) f->c->stored[before->index] = false;
  f->c->stored[value->index] = true;
  f->c->kernels[kernel].output = value;
  f->maker[value->index] = (int)kernel;
}

static bool is_fused(const tg_kernel *kernel, const tg_value *value) {
  for (size_t n = 0; n < kernel->fused_count; n++)
    if (tg_out(kernel->fused[n]) == value) return true;
  return false;
}

/* What the kernel has to load for `value`: of a node that waits, its operand. */
static tg_value *loaded(const former *f, const tg_kernel *kernel, tg_value *value) {
  return f->waits[value->index] && !is_fused(kernel, value) ? tg_in(value->producer, 0) : value;
}

/* Is `value` an operand from DRAM of a fused node of the kernel (not made by the kernel, not a number)? */
static bool is_external(const former *f, size_t k, tg_value *value) {
  const tg_kernel *kernel = &f->c->kernels[k];
  if (f->waits[value->index] && is_fused(kernel, value)) return false;
  value = loaded(f, kernel, value);
  return !tg_is_scalar_constant(value) && maker_of(f, value) != (int)k;
}

static int count_waiting(const former *f, const tg_node *node) {
  int count = 0;
  for (int i = 0; i < node->input_count; i++) count += f->waits[tg_in(node, i)->index];
  return count;
}

static int count_operands(const former *f, size_t k, const tg_node *extra) {
  const tg_kernel *kernel = &f->c->kernels[k];
  int count = 0;
  for (size_t n = 0; n <= kernel->fused_count; n++) {
    const tg_node *node = n < kernel->fused_count ? kernel->fused[n] : extra;
    if (!node) continue;
    for (int i = 0; i < node->input_count; i++) count += is_external(f, k, tg_in(node, i));
  }
  return count;
}

/* Can `node` join kernel k, whose output is `through`, an input of it? */
static bool can_join(const former *f, const tg_node *node, size_t k, const tg_value *through) {
  const tg_kernel *kernel = &f->c->kernels[k];
  const tg_value *result = tg_out(node);
  const tg_kernel_class *own = tg_class_of(f->c, kernel);
  if (!own->takes || kernel->output != through) return false;
  if (tg_is_stochastic_cast(through->producer)) return false;
  if (through->output_count || !tg_value_same_shape(through, result)) return false;
  for (const tg_use *use = through->uses; use; use = use->next)
    if (use->node != node) return false;
  if (!own->takes(f->c, kernel, node, count_waiting(f, node)) ||
      count_operands(f, k, node) > (own->inputs ? own->inputs(f->c, kernel) : 0))
    return false;
  for (int i = 0; i < node->input_count; i++) {
    tg_value *input = loaded(f, kernel, tg_in(node, i));
    if (!is_external(f, k, input)) continue;
    if (maker_of(f, input) >= (int)k) return false;
    if (own->loads && !own->loads(input, result)) return false;
  }
  return true;
}

static void join(former *f, tg_node *node, size_t k) {
  tg_kernel *kernel = &f->c->kernels[k];
  for (int i = 0; i < node->input_count; i++) {
    tg_value *input = tg_in(node, i);
    if (!is_external(f, k, input)) continue;
    tg_kernel_add_input(f->c, kernel, loaded(f, kernel, input));
    if (f->waits[input->index])
      TG_PUSH(f->c->arena, kernel->fused, kernel->fused_count, kernel->fused_capacity, input->producer);
  }
  TG_PUSH(f->c->arena, kernel->fused, kernel->fused_count, kernel->fused_capacity, node);
  set_output(f, k, tg_out(node));
}

/* The latest kernel that makes an operand of `node` and that it can join; its result is most likely still at
 * hand. -1: none. */
static int kernel_to_join(const former *f, const tg_node *node) {
  int best = -1;
  if (is_unoptimized(f)) return -1;
  for (int i = 0; i < node->input_count; i++) {
    int k = maker_of(f, tg_in(node, i));
    if (k > best && tg_owner(f->c, tg_in(node, i)) == tg_in(node, i) &&
        can_join(f, node, (size_t)k, tg_in(node, i)))
      best = k;
  }
  return best;
}

static tg_status form_elementwise(former *f, tg_node *node) {
  int best = kernel_to_join(f, node);
  if (best < 0) {
    new_kernel(f, TG_KERNEL_ELEMENTWISE, NULL);
    best = (int)f->c->kernel_count - 1;
  }
  join(f, node, (size_t)best);
  const tg_kernel *kernel = &f->c->kernels[best];
  if (kernel->kind == TG_KERNEL_ELEMENTWISE && kernel->input_count > TG_FUSED_INPUTS + 1)
    return tg_fail(f->c->diag, TG_INVALID, "node \"%s\": %s of more than %d tensors is not supported",
                   node->name, tg_op_get(node->op)->name, TG_FUSED_INPUTS + 1);
  return TG_OK;
}

static void form_root(former *f, int kind, tg_node *node) {
  tg_kernel *kernel = new_kernel(f, kind, node);
  kernel->operands = tg_resolve_operands(f->c, node);
  for (int i = 0; i < node->input_count; i++)
    if (tg_in(node, i))
      tg_kernel_add_input(f->c, kernel,
                          kernel->operands && i < 2 ? kernel->operands[i].source : tg_in(node, i));
  set_output(f, f->c->kernel_count - 1, tg_out(node));
}

/* Operand `part` into its place in the result; a cast of it happens on the way. */
static void form_move(former *f, tg_node *node, int part) {
  tg_kernel *kernel = new_kernel(f, TG_KERNEL_MOVE, node);
  kernel->part = part;
  kernel->source = loaded(f, kernel, tg_in(node, part));
  tg_kernel_add_input(f->c, kernel, kernel->source);
  set_output(f, f->c->kernel_count - 1, tg_out(node));
}

/* Is `value` made of `origin` by nothing but Reshapes and Transposes? */
static bool rearranges(const tg_value *value, const tg_value *origin) {
  while (value != origin) {
    const tg_node *node = value->producer;
    if (!node || (node->op != TG_OP_RESHAPE && node->op != TG_OP_TRANSPOSE)) return false;
    value = tg_in(node, 0);
  }
  return true;
}

/* Is the result `origin` of a Cast or Transpose, as far as it reaches `value`, never read, since all products
 * load what stands before it? Then it needs no kernel. */
static bool is_looked_through(const tg_compile *c, const tg_value *origin, const tg_value *value, int depth) {
  if (value->output_count || depth == 0) return false;
  for (const tg_use *use = value->uses; use; use = use->next) {
    const tg_node *node = use->node;
    if (tg_is_product_operand(node, use->input)) {
      if (rearranges(tg_resolve_operand(c, NULL, node, use->input).source, origin)) return false;
    } else if ((node->op != TG_OP_RESHAPE && node->op != TG_OP_TRANSPOSE) ||
               !is_looked_through(c, origin, tg_out(node), depth - 1))
      return false;
  }
  return true;
}

/* Does a product load the Cast's result by looking through the Transpose alone? */
static bool loads_before(const tg_compile *c, const tg_node *transpose, const tg_value *cast) {
  for (const tg_use *use = tg_out(transpose)->uses; use; use = use->next)
    if (tg_is_product_operand(use->node, use->input) &&
        tg_resolve_operand(c, NULL, use->node, use->input).source == cast)
      return true;
  return false;
}

/* Is it a Pad whose number is one of the format that the cast reads? Then it may be put around what
 * is cast. */
static bool pads_after(const tg_node *node, const tg_value *cast) {
  if (node->op != TG_OP_PAD) return false;
  tg_dtype from = tg_in(cast->producer, 0)->dtype;
  float value = (float)tg_attr_float(node, TG_ATTR_VALUE);
  uint32_t cell;
  tg_store_f32(&cell, from, 0, value);
  return tg_load_f32(&cell, from, 0) == value;
}

/* Do all that read the Cast's result take the cast along, as elementwise nodes and moves do, or load what it
 * casts? */
static bool can_sink(const tg_compile *c, const tg_value *cast) {
  if (cast->output_count) return false;
  for (const tg_use *use = cast->uses; use; use = use->next) {
    const tg_node *node = use->node;
    bool takes = tg_op_is(node->op, TG_IS_ELEMENTWISE) || node->op == TG_OP_CONCAT ||
                 node->op == TG_OP_SLICE || node->op == TG_OP_EXPAND || pads_after(node, cast) ||
                 (node->op == TG_OP_TRANSPOSE && !loads_before(c, node, cast));
    bool loads = node->op == TG_OP_RESHAPE
                     ? is_looked_through(c, cast, tg_out(node), LOOK_THROUGH - 1)
                     : tg_is_product_operand(node, use->input) &&
                           !rearranges(tg_resolve_operand(c, NULL, node, use->input).source, cast);
    if (!takes && !loads) return false;
  }
  return true;
}

static tg_status form_cast(former *f, tg_node *node) {
  tg_value *out = tg_out(node);
  if (tg_is_stochastic_cast(node)) return form_elementwise(f, node); /* a store rounds, nothing else does */
  if (is_unoptimized(f)) return form_elementwise(f, node);
  if (is_looked_through(f->c, out, out, LOOK_THROUGH)) return TG_OK;
  bool free =
      kernel_to_join(f, node) < 0 && !f->waits[tg_in(node, 0)->index] && !tg_is_constant(tg_in(node, 0));
  if (!free || !can_sink(f->c, out)) return form_elementwise(f, node);
  f->waits[out->index] = true;
  return TG_OK;
}

/* The choice may follow the product whose result it takes, where there was no such comparison yet: so a
 * relu's gradient does. */
static tg_status form_comparison(former *f, tg_node *node) {
  tg_value *x = tg_in(node, 0), *out = tg_out(node);
  const tg_node *reader = out->use_count == 1 && !out->output_count ? out->uses->node : NULL;
  bool chosen = reader && reader->op == TG_OP_WHERE && tg_value_same_shape(out, tg_out(reader)),
       alone = tg_is_scalar_constant(tg_in(node, 1)) && !tg_is_constant(x) && !f->waits[x->index];
  if (!chosen || !alone || is_unoptimized(f) || kernel_to_join(f, node) >= 0)
    return form_elementwise(f, node);
  f->waits[out->index] = true;
  return TG_OK;
}

/* The first kind of which the node is a root; else, with other elementwise nodes, of none. */
static int kind_of(const tg_compile *c, const tg_node *node) {
  for (int kind = 0; kind < TG_KERNEL_ELEMENTWISE; kind++)
    if (c->classes[kind]->accepts(c, node)) return kind;
  return TG_KERNEL_ELEMENTWISE;
}

/* A Transpose that all its readers look through needs none; a Concat has one for each input. */
static void form_moves(former *f, tg_node *node) {
  tg_value *out = tg_out(node);
  if (node->op == TG_OP_TRANSPOSE && is_looked_through(f->c, out, out, LOOK_THROUGH)) return;
  for (int i = 0; i < (node->op == TG_OP_CONCAT ? node->input_count : 1); i++)
    if (tg_value_elements(tg_in(node, i)) > 0 || node->op != TG_OP_CONCAT) form_move(f, node, i);
}

static tg_status form_node(former *f, tg_node *node) {
  tg_compile *c = f->c;
  tg_value *out = tg_out(node);
  if (tg_reads_integers(node)) return TG_OK; /* renames, as Reshapes do */
  if (!tg_dtype_is_float(out->dtype) || out->dtype == TG_F64)
    return tg_fail(c->diag, TG_INVALID, "node \"%s\": %s with a result of type %s does not run on the array",
                   node->name, tg_op_get(node->op)->name, tg_dtype_name(out->dtype));
  for (int i = 0; i < node->input_count; i++)
    if (tg_in(node, i) && (!tg_dtype_is_float(tg_in(node, i)->dtype) || tg_in(node, i)->dtype == TG_F64))
      return tg_fail(c->diag, TG_INVALID, "node \"%s\": tensor \"%s\" of type %s does not run on the array",
                     node->name, tg_in(node, i)->name, tg_dtype_name(tg_in(node, i)->dtype));
  if (node->op == TG_OP_RESHAPE || tg_value_elements(out) == 0) return TG_OK; /* nothing to compute */
  if (node->op == TG_OP_POW && !c->classes[TG_KERNEL_ELEMENTWISE]->accepts(c, node))
    return tg_fail(
        c->diag, TG_INVALID,
        "node \"%s\": Pow runs on the array if its exponent is one finite number, known at compile time",
        node->name);
  int kind = kind_of(c, node);
  if (kind == TG_KERNEL_MOVE)
    form_moves(f, node);
  else if (kind != TG_KERNEL_ELEMENTWISE)
    form_root(f, kind, node);
  else if (node->op == TG_OP_CAST)
    return form_cast(f, node);
  else
    return tg_op_is(node->op, TG_IS_COMPARE) ? form_comparison(f, node) : form_elementwise(f, node);
  return TG_OK;
}

/* A graph output needs memory of its own: one that only renames an input, a constant or another output is
 * copied. What is carried is settled later (memory/aliases.c). */
static void form_output_copies(former *f) {
  const tg_graph *graph = f->c->graph;
  for (int i = 0; i < graph->output_count; i++) {
    tg_value *value = graph->outputs[i];
    bool claimed = f->c->places[tg_owner(f->c, value)->index].tensor == -2 - i;
    if (!claimed && tg_value_elements(value) > 0 && f->c->carried_into[i] < 0) {
      tg_kernel *kernel = new_kernel(f, TG_KERNEL_MOVE, NULL);
      kernel->source = value;
      kernel->part = i;
      tg_kernel_add_input(f->c, kernel, value);
    }
  }
}

tg_status tg_form_kernels(tg_compile *c) {
  former f = {.c = c, .maker = TG_NEW_ARRAY(c->arena, int, (size_t)c->graph->value_count + 1)};
  f.waits = TG_NEW_ARRAY(c->arena, bool, (size_t)c->graph->value_count + 1);
  for (int i = 0; i < c->graph->value_count; i++) f.maker[i] = -1;
  TG_FOR_NODES(c->graph, node) {
    tg_status status = form_node(&f, node);
    if (status) return status;
  }
  form_output_copies(&f);
  return TG_OK;
}
