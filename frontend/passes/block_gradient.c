/* Gradients of attention by blocks of keys (Dao et al., FlashAttention, 2022): what backward nodes compute of whole
 * rows of scores and of weights they compute of a block of keys after the other, so that no tensor is of queries times
 * keys. Of X, the scores, of P = softmax(X), and of G, the gradient of P, a block is computed anew: of the operands of X
 * and G, which are products, of the elementwise nodes between, and of the logarithm of the sum of each row, L:
 * P = exp(X - L). What gradients need of whole rows, the sum of G P, is the sum of dY Y, since G = dY V^T and Y = P V.
 * Products of blocks are added where keys are summed, and joined where they are rows or columns of the result. */
#include "frontend/passes/block_gradient.h"

#include "frontend/base/math.h"
#include "frontend/build/rewrite.h"

#include <string.h>

enum { WHOLE = -1, MOST_ROUNDS = 8 };

struct tg_key_blocks {
  tg_graph *graph;
  tg_node *softmax, *product;
  int64_t keys, block;
  int value_count;
  int8_t *axis;   /* by value->index: the dimension of keys of what is computed by blocks, or WHOLE */
  tg_node **ends; /* products of whose result keys are no dimension, or that join blocks, in order */
  size_t end_count, end_capacity;
  tg_value *sums;     /* of G P, [..,M,1], or NULL: nobody needs them */
  tg_value *gradient; /* of Y, as G's product reads it */
  bool wrong;
  bool *there; /* by value->index: it is there before the first end, where blocks are computed */

  tg_value *logsum, *row_sums; /* as they are made */
  tg_value **made;             /* by value->index: of the block at hand */
  int8_t *made_axis;
  int64_t start, count;
};
typedef tg_key_blocks blocks;

/* ---- what there is ---- */

static int axis_of(const blocks *b, const tg_value *value) { return b->axis[value->index]; }

static bool is_elementwise(const tg_node *node) {
  return (tg_op_is(node->op, TG_IS_ELEMENTWISE) || node->op == TG_OP_CAST) && !tg_is_stochastic_cast(node);
}

static bool is_plain_product(const tg_node *node) {
  return node->op == TG_OP_MATMUL && tg_attr_int(node, TG_ATTR_PARTIALS) == 1 && !tg_in(node, 2) &&
         tg_attr_int(node, TG_ATTR_ACCUMULATION) == TG_ACCUMULATE_AS_ASKED &&
         tg_in(node, 0) != tg_in(node, 1);
}

/* The dimension of an elementwise node's operand that is dimension `axis` of its result, or WHOLE: it has none, or one
 * that is repeated. */
static int axis_of_operand(const tg_value *y, const tg_value *x, int axis) {
  int own = axis - (y->rank - x->rank);
  return own >= 0 && x->dims[own].size > 1 ? own : WHOLE;
}

/* `value` is computed by blocks, and so are the elementwise nodes of as many elements that it is made of, up to
 * products. */
static void mark(blocks *b, const tg_value *value, int axis) {
  const tg_node *node = value->producer;
  if (!node) {
    b->wrong = true;
    return;
  }
  if (axis_of(b, value) != WHOLE) {
    b->wrong |= axis_of(b, value) != axis;
    return;
  }
  b->wrong |= value->output_count > 0;
  b->axis[value->index] = (int8_t)axis;
  for (int i = 0; is_elementwise(node) && i < node->input_count; i++) {
    const tg_value *x = tg_in(node, i);
    int own = axis_of_operand(value, x, axis);
    bool large = x->producer && tg_value_elements(x) == tg_value_elements(value),
         computes = large && (is_elementwise(x->producer) || x->producer == b->softmax ||
                              (is_plain_product(x->producer) && own == x->rank - 1));
    if (own != WHOLE && computes) mark(b, x, own);
  }
}

/* What the value is behind Transposes of; out_dims: by dimension of the value, that of what is returned. */
static const tg_value *before_transposes(const tg_value *value, int *out_dims) {
  for (int d = 0; d < value->rank; d++) out_dims[d] = d;
  while (value->producer && value->producer->op == TG_OP_TRANSPOSE) {
    const int64_t *perm = tg_attr_ints(value->producer, TG_ATTR_PERM, NULL);
    for (int d = 0; d < value->rank; d++) out_dims[d] = (int)perm[out_dims[d]];
    value = tg_in(value->producer, 0);
  }
  return value;
}

