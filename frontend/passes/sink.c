/* Transposes move below elementwise operators, reductions, Concat, moves by axis, and reshapes that take dimensions
 * apart or join them, towards the transpose that undoes them. */
#include "frontend/build/rewrite.h"
#include "frontend/passes/passes.h"

static const int64_t *perm_of(const tg_value *value) {
  const tg_node *producer = value->producer;
  return producer && producer->op == TG_OP_TRANSPOSE ? tg_attr_ints(producer, TG_ATTR_PERM, NULL) : NULL;
}

static bool same_perm(const int64_t *a, const int64_t *b, int rank) {
  for (int i = 0; i < rank; i++)
    if (a[i] != b[i]) return false;
  return true;
}

/* The operand with leading dimensions of size 1 up to `rank`. */
static tg_value pad_rank(const tg_value *value, int rank) {
  tg_value padded = *value;
  padded.rank = rank;
  for (int i = 0; i < rank; i++) {
    int from = i - (rank - value->rank);
    padded.dims[i] = from < 0 ? (tg_dim){1, NULL} : value->dims[from];
  }
  return padded;
}

/* Operands that are no transpose must be constant (transposed now, once) or only change their shape. */
static bool can_follow(const tg_value *operand, const int64_t *perm, int rank, bool broadcasts) {
  const int64_t *own = perm_of(operand);
  if (operand->rank == rank && own && same_perm(own, perm, rank)) return true;
  if (operand->rank != rank && !broadcasts) return false;
  int64_t inverse[TG_MAX_RANK];
  tg_value padded = pad_rank(operand, rank);
  tg_perm_invert(perm, rank, inverse);
  return tg_is_constant(operand) || tg_perm_keeps_order(inverse, &padded);
}

static tg_value *before_transpose(tg_graph *graph, tg_value *operand, const int64_t *perm, int rank,
                                  tg_node *node) {
  const int64_t *own = perm_of(operand);
  if (operand->rank == rank && own && same_perm(own, perm, rank)) return tg_in(operand->producer, 0);
  int64_t inverse[TG_MAX_RANK], sizes[TG_MAX_RANK], moved[TG_MAX_RANK];
  tg_value padded = pad_rank(operand, rank);
  tg_value_sizes(&padded, sizes);
  tg_perm_invert(perm, rank, inverse);
  for (int i = 0; i < rank; i++) moved[i] = sizes[inverse[i]];
  if (tg_perm_keeps_order(inverse, &padded)) return tg_rewrite_reshape(graph, operand, rank, moved, node);
  return tg_rewrite_transpose(graph, tg_rewrite_reshape(graph, operand, rank, sizes, node), inverse, node);
}

/* Does it move elements along each dimension by itself, as lists say that have an element for each? */
static bool is_by_axis(const tg_node *node) {
  return (tg_op_is(node->op, TG_IS_BY_AXIS) || node->op == TG_OP_EXPAND) &&
         tg_in(node, 0)->rank == tg_out(node)->rank;
}

/* May Transposes of its operands move below it? */
static bool lets_pass(const tg_node *node) {
  bool reduces = tg_op_is(node->op, TG_IS_REDUCE) && tg_attr_int(node, TG_ATTR_KEEPDIMS);
  return tg_op_is(node->op, TG_IS_ELEMENTWISE) || reduces || is_by_axis(node) || node->op == TG_OP_CONCAT ||
         tg_is_plain_cast(node);
}

enum { MOST_READERS = 64 }; /* that are looked at for another Transpose */

/* The constant matrix of a product along one axis of a tensor, as a Resize that weighs neighbours is one, or NULL; is it the
 * left operand? Sums that round do so by their place in the result. */
static tg_value *matrix_of(const tg_node *node, bool *out_left) {
  if (node->op != TG_OP_MATMUL || tg_rounds_sums(node) ||
      tg_attr_int(node, TG_ATTR_ACCUMULATION) == TG_ACCUMULATE_BF16SR_EACH)
    return NULL;
  *out_left = tg_is_constant(tg_in(node, 0));
  tg_value *matrix = tg_in(node, *out_left ? 0 : 1);
  const tg_value *tensor = tg_in(node, *out_left ? 1 : 0);
  bool is = tg_is_constant(matrix) && matrix->rank == 2 && tensor->rank == tg_out(node)->rank;
  return is && !tg_is_constant(tensor) ? matrix : NULL;
}

/* Of `value`, the result of a Transpose by `perm` of x, a Reshape to y that only takes dimensions apart: as many of x are `sizes`, and the
 * permutation behind them is `out_perm`. False: it does something else. */
