/* What the drain of a product loads, or its prologue, they may compute: a mask of what a
 * normalisation and a relu made, where the drain loads what the normalisation read anyway, is a few
 * operations of the vector unit instead of a tensor to load; and so is a product of a k or two
 * (kernel/outer.h). The tensor is stored as it was, for others; if there are none, the product whose prologue
 * it is made stores it no longer. The estimates decide. */
#include "mapper/fusion/rematerialize.h"

#include "mapper/fusion/fusion.h"
#include "mapper/kernel/class.h"
#include "mapper/kernel/operand.h"
#include "mapper/kernel/outer.h"

enum { MOST_NODES = 8 };
#define KEPT 0.25 /* of a pass over it: what memory for a tensor, from forward to backward, is worth */

static bool is_in_memory(const tg_compile *c, const tg_value *value) {
  return !value->producer || c->stored[value->index];
}

/* Can the product load it without moving more? A tensor, if it does so already; or rows and numbers. */
static bool is_at_hand(const tg_chain *ch, tg_value *value) {
  const tg_value *owner = tg_owner(ch->c, value);
  if (owner == ch->value || !is_in_memory(ch->c, owner)) return false;
  return tg_kernel_reads(ch->product, owner) ||
         tg_value_elements(value) <= ch->shape->dims[ch->shape->rank - 1].size;
}

/* Numbers a row and rows, few of each. */
static bool has_outer_operands(const tg_chain *ch, const tg_node *node) {
  tg_outer outer;
  if (!ch->products || !tg_outer_of(ch->c, node, &outer)) return false;
  for (int i = 0; i < 2; i++)
    if (!is_in_memory(ch->c, tg_loaded_by(ch->c, node, i))) return false;
  return true;
}

static bool add_maker(tg_chain *ch, tg_value *value) {
  tg_node *node = value->producer;
  if (!node || tg_is_stochastic_cast(node) || !tg_value_same_shape(value, ch->shape) ||
      ch->nodes.count == MOST_NODES)
    return false;
  bool outer = has_outer_operands(ch, node);
  if (!outer && !tg_op_is(node->op, TG_IS_ELEMENTWISE)) return false;
  for (int i = outer ? 2 : 0; i < node->input_count; i++) {
    tg_value *operand = tg_in(node, i);
    if (!operand || tg_is_scalar_constant(operand)) continue;
    if (!is_at_hand(ch, operand) && (outer || !add_maker(ch, operand))) return false;
  }
  tg_add_nodes(ch->c->arena, &ch->nodes, &node, 1);
  return true;
}

/* The product with the nodes of the chain before its own, or its prologue, and without the tensor. */
static tg_kernel with_chain(tg_compile *c, const tg_chain *ch) {
  tg_kernel both = *ch->product;
  tg_node_list nodes = ch->nodes;
  if (both.prologue_result) {
    tg_add_nodes(c->arena, &nodes, both.prologue[1].nodes, both.prologue[1].count);
    both.prologue[1] = nodes;
  } else {
    tg_add_nodes(c->arena, &nodes, both.fused, both.fused_count);
    tg_set_fused(&both, &nodes);
  }
  both.inputs = NULL;
  both.input_count = both.input_capacity = 0;
  for (size_t i = 0; i < ch->product->input_count; i++)
    if (ch->product->inputs[i] != ch->value) tg_kernel_add_input(c, &both, ch->product->inputs[i]);
  for (size_t n = 0; n < ch->nodes.count; n++) tg_kernel_add_loads(c, &both, &ch->nodes, ch->nodes.nodes[n]);
  return both;
}

/* The product that stores what its prologue makes, `value`, beside its results; or NULL. */
static tg_kernel *made_in_prologue(const tg_compile *c, const tg_value *value) {
  for (size_t k = 0; k < c->kernel_count; k++)
    if (c->kernels[k].stores_prologue && c->kernels[k].prologue_result == value) return &c->kernels[k];
  return NULL;
}

static tg_kernel without_store(const tg_kernel *maker) {
  tg_kernel alone = *maker;
  alone.stores_prologue = false;
  return alone;
}

/* The rows behind the last whole block of column sums are a section of their own, which computes what it
 * would load, too. False: it does not fit. */