static bool is_transposed(const tg_value *a, const tg_value *b) {
  int of_a[TG_MAX_RANK], of_b[TG_MAX_RANK], rank = a->rank;
  if (rank != b->rank || before_transposes(a, of_a) != before_transposes(b, of_b)) return false;
  for (int d = 0; d < rank - 2; d++)
    if (of_a[d] != of_b[d]) return false;
  return of_a[rank - 1] == of_b[rank - 2] && of_a[rank - 2] == of_b[rank - 1];
}

static const tg_value *before_casts(const tg_value *value) {
  while (value->producer && tg_is_plain_cast(value->producer)) value = tg_in(value->producer, 0);
  return value;
}

/* P G, where G is the product of Y's gradient and the transpose of V. */
static bool is_weighted_gradient(blocks *b, const tg_value *value) {
  const tg_node *node = value->producer;
  if (!node || node->op != TG_OP_MUL) return false;
  for (int i = 0; i < 2; i++) {
    const tg_node *g = before_casts(tg_in(node, 1 - i))->producer;
    if (before_casts(tg_in(node, i)) != tg_out(b->softmax) || !g || !is_plain_product(g) ||
        !is_transposed(tg_in(g, 1), tg_in(b->product, 1)) ||
        !tg_value_same_shape(tg_in(g, 0), tg_out(b->product)))
      continue;
    b->gradient = tg_in(g, 0);
    return true;
  }
  return false;
}

static tg_node *only_reader(const tg_value *value) {
  return value->output_count || value->use_count != 1 ? NULL : value->uses->node;
}

/* The node reads products P G as rows, to sum them: what it makes of these is [..,M,1]. */
static bool find_sums(blocks *b, tg_node *node, const tg_value *products) {
  const tg_value *y = tg_out(b->softmax);
  if (node->op == TG_OP_RESHAPE) node = only_reader(tg_out(node));
  if (!node || node->op != TG_OP_REDUCE_SUM || tg_attr_int(node, TG_ATTR_BLOCK) ||
      tg_in(node, 0)->dims[1].size != b->keys || !is_weighted_gradient(b, products))
    return false;
  tg_value *sums = tg_out(node);
  tg_node *reshape = sums->rank == y->rank ? NULL : only_reader(sums);
  if (reshape && reshape->op == TG_OP_RESHAPE) sums = tg_out(reshape);
  bool good = sums->rank == y->rank && sums->dims[y->rank - 1].size == 1 && (!b->sums || b->sums == sums);
  for (int d = 0; good && d < y->rank - 1; d++) good = sums->dims[d].size == y->dims[d].size;
  b->sums = sums;
  return good;
}

/* Of a product, the operand that has keys, and whether they are summed; -1: keys are dimensions of both, or of batches. */
static int operand_of(const blocks *b, const tg_node *product, bool *out_sums) {
  const tg_value *x = tg_in(product, 0), *y = tg_in(product, 1);
  int of_x = axis_of(b, x), of_y = axis_of(b, y);
  if ((of_x == WHOLE) == (of_y == WHOLE)) return -1;
  int operand = of_x == WHOLE, axis = operand ? of_y : of_x, rank = operand ? y->rank : x->rank;
  *out_sums = operand ? axis == rank - 2 : axis == rank - 1;
  return axis < rank - 2 ? -1 : operand;
}

static void add_end(blocks *b, tg_node *node) {
  bool sums;
  b->wrong |= !is_plain_product(node) || operand_of(b, node, &sums) < 0;
  for (size_t i = 0; i < b->end_count; i++)
    if (b->ends[i] == node) return;
  TG_PUSH(b->graph->arena, b->ends, b->end_count, b->end_capacity, node);
}