static bool splits_behind(const tg_value *value, const int64_t *perm, const tg_value *y, int64_t *sizes,
                          int64_t *out_perm, int *out_count) {
  int first[TG_MAX_RANK + 1], begin[TG_MAX_RANK + 1];
  int64_t inverse[TG_MAX_RANK];
  if (y->rank < value->rank || !tg_dims_are_groups(value, y, first)) return false;
  tg_perm_invert(perm, value->rank, inverse);
  *out_count = 0;
  for (int d = 0; d < value->rank; d++) { /* dimension d of x is number inverse[d] of what is split */
    begin[d] = *out_count;
    for (int k = first[inverse[d]]; k < first[inverse[d] + 1]; k++) sizes[(*out_count)++] = y->dims[k].size;
  }
  begin[value->rank] = *out_count;
  tg_perm_of_groups(perm, value->rank, begin, out_perm);
  return true;
}

/* The same of a Reshape that only joins dimensions which follow each other in x, too. */
static bool joins_behind(const tg_value *value, const int64_t *perm, const tg_value *y, int64_t *out_perm) {
  int first[TG_MAX_RANK + 1];
  if (y->rank > value->rank || !tg_dims_are_groups(y, value, first)) return false;
  for (int g = 0; g < y->rank; g++) {
    if (first[g] == first[g + 1]) return false;
    for (int k = first[g] + 1; k < first[g + 1]; k++)
      if (perm[k] != perm[k - 1] + 1) return false;
    out_perm[g] = 0;
    for (int other = 0; other < y->rank; other++) out_perm[g] += perm[first[other]] < perm[first[g]];
  }
  return true;
}

/* Does a Transpose by `perm`, of which `value` is the result, meet another one, below what Transposes move below? Such as
 * undo it together, where `exactly`. `budget`: readers to be looked at. */
static bool finds_transpose(const tg_value *value, const int64_t *perm, bool exactly, int *budget) {
  int64_t both[TG_MAX_RANK], sizes[TG_MAX_RANK];
  int count;
  bool left;
  for (const tg_use *use = value->uses; use && --*budget >= 0; use = use->next) {
    const tg_node *reader = use->node;
    const tg_value *y = tg_out(reader);
    if (reader->op == TG_OP_TRANSPOSE) {
      const int64_t *own = tg_attr_ints(reader, TG_ATTR_PERM, NULL);
      for (int d = 0; d < y->rank; d++) both[d] = perm[own[d]];
      if (!exactly || tg_perm_is_identity(both, y->rank) || finds_transpose(y, both, true, budget))
        return true;
    } else if (y->rank == value->rank && (lets_pass(reader) || (exactly && matrix_of(reader, &left))) &&
               finds_transpose(y, perm, exactly, budget)) {
      return true;
    } else if (reader->op == TG_OP_RESHAPE &&
               (y->rank > value->rank ? splits_behind(value, perm, y, sizes, both, &count)
                                      : joins_behind(value, perm, y, both)) &&
               finds_transpose(y, both, exactly, budget)) {
      return true;
    }
  }
  return false;
}

static bool meets_transpose(const tg_value *value, const int64_t *perm, bool exactly) {
  int budget = MOST_READERS;
  return finds_transpose(value, perm, exactly, &budget);
}

/* Would a Slice that takes every so many rows, or all in another order, do so with the elements of rows? */
static bool cuts_up_rows(const tg_node *node, const int64_t *perm) {
  int count = 0, last = tg_out(node)->rank - 1;
  const int64_t *steps = node->op == TG_OP_SLICE ? tg_attr_ints(node, TG_ATTR_STEPS, &count) : NULL;
  for (int d = 0; d < count && d < last; d++)
    if (steps[d] != 1 && perm[d] == last) return true;
  return false;
}

/* An image whose channels were last has them first. */
static bool is_channels_first(const int64_t *perm, int rank) {
  for (int d = 2; d < rank; d++)
    if (perm[d] != d - 1) return false;
  return rank >= 4 && perm[0] == 0 && perm[1] == rank - 1;
}

/* May channels of another operand be put last for it? It is no larger than the result, which is transposed else, where that
 * meets what undoes it. */
static bool can_be_turned(const tg_node *node, const tg_value *operand, const int64_t *perm) {
  bool joins = tg_op_is(node->op, TG_IS_ELEMENTWISE) || node->op == TG_OP_CONCAT;
  return joins && operand->rank == tg_out(node)->rank && is_channels_first(perm, operand->rank);
}

