#include "frontend/build/build.h"

#include <inttypes.h>

#include "frontend/build/centred.h"
#include "frontend/build/rewrite.h"
#include "frontend/infer.h"

static tg_node *stamp(const tg_build *b, tg_node *node) {
  node->forward = b->forward;
  node->origin = b->origin;
  node->disable_graphamp = b->keep_formats;
  return node;
}

/* The node behind a helper that may have built none. */
static tg_value *stamped(const tg_build *b, tg_value *value, const tg_value *x) {
  if (value != x) stamp(b, value->producer);
  return value;
}

tg_value *tg_build_op(tg_build *b, tg_op op, tg_value *const *inputs, int count) {
  return tg_build_finish(b, tg_graph_add_node(b->graph, op, b->name, inputs, count, b->before, -1));
}

static bool computes_integers(const tg_node *node) {
  const tg_value *x = node->input_count ? tg_in(node, node->op == TG_OP_WHERE) : NULL;
  return x && tg_dtype_is_integer(x->dtype);
}

/* Something that what is built next can read, until somebody asks whether all went well. */
static tg_value *fail(tg_build *b, tg_node *node) {
  b->failed = true;
  tg_value_set_type(tg_out(node), TG_F32, 0, NULL);
  return tg_out(node);
}

tg_value *tg_build_finish(tg_build *b, tg_node *node) {
  bool typed = tg_op_is(node->op, TG_IS_COMPARE | TG_IS_LOGIC | TG_IS_MOVE) || computes_integers(node);
  if (b->failed) return fail(b, node);
  if (!typed && !b->as_operands) tg_out(node)->dtype = TG_F32;
  if (!b->diag)
    tg_rewrite_infer(b->graph, node);
  else if (tg_node_infer(b->graph, node, b->diag))
    return fail(b, node);
  return tg_out(stamp(b, node));
}

tg_value *tg_build_unary(tg_build *b, tg_op op, tg_value *x) { return tg_build_op(b, op, &x, 1); }

tg_value *tg_build_binary(tg_build *b, tg_op op, tg_value *x, tg_value *y) {
  tg_value *operands[] = {x, y};
  return tg_build_op(b, op, operands, 2);
}

tg_value *tg_build_number(tg_build *b, double number) {
  return tg_graph_add_scalar(b->graph, "number", TG_F32, number);
}

tg_value *tg_build_with(tg_build *b, tg_op op, tg_value *x, double number) {
  return tg_build_binary(b, op, x, tg_build_number(b, number));
}

tg_value *tg_build_from(tg_build *b, tg_op op, double number, tg_value *x) {
  return tg_build_binary(b, op, tg_build_number(b, number), x);
}

tg_value *tg_build_clip(tg_build *b, tg_value *x, double low, double high) {
  tg_value *y = tg_build_unary(b, TG_OP_CLIP, x);
  tg_attr_set_float(y->producer, TG_ATTR_MIN, low);
  tg_attr_set_float(y->producer, TG_ATTR_MAX, high);
  return y;
}

tg_value *tg_build_matmul(tg_build *b, tg_value *x, tg_value *y) {
  tg_dtype dtype = x->dtype == y->dtype ? x->dtype : TG_F32;
  return tg_build_binary(b, TG_OP_MATMUL, tg_build_cast(b, x, dtype), tg_build_cast(b, y, dtype));
}

tg_value *tg_build_reshape(tg_build *b, tg_value *x, int rank, const int64_t *sizes) {
  if (b->failed) return x;
  tg_value *y = stamped(b, tg_rewrite_reshape(b->graph, x, rank, sizes, b->before), x);
  tg_centred_reshaped(b, x, y);
  return y;
}

tg_value *tg_build_reshape_like(tg_build *b, tg_value *x, const tg_value *like) {
  int64_t sizes[TG_MAX_RANK];
  tg_value_sizes(like, sizes);
  return tg_build_reshape(b, x, like->rank, sizes);
}

tg_value *tg_build_transpose(tg_build *b, tg_value *x, const int64_t *perm) {
  if (b->failed) return x;
  tg_value *y = stamped(b, tg_rewrite_transpose(b->graph, x, perm, b->before), x);
  tg_centred_transposed(b, x, perm, y);
  return y;
}

