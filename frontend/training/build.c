#include "frontend/training/build.h"

#include "frontend/passes/rewrite.h"

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
  tg_node *node = tg_graph_add_node(b->graph, op, b->name, inputs, count, b->before, -1);
  if (tg_dtype_is_float(inputs[0]->dtype)) tg_out(node)->dtype = TG_F32;
  tg_rewrite_infer(b->graph, node);
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
  return stamped(b, tg_rewrite_reshape(b->graph, x, rank, sizes, b->before), x);
}

tg_value *tg_build_reshape_like(tg_build *b, tg_value *x, const tg_value *like) {
  int64_t sizes[TG_MAX_RANK];
  tg_value_sizes(like, sizes);
  return tg_build_reshape(b, x, like->rank, sizes);
}

tg_value *tg_build_transpose(tg_build *b, tg_value *x, const int64_t *perm) {
  return stamped(b, tg_rewrite_transpose(b->graph, x, perm, b->before), x);
}

tg_value *tg_build_swap(tg_build *b, tg_value *x) {
  int64_t perm[TG_MAX_RANK];
  for (int i = 0; i < x->rank; i++) perm[i] = i;
  perm[x->rank - 2] = x->rank - 1;
  perm[x->rank - 1] = x->rank - 2;
  return tg_build_transpose(b, x, perm);
}

tg_value *tg_build_cast(tg_build *b, tg_value *x, tg_dtype dtype) {
  return stamped(b, tg_rewrite_cast(b->graph, x, dtype, b->before), x);
}

/* The summed dimensions first, as one, then ReducePartials. */
tg_value *tg_build_sum(tg_build *b, tg_value *x, unsigned axes) {
  int64_t perm[TG_MAX_RANK], sizes[TG_MAX_RANK], kept[TG_MAX_RANK + 1] = {1};
  int rank = 0, kept_rank = 1;
  for (int i = 0; i < x->rank; i++)
    if (axes >> i & 1) perm[rank++] = i;
  for (int i = 0; i < x->rank; i++) {
    sizes[i] = axes >> i & 1 ? 1 : x->dims[i].size;
    if (axes >> i & 1) {
      kept[0] *= x->dims[i].size;
    } else {
      perm[rank++] = i;
      kept[kept_rank++] = x->dims[i].size;
    }
  }
  if (!axes) return x;
  tg_value *parts = tg_build_reshape(b, tg_build_transpose(b, x, perm), kept_rank, kept);
  return tg_build_reshape(b, tg_build_unary(b, TG_OP_REDUCE_PARTIALS, parts), x->rank, sizes);
}

tg_value *tg_build_sum_to(tg_build *b, tg_value *x, const tg_value *like) {
  unsigned axes = 0;
  int more = x->rank - like->rank;
  for (int i = 0; i < x->rank; i++)
    if (i < more || (like->dims[i - more].size == 1 && x->dims[i].size != 1)) axes |= 1u << i;
  return tg_build_reshape_like(b, tg_build_sum(b, x, axes), like);
}

/* Two factors of 2^100 take the smallest positive number above 1. */
tg_value *tg_build_where_positive(tg_build *b, tg_value *condition, tg_value *x) {
  tg_value *large = tg_build_with(b, TG_OP_MUL, tg_build_with(b, TG_OP_MUL, condition, 0x1p100), 0x1p100);
  return tg_build_binary(b, TG_OP_MUL, x, tg_build_clip(b, large, 0, 1));
}