/* The permutation that a node could pass on, or NULL. What an Expand makes is larger than what is transposed before it. */
static const int64_t *perm_to_sink(const tg_node *node) {
  if (!lets_pass(node)) return NULL;
  bool broadcasts = tg_op_is(node->op, TG_IS_ELEMENTWISE);
  const tg_value *y = tg_out(node);
  const int64_t *perm = NULL;
  for (int i = 0; i < node->input_count && !perm; i++)
    if (tg_in(node, i)->rank == y->rank) perm = perm_of(tg_in(node, i));
  bool turns = false;
  for (int i = 0; perm && i < node->input_count; i++) {
    if (can_follow(tg_in(node, i), perm, y->rank, broadcasts)) continue;
    turns = true;
    if (!can_be_turned(node, tg_in(node, i), perm)) perm = NULL;
  }
  bool costs = turns || node->op == TG_OP_EXPAND || (perm && cuts_up_rows(node, perm));
  if (perm && costs && !meets_transpose(y, perm, true)) perm = NULL;
  return perm;
}

static void permute_axes(tg_graph *graph, tg_node *node, const int64_t *perm) {
  int count;
  const int64_t *axes = tg_attr_ints(node, TG_ATTR_AXES, &count);
  int64_t moved[TG_MAX_RANK];
  for (int i = 0; i < count; i++) moved[i] = perm[axes[i]];
  tg_attr_set_ints(graph, node, TG_ATTR_AXES, moved, count); /* inference sorts them */
}

/* Lists with an element for each dimension, Pad's with two. */
static void permute_lists(tg_graph *graph, tg_node *node, const int64_t *perm) {
  int rank = tg_out(node)->rank, count;
  int64_t moved[2 * TG_MAX_RANK];
  for (int a = 0; a < node->attr_count; a++) {
    const int64_t *list = node->attrs[a].ints;
    count = node->attrs[a].count;
    if (tg_attr_get(node->attrs[a].key)->kind != TG_KIND_INTS || node->attrs[a].key == TG_ATTR_AXES) continue;
    for (int i = 0; i < count; i++) moved[i - i % rank + perm[i % rank]] = list[i];
    tg_attr_set_ints(graph, node, node->attrs[a].key, moved, count);
  }
}

static void sink(tg_graph *graph, tg_node *node, const int64_t *perm) {
  tg_value *y = tg_out(node);
  for (int i = 0; i < node->input_count; i++)
    tg_node_set_input(node, i, before_transpose(graph, tg_in(node, i), perm, y->rank, node));
  if (node->op == TG_OP_CONCAT) tg_attr_set_int(node, TG_ATTR_AXIS, perm[tg_attr_int(node, TG_ATTR_AXIS)]);
  if (tg_op_is(node->op, TG_IS_REDUCE)) permute_axes(graph, node, perm);
  if (is_by_axis(node)) permute_lists(graph, node, perm);
  tg_rewrite_infer(graph, node);
  tg_value *result = tg_rewrite_transpose(graph, y, perm, node->next);
  tg_value_replace_except(graph, y, result, result->producer);
}

static int dimensions_that_count(const tg_value *value) {
  int count = 0;
  for (int d = 0; d < value->rank; d++) count += value->dims[d].size != 1;
  return count;
}

/* Planes of a volume: dimensions of 1 in front of those of x, or between them. */
static bool inserts(const tg_value *x, const tg_value *y) {
  int own = 0;
  if (y->rank <= x->rank || dimensions_that_count(x) < 4) return false;
  for (int d = 0; d < y->rank; d++) {
    bool is = own < x->rank && y->dims[d].size == x->dims[own].size && y->rank - d > x->rank - own - 1;
    if (!is && y->dims[d].size != 1) return false;
    own += is;
  }
  return own == x->rank;
}

/* split(Transpose(x)) to Transpose(split(x)), of a Reshape that only takes dimensions apart. */
static bool sink_below_split(tg_graph *graph, tg_node *reshape) {
  const tg_node *inner = tg_in(reshape, 0)->producer;
  tg_value *y = tg_out(reshape);
  int64_t sizes[TG_MAX_RANK], perm[TG_MAX_RANK];
  int count;
  if (!inner || inner->op != TG_OP_TRANSPOSE ||
      (dimensions_that_count(y) <= dimensions_that_count(tg_out(inner)) && !inserts(tg_out(inner), y)) ||
      !splits_behind(tg_out(inner), tg_attr_ints(inner, TG_ATTR_PERM, NULL), y, sizes, perm, &count))
    return false;
  tg_value *split = tg_rewrite_reshape(graph, tg_in(inner, 0), count, sizes, reshape);
  tg_rewrite_replace(graph, reshape, tg_rewrite_transpose(graph, split, perm, reshape));
  return true;
}

