/* Where accumulation rounds to BF16 (--tiling-accum), so is what a product leaves behind its bias and its activation
 * function; if it has neither, that is a BF16 number as it is. It is stored in 16 bits, and widened, exactly, by those that
 * read it. */
#include "frontend/build/rewrite.h"
#include "frontend/passes/passes.h"

enum { MAX_HOPS = 16 }; /* moves behind each other that are looked through */

static bool is_bf16(double number) {
  uint16_t cell;
  tg_store_f32(&cell, TG_BF16, 0, (float)number);
  return (double)tg_load_f32(&cell, TG_BF16, 0) == number;
}

/* Of operands in BF16, is each element of the result a BF16 number? One of theirs, perhaps without its sign, or a bound. */
static bool keeps_bf16(const tg_node *node) {
  switch (node->op) {
  case TG_OP_RELU:
  case TG_OP_NEG:
  case TG_OP_ABS:
  case TG_OP_MAX:
  case TG_OP_MIN:
  case TG_OP_MAX_POOL:
  case TG_OP_RESHAPE:
  case TG_OP_TRANSPOSE:
  case TG_OP_SLICE:
  case TG_OP_CONCAT:
  case TG_OP_EXPAND: return true;
  case TG_OP_CLIP:
    return is_bf16(tg_attr_float(node, TG_ATTR_MIN)) && is_bf16(tg_attr_float(node, TG_ATTR_MAX));
  case TG_OP_PAD: return is_bf16(tg_attr_float(node, TG_ATTR_VALUE));
  default: return false;
  }
}

/* Rows that are computed in FP32, of operands in any format. */
static bool is_row_kernel(const tg_node *node) {
  return node->op == TG_OP_SOFTMAX || node->op == TG_OP_LOG_SOFTMAX || tg_op_is(node->op, TG_IS_REDUCE);
}

/* Do all that read the value widen what they load, or keep it as it is for others that do? */
static bool is_widened_by_all(const tg_value *value, int hops) {
  if (value->output_count || !hops) return false;
  for (const tg_use *use = value->uses; use; use = use->next) {
    const tg_node *node = use->node;
    bool widens = tg_op_is(node->op, TG_IS_ELEMENTWISE) || node->op == TG_OP_CAST || is_row_kernel(node) ||
                  (tg_op_is(node->op, TG_IS_GEMM) && use->input < 2);
    if (!widens && (!keeps_bf16(node) || !is_widened_by_all(tg_out(node), hops - 1))) return false;
  }
  return true;
}

static tg_node *only_reader(const tg_value *value) {
  return value->use_count == 1 && !value->output_count ? value->uses->node : NULL;
}

/* A constant added to the result, as a linear layer's bias is. */
static bool adds_bias(const tg_node *node, const tg_value *product) {
  return node->op == TG_OP_ADD && tg_value_same_shape(tg_out(node), product) &&
         (tg_is_constant(tg_in(node, 0)) || tg_is_constant(tg_in(node, 1)));
}

static bool is_function(const tg_node *node) {
  return tg_op_is(node->op, TG_IS_UNARY) && node->op != TG_OP_CAST && tg_out(node)->dtype == TG_F32;
}

/* f(x) x, as an activation function that two nodes compute, or NULL. */
static tg_node *gated(const tg_value *value) {
  if (value->use_count != 2 || value->output_count) return NULL;
  const tg_node *first = value->uses->node, *second = value->uses->next->node;
  for (int i = 0; i < 2; i++) {
    tg_node *product = is_function(first) ? only_reader(tg_out(first)) : NULL;
    if (product && product == second && product->op == TG_OP_MUL) return product;
    const tg_node *other = first;
    first = second;
    second = other;
  }
  return NULL;
}

/* What the product gives, behind its bias and its activation function: each node alone reads the one before. And x of the
 * first f(x) x on the way, or NULL. */
static tg_value *result_of(const tg_node *product, tg_value **out_gate) {
  tg_value *value = tg_out(product);
  *out_gate = NULL;
  tg_node *next = only_reader(value);
  if (next && adds_bias(next, value)) value = tg_out(next);
  for (;;) {
    next = only_reader(value);
    if (!next || !is_function(next)) {
      next = gated(value);
      if (next && !*out_gate) *out_gate = value;
    }
    if (!next) return value;
    value = tg_out(next);
  }
}