tg_value *tg_build_swap(tg_build *b, tg_value *x) {
  if (b->failed) return x;
  int64_t perm[TG_MAX_RANK];
  for (int i = 0; i < x->rank; i++) perm[i] = i;
  perm[x->rank - 2] = x->rank - 1;
  perm[x->rank - 1] = x->rank - 2;
  return tg_build_transpose(b, x, perm);
}

tg_value *tg_build_cast(tg_build *b, tg_value *x, tg_dtype dtype) {
  if (b->failed) return x;
  tg_value *y = stamped(b, tg_rewrite_cast(b->graph, x, dtype, b->before), x);
  tg_centred_cast(b, x, y);
  return y;
}

tg_value *tg_build_reduce(tg_build *b, tg_op op, tg_value *x, unsigned axes) {
  int64_t list[TG_MAX_RANK];
  int count = 0;
  for (int i = 0; i < x->rank; i++)
    if (axes >> i & 1) list[count++] = i;
  if (!count) return x;
  tg_node *node = tg_graph_add_node(b->graph, op, b->name, &x, 1, b->before, -1);
  tg_attr_set_ints(b->graph, node, TG_ATTR_AXES, list, count);
  return tg_build_finish(b, node);
}

static tg_value *zeros_reduced(const tg_build *b, const tg_value *x, unsigned axes) {
  int64_t sizes[TG_MAX_RANK];
  for (int i = 0; i < x->rank; i++) sizes[i] = axes >> i & 1 ? 1 : x->dims[i].size;
  return tg_graph_add_constant(b->graph, "zeros", TG_F32, x->rank, sizes, NULL, false);
}

tg_value *tg_build_sum(tg_build *b, tg_value *x, unsigned axes) {
  if (tg_centred_sums_to_zero(b, x, axes)) return zeros_reduced(b, x, axes);
  return tg_build_reduce(b, TG_OP_REDUCE_SUM, x, axes);
}

tg_value *tg_build_sum_to(tg_build *b, tg_value *x, const tg_value *like) {
  unsigned axes = 0;
  int more = x->rank - like->rank;
  for (int i = 0; i < x->rank; i++)
    if (i < more || (like->dims[i - more].size == 1 && x->dims[i].size != 1)) axes |= 1u << i;
  return tg_build_reshape_like(b, tg_build_sum(b, x, axes), like);
}

tg_value *tg_build_expand(tg_build *b, tg_value *x, int rank, const int64_t *sizes) {
  tg_node *node = tg_graph_add_node(b->graph, TG_OP_EXPAND, b->name, &x, 1, b->before, -1);
  tg_attr_set_ints(b->graph, node, TG_ATTR_SHAPE, sizes, rank);
  return tg_build_finish(b, node);
}

tg_value *tg_build_pad(tg_build *b, tg_value *x, const int64_t *pads) {
  bool any = false;
  for (int i = 0; i < 2 * x->rank; i++) any |= pads[i] != 0;
  if (!any) return x;
  tg_node *node = tg_graph_add_node(b->graph, TG_OP_PAD, b->name, &x, 1, b->before, -1);
  tg_attr_set_ints(b->graph, node, TG_ATTR_PADS, pads, 2 * x->rank);
  return tg_build_finish(b, node);
}

tg_value *tg_build_slice(tg_build *b, tg_value *x, int axis, int64_t start, int64_t end, int64_t step) {
  int64_t along = axis;
  tg_node *node = tg_graph_add_node(b->graph, TG_OP_SLICE, b->name, &x, 1, b->before, -1);
  tg_attr_set_ints(b->graph, node, TG_ATTR_STARTS, &start, 1);
  tg_attr_set_ints(b->graph, node, TG_ATTR_ENDS, &end, 1);
  tg_attr_set_ints(b->graph, node, TG_ATTR_AXES, &along, 1);
  tg_attr_set_ints(b->graph, node, TG_ATTR_STEPS, &step, 1);
  return tg_build_finish(b, node);
}