/* join(Transpose(x)) to Transpose(join(x)), of a Reshape that only joins dimensions, those of an image in front of what
 * attends to its pixels, where that meets another Transpose. Where x has what is joined apart or in another order, as a
 * shuffle of channels does, a Transpose brings it together first, and the one behind must be undone. */
static bool sink_below_join(tg_graph *graph, tg_node *reshape) {
  const tg_node *inner = tg_in(reshape, 0)->producer;
  tg_value *y = tg_out(reshape);
  int first[TG_MAX_RANK + 1], count = 0, joined = 0;
  if (!inner || inner->op != TG_OP_TRANSPOSE ||
      (dimensions_that_count(y) >= dimensions_that_count(tg_out(inner)) && !inserts(y, tg_out(inner))) ||
      !tg_dims_are_groups(y, tg_out(inner), first))
    return false;
  const int64_t *inner_perm = tg_attr_ints(inner, TG_ATTR_PERM, NULL);
  tg_value *x = tg_in(inner, 0);
  int64_t sizes[TG_MAX_RANK], perm[TG_MAX_RANK], together[TG_MAX_RANK];
  for (int d = 0; d < x->rank; d++) /* each group where x has its last dimension */
    for (int g = 0; g < y->rank; g++) {
      int last = first[g];
      for (int k = first[g]; k < first[g + 1]; k++)
        if (inner_perm[k] > inner_perm[last]) last = k;
      if (first[g] == first[g + 1] || inner_perm[last] != d) continue;
      for (int k = first[g]; k < first[g + 1]; k++) together[count++] = inner_perm[k];
      sizes[joined] = y->dims[g].size;
      perm[g] = joined++;
    }
  for (int g = 0; g < y->rank; g++) {
    if (first[g] < first[g + 1]) continue;
    sizes[joined] = 1; /* of no dimension of x */
    perm[g] = joined++;
  }
  if (tg_perm_is_identity(perm, joined)) return false;
  bool apart = !tg_perm_keeps_order(together, x);
  if (!meets_transpose(y, perm, apart)) return false;
  if (apart) x = tg_rewrite_transpose(graph, x, together, reshape);
  tg_value *result = tg_rewrite_reshape(graph, x, joined, sizes, reshape);
  tg_rewrite_replace(graph, reshape, tg_rewrite_transpose(graph, result, perm, reshape));
  return true;
}

/* Of a Reshape of a Transpose that takes dimensions apart and joins them: one that does the former, in front of it. */
static void part_reshape(tg_graph *graph, tg_node *reshape) {
  tg_value *x = tg_in(reshape, 0);
  const tg_value *y = tg_out(reshape);
  int first[TG_MAX_RANK + 1], rank = 0;
  int64_t sizes[TG_MAX_RANK], of_x = 1, of_y = 1;
  if (!x->producer || x->producer->op != TG_OP_TRANSPOSE || !tg_value_elements(x) ||
      tg_dims_are_groups(x, y, first) || tg_dims_are_groups(y, x, first))
    return;
  for (int i = 0, j = 0; i < x->rank || j < y->rank || of_x > 1 || of_y > 1;) {
    if (of_x == 1 && i < x->rank) of_x = x->dims[i++].size;
    if (of_y == 1 && j < y->rank) of_y = y->dims[j++].size;
    int64_t both = of_x < of_y ? of_x : of_y;
    if (both == 1 && (of_x > 1 || of_y > 1)) continue; /* a dimension of 1 in one of them */
    if (rank == TG_MAX_RANK || of_x % both || of_y % both) return;
    sizes[rank++] = both;
    of_x /= both;
    of_y /= both;
  }
  tg_value *parts = tg_rewrite_reshape(graph, x, rank, sizes, reshape);
  tg_node_set_input(reshape, 0, parts);
  sink_below_split(graph, parts->producer);
}

/* Of Transpose(Transpose(x)) one, of as many as there are. */
static tg_value *transposed_once(tg_graph *graph, tg_value *value, tg_node *before) {
  const int64_t *perm = perm_of(value), *inner = perm_of(tg_in(value->producer, 0));
  int64_t both[TG_MAX_RANK];
  if (!inner) return value;
  for (int i = 0; i < value->rank; i++) both[i] = inner[perm[i]];
  value = tg_rewrite_transpose(graph, tg_in(tg_in(value->producer, 0)->producer, 0), both, before);
  return perm_of(value) ? transposed_once(graph, value, before) : value;
}