static bool accumulates_as_asked(const tg_node *node) {
  bool product = node->op == TG_OP_MATMUL || node->op == TG_OP_CONV || node->op == TG_OP_CONV_INPUT_GRADIENT;
  return product && !node->disable_graphamp &&
         tg_attr_int(node, TG_ATTR_ACCUMULATION) == TG_ACCUMULATE_AS_ASKED &&
         (node->op != TG_OP_MATMUL || tg_attr_int(node, TG_ATTR_PARTIALS) == 1);
}

/* k of a chain, at most. */
static int64_t length_of(const tg_node *product) {
  const tg_value *a = tg_in(product, 0), *b = tg_in(product, 1);
  if (product->op == TG_OP_MATMUL) return a->dims[a->rank - 1].size;
  int64_t channels =
      product->op == TG_OP_CONV ? b->dims[2].size : b->dims[3].size / tg_attr_int(product, TG_ATTR_GROUP);
  return b->dims[0].size * b->dims[1].size * channels;
}

static void narrow(tg_graph *graph, tg_value *value) {
  value->dtype = TG_BF16;
  tg_value *wide = tg_rewrite_cast(graph, value, TG_F32, value->producer->next);
  wide->producer->rule = value->producer->rule;
  tg_value_replace_except(graph, value, wide, wide->producer);
}

/* One that a single node computes with, or makes rows of, is on its way through a kernel. */
static void narrow_product(tg_graph *graph, tg_node *product, int64_t k_tile) {
  tg_value *gate, *value = result_of(product, &gate);
  const tg_node *reader = only_reader(value);
  bool passes = reader && ((tg_op_is(reader->op, TG_IS_ELEMENTWISE) && !tg_is_plain_cast(reader)) ||
                           is_row_kernel(reader));
  if (tg_out(product)->dtype != TG_F32 || value->dtype != TG_F32 || !value->use_count || passes ||
      !is_widened_by_all(value, MAX_HOPS))
    return;
  narrow(graph, value);
  if (gate && tg_is_depthwise(product)) narrow(graph, gate); /* no kernel goes on to f(x) x: it is stored */
  if (tg_is_depthwise(product) || length_of(product) <= k_tile)
    tg_attr_set_int(product, TG_ATTR_ACCUMULATION, TG_ACCUMULATE_TO_RESULT);
}

/* Products look through a Transpose to what is widened before it, not through both in the other order. */
static bool is_looked_through(const tg_node *node) {
  for (const tg_use *use = tg_out(node)->uses; use && node->op == TG_OP_TRANSPOSE; use = use->next)
    if (use->node->op == TG_OP_MATMUL) return true;
  return false;
}

/* f(widen(x), ..) to widen(f(x, ..)). */
static void sink_widening(tg_graph *graph, tg_node *node) {
  tg_value *y = tg_out(node);
  if (!keeps_bf16(node) || y->dtype != TG_F32 || is_looked_through(node) || !is_widened_by_all(y, MAX_HOPS))
    return;
  for (int i = 0; i < node->input_count; i++) {
    const tg_node *cast = tg_in(node, i) ? tg_in(node, i)->producer : NULL;
    if (!tg_is_plain_cast(cast) || tg_in(cast, 0)->dtype != TG_BF16) return;
  }
  for (int i = 0; i < node->input_count; i++) tg_node_set_input(node, i, tg_in(tg_in(node, i)->producer, 0));
  narrow(graph, y);
}

static bool is_read_by_products(const tg_value *value) {
  for (const tg_use *use = value->uses; use; use = use->next)
    if (!tg_op_is(use->node->op, TG_IS_GEMM) || use->input > 1) return false;
  return value->use_count && !value->output_count;
}

/* What scales such a tensor, as the gates of channels do, where products alone read it. */
static void narrow_scaled(tg_graph *graph, tg_node *node) {
  tg_value *y = tg_out(node);
  if (node->op != TG_OP_MUL || node->disable_graphamp || y->dtype != TG_F32 || !is_read_by_products(y))
    return;
  for (int i = 0; i < 2; i++) {
    const tg_node *cast = tg_in(node, i)->producer;
    if (!tg_is_plain_cast(cast) || tg_in(cast, 0)->dtype != TG_BF16 ||
        !tg_value_same_shape(tg_in(cast, 0), y))
      continue;
    narrow(graph, y);
    return;
  }
}

void tg_narrow_products(tg_graph *graph, int64_t k_tile) {
  TG_FOR_NODES_SAFE(graph, node) {
    if (accumulates_as_asked(node)) narrow_product(graph, node, k_tile);
    sink_widening(graph, node);
    narrow_scaled(graph, node);
  }
  tg_pass_remove_dead(graph);
}

void tg_pass_narrow_products(tg_graph *graph) { tg_narrow_products(graph, 128); }