/* A node that reads `value`, of which it is operand `input`. */
static void follow(blocks *b, tg_node *node, int input, const tg_value *value) {
  int axis = axis_of(b, value);
  const tg_value *y = tg_out(node);
  if (node == b->softmax || node == b->product) return;
  if (is_elementwise(node)) {
    int own = axis + y->rank - value->rank;
    b->wrong |= tg_value_elements(y) != tg_value_elements(value);
    mark(b, y, own);
  } else if (node->op == TG_OP_TRANSPOSE) {
    const int64_t *perm = tg_attr_ints(node, TG_ATTR_PERM, NULL);
    int own = 0;
    while (perm[own] != axis) own++;
    mark(b, y, own);
  } else if (node->op == TG_OP_MATMUL) {
    add_end(b, node);
  } else
    b->wrong |= input != 0 || !find_sums(b, node, value);
}

/* Until nothing is new: what is marked upwards may be read by nodes before. */
static void find_all(blocks *b) {
  int marked = -1;
  for (int round = 0; round < MOST_ROUNDS && !b->wrong; round++) {
    int count = 0;
    TG_FOR_NODES(b->graph, node)
    for (int i = 0; i < node->input_count && !b->wrong; i++)
      if (tg_in(node, i) && axis_of(b, tg_in(node, i)) != WHOLE) follow(b, node, i, tg_in(node, i)), count++;
    if (count == marked) return;
    marked = count;
  }
  b->wrong = true;
}

static bool is_end(const blocks *b, const tg_node *node) {
  for (size_t e = 0; e < b->end_count; e++)
    if (b->ends[e] == node) return true;
  return false;
}

static tg_node *first_end(const blocks *b) {
  TG_FOR_NODES(b->graph, node)
  if (is_end(b, node)) return node;
  return NULL;
}

/* Is the value there, or can it be moved or converted anew? */
static bool is_there(const blocks *b, const tg_value *value) {
  while (!b->there[value->index] &&
         (value->producer->op == TG_OP_TRANSPOSE || value->producer->op == TG_OP_RESHAPE ||
          tg_is_plain_cast(value->producer)))
    value = tg_in(value->producer, 0);
  return b->there[value->index];
}

/* Are all operands of what is computed by blocks there? */
static bool is_in_order(blocks *b) {
  bool good = true;
  b->there = TG_NEW_ARRAY(b->graph->arena, bool, (size_t)b->value_count);
  for (int i = 0; i < b->value_count; i++) b->there[i] = b->graph->values[i]->kind != TG_VALUE_RESULT;
  for (const tg_node *node = b->graph->first, *end = first_end(b); node != end; node = node->next)
    for (int i = 0; i < node->output_count; i++) b->there[node->outputs[i]->index] = true;
  TG_FOR_NODES(b->graph, node) {
    bool end = is_end(b, node), marked = node != b->softmax && axis_of(b, tg_out(node)) != WHOLE;
    for (int i = 0; (end || marked) && i < node->input_count; i++) {
      const tg_value *x = tg_in(node, i);
      good &= x == b->sums || axis_of(b, x) != WHOLE || is_there(b, x);
    }
    good &= !end || node->forward >= 0;
  }
  return good && b->there[tg_out(b->product)->index] && (!b->gradient || is_there(b, b->gradient));
}

static bool same_batches(const tg_value *a, const tg_value *b) {
  if (a->rank != b->rank) return false;
  for (int d = 0; d < a->rank - 2; d++)
    if (a->dims[d].size != b->dims[d].size) return false;
  return true;
}

tg_key_blocks *tg_find_key_blocks(const tg_graph *graph, tg_node *softmax, tg_node *product, int64_t block) {
  blocks *b = TG_NEW_ARRAY(graph->arena, blocks, 1);
  tg_value *x = tg_in(softmax, 0), *p = tg_out(softmax);
  *b = (blocks){.graph = (tg_graph *)graph,
                .softmax = softmax,
                .product = product,
                .keys = x->dims[x->rank - 1].size,
                .block = block,
                .value_count = graph->value_count};
  b->axis = TG_NEW_ARRAY(graph->arena, int8_t, (size_t)b->value_count);
  memset(b->axis, WHOLE, (size_t)b->value_count);
  b->wrong = !same_batches(p, tg_out(product));
  mark(b, x, x->rank - 1);
  mark(b, p, p->rank - 1);
  find_all(b);
  bool good = !b->wrong && b->end_count && is_in_order(b);
  return good ? b : NULL;
}