/* Of a Reshape, in place of what one before made; true: nothing is left of both. */
static bool reshapes_once(tg_graph *graph, tg_node *reshape) {
  tg_value *x = tg_in(reshape, 0);
  if (!x->producer || x->producer->op != TG_OP_RESHAPE) return false;
  x = tg_in(x->producer, 0);
  tg_node_set_input(reshape, 0, x);
  if (!tg_value_same_shape(x, tg_out(reshape)) || x->dtype != tg_out(reshape)->dtype) return false;
  tg_rewrite_replace(graph, reshape, x);
  return true;
}

static void sink_below_reshape(tg_graph *graph, tg_node *reshape) {
  if (reshapes_once(graph, reshape)) return;
  tg_value *before = tg_in(reshape, 0);
  int first[TG_MAX_RANK + 1];
  if (!perm_of(before)) return;
  tg_value *x = transposed_once(graph, before, reshape);
  if (!perm_of(x)) return;
  tg_node_set_input(reshape, 0, x);
  part_reshape(graph, reshape);
  bool splits = tg_dims_are_groups(tg_in(reshape, 0), tg_out(reshape), first);
  bool sunk = (splits && sink_below_split(graph, reshape)) || sink_below_join(graph, reshape);
  if (!sunk) tg_node_set_input(reshape, 0, before);
}

static tg_value *product_of(tg_graph *graph, const tg_node *node, tg_value *a, tg_value *b, tg_node *before) {
  tg_node *copy = tg_rewrite_copy(graph, node, (tg_value *[]){a, b}, before);
  tg_rewrite_infer(graph, copy);
  return tg_out(copy);
}

/* Along an axis of x: matrix [n, k] times its k elements there; or, where `across`, the matrix is [k, n]. */
static tg_value *product_along(tg_graph *graph, const tg_node *node, tg_value *x, int64_t axis,
                               tg_value *matrix, bool across, tg_node *before) {
  static const int64_t swap[] = {1, 0};
  int64_t sizes[TG_MAX_RANK], merged[TG_MAX_RANK + 1];
  tg_value_sizes(x, sizes);
  if ((axis == x->rank - 1) != across) matrix = tg_rewrite_transpose(graph, matrix, swap, before);
  if (axis == x->rank - 1) return product_of(graph, node, x, matrix, before);
  for (int d = 0; d <= axis; d++) merged[d] = sizes[d];
  merged[axis + 1] = 1;
  for (int d = (int)axis + 1; d < x->rank; d++) merged[axis + 1] *= sizes[d];
  tg_value *rows = tg_rewrite_reshape(graph, x, (int)axis + 2, merged, before);
  tg_value *y = product_of(graph, node, matrix, rows, before);
  sizes[axis] = y->dims[axis].size;
  return tg_rewrite_reshape(graph, y, x->rank, sizes, before);
}

/* Transpose(x) M to Transpose(M' x), along the same axis of x, where the Transpose is undone. */
static void sink_below_product(tg_graph *graph, tg_node *node) {
  bool left;
  tg_value *matrix = matrix_of(node, &left);
  if (!matrix || !perm_of(tg_in(node, left))) return;
  tg_node_set_input(node, left, transposed_once(graph, tg_in(node, left), node));
  const int64_t *perm = perm_of(tg_in(node, left));
  int rank = tg_out(node)->rank;
  if (!perm || !meets_transpose(tg_out(node), perm, true)) return;
  tg_value *x = tg_in(tg_in(node, left)->producer, 0);
  tg_value *y = product_along(graph, node, x, perm[left ? rank - 2 : rank - 1], matrix, !left, node);
  tg_rewrite_replace(graph, node, tg_rewrite_transpose(graph, y, perm, node));
}

/* Transpose(Transpose(x)) that is x. */
static void cancel(tg_graph *graph, tg_node *node) {
  const int64_t *inner = perm_of(tg_in(node, 0));
  int64_t inverse[TG_MAX_RANK];
  int rank = tg_out(node)->rank;
  if (!inner) return;
  tg_perm_invert(inner, rank, inverse);
  if (!same_perm(tg_attr_ints(node, TG_ATTR_PERM, NULL), inverse, rank)) return;
  tg_value_replace(graph, tg_out(node), tg_in(tg_in(node, 0)->producer, 0));
  tg_graph_remove_node(graph, node);
}