tg_value *tg_build_concat(tg_build *b, tg_value *const *parts, int count, int axis) {
  tg_node *node = tg_graph_add_node(b->graph, TG_OP_CONCAT, b->name, parts, count, b->before, -1);
  tg_attr_set_int(node, TG_ATTR_AXIS, axis);
  return tg_build_finish(b, node);
}

tg_value *tg_build_where(tg_build *b, tg_value *condition, tg_value *x, tg_value *y) {
  tg_value *operands[] = {condition, x, y};
  return tg_build_op(b, TG_OP_WHERE, operands, 3);
}

tg_value *tg_build_where_positive(tg_build *b, tg_value *condition, tg_value *x) {
  return tg_build_where(b, tg_build_with(b, TG_OP_GREATER, condition, 0), x, tg_build_number(b, 0));
}

void tg_build_result(tg_graph *graph, tg_value *result, tg_value *value) {
  const char *name = result->name;
  tg_value_replace(graph, result, value);
  if (value->kind != TG_VALUE_RESULT) return;
  tg_value_rename(graph, result, tg_arena_printf(graph->arena, "%s.old", name));
  tg_value_rename(graph, value, name);
}

tg_value *tg_build_number_like(tg_build *b, const tg_value *x, double number) {
  return tg_graph_add_scalar(b->graph, "number", tg_dtype_is_integer(x->dtype) ? x->dtype : TG_F32, number);
}

tg_value *tg_build_constant(tg_build *b, tg_dtype dtype, int rank, const int64_t *sizes, const void *data) {
  return tg_graph_add_constant(b->graph, "constant", dtype, rank, sizes, data, false);
}

tg_value *tg_build_made(tg_build *b, tg_dtype dtype, int rank, const int64_t *sizes) {
  if (b->diag && !b->failed) b->failed = tg_graph_count_made(b->graph, dtype, rank, sizes, b->diag) != TG_OK;
  if (!b->failed) return tg_graph_add_constant(b->graph, "constant", dtype, rank, sizes, NULL, false);
  return fail(b, tg_graph_add_node(b->graph, TG_OP_CONSTANT_OF_SHAPE, b->name, NULL, 0, b->before, -1));
}

tg_value *tg_build_positions(tg_build *b, const tg_value *x, int64_t count, int axis, int rank) {
  int64_t sizes[TG_MAX_RANK];
  if (b->diag && count > TG_MOST_POSITIONS) {
    tg_fail(b->diag, TG_INVALID, "%" PRId64 " places along an axis are too many", count);
    b->failed = true;
  }
  for (int d = 0; d < rank; d++) sizes[d] = d == axis ? count : 1;
  tg_dtype dtype = tg_dtype_is_integer(x->dtype) ? x->dtype : TG_F32;
  tg_value *made = tg_build_made(b, dtype, rank, sizes);
  if (b->failed) return made;
  for (int64_t i = 0; i < count; i++)
    if (dtype == TG_F32)
      tg_store_f32((void *)made->data, dtype, (size_t)i, (float)i);
    else
      tg_store_i64((void *)made->data, dtype, (size_t)i, i);
  return made;
}

tg_value *tg_build_insert(tg_build *b, tg_value *x, int at) {
  int64_t sizes[TG_MAX_RANK + 1];
  for (int d = 0; d <= x->rank; d++) sizes[d] = d < at ? x->dims[d].size : d > at ? x->dims[d - 1].size : 1;
  return tg_build_reshape(b, x, x->rank + 1, sizes);
}

tg_value *tg_build_drop(tg_build *b, tg_value *x, int at) {
  int64_t sizes[TG_MAX_RANK];
  for (int d = 0; d < x->rank - 1; d++) sizes[d] = x->dims[d < at ? d : d + 1].size;
  return tg_build_reshape(b, x, x->rank - 1, sizes);
}

tg_value *tg_build_move(tg_build *b, tg_value *x, int from, int to) {
  int64_t perm[TG_MAX_RANK];
  int rank = 0;
  for (int d = 0; d < x->rank; d++) {
    if (rank == to) perm[rank++] = from;
    if (d != from) perm[rank++] = d;
  }
  if (rank < x->rank) perm[rank] = from;
  return tg_build_transpose(b, x, perm);
}
