/* Chains of moves. */
#include "frontend/build/rewrite.h"
#include "frontend/passes/passes.h"

#include <string.h>

enum { MOST_NESTED = 2 }; /* Concats that a Cast goes above */
enum { MAX_HOPS = 64 };   /* bounds the work on chains of thousands of moves and casts */

/* Elements in another place, or several times: by now a Resize is one that repeats them. */
static bool moves_elements(const tg_node *node) {
  return node->op == TG_OP_RESHAPE || node->op == TG_OP_TRANSPOSE || node->op == TG_OP_RESIZE;
}

/* Zeros around elements are the same in each format. */
static bool frames(const tg_node *node) {
  return node->op == TG_OP_PAD && tg_attr_float(node, TG_ATTR_VALUE) == 0;
}

/* Rounding is monotonic, so it may be done before a maximum as well as after. Worth it only where the
 * producer of the larger tensor can round its result itself. */
static bool can_round_before(const tg_node *node, const tg_node *cast) {
  const tg_value *x = tg_in(node, 0);
  return node->op == TG_OP_MAX_POOL && x->producer && x->use_count == 1 && !x->output_count &&
         tg_dtype_is_float(x->dtype) && tg_dtype_is_float(tg_out(cast)->dtype);
}

/* Do all that read the value do so through casts to the same type? Reads of `concat` do not count; values that only move
 * are followed, and parts. */
static bool is_read_rounded(const tg_value *value, const tg_node *concat, tg_dtype dtype, int hops) {
  if (value->output_count || !hops) return false;
  for (const tg_use *use = value->uses; use; use = use->next) {
    const tg_node *reader = use->node;
    if (reader == concat || (tg_is_plain_cast(reader) && tg_out(reader)->dtype == dtype)) continue;
    if (!moves_elements(reader) && !frames(reader) && reader->op != TG_OP_SLICE) return false;
    if (!is_read_rounded(tg_out(reader), concat, dtype, hops - 1)) return false;
  }
  return true;
}

/* Does an operator compute the value, which then rounds its result for nothing, and is it read rounded? Or is it a Concat of
 * such, for this reader alone. */
static bool can_round(const tg_value *part, const tg_node *concat, tg_dtype dtype, int nested) {
  enum { HOPS = 8 };
  bool alone = true;
  for (int hops = 0; part->producer && hops < HOPS; hops++) {
    const tg_node *maker = part->producer;
    alone = alone && part->use_count == 1 && !part->output_count;
    if (maker->op == TG_OP_CONCAT && alone && nested) {
      for (int i = 0; i < maker->input_count; i++)
        if (!can_round(tg_in(maker, i), maker, dtype, nested - 1)) return false;
      return true;
    }
    if (!moves_elements(maker) && !frames(maker) && maker->op != TG_OP_SLICE)
      return tg_op_is(maker->op, TG_IS_ELEMENTWISE | TG_IS_GEMM) && !tg_is_plain_cast(maker) &&
             is_read_rounded(part, concat, dtype, HOPS);
    part = tg_in(maker, 0);
  }
  return false;
}

static void hoist(tg_graph *graph, tg_node *cast);

/* Cast(Concat(x, ..)) to Concat(Cast(x), ..), where those that make the parts store them rounded: fewer bytes for the
 * Concat, and for all others that round a part. */
static void split_at_concat(tg_graph *graph, tg_node *cast, tg_node *concat) {
  tg_value *joined = tg_out(concat), *result = tg_out(cast);
  tg_dtype dtype = result->dtype;
  if (!tg_is_plain_cast(cast) || !tg_dtype_is_float(joined->dtype) || !tg_dtype_is_float(dtype)) return;
  for (int i = 0; i < concat->input_count; i++)
    if (!can_round(tg_in(concat, i), concat, dtype, MOST_NESTED)) return;
  for (int i = 0; i < concat->input_count; i++)
    tg_node_set_input(concat, i, tg_rewrite_cast(graph, tg_in(concat, i), dtype, concat));
  tg_value_replace(graph, result, joined);
  tg_graph_remove_node(graph, cast);
  joined->dtype = dtype;
  tg_rewrite_infer(graph, concat);
  for (int i = 0; i < concat->input_count; i++)
    if (tg_is_plain_cast(tg_in(concat, i)->producer))
      hoist(graph, tg_in(concat, i)->producer); /* to what computes the part */
}