static bool put_into_remainder(tg_compile *c, const tg_chain *ch, tg_kernel *both) {
  const tg_kernel *column_sums = both->column_sums;
  if (!column_sums || !tg_kernel_reads(column_sums, ch->value) ||
      !(tg_class_of(c, column_sums)->remainder_cycles(c, column_sums) > 0))
    return true;
  tg_kernel *rest = TG_NEW(c->arena, tg_kernel);
  tg_node_list nodes = {0};
  *rest = *column_sums;
  tg_add_nodes(c->arena, &nodes, ch->nodes.nodes, ch->nodes.count);
  tg_add_nodes(c->arena, &nodes, column_sums->prologue[0].nodes, column_sums->prologue[0].count);
  tg_kernel_set_nodes(c, rest, &nodes);
  both->column_sums = rest;
  return tg_kernel_fits(c, rest);
}

bool tg_with_chain(tg_compile *c, const tg_chain *ch, tg_kernel *out) {
  *out = with_chain(c, ch);
  return put_into_remainder(c, ch, out);
}

static bool is_read_behind(const tg_compile *c, const tg_kernel *product, const tg_value *value) {
  for (size_t n = 0; n < product->fused_count; n++)
    for (int i = 0; i < product->fused[n]->input_count; i++)
      if (tg_owner(c, tg_in(product->fused[n], i)) == value) return true;
  return false;
}

bool tg_find_chain(const tg_compile *c, size_t k, tg_value *value, bool products, tg_chain *out) {
  const tg_kernel *product = &c->kernels[k];
  const tg_value *shape =
      product->prologue_result ? product->prologue_result : tg_kernel_computes(product, 0);
  *out = (tg_chain){.c = c, .product = product, .value = value, .shape = shape, .products = products};
  return value->producer && tg_value_elements(value) == tg_value_elements(shape) &&
         !tg_product_loads(c, product, 0, value) &&
         !(product->prologue_result && is_read_behind(c, product, value)) && add_maker(out, value);
}

size_t tg_last_reader(const tg_compile *c, const tg_value *value) {
  size_t last = c->kernel_count;
  while (last > 0 && !tg_kernel_reads(&c->kernels[last - 1], value)) last--;
  return last;
}

double tg_worth_of_memory(const tg_compile *c, const tg_value *value) {
  double bytes = (double)tg_value_elements(value) * tg_value_bytes_each(value);
  bool stays = c->places[value->index].tensor <= -2; /* an output of the graph */
  return stays ? 0 : KEPT * bytes / tg_peak_dram_bytes(c->m);
}

/* Does kernel k no longer load `value`? If others do not either, it had better not be stored. */
bool tg_rematerialize_value(tg_compile *c, size_t k, tg_value *value, bool products) {
  tg_kernel *maker = NULL;
  tg_chain ch;
  if (!tg_needed_beside(c, value, k, k) && !(maker = made_in_prologue(c, value))) return false;
  if (!tg_find_chain(c, k, value, products, &ch)) return false;
  tg_kernel both;
  if (!tg_with_chain(c, &ch, &both)) return false;
  tg_kernel alone = maker ? without_store(maker) : both;
  double saved = maker ? tg_kernel_cycles(c, maker) - tg_kernel_cycles(c, &alone) : 0;
  if (products && tg_last_reader(c, value) == k + 1) saved += tg_worth_of_memory(c, value);
  if (!tg_is_profitable(c, &c->kernels[k], &both, saved)) return false;
  c->kernels[k] = both;
  if (maker) *maker = alone;
  return true;
}

bool tg_may_rematerialize(const tg_kernel *product) {
  return product->kind == TG_KERNEL_GEMM && (!product->prologue_result || product->prologue[1].count) &&
         tg_gemm_phases(product->root) == 1;
}

tg_status tg_rematerialize_in_products(tg_compile *c) {
  for (size_t k = 0; k < c->kernel_count; k++)
    for (size_t i = 0; tg_may_rematerialize(&c->kernels[k]) && i < c->kernels[k].input_count;)
      if (!tg_rematerialize_value(c, k, c->kernels[k].inputs[i], false)) i++;
  return TG_OK;
}