/* Operands that are transposed twice meet others that are once. */
static void merge_operands(tg_graph *graph, tg_node *node) {
  for (int i = 0; i < node->input_count && node->input_count > 1; i++)
    if (perm_of(tg_in(node, i))) tg_node_set_input(node, i, transposed_once(graph, tg_in(node, i), node));
}

void tg_pass_sink_transposes(tg_graph *graph) {
  TG_FOR_NODES_SAFE(graph, node) {
    const int64_t *perm;
    if (lets_pass(node)) merge_operands(graph, node);
    while ((perm = perm_to_sink(node))) sink(graph, node, perm); /* one behind the other */
    if (node->op == TG_OP_RESHAPE) {
      sink_below_reshape(graph, node);
    } else if (node->op == TG_OP_MATMUL) {
      sink_below_product(graph, node);
    } else if (node->op == TG_OP_TRANSPOSE) {
      cancel(graph, node);
    }
  }
  tg_pass_remove_dead(graph);
}

/* --- reshapes of what is reduced */

/* Behind Reshapes. */
static tg_value *unshaped(tg_value *x) {
  while (x->producer && x->producer->op == TG_OP_RESHAPE) x = tg_in(x->producer, 0);
  return x;
}

/* Elementwise, with numbers beside its one tensor. */
static bool scales(const tg_node *node, const tg_value *tensor) {
  if (!tg_op_is(node->op, TG_IS_ELEMENTWISE) || !tg_value_same_shape(tg_out(node), tensor)) return false;
  for (int i = 0; i < node->input_count; i++) {
    if (tg_in(node, i) == tensor) continue;
    const tg_value *x = unshaped(tg_in(node, i));
    if (!tg_is_constant(x) || tg_value_elements(x) != 1) return false;
  }
  return true;
}

/* Is the value a reduction, or computed from one by nodes that can join its kernel? */
static bool comes_of_reduction(const tg_value *value) {
  enum { MAX_HOPS = 16 };
  const tg_node *node = value->producer;
  for (int hops = 0; node && hops < MAX_HOPS; hops++) {
    if (tg_op_is(node->op, TG_IS_REDUCE)) return true;
    int tensor = 0;
    while (tensor + 1 < node->input_count && tg_is_constant(unshaped(tg_in(node, tensor)))) tensor++;
    if (!tg_op_is(node->op, TG_IS_ELEMENTWISE) || !scales(node, tg_in(node, tensor))) return false;
    node = tg_in(node, tensor)->producer;
  }
  return false;
}

static tg_value *reshaped_operand(const tg_node *node) {
  for (int i = 0; i < node->input_count; i++) {
    tg_value *x = tg_in(node, i);
    if (x && x->producer && x->producer->op == TG_OP_RESHAPE && !tg_is_constant(unshaped(x))) return x;
  }
  return NULL;
}

static bool serves_alone(const tg_value *value, const tg_node *node) {
  if (value->output_count) return false;
  for (const tg_use *use = value->uses; use; use = use->next)
    if (use->node != node) return false;
  return true;
}

/* The number without dimensions, which fits every shape. */
static tg_value *number_of(tg_graph *graph, tg_value *x) {
  x = unshaped(x);
  return x->rank ? tg_graph_add_constant(graph, x->name, x->dtype, 0, NULL, x->data, false) : x;
}

/* f(Reshape(reduction)) to Reshape(f(reduction)), where the kernel that reduces can take f along. */
void tg_pass_sink_reshapes(tg_graph *graph) {
  TG_FOR_NODES_SAFE(graph, node) {
    tg_value *moved = reshaped_operand(node), *y = tg_out(node);
    if (!moved || !scales(node, moved) || !serves_alone(moved, node)) continue;
    tg_value *x = unshaped(moved);
    if (!comes_of_reduction(x)) continue;
    int64_t sizes[TG_MAX_RANK];
    int rank = y->rank;
    tg_value_sizes(y, sizes);
    for (int i = 0; i < node->input_count; i++)
      tg_node_set_input(node, i, tg_in(node, i) == moved ? x : number_of(graph, tg_in(node, i)));
    tg_rewrite_infer(graph, node);
    tg_value *result = tg_rewrite_reshape(graph, y, rank, sizes, node->next);
    if (result != y) tg_value_replace_except(graph, y, result, result->producer);
  }
  tg_pass_remove_dead(graph);
}