/* ---- what becomes of it ---- */

static tg_value *part_of(blocks *b, tg_value *value, int axis, tg_node *at);

static tg_value *keep(blocks *b, const tg_value *value, int axis, tg_value *part) {
  b->made[value->index] = part;
  b->made_axis[value->index] = (int8_t)axis;
  return part;
}

static tg_value *whole(blocks *b, tg_value *value, tg_node *at) {
  if (value->index >= b->value_count || b->there[value->index]) return value;
  tg_value *before = whole(b, tg_in(value->producer, 0), at);
  return tg_out(tg_rewrite_copy(b->graph, value->producer, &before, at));
}

/* The block of an operand that is there as a whole. A Transpose goes behind, where products look through it. */
static tg_value *slice_of(blocks *b, tg_value *value, int axis, tg_node *at) {
  tg_node *move = value->producer;
  if (!move || move->op != TG_OP_TRANSPOSE)
    return tg_rewrite_slice(b->graph, whole(b, value, at), axis, b->start, b->count, 1, at);
  const int64_t *perm = tg_attr_ints(move, TG_ATTR_PERM, NULL);
  return tg_rewrite_transpose(b->graph, part_of(b, tg_in(move, 0), (int)perm[axis], at), perm, at);
}

/* exp(X - L), rounded as products read it: what backward multiplies of it is what forward does. */
static tg_value *weights_of(blocks *b, tg_node *at) {
  tg_value *p = tg_out(b->softmax), *x = tg_in(b->softmax, 0);
  tg_value *operands[] = {part_of(b, x, x->rank - 1, at), b->logsum};
  tg_node *below = tg_rewrite_node(b->graph, TG_OP_SUB, p->name, operands, 2, TG_F32, at, -1);
  tg_value *difference = tg_out(below);
  return tg_out(
      tg_rewrite_node(b->graph, TG_OP_EXP, p->name, &difference, 1, tg_in(b->product, 0)->dtype, at, -1));
}

/* A node of a block of keys, its operands as they are then. */
static tg_value *copy_of(blocks *b, tg_node *node, int axis, tg_node *at) {
  tg_value *y = tg_out(node), **inputs = TG_NEW_ARRAY(b->graph->arena, tg_value *, (size_t)node->input_count);
  bool product = node->op == TG_OP_MATMUL;
  for (int i = 0; i < node->input_count; i++) {
    tg_value *x = tg_in(node, i);
    int own = product                       ? (i ? x->rank - 1 : WHOLE)
              : node->op == TG_OP_TRANSPOSE ? (int)tg_attr_ints(node, TG_ATTR_PERM, NULL)[axis]
                                            : axis_of_operand(y, x, axis);
    inputs[i] = part_of(b, x, own, at);
  }
  if (node->op == TG_OP_CAST && inputs[0]->dtype == y->dtype) return inputs[0];
  tg_node *copy = tg_rewrite_copy(b->graph, node, inputs, at);
  tg_rewrite_infer(b->graph, copy);
  if (product && node->forward < 0) tg_attr_set_int(copy, TG_ATTR_ACCUMULATION, TG_ACCUMULATE_FP32);
  return tg_out(copy);
}

/* The block at hand of a value's dimension `axis`; WHOLE: all of it. */
static tg_value *part_of(blocks *b, tg_value *value, int axis, tg_node *at) {
  if (value == b->sums) return b->row_sums;
  if (axis == WHOLE) return whole(b, value, at);
  bool known = value->index < b->value_count;
  if (known && b->made[value->index] && b->made_axis[value->index] == axis) return b->made[value->index];
  tg_value *part = value == tg_out(b->softmax)            ? weights_of(b, at)
                   : !known || axis_of(b, value) == WHOLE ? slice_of(b, value, axis, at)
                                                          : copy_of(b, value->producer, axis, at);
  return known ? keep(b, value, axis, part) : part;
}

