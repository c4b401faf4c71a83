/* What the drain of a product loads, it may compute: a mask of what a normalisation and a relu made, where
 * the drain loads what the normalisation read anyway, is a few operations of the vector unit instead of a
 * tensor to load. The tensor is stored as it was, for others; if there are none, the product in front of
 * which it is made stores it no longer. The estimates decide. */
#include "mapper/gemm.h"

enum { MOST_NODES = 6 };

/* Nodes by which a product computes `value`, in order. */
typedef struct chain {
  const tg_compile *c;
  const tg_kernel *product;
  const tg_value *value, *shape;
  tg_front nodes;
} chain;

static bool is_in_memory(const tg_compile *c, const tg_value *value) {
  return !value->producer || c->stored[value->index];
}

/* Can the drain load it without moving more? A tensor, if it does so already; or rows and numbers. */
static bool is_at_hand(const chain *ch, tg_value *value) {
  const tg_value *owner = tg_owner(ch->c, value);
  if (owner == ch->value || !is_in_memory(ch->c, owner)) return false;
  return tg_kernel_reads(ch->product, owner) ||
         tg_value_elements(value) <= ch->shape->dims[ch->shape->rank - 1].size;
}

static bool add_maker(chain *ch, tg_value *value) {
  tg_node *node = value->producer;
  if (!node || !tg_op_is(node->op, TG_IS_ELEMENTWISE) || tg_is_stochastic_cast(node) ||
      !tg_value_same_shape(value, ch->shape) || ch->nodes.count == MOST_NODES)
    return false;
  for (int i = 0; i < node->input_count; i++) {
    tg_value *operand = tg_in(node, i);
    if (!tg_is_scalar_constant(operand) && !is_at_hand(ch, operand) && !add_maker(ch, operand)) return false;
  }
  tg_add_nodes(ch->c->arena, &ch->nodes, &node, 1);
  return true;
}

/* The product with the nodes of the chain before its own, and without the tensor. */
static tg_kernel with_chain(tg_compile *c, const chain *ch) {
  tg_kernel both = *ch->product;
  tg_front nodes = ch->nodes;
  tg_add_nodes(c->arena, &nodes, both.fused, both.fused_count);
  tg_set_fused(&both, &nodes);
  both.inputs = NULL;
  both.input_count = both.input_capacity = 0;
  for (size_t i = 0; i < ch->product->input_count; i++)
    if (ch->product->inputs[i] != ch->value) tg_kernel_add_input(c, &both, ch->product->inputs[i]);
  for (size_t n = 0; n < ch->nodes.count; n++)
    for (int i = 0; i < ch->nodes.nodes[n]->input_count; i++) {
      tg_value *operand = tg_in(ch->nodes.nodes[n], i);
      const tg_node *maker = tg_owner(c, operand)->producer;
      if (!tg_is_scalar_constant(operand) && !(maker && tg_has_node(ch->nodes.nodes, ch->nodes.count, maker)))
        tg_kernel_add_input(c, &both, operand);
    }
  return both;
}

/* The product that stores what nodes in front of it make, `value`, beside its results; or NULL. */
static tg_kernel *made_in_front(const tg_compile *c, const tg_value *value) {
  for (size_t k = 0; k < c->kernel_count; k++)
    if (c->kernels[k].stores_front && c->kernels[k].front_result == value) return &c->kernels[k];
  return NULL;
}

static tg_kernel without_store(const tg_kernel *maker) {
  tg_kernel alone = *maker;
  alone.stores_front = false;
  return alone;
}

/* The rows behind the last whole block of totals are a section of their own, which computes what it would
 * load, too. False: it does not fit. */
static bool put_into_rest(tg_compile *c, const chain *ch, tg_kernel *both) {
  const tg_kernel *totals = both->totals;
  if (!totals || !tg_kernel_reads(totals, ch->value) || !(tg_rest_cycles(c, totals) > 0)) return true;
  tg_kernel *rest = TG_NEW(c->arena, tg_kernel);
  tg_front nodes = {0};
  *rest = *totals;
  tg_add_nodes(c->arena, &nodes, ch->nodes.nodes, ch->nodes.count);
  tg_add_nodes(c->arena, &nodes, totals->front[0].nodes, totals->front[0].count);
  tg_kernel_set_nodes(c, rest, &nodes);
  both->totals = rest;
  return tg_reduce_fits(c, rest);
}

/* Does kernel k no longer load `value`? If others do not either, it had better not be stored. */
static bool compute(tg_compile *c, size_t k, tg_value *value) {
  tg_kernel *product = &c->kernels[k], *maker = NULL;
  chain ch = {.c = c, .product = product, .value = value, .shape = tg_kernel_computes(product, 0)};
  if (!value->producer || tg_value_elements(value) != tg_value_elements(ch.shape) ||
      tg_product_loads(c, product->root, 0, value))
    return false;
  if (!tg_needed_beside(c, value, k, k) && !(maker = made_in_front(c, value))) return false;
  if (!add_maker(&ch, value)) return false;
  tg_kernel both = with_chain(c, &ch), alone = maker ? without_store(maker) : *product;
  if (!put_into_rest(c, &ch, &both)) return false;
  double stored = maker ? tg_product_cycles(c, maker) - tg_product_cycles(c, &alone) : 0;
  if (!tg_product_gains(c, product, &both, stored)) return false;
  *product = both;
  if (maker) *maker = alone;
  return true;
}

void tg_recompute_in_products(tg_compile *c) {
  for (size_t k = 0; k < c->kernel_count; k++) {
    const tg_kernel *product = &c->kernels[k];
    if (product->kind != TG_KERNEL_GEMM || product->front_result || tg_gemm_phases(product->root) != 1)
      continue;
    for (size_t i = 0; i < product->input_count;)
      if (!compute(c, k, product->inputs[i])) i++;
  }
}