/* The value in that type, by a cast behind what makes it, which all share. */
static tg_value *rounded(tg_graph *graph, tg_value *value, tg_dtype dtype) {
  tg_node *behind = value->producer->next;
  bool there = tg_is_plain_cast(behind) && tg_in(behind, 0) == value && tg_out(behind)->dtype == dtype;
  return there ? tg_out(behind) : tg_rewrite_cast(graph, value, dtype, behind);
}

/* Cast(Slice(x)) to Slice(Cast(x)), where what computes x stores it rounded: queries, keys and values of one product, of
 * which each part is rounded. */
static void hoist_above_slice(tg_graph *graph, tg_node *cast, tg_node *slice) {
  tg_value *whole = tg_in(slice, 0), *part = tg_out(slice), *result = tg_out(cast);
  tg_dtype dtype = result->dtype;
  if (!tg_dtype_is_float(whole->dtype) || !tg_dtype_is_float(dtype) ||
      !can_round(whole, NULL, dtype, MOST_NESTED))
    return;
  tg_value *narrow = rounded(graph, whole, dtype);
  tg_node_set_input(slice, 0, narrow);
  part->dtype = dtype;
  tg_value_replace(graph, result, part);
  tg_graph_remove_node(graph, cast);
  hoist(graph, narrow->producer); /* once it is all that reads x */
}

/* Cast(move(x)) to move(Cast(x)), until the cast stands at what computes. Only where the move serves the cast
 * alone: otherwise it would be done twice. */
static void hoist(tg_graph *graph, tg_node *cast) {
  if (tg_dtype_size(tg_out(cast)->dtype) >= tg_dtype_size(tg_in(cast, 0)->dtype))
    return; /* move the fewer bytes */
  for (int hops = 0; hops < MAX_HOPS; hops++) {
    tg_node *move = tg_in(cast, 0)->producer;
    bool alone = move && tg_in(cast, 0)->use_count == 1 && !tg_in(cast, 0)->output_count;
    if (!alone) return;
    if (move->op != TG_OP_RESHAPE && tg_is_stochastic_cast(cast)) return; /* elements keep their places */
    if (move->op == TG_OP_CONCAT) {
      split_at_concat(graph, cast, move);
      return;
    }
    if (move->op == TG_OP_SLICE) {
      hoist_above_slice(graph, cast, move);
      return;
    }
    if (!moves_elements(move) && !frames(move) && !can_round_before(move, cast)) return;
    tg_value *from = tg_in(move, 0), *moved = tg_out(move), *result = tg_out(cast);
    tg_value_replace(graph, result, moved);
    tg_node_set_input(cast, 0, from);
    tg_node_set_input(move, 0, result);
    tg_graph_move_node(graph, cast, move);
    moved->dtype = result->dtype;
    tg_rewrite_infer(graph, cast);
  }
}

void tg_pass_hoist_casts(tg_graph *graph) {
  TG_FOR_NODES_SAFE(graph, node)
  if (node->op == TG_OP_CAST) hoist(graph, node);
}

static void merge_transposes(tg_graph *graph, tg_node *node) {
  tg_node *inner = tg_in(node, 0)->producer;
  if (!inner || inner->op != TG_OP_TRANSPOSE) return;
  const int64_t *outer_perm = tg_attr_ints(node, TG_ATTR_PERM, NULL);
  const int64_t *inner_perm = tg_attr_ints(inner, TG_ATTR_PERM, NULL);
  int64_t perm[TG_MAX_RANK];
  for (int i = 0; i < tg_out(node)->rank; i++) perm[i] = inner_perm[outer_perm[i]];
  tg_attr_set_ints(graph, node, TG_ATTR_PERM, perm, tg_out(node)->rank);
  tg_node_set_input(node, 0, tg_in(inner, 0));
}