/* [..,M,1]: sums of rows of dY Y. */
static tg_value *sums_of_rows(blocks *b, tg_value *y, tg_node *at) {
  tg_graph *graph = b->graph;
  const char *name = b->sums->name;
  tg_value *operands[] = {whole(b, b->gradient, at), y};
  tg_value *both = tg_out(tg_rewrite_node(graph, TG_OP_MUL, name, operands, 2, TG_F32, at, -1));
  int64_t rows[] = {tg_value_elements_between(both, 0, both->rank - 1), both->dims[both->rank - 1].size},
          axis = 1, sizes[TG_MAX_RANK];
  tg_value *matrix = tg_rewrite_reshape(graph, both, 2, rows, at);
  tg_node *sum = tg_graph_add_node(graph, TG_OP_REDUCE_SUM, name, &matrix, 1, at, -1);
  tg_attr_set_ints(graph, sum, TG_ATTR_AXES, &axis, 1);
  tg_attr_set_int(sum, TG_ATTR_KEEPDIMS, 1);
  tg_out(sum)->dtype = TG_F32;
  tg_rewrite_infer(graph, sum);
  tg_value_sizes(both, sizes);
  sizes[both->rank - 1] = 1;
  return tg_rewrite_reshape(graph, tg_out(sum), both->rank, sizes, at);
}

/* The product of a block, and what there was of it before: a sum so far. */
static tg_value *end_of(blocks *b, tg_node *end, tg_value *before, bool last, tg_node *at) {
  bool sums;
  int keyed = operand_of(b, end, &sums);
  tg_value *inputs[2], *y = tg_out(end);
  for (int i = 0; i < 2; i++) {
    tg_value *x = tg_in(end, i);
    int summed = i ? x->rank - 2 : x->rank - 1;
    inputs[i] = part_of(b, x, i == keyed ? axis_of(b, x) : sums ? summed : WHOLE, at);
  }
  tg_node *copy = tg_rewrite_copy(b->graph, end, inputs, at);
  bool whole = !sums || (last && !before);
  tg_out(copy)->dtype = whole ? y->dtype : TG_F32;
  tg_rewrite_infer(b->graph, copy);
  if (!sums || !before) return tg_out(copy);
  tg_value *operands[] = {before, tg_out(copy)};
  tg_node *add = tg_rewrite_node(b->graph, TG_OP_ADD, y->name, operands, 2, last ? y->dtype : TG_F32, at, -1);
  return tg_out(add);
}

/* Of all blocks. */
static tg_value *whole_of(blocks *b, tg_node *end, tg_value **parts, int count, tg_node *at) {
  bool sums;
  int keyed = operand_of(b, end, &sums), rank = tg_out(end)->rank;
  if (sums) return parts[count - 1];
  return tg_rewrite_concat(b->graph, end->name, parts, count, keyed ? rank - 1 : rank - 2, at);
}

void tg_use_key_blocks(tg_graph *graph, tg_key_blocks *b, tg_value *y, tg_value *logsum) {
  int count = (int)tg_div_up(b->keys, b->block), ends = (int)b->end_count;
  tg_node *at = first_end(b);
  tg_value **parts = TG_NEW_ARRAY(graph->arena, tg_value *, (size_t)(count * ends)),
           **whole = TG_NEW_ARRAY(graph->arena, tg_value *, (size_t)ends);
  b->made = TG_NEW_ARRAY(graph->arena, tg_value *, (size_t)b->value_count);
  b->made_axis = TG_NEW_ARRAY(graph->arena, int8_t, (size_t)b->value_count);
  b->logsum = logsum;
  if (b->sums) b->row_sums = sums_of_rows(b, y, at);
  for (int i = 0; i < count; i++) {
    b->start = i * b->block;
    b->count = tg_min(b->block, b->keys - b->start);
    memset(b->made, 0, (size_t)b->value_count * sizeof(tg_value *));
    for (int e = 0; e < ends; e++) {
      tg_value **of_end = parts + e * count;
      of_end[i] = end_of(b, b->ends[e], i ? of_end[i - 1] : NULL, i + 1 == count, at);
    }
  }
  for (int e = 0; e < ends; e++) whole[e] = whole_of(b, b->ends[e], parts + e * count, count, at);
  for (int e = 0; e < ends; e++) tg_rewrite_replace(graph, b->ends[e], whole[e]);
}