/* Transpose(join(Transpose(x))) to join(Transpose(x)): one move through memory, not two. */
static void merge_across_join(tg_graph *graph, tg_node *node) {
  const tg_node *reshape = tg_in(node, 0)->producer;
  const tg_node *inner = reshape && reshape->op == TG_OP_RESHAPE ? tg_in(reshape, 0)->producer : NULL;
  if (!inner || inner->op != TG_OP_TRANSPOSE) return;
  const tg_value *fine = tg_out(inner), *y = tg_out(node);
  const int64_t *inner_perm = tg_attr_ints(inner, TG_ATTR_PERM, NULL);
  int64_t perm[TG_MAX_RANK], sizes[TG_MAX_RANK];
  int first[TG_MAX_RANK + 1];
  if (fine->rank <= y->rank || !tg_dims_are_groups(tg_out(reshape), fine, first)) return;
  tg_perm_of_groups(tg_attr_ints(node, TG_ATTR_PERM, NULL), y->rank, first, perm);
  for (int i = 0; i < fine->rank; i++) perm[i] = inner_perm[perm[i]];
  tg_value_sizes(y, sizes);
  tg_value *moved = tg_rewrite_transpose(graph, tg_in(inner, 0), perm, node);
  tg_rewrite_replace(graph, node, tg_rewrite_reshape(graph, moved, y->rank, sizes, node));
}

static void merge_reshapes(tg_node *node) {
  tg_node *inner = tg_in(node, 0)->producer;
  if (inner && inner->op == TG_OP_RESHAPE) tg_node_set_input(node, 0, tg_in(inner, 0));
}

/* The first of the transposes that move a value alike, in list order, serves for all. */
static void share_transposes(tg_graph *graph, tg_node *node) {
  const tg_value *x = tg_in(node, 0), *moved = tg_out(node);
  const int64_t *perm = tg_attr_ints(node, TG_ATTR_PERM, NULL);
  if (!moved->use_count && !moved->output_count) return; /* an earlier one serves */
  for (const tg_use *use = x->uses; use; use = use->next) {
    const tg_node *other = use->node;
    if (other == node || other->op != TG_OP_TRANSPOSE || tg_out(other)->dtype != moved->dtype) continue;
    if (!memcmp(perm, tg_attr_ints(other, TG_ATTR_PERM, NULL), (size_t)x->rank * sizeof *perm))
      tg_value_replace(graph, tg_out(other), tg_out(node));
  }
}

/* In list order the inner one of a pair is merged already, so one step a node is enough. */
void tg_pass_merge_moves(tg_graph *graph) {
  TG_FOR_NODES(graph, node) {
    if (node->op == TG_OP_TRANSPOSE)
      merge_transposes(graph, node);
    else if (node->op == TG_OP_RESHAPE)
      merge_reshapes(node);
  }
  TG_FOR_NODES_SAFE(graph, node)
  if (node->op == TG_OP_TRANSPOSE) merge_across_join(graph, node);
  TG_FOR_NODES(graph, node)
  if (node->op == TG_OP_TRANSPOSE) share_transposes(graph, node);
  tg_pass_remove_identity(graph);
  tg_pass_remove_dead(graph);
}

void tg_pass_transpose_to_reshape(tg_graph *graph) {
  TG_FOR_NODES_SAFE(graph, node) {
    if (node->op != TG_OP_TRANSPOSE) continue;
    if (!tg_perm_keeps_order(tg_attr_ints(node, TG_ATTR_PERM, NULL), tg_in(node, 0))) continue;
    int64_t sizes[TG_MAX_RANK];
    tg_value_sizes(tg_out(node), sizes);
    tg_rewrite_replace(graph, node,
                       tg_rewrite_reshape(graph, tg_in(node, 0), tg_out(node)->rank, sizes, node));
  }
}
